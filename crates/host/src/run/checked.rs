//! Checks alone: commands run on a workspace as it is, behind walls, with no agent.

use std::path::PathBuf;

use holon_core::manifest::{ErrorInfo, RunPhase, VerificationReport};
use holon_core::outcome::RunStatus;
use holon_sandbox::mount::{self, path::StoredPath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check_tree::CheckedChange;
use super::checks::CheckSession;
use super::snapshot::RunStage;
use super::verdict::RunVerdict;
use super::{ActiveRun, isolation_levels};
use crate::error::HostError;

/// What such a run is called where others have the name of their mode.
pub(super) const NAME: &str = "check";

/// The tree a workspace was made from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TreeBefore {
    /// Where it is.
    #[serde(with = "mount::path")]
    #[schemars(with = "StoredPath")]
    pub workspace: PathBuf,
    /// Paths that may differ, relative to it.
    #[serde(with = "mount::paths")]
    #[schemars(with = "Vec<StoredPath>")]
    pub touched: Vec<PathBuf>,
    /// Whether every check runs on it, also where nothing of the result asks for that.
    pub always: bool,
}

impl ActiveRun<'_> {
    /// Runs the checks of a plan on its workspace as it is, behind the walls of its mode, and starts no agent. What they
    /// write is thrown away. How each ended is in the manifest's `verification`; the run fails when one fails that was asked
    /// for. All of them together have the time of the run.
    pub(super) fn only_checks(&mut self, before: Option<&TreeBefore>) -> Result<RunVerdict, HostError> {
        self.manifest.metadata.mode = NAME.to_owned();
        // What checks write is thrown away.
        self.manifest.no_changes = true;
        let backend = isolation_levels::first(self.host, &self.plan, self.ground())?;
        self.open_environment()?;
        self.phase(RunPhase::Prepare, Self::prepare)?;
        let mut stage = self.phase(RunPhase::Snapshot, |run| run.take_snapshot(backend, None))?;
        let mut verdict = RunVerdict::good();
        self.phase(RunPhase::Verify, |run| {
            run.try_walls(&mut stage)?;
            let (all, end) = (run.plan.checking(), stage.deadline);
            let commands: Vec<String> = all.iter().map(|(_, command)| command.clone()).collect();
            let workspace = &run.plan.workspace;
            let change = match before {
                Some(before) => {
                    CheckedChange::between(&before.workspace, workspace, &before.touched, &commands)
                }
                None => CheckedChange::of(None, workspace, &commands),
            };
            let mut checking = CheckSession::new(change, all, Some(end));
            checking.always_based = before.is_some_and(|before| before.always);
            let checks = run.each_check(&mut stage, &mut checking)?;
            let definitions = checking.change.as_it_was.definitions.clone();
            let tests_may_change = run.plan.tests_may_change;
            let mut known =
                VerificationReport { checks, definitions, tests_may_change, ..VerificationReport::default() };
            run.judge_checks(&checking.change, &mut known, &mut verdict);
            run.manifest.metadata.verification = Some(known);
            Ok(())
        })?;
        if self.cancel.is_cancelled() {
            verdict = RunVerdict::good();
            verdict.ended(RunStatus::Cancelled, ErrorInfo::new("cancelled", "cancelled by request"));
        }
        Ok(verdict)
    }

    /// Finds out which walls can be built here, as the start of an agent would.
    fn try_walls(&mut self, stage: &mut RunStage) -> Result<(), HostError> {
        let nothing = ["/bin/sh", "-c", ":"].map(Into::into).to_vec();
        let payload = self.build_walls(stage, nothing)?;
        self.note_walls(stage.backend.as_ref(), payload.held(), stage);
        payload.finish();
        Ok(())
    }
}
