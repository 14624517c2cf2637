//! What of a client's request is passed on to a provider of the same wire.
//!
//! A provider can do more than answer: search the web, fetch a URL, call a remote tool server, keep conversations. Through
//! any of these a sandbox without a network would reach one. So only fields known to be harmless pass, tools that run at
//! the provider do not, and neither do pictures and files that the provider would have to fetch.

use holon_model::{Endpoint, WireDialect, WireFormat};
use serde_json::{Map, Value, json};

const CHAT: &[&str] = &[
    "messages",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "stream",
    "stream_options",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "stop",
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "repetition_penalty",
    "logit_bias",
    "response_format",
    "reasoning",
    "reasoning_effort",
    "include_reasoning",
    "thinking",
    "enable_thinking",
    "chat_template_kwargs",
    "verbosity",
    "prompt_cache_key",
];
const RESPONSES: &[&str] = &[
    "input",
    "instructions",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "stream",
    "max_output_tokens",
    "max_tool_calls",
    "temperature",
    "top_p",
    "reasoning",
    "text",
    "include",
    "truncation",
    "prompt_cache_key",
];
const MESSAGES: &[&str] = &[
    "messages",
    "system",
    "tools",
    "tool_choice",
    "max_tokens",
    "temperature",
    "top_p",
    "top_k",
    "stop_sequences",
    "stream",
    "thinking",
    "output_config",
    "output_format",
    "context_management",
];
/// Tools of Anthropic's that the client carries out.
const CLIENT_TOOLS: &[&str] = &["custom", "bash_", "text_editor_", "computer_", "memory_"];
/// Betas that let a provider reach elsewhere or keep things.
const REACHING_BETAS: &[&str] = &["mcp", "web", "fetch", "search", "files", "code-execution", "skills"];

/// A body that may be passed on, and what was left out of it.
pub(crate) struct NarrowedBody {
    pub(crate) body: Map<String, Value>,
    pub(crate) dropped: Vec<String>,
}

/// Narrows a body for this endpoint and this model.
pub(crate) fn narrow(body: Map<String, Value>, endpoint: &Endpoint, model: &str) -> NarrowedBody {
    let wire = endpoint.wire;
    let fields = match wire {
        WireFormat::Chat => CHAT,
        WireFormat::Responses => RESPONSES,
        WireFormat::Messages => MESSAGES,
    };
    let mut dropped = Vec::new();
    let mut kept = Map::new();
    for (key, value) in body {
        if fields.contains(&key.as_str()) {
            kept.insert(key, value);
        } else if !["model", "store"].contains(&key.as_str()) {
            dropped.push(key);
        }
    }
    tools(wire, &mut kept, &mut dropped);
    for key in ["messages", "input", "system"] {
        if let Some(Value::Array(entries)) = kept.get_mut(key) {
            entries.iter_mut().for_each(|entry| local_only(wire, entry, &mut dropped));
        }
    }
    kept.insert("model".to_owned(), json!(model));
    if wire == WireFormat::Responses {
        kept.insert("store".to_owned(), json!(false));
    }
    let streams = kept.get("stream") == Some(&json!(true));
    if wire == WireFormat::Chat && endpoint.dialect != WireDialect::OpenRouter && streams {
        // Without it nobody would tell the tokens.
        join(&mut kept, "stream_options", &json!({"include_usage": true}));
    }
    for (key, value) in &endpoint.extra {
        join(&mut kept, key, value);
    }
    NarrowedBody { body: kept, dropped }
}

/// Puts a value in; objects are joined, the new entries win.
fn join(body: &mut Map<String, Value>, key: &str, value: &Value) {
    match (body.get_mut(key), value) {
        (Some(Value::Object(there)), Value::Object(more)) => there.extend(more.clone()),
        _ => drop(body.insert(key.to_owned(), value.clone())),
    }
}

fn tools(wire: WireFormat, body: &mut Map<String, Value>, dropped: &mut Vec<String>) {
    // Tools that a client adds on the way are items of the conversation.
    for item in body.get_mut("input").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(Value::Array(tools)) = item.get_mut("tools") {
            keep_ours(wire, tools, dropped);
        }
    }
    let Some(Value::Array(tools)) = body.get_mut("tools") else { return };
    keep_ours(wire, tools, dropped);
    if tools.is_empty() {
        body.remove("tools");
        body.remove("tool_choice");
    }
}

/// Keeps the tools that the client carries out itself, also in groups.
fn keep_ours(wire: WireFormat, tools: &mut Vec<Value>, dropped: &mut Vec<String>) {
    tools.retain_mut(|tool| {
        let kind = tool.get("type").and_then(Value::as_str).map(str::to_owned);
        let ours = match (wire, kind.as_deref()) {
            (WireFormat::Messages, kind) => {
                kind.is_none_or(|kind| CLIENT_TOOLS.iter().any(|known| kind.starts_with(known)))
            }
            (WireFormat::Responses, Some("namespace")) => match tool.get_mut("tools") {
                Some(Value::Array(inner)) => {
                    keep_ours(wire, inner, dropped);
                    !inner.is_empty()
                }
                _ => false,
            },
            (_, kind) => matches!(kind, None | Some("function" | "custom" | "local_shell")),
        };
        if !ours {
            dropped.push(format!("tool {}", kind.unwrap_or_default()));
        }
        ours
    });
}

/// Replaces content that a provider would fetch by a note.
fn local_only(wire: WireFormat, entry: &mut Value, dropped: &mut Vec<String>) {
    let fetched = entry.as_object().is_some_and(is_fetched);
    if fetched {
        let kind = entry.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let note = format!("[{kind}: left out, it would have to be fetched]");
        *entry = match wire {
            WireFormat::Responses => json!({"type": "input_text", "text": note}),
            WireFormat::Chat | WireFormat::Messages => json!({"type": "text", "text": note}),
        };
        dropped.push(kind);
        return;
    }
    for key in ["content", "output"] {
        if let Some(Value::Array(parts)) = entry.get_mut(key) {
            parts.iter_mut().for_each(|part| local_only(wire, part, dropped));
        }
    }
}

/// Content that is named by where it is rather than given.
fn is_fetched(part: &Map<String, Value>) -> bool {
    let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
    let media =
        ["image", "audio", "video", "file", "document", "container"].iter().any(|word| kind.contains(word));
    media && part.iter().any(|(key, value)| key != "type" && elsewhere(key, value))
}

fn elsewhere(key: &str, value: &Value) -> bool {
    match value {
        Value::String(text) => key == "file_id" || key.ends_with("url") && !text.starts_with("data:"),
        Value::Object(inner) => {
            inner.get("type").is_some_and(|kind| kind == "url" || kind == "file")
                || inner.iter().any(|(key, value)| elsewhere(key, value))
        }
        _ => false,
    }
}

/// The betas of a client's header that may be passed on.
pub(crate) fn betas(header: &str) -> Option<String> {
    let plain = |beta: &&str| {
        !beta.is_empty()
            && beta.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !REACHING_BETAS.iter().any(|word| beta.contains(word))
    };
    let kept: Vec<&str> = header.split(',').map(str::trim).filter(plain).collect();
    (!kept.is_empty()).then(|| kept.join(","))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn check(wire: WireFormat, body: Value, expect: Value, dropped: &[&str]) {
        let mut endpoint = Endpoint::compatible("x", "http://localhost/v1", None);
        endpoint.wire = wire;
        let narrowed = narrow(body.as_object().unwrap().clone(), &endpoint, "m");
        assert_eq!(Value::Object(narrowed.body), expect);
        assert_eq!(narrowed.dropped, dropped);
    }

    #[test]
    fn the_model_is_ours_and_unknown_fields_go() {
        check(
            WireFormat::Chat,
            json!({"model": "dear", "models": ["dearer"], "messages": [], "plugins": [{"id": "web"}], "stream": true}),
            json!({"messages": [], "stream": true, "model": "m", "stream_options": {"include_usage": true}}),
            &["models", "plugins"],
        );
    }

    #[test]
    fn tools_that_run_at_the_provider_go() {
        let function = json!({"type": "function", "name": "ls"});
        check(
            WireFormat::Responses,
            json!({"input": "x", "store": true, "tools": [{"type": "mcp", "server_url": "https://evil.example"}, {"type": "web_search"}, function]}),
            json!({"input": "x", "tools": [function], "model": "m", "store": false}),
            &["tool mcp", "tool web_search"],
        );
        let group = |tools: Value| json!({"type": "namespace", "name": "n", "tools": tools});
        let added = |tools: Value| json!({"type": "additional_tools", "tools": tools});
        let search = json!({"type": "web_search"});
        check(
            WireFormat::Responses,
            json!({"input": [added(json!([search, function]))], "tools": [group(json!([search, function])), group(json!([search]))]}),
            json!({"input": [added(json!([function]))], "tools": [group(json!([function]))], "model": "m", "store": false}),
            &["tool web_search", "tool web_search", "tool web_search", "tool namespace"],
        );
        check(
            WireFormat::Messages,
            json!({"messages": [], "tools": [{"type": "web_search_20250305", "name": "web_search"}], "tool_choice": {"type": "any"}, "mcp_servers": [{}]}),
            json!({"messages": [], "model": "m"}),
            &["mcp_servers", "tool web_search_20250305"],
        );
    }

    #[test]
    fn nothing_is_fetched() {
        let note = |kind: &str| json!({"type": "text", "text": format!("[{kind}: left out, it would have to be fetched]")});
        let inline = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}});
        let elsewhere = json!({"type": "image_url", "image_url": {"url": "https://evil.example/?d=1"}});
        check(
            WireFormat::Chat,
            json!({"messages": [{"role": "user", "content": [inline, elsewhere]}]}),
            json!({"messages": [{"role": "user", "content": [inline, note("image_url")]}], "model": "m"}),
            &["image_url"],
        );
        let image = json!({"type": "image", "source": {"type": "url", "url": "https://evil.example"}});
        let result = |inner: &Value| json!({"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": [inner]}]}]});
        let mut expect = result(&note("image"));
        expect["model"] = json!("m");
        check(WireFormat::Messages, result(&image), expect, &["image"]);
    }

    #[test]
    fn arguments_of_calls_are_left_alone() {
        let call = json!({"type": "tool_use", "id": "1", "name": "fetch", "input": {"type": "file", "url": "https://a"}});
        let body = json!({"messages": [{"role": "assistant", "content": [call]}]});
        let mut expect = body.clone();
        expect["model"] = json!("m");
        check(WireFormat::Messages, body, expect, &[]);
    }

    #[test]
    fn betas_that_reach_elsewhere_go() {
        assert_eq!(
            betas("interleaved-thinking-2025-05-14, mcp-client-2025-04-04,web-fetch-2025-09-10").as_deref(),
            Some("interleaved-thinking-2025-05-14")
        );
        assert_eq!(betas("x\u{7f}y, files-api-2025"), None);
    }
}
