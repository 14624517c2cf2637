//! The throw-away repository that rehearsals happen in, and what changed in a copy of it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::attempts;
use crate::error::HostError;

/// A tree as it is, by path.
pub(super) type StageTreeState = BTreeMap<PathBuf, StageTreeEntry>;

/// Something in a tree, with all that an attempt may want to change about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StageTreeEntry {
    /// Its kind and its mode.
    pub mode: u32,
    /// When a file was changed: seconds and nanoseconds.
    pub changed: Option<(i64, i64)>,
    /// Extended attributes that any user can set.
    pub attributes: Vec<(String, Vec<u8>)>,
    /// What is in a file, or where a link leads.
    pub content: Vec<u8>,
}

impl StageTreeEntry {
    /// How many bytes something and what became of it differ by: an empty file, a folder, a mode or a date counts as one.
    pub(super) fn differs(old: Option<&Self>, new: Option<&Self>) -> Option<usize> {
        let bytes = |side: Option<&Self>| side.map_or(0, |entry| entry.content.len());
        (old != new).then(|| bytes(old).max(bytes(new)).max(1))
    }
}

/// A file that only waits to be read or copied, and what is in it.
pub(super) const A_FILE: &str = "a.txt";
pub(super) const A_WORD: &str = "one";
/// Where scoped modes may write.
pub(super) const SCOPE: &str = "docs";

/// Makes the repository: two commits, and every file that an attempt needs to find.
pub(super) fn build(folder: &Path) -> Result<(), HostError> {
    fs::create_dir_all(folder).map_err(HostError::io("create", folder))?;
    git(folder, &["init", "--quiet", "--initial-branch=main", "--template="])?;
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).map_err(HostError::io("write", &path))
    };
    write(A_FILE, &format!("{A_WORD}\n"))?;
    // A scope that is there can be opened.
    let scope = folder.join(SCOPE);
    fs::create_dir_all(&scope).map_err(HostError::io("create", &scope))?;
    write(&format!("{SCOPE}/readme.md"), "# Read me\n")?;
    write("history.txt", "before\n")?;
    for attempt in attempts::all() {
        if let Some(text) = &attempt.file {
            write(&attempt.target, text)?;
        }
    }
    commit(folder, "first")?;
    git(folder, &["tag", "old"])?;
    write("history.txt", "after\n")?;
    commit(folder, "second")?;
    let hooks = folder.join(".git/hooks");
    fs::create_dir_all(&hooks).map_err(HostError::io("create", &hooks))
}

fn commit(folder: &Path, message: &str) -> Result<(), HostError> {
    git(folder, &["add", "--all"])?;
    git(folder, &["-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "--quiet", "-m", message])
}

fn git(folder: &Path, args: &[&str]) -> Result<(), HostError> {
    let mut command = Command::new("git");
    command.current_dir(folder).args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null").env_remove("GIT_DIR");
    let done = command.status().map_err(HostError::io("run", "git".as_ref()))?;
    if done.success() {
        return Ok(());
    }
    Err(HostError::run(format!("git {} failed", args.join(" ")), "check that git works here"))
}

/// Looks at a whole tree; links are not followed, and nothing is opened that could wait for somebody.
pub(super) fn look(root: &Path) -> StageTreeState {
    let mut state = StageTreeState::new();
    let mut todo = vec![root.to_owned()];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(meta) = path.symlink_metadata() else { continue };
            if meta.is_dir() {
                todo.push(path.clone());
            }
            let content = if meta.is_symlink() {
                fs::read_link(&path).map(|to| to.into_os_string().into_encoded_bytes()).unwrap_or_default()
            } else if meta.is_file() {
                fs::read(&path).unwrap_or_default()
            } else {
                Vec::new()
            };
            let found = StageTreeEntry {
                mode: meta.permissions().mode(),
                changed: meta.is_file().then(|| (meta.mtime(), meta.mtime_nsec())),
                attributes: if meta.is_file() { attributes(&path) } else { Vec::new() },
                content,
            };
            let name = path.strip_prefix(root).unwrap_or(&path).to_owned();
            state.insert(name, found);
        }
    }
    state
}

/// Attributes that any user can set; those of an overlay are its own notes.
fn attributes(path: &Path) -> Vec<(String, Vec<u8>)> {
    let mut names = [0; 4096];
    let Ok(length) = rustix::fs::llistxattr(path, &mut names) else { return Vec::new() };
    let names = names[..length].split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let ours = names.filter(|name| name.starts_with("user.") && !name.starts_with("user.overlay."));
    let value = |name: &str| {
        let mut value = [0; 4096];
        let length = rustix::fs::lgetxattr(path, name, &mut value).unwrap_or(0);
        value[..length].to_vec()
    };
    let mut all: Vec<_> = ours.map(|name| (name.to_string(), value(&name))).collect();
    all.sort();
    all
}

/// The paths that differ, with how many bytes do.
pub(super) fn changed(before: &StageTreeState, after: &StageTreeState) -> BTreeMap<PathBuf, usize> {
    let paths = before.keys().chain(after.keys());
    let differs =
        |path: &PathBuf| Some((path.clone(), StageTreeEntry::differs(before.get(path), after.get(path))?));
    paths.filter_map(differs).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_kind_of_change_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        build(folder.path()).unwrap();
        let before = look(folder.path());
        assert!(changed(&before, &look(folder.path())).is_empty());
        fs::write(folder.path().join("new"), "xyz").unwrap();
        fs::remove_file(folder.path().join("a.txt")).unwrap();
        fs::set_permissions(folder.path().join("history.txt"), fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink("x", folder.path().join("link")).unwrap();
        let readme = fs::File::options().write(true).open(folder.path().join("docs/readme.md")).unwrap();
        readme.set_modified(std::time::UNIX_EPOCH).unwrap();
        // Looking at one must not wait for somebody to write.
        let fifo = Command::new("mkfifo").arg(folder.path().join("fifo")).status().unwrap();
        assert!(fifo.success());
        let after = changed(&before, &look(folder.path()));
        let names: Vec<_> = after.iter().map(|(path, bytes)| (path.to_str().unwrap(), *bytes)).collect();
        assert_eq!(
            names,
            [("a.txt", 4), ("docs/readme.md", 10), ("fifo", 1), ("history.txt", 6), ("link", 1), ("new", 3)]
        );
    }
}
