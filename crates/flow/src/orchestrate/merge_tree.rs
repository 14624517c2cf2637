//! The trunk: a private copy of the workspace in which the changes of all tasks are joined, in order.
//!
//! It is only ever changed while no child runs, and can be made again at any time from the workspace and the changes that
//! were joined, so a process that is killed in the middle leaves nothing that matters.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};

use holon_core::digest::sha256;
use holon_git::repo::WorktreeLink;
use holon_git::{Git, ObjectFormat, Repository, apply};
use holon_host::HostError;

use super::state::MergedChange;
use crate::dispatch::private_folder;
use crate::error::FlowError;

/// The folder of an orchestration that holds what files were before the first task changed them.
const ORIGINALS: &str = "originals";

/// The private copy.
pub(super) struct MergeTree {
    /// The workspace it is a copy of.
    workspace: PathBuf,
    /// The orchestration's folder.
    folder: PathBuf,
    /// Where the copy is, below a folder that stands for what is above the workspace.
    inside: PathBuf,
    /// Left out: where the user wants the artifacts, should that be in the workspace.
    without: Option<PathBuf>,
    /// How many changes it holds; `None` when it is not there.
    holds: Option<usize>,
}

impl MergeTree {
    pub(super) fn new(workspace: &Path, folder: &Path, out: Option<&Path>) -> Self {
        let without = out.filter(|out| out.starts_with(workspace)).map(Path::to_owned);
        let repository = Repository::look(workspace).ok().and_then(|found| found.repository);
        let below = repository.filter(|repository| !repository.is_toplevel());
        let inside = below.map_or_else(|| PathBuf::from("files"), |repository| repository.prefix);
        Self { workspace: workspace.to_owned(), folder: folder.to_owned(), inside, without, holds: None }
    }

    /// What stands for the folders above the workspace.
    fn house(&self) -> PathBuf {
        self.folder.join("trunk")
    }

    /// Where it is.
    pub(super) fn path(&self) -> PathBuf {
        self.house().join(&self.inside)
    }

    /// What the next child is based on: the workspace itself until something was joined.
    pub(super) fn base(&mut self, merges: &[MergedChange]) -> Result<PathBuf, FlowError> {
        if merges.is_empty() {
            return Ok(self.workspace.clone());
        }
        self.ready(merges)?;
        Ok(self.path())
    }

    /// Makes sure that it is there and holds exactly these changes.
    pub(super) fn ready(&mut self, merges: &[MergedChange]) -> Result<(), FlowError> {
        if self.holds == Some(merges.len()) {
            return Ok(());
        }
        self.remove();
        let path = self.path();
        private_folder(&self.house())?;
        copy(&self.workspace, &path, self.without.as_deref())?;
        surround(&self.workspace, &self.house(), &path)?;
        let kept = self.folder.join(ORIGINALS);
        if kept.is_dir() {
            for path in merges.iter().flat_map(|merge| &merge.paths) {
                replace(&kept.join(path), &self.path().join(path))?;
            }
        }
        let git = Git::find().map_err(HostError::from)?;
        let format = self.format()?;
        for merge in merges {
            let file = self.folder.join(&merge.file);
            let patch = fs::read(&file).map_err(HostError::io("read", &file))?;
            if sha256(&patch) != merge.sha256 {
                return Err(FlowError::Changed { path: merge.file.clone() });
            }
            apply::plain(&git, &patch, &path, format).map_err(HostError::from)?;
        }
        self.holds = Some(merges.len());
        Ok(())
    }

    /// Files as they were when the first task that changed them began; where there are none, the workspace.
    pub(super) fn originals(&self, workspace: &Path) -> PathBuf {
        let kept = self.folder.join(ORIGINALS);
        if kept.is_dir() { kept } else { workspace.to_owned() }
    }

    /// Notes what files were when a task that changes them began, and gives them to the trunk so: a person who goes on
    /// working in the workspace changes nothing about what the tasks did.
    pub(super) fn keep_originals<'p>(
        &mut self,
        from: &Path,
        paths: impl Iterator<Item = &'p Path>,
    ) -> Result<(), FlowError> {
        let kept = self.folder.join(ORIGINALS);
        private_folder(&kept)?;
        for path in paths {
            replace(&from.join(path), &kept.join(path))?;
            replace(&from.join(path), &self.path().join(path))?;
        }
        Ok(())
    }

    /// One more change is in it.
    pub(super) fn grown(&mut self) {
        self.holds = self.holds.map(|count| count + 1);
    }

    /// How the objects of the workspace's repository are named.
    pub(super) fn format(&self) -> Result<ObjectFormat, FlowError> {
        let found = Repository::look(&self.workspace).map_err(HostError::from)?;
        Ok(found.repository.map(|repository| repository.format).unwrap_or_default())
    }

    /// Takes it away; it can be made again.
    pub(super) fn remove(&mut self) {
        self.holds = None;
        let _ = make_removable(&self.house());
        let _ = fs::remove_dir_all(self.house());
    }
}

/// Makes `to` what `from` is: a file, a link, or nothing.
fn replace(from: &Path, to: &Path) -> Result<(), HostError> {
    let there = |path: &Path| fs::symlink_metadata(path).ok();
    if there(to).is_some_and(|meta| !meta.is_dir()) {
        fs::remove_file(to).map_err(HostError::io("replace", to))?;
    }
    let Some(meta) = there(from).filter(|meta| !meta.is_dir()) else { return Ok(()) };
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(HostError::io("create", parent))?;
    }
    if meta.is_symlink() {
        let target = fs::read_link(from).map_err(HostError::io("read", from))?;
        return symlink(target, to).map_err(HostError::io("create", to));
    }
    fs::copy(from, to).map_err(HostError::io("copy", from))?;
    keep_owner(&meta, to);
    Ok(())
}

/// Folders nobody may write to cannot be emptied.
pub(crate) fn make_removable(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            let mode = entry.metadata()?.permissions().mode();
            if mode & 0o700 != 0o700 {
                fs::set_permissions(entry.path(), fs::Permissions::from_mode(mode | 0o700))?;
            }
            make_removable(&entry.path())?;
        }
    }
    Ok(())
}

/// Copies a folder with all there is in it to a place where nothing is.
pub(crate) fn copy_tree(from: &Path, to: &Path) -> Result<(), HostError> {
    copy(from, to, None)
}

/// Copies files, links and folders with their modes and owners; sockets, pipes and devices stay behind.
fn copy(from: &Path, to: &Path, without: Option<&Path>) -> Result<(), HostError> {
    let mut folders = vec![(from.to_owned(), to.to_owned())];
    let mut modes = Vec::new();
    while let Some((from, to)) = folders.pop() {
        let meta = fs::symlink_metadata(&from).map_err(HostError::io("read", &from))?;
        fs::create_dir_all(&to).map_err(HostError::io("create", &to))?;
        keep_owner(&meta, &to);
        modes.push((to.clone(), meta.permissions()));
        for entry in fs::read_dir(&from).map_err(HostError::io("read", &from))? {
            let entry = entry.map_err(HostError::io("read", &from))?;
            let (source, target) = (entry.path(), to.join(entry.file_name()));
            if without == Some(source.as_path()) {
                continue;
            }
            let kind = entry.file_type().map_err(HostError::io("read", &source))?;
            if kind.is_dir() {
                folders.push((source, target));
            } else if kind.is_symlink() {
                let link = fs::read_link(&source).map_err(HostError::io("read", &source))?;
                symlink(link, &target).map_err(HostError::io("create", &target))?;
            } else if kind.is_file() {
                // Shares blocks where the filesystem can.
                fs::copy(&source, &target).map_err(HostError::io("copy", &source))?;
                if let Ok(meta) = entry.metadata() {
                    keep_owner(&meta, &target);
                }
            }
        }
    }
    // Afterwards, because nothing could be put into a folder that may not be written to.
    for (path, permissions) in modes.into_iter().rev() {
        fs::set_permissions(&path, permissions).map_err(HostError::io("create", &path))?;
    }
    Ok(())
}

/// Gives the copy at `at` the repository that the workspace has, where that lies above it or elsewhere: its index and its
/// ignore rules count for the copy too. Where there is none, none that happens to be above the copy is taken for it.
fn surround(workspace: &Path, house: &Path, at: &Path) -> Result<(), HostError> {
    let Some(repository) = Repository::look(workspace)?.repository else {
        // An empty one is no repository, and ends the search for one.
        let end = house.join(".git");
        return fs::create_dir_all(&end).map_err(HostError::io("create", &end));
    };
    let top = if repository.is_toplevel() { at } else { house };
    if repository.is_toplevel() && repository.link == WorktreeLink::Directory {
        return Ok(());
    }
    let own = top.join(".git");
    // A pointer, which only counts where it was made.
    let _ = fs::remove_file(&own);
    fs::create_dir_all(own.join("objects")).map_err(HostError::io("create", &own))?;
    let mut parts: Vec<PathBuf> = ["config", "packed-refs", "refs", "reftable", "info"]
        .map(|name| repository.common_dir.join(name))
        .into();
    let listed = fs::read_dir(&repository.git_dir).into_iter().flatten().flatten();
    let indexes = listed.filter(|entry| entry.file_name().to_string_lossy().starts_with("sharedindex."));
    parts.extend(indexes.map(|entry| entry.path()));
    parts.extend(["HEAD", "index"].map(|name| repository.git_dir.join(name)));
    if repository.is_toplevel() {
        // Only then can an agent look at it.
        parts.push(repository.common_dir.join("objects"));
    }
    for part in parts {
        let to = own.join(part.file_name().unwrap_or_default());
        match fs::symlink_metadata(&part) {
            Ok(meta) if meta.is_dir() => copy(&part, &to, None)?,
            Ok(meta) if meta.is_file() => {
                fs::copy(&part, &to).map(drop).map_err(HostError::io("copy", &part))?;
            }
            _ => {}
        }
    }
    if repository.link == WorktreeLink::Submodule {
        without_place(&own.join("config"))?;
    }
    let above = repository.prefix.ancestors().skip(1);
    for rules in above.map(|folder| folder.join(".gitignore")) {
        let from = repository.toplevel.join(&rules);
        if fs::symlink_metadata(&from).is_ok_and(|meta| meta.is_file()) {
            fs::copy(&from, house.join(&rules)).map(drop).map_err(HostError::io("copy", &from))?;
        }
    }
    Ok(())
}

/// A submodule's configuration says where its files are, and the copy's are elsewhere.
fn without_place(config: &Path) -> Result<(), HostError> {
    let text = fs::read_to_string(config).map_err(HostError::io("read", config))?;
    let is_place = |line: &&str| line.trim_start().to_ascii_lowercase().starts_with("worktree");
    let kept: String = text.lines().filter(|line| !is_place(line)).map(|line| format!("{line}\n")).collect();
    fs::write(config, kept).map_err(HostError::io("write", config))
}

/// Only root can give files away, and only root needs to.
fn keep_owner(meta: &fs::Metadata, path: &Path) {
    if rustix::process::geteuid().is_root() {
        let _ = lchown(path, Some(meta.uid()), Some(meta.gid()));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_copy_has_everything_but_what_cannot_be_copied() {
        let temp = tempfile::tempdir().unwrap();
        let (from, to) = (temp.path().join("from"), temp.path().join("to"));
        fs::create_dir_all(from.join("sub/empty")).unwrap();
        fs::create_dir_all(from.join("out")).unwrap();
        fs::write(from.join("sub/run.sh"), "x").unwrap();
        fs::set_permissions(from.join("sub/run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink("/nowhere", from.join("link")).unwrap();
        fs::write(from.join("out/manifest.json"), "{}").unwrap();
        copy(&from, &to, Some(&from.join("out"))).unwrap();
        assert_eq!(fs::read(to.join("sub/run.sh")).unwrap(), b"x");
        assert_eq!(fs::metadata(to.join("sub/run.sh")).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(fs::read_link(to.join("link")).unwrap(), Path::new("/nowhere"));
        assert!(to.join("sub/empty").is_dir() && !to.join("out").exists());
    }

    fn git(dir: &Path, args: &[&str]) {
        let mut command = std::process::Command::new("git");
        let user =
            ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "protocol.file.allow=always"];
        let done =
            command.args(user).args(args).current_dir(dir).env("GIT_CONFIG_GLOBAL", "/dev/null").output();
        let done = done.unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    /// A repository with a folder below it, rules at both, and one file in that folder.
    fn repository(at: &Path) -> PathBuf {
        fs::create_dir_all(at.join("part/inner")).unwrap();
        fs::write(at.join(".gitignore"), "*.log\n").unwrap();
        fs::write(at.join("part/.gitignore"), "*.tmp\n").unwrap();
        fs::write(at.join("part/inner/a.txt"), "a").unwrap();
        git(at, &["init", "-q"]);
        git(at, &["add", "."]);
        git(at, &["commit", "-qm", "first"]);
        at.canonicalize().unwrap()
    }

    /// The trunk of a workspace, made in a folder below a repository that has nothing to do with it.
    fn merge_tree(temp: &Path, workspace: &Path) -> (MergeTree, Option<Repository>) {
        let stranger = temp.join("stranger");
        let folder = stranger.join("runs");
        fs::create_dir_all(&folder).unwrap();
        fs::write(stranger.join(".gitignore"), "*\n").unwrap();
        git(&stranger, &["init", "-q"]);
        let mut trunk = MergeTree::new(workspace, &folder, None);
        trunk.ready(&[]).unwrap();
        let found = Repository::look(&trunk.path()).unwrap();
        assert_eq!(found.warnings, Vec::<String>::new());
        (trunk, found.repository)
    }

    #[test]
    fn a_workspace_below_its_repository_keeps_what_it_has_from_above() {
        let temp = tempfile::tempdir().unwrap();
        let top = repository(&temp.path().join("top"));
        let (trunk, found) = merge_tree(temp.path(), &top.join("part/inner"));
        let found = found.unwrap();
        let original = Repository::look(&top.join("part/inner")).unwrap().repository.unwrap();
        assert_eq!((&found.prefix, &found.head), (&original.prefix, &original.head));
        assert_eq!(fs::read(trunk.path().join("a.txt")).unwrap(), b"a");
        for rules in [".gitignore", "part/.gitignore"] {
            assert_eq!(fs::read(found.toplevel.join(rules)).unwrap(), fs::read(top.join(rules)).unwrap());
        }
        let git = Git::find().unwrap();
        let tracked = holon_git::tracked::below(&git, &found, &["a.txt".into()]).unwrap();
        assert_eq!(tracked.len(), 1, "the index is there, too");
    }

    #[test]
    fn a_worktree_keeps_its_repository_and_without_one_none_is_found_above() {
        let temp = tempfile::tempdir().unwrap();
        let top = repository(&temp.path().join("top"));
        git(&top, &["worktree", "add", "-q", "../tree"]);
        let tree = temp.path().join("tree").canonicalize().unwrap();
        let (kept, found) = merge_tree(temp.path(), &tree);
        let original = Repository::look(&tree).unwrap().repository.unwrap();
        assert_eq!(found.unwrap().head, original.head);
        git(&kept.path(), &["log", "-1"]);
        let plain = temp.path().join("plain");
        fs::create_dir(&plain).unwrap();
        let (_, found) = merge_tree(temp.path(), &plain);
        assert_eq!(found, None);
    }
}
