//! Environments on the disk. Each has a lock that runs share while they stand on it, and that whoever makes or removes it holds
//! alone; it appears under its name whole or not at all.

use std::fs::{self, File, FileTimes};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use holon_environment::EnvironmentRecord;
use holon_model::ModelCancel;
use holon_sandbox::snapshot::environment::{EnvironmentLayer, SharedFiles};
use holon_sandbox::snapshot::remove_tree;
use rustix::fs::FlockOperation;

use crate::error::HostError;
use crate::holon_folders::HolonFolders;
use crate::store::write_durable;

/// How often a lock that somebody else holds is tried again: such a lock tells nobody when it goes.
const TICK: Duration = Duration::from_millis(50);
/// The record of an environment.
const RECORD: &str = "environment.json";
/// The lock of what environments share.
const SHARED: &str = "shared";

/// The environments of a user.
#[derive(Debug, Clone)]
pub struct EnvironmentStore {
    folder: PathBuf,
}

/// An environment that nobody can take away meanwhile.
#[derive(Debug)]
pub struct OpenEnvironment {
    /// What is known about it.
    pub record: EnvironmentRecord,
    folder: PathBuf,
    _lock: File,
}

/// One as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEnvironment {
    /// What is known about it.
    pub record: EnvironmentRecord,
    /// When a run last stood on it.
    pub used: SystemTime,
    /// Whether one does now.
    pub in_use: bool,
}

/// What was taken away.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EnvironmentGarbage {
    /// Digests of environments.
    pub removed: Vec<String>,
    /// What somebody began to make and did not end.
    pub unfinished: u64,
    /// Bytes that are free now.
    pub bytes: u64,
}

/// What came of asking for an environment.
#[derive(Debug)]
pub(crate) enum EnvironmentClaim {
    /// It is there.
    Open(OpenEnvironment),
    /// Whoever asked is the one who makes it.
    Build(EnvironmentBuild),
    /// The wait was called off.
    Cancelled,
}

/// The right to make one environment.
#[derive(Debug)]
pub(crate) struct EnvironmentBuild {
    lock: File,
}

impl OpenEnvironment {
    /// What is put under the workspace.
    pub(crate) fn layer(&self) -> EnvironmentLayer {
        EnvironmentLayer {
            folder: self.folder.join("workspace"),
            roots: self.record.roots.iter().map(PathBuf::from).collect(),
        }
    }

    /// What is put under the private home.
    pub(crate) fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    /// What is put under a private folder of a toolchain.
    pub(crate) fn place(&self, at: &Path) -> Option<PathBuf> {
        let place = self.record.places.iter().find(|place| Path::new(&place.at) == at)?;
        Some(self.folder.join(&place.folder))
    }
}

impl EnvironmentStore {
    /// Where they are.
    pub fn of(places: &HolonFolders) -> Self {
        Self { folder: places.cache.join("environments") }
    }

    fn layers(&self) -> PathBuf {
        self.folder.join("layers")
    }

    /// Where one is made before it has its name.
    pub(crate) fn unfinished(&self, digest: &str) -> PathBuf {
        self.folder.join("unfinished").join(digest)
    }

    /// The files that they share.
    pub(crate) fn shared(&self) -> Result<SharedFiles, HostError> {
        let folder = self.folder.join("files");
        SharedFiles::open(&folder).map_err(HostError::io("create", &folder))
    }

    fn lock_file(&self, name: &str) -> Result<File, HostError> {
        let folder = self.folder.join("locks");
        fs::create_dir_all(&folder).map_err(HostError::io("create", &folder))?;
        let path = folder.join(name);
        File::options().create(true).append(true).open(&path).map_err(HostError::io("open", &path))
    }

    fn record(&self, digest: &str) -> Option<EnvironmentRecord> {
        let text = fs::read(self.layers().join(digest).join(RECORD)).ok()?;
        let record: EnvironmentRecord = serde_json::from_slice(&text).ok()?;
        (record.digest == digest).then_some(record)
    }

    /// Opens an environment and notes that it is used; nothing where it is not there, or is being made.
    pub(crate) fn open(&self, digest: &str) -> Result<Option<OpenEnvironment>, HostError> {
        if !self.layers().join(digest).is_dir() {
            return Ok(None);
        }
        let lock = self.lock_file(digest)?;
        if !tried(&lock, FlockOperation::NonBlockingLockShared)? {
            return Ok(None);
        }
        // Looked at only now: whoever removes it holds the lock alone.
        let Some(record) = self.record(digest) else { return Ok(None) };
        // When it was used only matters to what is removed first.
        let _ = lock.set_times(FileTimes::new().set_modified(SystemTime::now()));
        Ok(Some(OpenEnvironment { record, folder: self.layers().join(digest), _lock: lock }))
    }

    /// Opens one, or gets the right to make it; waits while somebody else makes it. With `again`, one that is there is made
    /// once more.
    pub(crate) fn claim(
        &self,
        digest: &str,
        again: bool,
        cancel: &ModelCancel,
    ) -> Result<EnvironmentClaim, HostError> {
        let lock = self.lock_file(digest)?;
        loop {
            if let Some(open) = if again { None } else { self.open(digest)? } {
                return Ok(EnvironmentClaim::Open(open));
            }
            if tried(&lock, FlockOperation::NonBlockingLockExclusive)? {
                // Finished since it was looked for: the next look finds it.
                if again || self.record(digest).is_none() {
                    return Ok(EnvironmentClaim::Build(EnvironmentBuild { lock }));
                }
                rustix::fs::flock(&lock, FlockOperation::Unlock)
                    .map_err(|e| HostError::io("unlock", &self.folder)(e.into()))?;
                continue;
            }
            if cancel.is_cancelled() {
                return Ok(EnvironmentClaim::Cancelled);
            }
            thread::sleep(TICK);
        }
    }

    /// Makes an empty folder for one that is made, in place of what a killed process left; as long as the lock is held, nothing
    /// that is shared is taken away.
    pub(crate) fn start(&self, digest: &str) -> Result<(PathBuf, File), HostError> {
        let shared = self.lock_file(SHARED)?;
        let path = self.unfinished(digest);
        rustix::fs::flock(&shared, FlockOperation::LockShared)
            .map_err(|e| HostError::io("lock", &path)(e.into()))?;
        remove_tree(&path).map_err(HostError::io("remove", &path))?;
        fs::create_dir_all(&path).map_err(HostError::io("create", &path))?;
        Ok((path, shared))
    }

    /// Gives one that is whole its name, once everything of it is on the disk.
    pub(crate) fn finish(&self, record: &EnvironmentRecord) -> Result<(), HostError> {
        let (from, to) = (self.unfinished(&record.digest), self.layers().join(&record.digest));
        let text = serde_json::to_vec_pretty(record).unwrap_or_default();
        write_durable(&from.join(RECORD), &text)?;
        let folder = File::open(&from).map_err(HostError::io("open", &from))?;
        rustix::fs::syncfs(&folder).map_err(|e| HostError::io("write", &from)(e.into()))?;
        let layers = self.layers();
        fs::create_dir_all(&layers).map_err(HostError::io("create", &layers))?;
        remove_tree(&to).map_err(HostError::io("remove", &to))?;
        fs::rename(&from, &to).map_err(HostError::io("rename", &from))?;
        let named = File::open(&layers).and_then(|folder| folder.sync_all());
        named.map_err(HostError::io("write", &layers))
    }

    /// Takes what was begun away.
    pub(crate) fn give_up(&self, digest: &str) {
        // What cannot be removed now is removed by the next build or gc, and never used.
        let _ = remove_tree(&self.unfinished(digest));
    }

    /// All of them, the one used last first.
    pub fn list(&self) -> Result<Vec<StoredEnvironment>, HostError> {
        let mut all = Vec::new();
        for digest in names(&self.layers())? {
            let Some(record) = self.record(&digest) else { continue };
            let lock = self.lock_file(&digest)?;
            let in_use = !tried(&lock, FlockOperation::NonBlockingLockExclusive)?;
            let used = lock.metadata().and_then(|meta| meta.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
            all.push(StoredEnvironment { record, used, in_use });
        }
        all.sort_by(|a, b| b.used.cmp(&a.used).then_with(|| a.record.digest.cmp(&b.record.digest)));
        Ok(all)
    }

    /// Removes what no run used for so long, what was never finished, and what no environment has any more. What is in use
    /// stays.
    pub fn collect_garbage(&self, unused_for: Duration) -> Result<EnvironmentGarbage, HostError> {
        let mut garbage = EnvironmentGarbage::default();
        for digest in names(&self.layers())? {
            let lock = self.lock_file(&digest)?;
            let used = lock.metadata().and_then(|meta| meta.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
            let age = SystemTime::now().duration_since(used).unwrap_or_default();
            let whole = self.record(&digest).is_some();
            if (whole && age < unused_for) || !tried(&lock, FlockOperation::NonBlockingLockExclusive)? {
                continue;
            }
            let path = self.layers().join(&digest);
            let aside = self.unfinished(&digest);
            let parent = self.folder.join("unfinished");
            fs::create_dir_all(&parent).map_err(HostError::io("create", &parent))?;
            remove_tree(&aside).map_err(HostError::io("remove", &aside))?;
            // In one step: what is half removed has no name.
            fs::rename(&path, &aside).map_err(HostError::io("rename", &path))?;
            remove_tree(&aside).map_err(HostError::io("remove", &aside))?;
            garbage.removed.push(digest);
        }
        for digest in names(&self.folder.join("unfinished"))? {
            let lock = self.lock_file(&digest)?;
            if tried(&lock, FlockOperation::NonBlockingLockExclusive)? {
                let path = self.unfinished(&digest);
                remove_tree(&path).map_err(HostError::io("remove", &path))?;
                garbage.unfinished += 1;
            }
        }
        let shared = self.lock_file(SHARED)?;
        let files = self.folder.join("files");
        if files.is_dir() && tried(&shared, FlockOperation::NonBlockingLockExclusive)? {
            garbage.bytes = self.shared()?.sweep().map_err(HostError::io("tidy", &files))?.bytes;
        }
        Ok(garbage)
    }
}

impl EnvironmentBuild {
    /// Goes on as one who stands on it; the lock is never free in between.
    pub(crate) fn open(
        self,
        store: &EnvironmentStore,
        digest: &str,
    ) -> Result<Option<OpenEnvironment>, HostError> {
        let folder = store.layers().join(digest);
        rustix::fs::flock(&self.lock, FlockOperation::LockShared)
            .map_err(|e| HostError::io("lock", &folder)(e.into()))?;
        let Some(record) = store.record(digest) else { return Ok(None) };
        let _ = self.lock.set_times(FileTimes::new().set_modified(SystemTime::now()));
        Ok(Some(OpenEnvironment { record, folder, _lock: self.lock }))
    }
}

/// Tries to take a lock.
fn tried(lock: &File, how: FlockOperation) -> Result<bool, HostError> {
    match rustix::fs::flock(lock, how) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(e) => Err(HostError::io("lock", Path::new("an environment"))(e.into())),
    }
}

/// The names in a folder, sorted; none where it is not there.
fn names(folder: &Path) -> Result<Vec<String>, HostError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(HostError::io("read", folder)(e)),
    };
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use holon_environment::{EnvironmentSetup, SetupSource};

    use super::*;

    fn record(digest: &str) -> EnvironmentRecord {
        EnvironmentRecord {
            digest: digest.into(),
            setup: EnvironmentSetup {
                commands: vec!["true".into()],
                permits: Vec::new(),
                inputs: Vec::new(),
                source: SetupSource::User { file: "u".into() },
                notes: Vec::new(),
            },
            made_at: String::new(),
            run: String::new(),
            workspace: String::new(),
            roots: Vec::new(),
            places: Vec::new(),
            left_out: Vec::new(),
            packages: Vec::new(),
            files: 0,
            bytes: 0,
        }
    }

    fn store(folder: &tempfile::TempDir) -> EnvironmentStore {
        let at = |name: &str| folder.path().join(name);
        EnvironmentStore::of(&HolonFolders { state: at("s"), cache: at("h"), config: at("c"), home: None })
    }

    fn claimed(store: &EnvironmentStore, digest: &str) -> EnvironmentBuild {
        match store.claim(digest, false, &ModelCancel::default()).unwrap() {
            EnvironmentClaim::Build(build) => build,
            other => panic!("{other:?}"),
        }
    }

    fn made(store: &EnvironmentStore, digest: &str) -> OpenEnvironment {
        let build = claimed(store, digest);
        let (folder, _shared) = store.start(digest).unwrap();
        fs::create_dir(folder.join("workspace")).unwrap();
        store.finish(&record(digest)).unwrap();
        build.open(store, digest).unwrap().unwrap()
    }

    #[test]
    fn one_is_there_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder);
        assert!(store.open("aa").unwrap().is_none());
        // Killed while it was made: there is a folder, and no name.
        let build = claimed(&store, "aa");
        let (begun, shared) = store.start("aa").unwrap();
        fs::write(begun.join("half"), "x").unwrap();
        assert!(store.open("aa").unwrap().is_none());
        assert_eq!(store.collect_garbage(Duration::ZERO).unwrap().unfinished, 0, "somebody makes it");
        drop((build, shared));
        assert!(store.open("aa").unwrap().is_none());
        assert_eq!(store.collect_garbage(Duration::MAX).unwrap().unfinished, 1);
        assert!(!begun.exists());
        // The next one does not find what is left either.
        let _build = claimed(&store, "bb");
        let (begun, _shared) = store.start("bb").unwrap();
        fs::write(begun.join("half"), "x").unwrap();
        let (begun, _shared) = store.start("bb").unwrap();
        assert!(!begun.join("half").exists());
    }

    #[test]
    fn what_is_in_use_stays_and_what_is_not_goes() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder);
        let used = made(&store, "aa");
        drop(made(&store, "bb"));
        assert_eq!(store.list().unwrap().iter().filter(|one| one.in_use).count(), 1);
        assert_eq!(store.collect_garbage(Duration::MAX).unwrap(), EnvironmentGarbage::default());
        assert_eq!(store.collect_garbage(Duration::ZERO).unwrap().removed, ["bb"]);
        assert!(used.layer().folder.is_dir());
        drop(used);
        assert!(store.open("bb").unwrap().is_none());
        assert_eq!(store.collect_garbage(Duration::ZERO).unwrap().removed, ["aa"]);
    }

    #[test]
    fn a_record_that_is_not_its_own_is_no_environment() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder);
        drop(made(&store, "aa"));
        for wrong in ["{", "{}"] {
            fs::write(store.layers().join("aa").join(RECORD), wrong).unwrap();
            assert!(store.open("aa").unwrap().is_none());
        }
        let other = serde_json::to_vec(&record("bb")).unwrap();
        fs::write(store.layers().join("aa").join(RECORD), other).unwrap();
        assert!(store.open("aa").unwrap().is_none());
        assert_eq!(store.list().unwrap(), Vec::new());
        assert_eq!(store.collect_garbage(Duration::MAX).unwrap().removed, ["aa"]);
    }

    #[test]
    fn waiting_for_somebody_elses_build_can_be_called_off() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder);
        let _build = claimed(&store, "aa");
        let cancel = ModelCancel::default();
        cancel.cancel();
        for again in [false, true] {
            assert!(matches!(store.claim("aa", again, &cancel).unwrap(), EnvironmentClaim::Cancelled));
        }
    }

    #[test]
    fn what_another_run_stands_on_is_shared_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder);
        let _used = made(&store, "aa");
        let cancel = ModelCancel::default();
        cancel.cancel();
        assert!(matches!(store.claim("aa", false, &cancel).unwrap(), EnvironmentClaim::Open(_)));
    }
}
