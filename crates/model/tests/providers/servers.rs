//! Servers in the shapes of llama.cpp, vLLM, LM Studio, Ollama, OpenRouter, Anthropic and OpenAI: what they say is found
//! as it is, what they can do is tried, and what is wrong with them is told in one sentence.

use std::time::Duration;

use holon_model::ability::try_out;
use holon_model::cassette::CassetteTurn;
use holon_model::choose::{ThisMachine, ToolCalls};
use holon_model::{
    AbilityCache, ChosenEndpoint, DeclaredAbilities, EndpointPreferences, ModelError, ServerKind, WireFormat,
    resolve_endpoint,
};
use holon_testkit::model::{ModelServer, ScriptedResponse};
use serde_json::{Value, json};

fn list(row: &Value) -> Value {
    json!({"object": "list", "data": [row]})
}

fn llama_cpp(script: Vec<ScriptedResponse>, template: &str) -> ModelServer {
    let row = json!({"id": "m", "object": "model", "owned_by": "llamacpp",
        "meta": {"n_ctx_train": 32768, "n_params": 1_543_714_304}});
    let props = json!({"default_generation_settings": {"n_ctx": 4096}, "total_slots": 1, "chat_template": template,
        "modalities": {"vision": false, "audio": false}});
    ModelServer::start(WireFormat::Chat, script)
        .with_fact("/v1/models", &list(&row))
        .with_fact("/props", &props)
}

fn vllm(script: Vec<ScriptedResponse>) -> ModelServer {
    let row = json!({"id": "m", "object": "model", "owned_by": "vllm", "root": "m", "max_model_len": 16384});
    ModelServer::start(WireFormat::Chat, script).with_fact("/v1/models", &list(&row))
}

fn lm_studio(script: Vec<ScriptedResponse>) -> ModelServer {
    let row = json!({"id": "m", "object": "model", "type": "llm", "state": "loaded", "max_context_length": 131_072,
        "loaded_context_length": 8192, "capabilities": ["tool_use"]});
    ModelServer::start(WireFormat::Chat, script).with_models(["m"]).with_fact("/api/v0/models", &list(&row))
}

fn ollama(script: Vec<ScriptedResponse>) -> ModelServer {
    let shown = json!({"capabilities": ["completion"], "model_info": {"qwen2.context_length": 32768}});
    let running = json!({"models": [{"name": "m", "model": "m", "context_length": 4096}]});
    ModelServer::start(WireFormat::Chat, script)
        .with_models(["m"])
        .with_fact("/api/show", &shown)
        .with_fact("/api/ps", &running)
}

fn at(
    base: &str,
    model: Option<&str>,
    cache: Option<&std::path::Path>,
) -> Result<ChosenEndpoint, ModelError> {
    let variable = |name: &str| (name == "HOLON_BASE_URL").then(|| base.to_owned());
    let machine = ThisMachine::new(&variable);
    let machine = match cache {
        Some(folder) => machine.with_cache(folder),
        None => machine,
    };
    resolve_endpoint(&EndpointPreferences { model, ..EndpointPreferences::default() }, &machine)
}

#[test]
fn windows_and_abilities_are_found_as_they_are() {
    let in_words = ToolCalls::Text { constrain: true };
    for (server, kind, window, tools) in [
        (llama_cpp(vec![], "{{ messages }}"), ServerKind::LlamaCpp, 4096, in_words),
        (llama_cpp(vec![], "{% if tools %}"), ServerKind::LlamaCpp, 4096, ToolCalls::Native),
        (vllm(vec![]), ServerKind::Vllm, 16384, in_words),
        (lm_studio(vec![]), ServerKind::LmStudio, 8192, ToolCalls::Native),
        (ollama(vec![]), ServerKind::Ollama, 4096, in_words),
    ] {
        let chosen = at(&server.base(), None, None).unwrap();
        assert_eq!((chosen.model.as_str(), chosen.known.told.kind), ("m", Some(kind)));
        assert_eq!((chosen.window(), chosen.tools), (window, tools), "{kind}: {}", chosen.why);
        assert_eq!(server.requests(), [], "looking is not asking");
    }
    let silent = ModelServer::start(WireFormat::Chat, []);
    let chosen = at(&silent.base(), None, None).unwrap();
    assert_eq!((chosen.known.told, chosen.row.unwrap().context), (DeclaredAbilities::default(), None));
}

#[test]
fn makers_and_openrouter_are_known_by_their_tables() {
    for (provider, key, model) in [
        ("anthropic", "ANTHROPIC_API_KEY", "claude-sonnet-5-5"),
        ("openai", "OPENAI_API_KEY", "gpt-6.1-sol"),
        ("openrouter", "OPENROUTER_API_KEY", "anthropic/claude-sonnet-5.5"),
    ] {
        let variable = |name: &str| (name == key).then(|| "k".to_owned());
        let wish = EndpointPreferences {
            provider: Some(provider),
            model: Some(model),
            ..EndpointPreferences::default()
        };
        let chosen = resolve_endpoint(&wish, &ThisMachine::new(&variable)).unwrap();
        let row = chosen.row.clone().unwrap();
        assert_eq!((chosen.window(), chosen.tools), (row.context.unwrap(), ToolCalls::Native), "{provider}");
        assert!(row.max_output.is_some(), "{provider}");
    }
}

fn tried(server: &ModelServer, kind: ServerKind) -> Result<holon_model::ability::ModelTrial, ModelError> {
    let endpoint = holon_model::Endpoint::compatible("x", &server.base(), None);
    let now = "2026-01-02T03:04:05Z".parse().unwrap();
    try_out(&endpoint, "m", Some(kind), Duration::from_secs(20), now)
}

fn counted() -> ScriptedResponse {
    CassetteTurn::text("one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve").into()
}

fn cassette(text: &str) -> ScriptedResponse {
    let cassette: holon_model::Cassette = text.parse().unwrap();
    cassette.turns.into_iter().next().unwrap().into()
}

#[test]
fn tools_and_schemas_are_tried_and_remembered() {
    let call = || cassette("- tool: look_up\n  args: { word: holon }\n");
    let held = || ScriptedResponse::from(CassetteTurn::text("{\"colour\": \"vermilion\"}"));
    let words = || ScriptedResponse::from(CassetteTurn::text("I am fine."));
    let no_flag = || {
        ScriptedResponse::json(
            400,
            r#"{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","code":400}"#,
        )
    };
    let no_grammar = || ScriptedResponse::json(500, r#"{"error":{"message":"Failed to parse grammar"}}"#);
    let folder = tempfile::tempdir().unwrap();
    let cache = AbilityCache::new(folder.path());
    for (server, kind, tools, schema, note) in [
        (lm_studio(vec![counted(), call(), held()]), ServerKind::LmStudio, true, true, ""),
        (ollama(vec![counted(), words(), words()]), ServerKind::Ollama, false, false, ""),
        (vllm(vec![counted(), no_flag(), held()]), ServerKind::Vllm, false, true, "--tool-call-parser NAME"),
        (
            llama_cpp(vec![counted(), call(), no_grammar()], ""),
            ServerKind::LlamaCpp,
            true,
            false,
            "schemas are refused",
        ),
    ] {
        let trial = tried(&server, kind).unwrap();
        assert_eq!((trial.tested.tools, trial.tested.schema), (Some(tools), Some(schema)), "{kind}");
        assert!(trial.notes.join("; ").contains(note), "{kind}: {:?}", trial.notes);
        assert_eq!(server.requests().len(), 3, "nothing is asked twice");
        cache.write(&server.base(), "m", trial.tested).unwrap();
        let chosen = at(&server.base(), None, Some(folder.path())).unwrap();
        let expect = if tools { ToolCalls::Native } else { ToolCalls::Text { constrain: schema } };
        assert_eq!(chosen.tools, expect, "{kind}: {}", chosen.why);
    }
}

#[test]
fn each_wrong_case_says_what_to_change() {
    let gone = ModelServer::start(WireFormat::Chat, []).base();
    let no_list = |path: &str, status: u16, kind: &str, body: &str| {
        ModelServer::start(WireFormat::Chat, []).with_answer(path, status, kind, body)
    };
    let page = no_list("/v1/models", 200, "text/html", "<html><body>Welcome</body></html>");
    let key = no_list("/v1/models", 401, "application/json", r#"{"error":"no key"}"#);
    let path = no_list("/api/models", 404, "text/plain", "not found");
    let has = ModelServer::start(WireFormat::Chat, []).with_models(["a", "b"]);
    for (base, model, expect) in [
        (gone, None, "start the server there, correct HOLON_BASE_URL"),
        (page.base(), None, "set HOLON_BASE_URL to the address of a model server"),
        (key.base(), None, "wants a key: set HOLON_API_KEY"),
        (path.base().replace("/v1", "/api"), None, "set HOLON_BASE_URL to http://127.0.0.1:"),
        (has.base(), Some("c"), "does not have `c`: it has a, b"),
    ] {
        let error = at(&base, model, None).unwrap_err();
        assert!(error.message.contains(expect), "{base}: {error}");
        assert_eq!(error.message.lines().count(), 1, "{error}");
    }
    for (script, expect) in [
        (
            ScriptedResponse::json(404, r#"{"error":{"message":"model 'm' not found"}}"#),
            "model 'm' not found",
        ),
        (
            ScriptedResponse::json(401, r#"{"error":{"message":"Invalid API key"}}"#),
            "the credentials are missing or not accepted",
        ),
        (
            ScriptedResponse::raw(
                200,
                "text/html",
                vec![holon_testkit::model::BodyPiece::Bytes(b"<html>hi</html>".to_vec())],
            ),
            "answers with a web page",
        ),
    ] {
        let error = tried(&ModelServer::start(WireFormat::Chat, [script]), ServerKind::LlamaCpp).unwrap_err();
        assert!(error.to_string().contains(expect), "{error}");
    }
}
