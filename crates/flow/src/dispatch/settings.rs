//! What the configuration says about everything that is dispatched.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holon_core::config::ResolvedConfig;
use holon_host::plan::{BreakerLimits, DayLimits};
use holon_host::{HostError, RunPlan};

use super::breaker::{BreakerRule, private_folder};

/// What holds for one workspace.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DispatchSettings {
    /// When work that keeps failing is refused.
    pub breaker: BreakerRule,
    /// Where logs and reports of modes go.
    pub logs: LogLocation,
    /// What all runs of a day may cost.
    pub day: DayLimits,
}

impl DispatchSettings {
    /// From a plan.
    pub fn of_plan(plan: &RunPlan) -> Result<Self, HostError> {
        Self::from_parts(plan.breaker, plan.day, plan.logs.clone(), &plan.workspace)
    }

    /// From a configuration that was read for this workspace.
    pub fn of(config: &ResolvedConfig, workspace: &Path) -> Result<Self, HostError> {
        let breaker = BreakerLimits {
            failures: config.number("breaker.failures"),
            cool_down_seconds: config.number("breaker.cool_down_seconds"),
        };
        Self::from_parts(breaker, DayLimits::of(config), config.text("artifacts.logs_dir"), workspace)
    }

    fn from_parts(
        breaker: BreakerLimits,
        day: DayLimits,
        logs: Option<String>,
        workspace: &Path,
    ) -> Result<Self, HostError> {
        let usual = BreakerRule::default();
        let failures = breaker.failures.map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        let cool_down = breaker.cool_down_seconds.map(Duration::from_secs);
        let breaker = BreakerRule {
            failures: failures.unwrap_or(usual.failures),
            cool_down: cool_down.unwrap_or(usual.cool_down),
        };
        let logs = match logs {
            Some(folder) => LogLocation::Workspace { workspace: workspace.to_owned(), folder },
            None => LogLocation::State,
        };
        logs.check()?;
        Ok(Self { breaker, logs, day })
    }
}

/// Where logs and reports of modes go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum LogLocation {
    /// Below `logs` in the state folder.
    #[default]
    State,
    /// Below a folder of the workspace, because the user wants them there.
    Workspace {
        /// The workspace.
        workspace: PathBuf,
        /// The folder, as the configuration names it.
        folder: String,
    },
}

impl LogLocation {
    /// Finds out before anything starts whether a link would lead the logs elsewhere.
    fn check(&self) -> Result<(), HostError> {
        let Self::Workspace { workspace, folder } = self else { return Ok(()) };
        let mut path = workspace.clone();
        for name in folder.split('/') {
            path.push(name);
            match fs::symlink_metadata(&path) {
                Ok(meta) if meta.is_dir() => {}
                Ok(_) => return Err(no_folder(&path)),
                Err(e) if e.kind() == io::ErrorKind::NotFound => break,
                Err(e) => return Err(HostError::io("look at", &path)(e)),
            }
        }
        Ok(())
    }

    /// The folder `parts` below it, made where it is not there. No link is followed inside a workspace: whoever wrote the
    /// repository could have put one where the next log goes.
    pub(crate) fn folder(&self, state: &Path, parts: &[&str]) -> Result<PathBuf, HostError> {
        let Self::Workspace { workspace, folder } = self else {
            let path = parts.iter().fold(state.join("logs"), |path, part| path.join(part));
            private_folder(&path)?;
            return Ok(path);
        };
        let mut path = workspace.clone();
        for name in folder.split('/').chain(parts.iter().copied()) {
            path.push(name);
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(HostError::io("create", &path)(e));
                }
                _ => {}
            }
            let meta = fs::symlink_metadata(&path).map_err(HostError::io("look at", &path))?;
            if !meta.is_dir() {
                return Err(no_folder(&path));
            }
        }
        Ok(path)
    }
}

fn no_folder(path: &Path) -> HostError {
    HostError::usage(
        format!("artifacts.logs_dir: {} is no folder, and a link is not followed", path.display()),
        "remove it, or name another folder",
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn logs_stay_in_the_workspace() {
        let temp = tempfile::tempdir().unwrap();
        let (state, workspace) = (temp.path().join("state"), temp.path().join("work"));
        fs::create_dir_all(workspace.join("logs")).unwrap();
        let logs =
            |folder: &str| LogLocation::Workspace { workspace: workspace.clone(), folder: folder.into() };
        let made = logs("logs").folder(&state, &["review", "t-1", "r"]).unwrap();
        assert_eq!(made, workspace.join("logs/review/t-1/r"));
        assert!(made.is_dir() && !state.exists());
        assert_eq!(LogLocation::State.folder(&state, &["a"]).unwrap(), state.join("logs/a"));

        // A link anywhere on the way ends it, and nothing is made behind it.
        let outside = temp.path().join("outside");
        fs::create_dir(&outside).unwrap();
        symlink(&outside, workspace.join("logs/execute")).unwrap();
        symlink(&outside, workspace.join("link")).unwrap();
        logs("logs").check().unwrap();
        assert!(logs("logs").folder(&state, &["execute", "t-1"]).is_err());
        for folder in ["link", "link/deeper", "logs/execute"] {
            let error = logs(folder).check().unwrap_err().to_string();
            assert!(error.contains("a link is not followed"), "{error}");
            assert!(logs(folder).folder(&state, &["a"]).is_err());
        }
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    }
}
