//! Facts in: everything the supervisor is ever told. Times, ids and texts come with them, already redacted.

use holon_core::ids::{CallId, RunId};
use holon_core::policy::ToolClass;
use serde::{Deserialize, Serialize};

/// One fact and when it was true.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SupervisorEvent {
    /// Milliseconds since 1970 by the caller's clock; only carried into the timeline, never compared.
    pub ts: u64,
    /// The fact.
    #[serde(flatten)]
    pub fact: SupervisorFact,
}

/// What happened, told apart by `fact`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum SupervisorFact {
    /// A run begins: always the first fact, once.
    RunStarted(Box<SupervisorSetup>),
    /// The model is about to be asked.
    RoundStarted {
        /// Counts from 1.
        round: u32,
    },
    /// The model wants a call; answered by one gate decision before anything is executed.
    ToolProposed(CallProposal),
    /// A call that was let through came back.
    ToolFinished(FinishedCall),
    /// A call could not be read, or names a tool that is not there; nothing was executed.
    CallMalformed {
        /// The tool's name, as the model wrote it.
        tool: String,
        /// What is wrong with it.
        why: String,
    },
    /// A check ran: by the model, whose call then has `check` set, or by the host.
    CheckRan(CheckOutcome),
    /// The round is over.
    RoundEnded(RoundEnd),
    /// The model says that it is done; answered by one gate decision. Comes before the end of its round.
    ModelDone,
    /// The model says that it cannot do it; answered and placed as when it is done.
    ModelGaveUp,
    /// A person asks the supervisor to take over.
    UserForceTakeover {
        /// Who asked, for the timeline.
        by: String,
    },
    /// A stored state goes on.
    CheckpointResumed,
    /// The loop around the supervisor could not do its part.
    EngineError {
        /// What went wrong.
        what: String,
    },
}

/// What is known when a run begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SupervisorSetup {
    /// The run.
    pub run: RunId,
    /// Canonical name of the mode.
    pub mode: String,
    /// What was asked.
    pub goal: String,
    /// Files a plan names; those in the goal's own words are found without help.
    #[serde(default)]
    pub plan_files: Vec<String>,
    /// How many steps a plan names.
    #[serde(default)]
    pub plan_steps: u32,
    /// Checks that can be run: found in the repository, asked for by spec or user.
    #[serde(default)]
    pub checks: Vec<CheckCommand>,
    /// Whether the workspace holds several packages.
    #[serde(default)]
    pub monorepo: bool,
    /// Most tokens the run may use; 0 when there is no such limit.
    #[serde(default)]
    pub token_limit: u64,
    /// Most rounds it may take; 0 when there is no such limit.
    #[serde(default)]
    pub round_limit: u32,
    /// Whether calls are carried out whatever is decided: an agent that is watched from outside. What would be denied is then
    /// told, and nothing is held back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreign: bool,
}

/// A command that says whether the work is good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckCommand {
    /// The command line.
    pub command: String,
    /// Whether the user or the spec asked for it, so that it must pass.
    #[serde(default)]
    pub asked: bool,
}

/// A call the model wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallProposal {
    /// The call.
    pub call: CallId,
    /// The tool's name.
    pub tool: String,
    /// What kind of tool it is.
    pub class: ToolClass,
    /// Paths it would touch, relative to the workspace.
    #[serde(default)]
    pub targets: Vec<String>,
    /// Digest of its arguments: two calls with the same tool and digest are the same call.
    pub arguments: String,
    /// The command line, for commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// What a call left behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedCall {
    /// The call.
    pub call: CallId,
    /// Whether it did what was asked.
    pub ok: bool,
    /// Exit code of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// Whether it was a check: then its result is the [`SupervisorFact::CheckRan`] that follows, not a failed call.
    #[serde(default)]
    pub check: bool,
    /// The first lines of what went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Digest of what the model was told, by [`crate::result_digest`]; empty when that was nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Whether it printed what no call of this run had, to the last digit of its times.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub varies: bool,
    /// Its wall time.
    #[serde(default)]
    pub duration_ms: u64,
    /// What is now known for certain.
    #[serde(default)]
    pub evidence: ProvenEffects,
}

/// What a call proved, by content and not by what it said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProvenEffects {
    /// Files whose content the model has now seen.
    #[serde(default)]
    pub read: Vec<FileHash>,
    /// Files whose content is now another.
    #[serde(default)]
    pub changed: Vec<HashedFileChange>,
    /// How many results a search gave.
    #[serde(default)]
    pub results: u32,
    /// Whether a child agent gave its result.
    #[serde(default)]
    pub child: bool,
}

/// A file at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileHash {
    /// Its path, relative to the workspace.
    pub path: String,
    /// Digest of its content; empty when it is gone.
    pub hash: String,
}

/// A file before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HashedFileChange {
    /// Its path, relative to the workspace.
    pub path: String,
    /// Digest of what was there; empty for nothing.
    pub before: String,
    /// Digest of what is there now; empty for nothing.
    pub after: String,
}

impl HashedFileChange {
    /// Whether the content is really another one.
    pub fn is_real(&self) -> bool {
        self.before != self.after
    }
}

/// A check and what came out of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckOutcome {
    /// The call of the model that ran it, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// The command line.
    pub command: String,
    /// Its exit code; nothing when it was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// How many cases passed.
    #[serde(default)]
    pub passed: u32,
    /// How many failed.
    #[serde(default)]
    pub failed: u32,
    /// How many were left out.
    #[serde(default)]
    pub skipped: u32,
    /// The names of those that failed.
    #[serde(default)]
    pub failing: Vec<String>,
    /// How many errors a compiler or linter reported.
    #[serde(default)]
    pub diagnostics: u32,
    /// Its wall time.
    #[serde(default)]
    pub duration_ms: u64,
    /// The line of it that tells most, where it names no case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
    /// Digest of what it printed, by [`crate::result_digest`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Files it changed, where the host ran it: those of a call are told with the call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<HashedFileChange>,
}

impl CheckOutcome {
    /// Whether it passed.
    pub fn passed_whole(&self) -> bool {
        self.exit == Some(0)
    }

    /// Whether it says anything: not when its program is not there or cannot be run.
    pub const fn could_run(&self) -> bool {
        !matches!(self.exit, Some(126 | 127))
    }
}

/// What a round amounted to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundEnd {
    /// Tokens of this round, both ways.
    #[serde(default)]
    pub tokens: u64,
    /// Whether the model wrote any text.
    #[serde(default)]
    pub text: bool,
    /// Whether it made no call at all.
    #[serde(default)]
    pub text_only: bool,
    /// Lines changed since the run began, from the real diff.
    #[serde(default)]
    pub diff_lines: u32,
    /// Lines of the beginning among them, which are gone or others now.
    #[serde(default)]
    pub gone_lines: u32,
    /// Files found changed that no call told of: the work of background jobs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<HashedFileChange>,
    /// The workspace as it is, when the caller has looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceState>,
}

/// The workspace, as found by looking.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceState {
    /// What git says.
    pub git: GitState,
    /// Whether the hashes below were made from the bytes just now.
    pub verified: bool,
    /// Every file that differs from the base, with its content now.
    #[serde(default)]
    pub changed: Vec<FileHash>,
    /// Tests that were there and have lost lines since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shrunk_tests: Vec<String>,
}

/// The repository's own state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GitState {
    /// Nobody looked.
    #[default]
    Unknown,
    /// There is no repository.
    None,
    /// On a branch, nothing under way.
    Normal,
    /// On no branch.
    Detached,
    /// A rebase or merge is under way.
    Rebase,
    /// Files hold conflict markers git knows of.
    Conflict,
    /// The tree or the index cannot be read.
    Corrupt,
}

impl GitState {
    /// Whether anything is known at all.
    pub const fn is_known(self) -> bool {
        !matches!(self, Self::Unknown)
    }

    /// Whether no plan may be built on it.
    pub const fn is_unsafe(self) -> bool {
        matches!(self, Self::Conflict | Self::Corrupt)
    }
}
