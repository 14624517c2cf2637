//! `cargo xtask setup agents`: real agents for the long tests, pinned by version, outside of the tree.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::{XtaskFailure, process};

const AGENTS: &str = include_str!("../agents.toml");
/// The variable that names the folder; tests and `holon` itself look there too.
pub(crate) const FOLDER: &str = "HOLON_AGENTS_DIR";
/// How long installing one may take, in seconds.
const SECONDS: u64 = 600;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AgentPins {
    agent: Vec<AgentPin>,
}

/// An agent, and what happens without it.
#[derive(Deserialize, Debug, Clone, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct AgentPin {
    name: String,
    package: String,
    version: String,
    without: String,
    /// Installed only when asked for.
    #[serde(default)]
    optional: bool,
}

/// `cargo xtask setup agents`.
pub(crate) fn run() -> Result<(), XtaskFailure> {
    let (folder, missing) = install_missing(true)?;
    if missing.is_empty() {
        println!("setup: the agents are in {}; set {FOLDER} to it to use them", folder.display());
        return Ok(());
    }
    Err(missing.join("\n"))
}

/// Installs what the long tests drive and is not there yet; the folder, and a line for each that could not be had.
pub(crate) fn ensure() -> Result<(PathBuf, Vec<String>), XtaskFailure> {
    install_missing(false)
}

fn install_missing(optional: bool) -> Result<(PathBuf, Vec<String>), XtaskFailure> {
    let folder = folder().ok_or("neither HOLON_AGENTS_DIR, XDG_CACHE_HOME nor HOME is an absolute path")?;
    std::fs::create_dir_all(&folder)
        .map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    let mut missing = Vec::new();
    let wanted = |agent: &&AgentPin| (optional || !agent.optional) && !agent.is_in(&folder);
    for agent in parse(AGENTS)?.iter().filter(wanted) {
        eprintln!("setup: installing {} {}", agent.package, agent.version);
        if let Err(failure) = agent.install(&folder) {
            eprintln!("setup: {failure}");
            missing.push(format!("missing agent {}: {}", agent.name, agent.without));
        }
    }
    Ok((folder, missing))
}

fn folder() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = || absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    absolute(FOLDER).or_else(|| Some(cache()?.join("holon-test-agents")))
}

fn parse(text: &str) -> Result<Vec<AgentPin>, XtaskFailure> {
    let agents: AgentPins = toml::from_str(text).map_err(|error| format!("xtask/agents.toml: {error}"))?;
    Ok(agents.agent)
}

impl AgentPin {
    /// Whether exactly this version is installed.
    fn is_in(&self, folder: &Path) -> bool {
        let file = folder.join(&self.name).join("node_modules").join(&self.package).join("package.json");
        let package =
            std::fs::read(file).ok().and_then(|text| serde_json::from_slice::<serde_json::Value>(&text).ok());
        package.is_some_and(|package| package["version"] == self.version.as_str())
    }

    /// Installs it beside its place and puts it there in one step, so that a broken download leaves nothing behind.
    fn install(&self, folder: &Path) -> Result<(), XtaskFailure> {
        let work = tempfile::tempdir_in(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut npm = Command::new("npm");
        npm.args([
            "install",
            "--silent",
            "--no-audit",
            "--no-fund",
            "--no-update-notifier",
            "--engine-strict=false",
            "--prefix",
        ])
        .arg(work.path())
        .arg(format!("{}@{}", self.package, self.version));
        process::show(&mut process::with_deadline(SECONDS, &npm))?;
        let target = folder.join(&self.name);
        let _ = std::fs::remove_dir_all(&target);
        std::fs::rename(work.keep(), &target).map_err(|error| format!("{}: {error}", target.display()))?;
        open_to_all(&target)?;
        self.is_in(folder).then_some(()).ok_or_else(|| format!("{} was not installed", self.package))
    }
}

/// Tests run as other users too.
fn open_to_all(folder: &Path) -> Result<(), XtaskFailure> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755))
        .map_err(|error| format!("{}: {error}", folder.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_list_is_pinned() {
        let agents = parse(AGENTS).unwrap();
        for name in ["claude-code", "codex", "opencode"] {
            assert!(agents.iter().any(|agent| agent.name == name && !agent.optional), "{name}");
        }
        for agent in agents {
            assert!(agent.version.split('.').count() == 3 && !agent.without.is_empty(), "{}", agent.name);
        }
    }

    #[test]
    fn only_the_pinned_version_counts() {
        let folder = tempfile::tempdir().unwrap();
        let agent = AgentPin {
            name: "x".into(),
            package: "@a/x".into(),
            version: "1.2.3".into(),
            without: String::new(),
            optional: false,
        };
        let package = folder.path().join("x/node_modules/@a/x");
        std::fs::create_dir_all(&package).unwrap();
        for (text, there) in
            [(r#"{"version":"1.2.3"}"#, true), (r#"{"version":"1.2.4"}"#, false), ("", false)]
        {
            std::fs::write(package.join("package.json"), text).unwrap();
            assert_eq!(agent.is_in(folder.path()), there, "{text}");
        }
    }
}
