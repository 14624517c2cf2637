//! The programs a setup works with, told without running them.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use holon_environment::ToolchainStamp;

use crate::run::HostEnvironment;

/// Programs that others work with, by the word that calls them.
const COMPANIONS: [(&str, &[&str]); 12] = [
    ("npm", &["node"]),
    ("npx", &["node"]),
    ("pnpm", &["node"]),
    ("yarn", &["node"]),
    ("corepack", &["node"]),
    ("pip", &["python3"]),
    ("pip3", &["python3"]),
    ("python", &["python3"]),
    ("poetry", &["python3"]),
    ("uv", &["python3"]),
    ("cargo", &["rustc"]),
    ("bundle", &["ruby"]),
];

/// The programs that commands name, and those that work with them, as they are on this machine.
pub(super) fn stamps(commands: &[String], env: &HostEnvironment, home: Option<&Path>) -> Vec<ToolchainStamp> {
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for command in commands {
        for word in command.split(|c: char| c.is_whitespace() || "\"'`;|&()<>=".contains(c)) {
            let plain =
                !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_.+".contains(c));
            if plain {
                names.insert(word);
                let more = COMPANIONS.iter().filter(|(name, _)| *name == word);
                names.extend(more.flat_map(|(_, companions)| companions.iter().copied()));
            }
        }
    }
    let path = env("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect();
    let mut stamps: Vec<ToolchainStamp> = names
        .iter()
        .filter_map(|name| folders.iter().find_map(|folder| stamp(name, &folder.join(name))))
        .collect();
    // The compiler that a project's toolchain stands for is chosen here.
    if names.contains("cargo") {
        let rustup = env("RUSTUP_HOME").map(PathBuf::from).or_else(|| home.map(|home| home.join(".rustup")));
        stamps.extend(rustup.and_then(|folder| stamp("rustup", &folder.join("settings.toml"))));
    }
    stamps
}

fn stamp(program: &str, file: &Path) -> Option<ToolchainStamp> {
    let path = file.canonicalize().ok()?;
    let meta = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let changed = i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec());
    Some(ToolchainStamp {
        program: program.to_owned(),
        path: path.to_string_lossy().into_owned(),
        bytes: meta.len(),
        changed,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::ffi::OsString;
    use std::fs;

    use super::*;

    #[test]
    fn programs_and_their_companions_are_told_by_their_files() {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).unwrap();
        for name in ["npm", "node", "cargo"] {
            fs::write(bin.join(name), name).unwrap();
        }
        let path: OsString = std::env::join_paths([PathBuf::from("relative"), bin.clone()]).unwrap();
        let env = move |name: &str| (name == "PATH").then(|| path.clone());
        let told = |commands: &[&str]| {
            let commands: Vec<String> = commands.iter().map(|&command| command.to_owned()).collect();
            stamps(&commands, &env, None)
        };
        let names: Vec<String> = told(&["cd web && npm ci"]).into_iter().map(|stamp| stamp.program).collect();
        assert_eq!(names, ["node", "npm"]);
        let before = told(&["npm ci"]);
        fs::write(bin.join("node"), "another node").unwrap();
        assert_ne!(told(&["npm ci"]), before);
        assert_eq!(told(&["make deps"]), Vec::new());
    }
}
