//! A review in Markdown.

use std::collections::BTreeMap;

use holon_core::artifact::review::{ReviewFinding, Severity};

use super::place::{DiffSpot, NotInlineReason};
use crate::api::percent;
use crate::marker::Marker;
use crate::text::{Cleaner, block, code, cut};

/// The most characters of one finding's text, so that one cannot crowd out the others.
const FINDING: usize = 8_000;

/// A severity as people read it.
pub(crate) fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "critical",
        Severity::High => "high",
        Severity::Medium => "medium",
        Severity::Low => "low",
        Severity::Nit => "nit",
    }
}

/// `2 critical, 1 low`, worst first; nothing for nothing.
pub(crate) fn tally<'f>(findings: impl IntoIterator<Item = &'f ReviewFinding>) -> String {
    let mut counts: BTreeMap<Severity, usize> = BTreeMap::new();
    for finding in findings {
        *counts.entry(finding.severity).or_default() += 1;
    }
    counts.iter().map(|(s, n)| format!("{n} {}", severity(*s))).collect::<Vec<_>>().join(", ")
}

/// `1 finding` or `2 findings`.
pub(crate) fn count(n: usize) -> String {
    format!("{n} finding{}", if n == 1 { "" } else { "s" })
}

/// The mark by which a finding is found again.
pub(crate) fn mark(finding: &ReviewFinding) -> Marker {
    Marker::new("finding").with("fp", &finding.fingerprint)
}

fn head(finding: &ReviewFinding, clean: &Cleaner) -> String {
    let title = clean.line(&finding.title, 300);
    let category = clean.line(&finding.category, 60);
    format!("**{}** ({category}): {title}", severity(finding.severity))
}

fn text(finding: &ReviewFinding, clean: &Cleaner) -> String {
    cut(&clean.markdown(finding.body.trim()), FINDING, "review.json")
}

/// A comment on lines.
pub(super) fn inline(finding: &ReviewFinding, spot: &DiffSpot, clean: &Cleaner) -> String {
    let mut out = format!("{}\n\n{}\n", head(finding, clean), text(finding, clean));
    if let Some(suggestion) = &finding.suggestion {
        // Applied with one click, so it must be exact: on the new side, for all lines, and unchanged by cleaning.
        let exact = clean.exact(suggestion).filter(|text| spot.whole && !spot.old && text.len() <= FINDING);
        out.push('\n');
        match exact {
            Some(text) => out.push_str(&block("suggestion", text)),
            None => out.push_str(&written(suggestion, clean)),
        }
    }
    out.push_str(&format!("\n{}\n", mark(finding)));
    out
}

/// A suggestion for reading.
fn written(suggestion: &str, clean: &Cleaner) -> String {
    let text = cut(&clean.redacted(suggestion), FINDING, "review.json");
    // Inside a fence only comments and commands matter, and cleaning knows fences.
    format!("Suggested:\n\n{}", clean.markdown(&block("", &text)))
}

/// A finding in the body; `link` is the address of its file at the reviewed commit.
pub(super) fn in_body(
    finding: &ReviewFinding,
    why: NotInlineReason,
    link: Option<&str>,
    clean: &Cleaner,
) -> String {
    let lines = match (finding.line, finding.end_line) {
        (Some(line), Some(end)) => format!(":{line}-{end}"),
        (Some(line), None) => format!(":{line}"),
        _ => String::new(),
    };
    let place = code(&format!("{}{lines}", clean.redacted(&finding.path)));
    let place = match link {
        Some(link) => format!("[{place}]({link}/{}{})", percent(&finding.path, "/"), anchor(finding)),
        None => place,
    };
    let why = match why.words() {
        "" => String::new(),
        words => format!(" ({words})"),
    };
    let mut out = format!("{place}{why} {}\n\n{}\n", head(finding, clean), text(finding, clean));
    if let Some(suggestion) = &finding.suggestion {
        out.push_str(&format!("\n{}", written(suggestion, clean)));
    }
    out.push_str(&format!("\n{}\n", mark(finding)));
    out
}

fn anchor(finding: &ReviewFinding) -> String {
    match (finding.line, finding.end_line) {
        (Some(line), Some(end)) => format!("#L{line}-L{end}"),
        (Some(line), None) => format!("#L{line}"),
        _ => String::new(),
    }
}
