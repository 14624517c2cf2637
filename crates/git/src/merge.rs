//! Three-way merging without touching anyone's index or files.
//!
//! The user's current files become a tree in a throw-away repository that can also read the user's objects;
//! git merges the patch into that, in memory and index only; what comes out is a new patch, relative to the
//! files as they are now.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::command::tail;
use crate::objects::{Importer, ScratchRepository};
use crate::touched::{FileMode, PathDigest};
use crate::{Git, GitError, read};

/// Where two sides do not fit together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MergeClash {
    /// Paths at which both changed the same places; empty when git cannot say where.
    pub paths: Vec<PathBuf>,
    /// What git said.
    pub detail: String,
}

/// Merges a patch into the tree `current` of a scratch repository, in its index alone: the patch that leads from there to
/// both sides together, or where they clash. The repository must know the objects the patch was made from.
pub fn into_current(
    git: &Git,
    scratch: &ScratchRepository,
    patch: &[u8],
) -> Result<Result<Vec<u8>, MergeClash>, GitError> {
    let call = |args: &[&str]| git.call(args).git_dir(scratch.path()).dir(scratch.path());
    call(&["read-tree", "refs/heads/current"]).output()?;
    let merged = call(&["apply", "--3way", "--cached", "--whitespace=nowarn", "-p1", "-"])
        .run(|stdin| stdin.write_all(patch))?;
    let unmerged = call(&["ls-files", "--unmerged", "-z"]).output()?;
    if merged.exit != Some(0) || !unmerged.is_empty() {
        return Ok(Err(MergeClash { paths: named(&unmerged), detail: tail(&merged.stderr) }));
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
) -> Result<(), GitError> {
    for path in paths {
        let at = dir.join(path);
        let name = path.as_os_str().as_bytes();
        match PathDigest::of_path(&at).map_err(GitError::io("read", &at))?.map(|digest| digest.mode) {
            None | Some(FileMode::Gitlink) => {}
            Some(FileMode::Symlink) => {
                let target = fs::read_link(&at).map_err(GitError::io("read", &at))?;
                to.symlink(name, target.as_os_str().as_bytes())?;
            }
            Some(mode) => {
                let mut file = read::open_regular(&at).map_err(GitError::io("open", &at))?;
                let len = file.metadata().map_err(GitError::io("look at", &at))?.len();
                to.file(name, mode == FileMode::Executable, len, &mut file)?;
            }
        }
    }
    Ok(())
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

fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}
