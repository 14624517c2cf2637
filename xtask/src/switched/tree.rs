//! A copy of the source tree, outside of the repository, in which anything may be changed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{XtaskFailure, process, project};

/// Files as they become: their whole texts, by their paths in the tree.
pub(crate) type ChangedFiles = BTreeMap<PathBuf, String>;

/// A copy of everything that belongs to the tree, in a temporary folder.
pub(crate) struct TreeCopy(tempfile::TempDir);

impl TreeCopy {
    /// Copies the tree as it is now, with what is not committed yet.
    pub(crate) fn new() -> Result<Self, XtaskFailure> {
        let tree = tempfile::Builder::new().prefix("holon-switched-").tempdir();
        let tree = tree.map_err(|error| format!("cannot make a temporary folder: {error}"))?;
        for file in project::files()? {
            copy_file(&project::root().join(&file), &tree.path().join(&file))
                .map_err(|error| format!("copying {}: {error}", file.display()))?;
        }
        Ok(Self(tree))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// The text of a file; none when there is no such file.
    pub(crate) fn text(&self, file: &Path) -> Result<Option<String>, XtaskFailure> {
        match fs::read_to_string(self.path().join(file)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("cannot read {}: {error}", file.display())),
        }
    }

    /// Writes the files whose text is another one: cargo builds anew what was written.
    pub(crate) fn write(&self, files: &ChangedFiles) -> Result<(), XtaskFailure> {
        for (file, text) in files {
            if self.text(file)?.as_ref() != Some(text) {
                fs::write(self.path().join(file), text)
                    .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
            }
        }
        Ok(())
    }

    /// What a patch makes of the files it touches; the copy stays as it is.
    pub(crate) fn patched(&self, patch: &Path) -> Result<ChangedFiles, XtaskFailure> {
        let touched = self.apply(&["--numstat"], patch)?;
        self.apply(&[], patch)?;
        let read = || -> Result<ChangedFiles, XtaskFailure> {
            let mut files = ChangedFiles::new();
            for file in touched.lines().filter_map(|line| line.split('\t').nth(2)).map(PathBuf::from) {
                let text = self.text(&file)?.ok_or_else(|| format!("{} is removed", file.display()))?;
                files.insert(file, text);
            }
            Ok(files)
        };
        let files = read();
        self.apply(&["--reverse"], patch)
            .map_err(|failure| format!("cannot mend the tree again: {failure}"))?;
        files
    }

    fn apply(&self, more: &[&str], patch: &Path) -> Result<String, XtaskFailure> {
        let mut git = Command::new("git");
        git.current_dir(self.path()).env("GIT_CONFIG_GLOBAL", "/dev/null");
        // A repository around the folder for temporary files is none of ours.
        git.env("GIT_CEILING_DIRECTORIES", self.path().parent().unwrap_or(Path::new("/")));
        process::capture(git.args(["apply", "--whitespace=nowarn"]).args(more).arg(patch))
    }
}

fn copy_file(from: &Path, to: &Path) -> std::io::Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    if from.symlink_metadata()?.is_symlink() {
        std::os::unix::fs::symlink(fs::read_link(from)?, to)
    } else {
        fs::copy(from, to).map(drop)
    }
}
