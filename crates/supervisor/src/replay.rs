//! Replay: stored facts in, the same decisions out, byte for byte; or those another level would have made.

use crate::config::SupervisorConfig;
use crate::effect::SupervisorEffect;
use crate::event::SupervisorEvent;
use crate::reducer::step;
use crate::state::SupervisorState;

/// Why a recording cannot be replayed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// A line is no event.
    #[error("line {line} of the recording is not an event: {why}")]
    Line {
        /// From 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
}

/// All decisions about these facts, in order, and the state they end in.
pub fn replay<'a>(
    state: SupervisorState,
    events: impl IntoIterator<Item = &'a SupervisorEvent>,
) -> (SupervisorState, Vec<SupervisorEffect>) {
    let mut all = Vec::new();
    let state = events.into_iter().fold(state, |state, event| {
        let (state, effects) = step(state, event);
        all.extend(effects);
        state
    });
    (state, all)
}

/// The decisions as lines of JSON, for comparison with what was stored.
pub fn decisions(effects: &[SupervisorEffect]) -> String {
    let mut text = String::new();
    for effect in effects {
        // Plain data with string keys always serialises.
        text.push_str(&serde_json::to_string(effect).unwrap_or_default());
        text.push('\n');
    }
    text
}

/// The decisions about a recording, one event as JSON per line.
///
/// With `applied` the recording was made under these settings; otherwise the question is what they would have done, and
/// calls they would have blocked are taken as executed.
pub fn replay_lines(config: SupervisorConfig, recording: &str, applied: bool) -> Result<String, ReplayError> {
    let mut events = Vec::new();
    for (at, line) in recording.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let event: SupervisorEvent = serde_json::from_str(line)
            .map_err(|error| ReplayError::Line { line: at + 1, why: error.to_string() })?;
        events.push(event);
    }
    let state = if applied { SupervisorState::new(config) } else { SupervisorState::observing(config) };
    Ok(decisions(&replay(state, &events).1))
}
