//! The supervisor of a turn: as close as the user wants it, with what the person said as its goal.
//!
//! Each stretch of a turn, from a person's words to the next, has a supervisor of its own: whoever answers a question has
//! looked at the work.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use holon_agent::Supervision;
use holon_agent::supervise::{self, Look, Sight, Takeovers};
use holon_core::Profile;
use holon_core::digest::sha256;
use holon_core::ids::RunId;
use holon_core::policy::{Call, Gate, Surface, Verdict};
use holon_core::redact::Redactor;
use holon_git::Git;
use holon_sandbox::snapshot::{Snapshot, WORKSPACE_INSIDE};
use holon_supervisor::Level;
use holon_supervisor::event::{GitState, KnownCheck, Setup};

use super::hands::{LateHands, Turn};
use crate::config::ConfigurationFiles;
use crate::error::HostError;
use crate::places::Places;
use crate::run::sight::Outside;
use crate::shape;
use crate::supervision::{Wishes, settle};

/// The snapshot of a turn, once its hands are there.
pub(super) type Seen = Arc<OnceLock<Snapshot>>;

/// A supervisor for a turn with this goal, and what people should know about its settings.
pub fn supervision(
    places: &Places,
    turn: &Turn,
    goal: &str,
) -> Result<(Supervision, Vec<String>), HostError> {
    let workspace = turn.folder.workspace();
    let configuration = &ConfigurationFiles::new(places).of(workspace)?;
    let env = &*turn.around.env;
    let mut settled = settle(&Wishes { configuration, env, spec: None, flag: None, shadow: false })?;
    // A person is there and reads along: unless somebody wants more, words are enough.
    if settled.level_from == "default" {
        settled.config.level = Level::Advise;
    }
    let shape = shape::of(workspace);
    let checks = shape.checks().into_iter().filter(|check| may_run(&turn.profile, check));
    let setup = Setup {
        run: id_of(&turn.name),
        mode: turn.profile.name.clone(),
        goal: goal.to_owned(),
        plan_files: Vec::new(),
        plan_steps: 0,
        checks: checks.map(|command| KnownCheck { command, asked: false }).collect(),
        monorepo: shape.is_monorepo(),
        token_limit: 0,
        round_limit: 0,
        foreign: false,
    };
    let supervision = Supervision::new(settled.config, setup)
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
    let call = Call { tool: "execute", line: Some(command), ..Call::default() };
    Gate::new(profile, Surface::Chat, true).decide(&call).verdict != Verdict::Deny
}

impl LateHands {
    /// What the steward of this turn needs.
    pub fn surroundings(&self, redactor: Redactor, takeovers: Takeovers) -> supervise::Surroundings {
        let look =
            LateLook { workspace: self.workspace().to_owned(), seen: Arc::clone(self.seen()), outside: None };
        supervise::Surroundings {
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
struct LateLook {
    workspace: PathBuf,
    seen: Seen,
    outside: Option<Outside>,
}

impl Look for LateLook {
    fn look(&mut self) -> Option<Sight> {
        let Some(snapshot) = self.seen.get() else {
            return Some(Sight { git: git_of(&self.workspace), changed: Vec::new() });
        };
        if self.outside.is_none() {
            self.outside = Outside::of(snapshot, &Git::find().ok()?, 0);
        }
        self.outside.as_mut()?.look()
    }
}

fn git_of(workspace: &Path) -> GitState {
    if workspace.join(".git").exists() { GitState::Normal } else { GitState::None }
}
