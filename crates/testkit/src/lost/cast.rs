//! Who plays a script: the native agent, or a real client whose tools are other ones.

use std::path::{Path, PathBuf};

use holon_model::cassette::{CassetteCall, CassetteStep, CassetteTurn};
use serde_json::{Value, json};

use super::script::{AgentScript, turns};
use crate::Invocation;
use crate::model::ReceivedRequest;

/// The workspace as whoever works inside sees it.
const WORKSPACE: &str = "/holon/workspace";
/// What a chat asks a model beside the conversation.
const TITLE: &str = "Give this conversation a title";
/// Replaces a passage of a file, once.
const EDIT: &str = "import sys; p, old, new = sys.argv[1:]; text = open(p).read(); assert old in text; open(p, 'w').write(text.replace(old, new, 1))";
/// Tools of scripts that every client can be asked for.
const TOOLS: [&str; 8] =
    ["execute", "read_file", "write_file", "edit_file", "ls", "grep", "write_todos", "finish"];
const KEY: &str = "key-of-nobody-0123456789";

/// Who plays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cast {
    /// Holon's own agent, in a run of its own, which a call ends.
    Native,
    /// The same in a turn of a chat, which words end.
    Chat,
    /// A real client, by its name, from the folder that `HOLON_AGENTS_DIR` names.
    Client {
        /// What `--agent` gets.
        name: String,
        /// Where it is installed.
        folder: PathBuf,
    },
}

impl Cast {
    /// A client; nothing when it is not installed.
    pub fn client(name: &str) -> Option<Self> {
        let folder = std::env::var_os("HOLON_AGENTS_DIR").map(PathBuf::from)?;
        let there = folder.join(name).join("node_modules").is_dir();
        there.then(|| Self::Client { name: name.to_owned(), folder })
    }

    /// Whether it has what a script asks for.
    pub fn can_play(&self, script: &AgentScript) -> bool {
        let parts = [&script.opening, &script.circle, &script.repair];
        let steps =
            parts.into_iter().flat_map(|part| turns(part, 1).unwrap_or_default()).flat_map(|turn| turn.steps);
        let known = |step: &CassetteStep| match step {
            CassetteStep::Call(call) => TOOLS.contains(&call.name.as_str()),
            _ => true,
        };
        !matches!(self, Self::Client { .. }) || steps.into_iter().all(|step| known(&step))
    }

    /// A run of it with a model at this address.
    pub(super) fn dressed(&self, run: Invocation, base: &str) -> Invocation {
        let run = run.env("HOLON_BASE_URL", base);
        match self {
            Self::Native | Self::Chat => run
                .env("HOLON_PROVIDER", "openrouter")
                .env("HOLON_MODEL", "anthropic/claude-sonnet-4.5")
                .env("OPENROUTER_API_KEY", KEY),
            Self::Client { name, folder } => {
                let (provider, key) = match name.as_str() {
                    "claude-code" => ("anthropic", "ANTHROPIC_API_KEY"),
                    _ => ("openai", "OPENAI_API_KEY"),
                };
                run.args(["--agent", name])
                    .env("HOLON_AGENTS_DIR", folder as &Path)
                    .env("HOLON_PROVIDER", provider)
                    .env(key, KEY)
            }
        }
    }

    /// Whether a request is the conversation, and not about it.
    pub(super) fn is_conversation(&self, seen: &ReceivedRequest) -> bool {
        match self {
            Self::Native => true,
            Self::Chat => !seen.body.to_string().contains(TITLE),
            Self::Client { .. } => seen.body["tools"].as_array().is_some_and(|tools| !tools.is_empty()),
        }
    }

    /// A turn of a script with this client's tools; being done is said in words.
    pub(super) fn turn(&self, turn: CassetteTurn, seen: &ReceivedRequest) -> CassetteTurn {
        let name = match self {
            Self::Native => return turn,
            Self::Chat => {
                return turn.steps.iter().find_map(summary).map_or(turn, |text| CassetteTurn::text(&text));
            }
            Self::Client { name, .. } => name,
        };
        let steps = turn.steps.into_iter().map(|step| match step {
            CassetteStep::Call(call) => translated(name, &call, seen),
            step => step,
        });
        CassetteTurn { steps: steps.collect(), ..turn }
    }
}

/// What a call that ends a run says.
fn summary(step: &CassetteStep) -> Option<String> {
    let CassetteStep::Call(call) = step else { return None };
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
    (call.name == "finish").then(|| arguments["summary"].as_str().unwrap_or("Done.").to_owned())
}

fn translated(client: &str, call: &CassetteCall, seen: &ReceivedRequest) -> CassetteStep {
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
    let text = |key: &str| arguments[key].as_str().unwrap_or_default();
    let path = format!("{WORKSPACE}/{}", text("path"));
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    let (name, arguments) = match (call.name.as_str(), client) {
        ("finish", _) => return CassetteStep::Text(text("summary").to_owned()),
        ("execute", _) => shell(client, text("command")),
        ("read_file", "claude-code") => ("Read", json!({"file_path": path})),
        ("read_file", "opencode") => ("read", json!({"filePath": path})),
        ("read_file", _) => shell(client, &format!("cat {}", quoted(text("path")))),
        // Clients want to have read what they write to; a shell does not.
        ("write_file", _) => {
            let (file, content) = (quoted(text("path")), quoted(text("content")));
            shell(client, &format!("mkdir -p \"$(dirname {file})\" && printf %s {content} > {file}"))
        }
        ("edit_file", _) => {
            let parts = [text("path"), text("old"), text("new")].map(quoted).join(" ");
            shell(client, &format!("python3 -c {} {parts}", quoted(EDIT)))
        }
        ("ls", _) => shell(client, &format!("ls {}", quoted(text("path")))),
        ("grep", "opencode") => ("grep", json!({"pattern": text("pattern")})),
        ("grep", _) => shell(client, &format!("grep -rn {} .", quoted(text("pattern")))),
        ("write_todos", "codex") => {
            let plan = json!([{"step": arguments["todos"][0]["content"], "status": "in_progress"}]);
            ("update_plan", json!({"plan": plan}))
        }
        ("write_todos", "opencode") => {
            let todo = json!({"content": arguments["todos"][0]["content"], "status": "in_progress", "priority": "high", "id": "1"});
            ("todowrite", json!({"todos": [todo]}))
        }
        ("write_todos", _) => {
            let todo = &arguments["todos"][0]["content"];
            let todos = json!([{"content": todo, "status": "in_progress", "activeForm": todo}]);
            ("TodoWrite", json!({"todos": todos}))
        }
        (other, _) => (other, arguments.clone()),
    };
    let offered = seen.body["tools"].as_array().into_iter().flatten().any(|tool| {
        let own = tool["name"].as_str().or(tool["function"]["name"].as_str());
        own == Some(name)
    });
    // A list of things to do that a client does not keep is kept nowhere.
    let (name, arguments) = match call.name == "write_todos" && !offered {
        true => shell(client, "true"),
        false => (name, arguments),
    };
    CassetteStep::Call(CassetteCall {
        name: name.to_owned(),
        arguments: arguments.to_string(),
        ..call.clone()
    })
}

fn shell(client: &str, command: &str) -> (&'static str, Value) {
    match client {
        "claude-code" => ("Bash", json!({"command": command, "description": "x"})),
        "codex" => ("exec_command", json!({"cmd": command})),
        _ => ("bash", json!({"command": command, "description": "x"})),
    }
}
