//! `goose run --output-format stream-json`.

use serde_json::Value;

use super::{AgentLineEvents, kind_of, text_of};

pub(super) fn read(line: &Value, told: &mut AgentLineEvents<'_>) {
    match line["type"].as_str() {
        Some("message") => message(&line["message"], told),
        Some("error") => {
            let message =
                line["error"].as_str().or(line["message"].as_str()).unwrap_or("it says that it failed");
            told.failed(kind_of(message), message);
        }
        Some("complete") => {
            let usage = &mut told.heard.usage;
            usage.input = line["input_tokens"].as_u64().unwrap_or(0);
            usage.output = line["output_tokens"].as_u64().unwrap_or(0);
            // What went wrong on the way to the model is said in words, and then it is complete all the same.
            let words = told.heard.words.clone();
            if words.starts_with("Ran into this error:")
                || words.contains("Please retry if you think this is a transient")
            {
                return told.failed(kind_of(&words), &words);
            }
            if words.starts_with("I've reached the maximum number of actions") {
                return told.failed("rounds", &words);
            }
            told.done();
        }
        _ => {}
    }
}

/// Text comes in pieces that share the id of their message; a call or a result begins a new one.
fn message(message: &Value, told: &mut AgentLineEvents<'_>) {
    let ours = message["role"] == "assistant";
    for part in message["content"].as_array().into_iter().flatten() {
        match part["type"].as_str() {
            Some("text") if ours => told.words(part["text"].as_str().unwrap_or_default(), true),
            Some("thinking") => told.thoughts(part["thinking"].as_str().unwrap_or_default()),
            Some("toolRequest") => {
                told.heard.words.clear();
                let call = &part["toolCall"]["value"];
                let name = call["name"].as_str().unwrap_or_default();
                told.call(part["id"].as_str().unwrap_or_default(), name, &call["arguments"]);
            }
            Some("toolResponse") => {
                let result = &part["toolResult"];
                let value = &result["value"];
                let ok = result["status"] == "success" && value["isError"] != true;
                let text = result["error"].as_str().map_or_else(|| text_of(&value["content"]), str::to_owned);
                let code = value["structuredContent"]["exit_code"].as_i64();
                told.result(part["id"].as_str().unwrap_or_default(), ok, &text, code, 0);
            }
            _ => {}
        }
    }
}
