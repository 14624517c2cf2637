//! `codex exec --json`.

use holon_core::event::{EventBody, Todo, TodoStatus};
use holon_core::manifest::UsageTotals;
use serde_json::Value;

use super::{AgentLineEvents, kind_of, text_of};

pub(super) fn read(line: &Value, told: &mut AgentLineEvents<'_>) {
    match line["type"].as_str() {
        Some("item.started") => started(&line["item"], told),
        Some("item.updated") => todos(&line["item"], told),
        Some("item.completed") => completed(&line["item"], told),
        Some("turn.completed") => {
            let count = |key: &str| line["usage"][key].as_u64().unwrap_or(0);
            let usage = &mut told.heard.usage;
            let cached = count("cached_input_tokens");
            *usage = UsageTotals {
                input: usage.input.saturating_add(count("input_tokens").saturating_sub(cached)),
                cached: usage.cached.saturating_add(cached),
                output: usage.output.saturating_add(count("output_tokens")),
                reasoning: usage.reasoning.saturating_add(count("reasoning_output_tokens")),
                cost_usd: None,
            };
            told.done();
        }
        Some("turn.failed") => {
            let message = line["error"]["message"].as_str().unwrap_or("the turn failed");
            told.failed(kind_of(message), message);
        }
        // Also told while a request is tried again, so it is no end by itself.
        Some("error") => told.warn(line["message"].as_str().unwrap_or_default()),
        _ => {}
    }
}

fn started(item: &Value, told: &mut AgentLineEvents<'_>) {
    let id = item["id"].as_str().unwrap_or_default();
    match item["type"].as_str() {
        Some(kind @ "command_execution") => told.call(id, kind, item),
        Some(kind @ ("mcp_tool_call" | "collab_tool_call")) => {
            let tool = item["tool"].as_str().unwrap_or(kind);
            let arguments = if item["arguments"].is_null() { item } else { &item["arguments"] };
            told.call(id, tool, arguments);
        }
        _ => todos(item, told),
    }
}

fn completed(item: &Value, told: &mut AgentLineEvents<'_>) {
    let id = item["id"].as_str().unwrap_or_default();
    let ok = item["status"] == "completed";
    match item["type"].as_str() {
        Some("agent_message") => told.words(item["text"].as_str().unwrap_or_default(), false),
        Some("reasoning") => told.thoughts(item["text"].as_str().unwrap_or_default()),
        Some("command_execution") => {
            let code = item["exit_code"].as_i64();
            let output = item["aggregated_output"].as_str().unwrap_or_default();
            told.result(id, ok && code.unwrap_or(0) == 0, output, code, 0);
        }
        Some(kind @ "file_change") => {
            // Only told when it is over.
            let paths: Vec<&str> =
                item["changes"].as_array().into_iter().flatten().filter_map(|c| c["path"].as_str()).collect();
            told.call(id, kind, &serde_json::json!({ "path": paths.join(", ") }));
            told.result(id, ok, "", None, 0);
        }
        Some("mcp_tool_call" | "collab_tool_call") => {
            told.result(id, ok, &text_of(&item["result"]["content"]), None, 0);
        }
        Some("web_search") => {
            told.call(id, "web_search", item);
            told.result(id, true, "", None, 0);
        }
        Some("error") => told.warn(item["message"].as_str().unwrap_or_default()),
        _ => todos(item, told),
    }
}

fn todos(item: &Value, told: &mut AgentLineEvents<'_>) {
    if item["type"] != "todo_list" {
        return;
    }
    let todo = |entry: &Value| Todo {
        text: entry["text"].as_str().unwrap_or_default().to_owned(),
        status: if entry["completed"] == true { TodoStatus::Done } else { TodoStatus::Pending },
    };
    let todos = item["items"].as_array().into_iter().flatten().map(todo).collect();
    told.bodies.push(EventBody::TodosChanged { todos });
}
