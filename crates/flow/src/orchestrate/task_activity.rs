//! What the run of a task is doing, in short: folded from the events of the run, for whoever watches the whole.

use holon_core::event::{EventBody, RunEvent};
use holon_core::ids::RunId;

/// The longest action that is told, in characters.
const LONGEST: usize = 200;

/// What is known of a run of a task that is under way.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TaskActivity {
    run: RunId,
    agent: String,
    model: Option<String>,
    /// Money that the runs of the task before this one spent.
    before_usd: f64,
    cost_usd: Option<f64>,
    action: String,
}

impl TaskActivity {
    /// A run that has just begun, after others that spent so much.
    pub(super) fn begun(event: &RunEvent, before_usd: f64) -> Option<Self> {
        let EventBody::RunStarted { agent, .. } = &event.body else { return None };
        Some(Self {
            run: event.run.clone(),
            agent: agent.clone(),
            model: None,
            before_usd,
            cost_usd: (before_usd > 0.0).then_some(before_usd),
            action: "starts".to_owned(),
        })
    }

    /// Takes an event in; whether anything about it is new.
    pub(super) fn hear(&mut self, event: &RunEvent) -> bool {
        if event.run != self.run {
            return false;
        }
        let before = self.clone();
        match &event.body {
            EventBody::PhaseStarted { phase } => self.action = phase.to_string(),
            EventBody::ToolProposed { tool, summary, .. } => {
                let text = format!("{tool} {}", summary.as_deref().unwrap_or_default());
                let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
                self.action = line.chars().take(LONGEST).collect();
            }
            EventBody::ModelAnswered { model, response_model, error: None, .. } => {
                self.model = Some(response_model.as_ref().unwrap_or(model).clone());
            }
            EventBody::ModelWaiting { wait_ms, reason } if *wait_ms > 0 => {
                self.action = format!("waits: {reason}").chars().take(LONGEST).collect();
            }
            EventBody::Usage { total } => {
                self.cost_usd = total.cost_usd.map(|cost| self.before_usd + cost.max(0.0)).or(self.cost_usd);
            }
            _ => return false,
        }
        *self != before
    }

    /// Tells it.
    pub(super) fn told(&self, step: &str) -> EventBody {
        EventBody::TaskProgress {
            step: step.to_owned(),
            step_run: self.run.clone(),
            agent: self.agent.clone(),
            model: self.model.clone(),
            cost_usd: self.cost_usd,
            action: self.action.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use holon_core::manifest::{RunPhase, UsageTotals};
    use holon_core::policy::ToolClass;

    use super::*;

    fn event(run: u8, body: EventBody) -> RunEvent {
        RunEvent { seq: 1, at: String::new(), run: RunId::from_parts(0, [run; 4]), task: None, body }
    }

    fn started(run: u8) -> RunEvent {
        let text = |text: &str| text.to_owned();
        event(run, EventBody::RunStarted { mode: text("execute"), goal: text("g"), agent: text("a") })
    }

    fn usage(cost_usd: Option<f64>) -> EventBody {
        EventBody::Usage { total: UsageTotals { cost_usd, ..UsageTotals::default() } }
    }

    fn tool(summary: &str) -> EventBody {
        EventBody::ToolProposed {
            call: "c".parse().unwrap(),
            tool: "run_command".into(),
            class: ToolClass::Exec,
            arguments_sha256: String::new(),
            summary: Some(summary.to_owned()),
        }
    }

    #[test]
    fn what_is_new_is_told_once_and_money_counts_on_from_the_runs_before() {
        let mut activity = TaskActivity::begun(&started(1), 0.5).unwrap();
        assert_eq!(TaskActivity::begun(&event(1, usage(None)), 0.0), None);
        let phase = EventBody::PhaseStarted { phase: RunPhase::Execute };
        assert!(activity.hear(&event(1, phase.clone())) && !activity.hear(&event(1, phase)));
        assert!(activity.hear(&event(1, tool("make\n  test"))));
        assert!(activity.hear(&event(1, usage(Some(0.25)))) && !activity.hear(&event(1, usage(None))));
        assert!(!activity.hear(&event(2, usage(Some(9.0)))), "another's run");
        let EventBody::TaskProgress { step, agent, model, cost_usd, action, .. } = activity.told("two")
        else {
            panic!("a task's progress");
        };
        assert_eq!((step.as_str(), agent.as_str(), model, cost_usd), ("two", "a", None, Some(0.75)));
        assert_eq!(action, "run_command make test");
    }

    #[test]
    fn an_action_is_no_longer_than_a_line() {
        let mut activity = TaskActivity::begun(&started(1), 0.0).unwrap();
        assert!(activity.hear(&event(1, tool(&"ä".repeat(1000)))));
        let EventBody::TaskProgress { action, cost_usd: None, .. } = activity.told("x") else { panic!() };
        assert_eq!(action.chars().count(), LONGEST);
    }
}
