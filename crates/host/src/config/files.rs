//! The files of the configuration, each opened once however often it is asked for.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holon_core::config::{ConfigLayer, ConfigSource, ResolvedConfig, merge};
use toml::{Table, Value};

use super::{environment, file, wrong};
use crate::error::HostError;
use crate::holon_folders::HolonFolders;
use crate::run::HostEnvironment;

/// Reads the user's `config.toml` once, and the `holon.toml` of each workspace once for as long as it stays the same file.
/// Whatever one command does shares one of these, so that all of it goes by the same configuration.
#[derive(Debug)]
pub struct ConfigurationFiles {
    user_file: PathBuf,
    user: Mutex<Option<Option<ConfigLayer>>>,
    projects: Mutex<BTreeMap<PathBuf, (FileIdentity, ConfigLayer)>>,
    opened: AtomicU64,
}

/// The configuration of one workspace, as it was when a run was worked out.
#[derive(Debug, Clone)]
pub struct WorkspaceConfiguration {
    /// The user's file.
    pub user_file: PathBuf,
    /// The workspace's file.
    pub project_file: PathBuf,
    user: Option<ConfigLayer>,
    project: Option<ConfigLayer>,
}

/// By what a file is known again without being opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileIdentity {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl ConfigurationFiles {
    /// Nothing is read before it is asked for.
    pub fn new(places: &HolonFolders) -> Self {
        Self {
            user_file: places.config.join("config.toml"),
            user: Mutex::default(),
            projects: Mutex::default(),
            opened: AtomicU64::new(0),
        }
    }

    /// The same, to be shared.
    pub fn shared(places: &HolonFolders) -> Arc<Self> {
        Arc::new(Self::new(places))
    }

    /// What holds in a workspace.
    pub fn of(&self, workspace: &Path) -> Result<WorkspaceConfiguration, HostError> {
        let project_file = workspace.join("holon.toml");
        Ok(WorkspaceConfiguration {
            user: self.user()?,
            project: self.project(&project_file)?,
            user_file: self.user_file.clone(),
            project_file,
        })
    }

    /// What the user alone says, wherever the work is: their file and the environment.
    pub fn of_user(&self, env: &HostEnvironment) -> Result<ResolvedConfig, HostError> {
        let layers: Vec<ConfigLayer> = self.user()?.into_iter().chain(environment(env)).collect();
        merge(&layers).map_err(wrong)
    }

    /// The value of a variable that the user's file gives to a tool server. Plans name such variables and hold no value.
    pub fn server_variable(&self, server: &str, variable: &str) -> Result<Option<String>, HostError> {
        let Some(user) = self.user()? else { return Ok(None) };
        let value = ["mcp", server, "env", variable]
            .iter()
            .try_fold(&Value::Table(user.table), |value, key| value.get(key))
            .and_then(Value::as_str)
            .map(str::to_owned);
        Ok(value)
    }

    /// How many files were opened so far.
    pub fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    fn user(&self) -> Result<Option<ConfigLayer>, HostError> {
        let mut known = lock(&self.user);
        if let Some(user) = &*known {
            return Ok(user.clone());
        }
        let source = ConfigSource::User { path: self.user_file.display().to_string() };
        let user = self.open(&self.user_file, source)?;
        *known = Some(user.clone());
        Ok(user)
    }

    fn project(&self, path: &Path) -> Result<Option<ConfigLayer>, HostError> {
        let identity = fs::symlink_metadata(path).ok().map(|meta| FileIdentity::of(&meta));
        let mut known = lock(&self.projects);
        if let (Some(identity), Some((before, layer))) = (identity, known.get(path))
            && *before == identity
        {
            return Ok(Some(layer.clone()));
        }
        let project = self.open(path, ConfigSource::Project { path: path.display().to_string() })?;
        match (&project, identity) {
            (Some(layer), Some(identity)) => drop(known.insert(path.to_owned(), (identity, layer.clone()))),
            _ => drop(known.remove(path)),
        }
        Ok(project)
    }

    fn open(&self, path: &Path, source: ConfigSource) -> Result<Option<ConfigLayer>, HostError> {
        self.opened.fetch_add(1, Ordering::Relaxed);
        file(path, source)
    }
}

impl WorkspaceConfiguration {
    /// The layers over one another: the user's file, the workspace's, the environment.
    pub fn merged(&self, env: &HostEnvironment) -> Result<ResolvedConfig, HostError> {
        let mut layers: Vec<ConfigLayer> = self.user.iter().chain(&self.project).cloned().collect();
        layers.extend(environment(env));
        merge(&layers).map_err(wrong)
    }

    /// A section of the user's file that has its own rules.
    pub(crate) fn user_section(&self, name: &str) -> Result<Option<Table>, HostError> {
        section(self.user.as_ref(), &self.user_file, name)
    }

    /// A section of the workspace's file that has its own rules.
    pub(crate) fn project_section(&self, name: &str) -> Result<Option<Table>, HostError> {
        section(self.project.as_ref(), &self.project_file, name)
    }
}

impl FileIdentity {
    fn of(meta: &Metadata) -> Self {
        Self {
            device: meta.dev(),
            inode: meta.ino(),
            bytes: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

fn section(layer: Option<&ConfigLayer>, path: &Path, name: &str) -> Result<Option<Table>, HostError> {
    match layer.and_then(|layer| layer.table.get(name)) {
        None => Ok(None),
        Some(Value::Table(section)) => Ok(Some(section.clone())),
        Some(_) => Err(HostError::usage(
            format!("{}: `{name}` is not a table", path.display()),
            format!("write it as [{name}]"),
        )),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn each_file_is_opened_once_and_a_changed_one_of_a_workspace_anew() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let places = HolonFolders { state: at("s"), cache: at("h"), config: at("c"), home: None };
        fs::create_dir(at("c")).unwrap();
        fs::create_dir(at("w")).unwrap();
        fs::write(at("c/config.toml"), "[mcp.a]\ncommand = ['a']\nenv = { TOKEN = 'v' }\n").unwrap();
        fs::write(at("w/holon.toml"), "[supervisor]\nlevel = 'strict'\n").unwrap();
        let files = ConfigurationFiles::new(&places);
        for _ in 0..3 {
            let here = files.of(&at("w")).unwrap();
            assert!(here.user_section("mcp").unwrap().is_some());
            assert_eq!(
                here.project_section("supervisor").unwrap().unwrap()["level"].as_str(),
                Some("strict")
            );
            files.of_user(&|_: &str| None).unwrap();
        }
        assert_eq!(files.opened(), 2);
        assert_eq!(files.server_variable("a", "TOKEN").unwrap().as_deref(), Some("v"));
        assert_eq!(files.server_variable("a", "OTHER").unwrap(), None);
        fs::write(at("w/new"), "[supervisor]\nlevel = 'off'\n").unwrap();
        fs::rename(at("w/new"), at("w/holon.toml")).unwrap();
        let here = files.of(&at("w")).unwrap();
        assert_eq!(here.project_section("supervisor").unwrap().unwrap()["level"].as_str(), Some("off"));
        assert_eq!(files.opened(), 3, "the workspace's file is another one now");
    }
}
