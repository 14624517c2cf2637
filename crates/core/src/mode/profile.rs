//! A resolved profile: everything a mode binds, with the origin of each value.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::policy::{CommandRules, ToolRules};
use crate::sandbox::IsolationLevel;

use super::limits::RunLimits;

/// Everything a mode binds, after inheritance and flags.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Profile {
    /// Canonical name, used in logs, manifests and metrics.
    pub name: String,
    /// Other names that resolve to it.
    pub aliases: Vec<String>,
    /// One sentence for lists.
    pub description: String,
    /// Who defined it.
    pub source: ModeSource,
    /// Ancestors, nearest first.
    pub lineage: Vec<String>,
    /// What may be written.
    pub access: Access,
    /// Whether `--allow-writes` may turn a scratch workspace into a delivered one.
    pub writes_on_request: bool,
    /// Globs of paths the agent must not see.
    pub hide: Vec<String>,
    /// Verdicts for tools.
    pub tools: ToolRules,
    /// Verdicts for commands.
    pub commands: CommandRules,
    /// What tools can reach.
    pub network: NetworkReach,
    /// The weakest walls the mode starts behind.
    pub minimum: IsolationLevel,
    /// Read-only views of the host.
    pub expose: HostMountRules,
    /// Resource limits.
    pub limits: RunLimits,
    /// What it must and may produce.
    pub artifacts: ProfileArtifacts,
    /// What the model is for.
    pub model: ModelChoice,
    /// The mode's layer of the prompt.
    pub prompt: PromptRef,
    /// Where each value comes from, by key as written in a mode file.
    pub origins: BTreeMap<String, ValueOrigin>,
}

impl Profile {
    /// Whether the mode promises that nothing of the workspace changes.
    pub fn promises_no_change(&self) -> bool {
        !self.access.delivers()
    }

    /// Whether an artifact is required.
    pub fn requires(&self, artifact: &str) -> bool {
        self.artifacts.required.iter().any(|a| a == artifact)
    }
}

/// Who wrote a definition, and so how far it is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModeSource {
    /// Part of Holon.
    Builtin,
    /// The user's own configuration: may widen.
    User,
    /// A file of the workspace, which can come from anyone: may only add names and narrow.
    Project,
}

impl fmt::Display for ModeSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Builtin => "built-in",
            Self::User => "user",
            Self::Project => "project",
        })
    }
}

/// Where one value of a profile comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum ValueOrigin {
    /// Nobody said; Holon's default.
    Default,
    /// A mode file.
    File {
        /// Whose file.
        source: ModeSource,
        /// Its path, as given by the layer that read it.
        file: String,
    },
    /// The run's spec.
    Spec {
        /// Its path.
        file: String,
    },
    /// A flag of the command line.
    Flag {
        /// Its name, with dashes.
        flag: String,
    },
}

impl fmt::Display for ValueOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { source, file } => write!(f, "{source} {file}"),
            Self::Spec { file } => write!(f, "spec {file}"),
            Self::Flag { flag } => write!(f, "flag {flag}"),
        }
    }
}

/// What tools inside the sandbox can reach, narrowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NetworkReach {
    /// Nothing.
    None,
    /// The model, through the gateway, and nothing else.
    Gateway,
    /// The same, and the hosts that the permits of the run name; each connection is judged and carried by the host.
    Permit,
    /// The host's network; recorded, and refused by modes that promise no change unless widened.
    Host,
}

impl fmt::Display for NetworkReach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Gateway => "gateway",
            Self::Permit => "permit",
            Self::Host => "host",
        })
    }
}

/// Whether the host looks for something to expose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostMountSetting {
    /// Expose nothing.
    None,
    /// Expose what the workspace needs.
    Auto,
}

impl fmt::Display for HostMountSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Auto => "auto",
        })
    }
}

/// Read-only views of the host inside the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostMountRules {
    /// Compilers and interpreters.
    pub toolchains: HostMountSetting,
    /// Package caches, with a private writable layer on top.
    pub caches: HostMountSetting,
    /// Further paths, absolute or below `~/`.
    pub paths: Vec<String>,
}

/// What a mode produces.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileArtifacts {
    /// Without these the run failed.
    pub required: Vec<String>,
    /// Checked when present.
    pub optional: Vec<String>,
}

/// What the model is for and how it is chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelChoice {
    /// The purpose, e.g. `code` or `architect`.
    pub intent: String,
    /// How one is chosen.
    pub policy: ModelPolicy,
    /// Whether a reasoning model is preferred.
    pub reasoning: bool,
}

/// How a model is chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelPolicy {
    /// Scored by intent.
    #[default]
    Auto,
    /// Exactly the one named in the configuration.
    Pinned,
    /// The cheapest that fits.
    Cheapest,
    /// The best that fits.
    Best,
    /// The configured default of older releases.
    LegacyDefault,
}

impl fmt::Display for ModelPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Pinned => "pinned",
            Self::Cheapest => "cheapest",
            Self::Best => "best",
            Self::LegacyDefault => "legacy_default",
        })
    }
}

/// Which text is the mode's layer of the prompt; whoever does I/O reads it beside the mode file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptRef {
    /// A plain relative file name.
    pub file: String,
    /// Whose file it is: a built-in one is embedded.
    pub source: ModeSource,
    /// Path of the mode file that named it, to find it beside.
    pub named_by: String,
}
