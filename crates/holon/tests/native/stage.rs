//! What the scenes share: a call of `holon run`, whom it asks, and what it left.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holon_host::recording::SupervisorRecording;
use holon_model::WireFormat;
use holon_testkit::model::{ModelServer, ReceivedRequest};
use holon_testkit::{CommandEnd, Invocation, TestEnv, TestWorkspace};
use serde_json::Value;

pub(crate) const BIN: &str = env!("CARGO_BIN_EXE_holon");

/// In the shape of a real key, and nobody's.
pub(crate) const KEY: &str = "sk-or-v1-c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00";

/// A provider that is played by a server on loopback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlayedProvider {
    OpenRouter,
    Anthropic,
    /// Whoever stands in for OpenAI; what OpenAI itself speaks is never spoken on loopback.
    OpenAi,
    /// Any server that is named by its URL alone.
    Compatible,
}

impl PlayedProvider {
    pub(crate) const ALL: [Self; 4] = [Self::OpenRouter, Self::Anthropic, Self::OpenAi, Self::Compatible];

    pub(crate) fn wire(self) -> WireFormat {
        if self == Self::Anthropic { WireFormat::Messages } else { WireFormat::Chat }
    }

    pub(crate) fn key_variable(self) -> &'static str {
        match self {
            Self::OpenRouter => "OPENROUTER_API_KEY",
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::OpenAi => "OPENAI_API_KEY",
            Self::Compatible => "HOLON_API_KEY",
        }
    }

    /// Variables for a base URL, without the key.
    pub(crate) fn variables(self, base: &str) -> Vec<(&'static str, String)> {
        let own = |provider: &str, model: &str| {
            let text = str::to_owned;
            vec![
                ("HOLON_PROVIDER", text(provider)),
                ("HOLON_BASE_URL", text(base)),
                ("HOLON_MODEL", text(model)),
            ]
        };
        match self {
            Self::OpenRouter => own("openrouter", "anthropic/claude-sonnet-5.5"),
            Self::Anthropic => own("anthropic", "claude-sonnet-5-5"),
            Self::OpenAi => {
                vec![
                    ("OPENAI_BASE_URL", base.to_owned()),
                    ("HOLON_MODEL", "gpt-6-luna".to_owned()),
                    ("HOLON_PROVIDER", "openai".to_owned()),
                ]
            }
            Self::Compatible => vec![("HOLON_BASE_URL", base.to_owned())],
        }
    }
}

/// `holon run` in a mode, with its artifacts in [`out`].
pub(crate) fn run(env: &TestEnv, repo: &TestWorkspace, mode: &str, more: &[&str]) -> Invocation {
    let call = env.holon(["run", "--mode", mode, "--goal", "Do it", "--out"]).arg(out(env)).args(more);
    call.cwd(repo.path()).timeout(Duration::from_secs(60))
}

/// The same with a server as its model, and a key.
pub(crate) fn asking(call: Invocation, who: PlayedProvider, server: &ModelServer) -> Invocation {
    named(call, who, &server.base()).env(who.key_variable(), KEY)
}

/// The same with a URL as its model, and no key.
pub(crate) fn named(call: Invocation, who: PlayedProvider, base: &str) -> Invocation {
    who.variables(base).into_iter().fold(call, |call, (name, value)| call.env(name, value))
}

/// A run whose model is a cassette.
pub(crate) fn play(
    env: &TestEnv,
    repo: &TestWorkspace,
    mode: &str,
    cassette: &str,
    more: &[&str],
) -> CommandEnd {
    let file = env.write("work/cassette.yaml", cassette);
    run(env, repo, mode, more).arg("--replay").arg(file).run()
}

pub(crate) fn out(env: &TestEnv) -> PathBuf {
    env.work().join("out")
}

/// A file of the run's output.
#[track_caller]
pub(crate) fn artifact(env: &TestEnv, name: &str) -> String {
    let path = out(env).join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[track_caller]
pub(crate) fn json(env: &TestEnv, name: &str) -> Value {
    serde_json::from_str(&artifact(env, name)).expect("JSON")
}

/// The manifest of a run that must have ended with this code.
#[track_caller]
pub(crate) fn ended(env: &TestEnv, output: &CommandEnd, code: i32) -> Value {
    output.assert_code(code);
    let manifest = output.manifest(out(env));
    assert_eq!(manifest["exit_code"], code, "{manifest:#}");
    inv_09_decisions_replay(env);
    manifest
}

/// Whatever a run was about: what its supervisor decided follows from what was stored, byte for byte.
#[track_caller]
fn inv_09_decisions_replay(env: &TestEnv) {
    for run in env.runs() {
        let events = run.join("evidence/events.jsonl");
        let stored = fs::read_to_string(&events).unwrap_or_default();
        if stored.contains("\"supervised\"") {
            let recording = SupervisorRecording::read(&events).expect("a supervised run");
            recording.verify().unwrap_or_else(|difference| panic!("{}: {difference}", run.display()));
        }
    }
}

/// The folder in the store of the run whose artifacts are in [`out`].
#[track_caller]
pub(crate) fn stored(env: &TestEnv) -> PathBuf {
    let manifest = json(env, "manifest.json");
    let id = manifest["run_id"].as_str().expect("an id");
    env.runs().into_iter().find(|folder| folder.ends_with(id)).expect("the run is in the store")
}

/// The questions a server got; an Ollama would also be asked about its model.
pub(crate) fn questions(server: &ModelServer) -> Vec<ReceivedRequest> {
    let mut all = server.requests();
    all.retain(|seen| !seen.path.starts_with("/api/"));
    all
}

/// The events of the run in [`out`], to the last.
#[track_caller]
pub(crate) fn events(env: &TestEnv) -> Vec<Value> {
    let text = fs::read_to_string(stored(env).join("evidence/events.jsonl")).expect("events");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Those of one type.
pub(crate) fn of_type<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

/// A repository with one file, `a.txt`, that says `one`.
pub(crate) fn repo(env: &TestEnv) -> TestWorkspace {
    env.repo().file("a.txt", "one\n").commit("first")
}

/// Every file below a folder with its content.
pub(crate) fn files_below(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut folders = vec![folder.to_owned()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(kind) if kind.is_file() => found.push((path.clone(), fs::read(&path).unwrap_or_default())),
                _ => {}
            }
        }
    }
    found
}

/// Turns that change `a.txt` and say so.
pub(crate) const EDIT: &str = "
- text: Let me see.
  tools:
    - read_file: { path: a.txt }
    - ls: {}
- reply: [{ reasoning: hm }, { text: I will change it. }, { tool: edit_file, args: { path: a.txt, old: one, new: two } }]
  usage: { input: 1000, output: 50 }
- tool: finish
  args: { summary: The file says two now. }
";
