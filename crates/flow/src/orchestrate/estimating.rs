//! Says what a plan will cost before its first task starts, by what such work cost on this machine.

use holon_core::cost_estimate;
use holon_core::event::EventBody;
use holon_host::store::past_costs;

use super::drive::OrchestrationDriver;
use super::graph::CHECK;
use super::state::OrchestrationState;

impl OrchestrationDriver<'_, '_> {
    /// Estimates a plan that has just been made; where nothing is known, nothing is said.
    pub(super) fn estimate(&mut self, state: &mut OrchestrationState) {
        if state.nodes.is_empty() || state.estimate.is_some() {
            return;
        }
        let tasks = state.nodes.iter().map(|node| node.task.mode.as_str()).filter(|mode| *mode != CHECK);
        let mut modes: Vec<&str> = tasks.collect();
        if !modes.contains(&"ethical") {
            // It comes as soon as there is something to assess.
            modes.push("ethical");
        }
        let estimate = cost_estimate::estimate(&modes, &past_costs(&self.places.state), state.spent_usd);
        if let Some(estimate) = estimate {
            self.journal.emit(EventBody::Warning { message: estimate.told() });
        }
        state.estimate = estimate;
    }
}
