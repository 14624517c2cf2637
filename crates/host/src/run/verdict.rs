//! What a run is worth, gathered while it is verified.

use holon_core::manifest::ErrorInfo;
use holon_core::outcome::{RunOutcome, RunStatus};

use crate::error::HostError;

/// Status, outcome and the reason; starts good and can only get worse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunVerdict {
    /// What happened to the execution.
    pub status: RunStatus,
    /// What the result is worth.
    pub outcome: RunOutcome,
    /// The first and most important reason for anything but success.
    pub error: Option<ErrorInfo>,
    /// What to tell the agent in a repair round: artifact and problems.
    pub repairs: Vec<(String, Vec<String>)>,
    /// Whether one more start of the agent could mend it.
    pub asks_for_repair: bool,
    /// Whether the patch must be kept back.
    pub withhold_patch: bool,
    /// Whether the agent ended by asking a person: then what is missing is no failure.
    pub asks_person: bool,
    /// The supervisor ended it because nothing vouches for the work: true unless the host's own checks do.
    pub doubt: Option<(RunOutcome, ErrorInfo)>,
    /// Whether that doubt is gone when everything that fails has failed before this run.
    pub as_before: bool,
}

impl RunVerdict {
    /// Nothing wrong so far.
    pub(super) fn good() -> Self {
        Self {
            status: RunStatus::Completed,
            outcome: RunOutcome::Success,
            error: None,
            repairs: Vec::new(),
            asks_for_repair: false,
            withhold_patch: false,
            asks_person: false,
            doubt: None,
            as_before: false,
        }
    }

    /// A phase could not do its work.
    pub(super) fn failed(error: &HostError) -> Self {
        let mut verdict = Self::good();
        let mut info = ErrorInfo::new(error.kind(), error.to_string());
        info.hint = error.hint();
        verdict.ended(RunStatus::Failed, info);
        verdict
    }

    /// The execution itself did not come to its end.
    pub(super) fn ended(&mut self, status: RunStatus, error: ErrorInfo) {
        self.status = status;
        self.worsen(RunOutcome::Failure, error);
    }

    /// Lowers the outcome; the first reason for the worst outcome is the one reported.
    pub(super) fn worsen(&mut self, outcome: RunOutcome, error: ErrorInfo) {
        let worse = self.outcome.worse(outcome);
        if worse != self.outcome || self.error.is_none() {
            self.error = Some(error);
        }
        self.outcome = worse;
    }

    /// What the host found out about work that nothing vouched for.
    pub(super) fn settle_doubt(&mut self, verified: bool) {
        if let Some((outcome, error)) = self.doubt.take().filter(|_| !verified) {
            self.worsen(outcome, error);
        }
    }

    /// Whether the supervisor ended it for a person to look.
    pub(super) fn is_checkpoint(&self) -> bool {
        let person = self.outcome == RunOutcome::NeedsHuman;
        person && self.error.as_ref().is_some_and(|error| error.kind == "checkpoint")
    }

    /// Whether checks on the result still make sense.
    pub(super) fn is_deliverable(&self) -> bool {
        self.status == RunStatus::Completed && self.outcome != RunOutcome::Failure
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inv_04_a_verdict_only_gets_worse() {
        let mut verdict = RunVerdict::good();
        verdict.worsen(RunOutcome::NeedsHuman, ErrorInfo::new("sensitive", "first"));
        verdict.worsen(RunOutcome::Failure, ErrorInfo::new("check", "second"));
        verdict.worsen(RunOutcome::NeedsHuman, ErrorInfo::new("moved", "third"));
        assert_eq!(verdict.outcome, RunOutcome::Failure);
        assert_eq!(verdict.error.map(|e| e.kind), Some("check".to_owned()));
    }
}
