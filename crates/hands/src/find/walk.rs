//! Everything below a folder, in the order of the paths' bytes, without ever following a link.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::rules::FolderIgnoreRules;
use crate::EntryKind;

/// What to walk over, and what to leave out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WalkScope {
    /// Whether ignored and hidden entries count too.
    pub all: bool,
    /// How many levels deep.
    pub depth: u32,
}

/// Something below the folder.
#[derive(Debug)]
pub(crate) struct WalkItem {
    /// Where it is.
    pub path: PathBuf,
    /// The same, from the folder on.
    pub relative: PathBuf,
    pub kind: EntryKind,
}

/// Gives the items one by one. A folder comes before what is in it.
pub(crate) struct FolderWalk {
    start: PathBuf,
    scope: WalkScope,
    open: Vec<OpenFolder>,
}

struct OpenFolder {
    relative: PathBuf,
    /// In reverse order.
    entries: Vec<NamedEntry>,
    rules: FolderIgnoreRules,
}

struct NamedEntry {
    /// The name, with a slash behind it if it is a folder: so the order of names is the order of whole paths.
    key: Vec<u8>,
    kind: EntryKind,
}

impl FolderWalk {
    /// Starts in a folder; ignore rules count from `root` on, if the folder is in it.
    pub(crate) fn new(root: &Path, start: &Path, scope: WalkScope) -> io::Result<Self> {
        // So that a link to a folder can be walked, and rules and paths speak of the same names.
        let start = std::fs::canonicalize(start)?;
        let root = std::fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
        let (entries, _) = read(&start)?;
        let rules =
            if scope.all { FolderIgnoreRules::default() } else { FolderIgnoreRules::around(&root, &start) };
        let top = OpenFolder { relative: PathBuf::new(), entries, rules };
        Ok(Self { start, scope, open: vec![top] })
    }

    fn enter(&mut self, relative: &Path, path: &Path, rules: &FolderIgnoreRules) {
        // A folder that cannot be read has nothing to show.
        let Ok((entries, brings)) = read(path) else { return };
        let rules = match brings.is_empty() || self.scope.all {
            true => rules.clone(),
            false => rules.inside(path, &brings),
        };
        self.open.push(OpenFolder { relative: relative.to_owned(), entries, rules });
    }
}

impl Iterator for FolderWalk {
    type Item = WalkItem;

    fn next(&mut self) -> Option<WalkItem> {
        loop {
            let depth = self.open.len();
            let folder = self.open.last_mut()?;
            let Some(mut entry) = folder.entries.pop() else {
                self.open.pop();
                continue;
            };
            if entry.kind == EntryKind::Folder {
                entry.key.pop();
            }
            if !self.scope.all && entry.key.starts_with(b".") {
                continue;
            }
            // Git's own store is told, not walked: nothing in it is anybody's text.
            let store = entry.key == b".git";
            let relative = folder.relative.join(OsString::from_vec(entry.key));
            let path = self.start.join(&relative);
            if folder.rules.ignore(&path, entry.kind == EntryKind::Folder) {
                continue;
            }
            if entry.kind == EntryKind::Folder && !store && depth < self.scope.depth as usize {
                let rules = folder.rules.clone();
                self.enter(&relative, &path, &rules);
            }
            return Some(WalkItem { path, relative, kind: entry.kind });
        }
    }
}

/// The entries of a folder in reverse order, and the rule files among them.
fn read(folder: &Path) -> io::Result<(Vec<NamedEntry>, Vec<&'static str>)> {
    let mut brings = Vec::new();
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let kind = match entry.file_type() {
            Ok(kind) if kind.is_dir() => EntryKind::Folder,
            Ok(kind) if kind.is_file() => EntryKind::File,
            Ok(kind) if kind.is_symlink() => EntryKind::Link,
            _ => EntryKind::Other,
        };
        let name = entry.file_name();
        brings.extend(FolderIgnoreRules::named(name.as_bytes()));
        let mut key = name.into_vec();
        if kind == EntryKind::Folder {
            key.push(b'/');
        }
        entries.push(NamedEntry { key, kind });
    }
    entries.sort_unstable_by(|a, b| b.key.cmp(&a.key));
    // In the order in which they win over each other, whatever order the folder has.
    brings.sort_unstable();
    Ok((entries, brings))
}
