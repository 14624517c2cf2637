//! What a turn may use, shared with the work it delegates.

use std::sync::{Mutex, PoisonError};

use holon_model::TokenUsage;

use crate::ended::TurnLimit;
use crate::settings::TurnLimits;

/// Counts what is used against the limits.
#[derive(Debug)]
pub(crate) struct TurnBudget {
    limits: TurnLimits,
    spent: Mutex<(u64, TokenUsage)>,
}

impl TurnBudget {
    pub(crate) fn new(limits: TurnLimits) -> Self {
        Self { limits, spent: Mutex::default() }
    }

    /// Takes one round, or says which limit is reached.
    pub(crate) fn take_round(&self) -> Result<(), TurnLimit> {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let (rounds, usage) = &mut *spent;
        if *rounds >= self.limits.rounds {
            return Err(TurnLimit::Rounds);
        }
        if usage.total_input().saturating_add(usage.total_output()) >= self.limits.tokens {
            return Err(TurnLimit::Tokens);
        }
        if usage.cost_usd.is_some_and(|cost| cost >= self.limits.cost_usd) {
            return Err(TurnLimit::Cost);
        }
        *rounds += 1;
        Ok(())
    }

    /// Adds what a reply used.
    pub(crate) fn spend(&self, usage: TokenUsage) {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner).1 += usage;
    }

    /// Rounds and tokens so far.
    pub(crate) fn spent(&self) -> (u64, TokenUsage) {
        *self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value of a limit, as written in a profile.
    pub(crate) fn value(&self, limit: TurnLimit) -> String {
        match limit {
            TurnLimit::Rounds => self.limits.rounds.to_string(),
            TurnLimit::Tokens => self.limits.tokens.to_string(),
            TurnLimit::Cost => self.limits.cost_usd.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_is_met_on_its_own() {
        let used = TokenUsage { input: 60, output: 40, cost_usd: Some(0.5), ..TokenUsage::default() };
        let check = |rounds, tokens, cost_usd, expect| {
            let budget = TurnBudget::new(TurnLimits { rounds, tokens, cost_usd });
            assert_eq!(budget.take_round(), Ok(()));
            budget.spend(used);
            assert_eq!(budget.take_round(), expect);
        };
        check(2, 101, 0.6, Ok(()));
        check(1, 101, 0.6, Err(TurnLimit::Rounds));
        check(2, 100, 0.6, Err(TurnLimit::Tokens));
        check(2, 101, 0.5, Err(TurnLimit::Cost));
    }
}
