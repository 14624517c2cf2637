//! Limits that are given when work is gone on with, in place of those it was started with.

use holon_core::HumanDuration;
use holon_core::mode::RunLimits;
use holon_host::RunPlan;

use crate::error::FlowError;

/// New limits; those that are not given stay as they were.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RaisedLimits {
    /// What all of it may cost, in US dollars, with what was spent before.
    pub cost_usd: Option<f64>,
    /// How long it may take.
    pub timeout: Option<HumanDuration>,
    /// How often the model may be asked.
    pub rounds: Option<u64>,
}

impl RaisedLimits {
    /// The money, unless it is spent already or more than `most`.
    pub(crate) fn money(&self, spent: f64, most: Option<f64>) -> Result<Option<f64>, FlowError> {
        let Some(limit) = self.cost_usd else { return Ok(None) };
        if let Some(most) = most.filter(|most| limit > *most) {
            return Err(beyond("--max-cost", &limit.to_string(), &format!("{most} dollars")));
        }
        if limit <= spent {
            return Err(FlowError::resume(
                format!("{spent:.2} dollars are spent already, and --max-cost {limit} allows no more"),
                "give a higher one: it is for all of the work, with what was spent before",
            ));
        }
        Ok(Some(limit))
    }

    /// The time, unless it is more than `most`.
    pub(crate) fn time(&self, most: HumanDuration) -> Result<Option<HumanDuration>, FlowError> {
        match self.timeout {
            Some(time) if time > most => Err(beyond("--timeout", &time.to_string(), &most.to_string())),
            time => Ok(time),
        }
    }

    /// Gives them to a single run that goes on; `own` are those of its mode. What it spent before is not counted again.
    pub fn on(&self, plan: &mut RunPlan, own: &RunLimits) -> Result<(), FlowError> {
        if let Some(most) = self.rounds.filter(|rounds| *rounds > own.rounds) {
            return Err(beyond("--max-rounds", &most.to_string(), &own.rounds.to_string()));
        }
        let limits = &mut plan.profile.limits;
        limits.timeout = self.time(own.timeout)?.unwrap_or(limits.timeout);
        limits.rounds = self.rounds.unwrap_or(limits.rounds);
        if let Some(money) = self.money(0.0, Some(own.cost_usd))? {
            limits.cost_usd = money;
            plan.money_limit = Some(money);
        }
        Ok(())
    }
}

fn beyond(flag: &str, given: &str, most: &str) -> FlowError {
    FlowError::resume(
        format!("{flag} {given} is beyond what the mode allows: {most}"),
        "give a lower one, or raise the limit in a mode of your own",
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_is_spent_or_beyond_the_mode_is_refused() {
        let raised = RaisedLimits { cost_usd: Some(2.0), ..RaisedLimits::default() };
        assert_eq!(raised.money(1.9, Some(25.0)).unwrap(), Some(2.0));
        assert!(raised.money(2.0, None).unwrap_err().to_string().contains("spent already"));
        assert!(
            raised.money(0.0, Some(1.0)).unwrap_err().to_string().contains("beyond what the mode allows")
        );
        assert_eq!(RaisedLimits::default().money(9.0, Some(1.0)).unwrap(), None);
    }
}
