//! Locks around a login: one of our own, and those the agent takes when it renews its login itself.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use crate::error::LoginError;
use crate::folder_lock::FolderLock;
use crate::known_login::KnownLogin;

/// How often a lock is tried that somebody else holds.
const TRY_AGAIN: Duration = Duration::from_millis(10);

/// A file that is locked until this is dropped, or its process is gone.
pub(crate) struct FileLock(#[expect(dead_code, reason = "held, not read")] File);

impl FileLock {
    /// Waits for the lock, up to a deadline.
    pub(crate) fn take(path: &Path, deadline: Deadline) -> Result<Self, LoginError> {
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path);
        let file = file.map_err(LoginError::io("open", path))?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self(file)),
                Err(TryLockError::WouldBlock) => deadline.wait(path)?,
                Err(TryLockError::Error(error)) => return Err(LoginError::io("lock", path)(error)),
            }
        }
    }
}

/// Until when locks are waited for.
#[derive(Clone, Copy)]
pub(crate) struct Deadline {
    at: Instant,
    seconds: u64,
}

impl Deadline {
    pub(crate) fn after(patience: Duration) -> Self {
        Self { at: Instant::now() + patience, seconds: patience.as_secs() }
    }

    /// A moment, or the end of patience.
    pub(crate) fn wait(&self, lock: &Path) -> Result<(), LoginError> {
        if Instant::now() >= self.at {
            return Err(LoginError::Busy { lock: lock.into(), seconds: self.seconds });
        }
        sleep(TRY_AGAIN);
        Ok(())
    }
}

/// The locks of the agent itself, held in its order and given back in the other.
#[derive(Default)]
pub(crate) struct AgentLocks {
    folders: Vec<FolderLock>,
    _file: Option<FileLock>,
}

impl AgentLocks {
    /// Takes them; `own` begins the names of our notes about what we made, so that a killed process leaves nothing in the
    /// agent's way.
    pub(crate) fn take(
        login: &KnownLogin,
        file: &Path,
        own: &Path,
        deadline: Deadline,
    ) -> Result<Self, LoginError> {
        let mut locks = Self::default();
        let stale = Duration::from_secs(login.locks.stale);
        for (at, folder) in login.locks.folders.iter().enumerate() {
            let record = note_path(own, at);
            locks.folders.push(FolderLock::take(&KnownLogin::fill(folder, file), &record, stale, deadline)?);
        }
        if let Some(lock) = &login.locks.file {
            locks._file = Some(FileLock::take(&KnownLogin::fill(lock, file), deadline)?);
        }
        Ok(locks)
    }
}

impl Drop for AgentLocks {
    fn drop(&mut self) {
        while self.folders.pop().is_some() {}
    }
}

/// Our note about the folder we made as the agent's lock of this number.
pub(crate) fn note_path(own: &Path, at: usize) -> PathBuf {
    with_suffix(own, &format!(".made-{at}"))
}

/// How long ago a folder said that it is still held.
pub(crate) fn age(path: &Path) -> Option<Duration> {
    let touched = path.symlink_metadata().ok()?.modified().ok()?;
    Some(SystemTime::now().duration_since(touched).unwrap_or_default())
}

/// What tells a folder from any other that had or will have its name.
pub(crate) fn identity(path: &Path) -> Option<String> {
    let found = path.symlink_metadata().ok()?;
    let born = found.created().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(format!("{} {} {}", found.dev(), found.ino(), born.as_nanos()))
}

/// The same path with something added to its name.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::known_login::known_login;

    #[test]
    fn each_agents_own_locks_are_held_and_given_back() {
        let folder = tempfile::tempdir().unwrap();
        let (file, own) = (folder.path().join("auth.json"), folder.path().join("own"));
        let deadline = Deadline::after(Duration::ZERO);
        let codex = known_login("codex").unwrap();
        let held = AgentLocks::take(codex, &file, &own, deadline).unwrap();
        let theirs = File::open(folder.path().join("auth.lock")).unwrap();
        assert!(matches!(theirs.try_lock(), Err(TryLockError::WouldBlock)));
        assert!(matches!(AgentLocks::take(codex, &file, &own, deadline), Err(LoginError::Busy { .. })));
        drop(held);
        theirs.try_lock().unwrap();
        let pi = known_login("pi-claude").unwrap();
        let held = AgentLocks::take(pi, &file, &own, deadline).unwrap();
        assert!(folder.path().join("auth.json.lock").is_dir());
        drop(held);
        assert!(!folder.path().join("auth.json.lock").exists());
    }
}
