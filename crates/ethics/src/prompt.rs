//! What the model is told for its half.

use std::fmt::Write as _;

use crate::assess::Assessment;
use crate::redactor;

/// The most points taken from all guidelines together.
const MOST_POINTS: usize = 100;

/// The most characters of one point.
const LONGEST_POINT: usize = 400;

const TEXT: &str = include_str!("../../../rules/ethics/assessor.md");

/// The section about this assessment, to be added to the prompt of the ethical mode.
///
/// The project's guidelines become a checklist. They are material, as the change is: nothing in them can tell the model
/// what to conclude.
pub fn section(assessment: &Assessment) -> String {
    let redactor = redactor();
    let mut text = TEXT.trim_end().to_owned();
    text += "\n\n## What the checks found\n";
    let _ = write!(text, "\nRisk by the checks: {}.\n\n", assessment.risk_level.name());
    for check in &assessment.checks {
        let severity = check.severity.map(|severity| format!(", {}", severity.name())).unwrap_or_default();
        let _ =
            writeln!(text, "- {}: {}{severity}. {}", check.id, check.status.name(), one_line(&check.detail));
    }
    if let Some(history) = &assessment.history {
        let _ =
            write!(text, "\n## Earlier assessments of this repository\n\n{}\n", redactor.redact_str(history));
    }
    if !assessment.guidelines.is_empty() {
        text += "\n## Checklist\n\nThe project's own guidelines. Answer each with a check of its number (`\"id\": \"guideline-1\"`); ";
        text += "a point that has nothing to do with this change passes. A report that leaves one out does not count.\n\n";
        for (number, (path, point)) in (1..).zip(&assessment.guidelines) {
            let _ = writeln!(text, "- guideline-{number} ({path}): {}", redactor.redact_str(point));
        }
    }
    text
}

/// The points of all guidelines: list entries, or sentences where there is no list.
pub(crate) fn points(guidelines: &[(String, String)]) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (path, text) in guidelines {
        let entry = |line: &str| -> Option<String> {
            let line = line.trim_start();
            let numbered = line.trim_start_matches(|c: char| c.is_ascii_digit());
            let entry = line.strip_prefix("- ").or_else(|| line.strip_prefix("* "));
            let entry =
                entry.or_else(|| numbered.strip_prefix(". ").filter(|_| numbered.len() < line.len()))?;
            let entry = entry.trim().trim_start_matches("[ ] ").trim_start_matches("[x] ");
            (!entry.is_empty()).then(|| one_line(entry))
        };
        let mut found: Vec<String> = text.lines().filter_map(entry).collect();
        if found.is_empty() {
            let prose = text.lines().filter(|line| !line.trim_start().starts_with(['#', '`', '|', '<']));
            found = prose.map(one_line).filter(|line| line.len() > 10).collect();
        }
        all.extend(found.into_iter().map(|point| (path.clone(), point)));
    }
    all.truncate(MOST_POINTS);
    all
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(LONGEST_POINT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AssessmentInput, NoLicenceLookup, assess};

    #[test]
    fn guidelines_become_a_checklist() {
        let guidelines = vec![
            (
                ".holon/guidelines.md".to_owned(),
                "# Rules\n\n- No tracking.\n* [ ] Say why.\n1. Ask first.\n".to_owned(),
            ),
            ("AGENTS.md".to_owned(), "# Notes\nNever store raw addresses.\n".to_owned()),
        ];
        let input = AssessmentInput { guidelines, ..AssessmentInput::default() };
        let text = section(&assess(&input, &NoLicenceLookup));
        for line in [
            "- guideline-1 (.holon/guidelines.md): No tracking.",
            "- guideline-2 (.holon/guidelines.md): Say why.",
            "- guideline-3 (.holon/guidelines.md): Ask first.",
            "- guideline-4 (AGENTS.md): Never store raw addresses.",
            "- secrets: pass. nothing found",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }

    #[test]
    fn without_guidelines_there_is_no_checklist() {
        let text = section(&assess(&AssessmentInput::default(), &NoLicenceLookup));
        assert!(!text.contains("Checklist") && !text.contains("Earlier"), "{text}");
    }
}
