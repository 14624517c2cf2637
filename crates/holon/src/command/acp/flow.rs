//! What a flow has beside a run: its steps are calls, and its gates ask the person.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::person;
use super::request_handler::AcpRequestHandler;
use super::session::EditorSession;
use super::updates::{SessionUpdates, text, words};
use crate::threads::ApiTrouble;

/// A gate is told a moment before it can be answered.
const AGAIN: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(10);
/// The most that is shown of a file a gate is about.
const MOST: usize = 32 << 10;

/// A step as a call; nothing for what is no step.
pub(super) fn step(updates: &SessionUpdates, body: &Value) -> Option<Value> {
    let name = text(&body["step"]);
    let id = updates.call(&format!("step-{name}"));
    let ended = |status: &str, words: String| {
        let content = json!([{"type": "content", "content": {"type": "text", "text": words}}]);
        json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "status": status, "content": content})
    };
    Some(match text(&body["type"]) {
        "step_started" => {
            let mode = body["mode"].as_str().map(|mode| format!(" ({mode} mode)")).unwrap_or_default();
            json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": format!("Step {name}{mode}"),
                "kind": "other", "status": "in_progress"})
        }
        "step_finished" => {
            let outcome = text(&body["outcome"]);
            let run = body["step_run"].as_str().map(|run| format!(", run {run}")).unwrap_or_default();
            ended(if outcome == "success" { "completed" } else { "failed" }, format!("{outcome}{run}"))
        }
        "step_skipped" => {
            words("agent_thought_chunk", &format!("{name} is not needed: {}\n", text(&body["reason"])))
        }
        _ => return None,
    })
}

/// Asks the person at a gate, after showing what it is about; whoever does not agree stops the flow there.
pub(super) fn gate(
    desk: &AcpRequestHandler,
    open: &EditorSession,
    id: &str,
    reached: &Value,
) -> Result<(), ApiTrouble> {
    let step = text(&reached["step"]);
    let began = Instant::now();
    let waits = loop {
        let run = desk.api.run(id)?;
        if text(&run["gate"]["step"]) == step {
            break true;
        }
        // Decided by a rule, by somebody else, or by the end of the run.
        if text(&run["state"]) == "finished" || open.is_cancelled() || began.elapsed() > PATIENCE {
            break false;
        }
        // The event is written by the run before the server has the gate, and nothing tells of that.
        std::thread::sleep(AGAIN);
    };
    if !waits {
        return Ok(());
    }
    for name in reached["files"].as_object().into_iter().flatten().map(|(name, _)| name) {
        if let Some(text) = desk.api.run_file(id, name).ok().filter(|_| name.ends_with(".md")) {
            let end = (0..=text.len().min(MOST)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            desk.wire
                .update(&open.id, words("agent_message_chunk", &format!("\n\n{}\n\n", text[..end].trim())));
        }
    }
    let call = SessionUpdates::of_run(&open.folder, id).call(&format!("gate-{step}"));
    let go = person::may_go_on(&desk.wire, open, &call, step);
    match desk.api.answer_gate(id, go) {
        // Somebody was quicker, in the browser or at a terminal.
        Err(trouble) if trouble.code == "no_gate" => Ok(()),
        answered => answered.map(drop),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn steps_are_calls() {
        let updates = SessionUpdates::of_run("/w", "r");
        let tell = |body: Value| step(&updates, &body);
        let began =
            tell(json!({"type": "step_started", "step": "plan", "mode": "plan", "attempt": 1})).unwrap();
        assert_eq!(
            (&began["toolCallId"], &began["title"]),
            (&json!("r-step-plan"), &json!("Step plan (plan mode)"))
        );
        let ended =
            tell(json!({"type": "step_finished", "step": "plan", "outcome": "failure", "duration_ms": 1}))
                .unwrap();
        assert_eq!((&ended["toolCallId"], &ended["status"]), (&began["toolCallId"], &json!("failed")));
        assert!(tell(json!({"type": "step_skipped", "step": "fix", "reason": "no findings"})).is_some());
        assert_eq!(tell(json!({"type": "message_delta", "text": "x"})), None);
    }
}
