//! Runs that were made before plans were kept: what they were asked is worked out anew.

use std::fs;
use std::path::Path;

use holon_agent::mcp::McpServerConfig;
use holon_core::ids::RunId;
use holon_core::manifest::ModelInfo;
use holon_core::spec;
use holon_model::Prices;
use holon_supervisor::SupervisorConfig;
use serde::Deserialize;

use super::Host;
use super::replay::{RecordedModel, read_recording};
use crate::error::HostError;
use crate::plan::{RunContinuation, RunPlan};
use crate::request::RunRequest;
use crate::servers;
use crate::spec_source::SourcedSpec;
use crate::store::RunFolder;

/// `asked.json`, as it was kept instead of a plan.
#[derive(Debug, Deserialize)]
pub(super) struct FormerRequest {
    /// The request as it came.
    request: RunRequest,
    /// The model that answered.
    model: Option<ModelInfo>,
    /// What it could take.
    window: u64,
    /// What it cost.
    prices: Option<Prices>,
    /// How closely it was watched.
    #[serde(default)]
    supervisor: Option<SupervisorConfig>,
    /// Its tool servers.
    #[serde(default)]
    servers: Vec<McpServerConfig>,
    /// The run it went on from.
    #[serde(default)]
    resumed_from: Option<RunId>,
}

const FILE: &str = "asked.json";

impl FormerRequest {
    pub(super) fn load(folder: &RunFolder) -> Result<Self, HostError> {
        read_recording(&folder.path().join(FILE))
    }

    /// Its plan, by what modes and configuration say now.
    pub(super) fn planned(
        self,
        host: &Host,
        folder: &RunFolder,
    ) -> Result<(RunPlan, RecordedModel), HostError> {
        let record = folder.record()?;
        let request = RunRequest {
            spec: None,
            given_spec: Some(spec_alone(folder, &record.workspace)?),
            part: true,
            workspace: Some(record.workspace.clone()),
            out: None,
            context: Vec::new(),
            record: None,
            // What is heard of it is looked for by whoever goes on.
            replay: None,
            apply: false,
            ..self.request.clone()
        };
        let mut plan = host.plan(&request)?;
        (plan.out, plan.apply) = (record.out, self.request.apply);
        plan.replay = self.request.replay.map(|path| crate::plan::PlannedCassette::unseen(&path));
        plan.supervisor = self.supervisor.unwrap_or(plan.supervisor);
        plan.servers = self.servers.into_iter().map(servers::planned).collect();
        plan.goes_on = self.resumed_from.map(|run| RunContinuation {
            run,
            folder: folder.path().to_owned(),
            message: String::new(),
        });
        let recorded = RecordedModel { model: self.model, window: self.window, prices: self.prices };
        Ok((plan, recorded))
    }
}

/// The stored spec without the files it named: they are among the context already.
fn spec_alone(folder: &RunFolder, workspace: &Path) -> Result<SourcedSpec, HostError> {
    let stored = folder.input().join("spec.yaml");
    let text = fs::read_to_string(&stored).map_err(HostError::io("read", &stored))?;
    let (mut spec, _) = spec::parse(&text, &stored.to_string_lossy())?;
    spec.context.files.clear();
    Ok(SourcedSpec::sent(spec, workspace))
}
