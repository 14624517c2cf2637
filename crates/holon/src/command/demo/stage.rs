//! The demo's temporary folder: the sample repository, the cassettes, and a run store of its own.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use holon_git::Git;
use holon_host::{ConfigurationFiles, HolonFolders, Host, HostError};
use holon_sandbox::isolation::Launcher;
use tempfile::TempDir;

use crate::failure::CliFailure;
use crate::session::{self, Session};

macro_rules! files {
    ($folder:literal, $($name:literal),*) => {
        &[$(($name, include_str!(concat!("../../../demo/", $folder, "/", $name)))),*]
    };
}

const SAMPLE: &[(&str, &str)] = files!("sample", "README.md", "slug.sh", "test.sh");
const AGENTS: &[(&str, &str)] = files!("agents", "intruder.sh", "idle.sh");
const CASSETTES: &[(&str, &str)] = files!("cassettes", "plan.yaml", "execute.yaml", "review.yaml");

/// Everything of one demo; gone when removed or dropped.
pub(super) struct DemoStage {
    root: TempDir,
    pub(super) host: Host,
    pub(super) git: Git,
    /// Cassettes that are played instead of the bundled ones.
    cassettes: Option<PathBuf>,
}

impl DemoStage {
    /// Writes the files and makes the repository.
    pub(super) fn build(session: &Session, cassettes: Option<&Path>) -> Result<Self, CliFailure> {
        let git = Git::find().map_err(HostError::from)?;
        for (folder, (name, _)) in
            cassettes.iter().flat_map(|folder| CASSETTES.iter().map(move |c| (folder, c)))
        {
            let path = folder.join(name);
            if !path.is_file() {
                let message = format!("{} is not there", path.display());
                let hint = "--cassettes takes a folder with plan.yaml, execute.yaml and review.yaml";
                return Err(CliFailure::user(message, hint));
            }
        }
        let temp = std::env::temp_dir();
        let root = tempfile::Builder::new()
            .prefix("holon-demo-")
            .tempdir_in(&temp)
            .map_err(|e| CliFailure::from(HostError::io("make a folder in", &temp)(e)))?;
        let real = root.path().canonicalize().map_err(CliFailure::io("read", root.path()))?;
        let places = HolonFolders {
            state: real.join("state"),
            cache: real.join("cache"),
            config: real.join("config"),
            home: session.places().ok().and_then(|places| places.home),
        };
        let configuration = ConfigurationFiles::shared(&places);
        let host = Host {
            places,
            launcher: Launcher::default(),
            env: Box::new(session::variable),
            secrets: Vec::new(),
            script: None,
            observer: None,
            configuration,
        };
        let cassettes = cassettes.map(Path::to_owned);
        let stage = Self { root, host, git, cassettes };
        write(&stage.sample(), SAMPLE, 0o644)?;
        write(&stage.folder("agents"), AGENTS, 0o755)?;
        write(&stage.folder("cassettes"), CASSETTES, 0o644)?;
        stage.commit()?;
        Ok(stage)
    }

    /// The sample repository.
    pub(super) fn sample(&self) -> PathBuf {
        self.folder("sample")
    }

    /// A copy of it, to try the patch on.
    pub(super) fn copy(&self) -> Result<PathBuf, CliFailure> {
        let copy = self.folder("copy");
        write(&copy, SAMPLE, 0o644)?;
        Ok(copy)
    }

    /// The run store.
    pub(super) fn state(&self) -> PathBuf {
        self.folder("state")
    }

    /// What the model says in a mode.
    pub(super) fn cassette(&self, mode: &str) -> PathBuf {
        self.cassettes.clone().unwrap_or_else(|| self.folder("cassettes")).join(format!("{mode}.yaml"))
    }

    /// One of the scripted agents.
    pub(super) fn agent(&self, name: &str) -> String {
        self.folder("agents").join(name).to_string_lossy().into_owned()
    }

    /// Leaves everything where it is.
    pub(super) fn keep(self) {
        let _ = self.root.keep();
    }

    /// Removes everything, also what an agent made hard to remove.
    pub(super) fn remove(self) {
        let _ = holon_sandbox::snapshot::remove_tree(self.root.path());
    }

    fn folder(&self, name: &str) -> PathBuf {
        // The real path: workspaces are known by theirs.
        self.host.places.state.with_file_name(name)
    }

    fn commit(&self) -> Result<(), CliFailure> {
        let sample = self.sample();
        let dot_git = sample.join(".git");
        let call = |args: &[&str]| {
            let call = self.git.call(args).dir(&sample).git_dir(&dot_git).work_tree(&sample);
            call.output().map(drop).map_err(HostError::from)
        };
        call(&["init", "--quiet", "--initial-branch=main", "--template="])?;
        call(&["add", "--all"])?;
        let me = ["-c", "user.name=Holon demo", "-c", "user.email=demo@example.com"];
        call(&[&me[..], &["commit", "--quiet", "--message=A slug maker with a failing test"]].concat())?;
        Ok(())
    }
}

fn write(folder: &Path, files: &[(&str, &str)], mode: u32) -> Result<(), CliFailure> {
    fs::create_dir_all(folder).map_err(CliFailure::io("create", folder))?;
    for (name, text) in files {
        let path = folder.join(name);
        let written =
            fs::write(&path, text).and_then(|()| fs::set_permissions(&path, Permissions::from_mode(mode)));
        written.map_err(CliFailure::io("write", &path))?;
    }
    Ok(())
}
