//! What publishing did, in words.

use holon_publish::github::{PartReport, PublishOutcome, PublishReport};

use crate::failure::CliFailure;
use crate::terminal::{TerminalStream, TextStyle, visible};

/// The report as JSON.
pub(super) fn json(report: &PublishReport) -> Result<String, CliFailure> {
    let text =
        serde_json::to_string_pretty(report).map_err(|e| CliFailure::internal(format!("the report: {e}")))?;
    Ok(text + "\n")
}

/// The report for people.
pub(super) fn text(report: &PublishReport, stream: TerminalStream) -> String {
    let would = if report.dry_run { " (dry run: nothing was changed)" } else { "" };
    let mut out = format!("run {} to {}{would}\n", report.run, visible(&report.target));
    for part in &report.parts {
        out.push_str(&one(part, report.dry_run, stream));
    }
    if report.failed() {
        out.push_str("not everything is published: run the same command again to go on\n");
    }
    out
}

fn one(part: &PartReport, dry_run: bool, stream: TerminalStream) -> String {
    let (style, word) = match part.result {
        PublishOutcome::Published => (TextStyle::Green, "published"),
        PublishOutcome::Unchanged => (TextStyle::Dim, "already there"),
        PublishOutcome::Planned => (TextStyle::Cyan, "would be published"),
        PublishOutcome::Skipped => (TextStyle::Dim, "skipped"),
        PublishOutcome::Failed => (TextStyle::Red, "failed"),
    };
    let url = part.url.as_deref().map(|url| format!("  {}", visible(url))).unwrap_or_default();
    let mut out = format!("{}: {}{url}\n", part.part, stream.paint(style, word));
    for step in &part.steps {
        out.push_str(&format!("  {}\n", visible(&step.what)));
        if let Some(call) = step.call.as_ref().filter(|_| dry_run) {
            let body = serde_json::to_string_pretty(&call.body).unwrap_or_default();
            out.push_str(&format!("    {} {}\n", call.method, visible(&call.path)));
            body.lines().for_each(|line| out.push_str(&format!("    {}\n", visible(line))));
        }
    }
    if let Some(c) = part.counts {
        out.push_str(&format!(
            "  {} findings: {} on lines, {} in the body, {} posted before, {} over the limit\n",
            c.candidate, c.inline, c.body, c.duplicate, c.over_limit
        ));
    }
    part.notes.iter().for_each(|note| out.push_str(&format!("  note: {}\n", visible(note))));
    if let Some(error) = &part.error {
        out.push_str(&format!(
            "  {} {}\n",
            stream.paint(TextStyle::Red, "error:"),
            visible(error).replace('\n', "\n  ")
        ));
    }
    if let Some(hint) = &part.hint {
        out.push_str(&format!("  {} {}\n", stream.paint(TextStyle::Cyan, "hint:"), visible(hint)));
    }
    out
}
