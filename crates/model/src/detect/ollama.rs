//! What Ollama says about a model of its own.

use serde_json::{Value, json};

use super::{Patience, exchange, object_in};

/// What a server says about a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shown {
    /// Whether it calls tools natively.
    pub tools: bool,
    /// Whether it can think before it answers.
    pub thinks: bool,
    /// The longest context it was made for; the server may be set to less.
    pub context: Option<u64>,
}

/// Asks the server on this port of this machine; nothing when it is no Ollama or an old one that does not tell.
pub fn show(port: u16, model: &str, patience: Patience) -> Option<Shown> {
    let body = json!({ "model": model }).to_string();
    let question = format!(
        "POST /api/show HTTP/1.0\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\naccept: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    exchange(port, &question, patience, |answer| understand(&object_in(answer)?))
}

fn understand(answer: &Value) -> Option<Shown> {
    let capabilities = answer.get("capabilities")?.as_array()?;
    let can = |name: &str| capabilities.iter().any(|capability| capability == name);
    // The key carries the architecture's name, as in `qwen3.context_length`.
    let info = answer.get("model_info").and_then(Value::as_object);
    let context = info.and_then(|info| {
        let lengths = info.iter().filter(|(key, _)| key.ends_with(".context_length"));
        lengths.filter_map(|(_, length)| length.as_u64()).filter(|length| *length > 0).min()
    });
    Some(Shown { tools: can("tools"), thinks: can("thinking"), context })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_read() {
        for (answer, expect) in [
            (
                json!({"capabilities": ["completion", "tools", "thinking"], "model_info": {"qwen3.context_length": 40960}}),
                Some(Shown { tools: true, thinks: true, context: Some(40_960) }),
            ),
            (json!({"capabilities": ["completion"]}), Some(Shown::default())),
            (json!({"details": {}}), None),
            (json!({"capabilities": "tools"}), None),
            (json!(null), None),
        ] {
            assert_eq!(understand(&answer), expect, "{answer}");
        }
    }
}
