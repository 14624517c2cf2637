//! Decisions about tool calls and commands: allow, ask or deny, each with a reason and a remedy.

mod class;
mod command;
mod gate;
mod shell;
mod wrapper;

pub use class::{ToolClass, class_of};
pub use command::{CommandRules, CommandVerdict, check_pattern, pattern_within};
pub use gate::{CallSurface, ProposedCall, ToolCallDecision, ToolCallGate};
pub use shell::{ShellWord, SimpleCommand, UnparsableLine, split};

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What may happen with a call, strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolVerdict {
    /// It is not executed; the model gets the reason.
    Deny,
    /// A person decides; without one it is denied.
    Ask,
    /// It is executed.
    Allow,
}

impl fmt::Display for ToolVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Allow => "allow",
        })
    }
}

/// One `[tools]` table: tool names, or prefixes ending in `*`, with a verdict each.
pub type ToolTable = BTreeMap<String, ToolVerdict>;

/// The tables of a mode and its ancestors; the strictest opinion wins, so a descendant can only narrow.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolRules {
    /// Oldest ancestor first.
    pub layers: Vec<ToolTable>,
}

impl ToolRules {
    /// The strictest verdict any layer has for this tool, with the entry it comes from.
    pub fn listed(&self, tool: &str) -> Option<(ToolVerdict, &str)> {
        self.layers.iter().filter_map(|layer| most_specific(layer, tool)).min_by_key(|(verdict, _)| *verdict)
    }

    /// The verdict for a tool of this class, listed or not, with the rule behind it.
    pub fn verdict(&self, tool: &str, class: ToolClass) -> (ToolVerdict, String) {
        if class == ToolClass::Control {
            return (ToolVerdict::Allow, "class control".to_owned());
        }
        match self.listed(tool) {
            Some((verdict, entry)) => (verdict, format!("tools.{entry}")),
            None => (default_verdict(class), format!("class {class}")),
        }
    }

    /// The first entry of `table` that would be more permissive than these rules are, with what they say.
    pub fn first_wider(&self, table: &ToolTable) -> Option<(String, ToolVerdict, ToolVerdict)> {
        table.iter().find_map(|(name, asked)| {
            let (now, _) = self.verdict(name, class_of(name, false));
            (*asked > now).then(|| (name.clone(), *asked, now))
        })
    }

    /// These rules as one table, for a user's file that may override entries instead of narrowing them.
    pub fn flattened(&self) -> ToolTable {
        let names = self.layers.iter().flat_map(BTreeMap::keys);
        names.filter_map(|name| self.listed(name).map(|(verdict, _)| (name.clone(), verdict))).collect()
    }
}

/// What happens with a tool no table names: reading is fine, a person may be asked, all else is denied.
fn default_verdict(class: ToolClass) -> ToolVerdict {
    match class {
        ToolClass::Read | ToolClass::Search | ToolClass::Control => ToolVerdict::Allow,
        ToolClass::Ask => ToolVerdict::Ask,
        ToolClass::Write | ToolClass::Exec | ToolClass::Delegate | ToolClass::Unknown => ToolVerdict::Deny,
    }
}

/// The entry of a table that names the tool most exactly: its own name, else the longest prefix.
fn most_specific<'a>(table: &'a ToolTable, tool: &str) -> Option<(ToolVerdict, &'a str)> {
    if let Some((name, verdict)) = table.get_key_value(tool) {
        return Some((*verdict, name));
    }
    table
        .iter()
        .filter(|(name, _)| name.strip_suffix('*').is_some_and(|prefix| tool.starts_with(prefix)))
        .max_by_key(|(name, _)| name.len())
        .map(|(name, verdict)| (*verdict, name.as_str()))
}
