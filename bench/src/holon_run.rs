//! `holon run` from outside, as a user starts it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use holon_sandbox::snapshot::remove_tree;

use crate::BenchFailure;
use crate::command::time;
use crate::scratch::BenchContext;
use crate::tree::BenchTree;

/// Runs the same agent on the same tree again and again.
pub(crate) struct HolonRun {
    holon: PathBuf,
    workspace: PathBuf,
    agent: PathBuf,
    folder: PathBuf,
    /// How many files its patch must have.
    changes: usize,
}

impl HolonRun {
    /// An agent that first does what `script` says in the workspace and then writes its summary.
    pub(crate) fn new(
        bench: &BenchContext,
        name: &str,
        tree: &BenchTree,
        script: &str,
        changes: usize,
    ) -> Result<Self, BenchFailure> {
        let folder = bench.new_folder(name)?;
        let agent = folder.join("agent.sh");
        let text =
            format!("#!/bin/sh\n{script}\necho 'The bench was here.' > \"$HOLON_OUTPUT_DIR/summary.md\"\n");
        fs::write(&agent, text)
            .and_then(|()| fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)))
            .map_err(|e| format!("cannot write {}: {e}", agent.display()))?;
        Ok(Self { holon: bench.holon.clone(), workspace: tree.path.clone(), agent, folder, changes })
    }

    /// The command, with state, cache and configuration in a folder of its own.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.holon);
        command.args(["run", "--mode", "execute", "--goal", "Measure", "--agent"]).arg(&self.agent);
        command.arg("--workspace").arg(&self.workspace).arg("--out").arg(self.out());
        hermetic(&mut command, &self.folder);
        command
    }

    /// Another command of holon's on the same state.
    pub(crate) fn holon<const N: usize>(&self, arguments: [&str; N]) -> Command {
        let mut command = Command::new(&self.holon);
        hermetic(&mut command, &self.folder);
        command.args(arguments).current_dir(&self.workspace);
        command
    }

    /// A file that the run delivered.
    pub(crate) fn delivered(&self, name: &str) -> PathBuf {
        self.out().join(name)
    }

    /// Where its caches are.
    pub(crate) fn cache(&self) -> PathBuf {
        self.folder.join("cache")
    }

    /// One whole run, checked afterwards.
    pub(crate) fn turn(&mut self) -> Result<Duration, BenchFailure> {
        let time = time(&mut self.command())?;
        self.check()?;
        self.clear();
        Ok(time)
    }

    /// Whether the last run delivered what it should.
    pub(crate) fn check(&self) -> Result<(), BenchFailure> {
        let path = self.out().join("diff.patch");
        let patch = fs::read(&path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
        let files =
            patch.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"diff --git ")).count();
        if files == self.changes {
            Ok(())
        } else {
            Err(format!("a patch of {files} files, not of {}", self.changes))
        }
    }

    /// Every run starts from an empty store; what is probed once per machine stays.
    pub(crate) fn clear(&self) {
        let _ = remove_tree(&self.out());
        let _ = remove_tree(&self.folder.join("state"));
    }

    fn out(&self) -> PathBuf {
        self.folder.join("out")
    }
}

/// No variable of the caller but PATH; state, cache and configuration below `folder`.
pub(crate) fn hermetic(command: &mut Command, folder: &Path) {
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", folder);
    for (name, place) in
        [("XDG_STATE_HOME", "state"), ("XDG_CACHE_HOME", "cache"), ("XDG_CONFIG_HOME", "config")]
    {
        command.env(name, folder.join(place));
    }
    command.current_dir(folder);
}
