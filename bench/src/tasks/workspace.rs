//! The folders an agent works on, and the ones in which its work is judged.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::limited::{self, LimitedCommandEnd};
use super::task::{MeasuredTask, TaskKind};
use crate::{BenchFailure, command};

/// Copies a folder's content over another; what is not there yet is made.
pub(crate) fn lay(from: &Path, to: &Path) -> Result<(), BenchFailure> {
    let refuse = |e: std::io::Error| format!("cannot copy {}: {e}", from.display());
    fs::create_dir_all(to).map_err(refuse)?;
    for entry in fs::read_dir(from).map_err(refuse)? {
        let path = entry.map_err(refuse)?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        let kind = fs::symlink_metadata(&path).map_err(refuse)?.file_type();
        if kind.is_dir() {
            lay(&path, &target)?;
        } else if kind.is_file() {
            // An agent may have put a link or a folder where a test belongs.
            let _ = fs::remove_file(&target);
            fs::copy(&path, &target).map_err(refuse)?;
        }
    }
    Ok(())
}

/// A fresh repository of the task: committed, and for a review with the change laid over the commit.
pub(crate) fn prepare(task: &MeasuredTask, place: &Path) -> Result<(), BenchFailure> {
    lay(&task.part("repo"), place)?;
    if task.part("base").is_dir() {
        lay(&task.part("base"), place)?;
    }
    git(place, &["init", "--quiet", "--initial-branch=main"])?;
    git(place, &["add", "--all"])?;
    git(place, &["commit", "--quiet", "--message=Begin"])?;
    lay(&task.part("repo"), place)
}

/// Applies a patch that an agent delivered.
pub(crate) fn apply(patch: &Path, place: &Path) -> Result<(), BenchFailure> {
    let patch = patch.to_string_lossy();
    git(place, &["apply", "--binary", "--whitespace=nowarn", &patch])
}

fn git(place: &Path, arguments: &[&str]) -> Result<(), BenchFailure> {
    let mut git = Command::new("git");
    git.current_dir(place).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    for (who, name) in [("AUTHOR", "Bench"), ("COMMITTER", "Bench")] {
        git.env(format!("GIT_{who}_NAME"), name).env(format!("GIT_{who}_EMAIL"), "bench@example.org");
        git.env(format!("GIT_{who}_DATE"), "1700000000 +0000");
    }
    command::capture(git.args(arguments)).map(|_| ())
}

/// Where checks run: a home of their own, and caches that all of them share.
#[derive(Debug, Clone)]
pub(crate) struct GradingHome {
    home: PathBuf,
}

/// What became of a changed tree.
#[derive(Debug, Clone)]
pub(crate) struct GradedTree {
    /// The check the agent could see, with the tests as they were.
    pub(crate) visible: bool,
    /// The hidden tests.
    pub(crate) hidden: bool,
    /// What the first of them that failed said.
    pub(crate) said: String,
}

impl GradingHome {
    /// With its home in this folder.
    pub(crate) fn new(home: &Path) -> Result<Self, BenchFailure> {
        fs::create_dir_all(home).map_err(|e| format!("cannot make {}: {e}", home.display()))?;
        Ok(Self { home: home.to_owned() })
    }

    /// One command in a tree.
    pub(crate) fn run(
        &self,
        task: &MeasuredTask,
        line: &str,
        place: &Path,
    ) -> Result<LimitedCommandEnd, BenchFailure> {
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(place).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", &self.home);
        let own = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        for (name, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
            command.env(name, std::env::var_os(name).unwrap_or_else(|| own.join(folder).into()));
        }
        command.env("GOCACHE", self.home.join("go-build")).env("GOPATH", self.home.join("go"));
        command.env("GOFLAGS", "-mod=mod").env("GOPROXY", "off").env("GOTOOLCHAIN", "local");
        // Files are replaced within a second: compiled ones from before must not be taken for current.
        command.env("PYTHONDONTWRITEBYTECODE", "1").env("LC_ALL", "C.UTF-8");
        limited::run(&mut command, Duration::from_secs(task.limit_seconds))
    }

    /// Puts the tests back, lays the hidden ones in, and runs both commands.
    pub(crate) fn judge(&self, task: &MeasuredTask, place: &Path) -> Result<GradedTree, BenchFailure> {
        debug_assert_eq!(task.kind, TaskKind::Change);
        for test in &task.tests {
            let (from, to) = (task.part("repo").join(test), place.join(test));
            let _ = fs::remove_file(&to);
            fs::create_dir_all(to.parent().unwrap_or(place))
                .and_then(|()| fs::copy(&from, &to))
                .map_err(|e| format!("cannot put {test} back: {e}"))?;
        }
        let visible = self.run(task, &task.check, place)?;
        lay(&task.part("hidden"), place)?;
        let hidden = self.run(task, &task.hidden, place)?;
        let said = [&visible, &hidden].into_iter().find(|ended| !ended.good()).map(gist).unwrap_or_default();
        Ok(GradedTree { visible: visible.good(), hidden: hidden.good(), said })
    }
}

/// The last lines of what a command said.
pub(crate) fn gist(ended: &LimitedCommandEnd) -> String {
    let all = format!("{}\n{}", ended.stdout, ended.stderr);
    let lines: Vec<&str> = all.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let said = lines[lines.len().saturating_sub(3)..].join(" / ");
    let short: String = said.chars().take(300).collect();
    format!("{}: {short}", ended.word())
}
