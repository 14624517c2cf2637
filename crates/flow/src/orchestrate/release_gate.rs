//! Who decides whether a result may go out: the host's own checks and a model's report, together.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use holon_core::config::ResolvedConfig;
use holon_core::mode_run::ModeDecision;
use holon_ethics::caches::PackageCaches;
use holon_ethics::{
    AssessedFile, Assessment, AssessmentInput, EthicsDecision, NoLicenceLookup, assess, combine, gate,
    left_open, prompt, read_model_report, unanswered,
};

/// Files larger than this are judged by the patch alone.
const LARGEST: u64 = 4 << 20;
/// What blocks when the goal itself asks for harm.
pub(super) const GOAL: &str = "goal";
/// The most guideline files that are read.
const MOST_GUIDELINES: usize = 20;
/// Where a project says what it is licensed under.
const LICENCES: [&str; 8] = [
    "LICENSE",
    "LICENSE.md",
    "LICENSE.txt",
    "LICENCE",
    "COPYING",
    "Cargo.toml",
    "package.json",
    "pyproject.toml",
];

/// What is to be judged.
pub struct AssessmentSubject<'a> {
    /// The orchestration.
    pub goal_id: &'a str,
    /// The request of the assessment; empty before there is one.
    pub request_id: &'a str,
    /// What was wanted.
    pub goal: &'a str,
    /// Every change together.
    pub patch: &'a [u8],
    /// The paths it touches.
    pub paths: &'a BTreeSet<PathBuf>,
    /// The workspace before the changes.
    pub before: &'a Path,
    /// The workspace with them.
    pub after: &'a Path,
    /// What a model says; absent when none gave a report that could be read.
    pub report: Option<&'a [u8]>,
    /// What earlier assessments of this repository said.
    pub history: Option<&'a str>,
}

/// What was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseJudgement {
    /// Approve, or block with the reason.
    pub decision: ModeDecision,
    /// `ethics.json`.
    pub json: Vec<u8>,
    /// `ethics.md`.
    pub markdown: String,
    /// Which of the project's guidelines the report says nothing about, so that it can be asked for again.
    pub unanswered: Option<String>,
}

/// Judges results; anything that is not a clear approval blocks.
#[derive(Debug, Clone)]
pub struct ReleaseGate {
    /// Whether a model's report is required; without, the host's checks decide alone when it is missing.
    pub strict: bool,
    /// Licences, as SPDX identifiers, that are fine besides those that fit the project's.
    pub licences: Vec<String>,
    /// The user's home, where package caches are.
    pub home: Option<PathBuf>,
    /// What was assessed last: a model is told of it first, and then it is weighed against the model's report.
    last: Arc<Mutex<Option<(AssessmentInput, Assessment)>>>,
}

impl ReleaseGate {
    /// As the configuration says.
    pub fn configured(config: &ResolvedConfig, home: Option<PathBuf>) -> Self {
        Self::new(config.strict_ethics(), config.list("ethics.licences"), home)
    }

    /// One that has assessed nothing yet.
    pub fn new(strict: bool, licences: Vec<String>, home: Option<PathBuf>) -> Self {
        Self { strict, licences, home, last: Arc::default() }
    }

    /// What the model that assesses is told: what the checks found, and the project's own guidelines.
    pub(super) fn brief(&self, subject: &AssessmentSubject<'_>) -> String {
        prompt::section(&self.assess(subject))
    }

    /// Weighs a result.
    pub(super) fn judge(&self, subject: &AssessmentSubject<'_>) -> ReleaseJudgement {
        let assessment = self.assess(subject);
        let said = subject.report.map(read_model_report);
        let open = match &said {
            Some(Ok(report)) if self.strict => unanswered(&assessment, report),
            _ => Vec::new(),
        };
        let unanswered =
            (!open.is_empty()).then(|| format!("ethics.json is not whole: {}", left_open(&open)));
        let report = combine(&assessment, said, self.strict);
        let decision = match gate(&report) {
            EthicsDecision::Approved => ModeDecision::Approve,
            EthicsDecision::Blocked { why } => ModeDecision::Block { reason: why },
        };
        let mut json = serde_json::to_vec_pretty(&report).unwrap_or_default();
        json.push(b'\n');
        ReleaseJudgement { decision, json, markdown: report.to_markdown(), unanswered }
    }

    fn assess(&self, subject: &AssessmentSubject<'_>) -> Assessment {
        let files = subject.paths.iter().map(|path| AssessedFile {
            path: path.to_string_lossy().into_owned(),
            before: read(&subject.before.join(path)),
            after: read(&subject.after.join(path)),
        });
        let known: Vec<(&str, String)> =
            LICENCES.iter().filter_map(|name| Some((*name, text(&subject.before.join(name))?))).collect();
        let input = AssessmentInput {
            request_id: None,
            goal_id: Some(subject.goal_id.to_owned()),
            goal: subject.goal.to_owned(),
            patch: subject.patch.to_vec(),
            files: files.collect(),
            project_licence: holon_ethics::project_licence(
                known.iter().map(|(name, text)| (*name, text.as_str())),
            ),
            allowed_licences: self.licences.clone(),
            history: subject.history.map(str::to_owned),
            guidelines: guidelines(subject.before),
        };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let known = last.take().filter(|(before, _)| *before == input);
        let (input, assessment) = known.unwrap_or_else(|| {
            let home = self.home.as_deref().unwrap_or(Path::new("/nonexistent"));
            let assessment = assess(&input, &PackageCaches::usual(subject.after, home));
            (input, assessment)
        });
        *last = Some((input, assessment.clone()));
        let request_id = Some(subject.request_id.to_owned()).filter(|id| !id.is_empty());
        Assessment { request_id, ..assessment }
    }
}

/// Why a goal asks for harm in so many words; such a goal is not even planned.
pub(super) fn harm_in_goal(goal: &str) -> Option<String> {
    let input = AssessmentInput { goal: goal.to_owned(), ..AssessmentInput::default() };
    let found = assess(&input, &NoLicenceLookup).findings;
    let harm = found.iter().find(|finding| finding.rule == "harmful-goal")?;
    Some(format!("{}; nothing was started", harm.what))
}

/// Whether a model's report says no.
pub(super) fn refuses(report: &[u8]) -> bool {
    read_model_report(report).is_ok_and(|report| report.blocks())
}

/// The project's own guidelines, as a list of things to go by.
fn guidelines(workspace: &Path) -> Vec<(String, String)> {
    let mut names: Vec<String> = vec![".holon/guidelines.md".into(), "AGENTS.md".into()];
    let rules = fs::read_dir(workspace.join(".roo/rules")).into_iter().flatten().flatten();
    let mut more: Vec<String> = rules
        .map(|entry| format!(".roo/rules/{}", entry.file_name().to_string_lossy()))
        .filter(|name| name.ends_with(".md"))
        .collect();
    more.sort();
    names.extend(more);
    names.truncate(MOST_GUIDELINES);
    names.into_iter().filter_map(|name| text(&workspace.join(&name)).map(|text| (name, text))).collect()
}

fn text(path: &Path) -> Option<String> {
    read(path).and_then(|bytes| String::from_utf8(bytes).ok())
}

/// A plain file of bounded size; never through a link.
fn read(path: &Path) -> Option<Vec<u8>> {
    let meta = fs::symlink_metadata(path).ok()?;
    if !meta.is_file() || meta.len() > LARGEST {
        return None;
    }
    fs::read(path).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const APPROVES: &str = r#"{"risk_level":"low","is_approved":true,"approval_justification":"Harmless.",
        "principle_impacts":[{"principle":"safety","impact":"none","rationale":"A text file."}]}"#;

    fn judge(patch: &str, report: Option<&str>) -> ModeDecision {
        let folder = tempfile::tempdir().unwrap();
        let conscience = ReleaseGate::new(true, Vec::new(), None);
        let subject = AssessmentSubject {
            goal_id: "g",
            request_id: "r",
            goal: "Change a text",
            patch: patch.as_bytes(),
            paths: &BTreeSet::new(),
            before: folder.path(),
            after: folder.path(),
            report: report.map(str::as_bytes),
            history: None,
        };
        conscience.judge(&subject).decision
    }

    #[test]
    fn what_was_assessed_for_the_brief_is_not_assessed_again_unless_it_changed() {
        let folder = tempfile::tempdir().unwrap();
        let conscience = ReleaseGate::new(false, Vec::new(), None);
        let key = format!("aws_access_key_id = \"AKIA{}\"", "Q3EGRSTJ4OXDNWAB");
        let patch = |line: &str| format!("diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -0,0 +1 @@\n+{line}\n");
        let (clean, planted) = (patch("two"), patch(&key));
        let (none, file) = (BTreeSet::new(), BTreeSet::from([PathBuf::from("a")]));
        let judge = |patch: &str, paths: &BTreeSet<PathBuf>, request_id: &str| {
            let (before, after) = (folder.path(), folder.path());
            let (goal_id, goal) = ("g", "Change a text");
            let subject = AssessmentSubject {
                goal_id,
                request_id,
                goal,
                patch: patch.as_bytes(),
                paths,
                before,
                after,
                report: None,
                history: None,
            };
            (conscience.brief(&subject), conscience.judge(&subject))
        };
        assert_eq!(judge(&clean, &none, "one").1.decision, ModeDecision::Approve);
        let (_, again) = judge(&clean, &none, "two");
        assert!(String::from_utf8(again.json).unwrap().contains("\"two\""), "the request is this one");
        assert_eq!(judge(&planted, &none, "one").1.decision.name(), "block");
        // Other content of the same file under the same patch is something else.
        fs::write(folder.path().join("a"), "one\n").unwrap();
        assert_eq!(judge(&clean, &file, "one").1.decision, ModeDecision::Approve);
        fs::write(folder.path().join("a"), "two\n").unwrap();
        judge(&clean, &file, "one");
        let last = conscience.last.lock().unwrap();
        assert_eq!(last.as_ref().unwrap().0.files[0].after.as_deref(), Some(&b"two\n"[..]));
    }

    #[test]
    fn inv_12_only_a_sound_report_about_a_clean_change_approves() {
        let added = |line: &str| {
            format!("diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n one\n+{line}\n")
        };
        assert_eq!(judge(&added("two"), Some(APPROVES)), ModeDecision::Approve);
        for report in [None, Some(""), Some("{}"), Some("approve this"), Some("{\"is_approved\":true}")] {
            assert_eq!(judge(&added("two"), report).name(), "block", "{report:?}");
        }
        let lying = APPROVES.replace("\"low\"", "\"high\"");
        assert_eq!(judge(&added("two"), Some(&lying)).name(), "block");
        // A model cannot talk away what the host found.
        let key = format!("aws_access_key_id = \"AKIA{}\"", "Q3EGRSTJ4OXDNWAB");
        assert_eq!(judge(&added(&key), Some(APPROVES)).name(), "block");
    }
}
