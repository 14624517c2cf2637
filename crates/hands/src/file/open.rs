//! Opening plain files and nothing else, so that no FIFO, socket or device can make the hands wait.

use std::fs::{File, FileType, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use crate::words::refused;
use crate::workspace_paths::WorkspacePaths;
use crate::{ExecutorError, ExecutorErrorKind};

/// Opens a plain file for reading. `given` is its path as the caller wrote it.
pub(crate) fn plain(place: &WorkspacePaths, given: &str) -> Result<(File, Metadata), ExecutorError> {
    let path = place.resolve(given)?;
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => place.missing(given, &path),
        io::ErrorKind::NotADirectory => ExecutorError::new(
            ExecutorErrorKind::WrongKind,
            format!("{given} does not exist: a part of its path is a file, not a folder"),
        ),
        _ => refused("read", given, &error),
    };
    // Looked at before it is opened: opening alone can already do something to a device.
    let before = std::fs::metadata(&path).map_err(failed)?;
    check_kind(given, before.file_type())?;
    let file = nonblocking(&path, OFlags::RDONLY).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    check_kind(given, metadata.file_type())?;
    Ok((file, metadata))
}

/// Opens without ever waiting; whether it is a plain file is still to be checked.
pub(crate) fn nonblocking(path: &Path, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

/// That it is a plain file.
pub(crate) fn check_kind(given: &str, kind: FileType) -> Result<(), ExecutorError> {
    if kind.is_file() {
        return Ok(());
    }
    let message = match kind {
        kind if kind.is_dir() => format!("{given} is a folder, not a file: list it to see what is in it"),
        kind => format!("{given} is {}, not a plain file: use a command for it", name_of(kind)),
    };
    Err(ExecutorError::new(ExecutorErrorKind::WrongKind, message))
}

fn name_of(kind: FileType) -> &'static str {
    match kind {
        kind if kind.is_fifo() => "a FIFO",
        kind if kind.is_socket() => "a socket",
        kind if kind.is_symlink() => "a link",
        _ => "a device",
    }
}

/// At most this many bytes of a small file that is read on the way to something else; `None` if it is anything but that.
pub(crate) fn small(path: &Path, most: u64) -> Option<Vec<u8>> {
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let file = nonblocking(path, OFlags::RDONLY).ok()?;
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() || metadata.len() > most {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
