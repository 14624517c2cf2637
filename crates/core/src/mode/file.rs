//! A mode file as written: TOML, every key optional, unknown keys refused.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::duration::HumanDuration;
use crate::policy::ToolTable;
use crate::sandbox::IsolationLevel;

use super::error::ModeError;
use super::profile::{HostMountSetting, ModelPolicy, NetworkReach};

/// The largest mode file that is read.
const MAX_BYTES: usize = 64 * 1024;

/// The form of `modes/NAME.toml`; an absent key is inherited.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModeFile {
    /// Canonical name; the file's own name when absent.
    pub name: Option<String>,
    /// One sentence for lists.
    pub description: Option<String>,
    /// Other names that resolve to this mode.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The mode to inherit from and narrow.
    pub extends: Option<String>,
    /// Lets a user's own file have more rights than its parent; refused in project files.
    #[serde(default)]
    pub widen: bool,
    /// On a read-only mode: writes work inside and are thrown away.
    pub scratch: Option<bool>,
    /// What may be written and seen.
    #[serde(default)]
    pub workspace: WorkspaceTable,
    /// Verdicts for tools by name or prefix (`mcp:*`).
    #[serde(default)]
    pub tools: ToolTable,
    /// Verdicts for commands.
    #[serde(default)]
    pub commands: CommandsTable,
    /// What tools can reach.
    #[serde(default)]
    pub network: NetworkTable,
    /// What walls are demanded.
    #[serde(default)]
    pub sandbox: SandboxTable,
    /// Read-only views of the host.
    #[serde(default)]
    pub expose: ExposeTable,
    /// Resource limits.
    #[serde(default)]
    pub limits: LimitsTable,
    /// What must and may be produced.
    #[serde(default)]
    pub artifacts: ArtifactsTable,
    /// What the model is for.
    #[serde(default)]
    pub model: ModelTable,
    /// The mode's layer of the prompt.
    #[serde(default)]
    pub prompt: PromptTable,
}

/// `[workspace]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceTable {
    /// What may be written.
    pub access: Option<AccessKeyword>,
    /// Globs that may be written when access is `scoped`.
    pub write: Option<Vec<String>>,
    /// Globs the agent must not see; added to the inherited ones.
    pub hide: Option<Vec<String>>,
    /// Whether `--allow-writes` may make a scratch workspace deliver its changes.
    pub writes_on_request: Option<bool>,
}

/// The words for [`crate::Access`] in a mode file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AccessKeyword {
    /// Everything in the snapshot may change.
    Rw,
    /// Nothing may change.
    ReadOnly,
    /// Only what `write` names may change.
    Scoped,
    /// Writes work and vanish.
    Scratch,
}

/// `[commands]`: argv patterns, checked after shell parsing; a last `*` stands for any further arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandsTable {
    /// When present, only these run.
    pub allow: Option<Vec<String>>,
    /// These never run; added to the inherited ones.
    pub deny: Option<Vec<String>>,
}

/// `[network]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NetworkTable {
    /// What tools can reach.
    pub tools: Option<NetworkReach>,
}

/// `[sandbox]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SandboxTable {
    /// The weakest level the mode starts behind, `L0` (strongest) to `L4`.
    pub minimum: Option<IsolationLevel>,
}

/// `[expose]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExposeTable {
    /// Compilers and interpreters the workspace needs.
    pub toolchains: Option<HostMountSetting>,
    /// Package caches.
    pub caches: Option<HostMountSetting>,
    /// Further paths; only in a user's own file.
    pub paths: Option<Vec<String>>,
}

/// `[limits]`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitsTable {
    /// Turns of the model.
    pub rounds: Option<u64>,
    /// Wall time.
    pub timeout: Option<HumanDuration>,
    /// Longest time without any sign of life.
    pub idle_timeout: Option<HumanDuration>,
    /// Money.
    pub cost_usd: Option<f64>,
    /// Size of the output folder in MiB.
    pub output_mb: Option<u64>,
    /// Memory in MiB.
    pub memory_mb: Option<u64>,
    /// Processes and threads.
    pub processes: Option<u64>,
    /// Bytes written outside the output folder, in MiB.
    pub disk_mb: Option<u64>,
    /// Files created.
    pub files: Option<u64>,
}

/// `[artifacts]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArtifactsTable {
    /// Added to the inherited ones.
    pub required: Option<Vec<String>>,
    /// Added to the inherited ones.
    pub optional: Option<Vec<String>>,
}

/// `[model]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelTable {
    /// The purpose.
    pub intent: Option<String>,
    /// How a model is chosen.
    pub policy: Option<ModelPolicy>,
    /// Whether a reasoning model is preferred.
    pub reasoning: Option<bool>,
}

/// `[prompt]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptTable {
    /// A plain relative file name, read beside the mode file.
    pub file: Option<String>,
}

impl ModeFile {
    /// Reads a mode file; the error names file, line and key.
    pub fn parse(text: &str, path: &str) -> Result<Self, ModeError> {
        if text.len() > MAX_BYTES {
            return Err(ModeError::TooLarge { file: path.to_owned(), bytes: text.len(), limit: MAX_BYTES });
        }
        toml::from_str(text).map_err(|e| ModeError::Syntax {
            file: path.to_owned(),
            message: e.to_string().trim_end().to_owned(),
        })
    }
}
