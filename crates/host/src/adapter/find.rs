//! From `--agent NAME|PATH` or `--image` to something that can be started.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use holon_core::mode::Source;
use holon_core::suggest;

use super::file::{Adapter, Finding, Kind};
use super::locate::{AGENTS_DIR, Located, locate};
use crate::error::HostError;
use crate::modes::{read_bounded, toml_files};
use crate::places::Places;
use crate::run::Environment;

const BUILTIN: &[(&str, &str)] = &[
    ("adapters/native.toml", include_str!("../../../../adapters/native.toml")),
    ("adapters/exec.toml", include_str!("../../../../adapters/exec.toml")),
    ("adapters/image.toml", include_str!("../../../../adapters/image.toml")),
    ("adapters/claude-code.toml", include_str!("../../../../adapters/claude-code.toml")),
    ("adapters/codex.toml", include_str!("../../../../adapters/codex.toml")),
    ("adapters/opencode.toml", include_str!("../../../../adapters/opencode.toml")),
    ("adapters/gemini.toml", include_str!("../../../../adapters/gemini.toml")),
    ("adapters/goose.toml", include_str!("../../../../adapters/goose.toml")),
    ("adapters/acp.toml", include_str!("../../../../adapters/acp.toml")),
    ("adapters/qwen.toml", include_str!("../../../../adapters/qwen.toml")),
];

/// Where the agent's own file appears inside the walls.
const AGENT_FOLDER: &str = "/holon/agent";

/// An agent, ready to be started.
#[derive(Debug, Clone)]
pub struct Agent {
    /// Its description.
    pub adapter: Adapter,
    /// Name for people and the manifest.
    pub name: String,
    /// The host file to show inside, if it was given by path.
    pub file: Option<PathBuf>,
    /// The container image.
    pub image: Option<String>,
    /// Where it is installed, if its description says how to find it.
    pub located: Option<Located>,
    /// What was given after `--`.
    pub args: Vec<String>,
}

impl Agent {
    /// Where the file given with `--agent` appears inside.
    pub fn file_inside(&self) -> Option<PathBuf> {
        Some(Path::new(AGENT_FOLDER).join(self.file.as_ref()?.file_name()?))
    }
}

/// All adapters that can be used in a workspace, with who described them.
pub fn list(places: &Places, workspace: Option<&Path>) -> Result<Vec<(Source, Adapter)>, HostError> {
    let mut all = Vec::new();
    for (path, text) in BUILTIN {
        all.push((Source::Builtin, Adapter::parse(text, path)?));
    }
    let mut folders = vec![(Source::User, places.config.join("agents"))];
    folders.extend(workspace.map(|w| (Source::Project, w.join(".holon/agents"))));
    for (source, folder) in folders {
        for path in toml_files(&folder)? {
            let adapter = Adapter::parse(&read_bounded(&path)?, &path.to_string_lossy())?;
            if let Some((first, _)) = all.iter().find(|(_, a)| a.name == adapter.name) {
                let message =
                    format!("{}: agent `{}` is already defined ({first})", path.display(), adapter.name);
                return Err(HostError::usage(message, "choose another name"));
            }
            all.push((source, adapter));
        }
    }
    Ok(all)
}

/// Finds the agent for a run.
pub fn find(
    places: &Places,
    workspace: &Path,
    agent: Option<&str>,
    image: Option<&str>,
    args: &[String],
    env: &Environment,
) -> Result<Agent, HostError> {
    let args = args.to_vec();
    let adapters = list(places, Some(workspace))?;
    let named = |name: &str| adapters.iter().find(|(_, a)| a.name == name).map(|(_, a)| a.clone());
    match (agent, image) {
        (None, None) => find(places, workspace, Some("native"), None, &args, env),
        (None, Some(image)) => {
            let adapter = named("image").ok_or_else(|| unknown("image", &adapters))?;
            Ok(Agent {
                name: format!("image:{image}"),
                image: Some(image.to_owned()),
                file: None,
                located: None,
                args,
                adapter,
            })
        }
        (Some(path), image) if path.contains('/') => {
            let file = executable(Path::new(path))?;
            let adapter = named("exec").ok_or_else(|| unknown("exec", &adapters))?;
            let name = file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
            Ok(Agent {
                adapter,
                name,
                file: Some(file),
                image: image.map(str::to_owned),
                located: None,
                args,
            })
        }
        (Some(name), image) => {
            let adapter = named(name).ok_or_else(|| unknown(name, &adapters))?;
            if adapter.command.iter().any(|c| c == "{agent}") {
                return Err(HostError::usage(
                    format!("agent `{name}` needs the path of a command"),
                    "give it with --agent ./path",
                ));
            }
            if adapter.kind == Kind::Image && image.is_none() {
                return Err(HostError::usage(
                    format!("agent `{name}` needs an image"),
                    "give it with --image NAME",
                ));
            }
            let (given, args) = given(&adapter, args)?;
            let located = match adapter.find.as_ref().or(given.as_ref()) {
                // An image brings its own.
                Some(find) if image.is_none() => Some(locate(find, places, env).map_err(|absent| {
                    HostError::usage(
                        format!("agent `{name}`: `{}` {absent}", find.program),
                        format!("{}, or name a folder that has it with {AGENTS_DIR}", find.install),
                    )
                })?),
                _ => None,
            };
            Ok(Agent {
                name: name.to_owned(),
                adapter,
                file: None,
                image: image.map(str::to_owned),
                located,
                args,
            })
        }
    }
}

/// The program that follows `--`, for a description that names none, and the arguments without it.
fn given(adapter: &Adapter, mut args: Vec<String>) -> Result<(Option<Finding>, Vec<String>), HostError> {
    if adapter.find.is_some() || !adapter.command.iter().any(|word| word == "{program}") {
        return Ok((None, args));
    }
    let named =
        (!args.is_empty()).then(|| args.remove(0)).filter(|name| !name.is_empty() && !name.contains('/'));
    let program = named.ok_or_else(|| {
        HostError::usage(
            format!("agent `{}` needs the name of a program", adapter.name),
            format!("put its command last: --agent {} … -- goose acp", adapter.name),
        )
    })?;
    let install = format!("install `{program}`");
    let find = Finding { program, install, tested: None, version: Vec::new(), binary: None, node: None };
    Ok((Some(find), args))
}

fn unknown(name: &str, adapters: &[(Source, Adapter)]) -> HostError {
    let names = || adapters.iter().map(|(_, a)| a.name.as_str());
    let all: Vec<&str> = names().collect();
    HostError::usage(
        format!("unknown agent `{name}`{}", suggest::hint(name, names())),
        format!("known: {}; for a command of your own give its path, e.g. --agent ./{name}", all.join(", ")),
    )
}

fn executable(path: &Path) -> Result<PathBuf, HostError> {
    let wrong = |what: &str, hint: &str| HostError::usage(format!("agent {}: {what}", path.display()), hint);
    let file = path.canonicalize().map_err(|e| wrong(&e.to_string(), "check the path given with --agent"))?;
    let meta = fs::metadata(&file).map_err(HostError::io("read", &file))?;
    if !meta.is_file() {
        return Err(wrong("not a file", "give the path of a command with --agent"));
    }
    if meta.permissions().mode() & 0o111 == 0 {
        return Err(wrong("not executable", "chmod +x it"));
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_built_in_description_is_whole() {
        for (path, text) in BUILTIN {
            let adapter = Adapter::parse(text, path).unwrap();
            assert_eq!(Some(format!("adapters/{}.toml", adapter.name).as_str()), Some(*path));
            assert!(!adapter.description.is_empty(), "{path}");
            let Some(find) = &adapter.find else { continue };
            assert!(adapter.events.is_some() && adapter.model.is_some() && find.tested.is_some(), "{path}");
            assert!(!find.install.is_empty() && !adapter.tools.is_empty(), "{path}");
            let all = format!("{:?} {:?} {:?}", adapter.command, adapter.env, adapter.files);
            for name in ["{program}", "{prompt}", "{model}", "{gateway}", "{token}"] {
                assert!(all.contains(name), "{path} lacks {name}");
            }
        }
    }
}
