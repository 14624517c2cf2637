//! What a run changed, told from bytes: never by asking a repository the agent could write to.

mod collect;
mod copied;
mod digest;
mod error;
mod ground;
mod ignored;
mod origin;
mod original;
mod overlay;
mod patch;
mod selfcheck;
mod stage;
mod submodule;
mod vanished;

use std::fs::File;
use std::io;
use std::path::PathBuf;

use holon_git::{FileMode, Git, ObjectFormat};

pub use digest::tree_digest;
pub use error::Error;
pub use patch::Patch;

pub(crate) use collect::equal;
pub(crate) use ignored::Rules;

use crate::snapshot::tree::{Root, bytes};
use crate::snapshot::{Seen, Skipped, Snapshot};

/// One content of a patch.
pub struct Content<'a> {
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
pub struct Limits {
    /// Entries the agent may have written outside ignored directories.
    pub entries: u64,
    /// Bytes of all changed files together.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { entries: 200_000, bytes: 256 << 20 }
    }
}

/// How often changes are told anew because somebody saved a file while it was read.
const TRIES: usize = 20;

/// What to collect, and with what.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// Asked only whether an ignored file is tracked, in the original repository.
    pub git: &'a Git,
    /// When to give up.
    pub limits: Limits,
}

/// One path that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Relative to the workspace.
    pub path: PathBuf,
    /// Before; `None` when it is new.
    pub base: Option<Side>,
    /// After; `None` when it is gone.
    pub result: Option<Side>,
}

/// One state of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Side {
    /// A regular file.
    File {
        /// Whether its owner may execute it.
        exec: bool,
        /// Its length.
        size: u64,
        /// Where its bytes are.
        place: Place,
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
pub struct Place {
    pub(crate) root: PlaceRoot,
    pub(crate) path: Vec<u8>,
    /// What a file of the workspace looked like: people go on working there.
    pub(crate) seen: Option<Seen>,
}

/// The folders in which the bytes of files can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlaceRoot {
    /// The original workspace.
    Base,
    /// What the agent wrote.
    Written,
    /// What was kept of originals that changed meanwhile.
    Kept,
}

impl Side {
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
pub struct Changes {
    /// What may leave, sorted by path.
    pub entries: Vec<Change>,
    /// Changed paths outside the mode's write scope.
    pub out_of_scope: Vec<PathBuf>,
    /// Hidden paths at which the agent put something.
    pub hidden: Vec<PathBuf>,
    /// Ignored paths with changes, which are left out; a directory counts once.
    pub ignored: u64,
    /// What cannot be in a patch.
    pub skipped: Vec<Skipped>,
    /// Touched paths whose original changed while the agent worked.
    pub moved: Vec<PathBuf>,
    /// Those of them that are left out, because nobody knows what they were when the agent began.
    pub unknown: Vec<Change>,
    pub(crate) replaced: Vec<Vec<u8>>,
    pub(crate) format: ObjectFormat,
    pub(crate) roots: Option<Roots>,
}

#[derive(Debug)]
pub(crate) struct Roots {
    pub(crate) base: Root,
    pub(crate) written: Root,
    pub(crate) kept: Option<Root>,
}

impl Roots {
    pub(crate) fn open(&self, place: &Place) -> io::Result<File> {
        match place.root {
            PlaceRoot::Base => self.base.open_file(&place.path),
            PlaceRoot::Written => self.written.open_file(&place.path),
            PlaceRoot::Kept => {
                let kept = self.kept.as_ref().ok_or_else(|| io::Error::other("no originals were kept"))?;
                kept.open_file(&place.path)
            }
        }
    }
}

impl Changes {
    /// Whether nothing changed that could be delivered, refused or noticed.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.out_of_scope.is_empty() && self.hidden.is_empty()
    }

    /// Opens the bytes of one side.
    pub fn open(&self, place: &Place) -> io::Result<File> {
        let roots = self.roots.as_ref().ok_or_else(|| io::Error::other("there is nothing to read from"))?;
        roots.open(place)
    }

    /// Whether every file of the workspace that the changes are told from still is what it was when they were told.
    fn is_settled(&self) -> bool {
        let Some(roots) = &self.roots else { return true };
        let sides =
            self.entries.iter().chain(&self.unknown).flat_map(|change| [&change.base, &change.result]);
        sides.flatten().all(|side| match side {
            Side::File { place: Place { path, seen: Some(seen), .. }, .. } => {
                roots.base.look(path).is_ok_and(|now| now.as_ref().map(Seen::from) == Some(*seen))
            }
            _ => true,
        })
    }

    /// Gives every content of the patch, before and after, to whoever keeps them: by digest, with its length.
    pub fn each_content(
        &self,
        patch: &Patch,
        each: &mut dyn FnMut(Content<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        for (change, touched) in self.entries.iter().zip(&patch.touched) {
            let sides = [(&change.result, &touched.result, false), (&change.base, &touched.base, true)];
            for (side, digest, is_base) in sides {
                let (Some(side), Some(digest)) = (side, digest) else { continue };
                let sha256 = digest.sha256.as_str();
                match side {
                    Side::File { size, place, .. } => {
                        let mut bytes = self.open(place)?;
                        each(Content { sha256, len: *size, bytes: &mut bytes, is_base })?;
                    }
                    Side::Symlink { target } => {
                        let len = target.len() as u64;
                        each(Content { sha256, len, bytes: &mut target.as_slice(), is_base })?;
                    }
                    Side::Gitlink { .. } => {}
                }
            }
        }
        Ok(())
    }
}

impl Change {
    pub(crate) fn name(&self) -> &[u8] {
        bytes(&self.path)
    }
}

impl Snapshot {
    /// What the agent changed. Call it when nothing of the agent runs any more.
    pub fn changes(&self, options: &Options<'_>) -> Result<Changes, Error> {
        collect::changes(self, options)
    }

    /// What the agent changed, and what `tell` makes of it, from files that nobody saved while they were read: with what a
    /// person saved in between as the original, the patch would take their lines away.
    pub fn settled_changes<T, E: From<Error>>(
        &self,
        options: &Options<'_>,
        mut tell: impl FnMut(&Changes) -> Result<T, E>,
    ) -> Result<(Changes, T), E> {
        // A file that was saved counts as moved the next time, so this ends as soon as people leave the others alone.
        for _ in 1..TRIES {
            let changes = match self.changes(options) {
                Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => continue,
                other => other?,
            };
            let told = tell(&changes);
            if changes.is_settled() {
                return Ok((changes, told?));
            }
        }
        let changes = self.changes(options)?;
        let told = tell(&changes)?;
        if changes.is_settled() { Ok((changes, told)) } else { Err(Error::Unsettled.into()) }
    }
}
