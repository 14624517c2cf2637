//! What the process was given: the environment, the current folder, the terminal.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use holon_core::config::ResolvedConfig;
use holon_host::store::RunStore;
use holon_host::{ConfigurationFiles, HolonFolders};

use crate::failure::CliFailure;
use crate::terminal::Terminal;

/// Read once at the start; commands take everything from here.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    /// The two output streams.
    pub(crate) terminal: Terminal,
    /// The files of the configuration, which one command opens once.
    configuration: Arc<OnceLock<Arc<ConfigurationFiles>>>,
}

impl Session {
    /// From the process as it was started; `--no-color` and `--log-format` count before anything can be printed.
    pub(crate) fn from_process(args: &[OsString]) -> Self {
        let own: Vec<&OsString> = args.iter().take_while(|arg| *arg != "--").collect();
        let no_color = own.iter().any(|arg| *arg == "--no-color");
        let after = own.windows(2).filter(|pair| pair[0] == "--log-format").map(|pair| pair[1]);
        let joined = own.iter().filter_map(|arg| arg.to_str()?.strip_prefix("--log-format="));
        let format = after.filter_map(|arg| arg.to_str()).chain(joined).last();
        Self { terminal: Terminal::detect(&variable, no_color, format), configuration: Arc::default() }
    }

    /// The folders of Holon.
    pub(crate) fn places(&self) -> Result<HolonFolders, CliFailure> {
        Ok(HolonFolders::from_env(&variable)?)
    }

    /// The files of the configuration, shared by everything this command does.
    pub(crate) fn configuration(&self) -> Result<Arc<ConfigurationFiles>, CliFailure> {
        let places = self.places()?;
        Ok(Arc::clone(self.configuration.get_or_init(|| ConfigurationFiles::shared(&places))))
    }

    /// What holds for a workspace.
    pub(crate) fn settings(&self, workspace: &Path) -> Result<ResolvedConfig, CliFailure> {
        Ok(self.configuration()?.of(workspace)?.merged(&variable)?)
    }

    /// The folder to work on, by its real path.
    pub(crate) fn workspace(&self, given: Option<&Path>) -> Result<PathBuf, CliFailure> {
        let path = given.unwrap_or(Path::new("."));
        let real = path.canonicalize().map_err(|e| {
            CliFailure::user(
                format!("workspace {}: {e}", path.display()),
                "give an existing folder with --workspace",
            )
        })?;
        if real.is_dir() {
            return Ok(real);
        }
        Err(CliFailure::user(
            format!("workspace {} is not a folder", path.display()),
            "give an existing folder with --workspace",
        ))
    }

    /// The runs of a workspace, after marking those whose process died.
    pub(crate) fn store(&self, workspace: Option<&Path>) -> Result<RunStore, CliFailure> {
        let store = RunStore::of(&self.places()?, &self.workspace(workspace)?);
        // A store that cannot be written can still be read.
        if let Err(error) = store.sweep() {
            self.terminal.say(&format!("warning: {error}"));
        }
        Ok(store)
    }
}

/// A variable of the environment.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Variables that are named like secrets, with their values, so that these can be kept out of everything written.
pub(crate) fn secrets() -> Vec<(String, String)> {
    let secret = |name: &str| {
        let name = name.to_ascii_uppercase();
        ["_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_PASSWD", "_CREDENTIALS"]
            .iter()
            .any(|end| name.ends_with(end))
    };
    let text = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let headers = variable("OTEL_EXPORTER_OTLP_HEADERS").and_then(|value| value.into_string().ok());
    let headers = headers.iter().flat_map(|headers| holon_telemetry::header_values(headers));
    let headers = headers.map(|value| ("OTEL_EXPORTER_OTLP_HEADERS".to_owned(), value));
    // A short value is a switch or a path more often than a secret, and would blot out ordinary text.
    text.filter(|(name, _)| secret(name)).chain(headers).filter(|(_, value)| value.len() >= 12).collect()
}
