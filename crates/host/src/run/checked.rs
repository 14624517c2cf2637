//! Checks alone: commands run on a workspace as it is, behind walls, with no agent.

use std::path::PathBuf;
use std::time::Instant;

use holon_core::event::Sink;
use holon_core::manifest::{ErrorInfo, Phase, Verification};
use holon_core::outcome::Status;

use super::check_tree::CheckedChange;
use super::checks::Checking;
use super::snapshot::Stage;
use super::verdict::Verdict;
use super::{Entering, Finished, Host, Run, rungs};
use crate::error::HostError;
use crate::record::now;
use crate::request::RunRequest;
use holon_model::Cancel;

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
        sink: &mut dyn Sink,
        cancel: &Cancel,
    ) -> Result<Finished, HostError> {
        let (began, started_at) = (Instant::now(), now());
        let mut plan = self.plan(request)?;
        // Nothing is handed over, kept or brought in.
        plan.profile.artifacts.required.clear();
        (plan.out, plan.record, plan.apply) = (None, None, false);
        let (mode, audit) = (NAME.to_owned(), request.audit.clone());
        let entering = Entering { plan, mode, audit, resumed: None, began, started_at, sink, cancel };
        let mut run = self.enter(entering)?;
        let verdict = run.only_checks(before).unwrap_or_else(|e| Verdict::failed(&e));
        Ok(run.seal(verdict))
    }
}

impl Run<'_> {
    fn only_checks(&mut self, before: Option<&TreeBefore>) -> Result<Verdict, HostError> {
        self.manifest.metadata.mode = NAME.to_owned();
        // What checks write is thrown away.
        self.manifest.no_changes = true;
        let backend = rungs::first(self.host, &self.plan, self.ground())?;
        self.phase(Phase::Prepare, Self::prepare)?;
        let mut stage = self.phase(Phase::Snapshot, |run| run.take_snapshot(backend, None))?;
        let mut verdict = Verdict::good();
        self.phase(Phase::Verify, |run| {
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
            let mut checking = Checking::new(change, all, Some(end));
            checking.always_based = before.is_some_and(|before| before.always);
            let checks = run.each_check(&mut stage, &mut checking)?;
            let definitions = checking.change.as_it_was.definitions.clone();
            let tests_may_change = run.plan.tests_may_change;
            let mut known = Verification { checks, definitions, tests_may_change, ..Verification::default() };
            run.judge_checks(&checking.change, &mut known, &mut verdict);
            run.manifest.metadata.verification = Some(known);
            Ok(())
        })?;
        if self.cancel.is_cancelled() {
            verdict = Verdict::good();
            verdict.ended(Status::Cancelled, ErrorInfo::new("cancelled", "cancelled by request"));
        }
        Ok(verdict)
    }

    /// Finds out which walls can be built here, as the start of an agent would.
    fn try_walls(&mut self, stage: &mut Stage) -> Result<(), HostError> {
        let nothing = ["/bin/sh", "-c", ":"].map(Into::into).to_vec();
        let payload = self.build_walls(stage, nothing)?;
        self.note_walls(stage.backend.as_ref(), payload.held(), stage);
        payload.finish();
        Ok(())
    }
}
