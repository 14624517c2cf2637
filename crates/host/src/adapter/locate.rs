//! Where an agent is installed, and what of it has to be visible inside the walls.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use holon_sandbox::mount::{self, path::StoredPath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::file::AgentLookup;
use super::python;
use super::version;
use crate::holon_folders::HolonFolders;
use crate::process_end::ended_by;
use crate::run::HostEnvironment;

/// The variable that names a folder where agents are installed, beside the PATH.
pub const AGENTS_DIR: &str = "HOLON_AGENTS_DIR";
/// How long a program may take to say its version.
const PATIENCE: Duration = Duration::from_secs(10);

/// An agent on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LocatedAgent")]
pub struct LocatedAgent {
    /// What is started, at the path it has on the host and inside.
    #[serde(with = "mount::path")]
    #[schemars(with = "StoredPath")]
    pub program: PathBuf,
    /// What has to be visible inside, read-only, at its own path.
    #[serde(with = "mount::paths")]
    #[schemars(with = "Vec<StoredPath>")]
    pub visible: Vec<PathBuf>,
    /// Folders that have to be on the PATH inside.
    #[serde(with = "mount::paths")]
    #[schemars(with = "Vec<StoredPath>")]
    pub path: Vec<PathBuf>,
    /// Its version, as its package says.
    pub version: Option<String>,
}

/// Why an agent cannot be used here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentAbsence {
    /// It is not installed.
    Program,
    /// It is, but the Node.js that runs it is missing or too old.
    Node {
        /// The oldest that would do.
        wanted: u64,
    },
}

impl std::fmt::Display for AgentAbsence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Program => f.write_str("not installed"),
            Self::Node { wanted } => write!(f, "needs Node.js {wanted} or newer"),
        }
    }
}

/// Looks for an agent in the folder named by `HOLON_AGENTS_DIR`, in Holon's cache, and on the PATH.
pub fn locate(
    find: &AgentLookup,
    places: &HolonFolders,
    env: &HostEnvironment,
) -> Result<LocatedAgent, AgentAbsence> {
    let folders = folders(places, env);
    let found = folders
        .iter()
        .find_map(|folder| below(folder, &find.program))
        .or_else(|| on_path(&find.program, env));
    let found = found.ok_or(AgentAbsence::Program)?;
    let start = found.canonicalize().map_err(|_| AgentAbsence::Program)?;
    let modules = modules_of(&start);
    let binary = find
        .binary
        .as_deref()
        .zip(modules.as_deref())
        .and_then(|(pattern, modules)| expand(modules, pattern));
    let program = binary.unwrap_or_else(|| start.clone());
    let mut located = LocatedAgent {
        visible: vec![modules.or_else(|| environment_of(&start)).unwrap_or_else(|| program.clone())],
        path: Vec::new(),
        version: package_version(&start),
        program,
    };
    if runs_on_node(&located.program) {
        let wanted = find.node.unwrap_or(0);
        let node = node(wanted, &folders, env).ok_or(AgentAbsence::Node { wanted })?;
        located.path.extend(node.parent().map(Path::to_owned));
        located.visible.push(node);
    }
    let homes = python::homes(&located.program, places.home.as_deref());
    let new = |home: &PathBuf| !located.visible.iter().any(|seen| home.starts_with(seen));
    let homes: Vec<PathBuf> = homes.into_iter().filter(new).collect();
    located.visible.extend(homes);
    // What the system has is inside already.
    located.visible.retain(|path| !["/usr", "/bin", "/lib"].iter().any(|system| path.starts_with(system)));
    Ok(located)
}

/// Asks a program for its version by starting it on the host.
pub fn ask_version(find: &AgentLookup, located: &LocatedAgent) -> Option<String> {
    if find.version.is_empty() {
        return None;
    }
    let mut command = Command::new(&located.program);
    command.args(&find.version).stderr(Stdio::null());
    version::find(&asked(command, located)?)
}

/// What a program says about how it is called, by starting it on the host.
pub fn ask_help(located: &LocatedAgent) -> Option<String> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "exec \"$0\" --help 2>&1"]).arg(&located.program).env("COLUMNS", "100");
    asked(command, located)
}

fn asked(mut command: Command, located: &LocatedAgent) -> Option<String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    if let Some(folder) = located.path.first() {
        let path = std::env::join_paths(
            std::iter::once(folder.clone())
                .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
        );
        command.env("PATH", path.ok()?);
    }
    printed(&mut command)
}

fn folders(places: &HolonFolders, env: &HostEnvironment) -> Vec<PathBuf> {
    let named = env(AGENTS_DIR).map(PathBuf::from).filter(|path| path.is_absolute());
    named.into_iter().chain([places.cache.join("agents")]).collect()
}

/// A program in a folder of programs, or of packages that each have one.
fn below(folder: &Path, program: &str) -> Option<PathBuf> {
    let inside = |folder: &Path| {
        ["", "bin", "node_modules/.bin"]
            .map(|place| folder.join(place).join(program))
            .into_iter()
            .find(|path| is_program(path))
    };
    inside(folder).or_else(|| {
        let mut packages: Vec<PathBuf> =
            fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
        packages.sort();
        packages.iter().find_map(|package| inside(package))
    })
}

fn on_path(program: &str, env: &HostEnvironment) -> Option<PathBuf> {
    let path: OsString = env("PATH")?;
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(program))
        .find(|p| is_program(p))
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// The outermost `node_modules` around a program: everything it can need of its packages.
fn modules_of(program: &Path) -> Option<PathBuf> {
    let mut so_far = PathBuf::new();
    for part in program.components() {
        so_far.push(part);
        if part == Component::Normal("node_modules".as_ref()) {
            return Some(so_far);
        }
    }
    None
}

/// The virtual environment of Python around a program.
fn environment_of(program: &Path) -> Option<PathBuf> {
    let root = program.parent()?.parent()?;
    root.join("pyvenv.cfg").is_file().then(|| root.to_owned())
}

/// The first file that a pattern names; `*` stands for any part of one name.
fn expand(folder: &Path, pattern: &str) -> Option<PathBuf> {
    let (first, rest) = match pattern.split_once('/') {
        Some((first, rest)) => (first, Some(rest)),
        None => (pattern, None),
    };
    let mut names: Vec<OsString> = match first.split_once('*') {
        None => vec![first.into()],
        Some((head, tail)) => fs::read_dir(folder)
            .ok()?
            .flatten()
            .map(|entry| entry.file_name())
            .filter(|name| {
                let name = name.to_string_lossy();
                name.len() >= head.len() + tail.len() && name.starts_with(head) && name.ends_with(tail)
            })
            .collect(),
    };
    names.sort();
    names.into_iter().map(|name| folder.join(name)).find_map(|path| match rest {
        Some(rest) => expand(&path, rest),
        None => is_program(&path).then_some(path),
    })
}

/// The version in the `package.json` of the package a program belongs to.
fn package_version(program: &Path) -> Option<String> {
    let file =
        program.ancestors().skip(1).map(|folder| folder.join("package.json")).find(|file| file.is_file())?;
    // Above `node_modules` there are only packages that use it.
    modules_of(program).filter(|modules| file.starts_with(modules))?;
    let package: serde_json::Value = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
    package["version"].as_str().map(str::to_owned)
}

fn runs_on_node(program: &Path) -> bool {
    let mut first = [0; 64];
    let Ok(n) = fs::File::open(program).and_then(|mut file| file.read(&mut first)) else { return false };
    let line = first[..n].split(|byte| *byte == b'\n').next().unwrap_or_default();
    line.starts_with(b"#!") && String::from_utf8_lossy(line).split(['/', ' ']).any(|word| word == "node")
}

/// A Node.js that is new enough: one that was installed beside the agents, else that on the PATH.
fn node(wanted: u64, folders: &[PathBuf], env: &HostEnvironment) -> Option<PathBuf> {
    let beside = folders.iter().filter_map(|folder| below(folder, "node"));
    let all = beside.chain(on_path("node", env)).filter_map(|node| node.canonicalize().ok());
    let new_enough = |node: &PathBuf| {
        wanted == 0 || {
            let said =
                printed(Command::new(node).arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()));
            let major = said.and_then(|text| version::find(&text)?.split('.').next()?.parse::<u64>().ok());
            major.is_some_and(|major| major >= wanted)
        }
    };
    all.into_iter().find(new_enough)
}

/// What a program prints, if it ends in time.
fn printed(command: &mut Command) -> Option<String> {
    let mut child = command.env("NO_COLOR", "1").spawn().ok()?;
    ended_by(&mut child, Instant::now() + PATIENCE).ok()??;
    let mut text = String::new();
    child.stdout.take()?.take(64 * 1024).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn program(path: &Path, content: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn finding(program: &str, binary: Option<&str>, node: Option<u64>) -> AgentLookup {
        AgentLookup {
            program: program.into(),
            install: String::new(),
            tested: None,
            version: vec!["--version".into()],
            binary: binary.map(str::to_owned),
            node,
        }
    }

    #[test]
    fn packages_are_found_with_what_they_need() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let modules = root.join("codex/node_modules");
        program(&modules.join("@o/codex/bin/codex.js"), "#!/usr/bin/env node\n");
        fs::write(modules.join("@o/codex/package.json"), r#"{"version":"0.166.0"}"#).unwrap();
        fs::create_dir(modules.join(".bin")).unwrap();
        symlink("../@o/codex/bin/codex.js", modules.join(".bin/codex")).unwrap();
        program(&root.join("node/node_modules/node/bin/node"), "#!/bin/sh\necho v22.1.0\n");
        fs::create_dir(root.join("node/node_modules/.bin")).unwrap();
        symlink("../node/bin/node", root.join("node/node_modules/.bin/node")).unwrap();
        let places =
            HolonFolders { state: root.clone(), cache: root.clone(), config: root.clone(), home: None };
        let named = root.clone().into_os_string();
        let env = move |name: &str| (name == AGENTS_DIR).then(|| named.clone());

        let script = locate(&finding("codex", None, Some(22)), &places, &env).unwrap();
        assert_eq!(script.program, modules.join("@o/codex/bin/codex.js"));
        assert_eq!(script.version.as_deref(), Some("0.166.0"));
        let node = root.join("node/node_modules/node/bin/node");
        assert_eq!(script.visible, [modules.clone(), node.clone()]);
        assert_eq!(script.path, [node.parent().unwrap()]);
        assert_eq!(
            locate(&finding("codex", None, Some(23)), &places, &env),
            Err(AgentAbsence::Node { wanted: 23 })
        );

        program(&modules.join("@o/codex-linux-x64/vendor/any/bin/codex"), "ELF");
        let native =
            locate(&finding("codex", Some("@o/codex-linux-*/vendor/*/bin/codex"), Some(23)), &places, &env)
                .unwrap();
        assert_eq!(native.program, modules.join("@o/codex-linux-x64/vendor/any/bin/codex"));
        assert_eq!((native.visible, native.version.as_deref()), (vec![modules], Some("0.166.0")));
        assert_eq!(locate(&finding("claude", None, None), &places, &env), Err(AgentAbsence::Program));
    }

    #[test]
    fn a_program_alone_shows_nothing_but_itself() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        program(&root.join("bin/agent"), "#!/bin/sh\necho agent 1.2.3\n");
        fs::write(root.join("package.json"), r#"{"version":"9.9.9"}"#).unwrap();
        let places =
            HolonFolders { state: root.clone(), cache: root.clone(), config: root.clone(), home: None };
        let bin = root.join("bin").into_os_string();
        let env = move |name: &str| (name == "PATH").then(|| bin.clone());
        let find = finding("agent", None, None);
        let found = locate(&find, &places, &env).unwrap();
        assert_eq!((&found.visible, &found.version), (&vec![root.join("bin/agent")], &None));
        assert_eq!(ask_version(&find, &found).as_deref(), Some("1.2.3"));
    }
}
