//! A repository on the forge, and outputs to publish there.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use holon_core::artifact::review::{
    DiffSide, LocationCheck, ReviewFinding, ReviewReport, ReviewVerdict, Severity,
};
use holon_core::digest::sha256;
use holon_core::manifest::{ArtifactRecord, SnapshotInfo};
use holon_core::redact::Redactor;
use holon_core::{Manifest, RunId, RunOutcome, RunStatus};
use holon_git::Git;
use holon_publish::api::{ApiBase, Clock, HttpApi, PatientApi};
use holon_publish::github::{OwnAccount, PartReport, PublishOptions, PublishReport, PublishTools, publish};
use holon_publish::{ForgeToken, PublishError, VerifiedOutput};
use holon_testkit::github::{GitHub, HostedRepo};
use holon_testkit::run_git;

/// A token that must never be seen anywhere.
pub(crate) const TOKEN: &str = "CANARY-token-0123456789abcdef";
pub(crate) const LOGIN: &str = "holon-publisher";
pub(crate) const NAME: &str = "octo/hello";

/// Waits that take no time and are remembered, in milliseconds.
#[derive(Clone, Default)]
pub(crate) struct RecordingClock(pub(crate) Arc<Mutex<Vec<u64>>>);

impl Clock for RecordingClock {
    fn now(&self) -> u64 {
        1_700_000_000
    }

    fn wait(&mut self, time: Duration) {
        self.0.lock().unwrap().push(time.as_millis() as u64);
    }
}

pub(crate) struct PublishStage {
    pub(crate) hub: GitHub,
    pub(crate) repo: HostedRepo,
    pub(crate) dir: tempfile::TempDir,
    pub(crate) clock: RecordingClock,
    pub(crate) patience: Duration,
}

/// The text of the file most tests change.
pub(crate) fn numbered(lines: std::ops::RangeInclusive<u64>) -> String {
    lines.map(|n| format!("line {n}\n")).collect()
}

impl PublishStage {
    /// A repository with one commit on `main`, and an account that may write to it.
    pub(crate) fn new() -> Self {
        let hub = GitHub::start();
        hub.user(LOGIN, TOKEN);
        let repo = hub.repository(NAME);
        let text = numbered(1..=60);
        repo.commit("main", None, &[("a.txt", Some(&text)), ("b.txt", Some("b\n"))], "first");
        let dir = tempfile::tempdir().unwrap();
        Self { hub, repo, dir, clock: RecordingClock::default(), patience: Duration::from_secs(600) }
    }

    /// A pull request of someone else that changes lines 10 and 40 of `a.txt`.
    pub(crate) fn pull_request(&self) -> u64 {
        let text = numbered(1..=60)
            .replace("line 10\n", "line ten\nline ten and a half\n")
            .replace("line 40\n", "forty\n");
        self.repo.commit("topic", Some("main"), &[("a.txt", Some(&text))], "change");
        self.repo.pull("someone", NAME, "topic", "main")
    }

    /// Publishes an output to `octo/hello` or one of its numbers.
    pub(crate) fn publish(
        &self,
        output: &Path,
        number: Option<u64>,
        change: impl FnOnce(&mut PublishOptions),
    ) -> Result<PublishReport, PublishError> {
        let mut options = PublishOptions::new(holon_publish::PublishTarget { repo: NAME.parse()?, number });
        options.own = OwnAccount::Ask;
        change(&mut options);
        self.publish_as(output, &options, TOKEN)
    }

    pub(crate) fn publish_as(
        &self,
        output: &Path,
        options: &PublishOptions,
        token: &str,
    ) -> Result<PublishReport, PublishError> {
        let output = VerifiedOutput::open(output, None)?;
        let reach = ApiBase::new(&self.hub.address())?;
        let token = ForgeToken::new(token);
        let http = HttpApi::new(reach.clone(), token.clone())?;
        let mut api = PatientApi::new(http, self.clock.clone(), self.patience);
        let git = Git::find()?;
        let temp = self.dir.path().join("temp");
        fs::create_dir_all(&temp).unwrap();
        let mut tools = PublishTools {
            api: &mut api,
            reach: &reach,
            token,
            git: &git,
            temp: &temp,
            network: Vec::new(),
            redactor: Redactor::new([("token", TOKEN)]),
        };
        publish(&output, options, &mut tools)
    }

    /// The same, where it must work; every part must have.
    #[track_caller]
    pub(crate) fn published(
        &self,
        output: &Path,
        number: Option<u64>,
        change: impl FnOnce(&mut PublishOptions),
    ) -> PublishReport {
        let report = self.publish(output, number, change).unwrap_or_else(|error| panic!("{error}"));
        assert!(!report.failed(), "{report:#?}");
        report
    }

    /// An output folder in the making.
    pub(crate) fn output(&self, mode: &str) -> OutputMaking {
        let folder = tempfile::tempdir_in(self.dir.path()).unwrap().keep();
        let number =
            folder.file_name().unwrap().len() as u64 + fs::read_dir(self.dir.path()).unwrap().count() as u64;
        let id = RunId::from_parts(1_750_000_000 + number, [7; 4]);
        let mut manifest = Manifest::begun(id, mode, "2026-01-02T03:04:05Z");
        manifest.metadata.agent.name = "script".into();
        manifest.metadata.snapshot =
            Some(SnapshotInfo { base_commit: self.repo.tip("main"), ..SnapshotInfo::default() });
        OutputMaking { folder, manifest, outcome: RunOutcome::Success }
    }

    /// An output with a patch that was made on a branch with these changes.
    pub(crate) fn patch_output(&self, branch: &str, summary: &str, change: impl FnOnce(&Path)) -> PathBuf {
        let clone = tempfile::tempdir_in(self.dir.path()).unwrap().keep();
        let from = self.repo.dir();
        run_git(
            self.dir.path(),
            ["clone", "--quiet", "--branch", branch, from.to_str().unwrap(), clone.to_str().unwrap()],
        );
        let base = run_git(&clone, ["rev-parse", "HEAD"]).trim().to_owned();
        change(&clone);
        run_git(&clone, ["add", "--all", "--intent-to-add", "."]);
        let patch = run_git(&clone, ["diff", "--binary", "--full-index", "--no-renames", "HEAD"]);
        let mut making = self.output("execute").file("diff.patch", &patch).file("summary.md", summary);
        making.manifest.metadata.snapshot =
            Some(SnapshotInfo { base_commit: Some(base), ..SnapshotInfo::default() });
        making.finish()
    }

    /// An output with a patch that changes line 30 of `a.txt`.
    pub(crate) fn simple_patch(&self) -> PathBuf {
        self.patch_output("main", "# Change thirty\n\nBecause.\n", |clone| {
            let text = fs::read_to_string(clone.join("a.txt")).unwrap();
            fs::write(clone.join("a.txt"), text.replace("line 30\n", "thirty\n")).unwrap();
        })
    }

    /// An output with a review of the pull request's head.
    pub(crate) fn review_output(&self, findings: Vec<ReviewFinding>) -> PathBuf {
        let head = self.repo.tip("topic");
        let review = ReviewReport {
            version: 1,
            base: None,
            head,
            verdict: ReviewVerdict::Comment,
            findings,
            dropped: 0,
        };
        let text = serde_json::to_string(&review).unwrap();
        self.output("review").file("review.json", &text).file("summary.md", "Read it all.\n").finish()
    }
}

pub(crate) struct OutputMaking {
    pub(crate) folder: PathBuf,
    pub(crate) manifest: Manifest,
    pub(crate) outcome: RunOutcome,
}

impl OutputMaking {
    pub(crate) fn file(mut self, name: &str, text: &str) -> Self {
        fs::write(self.folder.join(name), text).unwrap();
        self.manifest.artifacts.push(ArtifactRecord {
            path: name.into(),
            sha256: Some(sha256(text.as_bytes())),
            bytes: text.len() as u64,
            required: true,
            valid: true,
            problems: Vec::new(),
        });
        self
    }

    pub(crate) fn outcome(mut self, outcome: RunOutcome) -> Self {
        self.outcome = outcome;
        self
    }

    pub(crate) fn finish(mut self) -> PathBuf {
        self.manifest.conclude(RunStatus::Completed, self.outcome);
        fs::write(self.folder.join("manifest.json"), self.manifest.to_json()).unwrap();
        self.folder
    }
}

/// A finding on a line of `a.txt`.
pub(crate) fn finding(number: usize, line: u64, snippet: &str) -> ReviewFinding {
    ReviewFinding {
        path: "a.txt".into(),
        line: Some(line),
        end_line: None,
        side: DiffSide::New,
        severity: [Severity::Critical, Severity::High, Severity::Medium, Severity::Low, Severity::Nit]
            [number % 5],
        category: "correctness".into(),
        title: format!("finding {number}"),
        body: "It is wrong.".into(),
        suggestion: None,
        confidence: 0.9,
        snippet: snippet.into(),
        fingerprint: format!("{number:032x}"),
        location: LocationCheck::Verified,
    }
}

/// One part of a report.
#[track_caller]
pub(crate) fn part<'r>(report: &'r PublishReport, name: &str) -> &'r PartReport {
    report
        .parts
        .iter()
        .find(|part| part.part == name)
        .unwrap_or_else(|| panic!("no part {name}: {report:#?}"))
}
