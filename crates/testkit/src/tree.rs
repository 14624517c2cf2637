//! Folder trees as values: before and after, or one beside the other.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::hash::Hasher;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What kind of thing a path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreePathKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Symlink,
    /// A FIFO, socket or device.
    Special,
}

/// Everything about one path that a change would show in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreePathState {
    /// What it is.
    pub kind: TreePathKind,
    /// Permission bits, set-id and sticky bits included.
    pub mode: u32,
    /// Owner and group.
    pub owner: (u32, u32),
    /// Device and inode.
    pub inode: (u64, u64),
    /// Last change of content, in nanoseconds.
    pub mtime: i128,
    /// Last change of anything, in nanoseconds.
    pub ctime: i128,
    /// Length in bytes.
    pub size: u64,
    /// Of the content of a file or the target of a link; 0 for the rest.
    pub digest: u64,
    /// Why it could not be read, when it could not.
    pub unreadable: Option<String>,
}

/// A tree as it was at one moment; keys are relative paths, the root is the empty path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeState(BTreeMap<PathBuf, TreePathState>);

/// One path that differs between two trees, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeDifference {
    /// Relative to the root of the trees.
    pub path: PathBuf,
    /// What differs.
    pub what: String,
}

impl std::fmt::Display for TreeDifference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}: {}", self.path, self.what)
    }
}

impl TreeState {
    /// The entries by relative path.
    pub fn entries(&self) -> &BTreeMap<PathBuf, TreePathState> {
        &self.0
    }

    /// The same without `path` and what is below it; the times and size of the folder holding it are forgotten too.
    pub fn without(mut self, path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        self.0.retain(|key, _| !key.starts_with(path));
        if let Some(entry) = path.parent().and_then(|parent| self.0.get_mut(parent)) {
            (entry.mtime, entry.ctime, entry.size) = (0, 0, 0);
        }
        self
    }

    /// Every difference to a later state, in any recorded respect.
    pub fn differences(&self, after: &Self) -> Vec<TreeDifference> {
        self.compare(after, describe)
    }

    /// Files and links only, outside any `.git`: what a patch can carry.
    fn carried(&self) -> Self {
        let carries = |path: &Path, entry: &TreePathState| {
            entry.kind != TreePathKind::Folder && !path.iter().any(|part| part == OsStr::new(".git"))
        };
        Self(
            self.0
                .iter()
                .filter(|(path, entry)| carries(path, entry))
                .map(|(p, e)| (p.clone(), e.clone()))
                .collect(),
        )
    }

    fn compare(
        &self,
        other: &Self,
        describe: impl Fn(&TreePathState, &TreePathState) -> Option<String>,
    ) -> Vec<TreeDifference> {
        let mut found = Vec::new();
        for (path, entry) in &self.0 {
            let what = match other.0.get(path) {
                None => Some(format!("{:?} is gone", entry.kind)),
                Some(now) => describe(entry, now),
            };
            found.extend(what.map(|what| TreeDifference { path: path.clone(), what }));
        }
        for (path, entry) in &other.0 {
            if !self.0.contains_key(path) {
                found.push(TreeDifference { path: path.clone(), what: format!("{:?} is new", entry.kind) });
            }
        }
        found
    }
}

/// Reads a tree without following links or changing anything but access times.
#[track_caller]
pub fn tree_state(root: impl AsRef<Path>) -> TreeState {
    let root = root.as_ref();
    let mut entries = BTreeMap::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(relative) = waiting.pop() {
        let path = if relative.as_os_str().is_empty() { root.to_owned() } else { root.join(&relative) };
        let meta = match fs::symlink_metadata(&path) {
            Ok(meta) => meta,
            Err(error) => panic!("looking at {}: {error}", path.display()),
        };
        let mut entry = entry(&path, &meta);
        if entry.kind == TreePathKind::Folder {
            match fs::read_dir(&path) {
                Ok(list) => waiting.extend(list.flatten().map(|child| relative.join(child.file_name()))),
                Err(error) => entry.unreadable = Some(error.kind().to_string()),
            }
            // Names longer than the kernel takes in one call are recorded at the last folder that can be named.
            if path.as_os_str().len() > NAMEABLE {
                waiting.retain(|child| !child.starts_with(&relative) || *child == relative);
                entry.unreadable = Some("deeper than a path can name".to_owned());
            }
        }
        entries.insert(relative, entry);
    }
    TreeState(entries)
}

/// Below PATH_MAX by one longest file name.
const NAMEABLE: usize = 4096 - 256 - 2;

/// Panics with the differences when the tree is not exactly as it was, times and inodes included.
#[track_caller]
pub fn assert_unchanged(before: &TreeState, root: impl AsRef<Path>) {
    let root = root.as_ref();
    report(&format!("{} changed", root.display()), &before.differences(&tree_state(root)));
}

/// Compares what a patch can carry: paths, contents, exec bits, link targets, outside any `.git`.
pub fn same_trees(expected: impl AsRef<Path>, found: impl AsRef<Path>) -> Vec<TreeDifference> {
    let (expected, found) = (tree_state(expected).carried(), tree_state(found).carried());
    expected.compare(&found, describe_carried)
}

/// Panics with the differences that [`same_trees`] finds.
#[track_caller]
pub fn assert_same_trees(expected: impl AsRef<Path>, found: impl AsRef<Path>) {
    let (expected, found) = (expected.as_ref(), found.as_ref());
    let title = format!("{} is not the same as {}", found.display(), expected.display());
    report(&title, &same_trees(expected, found));
}

/// Copies a tree with everything about it; `to` must not exist.
#[track_caller]
pub fn copy_tree(from: &Path, to: &Path) {
    assert!(!to.exists(), "{} is already there", to.display());
    let status = Command::new("cp").args(["-a", "--"]).arg(from).arg(to).stdin(Stdio::null()).status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "cannot copy {} to {}",
        from.display(),
        to.display()
    );
}

#[track_caller]
fn report(title: &str, differences: &[TreeDifference]) {
    const SHOWN: usize = 40;
    if differences.is_empty() {
        return;
    }
    let mut text: String =
        differences.iter().take(SHOWN).map(|difference| format!("\n  {difference}")).collect();
    if differences.len() > SHOWN {
        text.push_str(&format!("\n  and {} more", differences.len() - SHOWN));
    }
    panic!("{title}:{text}");
}

fn describe(before: &TreePathState, after: &TreePathState) -> Option<String> {
    let mut said = Vec::new();
    let mut note = |name: &str, before: &dyn std::fmt::Debug, after: &dyn std::fmt::Debug| {
        let (before, after) = (format!("{before:?}"), format!("{after:?}"));
        if before != after {
            said.push(format!("{name} {before} → {after}"));
        }
    };
    note("kind", &before.kind, &after.kind);
    note("mode", &format_args!("{:o}", before.mode), &format_args!("{:o}", after.mode));
    note("owner", &before.owner, &after.owner);
    note("inode", &before.inode, &after.inode);
    note("size", &before.size, &after.size);
    note("content", &format_args!("{:016x}", before.digest), &format_args!("{:016x}", after.digest));
    note("mtime", &before.mtime, &after.mtime);
    note("ctime", &before.ctime, &after.ctime);
    note("readable", &before.unreadable, &after.unreadable);
    (!said.is_empty()).then(|| said.join(", "))
}

fn describe_carried(expected: &TreePathState, found: &TreePathState) -> Option<String> {
    let executable = |entry: &TreePathState| entry.kind == TreePathKind::File && entry.mode & 0o100 != 0;
    if expected.kind != found.kind {
        Some(format!("{:?} instead of {:?}", found.kind, expected.kind))
    } else if executable(expected) != executable(found) {
        Some(format!("mode {:o} instead of {:o}", found.mode, expected.mode))
    } else if (expected.size, expected.digest) != (found.size, found.digest) {
        Some(format!("other content, {} bytes instead of {}", found.size, expected.size))
    } else {
        expected
            .unreadable
            .as_ref()
            .or(found.unreadable.as_ref())
            .map(|why| format!("cannot be compared: {why}"))
    }
}

fn entry(path: &Path, meta: &Metadata) -> TreePathState {
    let kind = match meta.file_type() {
        kind if kind.is_file() => TreePathKind::File,
        kind if kind.is_dir() => TreePathKind::Folder,
        kind if kind.is_symlink() => TreePathKind::Symlink,
        kind => {
            debug_assert!(
                kind.is_fifo() || kind.is_socket() || kind.is_char_device() || kind.is_block_device(),
                "{kind:?}"
            );
            TreePathKind::Special
        }
    };
    let digest = match kind {
        TreePathKind::File => digest_file(path),
        TreePathKind::Symlink => fs::read_link(path).map(|target| digest(target.as_os_str().as_bytes())),
        TreePathKind::Folder => Ok(0),
        TreePathKind::Special => Ok(meta.rdev()),
    };
    let time = |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
    TreePathState {
        kind,
        mode: meta.mode() & 0o7777,
        owner: (meta.uid(), meta.gid()),
        inode: (meta.dev(), meta.ino()),
        mtime: time(meta.mtime(), meta.mtime_nsec()),
        ctime: time(meta.ctime(), meta.ctime_nsec()),
        size: meta.size(),
        digest: *digest.as_ref().unwrap_or(&0),
        unreadable: digest.err().map(|error| error.kind().to_string()),
    }
}

fn digest_file(path: &Path) -> std::io::Result<u64> {
    let mut file = File::open(path)?;
    let mut hasher = std::hash::DefaultHasher::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finish()),
            read => hasher.write(&buffer[..read]),
        }
    }
}

fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// Makes a small tree, lets `change` at it, and checks which paths are then said to differ, and how.
    fn check(change: impl Fn(&Path), expect: &[(&str, &str)]) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir(root.join("d")).unwrap();
        fs::write(root.join("d/f"), "one").unwrap();
        fs::set_permissions(root.join("d/f"), Permissions::from_mode(0o644)).unwrap();
        symlink("f", root.join("d/l")).unwrap();
        // Clocks of filesystems are coarse: a change right after the making may get the same time.
        for made in ["d", "d/f"] {
            File::open(root.join(made)).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        }
        let before = tree_state(root);
        change(root);
        let found = before.differences(&tree_state(root));
        let paths: Vec<_> = found.iter().map(|difference| difference.path.to_str().unwrap()).collect();
        assert_eq!(paths, expect.iter().map(|(path, _)| *path).collect::<Vec<_>>(), "{found:?}");
        for ((_, word), difference) in expect.iter().zip(&found) {
            assert!(difference.what.contains(word), "{difference} lacks {word:?}");
        }
    }

    #[test]
    fn every_kind_of_change_is_seen() {
        check(|_| {}, &[]);
        check(|root| fs::write(root.join("d/f"), "two").unwrap(), &[("d/f", "content")]);
        check(
            |root| fs::set_permissions(root.join("d/f"), Permissions::from_mode(0o600)).unwrap(),
            &[("d/f", "mode 644 → 600")],
        );
        check(|root| fs::write(root.join("d/g"), "").unwrap(), &[("d", "mtime"), ("d/g", "new")]);
        check(|root| fs::remove_file(root.join("d/l")).unwrap(), &[("d", "mtime"), ("d/l", "gone")]);
        check(
            |root| {
                fs::remove_file(root.join("d/l")).unwrap();
                symlink("elsewhere", root.join("d/l")).unwrap();
            },
            &[("d", "mtime"), ("d/l", "content")],
        );
        let touch = |root: &Path| {
            File::open(root.join("d/f")).unwrap().set_modified(std::time::SystemTime::now()).unwrap()
        };
        check(touch, &[("d/f", "mtime")]);
    }

    #[test]
    fn a_left_out_path_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("kept"), "x").unwrap();
        let before = tree_state(folder.path()).without("out");
        fs::create_dir(folder.path().join("out")).unwrap();
        fs::write(folder.path().join("out/f"), "x").unwrap();
        assert_eq!(before.differences(&tree_state(folder.path()).without("out")), []);
        assert_ne!(before.differences(&tree_state(folder.path())), []);
    }

    #[test]
    fn trees_are_compared_as_a_patch_would_carry_them() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        for root in [&one, &two] {
            fs::create_dir_all(root.join(".git")).unwrap();
            fs::write(root.join("f"), "same").unwrap();
        }
        fs::write(one.join(".git/index"), "a").unwrap();
        fs::create_dir(one.join("empty")).unwrap();
        fs::set_permissions(one.join("f"), Permissions::from_mode(0o600)).unwrap();
        assert_eq!(same_trees(&one, &two), []);
        fs::set_permissions(one.join("f"), Permissions::from_mode(0o755)).unwrap();
        assert_eq!(same_trees(&one, &two).len(), 1);
        fs::write(two.join("g"), "").unwrap();
        assert_eq!(same_trees(&one, &two).len(), 2);
    }

    #[test]
    fn a_tree_deeper_than_a_path_is_read_as_far_as_it_goes() {
        let folder = tempfile::tempdir().unwrap();
        let part = "x".repeat(200);
        let mut deep = folder.path().to_owned();
        while deep.as_os_str().len() < NAMEABLE {
            deep.push(&part);
        }
        fs::create_dir_all(&deep).unwrap();
        let state = tree_state(folder.path());
        let last = state.entries().values().find(|entry| entry.unreadable.is_some()).unwrap();
        assert_eq!(last.kind, TreePathKind::Folder);
    }
}
