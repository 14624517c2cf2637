//! Tool classes: what kind of effect a tool can have.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of effect a tool has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolClass {
    /// Looks at something named.
    Read,
    /// Finds something.
    Search,
    /// Changes files.
    Write,
    /// Runs something with unknown effects.
    Exec,
    /// Interrupts a person.
    Ask,
    /// Starts another agent.
    Delegate,
    /// Steers the run itself.
    Control,
    /// Not known to Holon: treated as the worst of all.
    Unknown,
}

impl fmt::Display for ToolClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Search => "search",
            Self::Write => "write",
            Self::Exec => "exec",
            Self::Ask => "ask",
            Self::Delegate => "delegate",
            Self::Control => "control",
            Self::Unknown => "unknown",
        })
    }
}

static CLASSES: LazyLock<BTreeMap<String, ToolClass>> = LazyLock::new(|| {
    let table: BTreeMap<ToolClass, Vec<String>> =
        toml::from_str(include_str!("../../../../rules/tools.toml")).unwrap_or_default();
    table.into_iter().flat_map(|(class, names)| names.into_iter().map(move |name| (name, class))).collect()
});

/// The class of a tool by name; an MCP tool (`mcp:…`) is `Read` only if its server declared it read-only.
pub fn class_of(tool: &str, declared_read_only: bool) -> ToolClass {
    if tool.starts_with("mcp:") {
        return if declared_read_only { ToolClass::Read } else { ToolClass::Exec };
    }
    CLASSES.get(tool).copied().unwrap_or(ToolClass::Unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inv_15_only_known_names_have_a_class() {
        let check = |tool: &str, read_only, expect| assert_eq!(class_of(tool, read_only), expect, "{tool}");
        check("read_file", false, ToolClass::Read);
        check("grep", false, ToolClass::Search);
        check("edit_file", false, ToolClass::Write);
        check("execute", false, ToolClass::Exec);
        check("ask_user", false, ToolClass::Ask);
        check("delegate", false, ToolClass::Delegate);
        check("finish", false, ToolClass::Control);
        check("mcp:forge/list", true, ToolClass::Read);
        check("mcp:forge/list", false, ToolClass::Exec);
        // Only MCP servers are believed about being read-only, and only about their own tools.
        check("write_file", true, ToolClass::Write);
        check("brand_new_tool", true, ToolClass::Unknown);
        check("", false, ToolClass::Unknown);
        check("READ_FILE", false, ToolClass::Unknown);
    }

    #[test]
    fn the_table_parses() {
        assert!(CLASSES.len() > 20);
    }
}
