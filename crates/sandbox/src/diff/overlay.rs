//! Reading an overlay's upper layer: what the agent wrote, deleted and moved, without walking the original.

use super::DiffError;
use super::origin::{OverlayXattrPrefix, UpperDirOrigin};
use super::scan_base::{ResultSource, ScanBase, ScanFindings, is_dot_git};
use super::submodule;
use crate::snapshot::tree::{TreeEntryKind, TreeEntryMeta, is_nameable, join};
use crate::snapshot::walk::{TreeWalk, WalkEntry, WalkStep};
use crate::snapshot::{FileTimestamp, GitView, SkipReason};

/// One upper directory on the way down.
struct UpperDirLevel {
    path: Vec<u8>,
    /// The base directory merged into it; `None` when it covers nothing.
    low: Option<Vec<u8>>,
    /// The base below `path` has been noted as gone: what of it is still there must be placed again.
    cleared: bool,
}

/// A scan of one upper layer.
pub(crate) struct OverlayScan<'a> {
    pub(crate) ground: &'a ScanBase,
    pub(crate) prefix: OverlayXattrPrefix,
    pub(crate) git: Option<&'a GitView>,
    pub(crate) started: FileTimestamp,
}

impl OverlayScan<'_> {
    /// Everything that differs from the base, contents not yet compared.
    pub(crate) fn run(&self) -> Result<ScanFindings, DiffError> {
        let ground = self.ground;
        let mut found = ScanFindings::default();
        let start =
            ground.written.open_dir(b"").and_then(TreeWalk::repairing).map_err(ground.written_error(b""))?;
        let mut walk = start;
        let mut levels = vec![UpperDirLevel { path: Vec::new(), low: Some(Vec::new()), cleared: false }];
        loop {
            let step = walk.next().map_err(ground.written_error(levels.last().map_or(b"", |l| &l.path)))?;
            match step {
                WalkStep::Entry(entry) => {
                    found.count(&ground.limits)?;
                    let Some(level) = levels.last() else { break };
                    if self.left_out(&entry, &mut found)? {
                        continue;
                    }
                    if entry.meta.is_dir() {
                        if let Some(level) = self.enter(level, &entry, &mut walk, &mut found)? {
                            levels.push(level);
                        }
                    } else {
                        self.leaf(level, &entry, &walk, &mut found)?;
                    }
                }
                WalkStep::Left => drop(levels.pop()),
                WalkStep::Done => break,
            }
        }
        self.vanished(&mut found)?;
        Ok(found)
    }

    /// What never becomes part of a patch: git's own, hidden, ignored, unnameable.
    fn left_out(&self, entry: &WalkEntry, found: &mut ScanFindings) -> Result<bool, DiffError> {
        let ground = self.ground;
        if is_dot_git(&entry.name) {
            return Ok(true);
        }
        if ground.hidden.contains(&entry.path) {
            if entry.meta.kind != TreeEntryKind::Whiteout {
                found.hidden.insert(entry.path.clone());
            }
            return Ok(true);
        }
        if !is_nameable(&entry.path) {
            found.skip(&entry.path, SkipReason::PathTooLong);
            return Ok(true);
        }
        let base = || ground.base.look(&entry.path).map_err(ground.base_error(&entry.path));
        // A deletion is ignored as what it deleted would be.
        let is_dir = match entry.meta.kind {
            TreeEntryKind::Whiteout => base()?.is_some_and(|meta| meta.is_dir()),
            _ => entry.meta.is_dir(),
        };
        // The base may have nothing there that would say whether it is a folder.
        let brought = ground.environment.contains(&entry.path);
        if !brought && !ground.rules.matches(&entry.path, is_dir) {
            return Ok(false);
        }
        found.ignored.insert(entry.path.clone());
        if base()?.is_some() {
            found.unsure.push(entry.path.clone());
        }
        Ok(true)
    }

    fn leaf(
        &self,
        level: &UpperDirLevel,
        entry: &WalkEntry,
        walk: &TreeWalk,
        found: &mut ScanFindings,
    ) -> Result<(), DiffError> {
        let ground = self.ground;
        match entry.meta.kind {
            TreeEntryKind::Whiteout => {
                if let Some(low) = &level.low {
                    let below = join(low, &entry.name);
                    // The kernel marks only what it saw in the original: if nothing is there, it was.
                    let gone = ground.base.look(&below).map_err(ground.base_error(&below))?.is_none();
                    if gone && !ground.hidden.contains(&below) {
                        found.moved.insert(entry.path.clone());
                    }
                }
                ground.gone(&entry.path, true, found)
            }
            TreeEntryKind::File | TreeEntryKind::Symlink => {
                ground.give_access(walk, entry)?;
                ground.put(&entry.path, ResultSource::Written(entry.path.clone()), found)
            }
            TreeEntryKind::Dir | TreeEntryKind::Special => {
                found.skip(&entry.path, SkipReason::Special);
                ground.gone(&entry.path, true, found)
            }
        }
    }

    /// Enters an upper directory; `None` when it became one entry as a whole.
    fn enter(
        &self,
        above: &UpperDirLevel,
        entry: &WalkEntry,
        walk: &mut TreeWalk,
        found: &mut ScanFindings,
    ) -> Result<Option<UpperDirLevel>, DiffError> {
        let ground = self.ground;
        let path = &entry.path;
        ground.give_access(walk, entry)?;
        let base = ground.base.look(path).map_err(ground.base_error(path))?;
        if base.is_none()
            && let Some(id) = submodule::commit_of_new(ground, self.git, path)?
        {
            found.placed.insert(path.clone(), ResultSource::Gitlink(id));
            return Ok(None);
        }
        if base.is_some_and(|meta| !meta.is_dir()) {
            ground.gone(path, false, found)?;
        }
        walk.descend(entry).map_err(ground.written_error(path))?;
        let below = self.prefix.below(walk.dir()).map_err(ground.written_error(path))?;
        let low = self.low(above.low.as_deref(), &entry.name, below)?;
        let mut level = UpperDirLevel { path: path.clone(), low, cleared: above.cleared };
        if !level.cleared && level.low.as_ref() != Some(path) {
            ground.gone(path, true, found)?;
            level.cleared = true;
        }
        if level.cleared
            && let Some(low) = &level.low
        {
            self.bring_along(low, path, walk.names(), found)?;
        }
        Ok(Some(level))
    }

    /// The base directory an upper directory is merged with.
    fn low(
        &self,
        above: Option<&[u8]>,
        name: &[u8],
        below: UpperDirOrigin,
    ) -> Result<Option<Vec<u8>>, DiffError> {
        let candidate = match below {
            UpperDirOrigin::Opaque => None,
            UpperDirOrigin::Merged => above.map(|above| join(above, name)),
            UpperDirOrigin::Redirect(target) => match target.strip_prefix(b"/") {
                Some(absolute) => Some(absolute.to_vec()),
                None if target.contains(&b'/') => None,
                None => above.map(|above| join(above, &target)),
            },
        };
        let Some(low) = candidate else { return Ok(None) };
        let dotted = low.split(|&b| b == b'/').any(|part| matches!(part, b"" | b"." | b".."));
        if dotted || self.ground.hidden.contains(&low) {
            return Ok(None);
        }
        let meta = self.ground.base.look(&low).map_err(self.ground.base_error(&low))?;
        Ok(meta.filter(TreeEntryMeta::is_dir).map(|_| low))
    }

    /// Places what a moved directory still shows of the base, apart from the names its upper side covers.
    fn bring_along(
        &self,
        low: &[u8],
        to: &[u8],
        covered: &[Vec<u8>],
        found: &mut ScanFindings,
    ) -> Result<(), DiffError> {
        let ground = self.ground;
        let dir = ground.base.open_dir(low).and_then(TreeWalk::new).map_err(ground.base_error(low))?;
        for name in dir.names() {
            if covered.binary_search(name).is_ok() || is_dot_git(name) {
                continue;
            }
            let from = join(low, name);
            ground.each_base(&from, true, found, &mut |found, path| {
                let target = join(to, &path[low.len() + usize::from(!low.is_empty())..]);
                match ground.rules.root_of(&target, false) {
                    Some(ignored) => drop(found.ignored.insert(ignored)),
                    None if !is_nameable(&target) => found.skip(&target, SkipReason::PathTooLong),
                    None => drop(found.placed.insert(target, ResultSource::Base(path.to_vec()))),
                }
            })?;
        }
        Ok(())
    }

    /// Whether the base at `path` may not be what it was when the snapshot was taken; whether one that is gone was ever there
    /// can only be told where originals are kept.
    pub(crate) fn base_moved(&self, path: &[u8], originals: bool) -> Result<bool, DiffError> {
        match self.ground.base.look(path).map_err(self.ground.base_error(path))? {
            Some(meta) => Ok(meta.ctime.is_since(self.started)),
            None => Ok(originals && self.parent_changed(path)?),
        }
    }

    /// The result at one path of the merged view.
    pub(crate) fn locate(&self, path: &[u8]) -> Result<ResultSource, DiffError> {
        let ground = self.ground;
        let mut low = Some(Vec::new());
        let mut start = 0;
        loop {
            let end = path[start..].iter().position(|&b| b == b'/').map_or(path.len(), |at| start + at);
            let (here, name) = (&path[..end], &path[start..end]);
            match ground.written.look(here).map_err(ground.written_error(here))? {
                None => {
                    let Some(low) = low else { return Ok(ResultSource::Absent) };
                    let rest = join(&low, &path[start..]);
                    let there = ground.base.look(&rest).map_err(ground.base_error(&rest))?;
                    return Ok(match there {
                        Some(meta) if !meta.is_dir() => ResultSource::Base(rest),
                        _ => ResultSource::Absent,
                    });
                }
                Some(meta) if meta.is_dir() && end < path.len() => {
                    let dir = ground.written.open_dir(here).map_err(ground.written_error(here))?;
                    let below = self.prefix.below(std::os::fd::AsFd::as_fd(&dir));
                    low = self.low(low.as_deref(), name, below.map_err(ground.written_error(here))?)?;
                    start = end + 1;
                }
                Some(meta)
                    if end == path.len()
                        && matches!(meta.kind, TreeEntryKind::File | TreeEntryKind::Symlink) =>
                {
                    return Ok(ResultSource::Written(path.to_vec()));
                }
                Some(_) => return Ok(ResultSource::Absent),
            }
        }
    }
}
