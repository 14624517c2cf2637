//! Decisions, as a table of worlds and wishes.
#![allow(clippy::unwrap_used)]

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::*;
use crate::ability::DeclaredAbilities;
use crate::catalogue::Catalogue;
use crate::detect::{LocalServer, UnlistedReason};
use crate::wire::WireFormat;

/// A world in words: `A=b` sets a variable, `ollama: x, y` is a server with models, `x can tools` is what it says.
#[derive(Default)]
struct ChoiceWorld {
    variables: BTreeMap<String, String>,
    servers: Vec<LocalServer>,
    told: BTreeMap<String, DeclaredAbilities>,
    looked: RefCell<Vec<&'static str>>,
}

impl ChoiceWorld {
    fn new(lines: &[&str]) -> Self {
        let mut world = Self::default();
        for line in lines {
            if let Some((model, abilities)) = line.split_once(" can ") {
                let can = |name: &str| abilities.split(' ').any(|ability| ability == name);
                let told = DeclaredAbilities {
                    tools: Some(can("tools")),
                    thinks: Some(can("think")),
                    ..DeclaredAbilities::default()
                };
                world.told.insert(model.to_owned(), told);
            } else if let Some((name, models)) = line.split_once(": ") {
                let port = crate::detect::DEFAULT_PORTS.iter().find(|(server, _)| *server == name).unwrap().1;
                let endpoint = Endpoint::compatible(name, &format!("http://127.0.0.1:{port}/v1"), None);
                let models =
                    models.split(", ").filter(|model| !model.is_empty()).map(str::to_owned).collect();
                world.servers.push(LocalServer { endpoint, models });
            } else {
                let (name, value) = line.split_once('=').unwrap();
                world.variables.insert(name.to_owned(), value.to_owned());
            }
        }
        world
    }
}

impl ChoiceEnvironment for ChoiceWorld {
    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }

    fn servers(&self) -> Vec<LocalServer> {
        self.looked.borrow_mut().push("servers");
        self.servers.clone()
    }

    fn server_at(&self, endpoint: &Endpoint) -> Result<LocalServer, UnlistedReason> {
        let port = endpoint.local_port().ok_or(UnlistedReason::Down)?;
        let mut servers = self.servers.iter();
        servers.find(|server| server.endpoint.local_port() == Some(port)).cloned().ok_or(UnlistedReason::Down)
    }

    fn abilities(&self, _: &Endpoint, model: &str) -> ModelAbilities {
        ModelAbilities { told: self.told.get(model).cloned().unwrap_or_default(), tested: None }
    }

    fn row(&self, _: &Endpoint, _: &str) -> Option<ModelRow> {
        None
    }

    fn catalogue(&self, endpoint: &Endpoint) -> Catalogue {
        self.looked.borrow_mut().push("rows");
        Catalogue::of_table(&endpoint.name)
    }
}

const OR: &str = "OPENROUTER_API_KEY=k-or";
const AN: &str = "ANTHROPIC_API_KEY=k-an";
const OA: &str = "OPENAI_API_KEY=k-oa";

/// Flags as in `--provider x --model y --base-url z`.
fn ask(world: &ChoiceWorld, flags: &str) -> Result<ChosenEndpoint, ModelError> {
    let words: Vec<&str> = flags.split_whitespace().collect();
    let flag = |name: &str| words.iter().position(|word| *word == name).map(|at| words[at + 1]);
    let wish = EndpointPreferences {
        provider: flag("--provider"),
        model: flag("--model"),
        base_url: flag("--base-url"),
        tools: match flag("--tools") {
            Some("native") => ToolMode::Native,
            Some("text") => ToolMode::Text,
            _ => ToolMode::Auto,
        },
        ..EndpointPreferences::default()
    };
    resolve_endpoint(&wish, world)
}

/// The answer in one line: where, which model, and whether tools are called in words.
fn told(world: &[&str], flags: &str) -> String {
    match ask(&ChoiceWorld::new(world), flags) {
        Ok(chosen) => {
            let tools = if chosen.tools == ToolCalls::Native { "" } else { " (in words)" };
            format!("{} {}{tools}", chosen.endpoint.name, chosen.model)
        }
        Err(error) => format!("error: {}", error.message),
    }
}

#[test]
fn what_is_named_is_asked() {
    for (world, flags, expect) in [
        (
            &[OR, AN][..],
            "--provider anthropic --model anthropic/claude-sonnet-5.5",
            "anthropic claude-sonnet-5-5",
        ),
        (
            &[OR, AN],
            "--provider openrouter --model claude-sonnet-5-5",
            "openrouter anthropic/claude-sonnet-5.5",
        ),
        (&[OA], "--provider OpenAI --model openai/gpt-6.1-sol", "openai gpt-6.1-sol"),
        (&[OR, AN], "--model anthropic/claude-opus-5.5", "openrouter anthropic/claude-opus-5.5"),
        (&[AN], "--model anthropic/claude-opus-5.5", "anthropic claude-opus-5-5"),
        (&[OA], "--model openai/gpt-4.1-mini", "openai gpt-4.1-mini"),
        (&[OR, AN], "--model claude-opus-5-5", "anthropic claude-opus-5-5"),
        (&[OR], "--model claude-opus-5-5", "openrouter anthropic/claude-opus-5.5"),
        (&[OR, OA], "--model gpt-6-luna", "openai gpt-6-luna"),
        (&[OR], "--model google/gemini-3.8-flash", "openrouter google/gemini-3.8-flash"),
        (&[OR], "--model openrouter/auto", "openrouter openrouter/auto"),
        (&[OR, AN], "--model openrouter/anthropic/claude-x", "openrouter anthropic/claude-x"),
        (&[OR, AN], "--model anthropic:claude-x", "anthropic claude-x"),
        (&[OA], "--model ft:gpt-4o:me", "openai ft:gpt-4o:me"),
        (&[OR, "HOLON_MODEL=claude-x-1"], "", "openrouter anthropic/claude-x-1"),
        (&[OR, AN, "HOLON_PROVIDER=anthropic"], "--model claude-x", "anthropic claude-x"),
        (
            &[OR, AN, "HOLON_PROVIDER=openrouter"],
            "--provider anthropic --model claude-x",
            "anthropic claude-x",
        ),
    ] {
        assert_eq!(told(world, flags), expect, "{world:?} {flags}");
    }
}

#[test]
fn without_a_name_the_first_key_decides_and_the_catalogue_chooses() {
    let of = |world: &[&str]| told(world, "").split(' ').next().unwrap().to_owned();
    assert_eq!(of(&[OR, AN, OA]), "openrouter");
    assert_eq!(of(&[AN, OA]), "anthropic");
    assert_eq!(of(&[OA, "ollama: qwen3:8b"]), "openai");
    assert_eq!(of(&["OPENROUTER_API_KEY=  ", AN]), "anthropic");
    let chosen = ask(&ChoiceWorld::new(&[AN]), "").unwrap();
    assert!(
        chosen.why.starts_with("anthropic has a key in ANTHROPIC_API_KEY; the model is the highest score of")
    );
    assert!(chosen.row.is_some());
    assert_eq!(chosen.endpoint.wire, WireFormat::Messages);
}

#[test]
fn servers_on_this_machine() {
    for (world, flags, expect) in [
        (&["ollama: nomic-embed-text, llama3.2:3b, qwen3:8b"][..], "", "ollama qwen3:8b"),
        (&["ollama: ", "llama.cpp: gpt-oss-20b.gguf"], "", "llama.cpp gpt-oss-20b.gguf"),
        (
            &["ollama: qwen3:8b", "lm-studio: qwen/qwen3-4b"],
            "--provider lm-studio",
            "lm-studio qwen/qwen3-4b",
        ),
        (
            &["ollama: qwen3:8b", "lm-studio: qwen/qwen3-4b"],
            "--model qwen/qwen3-4b",
            "lm-studio qwen/qwen3-4b",
        ),
        (&["ollama: qwen3:latest"], "--model qwen3", "ollama qwen3:latest"),
        (&[OR, "ollama: qwen3:8b"], "--model qwen3:8b", "ollama qwen3:8b"),
        (&[OR, "ollama: qwen3:8b"], "--model ollama/qwen3:8b", "ollama qwen3:8b"),
        (&[OR, "ollama: qwen3:8b"], "--provider local", "ollama qwen3:8b"),
        // What the server says counts more than the name, and the name more than nothing.
        (&["ollama: qwen3:8b", "qwen3:8b can talk"], "", "ollama qwen3:8b (in words)"),
        (&["ollama: gemma3:4b", "gemma3:4b can tools"], "", "ollama gemma3:4b"),
        (&["ollama: gemma3:4b"], "", "ollama gemma3:4b (in words)"),
        (&["lm-studio: my-own"], "", "lm-studio my-own (in words)"),
        (&["vllm: Qwen/Qwen3-8B"], "", "vllm Qwen/Qwen3-8B (in words)"),
        (&["vllm: Qwen/Qwen3-8B"], "--tools native", "vllm Qwen/Qwen3-8B"),
        (&["ollama: qwen3:8b"], "--tools text", "ollama qwen3:8b (in words)"),
        (
            &[OR],
            "--model anthropic/claude-opus-5.5 --tools text",
            "openrouter anthropic/claude-opus-5.5 (in words)",
        ),
    ] {
        assert_eq!(told(world, flags), expect, "{world:?} {flags}");
    }
    let thinking =
        ask(&ChoiceWorld::new(&["ollama: deepseek-r1:8b", "deepseek-r1:8b can think"]), "").unwrap();
    assert_eq!(thinking.tools, ToolCalls::Text { constrain: false });
    assert!(thinking.why.contains("the server says that it calls no tools"), "{}", thinking.why);
}

#[test]
fn a_base_url_is_where_it_goes() {
    for (world, flags, expect) in [
        (&[OR][..], "--base-url http://localhost:9/v1 --model mine", "localhost mine (in words)"),
        (&["HOLON_BASE_URL=https://models.example/v1"], "--model some/thing", "models.example some/thing"),
        (&[OA, "OPENAI_BASE_URL=https://api.openai.com/v1"], "--model gpt-x", "openai gpt-x"),
        (&[OA, OR, "OPENAI_BASE_URL=https://proxy.example/v1"], "--model gpt-x", "proxy.example gpt-x"),
        (
            &[OA, OR, "OPENAI_BASE_URL=https://p.example/v1"],
            "--provider openrouter --model a/b",
            "openrouter a/b",
        ),
        (&["HOLON_BASE_URL=http://localhost:11434", "ollama: llama3.1:8b"], "", "localhost llama3.1:8b"),
        (&["OLLAMA_HOST=0.0.0.0", "ollama: qwen3:8b"], "--provider ollama", "ollama qwen3:8b"),
    ] {
        assert_eq!(told(world, flags), expect, "{world:?} {flags}");
    }
    let world =
        ChoiceWorld::new(&[OR, "HOLON_PROVIDER=openrouter", "HOLON_BASE_URL=https://mirror.example/api/v1"]);
    let mirrored = ask(&world, "--model a/b").unwrap();
    assert_eq!(mirrored.endpoint.url(), "https://mirror.example/api/v1/chat/completions");
}

#[test]
fn the_wire_of_a_server_is_what_is_said() {
    let url = |world: &[&str], flags: &str| {
        let chosen = ask(&ChoiceWorld::new(world), flags).unwrap();
        (chosen.endpoint.url(), chosen.tools == ToolCalls::Native)
    };
    let base = "HOLON_BASE_URL=http://localhost:9";
    for (wire, path, native) in [
        ("chat", "chat/completions", false),
        ("Responses", "responses", true),
        ("messages", "messages", true),
    ] {
        let wire = format!("HOLON_WIRE={wire}");
        let expect = |native| (format!("http://localhost:9/v1/{path}"), native);
        assert_eq!(url(&[base, &wire], "--model mine"), expect(native));
        // What is known about the model, and what is said about tools, counts more.
        assert_eq!(url(&[base, &wire], "--model gemma3:4b"), expect(false));
        assert_eq!(url(&[base, &wire, "HOLON_TOOLS=native"], "--model gemma3:4b"), expect(true));
        assert_eq!(url(&[base, &wire, "HOLON_TOOLS=text"], "--model mine"), expect(false));
        // Somebody who stands in for a provider may speak another wire too.
        let standing_in = url(&[base, &wire, OA, "HOLON_PROVIDER=openai"], "--model gpt-x").0;
        assert_eq!(standing_in, expect(true).0);
        let local = url(&["ollama: qwen3:8b", &wire], "").0;
        assert_eq!(local, format!("http://127.0.0.1:11434/v1/{path}"));
        let flagged = url(&["ollama: qwen3:8b", base, &wire], "--provider ollama").0;
        assert_eq!(flagged, "http://127.0.0.1:11434/v1/chat/completions", "the wire is the other server's");
        // A provider without a URL of its own speaks what it speaks.
        assert_eq!(url(&[AN, &wire], "--model claude-x").0, "https://api.anthropic.com/v1/messages");
    }
    let chosen =
        ask(&ChoiceWorld::new(&[base, "HOLON_WIRE=messages", "HOLON_API_KEY=k-h"]), "--model m").unwrap();
    let headers = chosen.endpoint.request_headers();
    assert!(headers.contains(&("x-api-key".to_owned(), "k-h".to_owned())), "{headers:?}");
    for (variable, words) in [
        ("HOLON_WIRE=grpc", "HOLON_WIRE is `grpc`: it must be chat, responses or messages"),
        ("HOLON_TOOLS=yes", "HOLON_TOOLS is `yes`: it must be auto, native or text"),
    ] {
        assert_eq!(told(&[base, variable], "--model m"), format!("error: {words}"));
    }
}

#[test]
fn a_configured_server_is_for_whoever_names_no_other() {
    let configured = ConfiguredServer {
        base_url: Some("http://localhost:9/v1".into()),
        wire: Some("messages".into()),
        tools: Some("text".into()),
    };
    let at = |world: &[&str], provider: Option<&str>| {
        let wish = EndpointPreferences {
            provider,
            model: Some("claude-x"),
            configured: Some(&configured),
            ..EndpointPreferences::default()
        };
        let chosen = resolve_endpoint(&wish, &ChoiceWorld::new(world)).unwrap();
        let key = chosen.endpoint.key.as_ref().map(|key| key.expose().to_owned()).unwrap_or_default();
        format!("{} {key} {}", chosen.endpoint.url(), chosen.tools == ToolCalls::Native)
    };
    assert_eq!(at(&[AN], None), "http://localhost:9/v1/messages  false", "no key goes there by itself");
    assert_eq!(at(&["HOLON_API_KEY=k-h"], Some("mine")), "http://localhost:9/v1/messages  false");
    assert_eq!(at(&["HOLON_API_KEY=k-h"], None), "http://localhost:9/v1/messages k-h false");
    // Variables beat a file; a wire belongs to the URL it is said with.
    let wire = &["HOLON_WIRE=chat", "HOLON_TOOLS=native"];
    assert_eq!(at(wire, None), "http://localhost:9/v1/chat/completions  true");
    assert_eq!(
        at(&["HOLON_BASE_URL=http://localhost:8/v1"], None),
        "http://localhost:8/v1/chat/completions  false"
    );
    // Nobody's key goes to a server that was configured for others.
    assert!(at(&[AN], Some("anthropic")).starts_with("https://api.anthropic.com/v1/messages k-an"));
    assert!(at(&[AN, "HOLON_PROVIDER=anthropic"], None).starts_with("https://api.anthropic.com/"));
}

#[test]
fn a_key_goes_only_where_it_belongs() {
    let key = |world: &[&str], flags: &str| {
        let chosen = ask(&ChoiceWorld::new(world), flags).unwrap();
        chosen.endpoint.key.map(|key| key.expose().to_owned())
    };
    let keys = [OR, AN, OA];
    assert_eq!(key(&keys, "--base-url https://elsewhere.example/v1 --model x"), None);
    assert_eq!(
        key(&[OA, "HOLON_API_KEY=k-h"], "--base-url https://e.example --model x").as_deref(),
        Some("k-h")
    );
    assert_eq!(key(&[OA, "OPENAI_BASE_URL=https://e.example/v1"], "--model x").as_deref(), Some("k-oa"));
    assert_eq!(key(&[OR, OA, "ollama: qwen3:8b"], "--provider ollama"), None);
    // A URL in the environment is not for the provider of a flag, unless they belong together.
    let base = |world: &[&str], flags: &str| ask(&ChoiceWorld::new(world), flags).unwrap().endpoint.base;
    let env = [OR, AN, "HOLON_BASE_URL=https://e.example/v1"];
    assert_eq!(base(&env, "--provider anthropic --model claude-x"), "https://api.anthropic.com/v1");
    assert_eq!(base(&env, "--model anthropic:claude-x"), "https://api.anthropic.com/v1");
    assert_eq!(base(&env, "--provider mine --model x"), "https://e.example/v1");
    let pair = [AN, "HOLON_PROVIDER=anthropic", "HOLON_BASE_URL=https://e.example/v1"];
    assert_eq!(base(&pair, "--provider anthropic --model claude-x"), "https://e.example/v1");
    let open = ask(&ChoiceWorld::new(&[OA, "OPENAI_BASE_URL=http://e.example/v1"]), "--model x").unwrap_err();
    assert!(open.message.contains("not encrypted"), "{}", open.message);
}

#[test]
fn an_error_says_what_to_do() {
    for (world, flags, words) in [
        (&[][..], "", &["set OPENROUTER_API_KEY", "ollama on 11434", "HOLON_BASE_URL"][..]),
        (
            &[],
            "--model anthropic/claude-opus-5.5",
            &["OPENROUTER_API_KEY", "ANTHROPIC_API_KEY to ask anthropic itself"],
        ),
        (&[], "--model gpt-6-luna", &["OPENROUTER_API_KEY", "OPENAI_API_KEY"]),
        (&[AN], "--model google/gemini-3.8-flash", &["set OPENROUTER_API_KEY"]),
        (&[OR], "--model qwen3:8b", &["no server on this machine has `qwen3:8b`", "maker/model"]),
        (&[OR], "--provider anthropic", &["set ANTHROPIC_API_KEY"]),
        (
            &[AN],
            "--provider anthropic --model openai/gpt-6-luna",
            &["anthropic does not offer `openai/gpt-6-luna`"],
        ),
        (
            &[],
            "--provider anthropc",
            &["unknown provider `anthropc` (did you mean `anthropic`?)", "lm-studio"],
        ),
        (&[], "--provider ollama", &["ollama does not answer on port 11434", "ollama serve"]),
        (&["ollama: "], "", &["ollama answers at http://127.0.0.1:11434/v1 but has no model", "ollama pull"]),
        (
            &["ollama: a, b"],
            "--provider ollama --model c",
            &["does not have `c`: it has a, b", "ollama pull c"],
        ),
        (&[], "--base-url https://far.example/v1", &["name one with --model"]),
        (
            &[],
            "--base-url http://localhost:9/v1",
            &["nobody lists models at http://localhost:9/v1: start the server"],
        ),
        (&[], "--base-url nonsense --model x", &["`nonsense` is no base URL"]),
        (
            &[OR],
            "--provider openrouter --model ollama/x",
            &["the provider is openrouter, but the model `ollama/x`"],
        ),
    ] {
        let told = told(world, flags);
        assert!(told.starts_with("error: "), "{flags}: {told}");
        for word in words {
            assert!(told.contains(word), "{flags}: {told} lacks {word}");
        }
    }
}

#[test]
fn nobody_is_looked_for_when_the_answer_is_known() {
    for (world, flags) in [
        (&[OR][..], "--model anthropic/claude-opus-5.5"),
        (&[AN], "--model claude-x"),
        (&[AN], "--provider anthropic --model claude-x"),
        (&[OA], "--base-url https://e.example/v1 --model x"),
    ] {
        let world = ChoiceWorld::new(world);
        ask(&world, flags).unwrap();
        assert!(world.looked.borrow().is_empty(), "{flags}: {:?}", world.looked.borrow());
    }
}

#[test]
fn what_must_stay_here_stays_here() {
    let world = ChoiceWorld::new(&[OR, AN, "ollama: qwen3:8b"]);
    let constraints = ModelConstraints { data: DataPolicy::Local, ..ModelConstraints::default() };
    let chosen =
        resolve_endpoint(&EndpointPreferences { constraints, ..EndpointPreferences::default() }, &world)
            .unwrap();
    assert_eq!(chosen.endpoint.name, "ollama");
    let constraints = ModelConstraints { data: DataPolicy::Local, ..ModelConstraints::default() };
    let named = EndpointPreferences {
        model: Some("anthropic/claude-opus-5.5"),
        constraints,
        ..EndpointPreferences::default()
    };
    let refused = resolve_endpoint(&named, &world).unwrap_err();
    assert!(refused.message.contains("nothing may leave this machine"), "{refused}");
    let constraints = ModelConstraints { data: DataPolicy::NoTraining, ..ModelConstraints::default() };
    let chosen =
        resolve_endpoint(&EndpointPreferences { constraints, ..EndpointPreferences::default() }, &world)
            .unwrap();
    assert_eq!(chosen.endpoint.extra["provider"]["data_collection"], "deny");
}
