//! A repository, a real agent, and a model that does what the test says.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use holon_model::cassette::{CassetteCall, CassetteStep, CassetteTurn};
use holon_testkit::model::{ModelServer, ReceivedRequest, ScriptedResponse, StreamSplit};
use holon_testkit::{Invocation, TestEnv, TestWorkspace, current_test, skip_security};
use serde_json::{Value, json};

const BIN: &str = env!("CARGO_BIN_EXE_holon");
/// What the host knows and nobody inside may see.
pub(crate) const KEY: &str = "sk-real-key-0123456789abcdefghij";
pub(crate) const LAST_WORDS: &str = "I looked around, did what was asked and checked it.";
pub(crate) const PLAN: &str = "# Plan\n\n## Goal\nAdd a file.\n\n## Context\n`a.txt` is there.\n\n## Steps\n1. Add `b.txt`.\n\n\
                               ## Risks\nNone.\n\n## Verification\n`test -f b.txt`\n";
pub(crate) const ALL: [&str; 3] = ["claude-code", "codex", "opencode"];

/// What the model wants done.
#[derive(Debug, Clone)]
pub(crate) enum ScriptedToolCall {
    Shell(String),
}

/// How each agent is told to do it.
pub(crate) fn call(agent: &str, deed: &ScriptedToolCall) -> CassetteCall {
    let ScriptedToolCall::Shell(command) = deed;
    let (name, arguments) = match agent {
        "claude-code" => ("Bash", json!({"command": command, "description": "x"})),
        "codex" => ("exec_command", json!({"cmd": command})),
        "opencode" => ("bash", json!({"command": command, "description": "x"})),
        "gemini" => ("run_shell_command", json!({"command": command, "description": "x"})),
        "goose" => ("shell", json!({"command": command})),
        "qwen" => {
            ("run_shell_command", json!({"command": command, "is_background": false, "description": "x"}))
        }
        _ => ("execute", json!({"command": command})),
    };
    CassetteCall { name: name.into(), arguments: arguments.to_string(), ..CassetteCall::default() }
}

/// What the model says: calls one after the other, then the last words.
#[derive(Debug, Clone)]
pub(crate) struct ModelPart {
    pub deeds: Vec<ScriptedToolCall>,
    pub last: CassetteTurn,
}

impl ModelPart {
    pub(crate) fn new(shell: &[&str], last: &str) -> Self {
        let deeds = shell.iter().map(|command| ScriptedToolCall::Shell((*command).to_owned())).collect();
        Self { deeds, last: CassetteTurn::text(last) }
    }
}

pub(crate) struct RealAgentStage {
    pub env: TestEnv,
    pub repo: TestWorkspace,
    pub server: ModelServer,
    pub seen: Arc<Mutex<Vec<ReceivedRequest>>>,
    /// What `--agent` gets.
    pub agent: String,
    /// The real one behind it.
    family: String,
}

/// The folder with real agents, if this one is there.
fn agents(agent: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("HOLON_AGENTS_DIR").map(PathBuf::from)?;
    (agent == "native" || folder.join(agent).join("node_modules").is_dir()).then_some(folder)
}

/// Whether an agent is there that the tests do without where it is not.
pub(crate) fn is_installed(agent: &str) -> bool {
    agents(agent).is_some()
}

impl RealAgentStage {
    /// A stage with a repository of one file; nothing when the agent is not installed.
    pub(crate) fn set(agent: &str, part: ModelPart) -> Option<Self> {
        let name = agent.to_owned();
        Self::with(agent, move |round, _| match part.deeds.get(round) {
            Some(deed) => {
                CassetteTurn { steps: vec![CassetteStep::Call(call(&name, deed))], ..CassetteTurn::default() }
                    .into()
            }
            None => part.last.clone().into(),
        })
    }

    /// The same with a function that answers: it gets the number of the round, from 0.
    pub(crate) fn with(
        agent: &str,
        answer: impl Fn(usize, &ReceivedRequest) -> ScriptedResponse + Send + Sync + 'static,
    ) -> Option<Self> {
        if agents(agent).is_none() {
            skip_security(
                &current_test(),
                &format!("{agent} is not installed; see `cargo xtask setup agents`"),
            );
            return None;
        }
        let env = TestEnv::new(BIN);
        let repo = env.repo().file("a.txt", "one\n").file("src/lib.rs", "fn main() {}\n").commit("first");
        let seen: Arc<Mutex<Vec<ReceivedRequest>>> = Arc::default();
        let (own, rounds) = (Arc::clone(&seen), Mutex::new(0));
        let server = ModelServer::improvise(move |_, asked| {
            own.lock().unwrap().push(asked.clone());
            let tools = asked.body["tools"].as_array().map_or(0, Vec::len);
            if tools == 0 {
                return ScriptedResponse::from(CassetteTurn::text("Title"));
            }
            let mut rounds = rounds.lock().unwrap();
            *rounds += 1;
            answer(*rounds - 1, asked).named(format!("msg_{rounds}")).split(StreamSplit::Whole)
        });
        Some(Self { env, repo, server, seen, agent: agent.to_owned(), family: agent.to_owned() })
    }

    /// `holon run` with the agent, the model and the key of nobody.
    pub(crate) fn run(&self, mode: &str, args: &[&str]) -> Invocation {
        // Claude Code's wire is passed through, opencode's too, and Codex's is translated.
        let (provider, key) = match self.family.as_str() {
            "claude-code" => ("anthropic", "ANTHROPIC_API_KEY"),
            _ => ("openai", "OPENAI_API_KEY"),
        };
        let invocation = self.env.holon([
            "run",
            "--mode",
            mode,
            "--agent",
            &self.agent,
            "--goal",
            "Add b.txt",
            "--out",
            "../out",
        ]);
        invocation
            .args(["--no-auto-checks", "--json"])
            .args(args)
            .cwd(self.repo.path())
            .env("HOLON_AGENTS_DIR", agents(&self.family).unwrap())
            .env("HOLON_BASE_URL", self.server.base())
            .env("HOLON_PROVIDER", provider)
            .env(key, KEY)
    }

    /// The manifest that was copied out.
    pub(crate) fn manifest(&self) -> Value {
        serde_json::from_str(&self.out("manifest.json")).unwrap()
    }

    /// A file that was copied out.
    pub(crate) fn out(&self, name: &str) -> String {
        let path = self.env.work().join("out").join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Everything the model was sent, as text.
    pub(crate) fn asked(&self) -> String {
        self.seen.lock().unwrap().iter().map(|seen| seen.body.to_string()).collect::<Vec<_>>().join("\n")
    }
}
