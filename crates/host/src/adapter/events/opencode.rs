//! `opencode run --format json`. There is no last line: the last step says why it stopped.

use serde_json::Value;

use super::{AgentLineEvents, kind_of};

pub(super) fn read(line: &Value, told: &mut AgentLineEvents<'_>) {
    let part = &line["part"];
    match line["type"].as_str() {
        Some("step_start") => {
            // Another step follows, so what was said before was not the end.
            told.heard.end = None;
        }
        Some("text") => told.words(part["text"].as_str().unwrap_or_default(), false),
        Some("reasoning") => told.thoughts(part["text"].as_str().unwrap_or_default()),
        Some("tool_use") => {
            let id = part["callID"].as_str().unwrap_or_default();
            let state = &part["state"];
            told.call(id, part["tool"].as_str().unwrap_or_default(), &state["input"]);
            let time = |key: &str| state["time"][key].as_u64().unwrap_or(0);
            let text = state["output"].as_str().or(state["error"].as_str()).unwrap_or_default();
            let code = state["metadata"]["exit"].as_i64();
            let ok = state["status"] == "completed" && code.unwrap_or(0) == 0;
            told.result(id, ok, text, code, time("end").saturating_sub(time("start")));
        }
        Some("step_finish") => finish(part, told),
        Some("error") => {
            let error = &line["error"];
            let name = error["name"].as_str().unwrap_or("error");
            let message = error["data"]["message"].as_str().or(error["message"].as_str()).unwrap_or(name);
            told.failed(kind_of(&format!("{name} {message}")), message);
        }
        _ => {}
    }
}

fn finish(part: &Value, told: &mut AgentLineEvents<'_>) {
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    let (tokens, usage) = (&part["tokens"], &mut told.heard.usage);
    usage.input =
        usage.input.saturating_add(count(&tokens["input"])).saturating_add(count(&tokens["cache"]["write"]));
    usage.cached = usage.cached.saturating_add(count(&tokens["cache"]["read"]));
    usage.output = usage.output.saturating_add(count(&tokens["output"]));
    usage.reasoning = usage.reasoning.saturating_add(count(&tokens["reasoning"]));
    if let Some(cost) = part["cost"].as_f64().filter(|cost| *cost > 0.0) {
        *usage.cost_usd.get_or_insert(0.0) += cost;
    }
    match part["reason"].as_str() {
        Some("stop") => told.done(),
        Some("tool-calls") | None => {}
        Some("content-filter") => told.failed("refused", "the model declines"),
        Some("length") => told.failed("agent_failed", "the answer was cut off at its length"),
        Some(other) => told.failed("agent_failed", &format!("the last step ended with `{other}`")),
    }
}
