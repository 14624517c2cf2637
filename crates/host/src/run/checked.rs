//! Checks alone: commands run on a workspace as it is, behind walls, with no agent.

use std::time::Instant;

use holon_core::event::Sink;
use holon_core::manifest::{ErrorInfo, Phase, Verification};
use holon_core::outcome::Status;

use super::snapshot::Stage;
use super::verdict::Verdict;
use super::{Entering, Finished, Host, Run, rungs};
use crate::cancel::Cancel;
use crate::error::HostError;
use crate::record::now;
use crate::request::RunRequest;

/// What such a run is called where others have the name of their mode.
const NAME: &str = "check";

impl Host {
    /// Runs the checks of a request on its workspace as it is, behind the walls of its mode, and starts no agent. What they
    /// write is thrown away. How each ended is in the manifest's `verification`; the run fails when one fails that was
    /// asked for. All of them together have the time of the request.
    pub fn check(
        &self,
        request: &RunRequest,
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
        let verdict = run.only_checks().unwrap_or_else(|e| Verdict::failed(&e));
        Ok(run.seal(verdict))
    }
}

impl Run<'_> {
    fn only_checks(&mut self) -> Result<Verdict, HostError> {
        self.manifest.metadata.mode = NAME.to_owned();
        let backend = rungs::first(self.host, &self.plan, self.ground())?;
        self.phase(Phase::Prepare, Self::prepare)?;
        let mut stage = self.phase(Phase::Snapshot, |run| run.take_snapshot(backend, None))?;
        let mut verdict = Verdict::good();
        self.phase(Phase::Verify, |run| {
            run.try_walls(&mut stage)?;
            let (all, end) = (run.plan.checking(), stage.deadline);
            let mut known = Verification {
                checks: run.each_check(&mut stage, all, Some(end), &mut verdict)?,
                ..Verification::default()
            };
            known.settle();
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
