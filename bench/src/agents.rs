//! Other agents, as `agents.toml` says they are run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::BenchFailure;
use crate::bench_model::{BenchModel, CallTemplates};
use crate::command;

/// The variable that names a folder where agents are installed, beside the PATH.
pub(crate) const FOLDER: &str = "HOLON_BENCH_AGENTS";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PeerAgentsFile {
    agent: Vec<PeerAgent>,
}

/// One of them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PeerAgent {
    /// Its program.
    pub(crate) name: String,
    /// What to install for it.
    package: String,
    /// Takes long enough to be measured seldom.
    #[serde(default)]
    pub(crate) slow: bool,
    arguments: Vec<String>,
    #[serde(default)]
    variables: BTreeMap<String, String>,
    /// Files below its home.
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// How it is told to run a shell command that does nothing.
    pub(crate) calls: CallTemplates,
}

/// All that are described.
pub(crate) fn known() -> Result<Vec<PeerAgent>, BenchFailure> {
    let file: PeerAgentsFile =
        toml::from_str(include_str!("../agents.toml")).map_err(|e| format!("agents.toml: {e}"))?;
    Ok(file.agent)
}

impl PeerAgent {
    /// Where it is installed; else what would install it.
    pub(crate) fn find(&self) -> Result<PathBuf, BenchFailure> {
        let folder = std::env::var_os(FOLDER).map(PathBuf::from);
        let found = folder.as_deref().and_then(|folder| below(folder, &self.name));
        found.or_else(|| command::find(&self.name)).ok_or_else(|| {
            format!(
                "not installed: neither on the PATH nor in the folder that {FOLDER} names (npm install {})",
                self.package
            )
        })
    }

    /// Writes its files into `home` and gives the command that starts it.
    pub(crate) fn command(
        &self,
        program: &Path,
        mind: &BenchModel,
        home: &Path,
        workspace: &Path,
    ) -> Result<Command, BenchFailure> {
        let base = mind.base();
        let root = base.trim_end_matches("/v1");
        let fill = |text: &str| {
            text.replace("{base}", &base)
                .replace("{root}", root)
                .replace("{home}", &home.to_string_lossy())
                .replace("{workspace}", &workspace.to_string_lossy())
        };
        for (name, content) in &self.files {
            let path = home.join(name);
            let folder = path.parent().unwrap_or(home);
            fs::create_dir_all(folder)
                .and_then(|()| fs::write(&path, fill(content)))
                .map_err(|e| format!("cannot write {}: {e}", path.display()))?;
        }
        let mut command = Command::new(program);
        command.args(self.arguments.iter().map(|argument| fill(argument)));
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", home);
        command.envs(self.variables.iter().map(|(name, value)| (name, fill(value))));
        command.current_dir(workspace);
        Ok(command)
    }
}

/// A program in a folder of programs, or of packages that each have one.
pub(crate) fn below(folder: &Path, program: &str) -> Option<PathBuf> {
    let inside = |folder: &Path| {
        ["", "bin", "node_modules/.bin"]
            .map(|place| folder.join(place).join(program))
            .into_iter()
            .find(|path| path.is_file())
    };
    inside(folder).or_else(|| {
        let entries = fs::read_dir(folder).ok()?;
        entries.flatten().find_map(|entry| inside(&entry.path()))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_agent_is_described_fully() {
        let known = known().unwrap();
        assert!(known.len() >= 5);
        for agent in known {
            let calls: Vec<_> = agent.calls.values().map(|call| call.replace("{n}", "1")).collect();
            assert!(!calls.is_empty() && !agent.arguments.is_empty(), "{}", agent.name);
            for call in calls {
                assert!(serde_json::from_str::<serde_json::Value>(&call).unwrap().is_object(), "{call}");
            }
        }
    }

    #[test]
    fn programs_are_found_where_npm_puts_them() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            path
        };
        let own = at("codex-1/node_modules/.bin/codex");
        let shared = at("node_modules/.bin/claude");
        assert_eq!(below(folder.path(), "codex"), Some(own));
        assert_eq!(below(folder.path(), "claude"), Some(shared));
        assert_eq!(below(folder.path(), "goose"), None);
    }

    #[test]
    fn files_and_variables_are_filled_in() {
        let home = tempfile::tempdir().unwrap();
        let mind = BenchModel::start();
        let codex = known().unwrap().into_iter().find(|agent| agent.name == "codex").unwrap();
        let command = codex.command(Path::new("/bin/codex"), &mind, home.path(), home.path()).unwrap();
        let config = fs::read_to_string(home.path().join(".codex/config.toml")).unwrap();
        assert!(config.contains(&format!("base_url = \"{}\"", mind.base())), "{config}");
        let variable = command.get_envs().find(|(name, _)| *name == "CODEX_HOME").unwrap().1.unwrap();
        assert_eq!(Path::new(variable), home.path().join(".codex"));
    }
}
