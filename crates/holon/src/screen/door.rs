//! Where one comes back to a session: a socket in the folder of its run.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

/// The name of the socket.
const NAME: &str = "screen.sock";

/// The way to it, which stays short whatever the folder is called: sockets have names of 107 bytes at most.
pub(super) struct ScreenDoor {
    _folder: File,
    path: PathBuf,
}

impl ScreenDoor {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// The door of a run's folder.
pub(super) fn of(folder: &Path) -> io::Result<ScreenDoor> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = File::from(rustix::fs::open(folder, flags, Mode::empty())?);
    let path = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(NAME);
    Ok(ScreenDoor { _folder: folder, path })
}

/// Goes through it; an error where there is no session, or none any more.
pub(super) fn enter(folder: &Path) -> io::Result<UnixStream> {
    UnixStream::connect(of(folder)?.path())
}
