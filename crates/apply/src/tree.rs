//! A person's files, reached without ever following a link.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use holon_git::{FileMode, PathDigest};
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, ResolveFlags, Stat, mkdirat, openat, openat2, readlinkat,
    renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use crate::ApplyError;

/// How folders are opened.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The folder changes go to.
#[derive(Debug)]
pub(crate) struct WorkspaceTree {
    root: Arc<OwnedFd>,
    path: PathBuf,
}

/// Where a path is: the open folder above it, and its name there.
#[derive(Debug)]
pub(crate) struct AnchoredPath {
    pub(crate) dir: Arc<OwnedFd>,
    pub(crate) name: OsString,
}

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PathContent {
    /// Nothing.
    Nothing,
    /// A folder.
    Folder,
    /// A file or a link.
    Entry(PathDigest),
    /// Something that is neither file, link nor folder.
    Other,
}

impl WorkspaceTree {
    pub(crate) fn open(path: &Path) -> Result<Self, ApplyError> {
        let root = openat(rustix::fs::CWD, path, FOLDER, Mode::empty()).map_err(io::Error::from);
        Ok(Self { root: Arc::new(root.map_err(ApplyError::io("open", path))?), path: path.to_owned() })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn full(&self, path: &Path) -> PathBuf {
        self.path.join(path)
    }

    /// Where a path is; `None` when a folder above it is missing or is no folder. Links count as no folder.
    pub(crate) fn find(&self, path: &Path) -> io::Result<Option<AnchoredPath>> {
        let Some((above, name)) = parts(path) else { return Ok(None) };
        if above.as_os_str().is_empty() {
            return Ok(Some(AnchoredPath { dir: Arc::clone(&self.root), name }));
        }
        match openat2(&self.root, above, FOLDER, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            Ok(dir) => Ok(Some(AnchoredPath { dir: Arc::new(dir), name })),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            // A kernel that does not know the call, or does not let it be made.
            Err(Errno::NOSYS | Errno::PERM) => self.walk(above, name, None),
            Err(e) => Err(e.into()),
        }
    }

    /// Where a path is; folders above it are made where they are missing, and told.
    pub(crate) fn make_way(&self, path: &Path, made: &mut Vec<PathBuf>) -> io::Result<Option<AnchoredPath>> {
        match parts(path) {
            Some((above, name)) => self.walk(above, name, Some(made)),
            None => Ok(None),
        }
    }

    fn walk(
        &self,
        above: &Path,
        name: OsString,
        mut made: Option<&mut Vec<PathBuf>>,
    ) -> io::Result<Option<AnchoredPath>> {
        let mut dir = Arc::clone(&self.root);
        let mut here = PathBuf::new();
        for part in above {
            here.push(part);
            if let Some(made) = made.as_deref_mut() {
                match mkdirat(&dir, part, Mode::from_raw_mode(0o777)) {
                    Ok(()) => made.push(here.clone()),
                    Err(Errno::EXIST) => {}
                    Err(e) => return Err(e.into()),
                }
            }
            dir = match openat(&dir, part, FOLDER | OFlags::NOFOLLOW, Mode::empty()) {
                Ok(dir) => Arc::new(dir),
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
                Err(e) => return Err(e.into()),
            };
        }
        Ok(Some(AnchoredPath { dir, name }))
    }

    /// The first thing above a path that is there and is no folder, so that the path cannot be.
    pub(crate) fn blocked_by(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        let mut above: Vec<&Path> =
            path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()).collect();
        above.reverse();
        for above in above {
            let Some(spot) = self.find(above)? else { return Ok(None) };
            match spot.stat()? {
                None => return Ok(None),
                Some(stat) if FileType::from_raw_mode(stat.st_mode).is_dir() => {}
                Some(_) => return Ok(Some(above.to_owned())),
            }
        }
        Ok(None)
    }

    /// Removes the folders above these paths that became empty, as far up as that goes.
    pub(crate) fn remove_emptied(&self, gone: &[&Path]) {
        for path in gone {
            for dir in path.ancestors().skip(1).take_while(|dir| !dir.as_os_str().is_empty()) {
                if !self.remove_folder(dir) {
                    break;
                }
            }
        }
    }

    /// Removes a folder that is empty; says whether it is gone.
    pub(crate) fn remove_folder(&self, path: &Path) -> bool {
        match self.find(path) {
            Ok(Some(spot)) => {
                matches!(unlinkat(&spot.dir, &spot.name, AtFlags::REMOVEDIR), Ok(()) | Err(Errno::NOENT))
            }
            _ => false,
        }
    }
}

/// A look at many paths one after the other, while nothing is changed yet: a folder is opened once for its neighbours.
#[derive(Debug)]
pub(crate) struct FolderCache<'t> {
    tree: &'t WorkspaceTree,
    last: Option<(PathBuf, Arc<OwnedFd>)>,
}

impl<'t> FolderCache<'t> {
    pub(crate) fn of(tree: &'t WorkspaceTree) -> Self {
        Self { tree, last: None }
    }

    /// What stands at a path now, and what else is known of it.
    pub(crate) fn standing(&mut self, path: &Path) -> io::Result<(PathContent, EntryMetadata)> {
        match self.find(path)? {
            Some(spot) => spot.standing(),
            None => Ok((PathContent::Nothing, EntryMetadata::default())),
        }
    }

    /// Where a path is, like [`WorkspaceTree::find`].
    pub(crate) fn find(&mut self, path: &Path) -> io::Result<Option<AnchoredPath>> {
        if let (Some((above, dir)), Some((of, name))) = (&self.last, parts(path))
            && of == above
        {
            return Ok(Some(AnchoredPath { dir: Arc::clone(dir), name }));
        }
        let found = self.tree.find(path)?;
        self.last = found.as_ref().and_then(|spot| Some((path.parent()?.to_owned(), Arc::clone(&spot.dir))));
        Ok(found)
    }
}

/// What is known of an entry beside its content.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EntryMetadata {
    /// Whether it is a file with attributes that its successor shall have.
    pub(crate) attributes: bool,
    /// What it looked like before it was read.
    pub(crate) seen: Option<SaveStamp>,
}

/// What changes with every save.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SaveStamp {
    inode: (u64, u64),
    size: i64,
    written: (i64, u64),
}

impl From<&Stat> for SaveStamp {
    fn from(stat: &Stat) -> Self {
        Self {
            inode: (stat.st_dev, stat.st_ino),
            size: stat.st_size,
            written: (stat.st_mtime, stat.st_mtime_nsec),
        }
    }
}

/// The folder above a path, and its name there; `None` for a path that leads anywhere but down.
fn parts(path: &Path) -> Option<(&Path, OsString)> {
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    plain.then(|| Some((path.parent()?, path.file_name()?.to_owned()))).flatten()
}

impl AnchoredPath {
    /// What is known of it without reading it.
    pub(crate) fn stat(&self) -> io::Result<Option<Stat>> {
        match statat(&self.dir, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// What stands there, read, and what else is known of it.
    pub(crate) fn standing(&self) -> io::Result<(PathContent, EntryMetadata)> {
        let Some(stat) = self.stat()? else { return Ok((PathContent::Nothing, EntryMetadata::default())) };
        let standing = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => PathContent::Folder,
            FileType::Symlink => PathContent::Entry(PathDigest::of_bytes(FileMode::Symlink, &self.link()?)),
            FileType::RegularFile => match self.open_with_mode() {
                Ok((mut file, mode, stat)) => {
                    // What cannot be told is looked at later.
                    let attributes = !matches!(rustix::fs::flistxattr_query(&file), Ok(0));
                    let known = EntryMetadata { attributes, seen: Some(SaveStamp::from(&stat)) };
                    return Ok((
                        PathContent::Entry(PathDigest::of_file(mode, &mut file, size(&stat))?),
                        known,
                    ));
                }
                // It became something else this moment: whoever expects a content will not find it.
                Err(e) if e.kind() == io::ErrorKind::NotFound => PathContent::Nothing,
                Err(e) => return Err(e),
            },
            _ => PathContent::Other,
        };
        Ok((standing, EntryMetadata { attributes: false, seen: Some(SaveStamp::from(&stat)) }))
    }

    /// Opens the file there, which is never waited for.
    pub(crate) fn open(&self) -> io::Result<File> {
        self.open_with_mode().map(|(file, ..)| file)
    }

    /// Opens the file there, and tells whether it can be run and what else is known of it.
    pub(crate) fn open_with_mode(&self) -> io::Result<(File, FileMode, Stat)> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let file = File::from(openat(&self.dir, &self.name, flags, Mode::empty())?);
        let stat = rustix::fs::fstat(&file)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile if stat.st_mode & 0o100 != 0 => Ok((file, FileMode::Executable, stat)),
            FileType::RegularFile => Ok((file, FileMode::Regular, stat)),
            _ => Err(io::Error::other("not a regular file")),
        }
    }

    /// Where the link there points.
    pub(crate) fn link(&self) -> io::Result<Vec<u8>> {
        Ok(readlinkat(&self.dir, &self.name, Vec::new())?.into_bytes())
    }

    /// Changes places with another entry, in one step.
    pub(crate) fn exchange(&self, other: &AnchoredPath) -> rustix::io::Result<()> {
        renameat_with(&other.dir, &other.name, &self.dir, &self.name, RenameFlags::EXCHANGE)
    }

    /// Moves the entry to a place where nothing is.
    pub(crate) fn move_to(&self, other: &AnchoredPath) -> rustix::io::Result<()> {
        match renameat_with(&self.dir, &self.name, &other.dir, &other.name, RenameFlags::NOREPLACE) {
            // A file system that does not know the flag: a second name that must be new, then the first one goes.
            Err(Errno::INVAL | Errno::NOSYS) => {
                rustix::fs::linkat(&self.dir, &self.name, &other.dir, &other.name, AtFlags::empty())?;
                unlinkat(&self.dir, &self.name, AtFlags::empty())
            }
            done => done,
        }
    }

    pub(crate) fn remove(&self) -> io::Result<()> {
        match unlinkat(&self.dir, &self.name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }
}

/// How long a file is.
pub(crate) fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or_default()
}

/// Whether two folders are on the same mount, so that entries can be moved between them.
pub(crate) fn same_mount(one: impl AsFd, other: impl AsFd) -> bool {
    let of = |fd: &dyn AsFd| {
        let mask = rustix::fs::StatxFlags::MNT_ID | rustix::fs::StatxFlags::BASIC_STATS;
        rustix::fs::statx(fd.as_fd(), "", AtFlags::EMPTY_PATH, mask)
            .map(|stat| (stat.stx_mnt_id, stat.stx_dev_major, stat.stx_dev_minor))
            .ok()
    };
    matches!((of(&one), of(&other)), (Some(one), Some(other)) if one == other)
}

/// Refuses paths that could lead anywhere else, or into a repository's own folder.
pub(crate) fn check_name(path: &Path) -> Result<(), ApplyError> {
    let plain = |part: Component<'_>| match part {
        Component::Normal(name) => !is_dot_git(name),
        _ => false,
    };
    let none = path.as_os_str().is_empty() || path.as_os_str().as_bytes().contains(&0);
    if none || !path.components().all(plain) {
        return Err(ApplyError::Forbidden { path: path.to_owned() });
    }
    Ok(())
}

fn is_dot_git(name: &OsStr) -> bool {
    name.as_bytes().eq_ignore_ascii_case(b".git")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;

    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for path in ["", "/etc/x", "../x", "a/../b", "a/.git/hooks/x", ".GIT/config"] {
            assert!(check_name(Path::new(path)).is_err(), "{path}");
        }
        for path in ["a", "a/b c", ".github/x", ".gitignore", "ä"] {
            assert!(check_name(Path::new(path)).is_ok(), "{path}");
        }
    }

    #[test]
    fn links_on_the_way_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("real")).unwrap();
        fs::write(dir.path().join("real/file"), "x").unwrap();
        std::os::unix::fs::symlink("real", dir.path().join("link")).unwrap();
        let tree = WorkspaceTree::open(dir.path()).unwrap();
        let mut folders = FolderCache::of(&tree);
        let mut standing = |path: &str| folders.standing(Path::new(path)).unwrap().0;
        let seen = standing("real/file");
        assert_eq!(seen, PathContent::Entry(PathDigest::of_bytes(FileMode::Regular, b"x")));
        assert_eq!(standing("link/file"), PathContent::Nothing);
        assert_eq!(standing("real"), PathContent::Folder);
        assert!(tree.make_way(Path::new("link/new"), &mut Vec::new()).unwrap().is_none());
        let mut made = Vec::new();
        assert!(tree.make_way(Path::new("a/b/c"), &mut made).unwrap().is_some());
        assert_eq!(made, [PathBuf::from("a"), PathBuf::from("a/b")]);
    }
}
