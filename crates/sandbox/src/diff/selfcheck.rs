//! The proof: the patch applied to the staged base gives the result, every path of it and nothing else.

use std::collections::BTreeMap;

use holon_git::{FileMode, Git, ObjectFormat, PathDigest, TouchedPath, apply};

use super::DiffError;
use super::stage::StagedBase;
use crate::snapshot::tree::{OpenTree, TreeEntryKind, TreeEntryMeta, bytes, path_of};

/// Applies `patch` in the stage and compares; the stage holds the result afterwards.
pub(crate) fn reproduces(
    git: &Git,
    patch: &[u8],
    format: ObjectFormat,
    stage: &StagedBase,
    touched: &[TouchedPath],
) -> Result<(), DiffError> {
    apply::plain(git, patch, stage.path(), format).map_err(|e| match e {
        holon_git::GitError::Failed { stderr, .. } => DiffError::Refused { why: stderr },
        other => DiffError::Git(other),
    })?;
    // Opened again: git may have replaced any directory the old one remembers.
    let root = OpenTree::open(stage.path()).map_err(DiffError::io("open", stage.path()))?;
    let files = stage.files().map_err(DiffError::io("read", stage.path()))?;
    let mut there: BTreeMap<Vec<u8>, TreeEntryMeta> = files.into_iter().collect();
    for entry in touched {
        let name = bytes(&entry.path);
        let wrong = |why| DiffError::NotReproduced { path: entry.path.clone(), why };
        let meta = there.remove(name);
        match (&entry.result, meta) {
            (None, None) => {}
            (None, Some(_)) => return Err(wrong("it should be gone")),
            (Some(PathDigest { mode: FileMode::Gitlink, .. }), None) => {
                let dir = root.look(name).map_err(DiffError::io("read", &entry.path))?;
                if !dir.is_some_and(|meta| meta.is_dir()) {
                    return Err(wrong("the submodule's directory is missing"));
                }
            }
            (Some(expected), Some(meta)) => {
                let got = digest(&root, name, &meta).map_err(DiffError::io("read", &entry.path))?;
                match got {
                    Some(got) if got == *expected => {}
                    Some(got) if got.mode != expected.mode => return Err(wrong("its mode differs")),
                    _ => return Err(wrong("its content differs")),
                }
            }
            (Some(_), None) => return Err(wrong("it is missing")),
        }
    }
    match there.into_keys().next() {
        Some(extra) => Err(DiffError::NotReproduced { path: path_of(&extra), why: "it should not be there" }),
        None => Ok(()),
    }
}

fn digest(root: &OpenTree, path: &[u8], meta: &TreeEntryMeta) -> std::io::Result<Option<PathDigest>> {
    Ok(match meta.kind {
        TreeEntryKind::Symlink => Some(PathDigest::of_bytes(FileMode::Symlink, &root.read_link(path)?)),
        TreeEntryKind::File => {
            let mode = if meta.is_exec() { FileMode::Executable } else { FileMode::Regular };
            Some(PathDigest::of_reader(mode, &mut root.open_file(path)?)?.0)
        }
        _ => None,
    })
}
