//! Which environment a workspace wants, and whether it may have it.

use std::path::Path;

use holon_core::mode::NetworkReach;
use holon_environment::{
    EnvironmentKey, EnvironmentSettings, EnvironmentSetup, SettingsError, SetupSource, SetupStanding,
    UserEnvironmentSettings, choose_setup, inputs_of,
};
use holon_network::PermitRule;
use holon_sandbox::fallback::SandboxChoice;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use super::TrustFile;
use super::files::WorkspaceFiles;
use super::toolchains;
use crate::adapter::{AdapterKind, ResolvedAgent};
use crate::config::WorkspaceConfiguration;
use crate::error::HostError;
use crate::plan::PlannedEnvironment;
use crate::request::RunRequest;
use crate::run::Host;

/// The section of the configuration.
const SECTION: &str = "environment";

/// The environment of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectEnvironment {
    /// How it is set up.
    pub setup: EnvironmentSetup,
    /// Whether it may be.
    pub standing: SetupStanding,
    /// By what it is known.
    pub digest: String,
    /// The files it goes by.
    pub inputs: Vec<String>,
}

/// What a run does about it.
#[derive(Debug, Default)]
pub(crate) struct EnvironmentChoice {
    pub(crate) planned: Option<PlannedEnvironment>,
    pub(crate) warnings: Vec<String>,
}

/// Looks which environment a workspace wants; `agreed_for` is the workspace that the user agreed to a setup of.
pub fn look(
    host: &Host,
    configuration: &WorkspaceConfiguration,
    workspace: &Path,
    agreed_for: &Path,
) -> Result<Option<ProjectEnvironment>, HostError> {
    let user_file = configuration.user_file.display().to_string();
    let project_file = configuration.project_file.display().to_string();
    let user: UserEnvironmentSettings = read(configuration.user_section(SECTION)?, &user_file)?;
    let user = user.of(&agreed_for.to_string_lossy());
    user.check().map_err(|wrong| unusable(&user_file, &wrong))?;
    let project: EnvironmentSettings = read(configuration.project_section(SECTION)?, &project_file)?;
    project.check().map_err(|wrong| unusable(&project_file, &wrong))?;
    let files = WorkspaceFiles(workspace);
    let Some(setup) = choose_setup((user, user_file), (project, "holon.toml".into()), &files) else {
        return Ok(None);
    };
    for permit in &setup.permits {
        PermitRule::parse(permit).map_err(|error| {
            HostError::usage(
                format!("`allow` of [{SECTION}] in {}: {error}", setup.source),
                "docs/network.md says what a permit can be",
            )
        })?;
    }
    let trust = match setup.source.is_of_repository() {
        true => TrustFile::of(&host.places).read()?,
        false => Default::default(),
    };
    let standing = trust.standing(&agreed_for.to_string_lossy(), &setup);
    let inputs = inputs_of(&setup, &files);
    Ok(Some(ProjectEnvironment { digest: digest_of(host, &setup, &inputs, &files), setup, standing, inputs }))
}

/// The digest of what a setup would leave in a workspace as it is now.
pub(crate) fn current_digest(host: &Host, setup: &EnvironmentSetup, workspace: &Path) -> String {
    let files = WorkspaceFiles(workspace);
    digest_of(host, setup, &inputs_of(setup, &files), &files)
}

fn digest_of(host: &Host, setup: &EnvironmentSetup, inputs: &[String], files: &WorkspaceFiles<'_>) -> String {
    let digest = |name: &String| Some((name.clone(), files.digest(name)?));
    let key = EnvironmentKey {
        inputs: inputs.iter().filter_map(digest).collect(),
        toolchains: toolchains::stamps(&setup.commands, &*host.env, host.places.home.as_deref()),
        machine: machine(),
        image: None,
        commands: setup.commands.clone(),
    };
    key.digest()
}

/// The processor, and whether root mounts: the kernel looks for its marks in other places then.
fn machine() -> String {
    let by = if rustix::process::geteuid().is_root() { "root" } else { "user" };
    format!("{} {by}", std::env::consts::ARCH)
}

/// What a run stands on: nothing where nothing is wanted, agreed to, or possible.
pub(crate) fn for_run(
    host: &Host,
    request: &RunRequest,
    configuration: &WorkspaceConfiguration,
    workspace: &Path,
    (sandbox, agent): (SandboxChoice, &ResolvedAgent),
) -> Result<EnvironmentChoice, HostError> {
    let mut choice = EnvironmentChoice::default();
    if request.fresh {
        return Ok(choice);
    }
    let agreed_for = match &request.environment_of {
        Some(original) => original.canonicalize().unwrap_or_else(|_| original.clone()),
        None => workspace.to_owned(),
    };
    let Some(found) = look(host, configuration, workspace, &agreed_for)? else { return Ok(choice) };
    if !found.standing.may_run() {
        // What only files suggest is offered by `holon environment show`, and nobody asked for it.
        if let SetupSource::Project { file } = &found.setup.source {
            choice.warnings.push(format!(
                "{file} asks for a setup that you have not agreed to, so the run does without ({}); `holon environment trust` shows \
                 it and asks you",
                found.setup.commands.join("; ")
            ));
        }
        return Ok(choice);
    }
    let native = matches!(sandbox, SandboxChoice::Auto | SandboxChoice::Native);
    let container = agent.adapter.kind == AdapterKind::Image || agent.image.is_some();
    if !native || container {
        let what = if container { "oci" } else { sandbox.name() };
        return Err(HostError::usage(
            format!(
                "--sandbox {what} cannot stand on the environment of this project: only native walls can"
            ),
            "add --fresh to run without it, or leave --sandbox and --image out",
        ));
    }
    if request.network == Some(NetworkReach::Host) {
        choice.warnings.push(
            "with --network host, what the environment brings may be changed by what is fetched".into(),
        );
    }
    choice.planned = Some(PlannedEnvironment { digest: found.digest, setup: found.setup });
    Ok(choice)
}

fn read<T: DeserializeOwned + Default>(section: Option<Table>, file: &str) -> Result<T, HostError> {
    let Some(section) = section else { return Ok(T::default()) };
    Value::Table(section).try_into().map_err(|e: toml::de::Error| {
        HostError::usage(
            format!("{file}: [{SECTION}]: {}", e.message()),
            "it takes `setup`, `allow` and `inputs`, each a list of texts; docs/environments.md shows them",
        )
    })
}

fn unusable(file: &str, wrong: &SettingsError) -> HostError {
    HostError::usage(format!("{file}: [{SECTION}]: {wrong}"), "docs/environments.md says what it takes")
}
