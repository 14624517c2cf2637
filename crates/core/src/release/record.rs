//! What the gate decides from: one record of what is known about a result.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::overruled::ReleaseOverride;
use crate::manifest::{CheckOrigin, Manifest, VerificationReport, VerificationState};
use crate::mode_run::ModeDecision;
use crate::outcome::{RunOutcome, RunStatus};

/// Where something would go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReleaseTarget {
    /// Into the workspace, because a person says so: `holon runs apply`.
    Apply,
    /// Into the workspace by itself, at the end of a run, flow or orchestration that was started with `--apply`.
    AutoApply,
    /// Onto a branch of its own: `holon runs apply --commit`.
    Commit,
    /// To a forge, or as a page to be posted: `holon publish`, `--publish`, `improve --pr`.
    Publish,
    /// The same, marked as something a person has to look at.
    PublishDraft,
    /// From a chat into its workspace: the page, the terminal, an editor.
    ChatApply,
}

impl ReleaseTarget {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Apply, Self::AutoApply, Self::Commit, Self::Publish, Self::PublishDraft, Self::ChatApply];

    /// Its name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Apply => "apply",
            Self::AutoApply => "auto_apply",
            Self::Commit => "commit",
            Self::Publish => "publish",
            Self::PublishDraft => "publish_draft",
            Self::ChatApply => "chat_apply",
        }
    }

    /// Whether it is a patch that would go there; others also take plans and reviews.
    pub(super) const fn takes_a_patch(self) -> bool {
        matches!(self, Self::Apply | Self::AutoApply | Self::Commit)
    }

    /// Whether somebody has looked at it, or will before it counts: a person who gives the command, or one who is asked
    /// by a draft.
    pub(super) const fn is_seen_by_a_person(self) -> bool {
        !matches!(self, Self::AutoApply | Self::Publish)
    }
}

impl fmt::Display for ReleaseTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How the work ended that made it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum RunEnding {
    /// Nobody judged it: a chat, which has no end.
    #[default]
    Unjudged,
    /// It is not over, or nobody knows how it ended.
    Unfinished,
    /// It ended as this; why, where it is no success.
    Ended {
        /// What it is worth.
        outcome: RunOutcome,
        /// The reason in a sentence.
        why: Option<String>,
    },
}

impl RunEnding {
    pub(super) fn is(&self, wanted: RunOutcome) -> bool {
        matches!(self, Self::Ended { outcome, .. } if *outcome == wanted)
    }

    pub(super) fn why(&self) -> String {
        match self {
            Self::Ended { why: Some(why), .. } => why.clone(),
            Self::Ended { outcome, .. } => format!("it ended as {outcome}"),
            Self::Unjudged | Self::Unfinished => "it is not over".to_owned(),
        }
    }
}

/// Where the patch is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PatchState {
    /// It was delivered.
    Delivered,
    /// It was kept back; what is left of it is evidence.
    Withheld,
    /// There is none.
    #[default]
    Absent,
}

/// What is known about a result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReleaseRecord {
    /// Its name in front of people.
    pub run: String,
    /// How the work ended.
    pub ending: RunEnding,
    /// Where its patch is.
    pub patch: PatchState,
    /// Walls that did not hold.
    pub breaches: Vec<String>,
    /// Required artifacts that are missing or not valid.
    pub missing: Vec<String>,
    /// Commands that were to succeed on the result and did not.
    pub failed_checks: Vec<String>,
    /// What the last review of the result said, when there was one.
    pub review: Option<ModeDecision>,
    /// What the assessment of purpose and risks said, when there was one.
    pub assessment: Option<ModeDecision>,
    /// Paths that steer what runs on someone's machine or is trusted there.
    pub sensitive: Vec<String>,
    /// What looks like a credential, and where.
    pub credentials: Vec<String>,
    /// Paths whose original somebody else changed meanwhile.
    pub base_moved: Vec<String>,
    /// The flow or orchestration it is a part of.
    pub whole: Option<Box<WholeRecord>>,
    /// Why its parts do not leave one by one, although it may leave itself.
    pub parts_stay: Option<String>,
    /// What people let pass.
    pub overrides: Vec<ReleaseOverride>,
}

/// The flow or orchestration something is a part of.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "one is made for each decision, and never a list of them")]
pub enum WholeRecord {
    /// It is known by name alone.
    Unknown {
        /// The name.
        run: String,
    },
    /// What is known about it.
    Known(ReleaseRecord),
}

impl ReleaseRecord {
    /// What a manifest says; sensitive paths, the whole and overrides made since are for the caller to add.
    pub fn of_manifest(manifest: &Manifest) -> Self {
        let kind = manifest.error.as_ref().map_or("", |error| error.kind.as_str());
        let message = manifest.error.as_ref().map(|error| error.message.clone());
        let of = |wanted: &str| message.clone().filter(|_| kind == wanted).into_iter().collect::<Vec<_>>();
        // A flow that waits at a gate, and whatever was killed, could still go on.
        let unfinished = kind == "gate" || manifest.status == RunStatus::Interrupted;
        let ending = match unfinished {
            true => RunEnding::Unfinished,
            false => RunEnding::Ended { outcome: manifest.outcome, why: message.clone() },
        };
        let patch = manifest.artifacts.iter().find(|row| row.path == "diff.patch");
        let withheld = kind == "secret" || kind == "ethics_blocked" || !manifest.breaches.is_empty();
        // What failed before the change, too, is not what a person is waited for.
        let judged = |found: &&VerificationReport| {
            !ending.is(RunOutcome::NeedsHuman) || found.state == VerificationState::Failed
        };
        let verification = manifest.metadata.verification.as_ref().filter(judged);
        let checks = verification.iter().flat_map(|found| &found.checks);
        Self {
            run: manifest.run_id.to_string(),
            ending,
            patch: match patch {
                Some(row) if row.valid => PatchState::Delivered,
                _ if withheld => PatchState::Withheld,
                _ => PatchState::Absent,
            },
            breaches: manifest.breaches.iter().map(|breach| breach.detail.clone()).collect(),
            missing: (manifest.artifacts.iter())
                .filter(|row| row.required && !row.valid)
                .map(|row| row.path.clone())
                .collect(),
            failed_checks: checks
                .filter(|check| check.origin == CheckOrigin::Asked && check.exit_code != Some(0))
                .map(|check| check.command.clone())
                .collect(),
            review: None,
            assessment: of("ethics_blocked").pop().map(|reason| ModeDecision::Block { reason }),
            sensitive: Vec::new(),
            credentials: of("secret"),
            base_moved: of("base_moved"),
            whole: None,
            // What was not done, or not well, is among the parts, and nobody assessed it.
            parts_stay: of("partial").pop(),
            overrides: manifest.metadata.overrides.clone(),
        }
    }
}
