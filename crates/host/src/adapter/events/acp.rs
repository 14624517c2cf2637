//! The Agent Client Protocol, as [`super::super::client`] passes it on: an agent's notifications, and how the turn ended.

use holon_core::event::{EventBody, Todo, TodoStatus};
use serde_json::Value;

use super::{AgentLineEvents, kind_of};

pub(super) fn read(line: &Value, told: &mut AgentLineEvents<'_>) {
    match line["holon"].as_str() {
        Some("agent") => {
            let version = line["agentInfo"]["version"].as_str().map(str::to_owned);
            told.heard.version = version.or(told.heard.version.take());
        }
        Some("end") => ended(line["stopReason"].as_str().unwrap_or_default(), told),
        Some("unstarted") => told.failed("not_started", line["message"].as_str().unwrap_or_default()),
        Some("error") => {
            let message = line["message"].as_str().unwrap_or("the conversation broke off");
            told.failed(kind_of(message), message);
        }
        _ if line["method"] == "session/update" => update(&line["params"]["update"], told),
        // Some agents tell of a call only when they ask leave for it.
        _ if line["method"] == "session/request_permission" => proposed(&line["params"]["toolCall"], told),
        _ => {}
    }
}

fn ended(reason: &str, told: &mut AgentLineEvents<'_>) {
    match reason {
        "end_turn" => told.done(),
        "refusal" => told.failed("refused", "the model declines"),
        "max_turn_requests" => told.failed("rounds", "the agent used up its requests"),
        "max_tokens" => told.failed("agent_failed", "the answer was cut off at its length"),
        other => told.failed("agent_failed", &format!("the turn ended with `{other}`")),
    }
}

fn update(update: &Value, told: &mut AgentLineEvents<'_>) {
    match update["sessionUpdate"].as_str() {
        Some("agent_message_chunk") => told.words(text(&update["content"]), true),
        Some("agent_thought_chunk") => told.thoughts(text(&update["content"])),
        Some("tool_call") => {
            proposed(update, told);
            finished(update, told);
        }
        Some("tool_call_update") => finished(update, told),
        Some("plan") => {
            let todo = |entry: &Value| Todo {
                text: entry["content"].as_str().unwrap_or_default().to_owned(),
                status: match entry["status"].as_str() {
                    Some("completed") => TodoStatus::Done,
                    _ => TodoStatus::Pending,
                },
            };
            let todos = update["entries"].as_array().into_iter().flatten().map(todo).collect();
            told.bodies.push(EventBody::TodosChanged { todos });
        }
        // Nobody asked it to; the walls stay as they are.
        Some("current_mode_update") => {
            let mode = update["currentModeId"].as_str().unwrap_or_default();
            told.warn(&format!("I changed my own mode to {mode}"));
        }
        _ => {}
    }
}

/// A call, the first time that it is heard of.
fn proposed(call: &Value, told: &mut AgentLineEvents<'_>) {
    let id = call["toolCallId"].as_str().unwrap_or_default();
    if id.is_empty() || !told.is_new(id) {
        return;
    }
    // What was said before a call was not the end.
    told.heard.words.clear();
    let kind = call["kind"].as_str().unwrap_or("other");
    let input = &call["rawInput"];
    let title = serde_json::json!({ "description": call["title"] });
    told.call(id, kind, if input.is_object() { input } else { &title });
}

fn finished(update: &Value, told: &mut AgentLineEvents<'_>) {
    let ok = match update["status"].as_str() {
        Some("completed") => true,
        Some("failed") => false,
        _ => return,
    };
    let pieces = update["content"].as_array().into_iter().flatten().map(|part| text(&part["content"]));
    let said = pieces.collect::<Vec<_>>().join("\n");
    told.result(update["toolCallId"].as_str().unwrap_or_default(), ok, &said, None, 0);
}

fn text(content: &Value) -> &str {
    content["text"].as_str().unwrap_or_default()
}
