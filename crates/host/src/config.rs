//! Reads the layers of the configuration: the user's file, the workspace's, the environment.

mod files;

use std::io;
use std::path::Path;

use holon_core::config::{ConfigLayer, ConfigSource, ResolvedConfig, known};
use holon_core::mode::{self, ModeCatalog};
use holon_core::suggest;

use crate::error::HostError;
use crate::holon_folders::HolonFolders;
use crate::modes::read_of;
use crate::run::HostEnvironment;

pub use files::{ConfigurationFiles, WorkspaceConfiguration};

/// Modes that can be named in the configuration without a file of their own.
const MODES: [&str; 6] = ["orchestrate", "architect", "code", "review", "debug", "ethical"];

/// What holds for a workspace; a file that cannot be used is an error that names it.
pub fn read(
    places: &HolonFolders,
    workspace: &Path,
    env: &HostEnvironment,
) -> Result<ResolvedConfig, HostError> {
    ConfigurationFiles::new(places).of(workspace)?.merged(env)
}

/// What the user alone says, wherever the work is: their file and the environment.
pub fn of_user(places: &HolonFolders, env: &HostEnvironment) -> Result<ResolvedConfig, HostError> {
    ConfigurationFiles::new(places).of_user(env)
}

pub(crate) fn environment(env: &HostEnvironment) -> Vec<ConfigLayer> {
    let variables: Vec<(String, String)> = variables()
        .filter_map(|name| Some((name.clone(), env(&name)?.into_string().ok()?)))
        .filter(|(_, value)| !value.trim().is_empty())
        .collect();
    ConfigLayer::from_variables(variables.iter().map(|(n, v)| (n.as_str(), v.as_str())))
}

/// The name a mode has in the configuration.
pub fn name_of_mode(mode: &str) -> &str {
    if mode == "execute" { "code" } else { mode }
}

/// What to tell about a mode that is asked for by the name it had in a former release; where those are errors, one.
pub(crate) fn former_mode(config: &ResolvedConfig, mode: &str) -> Result<Option<String>, HostError> {
    config.former_mode(mode).map_err(wrong)
}

/// What to tell about sections for modes that have no effect: the mode is not there, or has another name here, or a model is
/// to be pinned that nobody names.
pub fn mode_warnings(config: &ResolvedConfig, catalog: &ModeCatalog) -> Vec<String> {
    let known: Vec<String> = catalog.list().into_iter().map(|mode| mode.name).collect();
    let mut told = Vec::new();
    for mode in config.modes() {
        let key = |key: &str| config.text(&format!("modes.{mode}.{key}"));
        let canonical = catalog.canonical(mode);
        let right = canonical.map(name_of_mode).filter(|right| *right != mode && !MODES.contains(&mode));
        if let Some(right) = right {
            told.push(format!(
                "[modes.{mode}] in the configuration has no effect: here the mode is called `{right}`; write [modes.{right}]"
            ));
        } else if canonical.is_none() && !MODES.contains(&mode) {
            let near = suggest::hint(mode, MODES.into_iter().chain(known.iter().map(String::as_str)));
            told.push(format!(
                "[modes.{mode}] in the configuration has no effect: there is no mode `{mode}`{near}"
            ));
        } else if key("model_policy").as_deref() == Some("pinned") && key("model").is_none() {
            told.push(format!(
                "`modes.{mode}.model_policy` is \"pinned\", and no `modes.{mode}.model` is named: a model is chosen, as with \"auto\""
            ));
        }
    }
    told
}

/// The variables that can say something: one for each key, and for the keys of modes one for each mode.
pub fn variables() -> impl Iterator<Item = String> {
    let spelled = |name: &str| format!("HOLON_{}", name.to_ascii_uppercase().replace('.', "__"));
    known().iter().flat_map(move |key| match key.name.split_once('*') {
        Some((before, after)) => {
            MODES.iter().map(|mode| spelled(&format!("{before}{mode}{after}"))).collect()
        }
        None => vec![spelled(&key.name)],
    })
}

/// A file as a layer; nothing when there is none.
pub(crate) fn file(path: &Path, source: ConfigSource) -> Result<Option<ConfigLayer>, HostError> {
    let whose = if matches!(source, ConfigSource::User { .. }) {
        mode::ModeSource::User
    } else {
        mode::ModeSource::Project
    };
    let text = match read_of(whose, path) {
        Ok(text) => text,
        Err(HostError::Io { source: answer, .. })
            if matches!(answer.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    ConfigLayer::parse(source, &text).map(Some).map_err(wrong)
}

pub(crate) fn wrong(error: holon_core::config::ConfigError) -> HostError {
    HostError::usage(
        error.to_string(),
        "docs/configuration.md lists every key; `holon config show` what holds",
    )
}
