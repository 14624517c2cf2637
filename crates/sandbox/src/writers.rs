//! Whether somebody is writing a file at this moment.

use std::fs::File;
use std::os::fd::AsRawFd;

/// Which signal tells of somebody who wants the file; the number is the same on every Linux, and `libc` does not name it.
const F_SETSIG: libc::c_int = 10;

/// Whether any process has the file open for writing; `None` where the file system or its owner does not let that be
/// told. `file` must be open for reading only.
///
/// The kernel grants a lease on a file only while nobody has it open for writing, so asking for one tells.
pub fn has_writer(file: &File) -> Option<bool> {
    let fd = file.as_raw_fd();
    // SAFETY: `fd` is open for the whole call; the commands take integers and no pointer. Should somebody open the file
    // for writing while the lease is held, the kernel sends SIGURG instead of SIGIO, and that one is ignored by default.
    let leased = unsafe {
        libc::fcntl(fd, F_SETSIG, libc::SIGURG);
        libc::fcntl(fd, libc::F_SETLEASE, libc::F_RDLCK)
    };
    if leased == 0 {
        // SAFETY: as above.
        unsafe { libc::fcntl(fd, libc::F_SETLEASE, libc::F_UNLCK) };
        return Some(false);
    }
    match std::io::Error::last_os_error().raw_os_error() {
        Some(libc::EAGAIN) => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;

    use super::*;

    #[test]
    fn a_writer_is_noticed_and_a_reader_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "x").unwrap();
        let read = File::open(&path).unwrap();
        assert_eq!(has_writer(&read), Some(false));
        let other = File::open(&path).unwrap();
        assert_eq!(has_writer(&read), Some(false));
        let writer = File::options().append(true).open(&path).unwrap();
        assert_eq!(has_writer(&read), Some(true));
        drop((writer, other));
        assert_eq!(has_writer(&read), Some(false));
    }
}
