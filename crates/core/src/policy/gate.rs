//! The gate every tool call passes: one call, one decision.

use serde::{Deserialize, Serialize};

use crate::mode::Profile;

use super::ToolVerdict;
use super::class::{ToolClass, class_of};
use super::command::CommandVerdict;

/// A call as the model proposed it.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProposedCall<'a> {
    /// The tool's name; MCP tools are `mcp:SERVER/TOOL`.
    pub tool: &'a str,
    /// Whether an MCP server declared the tool read-only.
    pub declared_read_only: bool,
    /// The shell line, when the tool runs one.
    pub line: Option<&'a str>,
    /// The argv, when the tool runs a program without a shell.
    pub argv: Option<&'a [String]>,
}

/// Where the call comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallSurface {
    /// `holon run` and everything like it.
    Run,
    /// A chat turn, where modes that promise no change allow reads only.
    Chat,
}

/// What was decided about one call, with words for the model and the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCallDecision {
    /// The verdict.
    pub verdict: ToolVerdict,
    /// The rule behind it.
    pub rule: String,
    /// Why, in a sentence.
    pub reason: String,
    /// What would make it possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// Decides about calls for one profile.
#[derive(Debug, Clone, Copy)]
pub struct ToolCallGate<'a> {
    profile: &'a Profile,
    surface: CallSurface,
    person: bool,
}

impl<'a> ToolCallGate<'a> {
    /// A gate for a profile; `person` says whether someone can be asked.
    pub fn new(profile: &'a Profile, surface: CallSurface, person: bool) -> Self {
        Self { profile, surface, person }
    }

    /// Decides about one call; anything unknown is denied.
    pub fn decide(&self, call: &ProposedCall<'_>) -> ToolCallDecision {
        let class = class_of(call.tool, call.declared_read_only);
        let decision = self.by_tool(call.tool, class);
        if decision.verdict == ToolVerdict::Deny || class != ToolClass::Exec {
            return self.settle(decision);
        }
        match self.by_command(call) {
            Some(denied) => denied,
            None => self.settle(decision),
        }
    }

    fn by_tool(&self, tool: &str, class: ToolClass) -> ToolCallDecision {
        let mode = &self.profile.name;
        let quiet =
            matches!(class, ToolClass::Read | ToolClass::Search | ToolClass::Ask | ToolClass::Control);
        if self.surface == CallSurface::Chat && self.profile.promises_no_change() && !quiet {
            return ToolCallDecision {
                verdict: ToolVerdict::Deny,
                rule: "chat read list".to_owned(),
                reason: format!("{mode} mode only reads, and `{tool}` is not on the read list"),
                remedy: Some(format!("{mode} mode: switch to build to run this")),
            };
        }
        let (verdict, rule) = self.profile.tools.verdict(tool, class);
        let (reason, remedy) = match (verdict, class) {
            (ToolVerdict::Allow, _) => (format!("{mode} mode allows `{tool}`"), None),
            (ToolVerdict::Ask, _) => (format!("{mode} mode asks a person about `{tool}`"), None),
            (ToolVerdict::Deny, ToolClass::Unknown) => (
                format!("`{tool}` is not a tool Holon knows, and unknown tools are denied"),
                Some(format!(
                    "use a known tool, or name it under [tools] in a mode of your own: `{tool}` = \"allow\""
                )),
            ),
            (ToolVerdict::Deny, ToolClass::Write) => (
                format!("{mode} mode does not let `{tool}` change files"),
                Some(format!(
                    "{mode} mode: write your result to the output folder, or switch to build to change files"
                )),
            ),
            (ToolVerdict::Deny, _) => (
                format!("{mode} mode does not allow `{tool}`"),
                Some(format!("{mode} mode: switch to build to run this")),
            ),
        };
        ToolCallDecision { verdict, rule, reason, remedy }
    }

    fn by_command(&self, call: &ProposedCall<'_>) -> Option<ToolCallDecision> {
        let rules = &self.profile.commands;
        let verdict = match (call.line, call.argv) {
            (Some(line), _) => rules.check_line(line),
            (None, Some(argv)) => rules.check_argv(argv),
            (None, None) if rules.is_empty() || call.tool.starts_with("mcp:") => CommandVerdict::Allowed,
            (None, None) => CommandVerdict::Opaque { why: "the call names no command".to_owned() },
        };
        let mode = &self.profile.name;
        let (rule, reason, remedy) = match verdict {
            CommandVerdict::Allowed => return None,
            CommandVerdict::Denied { pattern, command } => (
                format!("commands.deny `{pattern}`"),
                format!("{mode} mode never runs `{command}`"),
                "do without it, or leave it to the person who reads the result".to_owned(),
            ),
            CommandVerdict::NotAllowed { command } => (
                "commands.allow".to_owned(),
                format!("`{command}` is not among the commands {mode} mode runs"),
                format!("the commands are: {}", rules.allow.last().map(|l| l.join(", ")).unwrap_or_default()),
            ),
            CommandVerdict::Opaque { why } => (
                "commands".to_owned(),
                format!("the command cannot be checked against the rules of {mode} mode: {why}"),
                "write it as plain commands, one after another".to_owned(),
            ),
        };
        Some(ToolCallDecision { verdict: ToolVerdict::Deny, rule, reason, remedy: Some(remedy) })
    }

    /// Without a person an `ask` is a `deny`: nothing ever waits for an answer that cannot come.
    fn settle(&self, decision: ToolCallDecision) -> ToolCallDecision {
        if decision.verdict != ToolVerdict::Ask || self.person {
            return decision;
        }
        ToolCallDecision {
            verdict: ToolVerdict::Deny,
            reason: "this needs a person, and nobody can be asked in this run".to_owned(),
            remedy: Some("decide yourself, and say in your summary what you assumed".to_owned()),
            ..decision
        }
    }
}
