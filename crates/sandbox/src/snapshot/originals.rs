//! What files were when the snapshot was taken, for those that git does not hold: kept beside the run while it works.
//!
//! An overlay shows the workspace itself, so a file a person edits meanwhile is not what the run began with. To say what
//! the agent changed, its original is needed. A file that git's index vouches for can be had from git later; everything
//! else (edited, untracked, in no repository) is copied here by a thread, within bounds. The agent begins when the thread
//! has looked at the first files, which in most repositories is all of them; the rest follows at low priority. What
//! changed before the thread came to it is named as uncertain: nobody will take a guess for the original.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use holon_git::Repository;
use holon_git::index::each_entry;
use serde::{Deserialize, Serialize};

use super::stamp::FileTimestamp;
use super::tree::{OpenTree, TreeEntryKind, TreeEntryMeta, bytes};
use super::walk::{TreeWalk, WalkStep};
use super::{SnapshotError, WorkspaceSnapshot};
use crate::diff::BaseIgnoreRules;

/// The folder below the snapshot's.
pub(crate) const FOLDER: &str = "originals";
const LIST: &str = "list.json";
const INDEX: &str = "index";
/// Larger files are not kept.
const LARGEST: u64 = 8 << 20;
/// All kept files together.
const ROOM: u64 = 64 << 20;
const MOST: usize = 20_000;
/// So many files are looked at before the agent begins.
const LOOKED_AT_FIRST: usize = 2_000;
/// So many bytes are copied before the agent begins.
const COPIED_FIRST: u64 = 4 << 20;
/// A larger index belongs to a repository in which a thread like this has no place.
const LARGEST_INDEX: u64 = 256 << 20;

/// What the thread found out.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct OriginalsList {
    /// Whether it came to every file.
    pub(crate) complete: bool,
    /// By path as hex: the number of the kept file, and its mode.
    kept: BTreeMap<String, (u64, u32)>,
    /// Paths as hex that are known to have been there, but not as what.
    uncertain: BTreeSet<String>,
    /// Tracked paths as hex that were not there.
    missing: BTreeSet<String>,
}

/// What a path was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OriginalState {
    /// A file or link whose bytes are kept in the folder of originals under this name.
    Kept { name: Vec<u8>, mode: u32 },
    /// As git's index has it.
    Tracked { id: String, mode: u32, size: u32 },
    /// Nothing was there.
    Absent,
    /// Nobody knows.
    Unknown,
}

/// Originals, asked for after the run.
#[derive(Debug)]
pub(crate) struct Originals {
    list: OriginalsList,
    /// By path in the workspace: what the index said of it.
    tracked: BTreeMap<Vec<u8>, (String, u32, u32)>,
}

/// The thread that keeps originals; ends when it is done or dropped.
#[derive(Debug)]
pub struct OriginalsSaver {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl OriginalsSaver {
    /// Begins to keep originals of a snapshot that was just taken and can be written to; returns when the first files
    /// are kept.
    pub fn start(snapshot: &WorkspaceSnapshot) -> Result<Option<Self>, SnapshotError> {
        if snapshot.written().is_none() {
            return Ok(None);
        }
        let dir = snapshot.dir().join(FOLDER);
        fs::create_dir(&dir).map_err(SnapshotError::io("create", &dir))?;
        let stop = Arc::new(AtomicBool::new(false));
        let (first, first_is_done) = mpsc::channel();
        let scan = OriginalsScan {
            workspace: snapshot.workspace().to_owned(),
            hidden: snapshot.hidden().iter().map(|path| bytes(path).to_vec()).collect(),
            own: snapshot.dir().strip_prefix(snapshot.workspace()).ok().map(|path| bytes(path).to_vec()),
            started: snapshot.started(),
            dir,
            stop: Arc::clone(&stop),
            list: OriginalsList::default(),
            room: ROOM,
            tracked: Vec::new(),
            looked_at: 0,
            first: Some(first),
        };
        let thread = thread::Builder::new().name("originals".into()).spawn(move || scan.run());
        // The other end is dropped when the first files are kept, and in any case when the thread ends.
        let _ = first_is_done.recv();
        Ok(Some(Self { stop, thread: thread.ok() }))
    }

    /// Waits until everything is kept; for tests.
    pub fn wait(mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for OriginalsSaver {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct OriginalsScan {
    workspace: PathBuf,
    hidden: BTreeSet<Vec<u8>>,
    own: Option<Vec<u8>>,
    started: FileTimestamp,
    dir: PathBuf,
    stop: Arc<AtomicBool>,
    list: OriginalsList,
    room: u64,
    /// Sorted.
    tracked: Vec<Vec<u8>>,
    looked_at: usize,
    /// There while the agent waits.
    first: Option<Sender<()>>,
}

impl OriginalsScan {
    fn run(mut self) {
        // What could not be kept is unknown later, which is all an error here means.
        self.list.complete = self.scan().is_ok_and(|whole| whole);
        let text = serde_json::to_vec(&self.list).unwrap_or_default();
        let _ = fs::write(self.dir.join(LIST), text);
    }

    /// Counts a file, and lets the agent begin when that were enough; from then on the agent and its host come first.
    fn looked_at_one(&mut self) {
        self.looked_at += 1;
        if self.looked_at < LOOKED_AT_FIRST && ROOM - self.room < COPIED_FIRST {
            return;
        }
        if self.first.take().is_some() {
            let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), 10);
        }
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn scan(&mut self) -> io::Result<bool> {
        let root = OpenTree::open(&self.workspace)?;
        let repository = Repository::look(&self.workspace).map_err(io::Error::other)?.repository;
        if let Some(repository) = &repository
            && !self.tracked_files(&root, repository)?
        {
            return Ok(false);
        }
        self.other_files(&root, &BaseIgnoreRules::of(repository.as_ref())?)
    }

    /// Keeps what the index names and does not hold as it is.
    fn tracked_files(&mut self, root: &OpenTree, repository: &Repository) -> io::Result<bool> {
        let path = repository.git_dir.join("index");
        let meta = match fs::symlink_metadata(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(true),
            other => other?,
        };
        if !meta.is_file() || meta.len() > LARGEST_INDEX {
            return Ok(true);
        }
        let written = {
            use std::os::unix::fs::MetadataExt;
            FileTimestamp { sec: meta.mtime(), nsec: meta.mtime_nsec() as u32 }
        };
        let index = fs::read(&path)?;
        let prefix = bytes(&repository.prefix).to_vec();
        let mut error = None;
        let read = each_entry(&index, repository.format, |entry| {
            let Some(path) = below(&prefix, entry.path) else { return };
            if error.is_some() || self.stopped() || entry.stage != 0 || entry.mode == 0o160_000 {
                return;
            }
            let clean = |meta: &TreeEntryMeta| is_clean(meta, entry, written);
            self.tracked.push(path.to_vec());
            if let Err(e) = self.one_tracked(root, path, entry.absent, &clean) {
                error = Some(e);
            }
        });
        if let Some(error) = error {
            return Err(error);
        }
        if read.is_err() {
            // Not an index that can be vouched for: its files are kept as any other.
            self.tracked.clear();
            return Ok(true);
        }
        // For whoever asks later, when the user's own may be another.
        fs::write(self.dir.join(INDEX), &index)?;
        Ok(!self.stopped())
    }

    fn one_tracked(
        &mut self,
        root: &OpenTree,
        path: &[u8],
        absent: bool,
        clean: &dyn Fn(&TreeEntryMeta) -> bool,
    ) -> io::Result<()> {
        match root.look(path)? {
            None if absent => drop(self.list.missing.insert(hex(path))),
            None if parent_since(root, path, self.started)? => drop(self.list.uncertain.insert(hex(path))),
            None => drop(self.list.missing.insert(hex(path))),
            Some(meta) if meta.ctime.is_since(self.started) => drop(self.list.uncertain.insert(hex(path))),
            Some(meta) if !absent && clean(&meta) => {}
            Some(meta) => self.keep(root, path, &meta)?,
        }
        self.looked_at_one();
        Ok(())
    }

    /// Keeps what no index names.
    fn other_files(&mut self, root: &OpenTree, rules: &BaseIgnoreRules) -> io::Result<bool> {
        let mut walk = TreeWalk::new(root.open_dir(b"")?)?;
        loop {
            if self.stopped() {
                return Ok(false);
            }
            let entry = match walk.next()? {
                WalkStep::Entry(entry) => entry,
                WalkStep::Left => continue,
                WalkStep::Done => return Ok(true),
            };
            self.looked_at_one();
            let git = entry.name.eq_ignore_ascii_case(b".git");
            if git || self.hidden.contains(&entry.path) || self.own.as_ref() == Some(&entry.path) {
                continue;
            }
            if entry.meta.is_dir() {
                if !rules.matches(&entry.path, true) {
                    walk.descend(&entry)?;
                }
                continue;
            }
            if self.tracked.binary_search(&entry.path).is_ok() || rules.matches(&entry.path, false) {
                continue;
            }
            if entry.meta.ctime.is_since(self.started) {
                self.list.uncertain.insert(hex(&entry.path));
            } else {
                self.keep(root, &entry.path, &entry.meta)?;
            }
        }
    }

    /// Copies a file or link, if it fits and is still the one that was seen.
    fn keep(&mut self, root: &OpenTree, path: &[u8], meta: &TreeEntryMeta) -> io::Result<()> {
        let fits = meta.size <= LARGEST && meta.size <= self.room && self.list.kept.len() < MOST;
        if !fits || !matches!(meta.kind, TreeEntryKind::File | TreeEntryKind::Symlink) {
            self.list.uncertain.insert(hex(path));
            return Ok(());
        }
        let number = self.list.kept.len() as u64;
        let to = self.dir.join(number.to_string());
        let copied = match meta.kind {
            TreeEntryKind::Symlink => fs::write(&to, root.read_link(path)?),
            _ => root
                .open_file(path)
                .and_then(|mut from| io::copy(&mut from, &mut File::create(&to)?).map(drop)),
        };
        let still = root.look(path)?.is_some_and(|now| now == *meta);
        match copied {
            Ok(()) if still => {
                self.room -= meta.size;
                let mode = match meta.kind {
                    TreeEntryKind::Symlink => 0o120_000,
                    _ if meta.is_exec() => 0o100_755,
                    _ => 0o100_644,
                };
                self.list.kept.insert(hex(path), (number, mode));
            }
            Ok(()) => drop(self.list.uncertain.insert(hex(path))),
            Err(e) if e.kind() == io::ErrorKind::StorageFull => return Err(e),
            Err(_) => drop(self.list.uncertain.insert(hex(path))),
        }
        Ok(())
    }
}

impl Originals {
    /// What was kept of a snapshot.
    pub(crate) fn load(snapshot: &WorkspaceSnapshot, repository: Option<&Repository>) -> Self {
        let dir = snapshot.dir().join(FOLDER);
        // A list that is not there or cannot be read vouches for nothing.
        let list = fs::read(dir.join(LIST)).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let mut originals = Self { list: list.unwrap_or_default(), tracked: BTreeMap::new() };
        if let (Some(repository), Ok(index)) = (repository, fs::read(dir.join(INDEX))) {
            originals.read_index(&index, repository);
        }
        originals
    }

    fn read_index(&mut self, index: &[u8], repository: &Repository) {
        let prefix = bytes(&repository.prefix).to_vec();
        let mut tracked = BTreeMap::new();
        let read = each_entry(index, repository.format, |entry| {
            if let Some(path) = below(&prefix, entry.path)
                && entry.stage == 0
            {
                let id = holon_git::touched::hex(entry.id);
                tracked.insert(path.to_vec(), (id, entry.mode, entry.size));
            }
        });
        if read.is_ok() {
            self.tracked = tracked;
        }
    }

    /// What a path was when the snapshot was taken.
    pub(crate) fn of(&self, path: &[u8]) -> OriginalState {
        let key = hex(path);
        if let Some((number, mode)) = self.list.kept.get(&key) {
            return OriginalState::Kept { name: number.to_string().into_bytes(), mode: *mode };
        }
        if !self.list.complete || self.list.uncertain.contains(&key) {
            return OriginalState::Unknown;
        }
        if self.list.missing.contains(&key) {
            return OriginalState::Absent;
        }
        match self.tracked.get(path) {
            Some((_, 0o160_000, _)) => OriginalState::Unknown,
            Some((id, mode, size)) => OriginalState::Tracked { id: id.clone(), mode: *mode, size: *size },
            None => OriginalState::Absent,
        }
    }
}

/// Whether a file is what its entry says, as git itself would judge by its times; when in doubt it is not.
fn is_clean(
    meta: &TreeEntryMeta,
    entry: &holon_git::index::IndexEntry<'_>,
    index_written: FileTimestamp,
) -> bool {
    let kind = match entry.mode {
        0o120_000 => TreeEntryKind::Symlink,
        _ => TreeEntryKind::File,
    };
    let mtime = FileTimestamp { sec: i64::from(entry.mtime.0), nsec: entry.mtime.1 };
    meta.kind == kind
        && (kind == TreeEntryKind::Symlink || meta.is_exec() == (entry.mode & 0o100 != 0))
        && meta.size as u32 == entry.size
        && meta.ino as u32 == entry.inode
        && (meta.mtime.sec as u32, meta.mtime.nsec) == entry.mtime
        // A file changed in the moment the index was written could look the same and be another.
        && mtime < index_written
}

fn parent_since(root: &OpenTree, path: &[u8], started: FileTimestamp) -> io::Result<bool> {
    let mut end = path.len();
    loop {
        end = path[..end].iter().rposition(|&b| b == b'/').unwrap_or(0);
        if let Some(meta) = root.look(&path[..end])? {
            return Ok(meta.ctime.is_since(started));
        }
        if end == 0 {
            return Ok(true);
        }
    }
}

fn below<'p>(prefix: &[u8], path: &'p [u8]) -> Option<&'p [u8]> {
    if prefix.is_empty() {
        return Some(path);
    }
    path.strip_prefix(prefix)?.strip_prefix(b"/")
}

fn hex(path: &[u8]) -> String {
    holon_git::touched::hex(path)
}

/// The bytes of a version that git holds, written to the folder of originals once.
pub(crate) fn from_git(
    git: &holon_git::Git,
    repository: &Repository,
    dir: &Path,
    id: &str,
) -> Result<Option<Vec<u8>>, holon_git::GitError> {
    let name = format!("git-{id}");
    let path = dir.join(FOLDER).join(&name);
    if !path.exists() {
        let done = git.call(["cat-file", "blob", id]).git_dir(&repository.git_dir).run(|_| Ok(()))?;
        if done.exit != Some(0) {
            return Ok(None);
        }
        if fs::write(&path, &done.stdout).is_err() {
            return Ok(None);
        }
    }
    Ok(Some(name.into_bytes()))
}
