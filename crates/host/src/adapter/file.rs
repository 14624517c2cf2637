//! The form of an adapter file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::HostError;

/// An agent's description.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adapter {
    /// The name used with `--agent`.
    pub name: String,
    /// One sentence for lists.
    #[serde(default)]
    pub description: String,
    /// How it is started.
    pub kind: Kind,
    /// The command inside the walls; `{agent}` is the file given with `--agent`, `{args}` everything after `--`.
    #[serde(default)]
    pub command: Vec<String>,
    /// Further environment, not secret.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Toolchains it needs whatever the workspace holds, by name.
    #[serde(default)]
    pub toolchains: Vec<String>,
}

/// How an agent is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A command that follows the contract, behind native walls.
    Exec,
    /// Holon's own agent: it thinks in the host, only its hands are behind the walls.
    Native,
    /// A container image whose entry point follows the contract.
    Image,
}

impl Adapter {
    /// Reads an adapter file; `path` is for messages.
    pub fn parse(text: &str, path: &str) -> Result<Self, HostError> {
        let adapter: Self = toml::from_str(text)
            .map_err(|e| HostError::usage(format!("{path}: {e}"), "compare it with `docs/agents.md`"))?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if adapter.name.is_empty() || !adapter.name.chars().all(plain) {
            let message =
                format!("{path}: `name` must be letters, digits, `-`, `_` or `.`, not `{}`", adapter.name);
            return Err(HostError::usage(message, "rename it"));
        }
        if adapter.kind == Kind::Exec && adapter.command.is_empty() {
            return Err(HostError::usage(format!("{path}: `command` is missing"), "add command = [\"…\"]"));
        }
        Ok(adapter)
    }
}
