//! Going back: after a race within one apply, and after a process that died in the middle of one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use holon_git::FileMode;
use rustix::io::Errno;

use crate::ApplyError;
use crate::journal::{
    ApplyJournal, ApplyPurpose, ApplyStore, JournalStage, JournalStep, SLOTS, boot, lock_file,
};
use crate::outcome::{ApplyConflict, ConflictReason};
use crate::transaction::{HasWriter, Transaction, is, is_settled, leftover, there};
use crate::tree::{AnchoredPath, WorkspaceTree};

/// What was done about an apply that a dead process left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveredApply {
    /// The workspace it was for.
    pub workspace: PathBuf,
    /// Whose change it was.
    pub label: Option<String>,
    /// What it was for.
    pub purpose: ApplyPurpose,
    /// What was done.
    pub recovery: Recovery,
}

/// The ways to deal with an apply that did not end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recovery {
    /// Every file had been swapped: it is complete.
    Finished,
    /// Every file is as it was before.
    RolledBack,
    /// Every file is as it was before, but for these, which somebody changed since.
    RolledBackExcept(Vec<ApplyConflict>),
    /// Nothing could be done; what was replaced is in this folder.
    Stuck {
        /// The folder.
        kept: PathBuf,
        /// The reason.
        why: String,
    },
}

/// Finishes or takes back what processes that are gone left undone. Applies that are under way are left alone.
/// `has_writer` says whether somebody has a file open for writing; `None` when that cannot be told.
pub fn recover(store: &ApplyStore, has_writer: HasWriter<'_>) -> Vec<RecoveredApply> {
    if !store.has_unfinished() {
        return Vec::new();
    }
    ApplyStore::list(&store.open()).iter().filter_map(|dir| one(store, dir, has_writer)).collect()
}

fn one(store: &ApplyStore, dir: &Path, has_writer: HasWriter<'_>) -> Option<RecoveredApply> {
    // A folder without the lock of a living process: whoever made it is gone.
    let lock = lock_file(dir).ok()?;
    lock.try_lock().ok()?;
    let journal = match ApplyJournal::load(dir) {
        Ok(Some(journal)) => journal,
        Ok(None) => {
            // Nothing was swapped before the journal was there.
            let _ = fs::remove_dir_all(dir);
            return None;
        }
        Err(error) => {
            let recovery = stuck(store, dir, &error);
            return Some(RecoveredApply {
                workspace: PathBuf::new(),
                label: None,
                purpose: ApplyPurpose::Apply,
                recovery,
            });
        }
    };
    let (workspace, label, purpose) = (journal.workspace.clone(), journal.label.clone(), journal.purpose);
    let told = |recovery| {
        Some(RecoveredApply { workspace: workspace.clone(), label: label.clone(), purpose, recovery })
    };
    let tree = match WorkspaceTree::open(&workspace) {
        Ok(tree) => tree,
        Err(error) => return told(stuck(store, dir, &error)),
    };
    let stage = journal.stage;
    let transaction = match Transaction::resume(dir.to_owned(), journal, &tree, lock) {
        Ok(transaction) => transaction,
        Err(error) => return told(stuck(store, dir, &ApplyError::io("open", dir)(error))),
    };
    let complete = match stage {
        JournalStage::Staging => {
            transaction.discard();
            return None;
        }
        JournalStage::Leaving => {
            return match transaction.leave(store) {
                Ok(left) => told(Recovery::RolledBackExcept(left)),
                Err(error) => told(stuck(store, dir, &error)),
            };
        }
        JournalStage::Finishing => Ok(true),
        JournalStage::Swapping => transaction.is_complete(has_writer),
    };
    match complete {
        Ok(true) => match transaction.finish(store) {
            Ok(_) => told(Recovery::Finished),
            Err(error) => told(stuck(store, dir, &error)),
        },
        Ok(false) => match transaction.roll_back(store, has_writer) {
            Ok(left) if left.is_empty() => told(Recovery::RolledBack),
            Ok(left) => told(Recovery::RolledBackExcept(left)),
            Err(error) => told(stuck(store, dir, &error)),
        },
        Err(error) => told(stuck(store, dir, &ApplyError::io("read", &workspace)(error))),
    }
}

/// Puts a journal aside that nothing can be done about now, so that it is told once and nothing in it is lost.
fn stuck(store: &ApplyStore, dir: &Path, error: &ApplyError) -> Recovery {
    let aside = store.kept().join(dir.file_name().unwrap_or_default());
    let kept = if fs::rename(dir, &aside).is_ok() { aside } else { dir.to_owned() };
    Recovery::Stuck { kept, why: error.to_string() }
}

/// How far one step could be taken back.
enum RollbackStep {
    AsBefore,
    /// Somebody changed what stands there, so it stays.
    Changed,
    /// Somebody moved or removed what was put there; what was there before is back, unless its folder is gone.
    MovedAway,
}

impl Transaction<'_> {
    /// Whether every step is done, and what came out is what was expected and nobody writes it any more.
    fn is_complete(&self, has_writer: HasWriter<'_>) -> io::Result<bool> {
        let went_down = self.journal.boot.is_none() || self.journal.boot != boot();
        for (number, step) in self.journal.steps.iter().enumerate() {
            if step.after.is_some() && !self.is_placed(step)? {
                return Ok(false);
            }
            // A new file that is not whole is told from one that a person changed by nobody: both versions are kept.
            if went_down && step.after.is_some() && !self.is_whole(step)? {
                return Ok(false);
            }
            let Some(before) = &step.before else { continue };
            match self.old_spot(number, step)? {
                Some(old) if is_settled(&old, Some(before), step.permissions, has_writer)? => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Whether what stands at a step's path is what was put there, to the last byte.
    fn is_whole(&self, step: &JournalStep) -> io::Result<bool> {
        match self.slots.tree.find(&step.path)? {
            _ if matches!(&step.after, Some(after) if after.mode == FileMode::Gitlink) => Ok(true),
            Some(spot) => is(&spot, step.after.as_ref()),
            None => Ok(false),
        }
    }

    /// Takes every swap back, the last one first. What a person changed since stays as they have it; what it replaced is
    /// kept in a folder that the result names.
    pub(crate) fn roll_back(
        mut self,
        store: &ApplyStore,
        has_writer: HasWriter<'_>,
    ) -> Result<Vec<ApplyConflict>, ApplyError> {
        let mut left = false;
        let mut told = Vec::new();
        for (number, step) in self.journal.steps.iter().enumerate().rev() {
            let back = self.take_back(number, step, has_writer);
            match back.map_err(ApplyError::io("put back", self.slots.tree.full(&step.path)))? {
                RollbackStep::AsBefore => {}
                RollbackStep::Changed => left = true,
                RollbackStep::MovedAway => told.push(self.moved_away(number, step)),
            }
        }
        told.reverse();
        if !left {
            self.discard();
            return Ok(told);
        }
        self.enter(JournalStage::Leaving)?;
        told.extend(self.leave(store)?);
        Ok(told)
    }

    /// What is told of a step whose entry, or the folder of it, somebody moved while the apply was under way.
    fn moved_away(&self, number: usize, step: &JournalStep) -> ApplyConflict {
        let beside = step.slot.name_beside(&self.slots.id, number);
        let detail = beside.filter(|_| matches!(there(self.slots.spot(number, &step.slot)), Ok(None)));
        let conflict = ApplyConflict::new(&step.path, ConflictReason::MovedAway);
        ApplyConflict { detail: detail.unwrap_or_default(), ..conflict }
    }

    /// Puts what could not be taken back aside, and names it.
    fn leave(self, store: &ApplyStore) -> Result<Vec<ApplyConflict>, ApplyError> {
        let aside = store.kept().join(self.dir.file_name().unwrap_or_default());
        let mut conflicts = Vec::new();
        for (number, step) in self.journal.steps.iter().enumerate() {
            let failed = || ApplyError::io("keep the old version of", &step.path);
            match self.not_ours(number, step).map_err(failed())? {
                Some(spot) => self.bring_home(number, step, &spot).map_err(failed())?,
                // What is left beside the file is ours, and nobody's any more.
                None => self.unstage(number, step),
            }
            let home = self.slots.final_spot(number).map_err(failed())?;
            let stat = home.stat().map_err(failed())?;
            let is_new = |stat: &rustix::fs::Stat| step.inode == Some((stat.st_dev, stat.st_ino));
            let is_ours =
                |stat: &rustix::fs::Stat| is_new(stat) && is(&home, step.after.as_ref()).unwrap_or(false);
            if stat.is_some_and(|stat| !is_ours(&stat)) {
                let kept = aside.join(SLOTS).join(number.to_string());
                conflicts.push(leftover(&step.path, Some(kept)));
            } else if step.before.is_none() && self.is_placed(step).map_err(failed())? {
                conflicts.push(leftover(&step.path, None));
            }
        }
        fs::rename(&self.dir, &aside).map_err(ApplyError::io("keep", &self.dir))?;
        Ok(conflicts)
    }

    /// Where something of a person's waits that has no place at its path: the old file, or the new one with their edit.
    fn not_ours(&self, number: usize, step: &JournalStep) -> io::Result<Option<AnchoredPath>> {
        if let Some(old) = self.old_spot(number, step)? {
            return Ok(Some(old));
        }
        let Some(slot) = there(self.slots.spot(number, &step.slot))? else { return Ok(None) };
        let ours = slot.stat()?.is_none() || is(&slot, step.after.as_ref())?;
        Ok((!ours).then_some(slot))
    }

    /// Takes one step back.
    fn take_back(
        &self,
        number: usize,
        step: &JournalStep,
        has_writer: HasWriter<'_>,
    ) -> io::Result<RollbackStep> {
        if there(self.slots.spot(number, &step.slot))?.is_none() {
            // The folder it waited in, and with it whatever came out.
            return Ok(RollbackStep::MovedAway);
        }
        match (&step.before, &step.after) {
            (None, Some(_)) => self.take_out(number, step, has_writer),
            (Some(_), after) => match (self.old_spot(number, step)?, after) {
                (None, _) => Ok(RollbackStep::AsBefore),
                (Some(old), None) => self.put_back(&old, step),
                (Some(old), Some(_)) => self.swap_back(&old, step, has_writer),
            },
            (None, None) => Ok(RollbackStep::AsBefore),
        }
    }

    /// Takes a new entry out again, unless somebody has changed it.
    fn take_out(
        &self,
        number: usize,
        step: &JournalStep,
        has_writer: HasWriter<'_>,
    ) -> io::Result<RollbackStep> {
        let tree = self.slots.tree;
        if matches!(&step.after, Some(after) if after.mode == FileMode::Gitlink) {
            tree.remove_folder(&step.path);
            self.remove_made(step);
            return Ok(RollbackStep::AsBefore);
        }
        let mut back = RollbackStep::AsBefore;
        let slot = self.slots.spot(number, &step.slot)?;
        if self.is_placed(step)?
            && let Some(spot) = tree.find(&step.path)?
        {
            spot.move_to(&slot)?;
            if !is_settled(&slot, step.after.as_ref(), None, has_writer)? {
                back = RollbackStep::Changed;
                match slot.move_to(&spot) {
                    // They saved another one there this moment; this one is kept beside it.
                    Err(Errno::EXIST | Errno::NOTEMPTY) => {}
                    moved => moved?,
                }
            }
        } else if slot.stat()?.is_none()
            && tree.find(&step.path)?.is_none_or(|spot| matches!(spot.stat(), Ok(None)))
        {
            back = RollbackStep::MovedAway;
        }
        self.remove_made(step);
        Ok(back)
    }

    fn remove_made(&self, step: &JournalStep) {
        for dir in step.path.ancestors().skip(1).take(step.made) {
            self.slots.tree.remove_folder(dir);
        }
    }

    /// Puts what was taken out back where nothing is now.
    fn put_back(&self, old: &AnchoredPath, step: &JournalStep) -> io::Result<RollbackStep> {
        let way = self.slots.tree.make_way(&step.path, &mut Vec::new())?;
        let Some(spot) = way else { return Ok(RollbackStep::Changed) };
        match old.move_to(&spot) {
            Ok(()) => Ok(RollbackStep::AsBefore),
            Err(Errno::EXIST | Errno::NOTEMPTY) => Ok(RollbackStep::Changed),
            Err(e) => Err(e.into()),
        }
    }

    /// Changes the old and the new file back, unless somebody changed the new one.
    fn swap_back(
        &self,
        old: &AnchoredPath,
        step: &JournalStep,
        has_writer: HasWriter<'_>,
    ) -> io::Result<RollbackStep> {
        let spot = self.slots.tree.find(&step.path)?;
        let Some(spot) = spot.filter(|spot| !matches!(spot.stat(), Ok(None))) else {
            return Ok(match self.put_back(old, step)? {
                RollbackStep::AsBefore => RollbackStep::MovedAway,
                other => other,
            });
        };
        if !self.is_placed(step)? {
            return Ok(RollbackStep::Changed);
        }
        match spot.exchange(old) {
            Ok(()) => {
                if is_settled(old, step.after.as_ref(), None, has_writer)? {
                    return Ok(RollbackStep::AsBefore);
                }
                // Somebody writes to the new one this moment: theirs goes back, what they wrote over is kept.
                spot.exchange(old)?;
                Ok(RollbackStep::Changed)
            }
            Err(Errno::INVAL | Errno::NOSYS) => {
                if !is_settled(&spot, step.after.as_ref(), None, has_writer)? {
                    return Ok(RollbackStep::Changed);
                }
                spot.remove()?;
                self.put_back(old, step)
            }
            Err(e) => Err(e.into()),
        }
    }
}
