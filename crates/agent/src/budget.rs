//! What a turn may use, shared with the work it delegates.

use std::sync::{Mutex, PoisonError};

use holon_model::Usage;

use crate::ended::Limit;
use crate::settings::Limits;

/// Counts what is used against the limits.
#[derive(Debug)]
pub(crate) struct Budget {
    limits: Limits,
    spent: Mutex<(u64, Usage)>,
}

impl Budget {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, spent: Mutex::default() }
    }

    /// Takes one round, or says which limit is reached.
    pub(crate) fn take_round(&self) -> Result<(), Limit> {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let (rounds, usage) = &mut *spent;
        if *rounds >= self.limits.rounds {
            return Err(Limit::Rounds);
        }
        if usage.total_input().saturating_add(usage.total_output()) >= self.limits.tokens {
            return Err(Limit::Tokens);
        }
        if usage.cost_usd.is_some_and(|cost| cost >= self.limits.cost_usd) {
            return Err(Limit::Cost);
        }
        *rounds += 1;
        Ok(())
    }

    /// Adds what a reply used.
    pub(crate) fn spend(&self, usage: Usage) {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner).1 += usage;
    }

    /// Rounds and tokens so far.
    pub(crate) fn spent(&self) -> (u64, Usage) {
        *self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value of a limit, as written in a profile.
    pub(crate) fn value(&self, limit: Limit) -> String {
        match limit {
            Limit::Rounds => self.limits.rounds.to_string(),
            Limit::Tokens => self.limits.tokens.to_string(),
            Limit::Cost => self.limits.cost_usd.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_is_met_on_its_own() {
        let used = Usage { input: 60, output: 40, cost_usd: Some(0.5), ..Usage::default() };
        let check = |rounds, tokens, cost_usd, expect| {
            let budget = Budget::new(Limits { rounds, tokens, cost_usd });
            assert_eq!(budget.take_round(), Ok(()));
            budget.spend(used);
            assert_eq!(budget.take_round(), expect);
        };
        check(2, 101, 0.6, Ok(()));
        check(1, 101, 0.6, Err(Limit::Rounds));
        check(2, 100, 0.6, Err(Limit::Tokens));
        check(2, 101, 0.5, Err(Limit::Cost));
    }
}
