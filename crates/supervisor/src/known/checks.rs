//! The results of checks: which are fresh, which are luck, and which are nearer to green than the one before.

use serde::{Deserialize, Serialize};

use super::EvidenceMemory;
use crate::event::CheckOutcome;
use crate::key::{FnvHash, clip, push_bounded};
use crate::ledger::EvidenceId;

const CHECKS: usize = 8;
const FAILING: usize = 10;
const CASE: usize = 80;
pub(crate) const COMMAND: usize = 160;
/// A check that passed where it had just failed has to pass so often in a row.
const STREAK: u32 = 2;
/// Results of checks that were seen.
const RESULTS: usize = 64;

/// The last result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckState {
    /// The command.
    pub command: String,
    /// The result's entry.
    pub entry: EvidenceId,
    /// The version it speaks of.
    pub version: u64,
    /// Whether it passed.
    pub ok: bool,
    /// The cases that failed, the first ones.
    pub failing: Vec<String>,
    /// Its own line about it, where it names no case.
    pub says: String,
    /// How many failed.
    pub failed: u32,
    /// How bad it is: 0 when it passed.
    score: u64,
    /// How often in a row it passed, since it failed on this very version with nothing in between; 0 when it did not.
    luck: u32,
    doings: u64,
    /// What it said before anything was changed, if it ran then.
    before: Option<InitialCheck>,
    /// Whether the host ran it, and not the agent.
    #[serde(default)]
    by_host: bool,
}

/// A check before anything was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct InitialCheck {
    ok: bool,
    failing: Vec<String>,
}

impl CheckState {
    /// The failing cases, or the command when it names none.
    pub(crate) fn cases(&self) -> Vec<String> {
        match (self.failing.is_empty(), self.says.is_empty()) {
            (false, _) => self.failing.clone(),
            (true, true) => vec![format!("`{}`", self.command)],
            (true, false) => vec![format!("`{}` ({})", self.command, self.says)],
        }
    }

    /// Whether anybody knows what it said before anything was changed.
    pub const fn knows_before(&self) -> bool {
        self.before.is_some()
    }

    /// Whether the agent has seen what it says, or somebody can compare.
    pub(crate) const fn is_told(&self) -> bool {
        !self.by_host || self.knows_before()
    }

    /// The failing cases that did not fail before; all of them where nobody knows, or where they are what is wanted.
    pub(crate) fn own_cases(&self, wanted: bool) -> Vec<String> {
        match &self.before {
            _ if self.ok => Vec::new(),
            Some(before) if !wanted && !before.ok => {
                if self.failing.is_empty() && !before.failing.is_empty() {
                    return self.cases();
                }
                let new = |case: &&String| !before.failing.is_empty() && !before.failing.contains(case);
                self.failing.iter().filter(new).cloned().collect()
            }
            _ => self.cases(),
        }
    }

    /// Whether it passed only after it had failed on the same state, and not often enough since.
    pub const fn is_luck(&self) -> bool {
        self.luck > 0 && self.luck < STREAK
    }
}

impl EvidenceMemory {
    pub(super) fn check(&mut self, check: &CheckOutcome, entry: EvidenceId) -> (bool, bool) {
        if !check.could_run() {
            return (false, false);
        }
        let command = clip(&check.command, COMMAND);
        let ok = check.passed_whole();
        let failed = check.failed.max(check.failing.len().try_into().unwrap_or(u32::MAX));
        // A tree that does not build is worse than any number of failing cases.
        let score = if ok { 0 } else { (u64::from(check.diagnostics) << 32 | u64::from(failed)).max(1) };
        let before =
            self.checks.iter().position(|old| old.command == command).map(|at| self.checks.remove(at));
        // Without a change in between, another result is luck; one that was there before is going round in circles.
        let result = check.result.as_deref().filter(|result| !result.is_empty());
        // The same words are the same answer, however the check was asked.
        let answered = result.is_some_and(|result| !self.is_novel("", check, score, result));
        let novel = self.is_novel(&command, check, score, "") && !answered;
        let told = result.is_some_and(|result| self.is_novel(&command, check, score, result)) && !answered;
        let greener =
            novel && before.as_ref().is_some_and(|old| score < old.score && old.version != self.version);
        let luck = match &before {
            Some(old) if ok && old.version == self.version && old.doings == self.doings => match old.ok {
                true => old.luck + u32::from(old.luck > 0),
                false => 1,
            },
            _ => 0,
        };
        let (version, doings) = (self.version, self.doings);
        let failing: Vec<String> = check.failing.iter().take(FAILING).map(|case| clip(case, CASE)).collect();
        let says = clip(check.says.as_deref().unwrap_or_default(), CASE);
        let first = || (version == 0).then(|| InitialCheck { ok, failing: failing.clone() });
        let base = before.as_ref().and_then(|old| old.before.clone()).or_else(first);
        let moved = before.as_ref().is_some_and(|old| old.version != version);
        self.round.red_new |= !ok && novel;
        self.round.news |= !ok && told;
        self.round.red_again |= !ok && !novel && !told && moved;
        let state = CheckState {
            command,
            entry,
            version,
            ok,
            failing,
            says,
            failed,
            score,
            luck,
            doings,
            before: base,
            by_host: check.call.is_none(),
        };
        let proven = ok && !state.is_luck();
        let verified = proven && self.green_at != Some(self.version);
        // What was green before and is green again has got no further.
        let passed_before = before.as_ref().is_none_or(|old| old.ok);
        self.round.green_again |= verified && passed_before && self.was_green();
        if proven {
            self.green_at = Some(self.version);
        }
        if !ok {
            self.failed_last = state.cases();
        }
        push_bounded(&mut self.checks, state, CHECKS);
        self.round.greener |= greener;
        self.round.verified |= verified;
        self.round.succeeded |= ok;
        (greener, verified)
    }

    /// Whether a result is one that was not there before, and remembers it.
    fn is_novel(&mut self, command: &str, check: &CheckOutcome, score: u64, result: &str) -> bool {
        let mut cases: Vec<&str> = check.failing.iter().map(String::as_str).collect();
        cases.sort_unstable();
        let mut hash = FnvHash::new();
        hash.add(command);
        hash.number(score);
        cases.into_iter().for_each(|case| hash.add(case));
        hash.add(result);
        let result = hash.end();
        let old = self.results.iter().position(|seen| *seen == result).map(|at| self.results.remove(at));
        push_bounded(&mut self.results, result, RESULTS);
        old.is_none()
    }

    /// The last result of every check.
    pub fn checks(&self) -> &[CheckState] {
        &self.checks
    }

    /// Whether a check speaks of the workspace as it is.
    pub fn is_fresh(&self, check: &CheckState) -> bool {
        check.version == self.version
    }

    /// A fresh passing check, if there is one and no fresh one fails.
    pub fn fresh_green(&self) -> Option<&CheckState> {
        if self.fresh_red().is_some() {
            return None;
        }
        if self.fresh_luck().is_some() {
            return None;
        }
        self.checks.iter().rev().find(|check| check.ok && self.is_fresh(check))
    }

    /// The cases that failed last in this run, whatever was since.
    pub(crate) fn failed_last(&self) -> &[String] {
        &self.failed_last
    }

    /// A fresh check that passed by luck.
    pub(crate) fn fresh_luck(&self) -> Option<&CheckState> {
        self.checks.iter().rev().find(|check| check.is_luck() && self.is_fresh(check))
    }

    /// A fresh failing check.
    pub fn fresh_red(&self) -> Option<&CheckState> {
        self.checks.iter().rev().find(|check| !check.ok && self.is_fresh(check))
    }
}
