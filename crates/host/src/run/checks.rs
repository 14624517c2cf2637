//! Checks asked for by the user: run by the host on the result, behind the same walls.

use std::time::{Duration, Instant};

use holon_core::event::Body;
use holon_core::manifest::ErrorInfo;
use holon_core::outcome::Outcome;
use holon_sandbox::walls::Ending;

use super::Run;
use super::output::not_started;
use super::snapshot::Stage;
use super::verdict::Verdict;
use crate::error::HostError;

/// Longest time for one check.
const CHECK_LIMIT: Duration = Duration::from_secs(30 * 60);

impl Run<'_> {
    /// Runs every check; the patch was made before, so nothing a check writes can get into it.
    pub(super) fn run_checks(&mut self, stage: &mut Stage, verdict: &mut Verdict) -> Result<(), HostError> {
        for (number, command) in self.plan.checks.clone().into_iter().enumerate() {
            if self.cancel.is_cancelled() {
                break;
            }
            let began = Instant::now();
            let ending = self.check(stage, number + 1, &command)?;
            let exit_code = match ending {
                Ending::Code(code) => Some(code),
                Ending::Signal(_) | Ending::Killed => None,
            };
            let duration_ms = began.elapsed().as_millis() as u64;
            self.events.emit(Body::CheckRan { command: command.clone(), exit_code, duration_ms });
            if exit_code != Some(0) {
                let how = exit_code.map_or("was ended".to_owned(), |c| format!("exited with {c}"));
                let error = ErrorInfo::new("check_failed", format!("the check `{command}` {how}"))
                    .with_hint(format!("its output is in evidence/check-{}.log", number + 1));
                verdict.worsen(Outcome::Failure, error);
            }
        }
        Ok(())
    }

    fn check(&mut self, stage: &mut Stage, number: usize, command: &str) -> Result<Ending, HostError> {
        stage.snapshot.renew()?;
        stage.renew_caches()?;
        let argv = ["/bin/sh", "-c", command].map(Into::into).to_vec();
        let job = self.job(stage, argv);
        let payload = stage.backend.start(&job).map_err(|r| not_started(&r))?;
        let log = self.folder.evidence().join(format!("check-{number}.log"));
        let watched = vec![self.folder.layers()];
        let allowance = self.allowance(stage, Instant::now() + CHECK_LIMIT);
        let attended = self.attend(payload, &allowance, &watched, &log, false)?;
        Ok(if attended.stopped.is_some() { Ending::Killed } else { attended.finished.ending })
    }
}
