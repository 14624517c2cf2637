//! Applying a patch to files of the host's own: exactly its bytes, and never through a repository's attributes.
//!
//! A person's files are not written this way: git removes before it writes, and keeps no journal.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::Path;

use rustix::fs::{MemfdFlags, memfd_create};

use crate::objects::{ObjectFormat, ScratchRepository};
use crate::{Git, GitError};

/// Whether the patch would apply to the files below `dir`.
pub fn check(git: &Git, patch: &[u8], dir: &Path, format: ObjectFormat) -> Result<(), GitError> {
    run(git, patch, dir, format, &["--check"])
}

/// Applies the patch to the files below `dir`, as if `dir` were in no repository: what the patch says is
/// what is written, whatever line-ending or filter rules a repository around it has.
pub fn plain(git: &Git, patch: &[u8], dir: &Path, format: ObjectFormat) -> Result<(), GitError> {
    run(git, patch, dir, format, &[])
}

fn run(git: &Git, patch: &[u8], dir: &Path, format: ObjectFormat, more: &[&str]) -> Result<(), GitError> {
    if patch.is_empty() {
        return Ok(());
    }
    let args = ["apply", "--whitespace=nowarn", "-p1"].iter().chain(more).chain(&["-"]);
    let mut call = git.call(args).dir(dir).env("GIT_CEILING_DIRECTORIES", dir);
    // Outside a repository git takes every id for SHA-1 and refuses binary patches with longer ones.
    let scratch = match format {
        ObjectFormat::Sha1 => None,
        ObjectFormat::Sha256 => Some(ScratchRepository::new(&std::env::temp_dir(), format)?),
    };
    if let Some(scratch) = &scratch {
        call = call.git_dir(scratch.path()).work_tree(dir);
    }
    call.reading(whole(patch)?).output().map(drop)
}

/// A patch as a file in memory. Through a pipe, git would take what a killed process had said so far for all of it.
fn whole(patch: &[u8]) -> Result<File, GitError> {
    let write = || -> io::Result<File> {
        let mut file = File::from(memfd_create("patch", MemfdFlags::CLOEXEC)?);
        file.write_all(patch)?;
        file.rewind()?;
        Ok(file)
    };
    write().map_err(GitError::io("keep a patch in", "memory"))
}
