//! Applying a patch: exactly its bytes, all of it or nothing, and never through a repository's attributes.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, memfd_create};

use crate::merge;
use crate::objects::{ObjectFormat, Scratch};
use crate::touched::{Digest, FileMode, Touched};
use crate::{Error, Git, Repository};

/// Whether the patch would apply to the files below `dir`.
pub fn check(git: &Git, patch: &[u8], dir: &Path, format: ObjectFormat) -> Result<(), Error> {
    run(git, patch, dir, format, &["--check"])
}

/// Applies the patch to the files below `dir`, as if `dir` were in no repository: what the patch says is
/// what is written, whatever line-ending or filter rules a repository around it has.
pub fn plain(git: &Git, patch: &[u8], dir: &Path, format: ObjectFormat) -> Result<(), Error> {
    run(git, patch, dir, format, &[])
}

fn run(git: &Git, patch: &[u8], dir: &Path, format: ObjectFormat, more: &[&str]) -> Result<(), Error> {
    if patch.is_empty() {
        return Ok(());
    }
    let args = ["apply", "--whitespace=nowarn", "-p1"].iter().chain(more).chain(&["-"]);
    let mut call = git.call(args).dir(dir).env("GIT_CEILING_DIRECTORIES", dir);
    // Outside a repository git takes every id for SHA-1 and refuses binary patches with longer ones.
    let scratch = match format {
        ObjectFormat::Sha1 => None,
        ObjectFormat::Sha256 => Some(Scratch::new(&std::env::temp_dir(), format)?),
    };
    if let Some(scratch) = &scratch {
        call = call.git_dir(scratch.path()).work_tree(dir);
    }
    call.reading(whole(patch)?).output().map(drop)
}

/// A patch as a file in memory. Through a pipe, git would take what a killed process had said so far for all of it.
fn whole(patch: &[u8]) -> Result<File, Error> {
    let write = || -> io::Result<File> {
        let mut file = File::from(memfd_create("patch", MemfdFlags::CLOEXEC)?);
        file.write_all(patch)?;
        file.rewind()?;
        Ok(file)
    };
    write().map_err(Error::io("keep a patch in", "memory"))
}

/// A patch, and the tree of the user's it shall go to.
#[derive(Debug, Clone, Copy)]
pub struct Delivery<'a> {
    /// What to apply.
    pub patch: &'a [u8],
    /// What it touches, as recorded when it was made.
    pub touched: &'a [Touched],
    /// The workspace.
    pub dir: &'a Path,
    /// Its repository, if any; with one, a tree that moved on can still be merged with.
    pub repository: Option<&'a Repository>,
    /// A place for temporary files.
    pub temp: &'a Path,
}

/// What became of a [`Delivery`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The patch is empty.
    NothingToDo,
    /// Every touched path already is as the patch would make it.
    AlreadyThere,
    /// Every touched path was as recorded, and is now as the patch says.
    Applied {
        /// What was changed.
        paths: Vec<PathBuf>,
    },
    /// Some paths had changed since; the patch was merged with those changes.
    Merged {
        /// What was changed.
        paths: Vec<PathBuf>,
        /// The paths where both sides met.
        merged: Vec<PathBuf>,
    },
    /// Nothing was changed, because of these.
    Refused {
        /// All of them, not only the first.
        conflicts: Vec<Conflict>,
    },
}

/// Why a path stands in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Relative to the workspace; empty when git named none.
    pub path: PathBuf,
    /// The reason.
    pub why: Why,
    /// What git said about it, if it said something.
    pub detail: String,
}

/// The reasons for a [`Conflict`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It changed since the run, and the change is not committed or staged: it could not be got back.
    LocalChanges,
    /// It changed since the run, and without a repository there is nothing to merge with.
    Changed,
    /// Both sides changed the same lines.
    Overlap,
    /// It could not be written, and what was written before it is put back.
    Unwritten,
}

/// How long one delivery waits for another to the same folder.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until nobody else delivers to this folder: two at once could take each other's changes back. A folder that cannot
/// be locked is used as it is.
fn turn(dir: &Path) -> Option<File> {
    let folder = File::open(dir).ok()?;
    let until = Instant::now() + PATIENCE;
    loop {
        match folder.try_lock() {
            Ok(()) => return Some(folder),
            Err(TryLockError::WouldBlock) if Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(_) => return None,
        }
    }
}

/// Brings a patch into the user's tree, or leaves the tree exactly as it is and says why.
pub fn deliver(git: &Git, delivery: Delivery<'_>) -> Result<Outcome, Error> {
    let Delivery { patch, touched, dir, repository, temp } = delivery;
    if patch.is_empty() {
        return Ok(Outcome::NothingToDo);
    }
    let _turn = turn(dir);
    let format = repository.map(|r| r.format).unwrap_or_default();
    let mut now = Vec::with_capacity(touched.len());
    for entry in touched {
        let path = dir.join(&entry.path);
        now.push(Digest::of_path(&path).map_err(Error::io("read", path))?);
    }
    if touched.iter().zip(&now).all(|(entry, now)| is_there(dir, entry, now)) {
        return Ok(Outcome::AlreadyThere);
    }
    let differs = |(entry, now): &(&Touched, &Option<Digest>)| entry.base != **now;
    let moved: Vec<&Touched> = touched.iter().zip(&now).filter(differs).map(|(entry, _)| entry).collect();
    let paths = touched.iter().map(|entry| entry.path.clone()).collect();
    if moved.is_empty() {
        let written = guarded(git, patch, touched, dir, format, temp)?;
        return Ok(written.map_or_else(refused, |()| Outcome::Applied { paths }));
    }
    let refuse =
        |entry: &&Touched| Conflict { path: entry.path.clone(), why: Why::Changed, detail: String::new() };
    let Some(repository) = repository else {
        return Ok(Outcome::Refused { conflicts: moved.iter().map(refuse).collect() });
    };
    match merge::with_current(git, patch, touched, &moved, dir, repository, temp)? {
        Err(conflicts) => Ok(Outcome::Refused { conflicts }),
        Ok(patch) => {
            let merged = moved.iter().map(|entry| entry.path.clone()).collect();
            let written = guarded(git, &patch, touched, dir, format, temp)?;
            Ok(written.map_or_else(refused, |()| Outcome::Merged { paths, merged }))
        }
    }
}

fn refused(conflict: Conflict) -> Outcome {
    Outcome::Refused { conflicts: vec![conflict] }
}

fn is_there(dir: &Path, entry: &Touched, now: &Option<Digest>) -> bool {
    match &entry.result {
        Some(Digest { mode: FileMode::Gitlink, .. }) => dir.join(&entry.path).is_dir(),
        result => result == now,
    }
}

/// Applies, and if git fails in the middle (a full disk, a directory that cannot be written) puts the
/// touched paths back: git checks everything first but does not undo what it has written.
fn guarded(
    git: &Git,
    patch: &[u8],
    touched: &[Touched],
    dir: &Path,
    format: ObjectFormat,
    temp: &Path,
) -> Result<Result<(), Conflict>, Error> {
    check(git, patch, dir, format)?;
    if let Some(conflict) = unwritable(touched, dir) {
        return Ok(Err(conflict));
    }
    let saved = Saved::keep(touched, dir, temp)?;
    let Err(said) = plain(git, patch, dir, format) else { return Ok(Ok(())) };
    saved.put_back(dir)?;
    let detail = match said {
        Error::Failed { stderr, .. } => stderr.trim_start_matches("error: ").to_owned(),
        other => other.to_string(),
    };
    Ok(Err(Conflict { path: PathBuf::new(), why: Why::Unwritten, detail }))
}

/// The first path whose folder does not let it be written; found by trying, before anything is touched.
fn unwritable(touched: &[Touched], dir: &Path) -> Option<Conflict> {
    // A file that goes away may make room for a folder.
    let gone = touched.iter().filter(|entry| entry.result.is_none());
    let gone: BTreeSet<PathBuf> = gone.map(|entry| dir.join(&entry.path)).collect();
    let mut tried = BTreeSet::new();
    touched.iter().find_map(|entry| {
        let path = dir.join(&entry.path);
        let stays = |above: &&Path| above.symlink_metadata().is_ok() && !gone.contains(*above);
        let above = path.ancestors().skip(1).find(stays)?;
        if !tried.insert(above.to_owned()) {
            return None;
        }
        let error = tempfile::tempfile_in(above).err()?;
        Some(Conflict { path: entry.path.clone(), why: Why::Unwritten, detail: error.kind().to_string() })
    })
}

struct Saved<'t> {
    touched: &'t [Touched],
    store: tempfile::TempDir,
}

impl<'t> Saved<'t> {
    fn keep(touched: &'t [Touched], dir: &Path, temp: &Path) -> Result<Self, Error> {
        let store = tempfile::tempdir_in(temp).map_err(Error::io("make a backup in", temp))?;
        for (number, entry) in touched.iter().enumerate() {
            copy(&dir.join(&entry.path), &store.path().join(number.to_string()))?;
        }
        Ok(Self { touched, store })
    }

    fn put_back(&self, dir: &Path) -> Result<(), Error> {
        for (number, entry) in self.touched.iter().enumerate() {
            let (path, kept) = (dir.join(&entry.path), self.store.path().join(number.to_string()));
            let digest = |path: &Path| Digest::of_path(path).map_err(Error::io("read", path));
            if digest(&path)? == digest(&kept)? {
                continue;
            }
            if fs::symlink_metadata(&path).is_ok_and(|meta| !meta.is_dir()) {
                fs::remove_file(&path).map_err(Error::io("restore", &path))?;
            }
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).map_err(Error::io("restore", parent))?;
            }
            copy(&kept, &path)?;
        }
        Ok(())
    }
}

/// Copies a file with its mode, or a link; anything else is left alone.
fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    let Ok(meta) = fs::symlink_metadata(from) else { return Ok(()) };
    let done = if meta.is_symlink() {
        fs::read_link(from).and_then(|target| std::os::unix::fs::symlink(target, to))
    } else if meta.is_file() {
        fs::copy(from, to).map(drop)
    } else {
        Ok(())
    };
    done.map_err(Error::io("copy", from))
}
