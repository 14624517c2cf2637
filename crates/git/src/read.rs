//! Small files of a repository nobody vouches for.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, fstat, openat};

/// Opens a regular file without following a final link and without ever waiting on a FIFO or device.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let fd = openat(CWD, path, flags, Mode::empty())?;
    if !rustix::fs::FileType::from_raw_mode(fstat(&fd)?.st_mode).is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    Ok(File::from(fd))
}

/// The content of a regular file of at most `cap` bytes; `None` when it does not exist.
pub(crate) fn small(path: &Path, cap: u64) -> io::Result<Option<Vec<u8>>> {
    let file = match open_regular(path) {
        Ok(file) => file,
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(e) => return Err(e),
    };
    let mut bytes = Vec::new();
    file.take(cap + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > cap {
        return Err(io::Error::other(format!("larger than {cap} bytes")));
    }
    Ok(Some(bytes))
}
