//! The decision itself.

use super::overruled::ReleaseOverride;
use super::reason::ReleaseReason;
use super::record::{PatchState, ReleaseRecord, ReleaseTarget, RunEnding, WholeRecord};
use crate::mode_run::ModeDecision;
use crate::outcome::RunOutcome;

/// Whether something may leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseDecision {
    /// What it is about.
    pub run: String,
    /// Where it would go.
    pub target: ReleaseTarget,
    /// Why it may not, the weightiest first; nothing when it may.
    pub held: Vec<ReleaseReason>,
    /// What would hold it, had a person not said otherwise.
    pub overridden: Vec<(ReleaseReason, ReleaseOverride)>,
}

impl ReleaseDecision {
    /// Whether it may leave.
    pub fn is_released(&self) -> bool {
        self.held.is_empty()
    }

    /// Whether a person's word would be enough.
    pub fn can_be_overridden(&self) -> bool {
        !self.held.is_empty() && self.held.iter().all(ReleaseReason::can_be_overridden)
    }

    /// 0 when it may leave, 1 when the work itself went wrong, 2 when it is a person's move.
    pub fn exit_code(&self) -> u8 {
        match self.held.iter().any(ReleaseReason::is_failure) {
            _ if self.is_released() => 0,
            true => RunOutcome::Failure.exit_code(),
            false => RunOutcome::NeedsHuman.exit_code(),
        }
    }

    /// Why it may not leave, in sentences.
    pub fn message(&self) -> String {
        self.held.iter().map(|reason| reason.sentence(&self.run)).collect::<Vec<_>>().join("; ")
    }

    /// What to do, and how to say otherwise where that is possible: `command` is the one that was refused.
    pub fn hint(&self, command: &str) -> String {
        let mut hint = self.held.first().map(|reason| reason.remedy(&self.run)).unwrap_or_default();
        if self.can_be_overridden() && !command.is_empty() {
            hint.push_str(&format!("; to do it all the same: {command} {}", self.override_flags()));
        }
        hint
    }

    /// What a command line needs besides to say otherwise.
    pub fn override_flags(&self) -> String {
        let flags: Vec<String> =
            self.held.iter().map(|reason| format!("--override {}", reason.code())).collect();
        format!("{} --reason \"WHY\"", flags.join(" "))
    }
}

/// Decides whether what `record` tells of may go to `target`.
pub fn decide_release(record: &ReleaseRecord, target: ReleaseTarget) -> ReleaseDecision {
    let (mut held, mut overridden) = (Vec::new(), Vec::new());
    for reason in reasons(record, target) {
        let word = record.overrides.iter().find(|word| word.covers(reason.code(), target, &record.run));
        match word.filter(|_| reason.can_be_overridden()) {
            Some(word) => overridden.push((reason, word.clone())),
            None => held.push(reason),
        }
    }
    ReleaseDecision { run: record.run.clone(), target, held, overridden }
}

/// Everything that speaks against it, the weightiest first.
fn reasons(record: &ReleaseRecord, target: ReleaseTarget) -> Vec<ReleaseReason> {
    let mut found = of_the_work(record);
    // Reports about a change that was kept back may be shown; the change itself may not.
    if target.takes_a_patch() || record.patch == PatchState::Delivered {
        found.extend(of_the_verdicts(record));
    }
    if !record.credentials.is_empty() {
        found.push(ReleaseReason::Credential(record.credentials.clone()));
    }
    if target.takes_a_patch() && record.patch == PatchState::Withheld {
        found.push(ReleaseReason::Withheld);
    }
    if target.takes_a_patch() && record.patch == PatchState::Absent && found.is_empty() {
        found.push(ReleaseReason::NoPatch);
    }
    // Who started a run with --allow-sensitive has said the second word, else it would not have ended as a success.
    if !record.sensitive.is_empty() && !record.ending.is(RunOutcome::Success) {
        found.push(ReleaseReason::Sensitive(record.sensitive.clone()));
    }
    if record.ending.is(RunOutcome::NeedsHuman) && !target.is_seen_by_a_person() && found.is_empty() {
        found.push(ReleaseReason::NeedsPerson(record.ending.why()));
    }
    if !record.base_moved.is_empty() && target == ReleaseTarget::ChatApply {
        found.push(ReleaseReason::BaseMoved(record.base_moved.clone()));
    }
    found.extend(of_the_whole(record.whole.as_deref(), target));
    found
}

/// The work went wrong, or is not over.
fn of_the_work(record: &ReleaseRecord) -> Vec<ReleaseReason> {
    if record.ending == RunEnding::Unfinished {
        return vec![ReleaseReason::Unfinished];
    }
    if let Some(breach) = record.breaches.first() {
        return vec![ReleaseReason::Breach(breach.clone())];
    }
    // Whoever was stopped for a person to look may have left a check red; that is no smaller for it.
    let judged = record.ending.is(RunOutcome::Failure) || record.ending.is(RunOutcome::NeedsHuman);
    if judged && !record.failed_checks.is_empty() {
        return vec![ReleaseReason::ChecksFailed(record.failed_checks.clone())];
    }
    if record.ending.is(RunOutcome::Failure) {
        return vec![ReleaseReason::Failed(record.ending.why())];
    }
    let missing = record.missing.first().filter(|_| record.ending.is(RunOutcome::Success));
    missing.map(|name| ReleaseReason::ArtifactMissing(name.clone())).into_iter().collect()
}

/// Somebody whose word counts blocks it. What is no clear approval of an assessment blocks, too.
fn of_the_verdicts(record: &ReleaseRecord) -> Vec<ReleaseReason> {
    let mut found = Vec::new();
    if let Some(decision) = record.assessment.as_ref().filter(|decision| **decision != ModeDecision::Approve)
    {
        let why = decision.reason().unwrap_or("it does not approve").to_owned();
        found.push(ReleaseReason::AssessmentBlocked(why));
    }
    if let Some(ModeDecision::Block { reason }) = &record.review {
        found.push(ReleaseReason::ReviewBlocked(reason.clone()));
    }
    found
}

/// A part leaves only where its whole might.
fn of_the_whole(whole: Option<&WholeRecord>, target: ReleaseTarget) -> Option<ReleaseReason> {
    let whole = match whole? {
        WholeRecord::Unknown { run } => return Some(ReleaseReason::WholeUnknown { run: run.clone() }),
        WholeRecord::Known(whole) => whole,
    };
    let run = whole.run.clone();
    let why = whole.ending.why();
    if whole.ending == RunEnding::Unfinished {
        return Some(ReleaseReason::WholeUnfinished { run });
    }
    if let Some(why) = whole.parts_stay.clone() {
        return Some(ReleaseReason::WholeBlocked { run, why });
    }
    let verdicts = of_the_verdicts(whole);
    // A whole that waits for a person and has handed its patch over leaves the rest to them.
    let waits = whole.ending.is(RunOutcome::NeedsHuman)
        && (whole.patch != PatchState::Delivered || !target.is_seen_by_a_person());
    if waits || !verdicts.is_empty() {
        return Some(ReleaseReason::WholeBlocked { run, why });
    }
    let failed = !of_the_work(whole).is_empty();
    failed.then_some(ReleaseReason::WholeFailed { run, why })
}

#[cfg(test)]
mod tests;
