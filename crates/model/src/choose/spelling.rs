//! The ways people write providers, models and URLs.

use super::{LOCAL_NAMES, ToolMode, setup};
use crate::error::ModelError;
use crate::known_provider::{known_provider, known_provider_names, known_providers};
use crate::wire::WireFormat;

/// A provider's name as we write it.
pub(super) fn provider(name: &str) -> String {
    let name = name.trim().to_ascii_lowercase();
    match name.as_str() {
        "lmstudio" | "lm_studio" => "lm-studio".to_owned(),
        "llamacpp" | "llama-cpp" | "llama_cpp" => "llama.cpp".to_owned(),
        _ => name,
    }
}

/// The provider a model's name begins with, and the rest.
///
/// `anthropic/…` and the like are not split: that is how OpenRouter writes makers, not providers.
pub(super) fn split(model: &str) -> Option<(&'static str, &str)> {
    let at = model.find([':', '/'])?;
    let (named, rest) = (provider(&model[..at]), &model[at + 1..]);
    let name =
        known_provider_names().chain(LOCAL_NAMES).find(|name| *name == named).filter(|_| !rest.is_empty())?;
    let colon = model.as_bytes()[at] == b':';
    let whole = match name {
        // `openrouter/auto` is a model, `openrouter/maker/model` is a provider and a model.
        "openrouter" => !colon && !rest.contains('/'),
        _ => !colon && known_provider(name).is_some_and(|provider| provider.maker),
    };
    (!whole).then_some((name, rest))
}

/// The wire a variable or a key names.
pub(super) fn wire(place: &str, value: &str) -> Result<WireFormat, ModelError> {
    match value.trim().to_ascii_lowercase().as_str() {
        "chat" => Ok(WireFormat::Chat),
        "responses" => Ok(WireFormat::Responses),
        "messages" => Ok(WireFormat::Messages),
        _ => Err(setup(format!("{place} is `{value}`: it must be chat, responses or messages"))),
    }
}

/// How a variable or a key wants tools to be called.
pub(super) fn tools(place: &str, value: &str) -> Result<ToolMode, ModelError> {
    match value.trim().to_ascii_lowercase().as_str() {
        "auto" => Ok(ToolMode::Auto),
        "native" => Ok(ToolMode::Native),
        "text" => Ok(ToolMode::Text),
        _ => Err(setup(format!("{place} is `{value}`: it must be auto, native or text"))),
    }
}

/// A base URL with the path that all of these servers have, when none is there.
pub(super) fn base(url: &str) -> String {
    let url = url.trim().trim_end_matches('/');
    match url.split_once("://") {
        Some((_, rest)) if !rest.contains('/') => format!("{url}/v1"),
        _ => url.to_owned(),
    }
}

/// The provider whose own address this is.
pub(super) fn provider_at(url: &str) -> Option<&'static str> {
    let host = url.split_once("://")?.1.split(['/', ':']).next()?;
    let own = known_providers().iter().find(|provider| provider.hosts.iter().any(|own| own == host))?;
    Some(&own.name)
}

/// Where the variable of Ollama's own client points: a host, a host with a port, or a URL.
pub(super) fn ollama_base(value: &str) -> String {
    let value = value.trim().trim_end_matches('/');
    let (scheme, rest) = value.split_once("://").unwrap_or(("http", value));
    let host = rest.split('/').next().unwrap_or(rest);
    // A server that listens everywhere is asked here.
    let host = match host.strip_prefix("0.0.0.0") {
        Some(port) => format!("127.0.0.1{port}"),
        None => host.to_owned(),
    };
    let port = if host.contains(':') { "" } else { ":11434" };
    format!("{scheme}://{host}{port}/v1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_with_a_provider_before_them() {
        for (model, expect) in [
            ("openrouter/anthropic/claude-x", Some(("openrouter", "anthropic/claude-x"))),
            ("openrouter:anthropic/claude-x", Some(("openrouter", "anthropic/claude-x"))),
            ("openrouter/auto", None),
            ("anthropic/claude-x", None),
            ("anthropic:claude-x", Some(("anthropic", "claude-x"))),
            ("openai/gpt-x", None),
            ("ollama/qwen3:8b", Some(("ollama", "qwen3:8b"))),
            ("ollama:qwen3:8b", Some(("ollama", "qwen3:8b"))),
            ("LMStudio/qwen/qwen3-8b", Some(("lm-studio", "qwen/qwen3-8b"))),
            ("local/mine", Some(("local", "mine"))),
            ("qwen3:8b", None),
            ("google/gemini:free", None),
            ("ollama/", None),
            ("plain", None),
        ] {
            assert_eq!(split(model), expect, "{model}");
        }
    }

    #[test]
    fn urls() {
        assert_eq!(base("http://localhost:11434"), "http://localhost:11434/v1");
        assert_eq!(base("http://localhost:11434/v1/"), "http://localhost:11434/v1");
        assert_eq!(base("https://host/api/v1"), "https://host/api/v1");
        assert_eq!(provider_at("https://api.openai.com/v1"), Some("openai"));
        assert_eq!(provider_at("https://api.openai.com.example/v1"), None);
        for (value, expect) in [
            ("0.0.0.0", "http://127.0.0.1:11434/v1"),
            ("127.0.0.1:9999", "http://127.0.0.1:9999/v1"),
            ("https://ollama.example:8443/", "https://ollama.example:8443/v1"),
        ] {
            assert_eq!(ollama_base(value), expect);
        }
    }
}
