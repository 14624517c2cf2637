//! What a caller asks for: the flags of `holon run`, typed.

use std::path::PathBuf;

use holon_core::HumanDuration;
use holon_core::mode::NetworkReach;
use holon_core::spec::SpecSupervision;
use holon_sandbox::fallback::SandboxChoice;
use holon_sandbox::snapshot::SnapshotStrategyChoice;
use serde::{Deserialize, Serialize};

use crate::spec_source::SourcedSpec;

/// One run, as requested; everything not given comes from the spec, the mode or the defaults.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default)]
pub struct RunRequest {
    /// `--mode`
    pub mode: Option<String>,
    /// `--spec`
    pub spec: Option<PathBuf>,
    /// A spec that came without a file of its own: over HTTP, or as the part of one that a step of a flow gets.
    pub given_spec: Option<SourcedSpec>,
    /// Whether this is a part of a larger request, whose limits were handed down; what was asked for was judged there.
    pub part: bool,
    /// `--goal`
    pub goal: Option<String>,
    /// `--workspace`; the current folder if neither flag nor spec says otherwise.
    pub workspace: Option<PathBuf>,
    /// `--out`
    pub out: Option<PathBuf>,
    /// `--context`, files or folders.
    pub context: Vec<PathBuf>,
    /// `--agent`: a name or a path.
    pub agent: Option<String>,
    /// Arguments after `--`, for the agent.
    pub agent_args: Vec<String>,
    /// `--image`
    pub image: Option<String>,
    /// `--model`
    pub model: Option<String>,
    /// `--provider`
    pub provider: Option<String>,
    /// `--record`: where the conversation with the model is written, besides the evidence.
    pub record: Option<PathBuf>,
    /// `--replay`: a cassette that answers instead of a model.
    pub replay: Option<PathBuf>,
    /// `--mcp`: tool servers for the native agent, each `NAME=COMMAND`.
    pub mcp: Vec<String>,
    /// `--supervisor`
    pub supervisor: Option<SpecSupervision>,
    /// `--shadow`
    pub shadow: bool,
    /// `--max-rounds`
    pub max_rounds: Option<u64>,
    /// `--max-cost`, in US dollars.
    pub max_cost_usd: Option<f64>,
    /// `--sandbox`
    pub sandbox: SandboxChoice,
    /// `--i-accept-no-isolation`
    pub accept_no_isolation: bool,
    /// `--network`
    pub network: Option<NetworkReach>,
    /// `--allow-net`: hosts, or clients by whose configuration hosts are found.
    pub allow_net: Vec<String>,
    /// `--fresh`: stand on no environment.
    pub fresh: bool,
    /// The workspace that the user agreed to a setup of, where this is a copy of it.
    pub environment_of: Option<PathBuf>,
    /// `--allow-writes`
    pub allow_writes: bool,
    /// `--timeout`
    pub timeout: Option<HumanDuration>,
    /// `--idle-timeout`
    pub idle_timeout: Option<HumanDuration>,
    /// `--max-output`, in MiB.
    pub max_output_mb: Option<u64>,
    /// `--check`
    pub checks: Vec<String>,
    /// `--check-report`
    pub check_reports: Vec<String>,
    /// Whether checks that fit the repository's shape are run when none were asked for; off with `--no-auto-checks`.
    pub auto_checks: bool,
    /// `--tests-may-change`
    pub tests_may_change: bool,
    /// `--allow-sensitive`
    pub allow_sensitive: bool,
    /// `--apply`
    pub apply: bool,
    /// `--verify full`: hash the whole workspace before and after.
    pub verify_full: bool,
    /// `--snapshot`
    pub snapshot: SnapshotStrategyChoice,
    /// `--keep`: leave the snapshot's layers in the run store.
    pub keep: bool,
}

impl Default for RunRequest {
    fn default() -> Self {
        Self {
            mode: None,
            spec: None,
            given_spec: None,
            part: false,
            goal: None,
            workspace: None,
            out: None,
            context: Vec::new(),
            agent: None,
            agent_args: Vec::new(),
            image: None,
            model: None,
            provider: None,
            record: None,
            replay: None,
            mcp: Vec::new(),
            supervisor: None,
            shadow: false,
            max_rounds: None,
            max_cost_usd: None,
            sandbox: SandboxChoice::Auto,
            accept_no_isolation: false,
            network: None,
            allow_net: Vec::new(),
            fresh: false,
            environment_of: None,
            allow_writes: false,
            timeout: None,
            idle_timeout: None,
            max_output_mb: None,
            checks: Vec::new(),
            check_reports: Vec::new(),
            auto_checks: true,
            tests_may_change: false,
            allow_sensitive: false,
            apply: false,
            verify_full: false,
            snapshot: SnapshotStrategyChoice::Auto,
            keep: false,
        }
    }
}
