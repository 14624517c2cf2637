//! What earlier assessments of a repository said: a line for each in its folder of the store.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;

use holon_core::mode_run::ModeDecision;
use serde::{Deserialize, Serialize};

/// How many are told.
const TOLD: usize = 5;
/// How much of the end of the file is read for them.
const TAIL: u64 = 64 << 10;
/// The most characters of a reason that are kept.
const REASON: usize = 300;

/// The file of a repository that holds its assessments.
#[derive(Debug, Clone)]
pub(super) struct AssessmentHistory {
    file: PathBuf,
}

/// One assessment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PastAssessment {
    /// When it was decided.
    at: String,
    /// The orchestration it was a part of.
    run: String,
    /// The decision's name.
    decision: String,
    /// Why, where it was not approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl PastAssessment {
    /// One that is decided now; `reason` may hold no key.
    pub(super) fn now(run: &str, decision: &ModeDecision, reason: Option<&str>) -> Self {
        let reason = reason.map(|reason| {
            let line = reason.split_whitespace().collect::<Vec<_>>().join(" ");
            line.chars().take(REASON).collect()
        });
        Self {
            at: jiff::Timestamp::now().to_string(),
            run: run.to_owned(),
            decision: decision.name().into(),
            reason,
        }
    }
}

impl AssessmentHistory {
    /// That of the repository whose runs are in this folder.
    pub(super) fn beside(runs: &std::path::Path) -> Self {
        Self { file: runs.with_file_name("assessments.jsonl") }
    }

    /// Adds one.
    pub(super) fn add(&self, past: &PastAssessment) -> io::Result<()> {
        let mut line = serde_json::to_vec(past)?;
        line.push(b'\n');
        if let Some(folder) = self.file.parent() {
            fs::create_dir_all(folder)?;
        }
        File::options().create(true).append(true).open(&self.file)?.write_all(&line)
    }

    /// The last ones in words, the latest first; nothing where there is none.
    pub(super) fn told(&self) -> Option<String> {
        let text = self.tail().ok()?;
        let past: Vec<PastAssessment> =
            text.lines().rev().filter_map(|line| serde_json::from_str(line).ok()).take(TOLD).collect();
        let line = |past: &PastAssessment| {
            let why = past.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
            format!("- {}: {} in {}{why}", past.at, past.decision, past.run)
        };
        let lines: Vec<String> = past.iter().map(line).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    fn tail(&self) -> io::Result<String> {
        let mut file = File::open(&self.file)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
        let mut bytes = Vec::new();
        file.take(TAIL).read_to_end(&mut bytes)?;
        // A line that was cut in two is not one.
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_last_assessments_are_told_the_latest_first() {
        let folder = tempfile::tempdir().unwrap();
        let history = AssessmentHistory::beside(&folder.path().join("repo/runs"));
        assert_eq!(history.told(), None);
        for number in 0..7 {
            let decision = match number {
                6 => ModeDecision::Block { reason: "risk\nhigh".into() },
                _ => ModeDecision::Approve,
            };
            history
                .add(&PastAssessment::now(&format!("run-{number}"), &decision, decision.reason()))
                .unwrap();
        }
        let told = history.told().unwrap();
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(lines.len(), TOLD, "{told}");
        assert!(lines[0].ends_with(": block in run-6 (risk high)"), "{told}");
        assert!(lines[4].ends_with(": approve in run-2"), "{told}");
        // What is no assessment is passed over, wherever the tail begins.
        File::options().append(true).open(&history.file).unwrap().write_all(b"{half a li").unwrap();
        assert_eq!(history.told().unwrap(), told);
    }
}
