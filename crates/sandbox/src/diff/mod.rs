//! What a run changed, told from bytes: never by asking a repository the agent could write to.

mod collect;
mod copied;
mod digest;
mod error;
mod ground;
mod ignored;
mod origin;
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

use crate::snapshot::tree::{Root, bytes};
use crate::snapshot::{Skipped, Snapshot};

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

/// Where the bytes of a file are: in the original or among the agent's writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub(crate) in_base: bool,
    pub(crate) path: Vec<u8>,
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
    pub(crate) replaced: Vec<Vec<u8>>,
    pub(crate) format: ObjectFormat,
    pub(crate) roots: Option<Roots>,
}

#[derive(Debug)]
pub(crate) struct Roots {
    pub(crate) base: Root,
    pub(crate) written: Root,
}

impl Changes {
    /// Whether nothing changed that could be delivered, refused or noticed.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.out_of_scope.is_empty() && self.hidden.is_empty()
    }

    /// Opens the bytes of one side.
    pub fn open(&self, place: &Place) -> io::Result<File> {
        let roots = self.roots.as_ref().ok_or_else(|| io::Error::other("there is nothing to read from"))?;
        if place.in_base { roots.base.open_file(&place.path) } else { roots.written.open_file(&place.path) }
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
}
