//! Reads what servers say about a model: each in its own place and its own words.

use serde_json::Value;

use super::{DeclaredAbilities, ServerKind};

/// The answers of one server, each absent where it has none.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerMetadata {
    /// `GET /v1/models`: all of them have it; llama.cpp and vLLM tell the window there.
    pub models: Option<Value>,
    /// `GET /props`: llama.cpp.
    pub props: Option<Value>,
    /// `GET /api/v0/models`: LM Studio.
    pub studio: Option<Value>,
    /// `POST /api/show`: Ollama.
    pub shown: Option<Value>,
    /// `GET /api/ps`: Ollama, what is loaded now.
    pub running: Option<Value>,
}

/// What these answers say about a model.
pub fn read(answers: &ServerMetadata, model: &str) -> DeclaredAbilities {
    let entry = |list: &Option<Value>| {
        let rows = list.as_ref()?.get("data")?.as_array()?;
        rows.iter().find(|row| row.get("id").and_then(Value::as_str) == Some(model)).cloned()
    };
    let mut told = DeclaredAbilities::default();
    if let Some(row) = entry(&answers.models) {
        listed(&row, &mut told);
    }
    if let Some(props) = answers
        .props
        .as_ref()
        .and_then(|props| props.get("default_generation_settings")?.as_object().map(|_| props))
    {
        llama(props, &mut told);
    }
    // Other servers answer at this path too, with rows that say nothing of the kind.
    if let Some(row) = entry(&answers.studio).filter(|row| row.get("max_context_length").is_some()) {
        studio(&row, &mut told);
    }
    if let Some(shown) =
        answers.shown.as_ref().filter(|shown| shown.get("capabilities").is_some_and(Value::is_array))
    {
        ollama(shown, &mut told);
        told.window = running(answers.running.as_ref(), model).or_else(|| num_ctx(shown)).or(told.window);
    }
    if let (Some(window), Some(longest)) = (told.window, told.longest) {
        told.window = Some(window.min(longest));
    }
    told
}

fn listed(row: &Value, told: &mut DeclaredAbilities) {
    let owner = row.get("owned_by").and_then(Value::as_str);
    let meta = |key: &str| tokens(row.get("meta")?.get(key)?);
    told.kind = match owner {
        Some("vllm") => Some(ServerKind::Vllm),
        Some("llamacpp") => Some(ServerKind::LlamaCpp),
        _ => None,
    };
    told.window = row.get("max_model_len").and_then(tokens).or_else(|| meta("n_ctx"));
    told.longest = meta("n_ctx_train");
}

fn llama(props: &Value, told: &mut DeclaredAbilities) {
    told.kind = Some(ServerKind::LlamaCpp);
    told.window = props["default_generation_settings"].get("n_ctx").and_then(tokens).or(told.window);
    told.vision = props.get("modalities").and_then(|kinds| kinds.get("vision")?.as_bool());
    let caps = props.get("chat_template_caps").and_then(|caps| caps.get("supports_tool_calls")?.as_bool());
    // A template that never mentions tools shows none to the model.
    let template = props.get("chat_template").and_then(Value::as_str).filter(|text| !text.is_empty());
    told.tools = caps.or_else(|| template.map(|text| text.contains("tool")));
}

fn studio(row: &Value, told: &mut DeclaredAbilities) {
    told.kind = Some(ServerKind::LmStudio);
    told.longest = row.get("max_context_length").and_then(tokens);
    told.window = row.get("loaded_context_length").and_then(tokens);
    told.vision = row.get("type").and_then(Value::as_str).map(|kind| kind == "vlm");
    let abilities = row.get("capabilities").and_then(Value::as_array);
    told.tools = abilities.map(|list| list.iter().any(|ability| ability == "tool_use"));
}

fn ollama(shown: &Value, told: &mut DeclaredAbilities) {
    told.kind = Some(ServerKind::Ollama);
    let can = |name: &str| {
        shown["capabilities"].as_array().is_some_and(|list| list.iter().any(|ability| ability == name))
    };
    told.tools = Some(can("tools"));
    told.thinks = Some(can("thinking"));
    told.vision = Some(can("vision"));
    // The key carries the architecture's name, as in `qwen3.context_length`.
    let info = shown.get("model_info").and_then(Value::as_object);
    told.longest = info.and_then(|info| {
        info.iter().filter(|(key, _)| key.ends_with(".context_length")).filter_map(|(_, n)| tokens(n)).min()
    });
}

/// The window of a model that is loaded now.
fn running(answer: Option<&Value>, model: &str) -> Option<u64> {
    let rows = answer?.get("models")?.as_array()?;
    let is = |row: &&Value| {
        ["model", "name"].iter().any(|key| row.get(key).and_then(Value::as_str) == Some(model))
    };
    rows.iter().find(is)?.get("context_length").and_then(tokens)
}

/// The window a model's own file asks for: a line `num_ctx 8192` among its parameters.
fn num_ctx(shown: &Value) -> Option<u64> {
    let lines = shown.get("parameters")?.as_str()?.lines();
    let words = lines.map(|line| line.split_whitespace().collect::<Vec<_>>());
    words
        .filter_map(|words| if words.first() == Some(&"num_ctx") { words.get(1)?.parse().ok() } else { None })
        .next()
}

/// A number of tokens; none is no window.
fn tokens(value: &Value) -> Option<u64> {
    value.as_u64().filter(|count| *count > 0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(answers: ServerMetadata, expect: DeclaredAbilities) {
        assert_eq!(read(&answers, "m"), expect);
    }

    #[test]
    fn each_server_in_its_own_words() {
        let list = |row: Value| Some(json!({"object": "list", "data": [{"id": "other"}, row]}));
        check(
            ServerMetadata {
                models: list(
                    json!({"id": "m", "owned_by": "llamacpp", "meta": {"n_ctx_train": 32768, "n_ctx": 8192}}),
                ),
                props: Some(json!({
                    "default_generation_settings": {"n_ctx": 4096}, "modalities": {"vision": false},
                    "chat_template": "{% if tools %}…"
                })),
                ..ServerMetadata::default()
            },
            DeclaredAbilities {
                kind: Some(ServerKind::LlamaCpp),
                window: Some(4096),
                longest: Some(32768),
                tools: Some(true),
                vision: Some(false),
                ..DeclaredAbilities::default()
            },
        );
        check(
            ServerMetadata {
                models: list(json!({"id": "m", "owned_by": "vllm", "max_model_len": 16384})),
                ..ServerMetadata::default()
            },
            DeclaredAbilities {
                kind: Some(ServerKind::Vllm),
                window: Some(16384),
                ..DeclaredAbilities::default()
            },
        );
        check(
            ServerMetadata {
                studio: list(json!({
                    "id": "m", "type": "vlm", "max_context_length": 131_072, "loaded_context_length": 8192,
                    "capabilities": ["tool_use"]
                })),
                ..ServerMetadata::default()
            },
            DeclaredAbilities {
                kind: Some(ServerKind::LmStudio),
                window: Some(8192),
                longest: Some(131_072),
                tools: Some(true),
                vision: Some(true),
                ..DeclaredAbilities::default()
            },
        );
        let shown = json!({"capabilities": ["completion", "tools", "thinking"], "parameters": "stop x\nnum_ctx    8192",
            "model_info": {"qwen3.context_length": 40960}});
        let told = DeclaredAbilities {
            kind: Some(ServerKind::Ollama),
            window: Some(8192),
            longest: Some(40960),
            tools: Some(true),
            thinks: Some(true),
            vision: Some(false),
        };
        check(ServerMetadata { shown: Some(shown.clone()), ..ServerMetadata::default() }, told.clone());
        let running = Some(json!({"models": [{"name": "m", "context_length": 4096}]}));
        check(
            ServerMetadata { shown: Some(shown), running, ..ServerMetadata::default() },
            DeclaredAbilities { window: Some(4096), ..told },
        );
    }

    #[test]
    fn what_says_nothing_is_nothing() {
        for odd in [
            json!(null),
            json!([]),
            json!({"data": "x"}),
            json!({"capabilities": "tools"}),
            json!({"data": [{"id": "m"}]}),
        ] {
            let all = || Some(odd.clone());
            check(
                ServerMetadata { models: all(), props: all(), studio: all(), shown: all(), running: all() },
                DeclaredAbilities::default(),
            );
        }
    }
}
