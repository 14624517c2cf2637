//! Where a new file waits until it is swapped in, and where the old one is afterwards.

use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use holon_git::touched::any_path;
use rustix::fs::{Access, AtFlags, accessat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::tree::{AnchoredPath, WorkspaceTree, same_mount};

/// The place of one slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SlotLocation {
    /// In the folder of the apply.
    Store,
    /// In a folder of the workspace, because the other one is on another file system.
    Beside {
        /// Relative to the workspace.
        #[serde(with = "any_path")]
        dir: PathBuf,
    },
}

impl SlotLocation {
    /// The name under which the slot with this number is in a folder of the workspace, if it is in one.
    pub(crate) fn name_beside(&self, id: &str, number: usize) -> Option<String> {
        matches!(self, Self::Beside { .. }).then(|| name_beside(id, &number.to_string()))
    }
}

fn name_beside(id: &str, name: &str) -> String {
    format!(".holon-apply-{id}-{name}")
}

/// Whether entries of a folder may be replaced; asked before anything is, so that a refusal leaves no trace.
fn may_change(dir: &OwnedFd) -> io::Result<()> {
    match accessat(dir, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS) {
        Err(e @ (Errno::ACCESS | Errno::ROFS | Errno::PERM)) => Err(e.into()),
        // A kernel that cannot tell lets the swap itself find out.
        _ => Ok(()),
    }
}

/// The slots of one apply.
#[derive(Debug)]
pub(crate) struct SwapSlots<'t> {
    pub(crate) tree: &'t WorkspaceTree,
    /// The folder `slots` of the apply.
    pub(crate) store: Arc<OwnedFd>,
    /// Makes the names beside the files unique.
    pub(crate) id: String,
}

impl SwapSlots<'_> {
    /// Where the slot of a path must be, and how many folders above the path are missing. Nothing waits in a folder that
    /// gives way to a file.
    pub(crate) fn place(&self, path: &Path, give_way: &HashSet<&Path>) -> io::Result<(SlotLocation, usize)> {
        let mut missing = 0;
        let mut dir = path.parent().unwrap_or(Path::new(""));
        let above = loop {
            match self.tree.find(&dir.join("x"))? {
                Some(spot) => break spot,
                None => {
                    missing += 1;
                    dir = dir.parent().unwrap_or(Path::new(""));
                }
            }
        };
        may_change(&above.dir)?;
        let place = if same_mount(&self.store, &above.dir) {
            SlotLocation::Store
        } else {
            while let Some(gone) = dir.ancestors().find(|above| give_way.contains(above)) {
                dir = gone.parent().unwrap_or(Path::new(""));
            }
            SlotLocation::Beside { dir: dir.to_owned() }
        };
        Ok((place, missing))
    }

    /// The slot with this number.
    pub(crate) fn spot(&self, number: usize, place: &SlotLocation) -> io::Result<AnchoredPath> {
        self.named(&number.to_string(), place)
    }

    /// A second slot, for file systems on which two entries cannot change places in one step.
    pub(crate) fn second(&self, number: usize, place: &SlotLocation) -> io::Result<AnchoredPath> {
        self.named(&format!("{number}.old"), place)
    }

    /// Where the old file of a finished apply is: always in the store.
    pub(crate) fn final_spot(&self, number: usize) -> io::Result<AnchoredPath> {
        self.named(&number.to_string(), &SlotLocation::Store)
    }

    fn named(&self, name: &str, place: &SlotLocation) -> io::Result<AnchoredPath> {
        match place {
            SlotLocation::Store => Ok(AnchoredPath { dir: Arc::clone(&self.store), name: name.into() }),
            SlotLocation::Beside { dir } => {
                let name = name_beside(&self.id, name);
                self.tree.find(&dir.join(name))?.ok_or_else(|| io::ErrorKind::NotFound.into())
            }
        }
    }
}
