//! Small file operations that leave either the old or the new state, never half of one.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::error::HostError;

/// Replaces a file's content in one step: whoever is killed at any moment, readers see the old or the new one.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), HostError> {
    replace(path, bytes, false).map_err(HostError::io("write", path))
}

/// The same, and it survives a power cut once this returns; for what cannot be made again.
pub fn write_durable(path: &Path, bytes: &[u8]) -> Result<(), HostError> {
    replace(path, bytes, true).map_err(HostError::io("write", path))
}

fn replace(path: &Path, bytes: &[u8], durable: bool) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut temporary = tempfile::Builder::new()
        .prefix(".new-")
        .permissions(fs::Permissions::from_mode(0o644))
        .tempfile_in(folder)?;
    temporary.write_all(bytes)?;
    if durable {
        temporary.as_file().sync_data()?;
    }
    temporary.persist(path)?;
    Ok(())
}

/// Copies regular files and folders; links and special files are left out (what is copied came from an agent).
pub fn copy_tree(from: &Path, to: &Path) -> Result<(), HostError> {
    let mut todo = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = todo.pop() {
        fs::create_dir_all(&to).map_err(HostError::io("create", &to))?;
        for entry in fs::read_dir(&from).map_err(HostError::io("read", &from))? {
            let entry = entry.map_err(HostError::io("read", &from))?;
            let (source, target) = (entry.path(), to.join(entry.file_name()));
            let kind = entry.file_type().map_err(HostError::io("read", &source))?;
            if kind.is_dir() {
                todo.push((source, target));
            } else if kind.is_file() {
                copy_file(&source, &target)?;
            }
        }
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path) -> Result<(), HostError> {
    let mut source = File::options()
        .read(true)
        .custom_flags((rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits() as i32)
        .open(from)
        .map_err(HostError::io("read", from))?;
    let mut target = File::create(to).map_err(HostError::io("create", to))?;
    io::copy(&mut source, &mut target).map_err(HostError::io("write", to))?;
    Ok(())
}
