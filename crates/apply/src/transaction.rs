//! Carrying a plan out: everything is staged, the journal is on the disk, then file after file changes places.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use holon_git::{FileMode, PathDigest};
use rustix::fs::{FileType, Mode, OFlags, Stat, fchmod, mkdirat, openat, symlinkat};
use rustix::io::Errno;

use crate::ApplyError;
use crate::contents::ContentWriter;
use crate::journal::{
    ApplyJournal, ApplyPurpose, ApplyStore, JOURNAL, JournalStage, JournalStep, MERGED, SLOTS, boot,
};
use crate::new_file::{copy_attributes, create, new_file, own_like, permissions};
use crate::outcome::{ApplyConflict, ConflictReason};
use crate::parts::in_parts;
use crate::plan::{ContentLookup, FileSwap, SwapPlan};
use crate::slot::{SlotLocation, SwapSlots};
use crate::tree::{AnchoredPath, FolderCache, PathContent, SaveStamp, WorkspaceTree, size};

/// More new files than this reach the disk by one call for the whole file system, while they are swapped in, instead of
/// one for each before.
const SYNC_EACH: usize = 16;

/// Says whether somebody has a file open for writing; `None` when that cannot be told.
pub(crate) type HasWriter<'a> = &'a (dyn Fn(&File) -> Option<bool> + Sync);

/// A new file, unless it is a link, with its device and inode.
type WrittenFile = (Option<File>, (u64, u64));

/// Why the swaps ended early.
#[derive(Debug)]
pub(crate) enum SwapInterruption {
    /// A path is not as it was when all was planned.
    Raced(PathBuf),
    /// Another program is writing a file.
    InUse(PathBuf),
    /// A path cannot be written.
    Unwritten(PathBuf, io::Error),
}

/// An apply under way.
#[derive(Debug)]
pub(crate) struct Transaction<'t> {
    pub(crate) dir: PathBuf,
    pub(crate) journal: ApplyJournal,
    pub(crate) slots: SwapSlots<'t>,
    /// Folders on each file system with new files that are not known to be on the disk yet. Never one of the files: who
    /// has it open for writing is taken for somebody else who does.
    unsettled: Vec<Arc<OwnedFd>>,
    /// What each path looked like when all was planned.
    seen: Vec<Option<SaveStamp>>,
    /// Whether nobody could tell of some old file if another program still writes to it.
    unwatched: AtomicBool,
    /// Whether any two entries could not change places in one step, as far as is known.
    apart: AtomicBool,
    _lock: File,
}

impl<'t> Transaction<'t> {
    /// Writes every new file and the journal; nothing of the workspace's own changed when this returns.
    pub(crate) fn stage(
        store: &ApplyStore,
        tree: &'t WorkspaceTree,
        plan: &SwapPlan,
        contents: ContentLookup<'_>,
        purpose: ApplyPurpose,
        label: Option<&str>,
    ) -> Result<Self, SwapInterruption> {
        let failed = |e| SwapInterruption::Unwritten(PathBuf::new(), e);
        let (dir, lock) = store.begin().map_err(failed)?;
        let slots = SwapSlots { tree, store: open_slots(&dir).map_err(failed)?, id: id_of(&dir) };
        let journal = ApplyJournal {
            version: 1,
            workspace: tree.path().to_owned(),
            purpose,
            label: label.map(str::to_owned),
            stage: JournalStage::Staging,
            boot: boot(),
            steps: Vec::new(),
        };
        let mut transaction = Self {
            dir,
            journal,
            slots,
            unsettled: Vec::new(),
            seen: in_order(&plan.swaps).map(|swap| swap.seen).collect(),
            unwatched: AtomicBool::new(false),
            apart: AtomicBool::new(false),
            _lock: lock,
        };
        match transaction.write_all(plan, contents) {
            Ok(()) => Ok(transaction),
            Err(stopped) => {
                transaction.discard();
                Err(stopped)
            }
        }
    }

    /// An apply that another process left.
    pub(crate) fn resume(
        dir: PathBuf,
        journal: ApplyJournal,
        tree: &'t WorkspaceTree,
        lock: File,
    ) -> io::Result<Self> {
        let slots = SwapSlots { tree, store: open_slots(&dir)?, id: id_of(&dir) };
        Ok(Self {
            dir,
            journal,
            slots,
            unsettled: Vec::new(),
            seen: Vec::new(),
            unwatched: AtomicBool::new(false),
            apart: AtomicBool::new(true),
            _lock: lock,
        })
    }

    fn write_all(&mut self, plan: &SwapPlan, contents: ContentLookup<'_>) -> Result<(), SwapInterruption> {
        let order: Vec<&FileSwap> = in_order(&plan.swaps).collect();
        // A folder may stand where something new comes; it goes away with what is in it.
        let new = order.iter().filter(|swap| swap.before.is_none() && swap.after.is_some());
        let new: HashSet<&Path> = new.map(|swap| swap.path.as_path()).collect();
        let found = in_parts(&order, |_, part| self.look(part, &new))?;
        let mut old = Vec::with_capacity(order.len());
        for (swap, (slot, made, stat)) in order.iter().zip(found) {
            self.journal.steps.push(JournalStep {
                path: swap.path.clone(),
                before: swap.before.clone(),
                after: swap.after.clone(),
                permissions: stat.as_ref().map(|stat| stat.st_mode & 0o7777),
                slot,
                inode: None,
                made,
            });
            old.push(stat);
        }
        let beside = self.journal.steps.iter().any(|step| step.slot != SlotLocation::Store);
        let failed = |e| SwapInterruption::Unwritten(PathBuf::new(), e);
        if beside {
            // So that whoever comes after a crash knows the names of what was being written there.
            self.journal.save(&self.dir).map_err(failed)?;
        }
        self.keep_merged(plan).map_err(failed)?;
        let new: Vec<(&FileSwap, Option<Stat>)> = order.into_iter().zip(old).collect();
        // More than this reach the disk together.
        let few = new.len() <= SYNC_EACH;
        let written = in_parts(&new, |first, part| {
            let mut folders = FolderCache::of(self.slots.tree);
            let write = |(at, (swap, old)): (usize, &(&FileSwap, Option<Stat>))| {
                let spot = folders.find(&swap.path);
                let file = spot
                    .and_then(|spot| self.write_one(first + at, swap, spot.as_ref(), old.as_ref(), contents));
                let file = file.map_err(|e| SwapInterruption::Unwritten(swap.path.clone(), e))?;
                Ok(file.map(|(file, inode)| (file.filter(|_| few), inode)))
            };
            part.iter().enumerate().map(write).collect()
        })?;
        let mut files = Vec::new();
        let mut devices = BTreeMap::new();
        for (number, (step, written)) in self.journal.steps.iter_mut().zip(written).enumerate() {
            let Some((file, inode)) = written else { continue };
            step.inode = Some(inode);
            files.extend(file);
            devices.entry(inode.0).or_insert(number);
        }
        if few {
            files.iter().try_for_each(File::sync_data).map_err(failed)?;
        } else {
            let folder = |number: usize| self.slots.spot(number, &self.journal.steps[number].slot);
            let folders: io::Result<Vec<_>> = devices.into_values().map(|n| Ok(folder(n)?.dir)).collect();
            self.unsettled = folders.map_err(failed)?;
        }
        self.journal.stage = JournalStage::Swapping;
        self.journal.save(&self.dir).map_err(failed)
    }

    /// Where the new file of each swap waits, how many folders above it are missing, and what stands at its path.
    fn look(
        &self,
        swaps: &[&FileSwap],
        new: &HashSet<&Path>,
    ) -> Result<Vec<(SlotLocation, usize, Option<Stat>)>, SwapInterruption> {
        let mut folders = FolderCache::of(self.slots.tree);
        let mut found: Vec<(SlotLocation, usize, Option<Stat>)> = Vec::with_capacity(swaps.len());
        let mut above = None;
        for swap in swaps {
            let at = |e| SwapInterruption::Unwritten(swap.path.clone(), e);
            let (slot, made) = match found.last().filter(|_| above == Some(swap.path.parent())) {
                Some((slot, made, _)) => (slot.clone(), *made),
                None => self.slots.place(&swap.path, new).map_err(at)?,
            };
            let spot = folders.find(&swap.path).map_err(at)?;
            let stat = spot.map_or(Ok(None), |spot| spot.stat()).map_err(at)?;
            found.push((slot, made, stat));
            above = Some(swap.path.parent());
        }
        Ok(found)
    }

    /// Merged contents are nowhere else, and whoever undoes this needs them.
    fn keep_merged(&self, plan: &SwapPlan) -> io::Result<()> {
        let merged = plan.swaps.iter().filter_map(|swap| Some((swap.after.as_ref()?, swap.merged.as_ref()?)));
        let merged: Vec<_> = merged.collect();
        if merged.is_empty() {
            return Ok(());
        }
        let mut writer = ContentWriter::create(&self.dir.join(MERGED))?;
        for (digest, content) in merged {
            writer.keep(&digest.sha256, content.len() as u64, &mut content.as_slice())?;
        }
        writer.finish(false)
    }

    /// Writes the new file of a step. `spot` is where the path is, if its folder is there, and `old` what stood there.
    fn write_one(
        &self,
        number: usize,
        swap: &FileSwap,
        spot: Option<&AnchoredPath>,
        old: Option<&Stat>,
        contents: ContentLookup<'_>,
    ) -> io::Result<Option<WrittenFile>> {
        let Some(after) = swap.after.as_ref().filter(|after| after.mode != FileMode::Gitlink) else {
            return Ok(None);
        };
        let kept;
        let content: &[u8] = match &swap.merged {
            Some(content) => content,
            None => {
                let missing = || io::Error::new(io::ErrorKind::NotFound, "its new content was not kept");
                kept = contents(&after.sha256)?.ok_or_else(missing)?;
                &kept
            }
        };
        let slot = self.slots.spot(number, &self.journal.steps[number].slot)?;
        let file = match after.mode {
            FileMode::Symlink => {
                symlinkat(std::ffi::OsStr::from_bytes(content), &slot.dir, &slot.name)?;
                None
            }
            _ => Some(new_file(&slot, spot, after.mode, content)?),
        };
        if let Some(file) = file.as_ref().filter(|_| old.is_some()) {
            // What the folder gives to new files is not what this one had.
            let _ = rustix::fs::fremovexattr(file, "system.posix_acl_access");
        }
        let stat = match &file {
            Some(file) => rustix::fs::fstat(file)?,
            None => slot.stat()?.ok_or(io::ErrorKind::NotFound)?,
        };
        if let Some(file) = &file {
            let of_old = old.filter(|stat| FileType::from_raw_mode(stat.st_mode).is_file());
            let wanted = of_old.map(|stat| stat.st_mode).or(swap.permissions);
            let right = wanted.map(|wanted| permissions(wanted, after.mode == FileMode::Executable));
            if let Some(right) = right.filter(|right| *right != stat.st_mode & 0o7777) {
                fchmod(file, Mode::from_raw_mode(right))?;
            }
            // Last, as an access list has a word in the permissions.
            if let Some(old) = spot.filter(|_| swap.attributes).and_then(|old| old.open().ok()) {
                copy_attributes(&old, file);
            }
        }
        own_like(&slot, &stat, spot, old, self.slots.tree)?;
        Ok(Some((file, (stat.st_dev, stat.st_ino))))
    }

    /// Swaps everything while the new files reach the disk: an old one is not forgotten before they are there.
    pub(crate) fn swap_and_settle(&self, has_writer: HasWriter<'_>) -> Result<(), SwapInterruption> {
        if self.unsettled.is_empty() {
            return self.swap_all(has_writer);
        }
        let (swapped, settled) = thread::scope(|scope| {
            let settled = scope.spawn(|| self.unsettled.iter().try_for_each(rustix::fs::syncfs));
            let swapped = self.swap_all(has_writer);
            (swapped, settled.join().unwrap_or(Err(Errno::IO)))
        });
        swapped?;
        settled.map_err(|e| SwapInterruption::Unwritten(PathBuf::new(), e.into()))
    }

    /// Swaps everything, and looks at each thing that came out. What goes away goes first, one after the other; what
    /// changes has nothing to do with one another; what is new comes last, with its folders.
    fn swap_all(&self, has_writer: HasWriter<'_>) -> Result<(), SwapInterruption> {
        let steps = &self.journal.steps;
        let gone = steps.iter().take_while(|step| step.after.is_none()).count();
        let new = steps.iter().rev().take_while(|step| step.before.is_none()).count();
        let (changed, new) = steps[gone..].split_at(steps.len() - gone - new);
        let stop = AtomicBool::new(false);
        let swap = |first: usize, steps: &[JournalStep]| {
            for (at, step) in steps.iter().enumerate().take_while(|_| !stop.load(Ordering::Relaxed)) {
                self.swap_one(first + at, step, has_writer)
                    .inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
            }
            Ok(Vec::<()>::new())
        };
        swap(0, &steps[..gone])?;
        in_parts(changed, |first, part| swap(gone + first, part))?;
        swap(gone + changed.len(), new).map(drop)
    }

    fn swap_one(
        &self,
        number: usize,
        step: &JournalStep,
        has_writer: HasWriter<'_>,
    ) -> Result<(), SwapInterruption> {
        let at = |e: io::Error| match e.kind() {
            io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty => {
                SwapInterruption::Raced(step.path.clone())
            }
            _ => SwapInterruption::Unwritten(step.path.clone(), e),
        };
        let raced = || SwapInterruption::Raced(step.path.clone());
        if !self.is_as_planned(number, step).map_err(at)? {
            return Err(raced());
        }
        let old = self.swap(number, step).map_err(at)?.ok_or_else(raced)?;
        let Some(before) = &step.before else { return Ok(()) };
        match kept_as(&old, before, step.permissions, has_writer).map_err(at)? {
            ReplacedFileState::Settled => Ok(()),
            ReplacedFileState::Unwatched => {
                self.unwatched.store(true, Ordering::Relaxed);
                Ok(())
            }
            ReplacedFileState::Written => Err(SwapInterruption::InUse(step.path.clone())),
            ReplacedFileState::Changed => Err(raced()),
        }
    }

    /// Whether a path still looks as it did when all was planned. What came out is compared all the same; but whoever reads the
    /// path between a swap and its way back, as `git stash` does, would find a version without what was saved since.
    fn is_as_planned(&self, number: usize, step: &JournalStep) -> io::Result<bool> {
        let Some(seen) = self.seen.get(number).filter(|_| step.before.is_some()) else { return Ok(true) };
        let Some(spot) = self.slots.tree.find(&step.path)? else { return Ok(false) };
        Ok(spot.stat()?.as_ref().map(SaveStamp::from) == *seen)
    }

    /// One swap, and where what came out is; `None` when the folder of the path is not there any more.
    fn swap(&self, number: usize, step: &JournalStep) -> io::Result<Option<AnchoredPath>> {
        let tree = self.slots.tree;
        let slot = self.slots.spot(number, &step.slot)?;
        match (&step.before, &step.after) {
            (_, None) => {
                let Some(spot) = tree.find(&step.path)? else { return Ok(None) };
                spot.move_to(&slot)?;
                Ok(Some(slot))
            }
            (None, Some(after)) => {
                let Some(spot) = tree.make_way(&step.path, &mut Vec::new())? else { return Ok(None) };
                if after.mode == FileMode::Gitlink {
                    mkdirat(&spot.dir, &spot.name, Mode::from_raw_mode(0o777))?;
                    return Ok(Some(slot));
                }
                if spot.stat()?.is_some_and(|stat| FileType::from_raw_mode(stat.st_mode).is_dir()) {
                    self.remove_folders_of(&step.path);
                }
                slot.move_to(&spot)?;
                Ok(Some(slot))
            }
            (Some(_), Some(_)) => {
                let Some(spot) = tree.find(&step.path)? else { return Ok(None) };
                // Should a folder stand there now, it comes out, is seen to be none of what was expected, and goes back.
                match spot.exchange(&slot) {
                    Ok(()) => Ok(Some(slot)),
                    Err(Errno::INVAL | Errno::NOSYS) => {
                        self.apart.store(true, Ordering::Relaxed);
                        let second = self.slots.second(number, &step.slot)?;
                        spot.move_to(&second)?;
                        slot.move_to(&spot)?;
                        Ok(Some(second))
                    }
                    Err(e) => Err(e.into()),
                }
            }
        }
    }

    /// Removes a folder and those in it. What was in them went away before; what is still there is somebody else's.
    fn remove_folders_of(&self, folder: &Path) {
        let gone = self.journal.steps.iter().filter(|step| step.after.is_none());
        for step in gone.filter(|step| step.path.starts_with(folder)) {
            for above in step.path.ancestors().skip(1).take_while(|above| above.starts_with(folder)) {
                self.slots.tree.remove_folder(above);
            }
        }
        self.slots.tree.remove_folder(folder);
    }

    /// Where the old file of a step is, if it was taken out.
    pub(crate) fn old_spot(&self, number: usize, step: &JournalStep) -> io::Result<Option<AnchoredPath>> {
        // Beside a file that went away the folder may be gone, and with it all that waited there.
        let Some(second) = there(self.slots.second(number, &step.slot))? else { return Ok(None) };
        if second.stat()?.is_some() {
            return Ok(Some(second));
        }
        let Some(slot) = there(self.slots.spot(number, &step.slot))? else { return Ok(None) };
        let stat = slot.stat()?;
        let is_new = |stat: &rustix::fs::Stat| step.inode == Some((stat.st_dev, stat.st_ino));
        Ok(stat.filter(|stat| !is_new(stat)).map(|_| slot))
    }

    /// Whether the new entry of a step is the one that stands at its path.
    pub(crate) fn is_placed(&self, step: &JournalStep) -> io::Result<bool> {
        let Some(spot) = self.slots.tree.find(&step.path)? else { return Ok(false) };
        let stat = spot.stat()?;
        if matches!(&step.after, Some(after) if after.mode == FileMode::Gitlink) {
            return Ok(stat.is_some_and(|stat| FileType::from_raw_mode(stat.st_mode).is_dir()));
        }
        Ok(stat.is_some_and(|stat| step.inode == Some((stat.st_dev, stat.st_ino))))
    }

    /// Whether nobody could tell of some file that came out if another program still writes to it.
    pub(crate) fn is_unwatched(&self) -> bool {
        self.unwatched.load(Ordering::Relaxed)
    }

    /// Everything is swapped: keeps what came out where an undo finds it.
    pub(crate) fn finish(mut self, store: &ApplyStore) -> Result<PathBuf, ApplyError> {
        self.enter(JournalStage::Finishing)?;
        for (number, step) in self.journal.steps.iter().enumerate().filter(|(_, step)| step.before.is_some())
        {
            let failed = || ApplyError::io("keep the old version of", &step.path);
            // What changed places with a slot of the store is at home there.
            if step.slot == SlotLocation::Store && !self.apart.load(Ordering::Relaxed) {
                continue;
            }
            let Some(old) = self.old_spot(number, step).map_err(failed())? else { continue };
            self.bring_home(number, step, &old).map_err(failed())?;
        }
        // Only now: what waited beside a file that went away has left its folder, too.
        let gone = self.journal.steps.iter().filter(|step| step.after.is_none());
        self.slots.tree.remove_emptied(&gone.map(|step| step.path.as_path()).collect::<Vec<_>>());
        let done = store.done().join(self.dir.file_name().unwrap_or_default());
        fs::rename(&self.dir, &done).map_err(ApplyError::io("finish", &self.dir))?;
        Ok(done)
    }

    /// Notes how far it came, where what follows cannot be told from the files alone: beside them only what is not in the
    /// store yet is left.
    pub(crate) fn enter(&mut self, stage: JournalStage) -> Result<(), ApplyError> {
        self.journal.stage = stage;
        if self.journal.steps.iter().all(|step| step.slot == SlotLocation::Store) {
            return Ok(());
        }
        self.journal.save(&self.dir).map_err(ApplyError::io("write", self.dir.join(JOURNAL)))
    }

    /// Brings a file of a step into the store under its number; one that is there already stays.
    pub(crate) fn bring_home(&self, number: usize, step: &JournalStep, old: &AnchoredPath) -> io::Result<()> {
        let home = self.slots.final_spot(number)?;
        if step.slot == SlotLocation::Store {
            // Either it is there already, or under the second name.
            return if old.name == home.name { Ok(()) } else { Ok(old.move_to(&home)?) };
        }
        // Half of it may be there from a process that was cut off.
        home.remove()?;
        match step.before.as_ref().map(|before| before.mode) {
            Some(FileMode::Symlink) => {
                symlinkat(std::ffi::OsStr::from_bytes(&old.link()?), &home.dir, &home.name)?;
            }
            _ => {
                let mut to = create(&home, 0o600)?;
                io::copy(&mut old.open()?, &mut to)?;
                to.sync_data()?;
            }
        }
        old.remove()
    }

    /// Removes what waits beside the file of a step; what is in the store goes with the store.
    pub(crate) fn unstage(&self, number: usize, step: &JournalStep) {
        if step.slot == SlotLocation::Store {
            return;
        }
        for spot in [self.slots.spot(number, &step.slot), self.slots.second(number, &step.slot)] {
            let _ = spot.and_then(|spot| spot.remove());
        }
    }

    /// Removes what was staged; only for an apply of which nothing was swapped, or all was taken back.
    pub(crate) fn discard(&self) {
        for (number, step) in self.journal.steps.iter().enumerate() {
            self.unstage(number, step);
        }
        // The journal last: without it nobody would know of the rest.
        let _ = fs::remove_dir_all(self.dir.join(SLOTS));
        let _ = fs::remove_file(self.dir.join(JOURNAL));
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// A slot; `None` when the folder it would be in is not there any more.
pub(crate) fn there(slot: io::Result<AnchoredPath>) -> io::Result<Option<AnchoredPath>> {
    match slot {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        slot => slot.map(Some),
    }
}

/// What goes away first, the deepest first; then what changes; then what is new.
fn in_order(swaps: &[FileSwap]) -> impl Iterator<Item = &FileSwap> {
    let rank = |swap: &FileSwap| match (&swap.before, &swap.after) {
        (_, None) => 0,
        (Some(_), Some(_)) => 1,
        (None, Some(_)) => 2,
    };
    let mut order: Vec<&FileSwap> = swaps.iter().collect();
    order.sort_by(|a, b| {
        let deepest = |swap: &FileSwap| std::cmp::Reverse(swap.path.components().count());
        rank(a).cmp(&rank(b)).then_with(|| {
            if rank(a) == 0 {
                deepest(a).cmp(&deepest(b))
            } else {
                a.path.as_os_str().cmp(b.path.as_os_str())
            }
        })
    });
    order.into_iter()
}

fn open_slots(dir: &Path) -> io::Result<Arc<OwnedFd>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(Arc::new(openat(rustix::fs::CWD, dir.join(SLOTS), flags, Mode::empty())?))
}

fn id_of(dir: &Path) -> String {
    dir.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A path at which something was left that an apply could not take back.
pub(crate) fn leftover(path: &Path, kept: Option<PathBuf>) -> ApplyConflict {
    ApplyConflict { kept, ..ApplyConflict::new(path, ConflictReason::NotPutBack) }
}

/// What is seen of a file that came out.
#[derive(Debug, PartialEq, Eq)]
enum ReplacedFileState {
    /// It is what was expected, and stays so.
    Settled,
    /// It is what was expected, and nobody can tell whether another program still writes to it.
    Unwatched,
    /// Somebody has it open for writing.
    Written,
    /// It is something else.
    Changed,
}

/// Looks at what came out: its content, and its permissions where they are known. In this order: with no writer left,
/// what is read is what stays.
fn kept_as(
    spot: &AnchoredPath,
    digest: &PathDigest,
    permissions: Option<u32>,
    has_writer: HasWriter<'_>,
) -> io::Result<ReplacedFileState> {
    let Ok((mut file, mode, stat)) = spot.open_with_mode() else {
        // A link, or nothing that can be opened.
        return Ok(if is(spot, Some(digest))? {
            ReplacedFileState::Settled
        } else {
            ReplacedFileState::Changed
        });
    };
    let is_written = has_writer(&file);
    if is_written == Some(true) {
        return Ok(ReplacedFileState::Written);
    }
    let changed = permissions.is_some_and(|known| known != stat.st_mode & 0o7777);
    if changed || PathDigest::of_file(mode, &mut file, size(&stat))? != *digest {
        return Ok(ReplacedFileState::Changed);
    }
    Ok(if is_written.is_none() { ReplacedFileState::Unwatched } else { ReplacedFileState::Settled })
}

/// Whether what stands at a spot is this and stays so, as far as anybody can tell.
pub(crate) fn is_settled(
    spot: &AnchoredPath,
    digest: Option<&PathDigest>,
    permissions: Option<u32>,
    has_writer: HasWriter<'_>,
) -> io::Result<bool> {
    match digest {
        Some(digest) => {
            let kept = kept_as(spot, digest, permissions, has_writer)?;
            Ok(matches!(kept, ReplacedFileState::Settled | ReplacedFileState::Unwatched))
        }
        None => is(spot, None),
    }
}

/// Whether what stands at a spot is this.
pub(crate) fn is(spot: &AnchoredPath, digest: Option<&PathDigest>) -> io::Result<bool> {
    Ok(match (spot.standing()?.0, digest) {
        (PathContent::Entry(found), Some(digest)) => found == *digest,
        (PathContent::Nothing, None) => true,
        _ => false,
    })
}
