//! From `--agent NAME|PATH` or `--image` to something that can be started.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use holon_core::mode::ModeSource;
use holon_core::suggest;
use holon_sandbox::mount::{self, path::StoredPath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::file::{Adapter, AdapterKind, AgentLookup};
use super::locate::{AGENTS_DIR, LocatedAgent, locate};
use crate::error::HostError;
use crate::holon_folders::HolonFolders;
use crate::modes::{read_of, toml_files};
use crate::run::HostEnvironment;

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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PlannedAgent")]
pub struct ResolvedAgent {
    /// Its description.
    pub adapter: Adapter,
    /// Name for people and the manifest.
    pub name: String,
    /// The host file to show inside, if it was given by path.
    #[serde(with = "mount::optional_path", default)]
    #[schemars(with = "Option<StoredPath>")]
    pub file: Option<PathBuf>,
    /// The container image.
    pub image: Option<String>,
    /// Where it is installed, if its description says how to find it.
    #[serde(default)]
    pub located: Option<LocatedAgent>,
    /// How it was found.
    #[serde(default)]
    pub finding: Option<AgentLookup>,
    /// What was given after `--`.
    pub args: Vec<String>,
    /// What is wrong with descriptions of the project that were left out.
    pub warnings: Vec<String>,
}

impl ResolvedAgent {
    /// Where the file given with `--agent` appears inside.
    pub fn file_inside(&self) -> Option<PathBuf> {
        Some(Path::new(AGENT_FOLDER).join(self.file.as_ref()?.file_name()?))
    }

    /// Looks again where it is, for a plan that was made some time ago.
    pub(crate) fn look_again(
        &mut self,
        places: &HolonFolders,
        env: &HostEnvironment,
    ) -> Result<(), HostError> {
        if let Some(file) = &self.file {
            self.file = Some(executable(file)?);
        }
        if let Some(find) = &self.finding {
            self.located = Some(installed(&self.name, find, places, env)?);
        }
        Ok(())
    }
}

/// The adapters that can be used somewhere.
#[derive(Debug, Default)]
pub struct KnownAdapters {
    /// Each with who described it.
    pub adapters: Vec<(ModeSource, Adapter)>,
    /// Files of the project that are left out, with what is wrong with them; the user's own must be right.
    pub refused: Vec<(PathBuf, HostError)>,
}

impl KnownAdapters {
    /// The adapter of a name.
    pub fn named(&self, name: &str) -> Option<&Adapter> {
        self.adapters.iter().map(|(_, adapter)| adapter).find(|adapter| adapter.name == name)
    }

    /// What is wrong with files that are left out, in words.
    pub fn warnings(&self) -> Vec<String> {
        self.refused.iter().map(|(_, error)| format!("left out: {error}")).collect()
    }

    fn add(&mut self, source: ModeSource, path: &Path) -> Result<(), HostError> {
        let adapter = Adapter::parse(&read_of(source, path)?, &path.to_string_lossy())?;
        if let Some((first, _)) = self.adapters.iter().find(|(_, a)| a.name == adapter.name) {
            let message =
                format!("{}: agent `{}` is already defined ({first})", path.display(), adapter.name);
            return Err(HostError::usage(message, "choose another name"));
        }
        self.adapters.push((source, adapter));
        Ok(())
    }

    fn unknown(self, name: &str) -> HostError {
        let names = || self.adapters.iter().map(|(_, a)| a.name.as_str());
        let all: Vec<&str> = names().collect();
        let message = format!("unknown agent `{name}`{}", suggest::hint(name, names()));
        let hint = format!(
            "known: {}; for a command of your own give its path, e.g. --agent ./{name}",
            all.join(", ")
        );
        // It may be one of those that were left out.
        let own = |path: &Path| path.file_stem().is_some_and(|stem| stem == name);
        match self.refused.into_iter().find(|(path, _)| own(path)) {
            Some((_, error)) => error,
            None => HostError::usage(message, hint),
        }
    }
}

/// All adapters that can be used in a workspace.
pub fn list(places: &HolonFolders, workspace: Option<&Path>) -> Result<KnownAdapters, HostError> {
    let mut known = KnownAdapters::default();
    for (path, text) in BUILTIN {
        known.adapters.push((ModeSource::Builtin, Adapter::parse(text, path)?));
    }
    for path in toml_files(&places.config.join("agents"), ModeSource::User)? {
        known.add(ModeSource::User, &path)?;
    }
    let Some(folder) = workspace.map(|workspace| workspace.join(".holon/agents")) else { return Ok(known) };
    for path in toml_files(&folder, ModeSource::Project)? {
        if let Err(error) = known.add(ModeSource::Project, &path) {
            known.refused.push((path, error));
        }
    }
    Ok(known)
}

/// Finds the agent for a run.
pub fn find(
    places: &HolonFolders,
    workspace: &Path,
    agent: Option<&str>,
    image: Option<&str>,
    args: &[String],
    env: &HostEnvironment,
) -> Result<ResolvedAgent, HostError> {
    let args = args.to_vec();
    let known = list(places, Some(workspace))?;
    let warnings = known.warnings();
    let named = |known: KnownAdapters, name: &str| match known.named(name) {
        Some(adapter) => Ok(adapter.clone()),
        None => Err(known.unknown(name)),
    };
    match (agent, image) {
        (None, None) => find(places, workspace, Some("native"), None, &args, env),
        (None, Some(image)) => {
            let adapter = named(known, "image")?;
            Ok(ResolvedAgent {
                name: format!("image:{image}"),
                image: Some(image.to_owned()),
                file: None,
                located: None,
                finding: None,
                args,
                adapter,
                warnings,
            })
        }
        (Some(path), image) if path.contains('/') => {
            let file = executable(Path::new(path))?;
            let adapter = named(known, "exec")?;
            let name = file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
            Ok(ResolvedAgent {
                adapter,
                name,
                file: Some(file),
                image: image.map(str::to_owned),
                located: None,
                finding: None,
                args,
                warnings,
            })
        }
        (Some(name), image) => {
            let adapter = named(known, name)?;
            if adapter.command.iter().any(|c| c == "{agent}") {
                return Err(HostError::usage(
                    format!("agent `{name}` needs the path of a command"),
                    "give it with --agent ./path",
                ));
            }
            if adapter.kind == AdapterKind::Image && image.is_none() {
                return Err(HostError::usage(
                    format!("agent `{name}` needs an image"),
                    "give it with --image NAME",
                ));
            }
            let (given, args) = given(&adapter, args)?;
            // An image brings its own.
            let finding = adapter.find.clone().or(given).filter(|_| image.is_none());
            let located = finding.as_ref().map(|find| installed(name, find, places, env)).transpose()?;
            Ok(ResolvedAgent {
                name: name.to_owned(),
                adapter,
                file: None,
                image: image.map(str::to_owned),
                located,
                finding,
                args,
                warnings,
            })
        }
    }
}

/// Where an agent is on this machine.
fn installed(
    name: &str,
    find: &AgentLookup,
    places: &HolonFolders,
    env: &HostEnvironment,
) -> Result<LocatedAgent, HostError> {
    locate(find, places, env).map_err(|absent| {
        HostError::usage(
            format!("agent `{name}`: `{}` {absent}", find.program),
            format!("{}, or name a folder that has it with {AGENTS_DIR}", find.install),
        )
    })
}

/// The program that follows `--`, for a description that names none, and the arguments without it.
fn given(adapter: &Adapter, mut args: Vec<String>) -> Result<(Option<AgentLookup>, Vec<String>), HostError> {
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
    let find = AgentLookup { program, install, tested: None, version: Vec::new(), binary: None, node: None };
    Ok((Some(find), args))
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

/// A description that is built in.
#[cfg(test)]
pub(crate) fn builtin(name: &str) -> Option<Adapter> {
    let (path, text) = BUILTIN.iter().find(|(path, _)| *path == format!("adapters/{name}.toml"))?;
    Adapter::parse(text, path).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn inv_15_a_broken_description_of_the_project_is_left_out_and_one_of_the_user_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let places = HolonFolders {
            state: folder.path().into(),
            cache: folder.path().into(),
            config: folder.path().join("config"),
            home: None,
        };
        let project = folder.path().join("w/.holon/agents");
        fs::create_dir_all(&project).unwrap();
        fs::write(project.join("mine.toml"), "nmae = \"mine\"").unwrap();
        fs::write(project.join("other.toml"), "name = \"codex\"\nkind = \"exec\"\ncommand = [\"x\"]")
            .unwrap();
        fs::write(project.join("good.toml"), "name = \"good\"\nkind = \"exec\"\ncommand = [\"x\"]").unwrap();
        let workspace = folder.path().join("w");
        let get = |name: &str| find(&places, &workspace, Some(name), None, &[], &|_: &str| None);
        let agent = get("good").unwrap();
        assert_eq!(agent.warnings.len(), 2, "{:?}", agent.warnings);
        assert!(agent.warnings[0].contains("did you mean `name`?"), "{:?}", agent.warnings);
        assert!(agent.warnings[1].contains("already defined (built-in)"), "{:?}", agent.warnings);
        assert!(get("mine").unwrap_err().to_string().contains("mine.toml: line 1: unknown key `nmae`"));
        assert!(get("goood").unwrap_err().to_string().contains("did you mean `good`?"));
        let own = places.config.join("agents");
        fs::create_dir_all(&own).unwrap();
        fs::copy(project.join("mine.toml"), own.join("mine.toml")).unwrap();
        assert!(get("good").is_err(), "the user's own must be right");
    }

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
