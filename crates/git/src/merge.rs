//! Three-way merging without touching anyone's index or files.
//!
//! The user's current files become a tree in a throw-away repository that can also read the user's objects;
//! git merges the patch into that, in memory and index only; what comes out is a new patch, relative to the
//! files as they are now.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::apply::{Conflict, Why};
use crate::command::tail;
use crate::objects::{Importer, Scratch};
use crate::touched::{Digest, FileMode, Touched};
use crate::{Error, Git, Repository, read, tracked};

/// The patch that brings `patch` into the files of `dir` as they are now, or what stands against it.
pub(crate) fn with_current(
    git: &Git,
    patch: &[u8],
    touched: &[Touched],
    moved: &[&Touched],
    dir: &Path,
    repository: &Repository,
    temp: &Path,
) -> Result<Result<Vec<u8>, Vec<Conflict>>, Error> {
    let scratch = Scratch::new(temp, repository.format)?;
    scratch.borrow_objects(&[repository.common_dir.join("objects")])?;
    scratch.import(git, |to| {
        to.tree("current")?;
        add_present(to, dir, touched.iter().map(|entry| entry.path.as_path()))
    })?;
    let dirty = uncommitted(git, &scratch, moved, repository)?;
    if !dirty.is_empty() {
        return Ok(Err(dirty));
    }
    Ok(into_current(git, &scratch, patch)?.map_err(|clash| overlaps(&clash)))
}

/// Where two sides do not fit together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Clash {
    /// Paths at which both changed the same places; empty when git cannot say where.
    pub paths: Vec<PathBuf>,
    /// What git said.
    pub detail: String,
}

/// Merges a patch into the tree `current` of a scratch repository, in its index alone: the patch that leads from there to
/// both sides together, or where they clash. The repository must know the objects the patch was made from.
pub fn into_current(git: &Git, scratch: &Scratch, patch: &[u8]) -> Result<Result<Vec<u8>, Clash>, Error> {
    let call = |args: &[&str]| git.call(args).git_dir(scratch.path()).dir(scratch.path());
    call(&["read-tree", "refs/heads/current"]).output()?;
    let merged = call(&["apply", "--3way", "--cached", "--whitespace=nowarn", "-p1", "-"])
        .run(|stdin| stdin.write_all(patch))?;
    let unmerged = call(&["ls-files", "--unmerged", "-z"]).output()?;
    if merged.exit != Some(0) || !unmerged.is_empty() {
        return Ok(Err(Clash { paths: named(&unmerged), detail: tail(&merged.stderr) }));
    }
    let args = [
        "diff-index",
        "--cached",
        "-p",
        "--binary",
        "--full-index",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--no-renames",
        "--src-prefix=a/",
        "--dst-prefix=b/",
        "refs/heads/current",
        "--",
    ];
    Ok(Ok(call(&args).output()?))
}

/// Adds the files at `paths` below `dir` as they are now to the tree that is being made, as raw bytes; what is not there
/// is not added.
pub fn add_present<'p>(
    to: &mut Importer<'_>,
    dir: &Path,
    paths: impl IntoIterator<Item = &'p Path>,
) -> Result<(), Error> {
    for path in paths {
        let at = dir.join(path);
        let name = path.as_os_str().as_bytes();
        match Digest::of_path(&at).map_err(Error::io("read", &at))?.map(|digest| digest.mode) {
            None | Some(FileMode::Gitlink) => {}
            Some(FileMode::Symlink) => {
                let target = fs::read_link(&at).map_err(Error::io("read", &at))?;
                to.symlink(name, target.as_os_str().as_bytes())?;
            }
            Some(mode) => {
                let mut file = read::open_regular(&at).map_err(Error::io("open", &at))?;
                let len = file.metadata().map_err(Error::io("look at", &at))?.len();
                to.file(name, mode == FileMode::Executable, len, &mut file)?;
            }
        }
    }
    Ok(())
}

/// Moved paths whose present content is not what the user's index holds. Compared as raw bytes: where a
/// filter stands between index and file they differ, which errs on the side of refusing.
fn uncommitted(
    git: &Git,
    scratch: &Scratch,
    moved: &[&Touched],
    repository: &Repository,
) -> Result<Vec<Conflict>, Error> {
    let paths: Vec<PathBuf> = moved.iter().map(|entry| entry.path.clone()).collect();
    let index = tracked::below(git, repository, &paths)?;
    let current = tree_ids(git, scratch)?;
    let is_dirty = |path: &&PathBuf| {
        index.get(*path).map(|(mode, id)| (*mode, id)) != current.get(*path).map(|(mode, id)| (*mode, id))
    };
    let conflict =
        |path: &PathBuf| Conflict { path: path.clone(), why: Why::LocalChanges, detail: String::new() };
    Ok(paths.iter().filter(is_dirty).map(conflict).collect())
}

fn tree_ids(git: &Git, scratch: &Scratch) -> Result<BTreeMap<PathBuf, (u32, String)>, Error> {
    let out = git
        .call(["ls-tree", "-r", "-z", "refs/heads/current"])
        .git_dir(scratch.path())
        .dir(scratch.path())
        .output()?;
    let mut ids = BTreeMap::new();
    for record in out.split(|&b| b == 0) {
        let Some(tab) = record.iter().position(|&b| b == b'\t') else { continue };
        let head = String::from_utf8_lossy(&record[..tab]);
        let mut fields = head.split(' ');
        if let (Some(mode), Some(id)) =
            (fields.next().and_then(|m| u32::from_str_radix(m, 8).ok()), fields.nth(1))
        {
            ids.insert(path_of(&record[tab + 1..]), (mode, id.to_owned()));
        }
    }
    Ok(ids)
}

/// The paths an index holds in more than one version.
fn named(unmerged: &[u8]) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = unmerged
        .split(|&b| b == 0)
        .filter_map(|record| record.iter().position(|&b| b == b'\t').map(|tab| path_of(&record[tab + 1..])))
        .collect();
    paths.dedup();
    paths
}

fn overlaps(clash: &Clash) -> Vec<Conflict> {
    let nowhere = [PathBuf::new()];
    let paths = if clash.paths.is_empty() { &nowhere[..] } else { &clash.paths };
    let conflict =
        |path: &PathBuf| Conflict { path: path.clone(), why: Why::Overlap, detail: clash.detail.clone() };
    paths.iter().map(conflict).collect()
}

fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}
