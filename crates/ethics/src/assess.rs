//! The deterministic half: every check, and what follows from it.

use std::collections::BTreeMap;

use holon_core::artifact::ethics::{CheckStatus, EthicsCheck, EthicsEvidence, PrincipleImpact, RiskLevel};
use holon_core::digest;
use holon_core::redact::Redactor;

use crate::change::{self, FileChangeLines};
use crate::check::{self, licences::LicenceLookup};
use crate::finding::{EthicsCheckId, EthicsFinding};
use crate::input::AssessmentInput;
use crate::redactor;

/// The most places that are shown for one check; the detail says how many there are.
const SHOWN: usize = 20;

/// The most characters of a line that are shown.
const EXCERPT: usize = 160;

/// What the checks say about a goal and its change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assessment {
    /// The request, from the input.
    pub request_id: Option<String>,
    /// The goal or task, from the input.
    pub goal_id: Option<String>,
    /// What earlier assessments said, from the input.
    pub history: Option<String>,
    /// What the project goes by, point by point, each with the file that says it. A model's report answers all of them.
    pub guidelines: Vec<(String, String)>,
    /// The worst that was found; low when nothing was.
    pub risk_level: RiskLevel,
    /// Each check with its result, always all of them.
    pub checks: Vec<EthicsCheck>,
    /// Where things were found, with redacted excerpts.
    pub evidence: Vec<EthicsEvidence>,
    /// What it means for each principle.
    pub principle_impacts: Vec<PrincipleImpact>,
    /// What would lower the risk.
    pub mitigations: Vec<String>,
    /// Everything that was found, worst first within a check.
    pub findings: Vec<EthicsFinding>,
}

/// Runs every check over the input; the same input always gives the same assessment.
pub fn assess(input: &AssessmentInput, licences: &dyn LicenceLookup) -> Assessment {
    let files = change::of(input);
    let mut findings = Vec::new();
    let mut checks = Vec::new();
    for id in EthicsCheckId::ALL {
        match check::run(id, input, &files, licences) {
            Ok(mut found) => {
                tracing::debug!(check = ?id, findings = found.len(), "has assessed");
                found.sort_by_key(|finding| !finding.severity.blocks());
                checks.push(summary(id, &found));
                findings.extend(found);
            }
            // A check that could not look has found nothing out, and that is not the same as nothing.
            Err(why) => checks.push(EthicsCheck {
                id: id.name().into(),
                status: CheckStatus::Unverified,
                detail: format!("the check could not run: {why}"),
                severity: Some(RiskLevel::Unknown),
            }),
        }
    }
    let risk_level = checks.iter().filter_map(|check| check.severity).fold(RiskLevel::Low, RiskLevel::worse);
    Assessment {
        request_id: input.request_id.clone(),
        goal_id: input.goal_id.clone(),
        history: input.history.clone(),
        guidelines: crate::prompt::points(&input.guidelines),
        risk_level,
        evidence: evidence(input, &files, &findings),
        principle_impacts: impacts(&findings, &checks),
        mitigations: mitigations(&findings),
        checks,
        findings,
    }
}

fn summary(id: EthicsCheckId, found: &[EthicsFinding]) -> EthicsCheck {
    let severity = found.iter().map(|finding| finding.severity).reduce(RiskLevel::worse);
    let status = match severity {
        None => CheckStatus::Pass,
        Some(severity) if severity.blocks() => CheckStatus::Fail,
        Some(_) if found.iter().any(|finding| finding.unverified) => CheckStatus::Unverified,
        Some(_) => CheckStatus::Warn,
    };
    let redactor = redactor();
    let mut lines: Vec<String> = found
        .iter()
        .take(5)
        .map(|finding| redactor.redact_str(&format!("{}: {}", finding.place(), finding.what)))
        .collect();
    if found.len() > lines.len() {
        lines.push(format!("{} more", found.len() - lines.len()));
    }
    let detail = if lines.is_empty() { "nothing found".to_owned() } else { lines.join("; ") };
    EthicsCheck { id: id.name().into(), status, detail, severity }
}

/// The places of the findings, with what they hold taken out of the excerpts.
fn evidence(
    input: &AssessmentInput,
    files: &[FileChangeLines],
    findings: &[EthicsFinding],
) -> Vec<EthicsEvidence> {
    let redactor = redactor();
    let patch = digest::sha256(&input.patch);
    let mut digests: BTreeMap<&str, String> = BTreeMap::new();
    for file in &input.files {
        if let Some(after) = &file.after {
            digests.insert(&file.path, digest::sha256(after));
        }
    }
    // What one check must hide, another must not show.
    let mut hidden: BTreeMap<(&str, u64), Vec<&str>> = BTreeMap::new();
    let mut everywhere: Vec<&str> = Vec::new();
    for finding in findings {
        hidden
            .entry((&finding.path, finding.line))
            .or_default()
            .extend(finding.hide.iter().map(String::as_str));
        everywhere.extend(finding.hide.iter().map(String::as_str));
    }
    everywhere.sort_unstable_by_key(|value| std::cmp::Reverse(value.len()));
    everywhere.dedup();
    everywhere.truncate(200);
    let mut all = Vec::new();
    let mut shown: BTreeMap<EthicsCheckId, usize> = BTreeMap::new();
    let mut excerpts: BTreeMap<(&str, u64), Option<String>> = BTreeMap::new();
    for finding in findings {
        let count = shown.entry(finding.check).or_default();
        *count += 1;
        if *count > SHOWN {
            continue;
        }
        // A line may be long, and have many findings; it is read once.
        let place = (finding.path.as_str(), finding.line);
        let made = excerpts.entry(place).or_insert_with(|| {
            let own = hidden.get(&place).map(Vec::as_slice).unwrap_or_default();
            line(files, finding).map(|text| excerpt(redactor, text, own, &everywhere))
        });
        all.push(EthicsEvidence {
            kind: finding.rule.clone(),
            reference: redactor.redact_str(&finding.place()),
            sha256: Some(digests.get(finding.path.as_str()).cloned().unwrap_or_else(|| patch.clone())),
            excerpt: made.clone(),
        });
    }
    all
}

fn line<'a>(files: &'a [FileChangeLines], finding: &EthicsFinding) -> Option<&'a str> {
    let file = files.iter().find(|file| file.path == finding.path && finding.line > 0)?;
    let at = file.added.binary_search_by_key(&finding.line, |line| line.number).ok()?;
    Some(file.added.get(at)?.text.as_str())
}

/// A line without its indentation and without anything that must not be shown, cut to a length one can read.
fn excerpt(redactor: &Redactor, text: &str, own: &[&str], everywhere: &[&str]) -> String {
    // Shapes first: a key's armour is recognised by its first line, which is a value of its own.
    let text = redactor.redact_str(text.trim());
    let mut values: Vec<&str> = own.iter().chain(everywhere).copied().collect();
    values.retain(|value| !value.trim().is_empty());
    values.sort_unstable_by_key(|value| std::cmp::Reverse(value.len()));
    // Values are taken out on the way, so that no line is read further than it is shown.
    let (mut rest, mut short, mut count) = (text.as_str(), String::new(), 0);
    while count < EXCERPT {
        if let Some(value) = values.iter().find(|value| rest.starts_with(**value)) {
            rest = rest.get(value.len()..).unwrap_or_default();
            short.push_str("[redacted]");
            count += "[redacted]".len();
            continue;
        }
        let Some(c) = rest.chars().next() else { break };
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        short.extend((!c.is_control()).then_some(c));
        count += 1;
    }
    if rest.is_empty() { short } else { short + "…" }
}

fn impacts(findings: &[EthicsFinding], checks: &[EthicsCheck]) -> Vec<PrincipleImpact> {
    let mut impacts: Vec<PrincipleImpact> = Vec::new();
    for principle in ["safety", "privacy", "intellectual property", "misuse", "data handling", "guidelines"] {
        let own: Vec<&EthicsFinding> =
            findings.iter().filter(|finding| finding.check.principle() == principle).collect();
        let blind = EthicsCheckId::ALL.iter().filter(|id| id.principle() == principle).any(|id| {
            checks.iter().any(|check| check.id == id.name() && check.severity == Some(RiskLevel::Unknown))
        });
        let (impact, rationale) = if blind {
            ("unknown", "a check could not run".to_owned())
        } else if let Some(worst) = own.iter().map(|finding| finding.severity).reduce(RiskLevel::worse) {
            let mut kinds: Vec<&str> = own.iter().map(|finding| finding.check.name()).collect();
            kinds.dedup();
            ("negative", format!("{} found, {} at worst: {}", own.len(), worst.name(), kinds.join(", ")))
        } else {
            ("none", "the checks found nothing".to_owned())
        };
        impacts.push(PrincipleImpact { principle: principle.into(), impact: impact.into(), rationale });
    }
    impacts
}

fn mitigations(findings: &[EthicsFinding]) -> Vec<String> {
    let mut ids: Vec<EthicsCheckId> = findings.iter().map(|finding| finding.check).collect();
    ids.sort_unstable();
    ids.dedup();
    ids.into_iter().map(|id| id.mitigation().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_show_no_value_and_no_more_than_their_length() {
        let check = |text: &str, own: &[&str], everywhere: &[&str], expect: &str| {
            assert_eq!(excerpt(redactor(), text, own, everywhere), expect, "{text}");
        };
        check("  a = b\u{7}c  ", &[], &[], "a = bc");
        check("a = hunter22, b = hunter2", &["hunter2", "hunter22"], &[], "a = [redacted], b = [redacted]");
        check("own one, other two", &["one"], &["two"], "own [redacted], other [redacted]");
        // One that begins where the excerpt ends is not shown in part.
        let long = format!("{}secret{}", "x".repeat(158), "y".repeat(50));
        check(&long, &["secret"], &[], &format!("{}[redacted]…", "x".repeat(158)));
        check(&"é".repeat(161), &[], &[], &format!("{}…", "é".repeat(160)));
    }
}
