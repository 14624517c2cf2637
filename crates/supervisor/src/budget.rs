//! The branch budget: how often the same thing may be tried before another way has to be found.
//!
//! No round resets it. A new branch starts afresh at the price of a debt; verified success reduces it.

use serde::{Deserialize, Serialize};

use crate::config::BudgetLimits;
use crate::key::{clip, key};

/// Most keys remembered of each kind.
const KEYS: usize = 24;
/// Most debt: each must be made good by a verified success.
const MOST_DEBT: u32 = 4;

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// Edits of one file without a passing check in between.
    FileEdits,
    /// Failures of one command.
    CommandRetries,
    /// Occurrences of one error.
    ErrorRepeats,
}

impl Counted {
    const fn limit(self, limits: &BudgetLimits) -> u32 {
        match self {
            Self::FileEdits => limits.file_edits,
            Self::CommandRetries => limits.command_retries,
            Self::ErrorRepeats => limits.error_repeats,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Count {
    kind: Counted,
    key: u64,
    /// The call that led here, for errors.
    by: u64,
    label: String,
    used: u32,
    blocked: bool,
}

/// What stands against a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spent {
    pub kind: Counted,
    pub label: String,
    pub used: u32,
    /// False when it was already blocked once on this branch: the model goes on all the same.
    pub first: bool,
}

/// What a call would do, as far as the budget cares.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt<'a> {
    /// Files it would write.
    pub writes: &'a [String],
    /// Its command line.
    pub command: Option<&'a str>,
    /// The call itself: tool and arguments.
    pub call: u64,
}

/// The budget of the current branch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    branch: u32,
    debt: u32,
    counts: Vec<Count>,
}

impl Budget {
    /// Which branch this is, from 0.
    pub const fn branch(&self) -> u32 {
        self.branch
    }

    /// Branches given up and not yet made good.
    pub const fn debt(&self) -> u32 {
        self.debt
    }

    /// How much of a budget is used, by kind and by what it is about.
    pub fn used(&self) -> Vec<(Counted, &str, u32)> {
        self.counts.iter().map(|count| (count.kind, count.label.as_str(), count.used)).collect()
    }

    fn count(&mut self, kind: Counted, what: &str, by: u64) {
        let key = key([what]);
        if let Some(count) = self.counts.iter_mut().find(|count| count.kind == kind && count.key == key) {
            count.used = count.used.saturating_add(1);
            count.by = by;
            return;
        }
        if self.counts.iter().filter(|count| count.kind == kind).count() >= KEYS {
            // The least used one goes: what is near its limit must not be forgotten.
            let of_kind = self.counts.iter().enumerate().filter(|(_, count)| count.kind == kind);
            if let Some(at) = of_kind.min_by_key(|(_, count)| count.used).map(|(at, _)| at) {
                self.counts.remove(at);
            }
        }
        self.counts.push(Count { kind, key, by, label: clip(what, 120), used: 1, blocked: false });
    }

    /// A file was changed.
    pub(crate) fn edited(&mut self, path: &str) {
        self.count(Counted::FileEdits, path, 0);
    }

    /// A command failed.
    pub(crate) fn command_failed(&mut self, command: &str) {
        self.count(Counted::CommandRetries, command, 0);
    }

    /// A call led to an error.
    pub(crate) fn error(&mut self, signature: &str, call: u64) {
        self.count(Counted::ErrorRepeats, signature, call);
    }

    /// A command passed: what it failed with before is made good.
    pub(crate) fn command_passed(&mut self, command: &str) {
        let key = key([command]);
        self.counts.retain(|count| count.kind != Counted::CommandRetries || count.key != key);
    }

    /// A check passed on a version no check had passed on.
    pub(crate) fn verified(&mut self) {
        self.debt = self.debt.saturating_sub(1);
        for count in &mut self.counts {
            count.used -= 1;
        }
        self.counts.retain(|count| count.kind != Counted::FileEdits && count.used > 0);
    }

    /// What stands against a call, and marks it as told.
    pub(crate) fn check(&mut self, attempt: &Attempt<'_>, limits: &BudgetLimits) -> Option<Spent> {
        let command = attempt.command.map(|command| key([command]));
        let stands = |count: &Count| {
            let same = match count.kind {
                Counted::FileEdits => attempt.writes.iter().any(|path| key([path.as_str()]) == count.key),
                Counted::CommandRetries => command == Some(count.key),
                Counted::ErrorRepeats => attempt.call == count.by,
            };
            same && count.used >= count.kind.limit(limits)
        };
        // One that was not told yet comes first: nothing is held against the model unsaid.
        let mut against: Vec<&mut Count> = self.counts.iter_mut().filter(|count| stands(count)).collect();
        against.sort_by_key(|count| (count.blocked, count.kind));
        let count = against.into_iter().next()?;
        let first = !count.blocked;
        count.blocked = true;
        Some(Spent { kind: count.kind, label: count.label.clone(), used: count.used, first })
    }

    /// Another plan begins: a budget of its own, and nothing to make good.
    pub(crate) fn another_way(&mut self) {
        self.branch = self.branch.saturating_add(1);
        self.counts.clear();
    }

    /// The branch is given up for another.
    pub(crate) fn switch(&mut self) {
        self.branch = self.branch.saturating_add(1);
        self.debt = (self.debt + 1).min(MOST_DEBT);
        self.counts.clear();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const LIMITS: BudgetLimits = BudgetLimits { file_edits: 3, command_retries: 2, error_repeats: 3 };

    fn nothing() -> Attempt<'static> {
        Attempt { writes: &[], command: None, call: 0 }
    }

    #[test]
    fn each_kind_is_spent_at_its_limit_and_not_before() {
        let files = ["a.rs".to_owned()];
        let edit = Attempt { writes: &files, ..nothing() };
        let run = Attempt { command: Some("make"), ..nothing() };
        let call = Attempt { call: 9, ..nothing() };
        let mut budget = Budget::default();
        let mut check = |use_up: fn(&mut Budget), attempt: &Attempt<'_>, limit: u32, kind: Counted| {
            for _ in 0..limit {
                assert_eq!(budget.check(attempt, &LIMITS), None, "{kind:?}");
                use_up(&mut budget);
            }
            let spent = budget.check(attempt, &LIMITS).unwrap();
            assert_eq!((spent.kind, spent.used, spent.first), (kind, limit, true));
            assert!(!budget.check(attempt, &LIMITS).unwrap().first, "blocked once");
        };
        check(|b| b.edited("a.rs"), &edit, 3, Counted::FileEdits);
        check(|b| b.command_failed("make"), &run, 2, Counted::CommandRetries);
        check(|b| b.error("no such file", 9), &call, 3, Counted::ErrorRepeats);
        let other = ["b.rs".to_owned()];
        let others = Attempt { writes: &other, command: Some("make test"), call: 8 };
        assert_eq!(budget.check(&others, &LIMITS), None);
    }

    #[test]
    fn a_call_with_two_faults_hears_of_both() {
        let files = ["a.rs".to_owned()];
        let both = Attempt { writes: &files, command: None, call: 9 };
        let mut budget = Budget::default();
        for _ in 0..3 {
            budget.edited("a.rs");
            budget.error("e", 9);
        }
        let heard: Vec<(Counted, bool)> = (0..3)
            .map(|_| budget.check(&both, &LIMITS).unwrap())
            .map(|spent| (spent.kind, spent.first))
            .collect();
        assert_eq!(heard[..2], [(Counted::FileEdits, true), (Counted::ErrorRepeats, true)]);
        assert!(!heard[2].1);
    }

    #[test]
    fn verified_success_reduces_and_passing_clears() {
        let mut budget = Budget::default();
        budget.edited("a.rs");
        budget.edited("a.rs");
        budget.command_failed("make");
        budget.command_failed("make");
        budget.error("e", 1);
        budget.switch();
        assert_eq!((budget.debt(), budget.branch(), budget.used().len()), (1, 1, 0));
        budget.edited("a.rs");
        budget.edited("a.rs");
        budget.command_failed("make");
        budget.command_failed("make");
        budget.error("e", 1);
        budget.verified();
        assert_eq!(budget.used(), [(Counted::CommandRetries, "make", 1)]);
        assert_eq!(budget.debt(), 0);
        budget.command_passed("other");
        assert_eq!(budget.used().len(), 1);
        budget.command_passed("make");
        assert_eq!(budget.used(), []);
        budget.verified();
        assert_eq!(budget.debt(), 0);
    }

    #[test]
    fn the_most_used_are_remembered_longest() {
        let mut budget = Budget::default();
        budget.edited("hot");
        budget.edited("hot");
        (0..100).for_each(|i| budget.edited(&format!("f{i}")));
        assert_eq!(budget.used().len(), KEYS);
        assert!(budget.used().contains(&(Counted::FileEdits, "hot", 2)));
        (0..9).for_each(|_| budget.switch());
        assert_eq!(budget.debt(), MOST_DEBT);
    }
}
