//! The base of a change: what a path was when the agent began, also where a person went on working since.

use std::cell::OnceCell;
use std::fs::File;
use std::io;

use holon_git::{Git, Repository};

use super::{ContentLocation, ContentRoot, DiffError, PathVersion};
use crate::snapshot::WorkspaceSnapshot;
use crate::snapshot::originals::{FOLDER, OriginalState, Originals, from_git};
use crate::snapshot::tree::{OpenTree, path_of};

/// What is known of originals; read when the first one is asked for.
pub(crate) struct ChangeBases<'a> {
    loaded: OnceCell<Originals>,
    root: Option<OpenTree>,
    snapshot: &'a WorkspaceSnapshot,
    git: &'a Git,
    repository: Option<&'a Repository>,
}

impl<'a> ChangeBases<'a> {
    pub(crate) fn of(
        snapshot: &'a WorkspaceSnapshot,
        git: &'a Git,
        repository: Option<&'a Repository>,
    ) -> Result<Self, DiffError> {
        let folder = snapshot.dir().join(FOLDER);
        let root = match OpenTree::open(&folder) {
            Ok(root) => Some(root),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(DiffError::io("open", folder)(e)),
        };
        Ok(Self { loaded: OnceCell::new(), root, snapshot, git, repository })
    }

    /// Whether originals are kept for this snapshot.
    pub(crate) fn are_kept(&self) -> bool {
        self.root.is_some()
    }

    /// What a path was that is something else now. `None`: nobody keeps originals here. `Some(None)`: nobody knows.
    pub(crate) fn original(&self, path: &[u8]) -> Result<Option<Option<Option<PathVersion>>>, DiffError> {
        let Some(root) = &self.root else { return Ok(None) };
        let originals = self.loaded.get_or_init(|| Originals::load(self.snapshot, self.repository));
        let side = match originals.of(path) {
            OriginalState::Unknown => None,
            OriginalState::Absent => Some(None),
            OriginalState::Kept { name, mode } => Some(Some(
                kept(root, name, mode).map_err(DiffError::io("read the original of", path_of(path)))?,
            )),
            OriginalState::Tracked { id, mode, size } => self.tracked(root, path, &id, mode, size)?,
        };
        Ok(Some(side))
    }

    fn tracked(
        &self,
        root: &OpenTree,
        path: &[u8],
        id: &str,
        mode: u32,
        size: u32,
    ) -> Result<Option<Option<PathVersion>>, DiffError> {
        let Some(repository) = self.repository else { return Ok(None) };
        let Some(name) = from_git(self.git, repository, self.snapshot.dir(), id)? else { return Ok(None) };
        let side = kept(root, name, mode).map_err(DiffError::io("read the original of", path_of(path)))?;
        // Where a filter stands between git and the file, what git holds is not what was there.
        let len = match &side {
            PathVersion::File { size, .. } => *size as u32,
            PathVersion::Symlink { target } => target.len() as u32,
            PathVersion::Gitlink { .. } => return Ok(None),
        };
        Ok((len == size).then_some(Some(side)))
    }

    pub(crate) fn open(&self, name: &[u8]) -> io::Result<File> {
        match &self.root {
            Some(root) => root.open_file(name),
            None => Err(io::Error::other("no originals were kept")),
        }
    }

    pub(crate) fn into_root(self) -> Option<OpenTree> {
        self.root
    }
}

fn kept(root: &OpenTree, name: Vec<u8>, mode: u32) -> io::Result<PathVersion> {
    let mut file = root.open_file(&name)?;
    if mode == 0o120_000 {
        let mut target = Vec::new();
        io::Read::read_to_end(&mut file, &mut target)?;
        return Ok(PathVersion::Symlink { target });
    }
    let size = file.metadata()?.len();
    let place = ContentLocation { root: ContentRoot::Kept, path: name, seen: None };
    Ok(PathVersion::File { exec: mode & 0o100 != 0, size, place })
}
