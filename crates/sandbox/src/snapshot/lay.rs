//! Files the host itself puts into a fresh snapshot, before anything runs in it.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, lchown, symlink};
use std::path::Path;

use super::layers::{self, clean, resemble};
use super::tree::{OpenTree, path_of};
use super::{SnapshotError, WorkspaceSnapshot, remove_tree};

/// What shall be at a path.
pub enum PlantedFile<'a> {
    /// Nothing.
    Nothing,
    /// A file with these bytes.
    File {
        /// Whether its owner may execute it.
        exec: bool,
        /// Its bytes.
        content: &'a mut dyn Read,
    },
    /// A symbolic link.
    Symlink {
        /// Where it points, uninterpreted.
        target: &'a [u8],
    },
}

impl WorkspaceSnapshot {
    /// Puts something at a path relative to the workspace. Only for a snapshot that nothing has been mounted from yet; one
    /// that cannot be written to stays as it is. No link of the layer is followed.
    pub fn lay(&self, path: &Path, what: PlantedFile<'_>) -> Result<(), SnapshotError> {
        let Some(layer) = self.written() else { return Ok(()) };
        let rel = clean(path)?;
        let at = layer.join(path_of(&rel));
        let failed = || SnapshotError::io("write", &at);
        let base = OpenTree::open(self.workspace()).map_err(SnapshotError::unreadable(self.workspace()))?;
        if let PlantedFile::Nothing = what {
            return self.lay_nothing(layer, &base, &rel);
        }
        self.folders_above(layer, &base, &rel).map_err(failed())?;
        clear(&at).map_err(failed())?;
        match what {
            PlantedFile::Nothing => {}
            PlantedFile::File { exec, content } => {
                let mode = if exec { 0o755 } else { 0o644 };
                let mut file = fs::OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .mode(mode)
                    .open(&at)
                    .map_err(failed())?;
                io::copy(content, &mut file).map_err(failed())?;
            }
            PlantedFile::Symlink { target } => symlink(path_of(target), &at).map_err(failed())?,
        }
        self.give(&at).map_err(failed())
    }

    fn lay_nothing(&self, layer: &Path, base: &OpenTree, rel: &[u8]) -> Result<(), SnapshotError> {
        let at = layer.join(path_of(rel));
        let folder = base.look(rel).ok().flatten().is_some_and(|meta| meta.is_dir());
        // Of a folder of the original only what is in it can be taken away.
        if has_folders(layer, rel) && !(folder && at.is_dir()) {
            clear(&at).map_err(SnapshotError::io("remove", &at))?;
        }
        if self.copy().is_none() && !folder && base.look(rel).ok().flatten().is_some() {
            self.folders_above(layer, base, rel).map_err(SnapshotError::io("write", &at))?;
            layers::hide(layer, base, rel)?;
        }
        Ok(())
    }

    /// Makes the folders a path is in, each like the one of the original it stands for.
    fn folders_above(&self, layer: &Path, base: &OpenTree, rel: &[u8]) -> io::Result<()> {
        for end in rel.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(at, _)| at) {
            let part = &rel[..end];
            let at = layer.join(path_of(part));
            if fs::symlink_metadata(&at).is_ok_and(|meta| meta.is_dir()) {
                continue;
            }
            clear(&at)?;
            fs::DirBuilder::new().mode(0o755).create(&at)?;
            self.give(&at)?;
            if let Some(meta) = base.look(part)?.filter(|meta| meta.is_dir()) {
                resemble(&at, &meta)?;
            }
        }
        Ok(())
    }

    pub(super) fn give(&self, at: &Path) -> io::Result<()> {
        match self.owner {
            Some((uid, gid)) => lchown(at, Some(uid), Some(gid)),
            None => Ok(()),
        }
    }
}

/// Whether everything above a path is a folder of the layer itself.
fn has_folders(layer: &Path, rel: &[u8]) -> bool {
    let mut ends = rel.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(at, _)| at);
    ends.all(|end| fs::symlink_metadata(layer.join(path_of(&rel[..end]))).is_ok_and(|meta| meta.is_dir()))
}

/// Removes whatever is at a path of the layer.
fn clear(at: &Path) -> io::Result<()> {
    match fs::symlink_metadata(at) {
        Ok(meta) if meta.is_dir() => remove_tree(at),
        Ok(_) => fs::remove_file(at),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::FileTypeExt;
    use std::path::PathBuf;

    use holon_core::Access;

    use super::*;
    use crate::snapshot::{SnapshotRequest, SnapshotStrategyChoice, take};

    fn stage(strategy: SnapshotStrategyChoice) -> (tempfile::TempDir, PathBuf, WorkspaceSnapshot) {
        let dir = tempfile::tempdir().unwrap();
        let (workspace, run) = (dir.path().join("w"), dir.path().join("run"));
        fs::create_dir_all(workspace.join("sub")).unwrap();
        fs::create_dir(&run).unwrap();
        fs::write(workspace.join("sub/old.txt"), "old").unwrap();
        fs::write(workspace.join("plain"), "file").unwrap();
        symlink("/etc", workspace.join("link")).unwrap();
        let snapshot = take(&SnapshotRequest {
            workspace: &workspace,
            run_dir: &run,
            access: &Access::ReadWrite,
            hide: &[],
            strategy,
            overlay_works: strategy == SnapshotStrategyChoice::Overlay,
            payload_uid: None,
        })
        .unwrap();
        let written = snapshot.written().unwrap().to_owned();
        (dir, written, snapshot)
    }

    fn file<'a>(text: &'a mut &[u8]) -> PlantedFile<'a> {
        PlantedFile::File { exec: false, content: text }
    }

    #[test]
    fn files_links_and_holes_are_laid_in_layers_and_in_copies() {
        for strategy in [SnapshotStrategyChoice::Overlay, SnapshotStrategyChoice::Copy] {
            let (_dir, written, snapshot) = stage(strategy);
            snapshot.lay(Path::new("sub/new.txt"), file(&mut b"new".as_slice())).unwrap();
            assert_eq!(fs::read(written.join("sub/new.txt")).unwrap(), b"new");
            snapshot.lay(Path::new("plain/below"), file(&mut b"x".as_slice())).unwrap();
            assert!(written.join("plain").is_dir(), "a folder where a file was");
            snapshot.lay(Path::new("link/x"), file(&mut b"x".as_slice())).unwrap();
            assert!(!Path::new("/etc/x").exists() && written.join("link/x").is_file(), "no link is followed");
            snapshot.lay(Path::new("link/x"), PlantedFile::Nothing).unwrap();
            snapshot.lay(Path::new("sub/old.txt"), PlantedFile::Nothing).unwrap();
            let hole = fs::symlink_metadata(written.join("sub/old.txt"));
            match strategy {
                SnapshotStrategyChoice::Copy => assert!(hole.is_err()),
                _ => assert!(hole.unwrap().file_type().is_char_device()),
            }
            assert!(snapshot.lay(Path::new("../out"), PlantedFile::Nothing).is_err());
        }
    }
}
