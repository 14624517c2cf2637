//! What a day may cost: the user's own limit over all runs, counted from the store.

use holon_host::plan::DayLimits;
use holon_host::store::DaySpending;
use holon_host::{HolonFolders, RunPlan};

use super::ids;
use crate::error::FlowError;

/// What is left of today's money and tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DayBudget {
    limits: DayLimits,
    spent: DaySpending,
}

impl DayBudget {
    /// As the store tells now; without limits it is not looked at. Days are those of UTC, as in the ids of runs.
    pub fn today(places: &HolonFolders, limits: DayLimits) -> Self {
        let spent = match limits {
            DayLimits { usd: None, tokens: None } => DaySpending::default(),
            _ => DaySpending::of(&places.state, &ids::day(ids::now_ms())),
        };
        Self { limits, spent }
    }

    /// The money that is left.
    pub fn money_left(&self) -> Option<f64> {
        self.limits.usd.map(|limit| (limit - self.spent.usd).max(0.0))
    }

    /// Why nothing more may be started today.
    pub fn reached(&self) -> Option<String> {
        let DaySpending { usd, tokens } = self.spent;
        if let Some(limit) = self.limits.usd.filter(|limit| usd >= *limit) {
            return Some(format!(
                "the runs of today have cost {usd:.2} dollars, and `budget.day_usd` allows {limit} a day"
            ));
        }
        let limit = self.limits.tokens.filter(|limit| tokens >= *limit)?;
        Some(format!(
            "the runs of today have used {tokens} tokens, and `budget.day_tokens` allows {limit} a day"
        ))
    }

    pub(crate) fn refusal(&self) -> Option<FlowError> {
        let hint = "raise it in your configuration, or go on tomorrow (days are those of UTC)";
        self.reached().map(|reason| FlowError::refused(reason, hint))
    }

    /// A plan that spends no more than is left of the day; where that is less than it had, it says so.
    pub(crate) fn within(&self, mut plan: RunPlan) -> RunPlan {
        let own = plan.profile.limits.cost_usd;
        if let Some(left) = self.money_left().filter(|left| *left < own) {
            plan.profile.limits.cost_usd = left;
            plan.warnings.push(self.leaves(left));
        }
        plan
    }

    /// What is said where the day leaves less than the work may cost.
    pub(crate) fn leaves(&self, left: f64) -> String {
        let limit = self.limits.usd.unwrap_or_default();
        format!(
            "`budget.day_usd` ({limit} dollars a day) leaves {left:.2} dollars for today, and the work ends when they are spent"
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_limit_that_is_reached_is_named() {
        let day = |usd, tokens| DayBudget {
            limits: DayLimits { usd, tokens },
            spent: DaySpending { usd: 2.0, tokens: 100 },
        };
        assert_eq!(day(None, None).reached(), None);
        assert_eq!(
            (day(Some(3.0), Some(101)).reached(), day(Some(3.0), None).money_left()),
            (None, Some(1.0))
        );
        assert!(day(Some(2.0), None).reached().unwrap().contains("`budget.day_usd` allows 2 a day"));
        assert!(day(None, Some(100)).reached().unwrap().contains("`budget.day_tokens` allows 100 a day"));
    }
}
