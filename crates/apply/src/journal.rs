//! The record of an apply: what is to be swapped with what, on disk before the first swap.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use holon_git::PathDigest;
use holon_git::touched::any_path;
use serde::{Deserialize, Serialize};

use crate::ApplyError;
use crate::slot::SlotLocation;

/// How long what was replaced is kept.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);
pub(crate) const JOURNAL: &str = "journal.json";
pub(crate) const SLOTS: &str = "slots";
pub(crate) const MERGED: &str = "merged";
const LOCK: &str = "lock";

/// What an apply was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApplyPurpose {
    /// A change came in.
    Apply,
    /// A change that had come in went out again.
    Undo,
}

/// How far a journal got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum JournalStage {
    /// New files are being written beside the old ones; none was swapped.
    Staging,
    /// Files are being swapped, or taken back.
    Swapping,
    /// All is swapped and was compared; what came out is being brought into the store.
    Finishing,
    /// All that could be taken back was; what could not is being brought into the store.
    Leaving,
}

/// One swap.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JournalStep {
    #[serde(with = "any_path")]
    pub(crate) path: PathBuf,
    pub(crate) before: Option<PathDigest>,
    pub(crate) after: Option<PathDigest>,
    /// Permissions of what was there before.
    pub(crate) permissions: Option<u32>,
    pub(crate) slot: SlotLocation,
    /// The new file, recognised wherever it is: device and inode.
    pub(crate) inode: Option<(u64, u64)>,
    /// How many folders right above the path had to be made for it.
    #[serde(default)]
    pub(crate) made: usize,
}

/// Everything that is needed to finish an apply or to take it back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ApplyJournal {
    pub(crate) version: u32,
    #[serde(with = "any_path")]
    pub(crate) workspace: PathBuf,
    pub(crate) purpose: ApplyPurpose,
    /// Whose change it is: the id of a run or a thread.
    pub(crate) label: Option<String>,
    pub(crate) stage: JournalStage,
    /// Since which start of the machine: when it went down meanwhile, new files may not have reached the disk whole.
    #[serde(default)]
    pub(crate) boot: Option<String>,
    pub(crate) steps: Vec<JournalStep>,
}

impl ApplyJournal {
    pub(crate) fn load(dir: &Path) -> Result<Option<Self>, ApplyError> {
        let path = dir.join(JOURNAL);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(ApplyError::io("read", path)(e)),
        };
        let journal: Self = serde_json::from_slice(&text)
            .map_err(|e| ApplyError::Journal { path: path.clone(), why: e.to_string() })?;
        if journal.version != 1 {
            let why = format!("it has version {}, this holon knows version 1", journal.version);
            return Err(ApplyError::Journal { path, why });
        }
        Ok(Some(journal))
    }

    /// Writes the journal; it is whole and on the disk when this returns.
    pub(crate) fn save(&self, dir: &Path) -> io::Result<()> {
        let (path, new) = (dir.join(JOURNAL), dir.join("journal.new"));
        let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.sync_data()?;
        fs::rename(&new, &path)?;
        File::open(dir)?.sync_all()
    }
}

/// Where the records of applies are kept: a folder of the state folder.
#[derive(Debug, Clone)]
pub struct ApplyStore {
    root: PathBuf,
}

impl ApplyStore {
    /// A store in this folder, which need not exist.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Applies that began and did not end.
    pub(crate) fn open(&self) -> PathBuf {
        self.root.join("open")
    }

    /// Applies that ended; what they replaced is in there.
    pub(crate) fn done(&self) -> PathBuf {
        self.root.join("done")
    }

    /// What could not be put back where it was.
    pub(crate) fn kept(&self) -> PathBuf {
        self.root.join("kept")
    }

    /// A folder for a new apply, with its lock held.
    pub(crate) fn begin(&self) -> io::Result<(PathBuf, File)> {
        let private = |path: &Path| fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
        for folder in [self.open(), self.done(), self.kept()] {
            private(&folder)?;
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let prefix = format!("{:020}-", since.as_nanos());
        let dir = tempfile::Builder::new().prefix(&prefix).tempdir_in(self.open())?.keep();
        let lock = lock_file(&dir)?;
        lock.lock()?;
        private(&dir.join(SLOTS))?;
        Ok((dir, lock))
    }

    /// The folders in one of the parts, the oldest first.
    pub(crate) fn list(part: &Path) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(part) else { return Vec::new() };
        let mut dirs: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        dirs.sort();
        dirs
    }

    /// Whether an apply began and did not end; cheap, for every start of a command.
    pub fn has_unfinished(&self) -> bool {
        fs::read_dir(self.open()).is_ok_and(|mut entries| entries.next().is_some())
    }

    /// Forgets what was replaced long ago.
    pub fn forget_old(&self) {
        for dir in Self::list(&self.done()) {
            let age =
                fs::metadata(&dir).and_then(|meta| meta.modified()).ok().and_then(|at| at.elapsed().ok());
            if age.is_some_and(|age| age > KEPT) {
                let _ = fs::remove_dir_all(&dir);
            }
        }
    }
}

/// Tells one start of the machine from another.
pub(crate) fn boot() -> Option<String> {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|id| id.trim().to_owned())
}

/// The lock of an apply: held by the process that works on it.
pub(crate) fn lock_file(dir: &Path) -> io::Result<File> {
    File::options().create(true).append(true).mode(0o600).open(dir.join(LOCK))
}
