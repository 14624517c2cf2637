//! Removing and moving files and folders.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::io::Errno;

use super::store::rename_without_replacing;
use crate::words::refused;
use crate::workspace_paths::WorkspacePaths;
use crate::{ExecutorError, ExecutorErrorKind};

/// [`crate::ToolRequest::Remove`].
pub(crate) fn remove(place: &WorkspacePaths, given: &str, recursive: bool) -> Result<(), ExecutorError> {
    let path = place.resolve(itself(given))?;
    let metadata = fs::symlink_metadata(&path).map_err(|error| not_there("remove", place, given, &error))?;
    let gone = match metadata.is_dir() {
        true if place.holds_root(&path) => {
            return Err(ExecutorError::new(
                ExecutorErrorKind::Invalid,
                "the workspace itself cannot be removed",
            ));
        }
        true if !recursive => {
            return Err(ExecutorError::new(
                ExecutorErrorKind::WrongKind,
                format!("{given} is a folder: remove it recursively if everything in it may go"),
            ));
        }
        true => fs::remove_dir_all(&path),
        false => fs::remove_file(&path),
    };
    gone.map_err(|error| refused("remove", given, &error))
}

/// [`crate::ToolRequest::Rename`].
pub(crate) fn rename(place: &WorkspacePaths, from: &str, to: &str) -> Result<(), ExecutorError> {
    let (source, target) = (place.resolve(itself(from))?, place.resolve(itself(to))?);
    fs::symlink_metadata(&source).map_err(|error| not_there("move", place, from, &error))?;
    if place.holds_root(&source) && source.is_dir() && !source.is_symlink() {
        return Err(ExecutorError::new(ExecutorErrorKind::Invalid, "the workspace itself cannot be moved"));
    }
    if fs::symlink_metadata(&target).is_ok() {
        return Err(occupied(to));
    }
    if let Some(folder) = target.parent() {
        fs::create_dir_all(folder).map_err(|error| refused("write", to, &error))?;
    }
    match rename_without_replacing(&source, &target) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(occupied(to)),
        Err(error) if Errno::from_io_error(&error) == Some(Errno::INVAL) => Err(ExecutorError::new(
            ExecutorErrorKind::Invalid,
            format!("cannot move {from} into itself, to {to}"),
        )),
        // Another filesystem, or a folder of an overlay's lower layer.
        Err(error) if Errno::from_io_error(&error) == Some(Errno::XDEV) => {
            carry_over(&source, &target).map_err(|error| {
                let _ = discard(&target);
                refused("move", from, &error)
            })?;
            discard(&source).map_err(|error| refused("remove", from, &error))
        }
        Err(error) => Err(refused("move", from, &error)),
    }
}

/// Without slashes behind it: with them a link would be what it leads to.
fn itself(given: &str) -> &str {
    match given.trim_end_matches('/') {
        "" => given,
        name => name,
    }
}

fn not_there(doing: &str, place: &WorkspacePaths, given: &str, error: &io::Error) -> ExecutorError {
    match (error.kind(), place.resolve(given)) {
        (ErrorKind::NotFound | ErrorKind::NotADirectory, Ok(path)) => place.missing(given, &path),
        _ => refused(doing, given, error),
    }
}

fn occupied(to: &str) -> ExecutorError {
    ExecutorError::new(
        ExecutorErrorKind::Changed,
        format!("{to} exists already: remove it first, or choose another name"),
    )
}

/// Copies files, folders and links, with their mode bits.
fn carry_over(from: &Path, to: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(from)?;
    let kind = metadata.file_type();
    if kind.is_symlink() {
        return std::os::unix::fs::symlink(fs::read_link(from)?, to);
    }
    if kind.is_file() {
        return fs::copy(from, to).map(|_| ());
    }
    if !kind.is_dir() {
        return Err(io::Error::other("there is a FIFO, socket or device in it"));
    }
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let name = entry?.file_name();
        carry_over(&from.join(&name), &to.join(&name))?;
    }
    fs::set_permissions(to, Permissions::from_mode(metadata.permissions().mode() & 0o777))
}

fn discard(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path)?.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_tree_is_carried_over_with_modes_and_links() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir_all(from.join("sub")).unwrap();
        fs::write(from.join("sub/tool"), "x").unwrap();
        fs::set_permissions(from.join("sub/tool"), Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink("nowhere", from.join("link")).unwrap();
        carry_over(&from, &to).unwrap();
        discard(&from).unwrap();
        assert!(!from.exists());
        assert_eq!(fs::metadata(to.join("sub/tool")).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(fs::read_link(to.join("link")).unwrap(), Path::new("nowhere"));
    }
}
