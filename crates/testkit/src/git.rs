//! Running git for tests: a fixed identity, fixed dates, no configuration of the machine.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

/// When every test commit is made.
const DATE: &str = "2024-01-02T03:04:05Z";

/// A `git` command in `dir` that neither the machine's configuration nor the caller's variables can change.
pub fn git_command(dir: &Path) -> Command {
    let mut command = Command::new("git");
    command.env_clear().current_dir(dir).stdin(Stdio::null());
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    // Folders may belong to the ordinary user that root's tests play.
    command.args(["-c", "safe.directory=*", "-c", "protocol.file.allow=always", "-c", "gc.auto=0"]);
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "Test");
        command.env(format!("GIT_{role}_EMAIL"), "test@example.com");
        command.env(format!("GIT_{role}_DATE"), DATE);
    }
    command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0");
    if let Some(parent) = dir.parent() {
        // A plain folder must not find a repository somewhere above it.
        command.env("GIT_CEILING_DIRECTORIES", parent);
    }
    command
}

/// Runs git in `dir` and returns its standard output; panics when it fails.
#[track_caller]
pub fn run_git<I, S>(dir: &Path, args: I) -> String
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    finish(git_command(dir).args(args)).unwrap_or_else(|error| panic!("{error}"))
}

/// Applies a patch with plain `git apply`, as a reader of the patch would; the error is what git said.
pub fn apply_patch_plain(dir: &Path, patch: &Path) -> Result<(), String> {
    // An empty patch is a valid delivery, and git refuses empty input.
    if patch.metadata().is_ok_and(|meta| meta.len() == 0) {
        return Ok(());
    }
    finish(git_command(dir).arg("apply").arg(patch)).map(drop)
}

pub(crate) fn finish(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("cannot start git: {error}"))?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        Ok(said(&output.stdout))
    } else {
        Err(format!(
            "{command:?} failed ({}): {}{}",
            output.status,
            said(&output.stdout),
            said(&output.stderr)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TestEnv, assert_same_trees, copy_tree};

    #[test]
    fn commits_are_the_same_everywhere() {
        let head = |env: &TestEnv| env.repo().file("a", "1\n").commit("first").git(["rev-parse", "HEAD"]);
        let one = head(&TestEnv::new("/bin/true"));
        let other = head(&TestEnv::as_ordinary("/bin/true"));
        assert_eq!(one, other);
    }

    #[test]
    fn a_patch_applies_to_a_plain_copy() {
        let env = TestEnv::as_ordinary("/bin/true");
        let repo = env.repo().file("a", "1\n").commit("first");
        let copy = env.work().join("copy");
        copy_tree(repo.path(), &copy);
        let repo = repo.file("a", "2\n");
        let patch = env.write("work/p.patch", repo.git(["diff"]));
        apply_patch_plain(&copy, &patch).unwrap();
        assert_same_trees(repo.path(), &copy);
        assert!(apply_patch_plain(&copy, &patch).unwrap_err().contains("patch does not apply"));
    }
}
