//! The form of an adapter file.

use std::collections::BTreeMap;

use holon_core::mode::ModeSource;
use holon_core::policy::ToolClass;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::calls::AdapterCalls;
use super::events::AgentEventFormat;
use super::version::VersionRange;
use super::wrong;
use crate::error::HostError;

/// An agent's description.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Adapter {
    /// The name used with `--agent`.
    pub name: String,
    /// One sentence for lists.
    #[serde(default)]
    pub description: String,
    /// How it is started.
    pub kind: AdapterKind,
    /// The command inside the walls; see [`super::fill`] for what stands in braces.
    #[serde(default)]
    pub command: Vec<String>,
    /// Further environment, not secret.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Toolchains it needs whatever the workspace holds, by name.
    #[serde(default)]
    pub toolchains: Vec<String>,
    /// In which form it tells on its standard output what it does; then, but for `text`, a terminal event is required of it.
    #[serde(default)]
    pub events: Option<AgentEventFormat>,
    /// How it is found on this machine; without this the command is looked for inside the walls.
    #[serde(default)]
    pub find: Option<AgentLookup>,
    /// How it reaches a model; without this there is no gateway.
    #[serde(default)]
    pub model: Option<ModelUse>,
    /// Files written below its private HOME before it starts.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// What differs between modes, by the name of a mode or by what it may do with the workspace.
    #[serde(default)]
    pub modes: BTreeMap<String, ModeOverrides>,
    /// How it is started with a person at its screen; without this, by its usual command.
    #[serde(default)]
    pub interactive: Option<ScreenUse>,
    /// What kind of tool its tools are.
    #[serde(default)]
    pub tools: BTreeMap<ToolClass, Vec<String>>,
    /// What the calls of its tools are about; without this it is watched and nothing is said to it.
    #[serde(default)]
    pub calls: Option<AdapterCalls>,
    /// What this family of agents has to be told besides.
    #[serde(default)]
    pub prompt: Option<String>,
    /// What exit codes other than 0 mean: a kind of error, and words about it after a colon.
    #[serde(default)]
    pub exits: BTreeMap<String, String>,
    /// How a scripted model makes it act, for `holon agents check`, by the name of the deed, or of an attempt that needs its own.
    #[serde(default)]
    pub rehearsal: BTreeMap<String, ConformanceCall>,
    /// Its own read-only modes, for comparison.
    #[serde(default)]
    pub alone: Vec<OwnReadOnlyMode>,
}

/// How an agent is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "AdapterKind")]
pub enum AdapterKind {
    /// A command that follows the contract, or that the description explains, behind native walls.
    Exec,
    /// Holon's own agent: it thinks in the host, only its hands are behind the walls.
    Native,
    /// A container image whose entry point follows the contract.
    Image,
}

/// How an agent is found on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AdapterFinding")]
pub struct AgentLookup {
    /// The program's name.
    pub program: String,
    /// What to tell somebody who does not have it.
    pub install: String,
    /// The versions it was tried with, such as `>=2.1, <3`; others work at one's own risk.
    #[serde(default)]
    pub tested: Option<VersionRange>,
    /// Arguments that make it print its version.
    #[serde(default)]
    pub version: Vec<String>,
    /// The real program, relative to the `node_modules` it is installed in: wrappers in JavaScript are passed over.
    /// `*` stands for any part of one name.
    #[serde(default)]
    pub binary: Option<String>,
    /// The oldest Node.js that runs it, by its first number.
    #[serde(default)]
    pub node: Option<u64>,
}

/// How an agent reaches a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AdapterModel")]
pub struct ModelUse {
    /// The wire it speaks to the gateway.
    pub wire: holon_gateway::ClientWire,
    /// What the agent is told the model is called when its provider speaks another wire: some agents use, for models
    /// they know, forms that cannot be translated.
    #[serde(default)]
    pub alias: Option<String>,
    /// Whether there is a gateway, and `env` with it, only in runs that name a model, a provider or a cassette.
    #[serde(default)]
    pub on_request: bool,
}

/// A call that makes an agent do something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AdapterDeed")]
pub struct ConformanceCall {
    /// The agent's tool.
    pub tool: String,
    /// Its arguments as JSON; `{command}`, `{path}`, `{root}`, `{target}`, `{prompt}`, `{program}` and `{model}` are
    /// filled in, and `{made}` with a command that prints a mark.
    pub arguments: String,
    /// A deed that must come first.
    #[serde(default)]
    pub after: Option<String>,
    /// A deed that follows, with the same words.
    #[serde(default)]
    pub then: Option<String>,
    /// Whether what it comes before goes on without it where its tool is not offered.
    #[serde(default)]
    pub optional: bool,
    /// The deeds of the child that this one starts, in their order; running the command when not given.
    #[serde(default)]
    pub child: Vec<String>,
}

/// A read-only mode of an agent's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AdapterAlone")]
pub struct OwnReadOnlyMode {
    /// What it is called.
    pub name: String,
    /// What it is meant to do, for the page of the breach suite.
    #[serde(default)]
    pub about: String,
    /// The command that starts it.
    pub command: Vec<String>,
    /// What the model is called, for an agent that behaves differently with one it does not know.
    #[serde(default)]
    pub model: Option<String>,
}

/// How an agent is started with a person at its screen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AdapterInteractive")]
pub struct ScreenUse {
    /// The command inside the walls. A word with `{goal}` in it is left out when nobody gave a goal.
    pub command: Vec<String>,
    /// Further environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Files instead of, or besides, the common ones.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
}

/// What is different in a mode.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "AdapterForMode")]
pub struct ModeOverrides {
    /// What `{mode}` in the command stands for.
    pub args: Vec<String>,
    /// Further environment.
    pub env: BTreeMap<String, String>,
    /// Files instead of, or besides, the common ones.
    pub files: BTreeMap<String, String>,
    /// Whether this switches the agent's own plan mode on.
    pub native_plan: bool,
    /// Whether this switches the agent's own review on.
    pub native_review: bool,
}

impl Adapter {
    /// Reads an adapter file; `path` is for messages.
    pub fn parse(text: &str, path: &str) -> Result<Self, HostError> {
        let adapter: Self = toml::from_str(text).map_err(|e| {
            HostError::usage(
                format!("{path}: {}", wrong::in_words(&e, text)),
                "compare it with docs/agents.md",
            )
        })?;
        adapter.checked().map_err(|(what, remedy)| HostError::usage(format!("{path}: {what}"), remedy))
    }

    fn checked(self) -> Result<Self, (String, &'static str)> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if self.name.is_empty() || !self.name.chars().all(plain) {
            let what = format!("`name` must be letters, digits, `-`, `_` or `.`, not `{}`", self.name);
            return Err((what, "rename it"));
        }
        if self.kind == AdapterKind::Exec && self.command.is_empty() {
            return Err(("`command` is missing".into(), "add command = [\"…\"]"));
        }
        let driven = self.events.is_some() || self.find.is_some();
        if self.kind != AdapterKind::Exec && driven {
            let what = "`events` and `find` go with kind = \"exec\" only".to_owned();
            return Err((what, "change the kind, or leave them out"));
        }
        if let Some(screen) = &self.interactive {
            if self.kind != AdapterKind::Exec {
                return Err((
                    "`interactive` goes with kind = \"exec\" only".into(),
                    "change the kind, or leave it out",
                ));
            }
            if screen.command.is_empty() {
                return Err((
                    "`interactive.command` is empty".into(),
                    "add the command that shows its screen",
                ));
            }
        }
        if self.kind == AdapterKind::Native && self.model.is_some() {
            let what = "`model` does not go with kind = \"native\": it thinks outside".to_owned();
            return Err((what, "change the kind, or leave it out"));
        }
        if let Some(find) = &self.find
            && (find.program.is_empty() || find.program.contains('/'))
        {
            // A path could name anything on this machine, which would then be shown inside the walls.
            let what = format!("`find.program` must be a name, not `{}`", find.program);
            return Err((what, "name the program as it is on the PATH"));
        }
        if let Some(binary) = self.find.as_ref().and_then(|f| f.binary.as_ref())
            && !is_below(binary)
        {
            return Err((
                format!("`find.binary` must stay below node_modules, not `{binary}`"),
                "correct it",
            ));
        }
        let screen = self.interactive.iter();
        let files = self.files.keys().chain(self.modes.values().flat_map(|mode| mode.files.keys()));
        let files = files.chain(screen.flat_map(|screen| screen.files.keys()));
        if let Some(file) = files.into_iter().find(|file| !is_below(file)) {
            return Err((format!("`files` must lie below the private HOME, not at `{file}`"), "correct it"));
        }
        if let Some(what) = wrong::braces(&self).or_else(|| wrong::deeds(&self)) {
            return Err((what, "correct it"));
        }
        if let Some(code) = self.exits.keys().find(|code| code.parse::<i32>().is_err()) {
            return Err((format!("`exits` has numbers as keys, not `{code}`"), "correct it"));
        }
        Ok(self)
    }

    /// What holds in a mode: its own entry, else that for its access to the workspace.
    pub fn for_mode(&self, mode: &str, access: &str) -> ModeOverrides {
        self.modes.get(mode).or_else(|| self.modes.get(access)).cloned().unwrap_or_default()
    }

    /// What kind of tool one of its tools is.
    pub fn class_of(&self, tool: &str) -> ToolClass {
        let named = self.tools.iter().find(|(_, names)| names.iter().any(|name| name == tool));
        named.map_or(ToolClass::Unknown, |(class, _)| *class)
    }

    /// Whether its version may be asked for by starting it on the host; a project's file must not start anything there.
    pub fn may_be_started(source: ModeSource) -> bool {
        source != ModeSource::Project
    }
}

/// Whether a path stays where it starts.
fn is_below(path: &str) -> bool {
    !path.is_empty() && !path.starts_with('/') && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn inv_15_an_adapter_cannot_reach_for_the_machine() {
        let check = |text: &str, word: &str| {
            let text = format!("name = \"x\"\nkind = \"exec\"\ncommand = [\"x\"]\n{text}");
            let error = Adapter::parse(&text, "x.toml").unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        };
        check("[find]\nprogram = \"/etc/shadow\"\ninstall = \"\"", "find.program");
        check("[find]\nprogram = \"../x\"\ninstall = \"\"", "find.program");
        check("[find]\nprogram = \"x\"\ninstall = \"\"\nbinary = \"../../x\"", "find.binary");
        check("[files]\n\"../x\" = \"\"", "private HOME");
        check("[files]\n\"/etc/x\" = \"\"", "private HOME");
        check("[modes.plan.files]\n\"a/../../x\" = \"\"", "private HOME");
        check("[network]\ntools = \"host\"", "unknown key `network`");
        check("[expose]\npaths = [\"/\"]", "unknown key `expose`");
        check("[exits]\nmany = \"x\"", "numbers");
    }

    #[test]
    fn a_mode_beats_its_access() {
        let text = "name = \"x\"\nkind = \"exec\"\ncommand = [\"x\", \"{mode}\"]\n\
                    [modes.plan]\nargs = [\"p\"]\nnative_plan = true\n[modes.read-only]\nargs = [\"r\"]\n[tools]\nexec = [\"Bash\"]";
        let adapter = Adapter::parse(text, "x.toml").unwrap();
        assert_eq!(adapter.for_mode("plan", "read-only").args, ["p"]);
        assert_eq!(adapter.for_mode("review", "read-only").args, ["r"]);
        assert_eq!(adapter.for_mode("execute", "rw"), ModeOverrides::default());
        assert_eq!(adapter.class_of("Bash"), ToolClass::Exec);
        assert_eq!(adapter.class_of("New"), ToolClass::Unknown);
    }
}
