//! What a run changed, told from bytes: never by asking a repository the agent could write to.

mod collect;
mod copied;
mod digest;
mod error;
mod ignored;
mod origin;
mod original;
mod overlay;
mod patch;
mod scan_base;
mod selfcheck;
mod stage;
mod submodule;
mod vanished;

use std::fs::File;
use std::io;
use std::path::PathBuf;

use holon_git::{FileMode, Git, ObjectFormat};

pub use digest::tree_digest;
pub use error::DiffError;
pub use patch::DeliveredPatch;

pub(crate) use collect::equal;
pub(crate) use ignored::BaseIgnoreRules;
pub(crate) use scan_base::is_dot_git;

use crate::snapshot::tree::{OpenTree, bytes};
use crate::snapshot::{FileStat, SkippedPath, WorkspaceSnapshot};

/// One content of a patch.
pub struct PatchContent<'a> {
    /// Hex SHA-256.
    pub sha256: &'a str,
    /// How many bytes it has.
    pub len: u64,
    /// The bytes.
    pub bytes: &'a mut dyn io::Read,
    /// Whether it is what was there before.
    pub is_base: bool,
}

/// How much a patch may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PatchLimits {
    /// Entries the agent may have written outside ignored directories.
    pub entries: u64,
    /// Bytes of all changed files together.
    pub bytes: u64,
}

impl Default for PatchLimits {
    fn default() -> Self {
        Self { entries: 200_000, bytes: 256 << 20 }
    }
}

/// How often changes are told anew because somebody saved a file while it was read.
const TRIES: usize = 20;

/// What to collect, and with what.
#[derive(Debug, Clone, Copy)]
pub struct CollectOptions<'a> {
    /// Asked only whether an ignored file is tracked, in the original repository.
    pub git: &'a Git,
    /// When to give up.
    pub limits: PatchLimits,
}

/// One path that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathChange {
    /// Relative to the workspace.
    pub path: PathBuf,
    /// Before; `None` when it is new.
    pub base: Option<PathVersion>,
    /// After; `None` when it is gone.
    pub result: Option<PathVersion>,
}

/// One state of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathVersion {
    /// A regular file.
    File {
        /// Whether its owner may execute it.
        exec: bool,
        /// Its length.
        size: u64,
        /// Where its bytes are.
        place: ContentLocation,
    },
    /// A symbolic link.
    Symlink {
        /// Where it points, uninterpreted.
        target: Vec<u8>,
    },
    /// A submodule's commit.
    Gitlink {
        /// Its id.
        id: String,
    },
}

/// Where the bytes of a file are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentLocation {
    pub(crate) root: ContentRoot,
    pub(crate) path: Vec<u8>,
    /// What a file of the workspace looked like: people go on working there.
    pub(crate) seen: Option<FileStat>,
}

/// The folders in which the bytes of files can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentRoot {
    /// The original workspace.
    Base,
    /// What the agent wrote.
    Written,
    /// What was kept of originals that changed meanwhile.
    Kept,
}

impl PathVersion {
    /// The mode git gives it.
    pub fn mode(&self) -> FileMode {
        match self {
            Self::File { exec: true, .. } => FileMode::Executable,
            Self::File { exec: false, .. } => FileMode::Regular,
            Self::Symlink { .. } => FileMode::Symlink,
            Self::Gitlink { .. } => FileMode::Gitlink,
        }
    }
}

/// Everything a run changed, and everything about it that is not part of the patch.
#[derive(Debug)]
pub struct CollectedChanges {
    /// What may leave, sorted by path.
    pub entries: Vec<PathChange>,
    /// Changed paths outside the mode's write scope.
    pub out_of_scope: Vec<PathBuf>,
    /// Hidden paths at which the agent put something.
    pub hidden: Vec<PathBuf>,
    /// Ignored paths with changes, which are left out; a directory counts once.
    pub ignored: u64,
    /// What cannot be in a patch.
    pub skipped: Vec<SkippedPath>,
    /// Touched paths whose original changed while the agent worked.
    pub moved: Vec<PathBuf>,
    /// Those of them that are left out, because nobody knows what they were when the agent began.
    pub unknown: Vec<PathChange>,
    pub(crate) replaced: Vec<Vec<u8>>,
    pub(crate) format: ObjectFormat,
    pub(crate) roots: Option<ContentRoots>,
}

#[derive(Debug)]
pub(crate) struct ContentRoots {
    pub(crate) base: OpenTree,
    pub(crate) written: OpenTree,
    pub(crate) kept: Option<OpenTree>,
}

impl ContentRoots {
    pub(crate) fn open(&self, place: &ContentLocation) -> io::Result<File> {
        match place.root {
            ContentRoot::Base => self.base.open_file(&place.path),
            ContentRoot::Written => self.written.open_file(&place.path),
            ContentRoot::Kept => {
                let kept = self.kept.as_ref().ok_or_else(|| io::Error::other("no originals were kept"))?;
                kept.open_file(&place.path)
            }
        }
    }
}

impl CollectedChanges {
    /// Whether nothing changed that could be delivered, refused or noticed.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.out_of_scope.is_empty() && self.hidden.is_empty()
    }

    /// Opens the bytes of one side.
    pub fn open(&self, place: &ContentLocation) -> io::Result<File> {
        let roots = self.roots.as_ref().ok_or_else(|| io::Error::other("there is nothing to read from"))?;
        roots.open(place)
    }

    /// Whether every file of the workspace that the changes are told from still is what it was when they were told.
    fn is_settled(&self) -> bool {
        let Some(roots) = &self.roots else { return true };
        let sides =
            self.entries.iter().chain(&self.unknown).flat_map(|change| [&change.base, &change.result]);
        sides.flatten().all(|side| match side {
            PathVersion::File { place: ContentLocation { path, seen: Some(seen), .. }, .. } => {
                roots.base.look(path).is_ok_and(|now| now.as_ref().map(FileStat::from) == Some(*seen))
            }
            _ => true,
        })
    }

    /// Gives every content of the patch, before and after, to whoever keeps them: by digest, with its length.
    pub fn each_content(
        &self,
        patch: &DeliveredPatch,
        each: &mut dyn FnMut(PatchContent<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        for (change, touched) in self.entries.iter().zip(&patch.touched) {
            let sides = [(&change.result, &touched.result, false), (&change.base, &touched.base, true)];
            for (side, digest, is_base) in sides {
                let (Some(side), Some(digest)) = (side, digest) else { continue };
                let sha256 = digest.sha256.as_str();
                match side {
                    PathVersion::File { size, place, .. } => {
                        let mut bytes = self.open(place)?;
                        each(PatchContent { sha256, len: *size, bytes: &mut bytes, is_base })?;
                    }
                    PathVersion::Symlink { target } => {
                        let len = target.len() as u64;
                        each(PatchContent { sha256, len, bytes: &mut target.as_slice(), is_base })?;
                    }
                    PathVersion::Gitlink { .. } => {}
                }
            }
        }
        Ok(())
    }
}

impl PathChange {
    pub(crate) fn name(&self) -> &[u8] {
        bytes(&self.path)
    }
}

impl WorkspaceSnapshot {
    /// What the agent changed. Call it when nothing of the agent runs any more.
    pub fn changes(&self, options: &CollectOptions<'_>) -> Result<CollectedChanges, DiffError> {
        collect::changes(self, options)
    }

    /// What the agent changed, and what `tell` makes of it, from files that nobody saved while they were read: with what a
    /// person saved in between as the original, the patch would take their lines away.
    pub fn settled_changes<T, E: From<DiffError>>(
        &self,
        options: &CollectOptions<'_>,
        mut tell: impl FnMut(&CollectedChanges) -> Result<T, E>,
    ) -> Result<(CollectedChanges, T), E> {
        // A file that was saved counts as moved the next time, so this ends as soon as people leave the others alone.
        for _ in 1..TRIES {
            let changes = match self.changes(options) {
                Err(DiffError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => continue,
                other => other?,
            };
            let told = tell(&changes);
            if changes.is_settled() {
                return Ok((changes, told?));
            }
        }
        let changes = self.changes(options)?;
        let told = tell(&changes)?;
        if changes.is_settled() { Ok((changes, told)) } else { Err(DiffError::Unsettled.into()) }
    }
}
