//! Checks alone: commands run on a workspace as it is, behind walls, with no agent.

use std::path::PathBuf;
use std::time::Instant;

use holon_core::event::EventSink;
use holon_core::manifest::{ErrorInfo, RunPhase, VerificationReport};
use holon_core::outcome::RunStatus;

use super::check_tree::CheckedChange;
use super::checks::CheckSession;
use super::snapshot::RunStage;
use super::verdict::RunVerdict;
use super::{ActiveRun, FinishedRun, Host, RunEntry, isolation_levels};
use crate::cancel::RunCancel;
use crate::error::HostError;
use crate::record::now;
use crate::request::RunRequest;

/// What such a run is called where others have the name of their mode.
const NAME: &str = "check";

/// The tree a workspace was made from.
#[derive(Debug, Clone, Default)]
pub struct TreeBefore {
    /// Where it is.
    pub workspace: PathBuf,
    /// Paths that may differ, relative to it.
    pub touched: Vec<PathBuf>,
    /// Whether every check runs on it, also where nothing of the result asks for that.
    pub always: bool,
}

impl Host {
    /// Runs the checks of a request on its workspace as it is, behind the walls of its mode, and starts no agent. What they
    /// write is thrown away. How each ended is in the manifest's `verification`; the run fails when one fails that was
    /// asked for. All of them together have the time of the request. With `before`, they are also judged by what they say
    /// of the tree the workspace was made from.
    pub fn check(
        &self,
        request: &RunRequest,
        before: Option<&TreeBefore>,
        sink: &mut dyn EventSink,
        cancel: &RunCancel,
    ) -> Result<FinishedRun, HostError> {
        let (began, started_at) = (Instant::now(), now());
        let mut plan = self.plan(request)?;
        // Nothing is handed over, kept or brought in.
        plan.profile.artifacts.required.clear();
        (plan.out, plan.record, plan.apply) = (None, None, false);
        let (mode, audit) = (NAME.to_owned(), request.audit.clone());
        let entering = RunEntry { plan, mode, audit, resumed: None, began, started_at, sink, cancel };
        let mut run = self.enter(entering)?;
        let verdict = run.only_checks(before).unwrap_or_else(|e| RunVerdict::failed(&e));
        Ok(run.seal(verdict))
    }
}

impl ActiveRun<'_> {
    fn only_checks(&mut self, before: Option<&TreeBefore>) -> Result<RunVerdict, HostError> {
        self.manifest.metadata.mode = NAME.to_owned();
        // What checks write is thrown away.
        self.manifest.no_changes = true;
        let backend = isolation_levels::first(self.host, &self.plan, self.ground())?;
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
