//! What a reply cost, read from the reply.

use serde_json::Value;

/// Four bytes are about one token where nobody says how many there were.
const BYTES_PER_TOKEN: usize = 4;

/// Tokens of one exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ExchangeTokens {
    pub(crate) prompt: u64,
    pub(crate) completion: u64,
    /// Made from bytes, because the reply does not say.
    pub(crate) estimated: bool,
}

/// From the reply, whole or as a stream, of any wire; else from the bytes.
pub(crate) fn tokens(request: &[u8], reply: &[u8]) -> ExchangeTokens {
    let text = String::from_utf8_lossy(reply);
    let events = events(&text);
    let (mut prompt, mut completion) = (None, None);
    for event in &events {
        for usage in [&event["usage"], &event["message"]["usage"], &event["response"]["usage"]] {
            let number = |names: &[&str]| names.iter().find_map(|name| usage[*name].as_u64());
            // Streams repeat them, and the last word counts; a zero of the beginning is no word.
            let cached = ["cache_read_input_tokens", "cache_creation_input_tokens"];
            let cached: u64 = cached.iter().filter_map(|name| usage[*name].as_u64()).sum();
            prompt = number(&["prompt_tokens", "input_tokens"]).map(|n| n + cached).or(prompt);
            completion = number(&["completion_tokens", "output_tokens"]).or(completion);
        }
    }
    let estimated = prompt.is_none() || completion.is_none();
    let guess = |bytes: usize| bytes.div_ceil(BYTES_PER_TOKEN) as u64;
    let said: usize = events.iter().map(said).sum();
    ExchangeTokens {
        prompt: prompt.unwrap_or_else(|| guess(request.len())),
        completion: completion.unwrap_or_else(|| guess(said)),
        estimated,
    }
}

/// The events of a stream, or the one reply.
fn events(text: &str) -> Vec<Value> {
    if let Ok(whole) = serde_json::from_str(text) {
        return vec![whole];
    }
    let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    data.filter_map(|data| serde_json::from_str(data.trim()).ok()).collect()
}

/// Bytes that the model said in an event, of whichever wire.
fn said(event: &Value) -> usize {
    let length = |value: &Value| value.as_str().map_or(0, str::len);
    let choices = event["choices"].as_array().map(Vec::as_slice).unwrap_or_default();
    let chat = choices.iter().map(|choice| {
        let part = if choice["delta"].is_object() { &choice["delta"] } else { &choice["message"] };
        let calls = part["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
        let calls: usize = calls.iter().map(|call| length(&call["function"]["arguments"])).sum();
        length(&part["content"]) + length(&part["reasoning_content"]) + calls
    });
    let delta = &event["delta"];
    let deltas = length(delta) + length(&delta["text"]) + length(&delta["partial_json"]);
    chat.sum::<usize>() + deltas
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_from_all_wires() {
        let check = |reply: &str, prompt, completion, estimated| {
            let found = tokens(&[b'x'; 40], reply.as_bytes());
            assert_eq!(found, ExchangeTokens { prompt, completion, estimated }, "{reply}");
        };
        check(r#"{"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":3}}"#, 12, 3, false);
        check(
            "data: {\"choices\":[]}\n\ndata: {\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2}}\n\ndata: [DONE]\n",
            7,
            2,
            false,
        );
        check(
            "event: message_start\ndata: {\"message\":{\"usage\":{\"input_tokens\":5,\"cache_read_input_tokens\":4,\"output_tokens\":1}}}\n\n\
             data: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":9}}\n",
            9,
            9,
            false,
        );
        check("data: {\"response\":{\"usage\":{\"input_tokens\":8,\"output_tokens\":6}}}\n", 8, 6, false);
        check("data: {\"choices\":[{\"delta\":{\"content\":\"12345678\"}}]}\n", 10, 2, true);
        check(r#"{"choices":[{"message":{"content":"1234"}}]}"#, 10, 1, true);
        check("rubbish", 10, 0, true);
    }
}
