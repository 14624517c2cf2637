//! The throw-away repository that rehearsals happen in, and what changed in a copy of it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::attempts;
use crate::error::HostError;

/// A tree as it is: kind, mode and content of everything in it, by path.
pub(super) type State = BTreeMap<PathBuf, (u32, Vec<u8>)>;

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
    write("a.txt", "one\n")?;
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

/// Looks at a whole tree; links are not followed.
pub(super) fn look(root: &Path) -> State {
    let mut state = State::new();
    let mut todo = vec![root.to_owned()];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(meta) = path.symlink_metadata() else { continue };
            let content = if meta.is_symlink() {
                fs::read_link(&path).map(|to| to.into_os_string().into_encoded_bytes()).unwrap_or_default()
            } else if meta.is_dir() {
                todo.push(path.clone());
                Vec::new()
            } else {
                fs::read(&path).unwrap_or_default()
            };
            let name = path.strip_prefix(root).unwrap_or(&path).to_owned();
            state.insert(name, (meta.permissions().mode(), content));
        }
    }
    state
}

/// The paths that differ, with how many bytes do.
pub(super) fn changed(before: &State, after: &State) -> BTreeMap<PathBuf, usize> {
    let paths = before.keys().chain(after.keys());
    let differs = |path: &PathBuf| {
        let (old, new) = (before.get(path), after.get(path));
        if old == new {
            return None;
        }
        let bytes = |side: Option<&(u32, Vec<u8>)>| side.map_or(0, |(_, content)| content.len());
        // An empty file, a folder or a mode counts as one.
        Some((path.clone(), bytes(old).max(bytes(new)).max(1)))
    };
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
        let after = changed(&before, &look(folder.path()));
        let names: Vec<_> = after.iter().map(|(path, bytes)| (path.to_str().unwrap(), *bytes)).collect();
        assert_eq!(names, [("a.txt", 4), ("history.txt", 6), ("link", 1), ("new", 3)]);
    }
}
