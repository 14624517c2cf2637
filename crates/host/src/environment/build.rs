//! Making an environment: one run of its own, behind the same walls, with the permits that its setup has.

use std::path::Path;

use holon_core::event::EventSink;
use holon_core::manifest::Manifest;
use holon_core::mode::{HostMountSetting, NetworkReach};
use holon_core::outcome::RunOutcome;
use holon_model::ModelCancel;
use holon_sandbox::fallback::SandboxChoice;
use holon_sandbox::snapshot::SnapshotStrategyChoice;
use holon_sandbox::snapshot::environment::ignored_paths;

use super::project::current_digest;
use super::store::EnvironmentClaim;
use super::{EnvironmentStore, OpenEnvironment};
use crate::error::HostError;
use crate::executor::RunContext;
use crate::plan::{PlannedEnvironment, PlannedWork, RunPlan};
use crate::request::RunRequest;
use crate::run::Host;

/// What is to be made, and of what.
#[derive(Debug, Clone, Copy)]
pub struct EnvironmentOrder<'a> {
    /// Which one.
    pub environment: &'a PlannedEnvironment,
    /// The workspace.
    pub workspace: &'a Path,
    /// How its snapshot is taken.
    pub snapshot: SnapshotStrategyChoice,
    /// Whether one that is there is made once more.
    pub again: bool,
}

/// An environment that is there.
#[derive(Debug)]
pub struct BuiltEnvironment {
    /// The environment, which stays as long as this is held.
    pub open: OpenEnvironment,
    /// What the host says about the run that made it, if it was made now.
    pub made: Option<Manifest>,
}

impl Host {
    /// Opens an environment, and makes it first where it is not there. Of several who want the same one, one makes it.
    pub fn build_environment(
        &self,
        order: &EnvironmentOrder<'_>,
        sink: &mut dyn EventSink,
        cancel: &ModelCancel,
    ) -> Result<BuiltEnvironment, HostError> {
        let EnvironmentOrder { environment, workspace, snapshot, again } = *order;
        let store = EnvironmentStore::of(&self.places);
        let digest = &environment.digest;
        let build = match store.claim(digest, again, cancel)? {
            EnvironmentClaim::Open(open) => return Ok(BuiltEnvironment { open, made: None }),
            EnvironmentClaim::Build(build) => build,
            EnvironmentClaim::Cancelled => {
                return Err(HostError::run(
                    "cancelled while another process makes the environment",
                    "run again",
                ));
            }
        };
        if current_digest(self, &environment.setup, workspace) != *digest {
            return Err(HostError::run(
                format!(
                    "the environment {} is not kept any more, and the files it went by have changed",
                    environment.short()
                ),
                "start the run anew; it will be planned with the environment of now",
            ));
        }
        let plan = self.setup_plan(environment, workspace, snapshot)?;
        let finished = self.run(plan, RunContext::new(sink, cancel));
        let finished = finished.inspect_err(|_| store.give_up(digest))?;
        let manifest = finished.manifest;
        if manifest.outcome != RunOutcome::Success {
            store.give_up(digest);
            return Err(failed(&manifest));
        }
        let open = build.open(&store, digest)?.ok_or_else(|| gone(environment))?;
        Ok(BuiltEnvironment { open, made: Some(manifest) })
    }

    /// The plan of the run that makes an environment. It is no mode's: its rights are to write to its own snapshot and to reach
    /// what the setup may reach.
    fn setup_plan(
        &self,
        environment: &PlannedEnvironment,
        workspace: &Path,
        snapshot: SnapshotStrategyChoice,
    ) -> Result<RunPlan, HostError> {
        let setup = &environment.setup;
        let mut plan = self.plan(&RunRequest {
            mode: Some("execute".into()),
            goal: Some(format!("Set up the environment: {}", setup.commands.join("; "))),
            workspace: Some(workspace.to_owned()),
            agent: Some("/bin/sh".into()),
            allow_net: setup.permits.clone(),
            fresh: true,
            part: true,
            auto_checks: false,
            sandbox: SandboxChoice::Native,
            snapshot,
            ..RunRequest::default()
        })?;
        plan.permits.retain(|permit| permit.granted_by.starts_with("flag "));
        plan.permits.iter_mut().for_each(|permit| permit.granted_by = setup.source.to_string());
        if plan.permits.is_empty() {
            plan.profile.network = NetworkReach::None;
        }
        // What a host's cache brings would be missing from what is kept.
        plan.profile.expose.caches = HostMountSetting::None;
        plan.profile.artifacts.required.clear();
        // A setup begins as after a fresh clone, whatever is installed in the workspace.
        plan.hide.extend(ignored_paths(workspace)?);
        // The others are told by whoever needs the environment.
        plan.warnings.retain(|warning| setup.permits.iter().any(|permit| warning.contains(permit.as_str())));
        plan.work = PlannedWork::Setup { environment: environment.clone() };
        Ok(plan)
    }
}

fn gone(environment: &PlannedEnvironment) -> HostError {
    HostError::run(
        format!("the environment {} was made, and is not there", environment.short()),
        "run again; if it stays so, remove the cache folder of Holon",
    )
}

/// Why there is none, from the manifest of the run that should have made it.
fn failed(manifest: &Manifest) -> HostError {
    let (why, hint) = match &manifest.error {
        Some(error) => (error.message.clone(), error.hint.clone()),
        None => ("it did not come to its end".to_owned(), None),
    };
    let run = manifest.run_id.as_str();
    let more = format!("`holon runs show {run}` has the rest; --fresh runs without the environment");
    HostError::run(
        format!("the environment could not be made: {why}"),
        hint.map_or(more.clone(), |hint| format!("{hint}; {more}")),
    )
}
