//! A lock that is a folder, as agents written for Node make it: whoever makes the folder holds the lock, shows that it lives
//! by touching it, and removes it. One that is not touched for a while was left behind.
//!
//! A process of ours that is killed would leave one in the agent's way. So a folder is made under another name first, its
//! identity is written down, and then it is given the lock's name: whoever comes next (under our own lock, so alone) knows
//! what is ours and removes it at once.

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, RenameFlags, Timespec, Timestamps, UTIME_NOW};
use rustix::io::Errno;

use crate::error::LoginError;
use crate::held_lock::{Deadline, age, identity, with_suffix};

/// How often the folder is touched.
const TOUCH: Duration = Duration::from_secs(2);

/// A folder that is held until this is dropped.
pub(crate) struct FolderLock {
    path: PathBuf,
    record: PathBuf,
    /// What tells it from a folder that somebody else made meanwhile, should this process have slept for too long.
    identity: Option<String>,
    touching: Option<(Sender<()>, JoinHandle<()>)>,
}

impl FolderLock {
    /// Waits until nobody has the folder, and makes it.
    pub(crate) fn take(
        path: &Path,
        record: &Path,
        stale: Duration,
        deadline: Deadline,
    ) -> Result<Self, LoginError> {
        give_back_what_was_ours(path, record);
        loop {
            if make(path, record)? {
                break;
            }
            if age(path).is_some_and(|age| age > stale) {
                // As the agent itself does with one that nobody touches; only an empty folder goes.
                let _ = std::fs::remove_dir(path);
            } else {
                deadline.wait(path)?;
            }
        }
        let identity = identity(path);
        let mut lock = Self { path: path.into(), record: record.into(), identity, touching: None };
        lock.touching = Some(touch_until_dropped(path)?);
        Ok(lock)
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.touching.take() {
            drop(stop);
            let _ = thread.join();
        }
        if identity(&self.path) == self.identity {
            let _ = std::fs::remove_dir(&self.path);
        }
        let _ = std::fs::remove_file(&self.record);
    }
}

fn give_back_what_was_ours(path: &Path, record: &Path) {
    let Ok(written) = std::fs::read_to_string(record) else { return };
    if identity(path).is_some_and(|there| there == written) {
        let _ = std::fs::remove_dir(path);
    }
    let _ = std::fs::remove_file(record);
}

/// Makes the folder, unless it is there.
fn make(path: &Path, record: &Path) -> Result<bool, LoginError> {
    let first = with_suffix(path, ".holon");
    let _ = std::fs::remove_dir(&first);
    std::fs::create_dir(&first).map_err(LoginError::io("create", &first))?;
    if let Some(identity) = identity(&first) {
        let written = File::create(record).and_then(|mut file| file.write_all(identity.as_bytes()));
        written.map_err(LoginError::io("write", record))?;
    }
    let named = rustix::fs::renameat_with(CWD, &first, CWD, path, RenameFlags::NOREPLACE);
    let _ = std::fs::remove_dir(&first);
    match named {
        Ok(()) => Ok(true),
        Err(Errno::EXIST) => Ok(false),
        // File systems that cannot rename so.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => match std::fs::create_dir(path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(LoginError::io("create", path)(error)),
        },
        Err(error) => Err(LoginError::io("create", path)(error)),
    }
}

fn touch_until_dropped(path: &Path) -> Result<(Sender<()>, JoinHandle<()>), LoginError> {
    let (stop, stopped) = channel();
    let touched = path.to_owned();
    let run = move || {
        while stopped.recv_timeout(TOUCH) == Err(RecvTimeoutError::Timeout) {
            let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
            let times = Timestamps { last_access: now, last_modification: now };
            let _ = rustix::fs::utimensat(CWD, &touched, &times, AtFlags::SYMLINK_NOFOLLOW);
        }
    };
    let thread = std::thread::Builder::new().name("login-lock".to_owned()).spawn(run);
    Ok((stop, thread.map_err(LoginError::io("watch over", path))?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn places() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let (lock, record) = (folder.path().join("x.lock"), folder.path().join("record"));
        (folder, lock, record)
    }

    fn take(lock: &Path, record: &Path, stale: u64) -> Result<FolderLock, LoginError> {
        FolderLock::take(lock, record, Duration::from_secs(stale), Deadline::after(Duration::ZERO))
    }

    #[test]
    fn it_is_held_once_and_leaves_nothing() {
        let (folder, lock, record) = places();
        let held = take(&lock, &record, 10).unwrap();
        assert!(lock.is_dir());
        let other = folder.path().join("other");
        let error = take(&lock, &other, 10).err().unwrap();
        assert!(error.to_string().contains("x.lock is held by another program"), "{error}");
        drop(held);
        let _ = std::fs::remove_file(other);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_a_killed_process_left_is_taken_at_once_and_the_agents_own_is_not() {
        let (_folder, lock, record) = places();
        assert!(make(&lock, &record).unwrap());
        drop(take(&lock, &record, 1_000_000).unwrap());
        // The agent's own: our record is of another folder of the same name.
        assert!(make(&lock, &record).unwrap());
        std::fs::remove_dir(&lock).unwrap();
        std::fs::create_dir(&lock).unwrap();
        if identity(&lock).is_some() {
            assert!(matches!(take(&lock, &record, 1_000_000), Err(LoginError::Busy { .. })));
        }
        // Nobody has touched it for longer than it counts.
        let old = Timespec { tv_sec: 1, tv_nsec: 0 };
        let times = Timestamps { last_access: old, last_modification: old };
        rustix::fs::utimensat(CWD, &lock, &times, AtFlags::empty()).unwrap();
        drop(take(&lock, &record, 10).unwrap());
        assert!(!lock.exists());
    }
}
