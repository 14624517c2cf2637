//! The end of a run in a few lines: what came of it, why, where it is, what to do next.

use std::fs;
use std::path::Path;

use holon_core::RunOutcome;
use holon_core::manifest::Manifest;
use holon_core::release::ReleaseDecision;

use super::patch;
use super::table::TextTable;
use super::{amount, network};
use crate::terminal::{TerminalStream, TextStyle, visible};

/// Files listed before the rest is only counted.
const MOST_FILES: usize = 20;

/// Outcome in one line.
pub(crate) fn headline(manifest: &Manifest, stream: TerminalStream) -> String {
    let (style, word) = word(manifest);
    let took = amount::millis(manifest.duration_ms);
    format!("{} {} · {} · {took}", stream.paint(style, word), manifest.mode, manifest.run_id)
}

/// How an outcome is called in front of people, and how it looks.
pub(crate) fn word(manifest: &Manifest) -> (TextStyle, &'static str) {
    use holon_core::RunStatus;
    match (manifest.outcome, manifest.status) {
        (RunOutcome::Success, _) => (TextStyle::Green, "success"),
        (RunOutcome::NeedsHuman, _) => (TextStyle::Yellow, "needs a person"),
        (RunOutcome::Failure, RunStatus::Timeout) => (TextStyle::Red, "timed out"),
        (RunOutcome::Failure, RunStatus::Cancelled) => (TextStyle::Yellow, "cancelled"),
        (RunOutcome::Failure, RunStatus::Interrupted) => (TextStyle::Red, "interrupted"),
        (RunOutcome::Failure, _) => (TextStyle::Red, "failed"),
    }
}

/// Why it did not succeed, with the remedy, as `error:` and `hint:` lines; nothing when it did.
pub(crate) fn reason(manifest: &Manifest, stream: TerminalStream) -> String {
    let mut text = String::new();
    let mut line = |style, label: &str, words: &str| {
        let words = visible(words).trim_end().replace('\n', "\n  ");
        text.push_str(&format!("{} {words}\n", stream.paint(style, label)));
    };
    for breach in &manifest.breaches {
        line(TextStyle::Red, "breach:", &format!("{}: {}", breach.kind, breach.detail));
    }
    if let Some(error) = &manifest.error {
        line(TextStyle::Red, "error:", &error.message);
        if let Some(hint) = &error.hint {
            line(TextStyle::Cyan, "hint:", hint);
        }
    }
    text
}

/// The artifacts that are there, and what is wrong with those that are not right.
pub(crate) fn artifacts(manifest: &Manifest, stream: TerminalStream) -> String {
    let mut table = TextTable::indented(2);
    for artifact in &manifest.artifacts {
        let size =
            artifact.sha256.as_ref().map_or_else(|| "missing".to_owned(), |_| amount::bytes(artifact.bytes));
        let note = match (artifact.valid, artifact.problems.as_slice()) {
            (true, _) => String::new(),
            (false, _) if artifact.sha256.is_none() => String::new(),
            (false, []) => "not valid".to_owned(),
            (false, problems) => problems.join("; "),
        };
        table.row([&artifact.path, &size, &note]);
    }
    table.render(stream)
}

/// The files a patch changes.
pub(crate) fn changed_files(patch: &[u8], stream: TerminalStream) -> String {
    let changes = patch::changes(patch);
    let mut table = TextTable::indented(2);
    for change in changes.iter().take(MOST_FILES) {
        table.row([
            &format!("+{}", change.added),
            &format!("-{}", change.removed),
            &change.path,
            change.note,
        ]);
    }
    let mut text = table.render(stream);
    if changes.len() > MOST_FILES {
        text.push_str(&format!("  and {} more\n", changes.len() - MOST_FILES));
    }
    text
}

/// Everything a person wants to know when `holon run` is over.
///
/// `elsewhere` is the workspace when it is not the current folder; `release` what the gate would say to applying it now.
pub(crate) fn whole(
    manifest: &Manifest,
    output: &Path,
    elsewhere: Option<&Path>,
    (applied, release): (Option<&str>, Option<&ReleaseDecision>),
    stream: TerminalStream,
) -> String {
    let bold = |text: &str| stream.paint(TextStyle::Bold, text);
    let mut text = format!("{}\n", headline(manifest, stream));
    let patch = fs::read(output.join("diff.patch")).unwrap_or_default();
    if !manifest.artifacts.is_empty() {
        let folder = visible(&output.display().to_string());
        text.push_str(&format!("{} in {folder}\n{}", bold("artifacts"), artifacts(manifest, stream)));
    }
    if !patch.is_empty() {
        text.push_str(&format!("{}\n{}", bold("changes"), changed_files(&patch, stream)));
    } else if manifest.no_changes && manifest.metadata.workspace_access == "rw" {
        text.push_str("the agent changed nothing\n");
    }
    if manifest.metadata.changes.ignored > 0 {
        let ignored = amount::count(manifest.metadata.changes.ignored, "ignored file");
        text.push_str(&format!("  {ignored} also changed and left out of the patch\n"));
    }
    if let Some(used) = &manifest.metadata.network {
        text.push_str(&network::end(used, stream));
    }
    if let Some(applied) = applied {
        text.push_str(&format!("{applied}\n"));
    }
    let command = |verb: &str| {
        // The end of an id is random and enough to find the run again.
        let id = manifest.run_id.as_str().rsplit('-').next().unwrap_or_default();
        let workspace =
            elsewhere.map(|path| format!(" --workspace '{}'", visible(&path.display().to_string())));
        format!("holon runs {verb} {id}{}", workspace.unwrap_or_default())
    };
    // What is printed can be given as it is: where a second word is needed, it says which.
    let apply = match release.filter(|release| !release.is_released()) {
        None => Some(command("apply")),
        Some(held) if held.can_be_overridden() => {
            Some(format!("{} {}", command("apply"), held.override_flags()))
        }
        Some(_) => None,
    };
    let next = match (patch.is_empty(), applied.is_some(), manifest.outcome) {
        (true, _, RunOutcome::Success) | (_, true, _) => None,
        (false, false, RunOutcome::Success | RunOutcome::NeedsHuman) => {
            Some([Some(command("diff")), apply].into_iter().flatten().collect::<Vec<_>>().join(", then "))
        }
        (false, false, RunOutcome::Failure) => Some(command("diff")),
        (true, false, _) => Some(command("show")),
    };
    if let Some(next) = next {
        text.push_str(&format!("{} {next}\n", bold("next:")));
    }
    text
}
