//! Checks on the result: those asked for, and those the repository's shape suggests; run by the host, behind the same
//! walls. What the agent says about its own work is set beside what they found.

use std::time::{Duration, Instant};

use holon_core::claims;
use holon_core::event::Body;
use holon_core::manifest::{CheckOrigin, CheckRun, ErrorInfo, Verification, Verified};
use holon_core::outcome::Outcome;
use holon_core::weakened::weakened;
use holon_sandbox::walls::{Ending, Streams};

use super::Run;
use super::collect::Found;
use super::output::not_started;
use super::snapshot::Stage;
use super::verdict::Verdict;
use crate::error::HostError;
use crate::shape;

/// Longest time for a check that was asked for.
const ASKED_LIMIT: Duration = Duration::from_secs(30 * 60);
/// Longest time for one that nobody asked for.
const FOUND_LIMIT: Duration = Duration::from_secs(10 * 60);
/// What a shell answers when the program is not there or cannot be run.
const NOT_RUNNABLE: [i32; 2] = [126, 127];

impl Run<'_> {
    /// Runs every check; the patch was made before, so nothing a check writes can get into it.
    pub(super) fn run_checks(
        &mut self,
        stage: &mut Stage,
        found: &Found,
        verdict: &mut Verdict,
    ) -> Result<(), HostError> {
        let changed = !found.patch.bytes.is_empty() && self.plan.profile.access.delivers();
        let mut known = Verification {
            claims: claims::of_verification(&self.summary()),
            weakened: if changed { weakened(&found.patch.bytes) } else { Vec::new() },
            ..Verification::default()
        };
        for weaker in known.weakened.clone() {
            self.warn(format!("weaker tests: {weaker}"));
        }
        let mut all: Vec<(CheckOrigin, String)> =
            self.plan.checks.iter().map(|c| (CheckOrigin::Asked, c.clone())).collect();
        if all.is_empty() && changed && self.plan.auto_checks {
            all.extend(shape::checks(&self.plan.workspace).into_iter().map(|c| (CheckOrigin::Found, c)));
        }
        for (number, (origin, command)) in all.into_iter().enumerate() {
            if self.cancel.is_cancelled() {
                break;
            }
            if let Some(run) = self.one_check(stage, number + 1, origin, &command, verdict)? {
                known.checks.push(run);
            }
        }
        known.settle();
        if known.state == Verified::Unverified {
            self.warn("the summary claims a verification that no check of the host supports");
        }
        self.manifest.metadata.verification = Some(known);
        Ok(())
    }

    /// Runs one check and says what it means; `None` for one that cannot be run and was not asked for.
    fn one_check(
        &mut self,
        stage: &mut Stage,
        number: usize,
        origin: CheckOrigin,
        command: &str,
        verdict: &mut Verdict,
    ) -> Result<Option<CheckRun>, HostError> {
        let began = Instant::now();
        let limit = if origin == CheckOrigin::Asked { ASKED_LIMIT } else { FOUND_LIMIT };
        let ending = self.check(stage, number, command, limit)?;
        let exit_code = match ending {
            Ending::Code(code) => Some(code),
            Ending::Signal(_) | Ending::Killed => None,
        };
        let duration_ms = began.elapsed().as_millis() as u64;
        if origin == CheckOrigin::Found && exit_code.is_some_and(|code| NOT_RUNNABLE.contains(&code)) {
            self.warn(format!("`{command}` fits this repository, but cannot be run here"));
            return Ok(None);
        }
        self.events.emit(Body::CheckRan { command: command.to_owned(), exit_code, duration_ms });
        if exit_code != Some(0) {
            let how = exit_code.map_or("was ended".to_owned(), |c| format!("exited with {c}"));
            let log = format!("its output is in evidence/check-{number}.log");
            if origin == CheckOrigin::Asked {
                let error = ErrorInfo::new("check_failed", format!("the check `{command}` {how}"));
                verdict.worsen(Outcome::Failure, error.with_hint(log));
            } else {
                self.warn(format!("`{command}`, which fits this repository, {how} on the result; {log}"));
            }
        }
        Ok(Some(CheckRun { command: command.to_owned(), origin, exit_code, duration_ms }))
    }

    fn check(
        &mut self,
        stage: &mut Stage,
        number: usize,
        command: &str,
        limit: Duration,
    ) -> Result<Ending, HostError> {
        stage.snapshot.renew()?;
        stage.renew_caches()?;
        let argv = ["/bin/sh", "-c", command].map(Into::into).to_vec();
        let mut job = self.job(stage, argv);
        job.streams = Streams::Watched;
        let payload = stage.backend.start(&job).map_err(|r| not_started(&r))?;
        let log = self.folder.evidence().join(format!("check-{number}.log"));
        let watched = vec![self.folder.layers()];
        let allowance = self.allowance(stage, Instant::now() + limit);
        let attended = self.attend(payload, None, &allowance, &watched, &log, false)?;
        Ok(if attended.stopped.is_some() { Ending::Killed } else { attended.finished.ending })
    }

    /// The summary as it was accepted.
    fn summary(&self) -> String {
        let bytes = std::fs::read(self.folder.output().join("summary.md")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
