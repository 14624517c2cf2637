//! Installing an agent with the user's own client, into Holon's folder of agents.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::source::AgentSource;
use crate::error::HostError;

/// How much of a client's complaint is told.
const COMPLAINT: usize = 600;

/// Installs what a source names into a folder and gives the names of the programs it has, the likeliest alone.
pub(super) fn install(source: &AgentSource, folder: &Path) -> Result<Vec<String>, HostError> {
    fs::create_dir_all(folder).map_err(HostError::io("create", folder))?;
    match source {
        AgentSource::Npm(package) => {
            let mut npm = Command::new("npm");
            npm.args(["install", "--no-audit", "--no-fund", "--prefix"]).arg(folder).arg(package);
            client("npm", "install Node.js", npm.current_dir(folder))?;
            let base = source.base();
            let module = folder.join("node_modules").join(&base);
            Ok(of_package(&fs::read(module.join("package.json")).unwrap_or_default(), &base))
        }
        AgentSource::Pip(package) => {
            let python = folder.join("bin/python");
            if !python.exists() {
                let mut make = Command::new("python3");
                client(
                    "python3",
                    "install Python with its venv module",
                    make.args(["-m", "venv"]).arg(folder),
                )?;
            }
            let mut pip = Command::new(&python);
            pip.args(["-m", "pip", "install", "--upgrade", "--disable-pip-version-check"]).arg(package);
            client("pip", "look at what it says", &mut pip)?;
            Ok(of_environment(folder, &source.base()))
        }
        AgentSource::Path(path) => {
            let file = path.canonicalize().map_err(HostError::io("find", path))?;
            let wrong =
                |what: &str, hint: &str| HostError::usage(format!("{}: {what}", path.display()), hint);
            let meta = fs::metadata(&file).map_err(HostError::io("read", &file))?;
            if !meta.is_file() {
                return Err(wrong("not a file", "give the agent's program, not its folder"));
            }
            if meta.permissions().mode() & 0o111 == 0 {
                return Err(wrong("not executable", "chmod +x it"));
            }
            let name = source.base();
            let bin = folder.join("bin");
            fs::create_dir_all(&bin).map_err(HostError::io("create", &bin))?;
            let link = bin.join(&name);
            if link.symlink_metadata().is_ok() {
                fs::remove_file(&link).map_err(HostError::io("remove", &link))?;
            }
            symlink(&file, &link).map_err(HostError::io("create", &link))?;
            Ok(vec![name])
        }
    }
}

/// Runs a client; what it prints is told only when it fails.
fn client(name: &str, remedy: &str, command: &mut Command) -> Result<(), HostError> {
    let output = command.stdin(Stdio::null()).output().map_err(|e| {
        HostError::usage(
            format!("{name} cannot be started: {e}"),
            format!("{remedy}, or give the path of a program"),
        )
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).trim().to_owned();
    let from = said.len().saturating_sub(COMPLAINT);
    let from = (from..=said.len()).find(|at| said.is_char_boundary(*at)).unwrap_or(0);
    Err(HostError::Run {
        message: format!("{name} could not install it: {}", said[from..].replace('\n', " | ")),
        hint: Some("check the name, and that the client reaches its registry".into()),
    })
}

/// The programs in a `package.json`: one that is called like the package, else all of them.
fn of_package(text: &[u8], base: &str) -> Vec<String> {
    let package: serde_json::Value = serde_json::from_slice(text).unwrap_or_default();
    let last = base.rsplit('/').next().unwrap_or(base);
    match &package["bin"] {
        serde_json::Value::String(_) => vec![last.to_owned()],
        serde_json::Value::Object(programs) => likeliest(programs.keys().cloned().collect(), last),
        _ => Vec::new(),
    }
}

/// The programs of a package in an environment of Python: those its own list of entry points names.
fn of_environment(folder: &Path, base: &str) -> Vec<String> {
    let plain = |name: &str| name.to_lowercase().replace(['-', '.'], "_");
    let list = |folder: &Path| -> Vec<PathBuf> {
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    };
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let pythons = list(&folder.join("lib"));
    let packages = pythons.iter().flat_map(|python| list(&python.join("site-packages")));
    let own = packages.filter(|path| {
        let name = name(path);
        let stem =
            name.strip_suffix(".dist-info").and_then(|stem| stem.rsplit_once('-')).map(|(stem, _)| stem);
        stem.is_some_and(|stem| plain(stem) == plain(base))
    });
    let texts = own.filter_map(|info| fs::read_to_string(info.join("entry_points.txt")).ok());
    let programs: BTreeSet<String> = texts.flat_map(|text| console_scripts(&text)).collect();
    likeliest(programs, base)
}

fn console_scripts(text: &str) -> Vec<String> {
    let mut inside = false;
    let mut names = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line == "[console_scripts]";
        } else if let (true, Some((name, _))) = (inside, line.split_once('=')) {
            names.push(name.trim().to_owned());
        }
    }
    names
}

fn likeliest(programs: BTreeSet<String>, name: &str) -> Vec<String> {
    match programs.contains(name) {
        true => vec![name.to_owned()],
        false => programs.into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_program_of_a_package_is_found() {
        for (text, programs) in [
            (r#"{"bin": "cli.js"}"#, vec!["agent"]),
            (r#"{"bin": {"other": "a", "agent": "b"}}"#, vec!["agent"]),
            (r#"{"bin": {"x": "a", "y": "b"}}"#, vec!["x", "y"]),
            (r#"{"name": "agent"}"#, vec![]),
            ("no json", vec![]),
        ] {
            assert_eq!(of_package(text.as_bytes(), "@a/agent"), programs, "{text}");
        }
    }

    #[test]
    fn the_program_of_a_python_package_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let site = folder.path().join("lib/python3.11/site-packages");
        for (info, text) in [
            ("mini_swe_agent-1.0.dist-info", "[console_scripts]\nmini = a:b\nmini-e = a:c\n[other]\nx = y\n"),
            ("httpx-0.1.dist-info", "[console_scripts]\nhttpx = httpx:main\n"),
            ("aider_chat-0.1.dist-info", "[console_scripts]\naider = a:b\n"),
        ] {
            fs::create_dir_all(site.join(info)).unwrap();
            fs::write(site.join(info).join("entry_points.txt"), text).unwrap();
        }
        assert_eq!(of_environment(folder.path(), "mini-swe-agent"), ["mini", "mini-e"]);
        assert_eq!(of_environment(folder.path(), "aider-chat"), ["aider"]);
        assert!(of_environment(folder.path(), "absent").is_empty());
    }

    #[test]
    fn a_program_is_linked_and_what_is_none_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("my-agent");
        fs::write(&program, "#!/bin/sh\n").unwrap();
        let source = AgentSource::Path(program.clone());
        let target = folder.path().join("agents/mine");
        assert!(install(&source, &target).unwrap_err().to_string().contains("not executable"));
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        for _ in 0..2 {
            assert_eq!(install(&source, &target).unwrap(), ["my-agent"]);
            assert_eq!(target.join("bin/my-agent").canonicalize().unwrap(), program.canonicalize().unwrap());
        }
        assert!(install(&AgentSource::Path(folder.path().into()), &target).is_err());
    }
}
