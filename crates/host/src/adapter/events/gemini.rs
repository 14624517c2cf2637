//! `gemini -o stream-json`.

use holon_core::manifest::Usage;
use serde_json::Value;

use super::{Telling, kind_of, text_of};

pub(super) fn read(line: &Value, told: &mut Telling<'_>) {
    match line["type"].as_str() {
        Some("message") if line["role"] == "assistant" => {
            let text = line["content"].as_str().map_or_else(|| text_of(&line["content"]), str::to_owned);
            // Pieces of a message follow each other; a call in between begins a new one.
            told.words(&text, line["delta"] == true);
        }
        Some("tool_use") => {
            told.heard.words.clear();
            let name = line["tool_name"].as_str().unwrap_or_default();
            told.call(line["tool_id"].as_str().unwrap_or_default(), name, &line["parameters"]);
        }
        Some("tool_result") => {
            let text = line["output"].as_str().or(line["error"]["message"].as_str()).unwrap_or_default();
            told.result(
                line["tool_id"].as_str().unwrap_or_default(),
                line["status"] == "success",
                text,
                None,
                0,
            );
        }
        Some("error") => told.warn(line["message"].as_str().unwrap_or_default()),
        Some("result") => {
            let count = |key: &str| line["stats"][key].as_u64().unwrap_or(0);
            let cached = count("cached");
            told.heard.usage = Usage {
                input: count("input_tokens").saturating_sub(cached),
                cached,
                output: count("output_tokens"),
                reasoning: 0,
                cost_usd: None,
            };
            if line["status"] == "success" {
                return told.done();
            }
            let message = line["error"]["message"].as_str().unwrap_or("it says that it failed");
            told.failed(kind_of(message), message);
        }
        _ => {}
    }
}
