//! Comparing a copy with what it was: only files whose metadata differ from the index are candidates.

use std::collections::HashMap;

use super::DiffError;
use super::scan_base::{ResultSource, ScanBase, ScanFindings, is_dot_git};
use super::submodule;
use crate::snapshot::tree::{TreeEntryKind, is_nameable};
use crate::snapshot::walk::{TreeWalk, WalkEntry, WalkStep};
use crate::snapshot::{CopyIndex, CopyIndexEntry, FileStat, FileTimestamp, GitView, SkipReason};

/// A scan of one copy.
pub(crate) struct CopyScan<'a> {
    pub(crate) ground: &'a ScanBase,
    pub(crate) git: Option<&'a GitView>,
    pub(crate) index: CopyIndex,
    /// The moment before the first file was copied.
    pub(crate) started: FileTimestamp,
}

impl CopyScan<'_> {
    /// Everything that differs from the base, contents not yet compared.
    pub(crate) fn run(&mut self) -> Result<ScanFindings, DiffError> {
        let ground = self.ground;
        let mut found = ScanFindings::default();
        // What is left in here at the end was in the copy and is not any more.
        let mut missing = self.index.entries.clone();
        let mut walk =
            ground.written.open_dir(b"").and_then(TreeWalk::repairing).map_err(ground.written_error(b""))?;
        loop {
            match walk.next().map_err(ground.written_error(b""))? {
                WalkStep::Entry(entry) => {
                    if is_dot_git(&entry.name) {
                        continue;
                    }
                    if entry.meta.is_dir() {
                        ground.give_access(&walk, &entry)?;
                    }
                    if ground.hidden.contains(&entry.path) {
                        found.hidden.insert(entry.path);
                    } else if !is_nameable(&entry.path) {
                        found.skip(&entry.path, SkipReason::PathTooLong);
                    } else if !entry.meta.is_dir() {
                        self.leaf(&entry, &walk, &mut missing, &mut found)?;
                    } else if let Some(id) = self.new_submodule(&entry)? {
                        found.placed.insert(entry.path, ResultSource::Gitlink(id));
                    } else {
                        walk.descend(&entry).map_err(ground.written_error(&entry.path))?;
                    }
                }
                WalkStep::Left => {}
                WalkStep::Done => break,
            }
        }
        self.gone(missing, &mut found)?;
        Ok(found)
    }

    fn new_submodule(&self, entry: &WalkEntry) -> Result<Option<String>, DiffError> {
        let ground = self.ground;
        match ground.base.look(&entry.path).map_err(ground.base_error(&entry.path))? {
            None => submodule::commit_of_new(ground, self.git, &entry.path),
            Some(_) => Ok(None),
        }
    }

    fn leaf(
        &self,
        entry: &WalkEntry,
        walk: &TreeWalk,
        missing: &mut HashMap<Vec<u8>, CopyIndexEntry>,
        found: &mut ScanFindings,
    ) -> Result<(), DiffError> {
        let ground = self.ground;
        if !matches!(entry.meta.kind, TreeEntryKind::File | TreeEntryKind::Symlink) {
            found.skip(&entry.path, SkipReason::Special);
            return Ok(());
        }
        let known = missing.remove(&entry.path);
        if known.is_some_and(|pair| pair.copy == FileStat::from(&entry.meta)) {
            return Ok(());
        }
        found.count(&ground.limits)?;
        if let Some(ignored) = ground.rules.root_of(&entry.path, false) {
            found.ignored.insert(ignored);
            if known.is_some() {
                found.unsure.push(entry.path.clone());
            }
            return Ok(());
        }
        ground.give_access(walk, entry)?;
        ground.put(&entry.path, ResultSource::Written(entry.path.clone()), found)
    }

    fn gone(
        &self,
        missing: HashMap<Vec<u8>, CopyIndexEntry>,
        found: &mut ScanFindings,
    ) -> Result<(), DiffError> {
        for path in missing.into_keys() {
            if path.split(|&b| b == b'/').any(is_dot_git) || found.placed.contains_key(&path) {
                continue;
            }
            if self.ground.base.look(&path).map_err(self.ground.base_error(&path))?.is_none() {
                found.moved.insert(path.clone());
            }
            match self.ground.rules.root_of(&path, false) {
                Some(ignored) => {
                    found.ignored.insert(ignored);
                    found.unsure.push(path);
                }
                None => drop(found.placed.insert(path, ResultSource::Absent)),
            }
        }
        Ok(())
    }

    /// Whether the base at `path` is not what was copied, or was saved while copies were made.
    pub(crate) fn base_moved(&self, path: &[u8]) -> Result<bool, DiffError> {
        let now = self.ground.base.look(path).map_err(self.ground.base_error(path))?;
        let now = now.filter(|meta| matches!(meta.kind, TreeEntryKind::File | TreeEntryKind::Symlink));
        let copied = self.index.entries.get(path).map(|pair| pair.base);
        let since = copied.is_some_and(|base| base.ctime.is_since(self.started));
        Ok(since || now.as_ref().map(FileStat::from) != copied)
    }

    /// The result at one path.
    pub(crate) fn locate(&self, path: &[u8]) -> Result<ResultSource, DiffError> {
        let there = self.ground.written.look(path).map_err(self.ground.written_error(path))?;
        Ok(match there {
            Some(meta) if matches!(meta.kind, TreeEntryKind::File | TreeEntryKind::Symlink) => {
                ResultSource::Written(path.to_vec())
            }
            _ => ResultSource::Absent,
        })
    }
}
