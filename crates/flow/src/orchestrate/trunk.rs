//! The trunk: a private copy of the workspace in which the changes of all tasks are joined, in order.
//!
//! It is only ever changed while no child runs, and can be made again at any time from the workspace and the changes that
//! were joined, so a process that is killed in the middle leaves nothing that matters.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};

use holon_core::digest::sha256;
use holon_git::{Git, ObjectFormat, Repository, apply};
use holon_host::HostError;

use super::state::Merge;
use crate::error::FlowError;

/// The private copy.
pub(super) struct Trunk {
    /// The workspace it is a copy of.
    workspace: PathBuf,
    /// The orchestration's folder.
    folder: PathBuf,
    /// Left out: where the user wants the artifacts, should that be in the workspace.
    without: Option<PathBuf>,
    /// How many changes it holds; `None` when it is not there.
    holds: Option<usize>,
}

impl Trunk {
    pub(super) fn new(workspace: &Path, folder: &Path, out: Option<&Path>) -> Self {
        let without = out.filter(|out| out.starts_with(workspace)).map(Path::to_owned);
        Self { workspace: workspace.to_owned(), folder: folder.to_owned(), without, holds: None }
    }

    /// Where it is.
    pub(super) fn path(&self) -> PathBuf {
        self.folder.join("trunk")
    }

    /// What the next child is based on: the workspace itself until something was joined.
    pub(super) fn base(&mut self, merges: &[Merge]) -> Result<PathBuf, FlowError> {
        if merges.is_empty() {
            return Ok(self.workspace.clone());
        }
        self.ready(merges)?;
        Ok(self.path())
    }

    /// Makes sure that it is there and holds exactly these changes.
    pub(super) fn ready(&mut self, merges: &[Merge]) -> Result<(), FlowError> {
        if self.holds == Some(merges.len()) {
            return Ok(());
        }
        self.remove();
        let path = self.path();
        copy(&self.workspace, &path, self.without.as_deref())?;
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
        let _ = make_removable(&self.path());
        let _ = fs::remove_dir_all(self.path());
    }
}

/// Folders nobody may write to cannot be emptied.
fn make_removable(folder: &Path) -> io::Result<()> {
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
}
