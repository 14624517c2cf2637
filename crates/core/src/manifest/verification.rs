//! What is known about the result because the host looked, beside what the agent says about it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::coverage::ChangeCoverage;
use crate::weakened::Weakening;

/// What the host checked, and what it was only told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct VerificationReport {
    /// The sum of it.
    pub state: VerificationState,
    /// Every check the host ran on the result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckRecord>,
    /// Sentences of the summary that claim a verification.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<String>,
    /// Tests the change takes away or makes weaker.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub weakened: Vec<Weakening>,
    /// Files of the change that define what a check does; the check ran with these as they were, too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub definitions: Vec<ChangedDefinition>,
    /// How much of the change tests ran, where a check's runner wrote that down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<ChangeCoverage>,
    /// Whether somebody said before the run that tests may change.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tests_may_change: bool,
    /// Names of the variables that the spec gave to the checks; their values are nobody's business.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<String>,
    /// Whether the checks had the host's network.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub host_network: bool,
}

/// How much of a result is known to be right.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerificationState {
    /// Nothing was changed, or nothing was claimed and nothing could be run.
    #[default]
    NotChecked,
    /// Every check the host ran on the result passed, also as the checks were before the change.
    Verified,
    /// Every check passed, but only with what the change itself says that a check is.
    ChangedChecks,
    /// What fails failed before the change, too; nothing was broken.
    FailingAsBefore,
    /// The agent claims it, and no check of the host's supports it.
    Unverified,
    /// A check failed.
    Failed,
}

/// One check on the result.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CheckRecord {
    /// The command.
    pub command: String,
    /// Who wanted it: `asked` (flag or spec) or `found` (the repository's shape).
    pub origin: CheckOrigin,
    /// Its exit code; absent when it was ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Its wall time.
    pub duration_ms: u64,
    /// What it means; absent in runs of versions that did not compare.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<CheckVerdict>,
    /// Its cases, where the runner is understood.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cases: Option<CaseCounts>,
    /// What differs from the tree before the change.
    #[serde(skip_serializing_if = "CaseDifferences::is_empty")]
    pub differences: CaseDifferences,
    /// The same check on the tree before the change, when that had to be known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<ComparisonRun>,
    /// The same check with its definitions from before the change, when the change touches some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_it_was: Option<ComparisonRun>,
    /// Files that define checks and were changed or removed while it ran, where it does not do so by itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rewritten: Vec<String>,
    /// The end of what it printed, where it failed and its cases are not known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub last_lines: String,
}

/// What a check says about the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckVerdict {
    /// It passes.
    Passed,
    /// It passes, but not as it was before the change.
    OnlyAsChanged,
    /// It passes, but cases that ran before do not run any more, although no test was touched.
    NoLongerRun,
    /// It fails as it did before the change.
    FailingAsBefore,
    /// It fails, and did not before.
    Broken,
    /// It fails here and passes there on the same tree.
    Flaky,
    /// It fails, and whether it did before is not known.
    Failed,
}

/// How many cases a run of a check had.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[allow(missing_docs, reason = "the names are the explanation")]
pub struct CaseCounts {
    /// How many passed.
    pub passed: u32,
    /// How many failed.
    pub failed: u32,
    /// How many were left out by the runner.
    pub skipped: u32,
}

/// Cases by what became of them, compared with the tree before the change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CaseDifferences {
    /// Failed before, and does not any more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fixed: Vec<String>,
    /// Fails, and did not before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub broken: Vec<String>,
    /// Fails, as before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failing_as_before: Vec<String>,
    /// Ran before, and is gone or skipped now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub no_longer_run: Vec<String>,
    /// Was not there before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub new: Vec<String>,
    /// Ends one way or the other on the same tree; decides nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flaky: Vec<String>,
}

impl CaseDifferences {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The same check on another tree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ComparisonRun {
    /// Its exit code; absent when it was ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Its wall time when it ran.
    pub duration_ms: u64,
    /// Its cases, where the runner is understood.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cases: Option<CaseCounts>,
    /// Whether an earlier run's answer was used.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
}

/// A file of the change that defines what a check does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedDefinition {
    /// The file.
    pub path: String,
    /// What it is to a check.
    pub kind: DefinitionKind,
    /// Whether it could be put back for the check as it was; one that could not leaves doubt.
    pub restored: bool,
    /// The line to look at, where it is one line that makes it what it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

impl std::fmt::Display for ChangedDefinition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line} ({})", self.path, self.kind),
            None => write!(f, "{} ({})", self.path, self.kind),
        }
    }
}

/// What a file is to a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DefinitionKind {
    /// Tests.
    TestSource,
    /// Data that tests compare with or start from.
    Fixture,
    /// Recorded output.
    Snapshot,
    /// Targets, scripts and what is built for tests.
    BuildFile,
    /// How the runner is set up.
    RunnerConfiguration,
    /// What a CI service does.
    Ci,
    /// A script that is the check.
    CheckScript,
    /// Tests inside a source file.
    InlineTests,
    /// Examples in documentation that are run as tests.
    DocTests,
    /// A file with the name of a runner or of what a language loads by itself.
    Shadow,
    /// Code that behaves otherwise when it is tested.
    TestAware,
    /// A comment that keeps a linter or type checker quiet.
    Suppression,
}

impl std::fmt::Display for DefinitionKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::TestSource => "tests",
            Self::Fixture => "test data",
            Self::Snapshot => "a recorded snapshot",
            Self::BuildFile => "a build file",
            Self::RunnerConfiguration => "the runner's configuration",
            Self::Ci => "CI",
            Self::CheckScript => "the check's script",
            Self::InlineTests => "inline tests",
            Self::DocTests => "examples that are tests",
            Self::Shadow => "a file that stands in for the runner",
            Self::TestAware => "code that knows that it is tested",
            Self::Suppression => "a comment that keeps the check quiet",
        })
    }
}

/// Who wanted a check.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckOrigin {
    /// A flag or the spec: its failure fails the run.
    #[default]
    Asked,
    /// The repository's shape: its failure is told.
    Found,
}

impl VerificationReport {
    /// Sums up what is there; a claim without a passing check is no more than a claim.
    pub fn settle(&mut self) {
        let any =
            |verdicts: &[CheckVerdict]| self.checks.iter().any(|check| verdicts.contains(&check.told()));
        self.state = if self.checks.is_empty() {
            if self.claims.is_empty() { VerificationState::NotChecked } else { VerificationState::Unverified }
        } else if any(&[CheckVerdict::Failed, CheckVerdict::Broken]) {
            VerificationState::Failed
        } else if any(&[CheckVerdict::OnlyAsChanged, CheckVerdict::NoLongerRun]) {
            VerificationState::ChangedChecks
        } else if any(&[CheckVerdict::FailingAsBefore, CheckVerdict::Flaky]) {
            VerificationState::FailingAsBefore
        } else {
            VerificationState::Verified
        };
    }
}

impl CheckRecord {
    /// What it means; from the exit code alone where nothing was compared.
    pub fn told(&self) -> CheckVerdict {
        let alone = if self.exit_code == Some(0) { CheckVerdict::Passed } else { CheckVerdict::Failed };
        self.verdict.unwrap_or(alone)
    }

    /// Whether the result fails it and did not before, or nobody knows.
    pub fn counts_as_failed(&self) -> bool {
        matches!(self.told(), CheckVerdict::Failed | CheckVerdict::Broken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(exit_code: Option<i32>, verdict: Option<CheckVerdict>) -> CheckRecord {
        CheckRecord { command: "true".into(), exit_code, verdict, ..CheckRecord::default() }
    }

    #[test]
    fn a_claim_is_worth_what_a_check_says() {
        let run = |exit_code| run(exit_code, None);
        for (checks, claims, expect) in [
            (vec![], vec![], VerificationState::NotChecked),
            (vec![], vec!["all tests pass".to_owned()], VerificationState::Unverified),
            (vec![run(Some(0))], vec!["all tests pass".to_owned()], VerificationState::Verified),
            (vec![run(Some(0)), run(Some(1))], vec![], VerificationState::Failed),
            (vec![run(None)], vec![], VerificationState::Failed),
        ] {
            let mut found = VerificationReport { checks, claims, ..VerificationReport::default() };
            found.settle();
            assert_eq!(found.state, expect, "{found:?}");
        }
    }

    #[test]
    fn inv_18_verified_needs_every_check_as_it_was() {
        let all = [
            CheckVerdict::Passed,
            CheckVerdict::OnlyAsChanged,
            CheckVerdict::NoLongerRun,
            CheckVerdict::FailingAsBefore,
            CheckVerdict::Broken,
            CheckVerdict::Flaky,
            CheckVerdict::Failed,
        ];
        for one in all {
            for other in all {
                let checks = vec![run(Some(0), Some(one)), run(Some(0), Some(other))];
                let mut found = VerificationReport { checks, ..VerificationReport::default() };
                found.settle();
                let both = one == CheckVerdict::Passed && other == CheckVerdict::Passed;
                assert_eq!(found.state == VerificationState::Verified, both, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn records_of_earlier_versions_are_read() {
        let text = r#"{"state":"verified","checks":[{"command":"x","origin":"found","exit_code":0,"duration_ms":3}]}"#;
        let read: Result<VerificationReport, _> = serde_json::from_str(text);
        assert!(read.is_ok_and(|read| read.checks[0].told() == CheckVerdict::Passed));
    }
}
