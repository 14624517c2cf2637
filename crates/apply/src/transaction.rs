//! Carrying a plan out: everything is staged, the journal is on the disk, then file after file changes places.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use holon_git::{Digest, FileMode};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fchmod, mkdirat, openat, symlinkat};
use rustix::io::Errno;

use crate::Error;
use crate::contents::ContentWriter;
use crate::journal::{ApplyStore, JOURNAL, Journal, MERGED, Purpose, SLOTS, Stage, Step};
use crate::outcome::{Conflict, ConflictReason};
use crate::plan::{Lookup, Plan, Swap};
use crate::slot::{SlotPlace, Slots};
use crate::tree::{Spot, Standing, Tree};

/// More new files than this reach the disk by one call for the whole file system instead of one for each.
const SYNC_EACH: usize = 16;

/// Says whether somebody has a file open for writing; `None` when that cannot be told.
pub(crate) type HasWriter<'a> = &'a dyn Fn(&File) -> Option<bool>;

/// Why the swaps ended early.
#[derive(Debug)]
pub(crate) enum Stopped {
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
    pub(crate) journal: Journal,
    pub(crate) slots: Slots<'t>,
    _lock: File,
}

impl<'t> Transaction<'t> {
    /// Writes every new file and the journal; nothing of the workspace's own changed when this returns.
    pub(crate) fn stage(
        store: &ApplyStore,
        tree: &'t Tree,
        plan: &Plan,
        contents: Lookup<'_>,
        purpose: Purpose,
        label: Option<&str>,
    ) -> Result<Self, Stopped> {
        let failed = |e| Stopped::Unwritten(PathBuf::new(), e);
        let (dir, lock) = store.begin().map_err(failed)?;
        let slots = Slots { tree, store: open_slots(&dir).map_err(failed)?, id: id_of(&dir) };
        let journal = Journal {
            version: 1,
            workspace: tree.path().to_owned(),
            purpose,
            label: label.map(str::to_owned),
            stage: Stage::Staging,
            steps: Vec::new(),
        };
        let mut transaction = Self { dir, journal, slots, _lock: lock };
        match transaction.write_all(plan, contents) {
            Ok(()) => Ok(transaction),
            Err(stopped) => {
                transaction.discard();
                Err(stopped)
            }
        }
    }

    /// An apply that another process left.
    pub(crate) fn resume(dir: PathBuf, journal: Journal, tree: &'t Tree, lock: File) -> io::Result<Self> {
        let slots = Slots { tree, store: open_slots(&dir)?, id: id_of(&dir) };
        Ok(Self { dir, journal, slots, _lock: lock })
    }

    fn write_all(&mut self, plan: &Plan, contents: Lookup<'_>) -> Result<(), Stopped> {
        let mut beside = false;
        for swap in in_order(&plan.swaps) {
            let at = |e| Stopped::Unwritten(swap.path.clone(), e);
            let (slot, made) = self.slots.place(&swap.path).map_err(at)?;
            beside |= slot != SlotPlace::Store;
            let stat = self.slots.tree.find(&swap.path).and_then(|spot| spot.map_or(Ok(None), |s| s.stat()));
            self.journal.steps.push(Step {
                path: swap.path.clone(),
                before: swap.before.clone(),
                after: swap.after.clone(),
                permissions: stat.map_err(at)?.map(|stat| stat.st_mode & 0o7777),
                slot,
                inode: None,
                made,
            });
        }
        let failed = |e| Stopped::Unwritten(PathBuf::new(), e);
        if beside {
            // So that whoever comes after a crash knows the names of what was being written there.
            self.journal.save(&self.dir).map_err(failed)?;
        }
        self.keep_merged(plan).map_err(failed)?;
        let order: Vec<&Swap> = in_order(&plan.swaps).collect();
        let mut written = Vec::new();
        for (number, swap) in order.into_iter().enumerate() {
            let at = |e| Stopped::Unwritten(swap.path.clone(), e);
            written.extend(self.write_one(number, swap, contents).map_err(at)?);
        }
        sync(&written).map_err(failed)?;
        self.journal.stage = Stage::Swapping;
        self.journal.save(&self.dir).map_err(failed)
    }

    /// Merged contents are nowhere else, and whoever undoes this needs them.
    fn keep_merged(&self, plan: &Plan) -> io::Result<()> {
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

    fn write_one(&mut self, number: usize, swap: &Swap, contents: Lookup<'_>) -> io::Result<Option<File>> {
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
        let old = self.slots.tree.find(&swap.path)?;
        let file = match after.mode {
            FileMode::Symlink => {
                symlinkat(std::ffi::OsStr::from_bytes(content), &slot.dir, &slot.name)?;
                None
            }
            _ => Some(new_file(&slot, old.as_ref(), after.mode, swap.permissions, content)?),
        };
        let stat = slot.stat()?.ok_or(io::ErrorKind::NotFound)?;
        own_like(&slot, old.as_ref(), self.slots.tree)?;
        self.journal.steps[number].inode = Some((stat.st_dev, stat.st_ino));
        Ok(file)
    }

    /// Swaps everything, and looks at each thing that came out.
    pub(crate) fn swap_all(&self, has_writer: HasWriter<'_>) -> Result<(), Stopped> {
        for (number, step) in self.journal.steps.iter().enumerate() {
            let at = |e: io::Error| match e.kind() {
                io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty => {
                    Stopped::Raced(step.path.clone())
                }
                _ => Stopped::Unwritten(step.path.clone(), e),
            };
            if !self.swap(number, step).map_err(at)? {
                return Err(Stopped::Raced(step.path.clone()));
            }
            let Some(before) = &step.before else { continue };
            let kept = self.old_spot(number, step).map_err(at)?;
            let Some(kept) = kept else { return Err(Stopped::Raced(step.path.clone())) };
            // In this order: with no writer left, what is read is what stays.
            if being_written(&kept, has_writer) {
                return Err(Stopped::InUse(step.path.clone()));
            }
            if kept.standing().map_err(at)?.digest() != Some(before) {
                return Err(Stopped::Raced(step.path.clone()));
            }
        }
        Ok(())
    }

    /// One swap; `false` when the folder of the path is not there any more.
    fn swap(&self, number: usize, step: &Step) -> io::Result<bool> {
        let tree = self.slots.tree;
        let slot = self.slots.spot(number, &step.slot)?;
        match (&step.before, &step.after) {
            (_, None) => match tree.find(&step.path)? {
                Some(spot) => Ok(spot.move_to(&slot).map(|()| true)?),
                None => Ok(false),
            },
            (None, Some(after)) => {
                let Some(spot) = tree.make_way(&step.path, &mut Vec::new())? else { return Ok(false) };
                if after.mode == FileMode::Gitlink {
                    mkdirat(&spot.dir, &spot.name, Mode::from_raw_mode(0o777))?;
                    return Ok(true);
                }
                if spot.stat()?.is_some_and(|stat| FileType::from_raw_mode(stat.st_mode).is_dir()) {
                    // What was in it went away before; what is still in it is somebody else's.
                    tree.remove_folder(&step.path);
                }
                Ok(slot.move_to(&spot).map(|()| true)?)
            }
            (Some(_), Some(_)) => {
                let Some(spot) = tree.find(&step.path)? else { return Ok(false) };
                if spot.stat()?.is_some_and(|stat| FileType::from_raw_mode(stat.st_mode).is_dir()) {
                    return Ok(false);
                }
                match spot.exchange(&slot) {
                    Ok(()) => {}
                    Err(Errno::INVAL | Errno::NOSYS) => {
                        spot.move_to(&self.slots.second(number, &step.slot)?)?;
                        slot.move_to(&spot)?;
                    }
                    Err(e) => return Err(e.into()),
                }
                Ok(true)
            }
        }
    }

    /// Where the old file of a step is, if it was taken out.
    pub(crate) fn old_spot(&self, number: usize, step: &Step) -> io::Result<Option<Spot>> {
        let second = self.slots.second(number, &step.slot)?;
        if second.stat()?.is_some() {
            return Ok(Some(second));
        }
        let slot = self.slots.spot(number, &step.slot)?;
        let stat = slot.stat()?;
        let is_new = |stat: &rustix::fs::Stat| step.inode == Some((stat.st_dev, stat.st_ino));
        Ok(stat.filter(|stat| !is_new(stat)).map(|_| slot))
    }

    /// Whether the new entry of a step is the one that stands at its path.
    pub(crate) fn is_placed(&self, step: &Step) -> io::Result<bool> {
        let Some(spot) = self.slots.tree.find(&step.path)? else { return Ok(false) };
        let stat = spot.stat()?;
        if matches!(&step.after, Some(after) if after.mode == FileMode::Gitlink) {
            return Ok(stat.is_some_and(|stat| FileType::from_raw_mode(stat.st_mode).is_dir()));
        }
        Ok(stat.is_some_and(|stat| step.inode == Some((stat.st_dev, stat.st_ino))))
    }

    /// Everything is swapped: keeps what came out where an undo finds it.
    pub(crate) fn finish(mut self, store: &ApplyStore) -> Result<PathBuf, Error> {
        self.enter(Stage::Finishing)?;
        let gone = self.journal.steps.iter().filter(|step| step.after.is_none());
        self.slots.tree.remove_emptied(&gone.map(|step| step.path.as_path()).collect::<Vec<_>>());
        for (number, step) in self.journal.steps.iter().enumerate() {
            let failed = || Error::io("keep the old version of", &step.path);
            let Some(old) = self.old_spot(number, step).map_err(failed())? else { continue };
            self.bring_home(number, step, &old).map_err(failed())?;
        }
        let done = store.done().join(self.dir.file_name().unwrap_or_default());
        fs::rename(&self.dir, &done).map_err(Error::io("finish", &self.dir))?;
        Ok(done)
    }

    /// Notes how far it came, where what follows cannot be told from the files alone: beside them only what is not in the
    /// store yet is left.
    pub(crate) fn enter(&mut self, stage: Stage) -> Result<(), Error> {
        self.journal.stage = stage;
        if self.journal.steps.iter().all(|step| step.slot == SlotPlace::Store) {
            return Ok(());
        }
        self.journal.save(&self.dir).map_err(Error::io("write", self.dir.join(JOURNAL)))
    }

    /// Brings a file of a step into the store under its number; one that is there already stays.
    pub(crate) fn bring_home(&self, number: usize, step: &Step, old: &Spot) -> io::Result<()> {
        let home = self.slots.final_spot(number)?;
        if step.slot == SlotPlace::Store {
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

    /// Removes what was staged; only for an apply of which nothing was swapped, or all was taken back.
    pub(crate) fn discard(&self) {
        for (number, step) in
            self.journal.steps.iter().enumerate().filter(|(_, s)| s.slot != SlotPlace::Store)
        {
            for spot in [self.slots.spot(number, &step.slot), self.slots.second(number, &step.slot)] {
                let _ = spot.and_then(|spot| spot.remove());
            }
        }
        // The journal last: without it nobody would know of the rest.
        let _ = fs::remove_dir_all(self.dir.join(SLOTS));
        let _ = fs::remove_file(self.dir.join(JOURNAL));
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// What goes away first, the deepest first; then what changes; then what is new.
fn in_order(swaps: &[Swap]) -> impl Iterator<Item = &Swap> {
    let rank = |swap: &Swap| match (&swap.before, &swap.after) {
        (_, None) => 0,
        (Some(_), Some(_)) => 1,
        (None, Some(_)) => 2,
    };
    let mut order: Vec<&Swap> = swaps.iter().collect();
    order.sort_by(|a, b| {
        let deepest = |swap: &Swap| std::cmp::Reverse(swap.path.components().count());
        rank(a)
            .cmp(&rank(b))
            .then_with(|| if rank(a) == 0 { deepest(a).cmp(&deepest(b)) } else { a.path.cmp(&b.path) })
    });
    order.into_iter()
}

fn open_slots(dir: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(openat(rustix::fs::CWD, dir.join(SLOTS), flags, Mode::empty())?)
}

fn id_of(dir: &Path) -> String {
    dir.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn create(spot: &Spot, mode: u32) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(openat(&spot.dir, &spot.name, flags, Mode::from_raw_mode(mode))?))
}

/// A new file with the permissions and attributes of the one it replaces, as far as there is one.
fn new_file(
    slot: &Spot,
    old: Option<&Spot>,
    mode: FileMode,
    wanted: Option<u32>,
    content: &[u8],
) -> io::Result<File> {
    let exec = mode == FileMode::Executable;
    let mut file = create(slot, if exec { 0o777 } else { 0o666 })?;
    file.write_all(content)?;
    let old = match old {
        Some(spot) => spot.open().ok(),
        None => None,
    };
    if let Some(old) = &old {
        copy_attributes(old, &file);
    }
    let of_old = old.and_then(|old| old.metadata().ok()).map(|meta| {
        use std::os::unix::fs::PermissionsExt;
        meta.permissions().mode()
    });
    if let Some(permissions) = of_old.or(wanted) {
        let plain = permissions & 0o777;
        // Whoever may read it may run it, if anybody may.
        let right = if exec { plain | ((plain & 0o444) >> 2) } else { plain & !0o111 };
        let keeps = exec == (plain & 0o100 != 0);
        fchmod(&file, Mode::from_raw_mode(if keeps { plain } else { right }))?;
    }
    Ok(file)
}

/// Root gives new files to whom the old one, or the folder, belongs.
fn own_like(slot: &Spot, old: Option<&Spot>, tree: &Tree) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let of_old = match old {
        Some(spot) => spot.stat()?.filter(|stat| !FileType::from_raw_mode(stat.st_mode).is_dir()),
        None => None,
    };
    let like = match (of_old, old) {
        (Some(stat), _) => stat,
        (None, Some(spot)) => rustix::fs::fstat(&spot.dir)?,
        (None, None) => rustix::fs::stat(tree.path())?,
    };
    let owner = (rustix::fs::Uid::from_raw(like.st_uid), rustix::fs::Gid::from_raw(like.st_gid));
    if (like.st_uid, like.st_gid) != (0, 0) {
        rustix::fs::chownat(&slot.dir, &slot.name, Some(owner.0), Some(owner.1), AtFlags::SYMLINK_NOFOLLOW)?;
    }
    Ok(())
}

/// Labels and access lists of the old file, as far as the file system lets them be set.
fn copy_attributes(from: &File, to: &File) {
    let mut names = vec![0; 4096];
    let Ok(len) = rustix::fs::flistxattr(from, &mut names[..]) else { return };
    for name in names[..len].split(|&b| b == 0).filter(|name| !name.is_empty()) {
        let mut value = vec![0; 4096];
        if let Ok(len) = rustix::fs::fgetxattr(from, name, &mut value[..]) {
            let _ = rustix::fs::fsetxattr(to, name, &value[..len], rustix::fs::XattrFlags::empty());
        }
    }
}

/// New files reach the disk before an old one goes.
fn sync(files: &[File]) -> io::Result<()> {
    match files {
        [] => Ok(()),
        few if few.len() <= SYNC_EACH => few.iter().try_for_each(File::sync_data),
        many => Ok(rustix::fs::syncfs(&many[0])?),
    }
}

/// A path at which something was left that an apply could not take back.
pub(crate) fn leftover(path: &Path, kept: Option<PathBuf>) -> Conflict {
    Conflict { kept, ..Conflict::new(path, ConflictReason::InUse) }
}

/// Whether somebody has what stands at a spot open for writing.
fn being_written(spot: &Spot, has_writer: HasWriter<'_>) -> bool {
    spot.open().ok().and_then(|file| has_writer(&file)) == Some(true)
}

/// Whether what stands at a spot is this and stays so: asked in this order, because whoever writes may still be at it.
pub(crate) fn is_settled(
    spot: &Spot,
    digest: Option<&Digest>,
    has_writer: HasWriter<'_>,
) -> io::Result<bool> {
    Ok(!being_written(spot, has_writer) && is(spot, digest)?)
}

/// Whether what stands at a spot is this.
pub(crate) fn is(spot: &Spot, digest: Option<&Digest>) -> io::Result<bool> {
    Ok(match (spot.standing()?, digest) {
        (Standing::Entry(found), Some(digest)) => found == *digest,
        (Standing::Nothing, None) => true,
        _ => false,
    })
}
