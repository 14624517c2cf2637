//! Claude Code's `stream-json`, which Qwen Code follows.

use holon_core::manifest::UsageTotals;
use serde_json::Value;

use super::{AgentLineEvents, kind_of, text_of};

pub(super) fn read(line: &Value, told: &mut AgentLineEvents<'_>) {
    let of_child = line["parent_tool_use_id"].is_string();
    match line["type"].as_str() {
        Some("system") if line["subtype"] == "init" => {
            let version = line["claude_code_version"].as_str().or(line["qwen_code_version"].as_str());
            told.heard.version = version.map(str::to_owned).or(told.heard.version.take());
        }
        Some("assistant") => {
            for part in parts(&line["message"]["content"]) {
                match part["type"].as_str() {
                    // What a child says is not said to the user.
                    Some("text") if of_child => {}
                    Some("text") => told.words(part["text"].as_str().unwrap_or_default(), false),
                    Some("thinking") => told.thoughts(part["thinking"].as_str().unwrap_or_default()),
                    Some("tool_use") => {
                        let name = part["name"].as_str().unwrap_or_default();
                        told.call(part["id"].as_str().unwrap_or_default(), name, &part["input"]);
                    }
                    _ => {}
                }
            }
        }
        Some("user") => {
            for part in parts(&line["message"]["content"]) {
                if part["type"] == "tool_result" {
                    let id = part["tool_use_id"].as_str().unwrap_or_default();
                    told.result(id, part["is_error"] != true, &text_of(&part["content"]), None, 0);
                }
            }
        }
        Some("result") => result(line, told),
        _ => {}
    }
}

/// What those that follow Claude Code say last, as if it were an answer, when a request to the model failed.
const FAILED_REQUEST: &str = "[API Error: ";

/// The last line. A failed request to the model comes as a success that is an error.
fn result(line: &Value, told: &mut AgentLineEvents<'_>) {
    let count = |key: &str| line["usage"][key].as_u64().unwrap_or(0);
    told.heard.usage = UsageTotals {
        input: count("input_tokens").saturating_add(count("cache_creation_input_tokens")),
        cached: count("cache_read_input_tokens"),
        output: count("output_tokens"),
        reasoning: 0,
        cost_usd: line["total_cost_usd"].as_f64(),
    };
    let words = line["result"].as_str().unwrap_or_default();
    let subtype = line["subtype"].as_str().unwrap_or_default();
    if line["is_error"] == true || subtype != "success" || words.starts_with(FAILED_REQUEST) {
        let first = line["errors"][0].as_str().or(line["error"]["message"].as_str());
        let message = if words.is_empty() { first.unwrap_or(subtype) } else { words };
        let kind = match subtype {
            "error_max_turns" => "rounds",
            "error_max_budget_usd" => "cost",
            _ if line["stop_reason"] == "refusal" => "refused",
            _ => kind_of(message),
        };
        return told.failed(kind, message);
    }
    if line["stop_reason"] == "refusal" {
        return told.failed("refused", words);
    }
    if !words.is_empty() {
        words.clone_into(&mut told.heard.words);
    }
    told.done();
}

fn parts(content: &Value) -> impl Iterator<Item = &Value> {
    content.as_array().into_iter().flatten()
}
