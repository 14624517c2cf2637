//! Definitions of a check that change while it runs. What tests a product must not be written by the product: after every
//! run the files that define checks are compared with what was laid into the tree.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use holon_sandbox::snapshot::{SnapshotStrategy, WorkspaceSnapshot};

use super::check_tree::{CheckedChange, TreeKind};

/// Folders that hold what tools build or fetch.
const BUILT: [&str; 8] =
    [".git", "target", "node_modules", "__pycache__", ".venv", "venv", ".gradle", ".pytest_cache"];
/// Most entries looked at.
const ENTRIES: usize = 100_000;
/// Most names told.
const NAMES: usize = 50;

/// Files that define checks and are not in the tree any more as they were laid there. Files that are new are none of them:
/// tests leave many.
pub(super) fn rewritten(
    change: &CheckedChange<'_>,
    snapshot: &WorkspaceSnapshot,
    kind: TreeKind,
) -> BTreeSet<String> {
    let mut looking = DefinitionComparison {
        change,
        ground: snapshot.workspace(),
        kind,
        left: ENTRIES,
        found: BTreeSet::new(),
    };
    if let Some(written) = snapshot.written() {
        looking.written(written, "");
        // An overlay marks what is gone; in a copy it is just not there.
        if matches!(snapshot.strategy(), SnapshotStrategy::Copy | SnapshotStrategy::Reflink) {
            looking.gone(snapshot.workspace(), "", &|path| fs::symlink_metadata(written.join(path)).is_err());
        }
    }
    looking.found
}

struct DefinitionComparison<'l> {
    change: &'l CheckedChange<'l>,
    ground: &'l Path,
    kind: TreeKind,
    left: usize,
    found: BTreeSet<String>,
}

impl DefinitionComparison<'_> {
    fn is_definition(&self, path: &str) -> bool {
        let exists = |other: &str| self.ground.join(other).is_file() || self.change.holds(other);
        self.change.definitions.kind(path, &exists).is_some()
    }

    /// Looks through what was written.
    fn written(&mut self, root: &Path, below: &str) {
        for (path, kind) in self.entries(root, below) {
            if kind.is_dir() {
                self.written(root, &path);
            } else if kind.is_char_device() {
                self.removed(&path);
            } else if kind.is_file() && self.is_definition(&path) {
                let laid = self.change.laid(self.kind, self.ground, &path);
                // One that cannot be read was made so.
                if laid.is_some_and(|laid| fs::read(root.join(&path)).ok() != Some(laid)) {
                    self.note(path);
                }
            }
        }
    }

    /// A mark for something that is gone: a file, or a folder with all there was in it.
    fn removed(&mut self, path: &str) {
        if self.ground.join(path).is_dir() {
            self.gone(&self.ground.join(path), path, &|_| true);
        } else if self.is_definition(path) && self.change.laid(self.kind, self.ground, path).is_some() {
            self.note(path.to_owned());
        }
    }

    /// Looks for what was there, in a folder of the tree that this one was taken of.
    fn gone(&mut self, folder: &Path, below: &str, is_gone: &dyn Fn(&str) -> bool) {
        let root = if below.is_empty() { folder.to_owned() } else { self.ground.to_owned() };
        for (path, kind) in self.entries(&root, below) {
            if kind.is_dir() {
                self.gone(&root.join(&path), &path, is_gone);
            } else if is_gone(&path)
                && self.is_definition(&path)
                && self.change.laid(self.kind, self.ground, &path).is_some()
            {
                self.note(path);
            }
        }
    }

    fn note(&mut self, path: String) {
        if self.found.len() < NAMES {
            self.found.insert(path);
        }
    }

    /// What is in a folder, by path from the root, without what tools build.
    fn entries(&mut self, root: &Path, below: &str) -> Vec<(String, fs::FileType)> {
        let Ok(list) = fs::read_dir(root.join(below)) else { return Vec::new() };
        let mut found = Vec::new();
        for entry in list.flatten().take(self.left) {
            let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else { continue };
            if BUILT.contains(&name.as_str()) {
                continue;
            }
            let path = if below.is_empty() { name } else { format!("{below}/{name}") };
            found.push((path, kind));
        }
        self.left = self.left.saturating_sub(found.len());
        found
    }
}
