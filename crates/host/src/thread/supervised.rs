//! The supervisor of a turn: as close as the user wants it, with what the person said as its goal.
//!
//! Each stretch of a turn, from a person's words to the next, has a supervisor of its own: whoever answers a question has
//! looked at the work.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use holon_agent::SupervisionSession;
use holon_agent::supervise::{self, ChangeWatch, TakeoverRequests, WorkspaceObservation};
use holon_core::Profile;
use holon_core::digest::sha256;
use holon_core::ids::RunId;
use holon_core::policy::{CallSurface, ProposedCall, ToolCallGate, ToolVerdict};
use holon_core::redact::Redactor;
use holon_git::Git;
use holon_sandbox::snapshot::{WORKSPACE_INSIDE, WorkspaceSnapshot};
use holon_supervisor::SupervisorLevel;
use holon_supervisor::event::{CheckCommand, GitState, SupervisorSetup};

use super::late_executor::{LateToolExecutor, ThreadTurn};
use crate::config::ConfigurationFiles;
use crate::error::HostError;
use crate::holon_folders::HolonFolders;
use crate::run::change_watch::SnapshotWatch;
use crate::shape;
use crate::supervision::{SupervisionSources, settle};

/// The snapshot of a turn, once its hands are there.
pub(super) type TurnSnapshotCell = Arc<OnceLock<WorkspaceSnapshot>>;

/// A supervisor for a turn with this goal, and what people should know about its settings.
pub fn supervision(
    places: &HolonFolders,
    turn: &ThreadTurn,
    goal: &str,
) -> Result<(SupervisionSession, Vec<String>), HostError> {
    let workspace = turn.folder.workspace();
    let configuration = &ConfigurationFiles::new(places).of(workspace)?;
    let env = &*turn.around.env;
    let mut settled =
        settle(&SupervisionSources { configuration, env, spec: None, flag: None, shadow: false })?;
    // A person is there and reads along: unless somebody wants more, words are enough.
    if settled.level_from == "default" {
        settled.config.level = SupervisorLevel::Advise;
    }
    let shape = shape::of(workspace);
    let checks = shape.checks().into_iter().filter(|check| may_run(&turn.profile, check));
    let setup = SupervisorSetup {
        run: id_of(&turn.name),
        mode: turn.profile.name.clone(),
        goal: goal.to_owned(),
        plan_files: Vec::new(),
        plan_steps: 0,
        checks: checks.map(|command| CheckCommand { command, asked: false }).collect(),
        monorepo: shape.is_monorepo(),
        token_limit: 0,
        round_limit: 0,
        foreign: false,
    };
    let supervision = SupervisionSession::new(settled.config, setup)
        .map_err(|e| HostError::usage(e.to_string(), "correct the supervisor's settings"))?;
    Ok((supervision, settled.warnings))
}

/// A turn is no run; its records bear an id of the same form, always the same one for the same turn.
fn id_of(name: &str) -> RunId {
    let digest = sha256(name.as_bytes());
    let bits = u32::from_str_radix(&digest[..8], 16).unwrap_or_default();
    let seconds = u64::try_from(jiff::Timestamp::now().as_second()).unwrap_or_default();
    RunId::from_parts(seconds, bits.to_le_bytes())
}

fn may_run(profile: &Profile, command: &str) -> bool {
    let call = ProposedCall { tool: "execute", line: Some(command), ..ProposedCall::default() };
    ToolCallGate::new(profile, CallSurface::Chat, true).decide(&call).verdict != ToolVerdict::Deny
}

impl LateToolExecutor {
    /// What the steward of this turn needs.
    pub fn surroundings(
        &self,
        redactor: Redactor,
        takeovers: TakeoverRequests,
    ) -> supervise::SupervisionContext {
        let look = LateChangeWatch {
            workspace: self.workspace().to_owned(),
            seen: Arc::clone(self.seen()),
            outside: None,
        };
        supervise::SupervisionContext {
            clock: Box::new(|| u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0)),
            redactor,
            workspace: WORKSPACE_INSIDE.to_owned(),
            look: Some(Box::new(look)),
            takeovers,
            keeper: None,
        }
    }
}

/// Looks at the snapshot of a turn; before there is one, nothing has changed.
struct LateChangeWatch {
    workspace: PathBuf,
    seen: TurnSnapshotCell,
    outside: Option<SnapshotWatch>,
}

impl ChangeWatch for LateChangeWatch {
    fn look(&mut self) -> Option<WorkspaceObservation> {
        let Some(snapshot) = self.seen.get() else {
            return Some(WorkspaceObservation { git: git_of(&self.workspace), changed: Vec::new() });
        };
        if self.outside.is_none() {
            self.outside = SnapshotWatch::of(snapshot, &Git::find().ok()?, 0);
        }
        self.outside.as_mut()?.look()
    }
}

fn git_of(workspace: &Path) -> GitState {
    if workspace.join(".git").exists() { GitState::Normal } else { GitState::None }
}
