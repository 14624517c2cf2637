//! Writing a whole file in one step.

use std::fs::{File, Metadata, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{CWD, OFlags, RenameFlags};
use rustix::io::Errno;

use super::open;
use crate::words::{refused, trouble};
use crate::workspace_paths::WorkspacePaths;
use crate::{ExecutorError, ExecutorErrorKind, FileExpectation, StoredFile, digest};

/// A file larger than this is not replaced: hashing what was there would take too long.
const MOST_REPLACED: u64 = 1 << 30;

/// [`crate::ToolRequest::Store`].
pub(crate) fn store(
    place: &WorkspacePaths,
    given: &str,
    bytes: &[u8],
    expect: &FileExpectation,
    executable: Option<bool>,
) -> Result<StoredFile, ExecutorError> {
    let path = target(place, given)?;
    let existing = match std::fs::symlink_metadata(&path) {
        Ok(metadata) => Some(metadata),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => None,
        Err(error) => return Err(refused("write", given, &error)),
    };
    let before = match &existing {
        Some(metadata) => Some(digest_of_existing(given, &path, metadata)?),
        None => None,
    };
    check_expectation(given, expect, before.as_deref())?;
    let failed = |error: io::Error| write_failed(given, &error);
    if existing.is_none() {
        let folder = path.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(folder).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => failed(Errno::NOTDIR.into()),
            _ => failed(error),
        })?;
    }
    let mode = existing.as_ref().map(|metadata| metadata.permissions().mode() & 0o777);
    let absent = *expect == FileExpectation::Absent;
    match replace(&path, bytes, mode, executable, absent) {
        Ok(()) => {}
        Err(error) if existing.is_some() && folder_is_the_obstacle(&error) => {
            in_place(given, &path, bytes, mode, executable).map_err(failed)?;
        }
        Err(error) if absent && error.kind() == ErrorKind::AlreadyExists => return Err(exists(given)),
        Err(error) => return Err(failed(error)),
    }
    Ok(StoredFile { before, after: digest::of(bytes) })
}

/// The file to write: the one a link leads to, if it stays in the workspace.
fn target(place: &WorkspacePaths, given: &str) -> Result<PathBuf, ExecutorError> {
    let path = place.resolve(given)?;
    if path.file_name().is_none() || given.ends_with('/') {
        return Err(ExecutorError::new(ExecutorErrorKind::Invalid, format!("`{given}` names no file")));
    }
    if !path.is_symlink() {
        return Ok(path);
    }
    let Ok(real) = std::fs::canonicalize(&path) else {
        let mut error = place.missing(given, &path);
        error.message.push_str(" Remove the link, or write the file it leads to.");
        return Err(error);
    };
    if !place.inside(&real) {
        let message = format!(
            "{given} is a link that leads out of the workspace, to {}: it is not written through",
            real.display()
        );
        return Err(ExecutorError::new(ExecutorErrorKind::Denied, message));
    }
    Ok(real)
}

fn digest_of_existing(given: &str, path: &Path, metadata: &Metadata) -> Result<String, ExecutorError> {
    open::check_kind(given, metadata.file_type())?;
    if metadata.len() > MOST_REPLACED {
        let message = format!("{given} has {} bytes, too many to be replaced here", metadata.len());
        return Err(ExecutorError::new(ExecutorErrorKind::TooLarge, message));
    }
    let failed = |error: io::Error| refused("read", given, &error);
    let file = open::nonblocking(path, OFlags::RDONLY | OFlags::NOFOLLOW).map_err(failed)?;
    open::check_kind(given, file.metadata().map_err(failed)?.file_type())?;
    let mut file = file.take(MOST_REPLACED);
    let mut hash = digest::RunningDigest::default();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hash.finish()),
            Ok(count) => hash.update(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
}

fn check_expectation(
    given: &str,
    expect: &FileExpectation,
    before: Option<&str>,
) -> Result<(), ExecutorError> {
    match (expect, before) {
        (FileExpectation::Any, _) | (FileExpectation::Absent, None) => Ok(()),
        (FileExpectation::Absent, Some(_)) => Err(exists(given)),
        (FileExpectation::Sha256(expected), Some(found)) if expected.eq_ignore_ascii_case(found) => Ok(()),
        (FileExpectation::Sha256(_), Some(_)) => Err(ExecutorError::new(
            ExecutorErrorKind::Changed,
            format!("{given} changed since it was read: read it again, then repeat the edit"),
        )),
        (FileExpectation::Sha256(_), None) => Err(ExecutorError::new(
            ExecutorErrorKind::Changed,
            format!("{given} is gone since it was read: look for where it went, or write it anew"),
        )),
    }
}

fn exists(given: &str) -> ExecutorError {
    ExecutorError::new(
        ExecutorErrorKind::Changed,
        format!("{given} exists already: edit it, or choose another name"),
    )
}

fn write_failed(given: &str, error: &io::Error) -> ExecutorError {
    match trouble(error) {
        ExecutorErrorKind::WrongKind => ExecutorError::new(
            ExecutorErrorKind::WrongKind,
            format!("cannot write {given}: a part of its path is a file, not a folder"),
        ),
        _ => refused("write", given, error),
    }
}

/// Whether the file itself might be writable although its folder is not.
fn folder_is_the_obstacle(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::ACCESS | Errno::PERM | Errno::ROFS | Errno::BUSY | Errno::XDEV)
    )
}

/// A new file beside the old one takes its place, so that nobody ever sees half of it.
fn replace(
    path: &Path,
    bytes: &[u8],
    mode: Option<u32>,
    executable: Option<bool>,
    absent: bool,
) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let (fresh, file) = fresh_file(folder)?;
    let done = fill(file, bytes, mode, executable).and_then(|()| match absent {
        true => rename_without_replacing(&fresh, path),
        false => std::fs::rename(&fresh, path),
    });
    if done.is_err() {
        let _ = std::fs::remove_file(&fresh);
    }
    done
}

fn fresh_file(folder: &Path) -> io::Result<(PathBuf, File)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!(".holon-{}-{number}.part", std::process::id()));
        match File::options().write(true).create_new(true).mode(0o666).open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

fn fill(mut file: File, bytes: &[u8], mode: Option<u32>, executable: Option<bool>) -> io::Result<()> {
    file.write_all(bytes)?;
    let fresh = file.metadata()?.permissions().mode() & 0o777;
    let wanted = with_executable(mode.unwrap_or(fresh), executable);
    if wanted != fresh {
        file.set_permissions(Permissions::from_mode(wanted))?;
    }
    Ok(())
}

/// Who may read may execute, or nobody may.
fn with_executable(mode: u32, executable: Option<bool>) -> u32 {
    match executable {
        None => mode,
        Some(true) => mode | ((mode & 0o444) >> 2),
        Some(false) => mode & !0o111,
    }
}

/// Renames only if there is nothing at the target.
pub(super) fn rename_without_replacing(from: &Path, to: &Path) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Not every filesystem knows how; nobody but the agent's own commands could come in between.
        Err(Errno::INVAL | Errno::NOSYS) => match std::fs::symlink_metadata(to) {
            Ok(_) => Err(ErrorKind::AlreadyExists.into()),
            Err(_) => std::fs::rename(from, to),
        },
        done => Ok(done?),
    }
}

fn in_place(
    given: &str,
    path: &Path,
    bytes: &[u8],
    mode: Option<u32>,
    executable: Option<bool>,
) -> io::Result<()> {
    let mut file = open::nonblocking(path, OFlags::WRONLY | OFlags::NOFOLLOW)?;
    open::check_kind(given, file.metadata()?.file_type()).map_err(io::Error::other)?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)?;
    if let (Some(mode), Some(_)) = (mode, executable) {
        file.set_permissions(Permissions::from_mode(with_executable(mode, executable)))?;
    }
    Ok(())
}
