//! What a scan works on and what it finds: the base, the result, and the rules between them.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;

use holon_git::ObjectFormat;

use super::{DiffError, PatchLimits};
use crate::diff::ignored::BaseIgnoreRules;
use crate::snapshot::tree::{OpenTree, TreeEntryKind, is_nameable, join, path_of};
use crate::snapshot::walk::{TreeWalk, WalkEntry, WalkStep, make_accessible};
use crate::snapshot::{SkipReason, SkippedPath};

/// Where the result of a path is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ResultSource {
    /// It is gone.
    Absent,
    /// At this path among the agent's writes.
    Written(Vec<u8>),
    /// At this path of the base: moved there by renaming a directory.
    Base(Vec<u8>),
    /// A new submodule at this commit.
    Gitlink(String),
}

/// The two sides of a comparison.
#[derive(Debug)]
pub(crate) struct ScanBase {
    pub(crate) base: OpenTree,
    pub(crate) written: OpenTree,
    /// Paths the agent was not shown.
    pub(crate) hidden: BTreeSet<Vec<u8>>,
    /// Ignored paths that a layer above the base brings.
    pub(crate) environment: BTreeSet<Vec<u8>>,
    pub(crate) rules: BaseIgnoreRules,
    pub(crate) limits: PatchLimits,
    /// Ids of the base's repository.
    pub(crate) format: ObjectFormat,
}

/// What a scan found, before contents are compared.
#[derive(Debug, Default)]
pub(crate) struct ScanFindings {
    pub(crate) placed: BTreeMap<Vec<u8>, ResultSource>,
    /// Topmost ignored paths with changes.
    pub(crate) ignored: BTreeSet<Vec<u8>>,
    /// Ignored paths that exist in the base: left out unless git tracks them.
    pub(crate) unsure: Vec<Vec<u8>>,
    pub(crate) hidden: BTreeSet<Vec<u8>>,
    pub(crate) skipped: Vec<SkippedPath>,
    /// Paths whose base is known to have changed under the run.
    pub(crate) moved: BTreeSet<Vec<u8>>,
    /// Base directories that are something else now.
    pub(crate) replaced: Vec<Vec<u8>>,
    /// Entries looked at among the agent's writes.
    pub(crate) entries: u64,
}

impl ScanFindings {
    pub(crate) fn skip(&mut self, path: &[u8], why: SkipReason) {
        self.skipped.push(SkippedPath { path: path_of(path), why });
    }

    /// Counts one entry against the limit.
    pub(crate) fn count(&mut self, limits: &PatchLimits) -> Result<(), DiffError> {
        self.entries += 1;
        if self.entries > limits.entries { Err(DiffError::TooMany { limit: limits.entries }) } else { Ok(()) }
    }
}

/// Git's own folder, however it is written: file systems that fold case exist.
pub(crate) fn is_dot_git(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b".git")
}

impl ScanBase {
    pub(crate) fn base_error(&self, path: &[u8]) -> impl FnOnce(io::Error) -> DiffError + use<> {
        DiffError::io("read", self.base.path().join(path_of(path)))
    }

    pub(crate) fn written_error(&self, path: &[u8]) -> impl FnOnce(io::Error) -> DiffError + use<> {
        DiffError::io("read", self.written.path().join(path_of(path)))
    }

    /// Lets the host read what the payload made unreadable; root reads it anyway.
    pub(crate) fn give_access(&self, walk: &TreeWalk, entry: &WalkEntry) -> Result<(), DiffError> {
        let needed = match entry.meta.kind {
            TreeEntryKind::Dir => 0o500,
            TreeEntryKind::File => 0o400,
            _ => 0,
        };
        if entry.meta.mode & needed == needed || rustix::process::geteuid().is_root() {
            return Ok(());
        }
        make_accessible(walk.dir(), entry).map_err(self.written_error(&entry.path))
    }

    /// Calls `each` for every file and link of the base at or below `path`, pruning what is hidden, git's own
    /// and, if `filtered`, ignored. Special files and overlong paths are reported.
    pub(crate) fn each_base(
        &self,
        path: &[u8],
        filtered: bool,
        found: &mut ScanFindings,
        each: &mut dyn FnMut(&mut ScanFindings, &[u8]),
    ) -> Result<(), DiffError> {
        let Some(meta) = self.base.look(path).map_err(self.base_error(path))? else { return Ok(()) };
        if self.hidden.contains(path) {
            return Ok(());
        }
        if !meta.is_dir() {
            self.base_leaf(path, meta.kind, filtered, found, each);
            return Ok(());
        }
        if filtered && !path.is_empty() && self.rules.matches(path, true) {
            found.ignored.insert(path.to_vec());
            found.unsure.push(path.to_vec());
            return Ok(());
        }
        let mut walk = self.base_walk(path)?;
        loop {
            match walk.next().map_err(self.base_error(path))? {
                WalkStep::Entry(WalkEntry { path: rel, name, meta }) => {
                    let at = join(path, &rel);
                    if is_dot_git(&name) || self.hidden.contains(&at) {
                        continue;
                    }
                    if !is_nameable(&at) {
                        found.skip(&at, SkipReason::PathTooLong);
                    } else if !meta.is_dir() {
                        self.base_leaf(&at, meta.kind, filtered, found, each);
                    } else if filtered && self.rules.matches(&at, true) {
                        found.ignored.insert(at.clone());
                        found.unsure.push(at);
                    } else {
                        walk.descend(&WalkEntry { path: rel, name, meta }).map_err(self.base_error(&at))?;
                    }
                }
                WalkStep::Left => {}
                WalkStep::Done => return Ok(()),
            }
        }
    }

    fn base_walk(&self, path: &[u8]) -> Result<TreeWalk, DiffError> {
        self.base.open_dir(path).and_then(TreeWalk::new).map_err(self.base_error(path))
    }

    fn base_leaf(
        &self,
        path: &[u8],
        kind: TreeEntryKind,
        filtered: bool,
        found: &mut ScanFindings,
        each: &mut dyn FnMut(&mut ScanFindings, &[u8]),
    ) {
        match kind {
            TreeEntryKind::File | TreeEntryKind::Symlink if filtered && self.rules.matches(path, false) => {
                found.ignored.insert(path.to_vec());
                found.unsure.push(path.to_vec());
            }
            TreeEntryKind::File | TreeEntryKind::Symlink => each(found, path),
            TreeEntryKind::Dir | TreeEntryKind::Whiteout | TreeEntryKind::Special => {
                found.skip(path, SkipReason::Special)
            }
        }
    }

    /// Notes everything of the base at or below `path` as gone, unless something was found there.
    pub(crate) fn gone(
        &self,
        path: &[u8],
        filtered: bool,
        found: &mut ScanFindings,
    ) -> Result<(), DiffError> {
        self.each_base(path, filtered, found, &mut |found, path| {
            found.placed.entry(path.to_vec()).or_insert(ResultSource::Absent);
        })
    }

    /// Notes a file or link of the agent's at `path`, and that a base directory in its place is gone: whole,
    /// ignored files included, or the patch could not put a file there.
    pub(crate) fn put(
        &self,
        path: &[u8],
        placed: ResultSource,
        found: &mut ScanFindings,
    ) -> Result<(), DiffError> {
        let base = self.base.look(path).map_err(self.base_error(path))?;
        found.placed.insert(path.to_vec(), placed);
        if base.is_some_and(|meta| meta.is_dir()) {
            found.replaced.push(path.to_vec());
            self.gone(path, false, found)?;
        }
        Ok(())
    }
}

/// A sorted list of paths for the outside.
pub(crate) fn paths(set: impl IntoIterator<Item = Vec<u8>>) -> Vec<PathBuf> {
    set.into_iter().map(|path| path_of(&path)).collect()
}
