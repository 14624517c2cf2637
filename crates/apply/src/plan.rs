//! From a change and what is there now to a list of swaps, or to what stands against it.

use std::io;
use std::path::{Path, PathBuf};

use holon_git::{FileMode, Git, PathDigest};

use crate::ApplyError;
use crate::change::{ChangeEntry, ChangeSet};
use crate::merge::{FileMerge, MergeVersion, three_ways};
use crate::outcome::{ApplyConflict, ConflictReason};
use crate::parts::in_parts;
use crate::tree::{FolderCache, PathContent, SaveStamp, WorkspaceTree, check_name};

/// One path that shall be something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileSwap {
    pub(crate) path: PathBuf,
    /// What is there now and must still be there when it is replaced.
    pub(crate) before: Option<PathDigest>,
    /// What shall be there.
    pub(crate) after: Option<PathDigest>,
    /// Its content when it is a merged one, which is kept nowhere else.
    pub(crate) merged: Option<Vec<u8>>,
    /// The permissions it shall have, where they are known.
    pub(crate) permissions: Option<u32>,
    /// Whether the file that is there has attributes, which the new one shall have, too.
    pub(crate) attributes: bool,
    /// What the entry that is there looked like when it was read.
    pub(crate) seen: Option<SaveStamp>,
}

/// What to do.
#[derive(Debug, Default)]
pub(crate) struct SwapPlan {
    pub(crate) swaps: Vec<FileSwap>,
    /// Paths at which both sides met.
    pub(crate) merged: Vec<PathBuf>,
    pub(crate) conflicts: Vec<PlannedConflict>,
}

/// A conflict with what could not be put there.
#[derive(Debug)]
pub(crate) struct PlannedConflict {
    pub(crate) conflict: ApplyConflict,
    /// The change's version.
    pub(crate) version: Option<Vec<u8>>,
    /// The text with both sides marked.
    pub(crate) marked: Option<Vec<u8>>,
}

/// Where contents come from, by digest.
pub(crate) type ContentLookup<'a> = &'a (dyn Fn(&str) -> io::Result<Option<Vec<u8>>> + Sync);
/// How git is found, asked only when something must be merged.
pub(crate) type FindGit<'a> = &'a dyn Fn() -> Result<Git, holon_git::GitError>;

pub(crate) struct SwapPlanner<'a> {
    pub(crate) tree: &'a WorkspaceTree,
    pub(crate) contents: ContentLookup<'a>,
    pub(crate) git: FindGit<'a>,
    pub(crate) temp: &'a Path,
}

impl SwapPlanner<'_> {
    pub(crate) fn plan(&self, changes: &ChangeSet) -> Result<SwapPlan, ApplyError> {
        let mut plan = SwapPlan::default();
        for entry in &changes.entries {
            check_name(&entry.path)?;
        }
        let tree = self.tree;
        let now = in_parts(&changes.entries, |_, part| {
            let mut folders = FolderCache::of(tree);
            let look = |entry: &ChangeEntry| {
                folders.standing(&entry.path).map_err(ApplyError::io("read", tree.full(&entry.path)))
            };
            part.iter().map(look).collect()
        })?;
        for (entry, (now, known)) in changes.entries.iter().zip(now) {
            let planned = plan.swaps.len();
            self.one(entry, now, changes, &mut plan)?;
            for swap in &mut plan.swaps[planned..] {
                (swap.attributes, swap.seen) = (known.attributes, known.seen);
            }
        }
        Ok(plan)
    }

    fn one(
        &self,
        entry: &ChangeEntry,
        now: PathContent,
        all: &ChangeSet,
        plan: &mut SwapPlan,
    ) -> Result<(), ApplyError> {
        if matches!(&entry.result, Some(digest) if digest.mode == FileMode::Gitlink) {
            // A submodule is a folder that git fills; a commit of it is nothing a file could say.
            match now {
                PathContent::Folder => {}
                PathContent::Nothing => plan.swaps.push(FileSwap::of(entry, None)),
                _ => plan.conflict(&entry.path, ConflictReason::InTheWay, None, None),
            }
            return Ok(());
        }
        let now = match now {
            PathContent::Other => {
                plan.conflict(&entry.path, ConflictReason::InTheWay, self.version(entry)?, None);
                return Ok(());
            }
            // It goes away with the files in it, if they are all part of the change.
            PathContent::Folder if entry.result.is_some() && !empties(all, &entry.path) => {
                plan.conflict(&entry.path, ConflictReason::InTheWay, self.version(entry)?, None);
                return Ok(());
            }
            PathContent::Folder | PathContent::Nothing => None,
            PathContent::Entry(digest) => Some(digest),
        };
        if now == entry.result {
            return Ok(());
        }
        if now.is_none() && entry.result.is_some() {
            let full = self.tree.full(&entry.path);
            let blocked = self.tree.blocked_by(&entry.path).map_err(ApplyError::io("look at", &full))?;
            let goes = |path: &PathBuf| all.entries.iter().any(|e| e.path == *path && e.result.is_none());
            if blocked.as_ref().is_some_and(|path| !goes(path)) {
                plan.conflict(&entry.path, ConflictReason::InTheWay, self.version(entry)?, None);
                return Ok(());
            }
        }
        if now == entry.base {
            plan.swaps.push(FileSwap::of(entry, now));
            return Ok(());
        }
        let reason = match (&entry.base, &now, &entry.result) {
            (Some(base), Some(here), Some(result)) => return self.merge(entry, base, here, result, plan),
            (None, Some(_), _) => ConflictReason::BothAdded,
            (_, None, _) => ConflictReason::RemovedHere,
            (_, _, None) => ConflictReason::ChangedHere,
        };
        plan.conflict(&entry.path, reason, self.version(entry)?, None);
        Ok(())
    }

    fn merge(
        &self,
        entry: &ChangeEntry,
        base: &PathDigest,
        here: &PathDigest,
        result: &PathDigest,
        plan: &mut SwapPlan,
    ) -> Result<(), ApplyError> {
        let full = self.tree.full(&entry.path);
        let read = |digest: &PathDigest| {
            (self.contents)(&digest.sha256).map_err(ApplyError::io("read the kept content of", &full))
        };
        let change = read(result)?.ok_or_else(|| ApplyError::NoContent { path: entry.path.clone() })?;
        let Some(base_content) = read(base)? else {
            plan.conflict(&entry.path, ConflictReason::NoBase, Some(change), None);
            return Ok(());
        };
        let Some(here_content) = self.current(&entry.path, here)? else {
            // It changed again while it was read: the swap will not find what it expects, and all is planned anew.
            plan.swaps.push(FileSwap::of(entry, Some(here.clone())));
            return Ok(());
        };
        let merged = three_ways(
            &(self.git)()?,
            self.temp,
            MergeVersion { digest: base, content: &base_content },
            MergeVersion { digest: here, content: &here_content },
            MergeVersion { digest: result, content: &change },
        )?;
        match merged {
            FileMerge::Clean(mode, content) => {
                let after = PathDigest::of_bytes(mode, &content);
                plan.merged.push(entry.path.clone());
                if after != *here {
                    let before = Some(here.clone());
                    let after = Some(after);
                    let path = entry.path.clone();
                    let merged = Some(content);
                    let swap = FileSwap {
                        path,
                        before,
                        after,
                        merged,
                        permissions: None,
                        attributes: false,
                        seen: None,
                    };
                    plan.swaps.push(swap);
                }
            }
            FileMerge::Clash(reason, marked) => plan.conflict(&entry.path, reason, Some(change), marked),
        }
        Ok(())
    }

    /// What a person has at a path, if it is still what was seen.
    fn current(&self, path: &Path, seen: &PathDigest) -> Result<Option<Vec<u8>>, ApplyError> {
        use std::io::Read;
        let full = self.tree.full(path);
        let read = || -> io::Result<Option<Vec<u8>>> {
            let Some(spot) = self.tree.find(path)? else { return Ok(None) };
            let mut bytes = Vec::new();
            match seen.mode {
                FileMode::Symlink => bytes = spot.link()?,
                _ => drop(spot.open()?.read_to_end(&mut bytes)?),
            }
            Ok((PathDigest::of_bytes(seen.mode, &bytes) == *seen).then_some(bytes))
        };
        match read() {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            done => done.map_err(ApplyError::io("read", full)),
        }
    }

    fn version(&self, entry: &ChangeEntry) -> Result<Option<Vec<u8>>, ApplyError> {
        let Some(result) = &entry.result else { return Ok(None) };
        (self.contents)(&result.sha256).map_err(ApplyError::io("read the kept content of", &entry.path))
    }
}

impl SwapPlan {
    fn conflict(
        &mut self,
        path: &Path,
        why: ConflictReason,
        version: Option<Vec<u8>>,
        marked: Option<Vec<u8>>,
    ) {
        self.conflicts.push(PlannedConflict { conflict: ApplyConflict::new(path, why), version, marked });
    }
}

impl FileSwap {
    fn of(entry: &ChangeEntry, before: Option<PathDigest>) -> Self {
        Self {
            path: entry.path.clone(),
            before,
            after: entry.result.clone(),
            merged: None,
            permissions: entry.permissions,
            attributes: false,
            seen: None,
        }
    }
}

/// Whether the change removes something below a folder, so that the folder may go away with it.
fn empties(all: &ChangeSet, folder: &Path) -> bool {
    all.entries
        .iter()
        .any(|entry| entry.result.is_none() && entry.path.starts_with(folder) && entry.path != folder)
}
