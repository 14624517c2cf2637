//! Checks on the result: those asked for, and those the repository's shape suggests; run by the host, behind the same
//! walls. What the agent says about its own work is set beside what they found.

use std::time::{Duration, Instant};

use holon_core::claims;
use holon_core::event::Body;
use holon_core::manifest::{CheckOrigin, CheckRun, ErrorInfo, Verification, Verified};
use holon_core::outcome::Outcome;
use holon_core::weakened::weakened;
use holon_sandbox::walls::{Ending, Streams};

use super::collect::Found;
use super::output::not_started;
use super::snapshot::Stage;
use super::verdict::Verdict;
use super::{Plan, Run};
use crate::error::HostError;
use crate::shape;

/// Longest time for a check that was asked for.
const ASKED_LIMIT: Duration = Duration::from_secs(30 * 60);
/// Longest time for one that nobody asked for.
const FOUND_LIMIT: Duration = Duration::from_secs(10 * 60);
/// What a shell answers when the program is not there or cannot be run.
const NOT_RUNNABLE: [i32; 2] = [126, 127];

impl Plan {
    /// Commands that check the workspace: those asked for, else those that fit its shape.
    pub fn checking(&self) -> Vec<(CheckOrigin, String)> {
        if self.checks.is_empty() && self.auto_checks {
            let found = shape::checks(&self.workspace).into_iter();
            return found.map(|check| (CheckOrigin::Found, check)).collect();
        }
        self.checks.iter().map(|check| (CheckOrigin::Asked, check.clone())).collect()
    }
}

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
        let mut all = self.plan.checking();
        if !changed {
            all.retain(|(origin, _)| *origin == CheckOrigin::Asked);
        }
        known.checks = self.each_check(stage, all, None, verdict)?;
        known.settle();
        if known.state == Verified::Unverified {
            self.warn("the summary claims a verification that no check of the host supports");
        }
        self.manifest.metadata.verification = Some(known);
        Ok(())
    }

    /// Runs checks one after the other, each for its own time and none beyond `end`.
    pub(super) fn each_check(
        &mut self,
        stage: &mut Stage,
        all: Vec<(CheckOrigin, String)>,
        end: Option<Instant>,
        verdict: &mut Verdict,
    ) -> Result<Vec<CheckRun>, HostError> {
        let mut ran = Vec::new();
        for (number, (origin, command)) in all.into_iter().enumerate() {
            if self.cancel.is_cancelled() {
                break;
            }
            let limit = if origin == CheckOrigin::Asked { ASKED_LIMIT } else { FOUND_LIMIT };
            let until = Instant::now() + limit;
            let until = end.map_or(until, |end| end.min(until));
            ran.extend(self.one_check(stage, number + 1, (origin, &command), until, verdict)?);
        }
        Ok(ran)
    }

    /// Runs one check and says what it means; `None` for one that cannot be run and was not asked for.
    fn one_check(
        &mut self,
        stage: &mut Stage,
        number: usize,
        (origin, command): (CheckOrigin, &str),
        until: Instant,
        verdict: &mut Verdict,
    ) -> Result<Option<CheckRun>, HostError> {
        let began = Instant::now();
        let ending = self.check(stage, number, command, until)?;
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
        until: Instant,
    ) -> Result<Ending, HostError> {
        stage.snapshot.renew()?;
        stage.renew_caches()?;
        let argv = ["/bin/sh", "-c", command].map(Into::into).to_vec();
        let mut job = self.job(stage, argv);
        job.streams = Streams::Watched;
        let payload = stage.backend.start(&job).map_err(|r| not_started(&r))?;
        let log = self.folder.evidence().join(format!("check-{number}.log"));
        let watched = vec![self.folder.layers()];
        let allowance = self.allowance(stage, until);
        let attended = self.attend(payload, None, &allowance, &watched, &log, false)?;
        Ok(if attended.stopped.is_some() { Ending::Killed } else { attended.finished.ending })
    }

    /// The summary as it was accepted.
    fn summary(&self) -> String {
        let bytes = std::fs::read(self.folder.output().join("summary.md")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
