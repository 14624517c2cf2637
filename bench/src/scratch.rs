//! What all suites share: the binary that is measured, a place for files, and how often to measure.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::BenchFailure;
use crate::tree::BenchTree;

/// The variable that names the binary to measure.
pub(crate) const BINARY: &str = "HOLON_BIN";

/// The surroundings of a measurement.
pub(crate) struct BenchContext {
    /// The binary that is measured, where every user may start it.
    pub(crate) holon: PathBuf,
    /// Few rounds instead of many.
    pub(crate) quick: bool,
    /// Where the scripts of the suite `supervisor` are, when it is not to be its own.
    pub(crate) scripts: Option<PathBuf>,
    /// Seeds of agents made from the grammar.
    pub(crate) seeds: Vec<u64>,
    folder: tempfile::TempDir,
    trees: RefCell<BTreeMap<usize, BenchTree>>,
}

impl BenchContext {
    /// Makes the place for files, with a copy of the binary in it: the original may lie where only its owner can go.
    pub(crate) fn new(quick: bool) -> Result<Self, BenchFailure> {
        let given = std::env::var_os(BINARY).map(PathBuf::from);
        let given = given.ok_or_else(|| {
            format!("{BINARY} does not say which binary to measure; use `cargo xtask bench`")
        })?;
        let folder = tempfile::Builder::new()
            .prefix("holon-bench-")
            .permissions(fs::Permissions::from_mode(0o755))
            .tempdir()
            .map_err(|e| format!("cannot make a temporary folder: {e}"))?;
        let holon = folder.path().join("holon");
        fs::copy(&given, &holon).map_err(|e| format!("cannot copy {}: {e}", given.display()))?;
        Ok(Self { holon, quick, scripts: None, seeds: Vec::new(), folder, trees: RefCell::default() })
    }

    /// So many rounds, or a tenth of them.
    pub(crate) fn rounds(&self, many: usize) -> usize {
        if self.quick { (many / 10).max(3) } else { many }
    }

    /// Where a suite may put files.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A new folder for a suite.
    pub(crate) fn new_folder(&self, name: &str) -> Result<PathBuf, BenchFailure> {
        let path = self.folder().join(name);
        fs::create_dir(&path).map_err(|e| format!("cannot make {}: {e}", path.display()))?;
        Ok(path)
    }

    /// A repository with so many files; made once.
    pub(crate) fn tree(&self, files: usize) -> Result<BenchTree, BenchFailure> {
        if let Some(tree) = self.trees.borrow().get(&files) {
            return Ok(tree.clone());
        }
        let tree = BenchTree::grow(&self.folder().join(format!("tree-{files}")), files)?;
        self.trees.borrow_mut().insert(files, tree.clone());
        Ok(tree)
    }
}

impl Drop for BenchContext {
    fn drop(&mut self) {
        // The kernel leaves folders behind that even their owner must open first.
        let _ = holon_sandbox::snapshot::remove_tree(self.folder.path());
    }
}
