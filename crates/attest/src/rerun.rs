//! Checks that ran once more, beside what a statement says of them.

use holon_core::manifest::{CaseCounts, CheckRecord, CheckVerdict};
use serde::Serialize;

use crate::statement::AttestedCheck;

/// Most names in one sentence.
const NAMES: usize = 5;

/// One check once more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RerunCheck {
    /// The command.
    pub command: String,
    /// Whether it ended as the statement says.
    pub same: bool,
    /// What is different, a sentence each.
    pub differences: Vec<String>,
    /// How it ended now; absent when it was ended, or did not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// What it means now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<CheckVerdict>,
    /// Its cases now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cases: Option<CaseCounts>,
}

/// Each stated check beside the one that ran now; they are in the same order. What a statement does not say is not
/// compared, and a check that did not run is never the same.
pub fn compare(stated: &[AttestedCheck], now: &[CheckRecord]) -> Vec<RerunCheck> {
    let pair = |(number, stated): (usize, &AttestedCheck)| {
        let now = now.get(number).filter(|now| now.command == stated.command);
        let differences = now.map_or_else(|| vec!["it did not run".to_owned()], |now| differing(stated, now));
        RerunCheck {
            command: stated.command.clone(),
            same: differences.is_empty(),
            differences,
            exit_code: now.and_then(|now| now.exit_code),
            verdict: now.and_then(|now| now.verdict),
            cases: now.and_then(|now| now.cases),
        }
    };
    stated.iter().enumerate().map(pair).collect()
}

fn differing(stated: &AttestedCheck, now: &CheckRecord) -> Vec<String> {
    let mut told = Vec::new();
    if stated.exit_code != now.exit_code {
        told.push(format!("it {}, and {} then", ended(now.exit_code), ended(stated.exit_code)));
    }
    if let Some(verdict) = stated.verdict.filter(|verdict| *verdict != now.told()) {
        told.push(format!("it is {}, and was {} then", word(now.told()), word(verdict)));
    }
    if let Some(then) = stated.cases.filter(|_| stated.cases != now.cases) {
        let counted = now.cases.map_or("none are known".to_owned(), counts);
        told.push(format!("of its cases {counted}, and {} then", counts(then)));
    }
    for (what, cases) in [
        ("broken", &now.differences.broken),
        ("no longer run", &now.differences.no_longer_run),
        ("flaky", &now.differences.flaky),
    ] {
        // Names help to find out why; that there are some is no difference by itself.
        if !told.is_empty() && !cases.is_empty() {
            let more = cases.len().saturating_sub(NAMES);
            let names = cases.iter().take(NAMES).cloned().collect::<Vec<_>>().join(", ");
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            told.push(format!("{what} now: {names}{more}"));
        }
    }
    told
}

fn ended(exit: Option<i32>) -> String {
    exit.map_or("was ended".to_owned(), |code| format!("exited with {code}"))
}

fn counts(cases: CaseCounts) -> String {
    format!("{} passed, {} failed, {} were skipped", cases.passed, cases.failed, cases.skipped)
}

/// The word for a verdict, as manifests have it.
fn word(verdict: CheckVerdict) -> String {
    let word = serde_json::to_value(verdict).unwrap_or_default();
    format!("`{}`", word.as_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use holon_core::manifest::CheckOrigin;

    use super::*;

    fn stated(exit_code: Option<i32>, verdict: Option<CheckVerdict>, passed: Option<u32>) -> AttestedCheck {
        AttestedCheck {
            command: "make test".into(),
            origin: CheckOrigin::Asked,
            exit_code,
            verdict,
            cases: passed.map(|passed| CaseCounts { passed, ..CaseCounts::default() }),
            baseline: None,
            as_it_was: None,
        }
    }

    fn now(exit_code: Option<i32>, verdict: Option<CheckVerdict>, passed: Option<u32>) -> CheckRecord {
        let cases = passed.map(|passed| CaseCounts { passed, ..CaseCounts::default() });
        CheckRecord { command: "make test".into(), exit_code, verdict, cases, ..CheckRecord::default() }
    }

    #[test]
    fn what_is_stated_is_compared_and_nothing_else() {
        use CheckVerdict::{Broken, Passed};
        let good = now(Some(0), Some(Passed), Some(3));
        for (then, differs) in [
            (stated(Some(0), Some(Passed), Some(3)), 0),
            // Statements of earlier versions say less.
            (stated(Some(0), None, None), 0),
            (stated(Some(0), Some(Passed), Some(4)), 1),
            (stated(Some(1), Some(Broken), Some(3)), 2),
            (stated(None, None, None), 1),
        ] {
            let compared = compare(std::slice::from_ref(&then), std::slice::from_ref(&good));
            assert_eq!(
                (compared[0].same, compared[0].differences.len()),
                (differs == 0, differs),
                "{then:?}"
            );
        }
    }

    #[test]
    fn a_check_that_did_not_run_is_not_the_same() {
        let then = [stated(Some(0), None, None), stated(Some(0), None, None)];
        let other = CheckRecord { command: "true".into(), exit_code: Some(0), ..CheckRecord::default() };
        for ran in [vec![now(Some(0), None, None)], vec![now(Some(0), None, None), other]] {
            let compared = compare(&then, &ran);
            assert!(compared[0].same && !compared[1].same, "{compared:?}");
            assert_eq!(compared[1].differences, ["it did not run"]);
        }
    }

    #[test]
    fn a_difference_is_told_with_the_cases_behind_it() {
        let mut red = now(Some(1), Some(CheckVerdict::Broken), Some(2));
        red.differences.broken = (0..7).map(|n| format!("case_{n}")).collect();
        let compared = compare(&[stated(Some(0), Some(CheckVerdict::Passed), Some(9))], &[red]);
        assert_eq!(
            compared[0].differences,
            [
                "it exited with 1, and exited with 0 then",
                "it is `broken`, and was `passed` then",
                "of its cases 2 passed, 0 failed, 0 were skipped, and 9 passed, 0 failed, 0 were skipped then",
                "broken now: case_0, case_1, case_2, case_3, case_4 and 2 more",
            ]
        );
    }
}
