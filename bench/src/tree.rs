//! Repositories of any size, the same every time.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::BenchFailure;
use crate::command;

/// How many files an agent changes.
pub(crate) const CHANGED: usize = 10;
/// Files per folder.
const PER_FOLDER: usize = 25;

/// A committed working tree.
#[derive(Debug, Clone)]
pub(crate) struct BenchTree {
    /// Its root.
    pub(crate) path: PathBuf,
    files: usize,
}

impl BenchTree {
    /// A file that every tree has, of more than fifty lines.
    pub(crate) const LONG: &'static str = "part0/area0/file11.txt";

    /// Writes `files` files and commits them.
    pub(crate) fn grow(path: &Path, files: usize) -> Result<Self, BenchFailure> {
        let refuse = |e: std::io::Error| format!("cannot make {}: {e}", path.display());
        fs::create_dir(path).map_err(refuse)?;
        git(path, &["init", "--quiet", "--initial-branch=main"])?;
        import(path, files).map_err(refuse)?;
        // Takes the commit into the index and remembers what the files look like, as a user's own repository does.
        git(path, &["reset", "--quiet"])?;
        git(path, &["update-index", "--refresh"])?;
        Ok(Self { path: path.to_owned(), files })
    }

    /// Files all over the tree, for an agent to change.
    pub(crate) fn changed(&self) -> Vec<String> {
        self.spread(CHANGED)
    }

    /// So many files all over the tree.
    pub(crate) fn spread(&self, count: usize) -> Vec<String> {
        (0..count).map(|n| name(n * (self.files / count))).collect()
    }
}

/// Writes the files, and the same again into a pack: far faster than having git read and store each of them.
fn import(path: &Path, files: usize) -> std::io::Result<()> {
    let mut child = hermetic(path).args(["fast-import", "--quiet"]).stdin(Stdio::piped()).spawn()?;
    let mut stream = BufWriter::new(child.stdin.take().ok_or_else(|| std::io::Error::other("no pipe"))?);
    stream.write_all(
        b"commit refs/heads/main\ncommitter Bench <bench@example.org> 1700000000 +0000\ndata 4\nbase\n",
    )?;
    for number in 0..files {
        let (name, content) = (name(number), content(number));
        if number % PER_FOLDER == 0
            && let Some(folder) = path.join(&name).parent()
        {
            fs::create_dir_all(folder)?;
        }
        fs::write(path.join(&name), &content)?;
        write!(stream, "M 100644 inline {name}\ndata {}\n{content}\n", content.len())?;
    }
    drop(stream.into_inner().map_err(std::io::IntoInnerError::into_error)?);
    let status = child.wait()?;
    if status.success() {
        Ok(())
    } else {
        Err(std::io::Error::other(format!("git fast-import ended with {status}")))
    }
}

/// Three levels of folders, as sources have.
fn name(number: usize) -> String {
    let folder = number / PER_FOLDER;
    format!("part{}/area{}/file{}.txt", folder / 40, folder % 40, number)
}

/// 0.3 to 3 KB of lines that differ from file to file.
fn content(number: usize) -> String {
    let mut state = number as u64;
    let mut text = String::new();
    let lines = 10 + number * 7 % 80;
    for line in 0..lines {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text += &format!("line {line} of {number}: {:016x}\n", state);
    }
    text
}

fn git(path: &Path, arguments: &[&str]) -> Result<(), BenchFailure> {
    command::capture(hermetic(path).args(arguments)).map(|_| ())
}

/// Git without anybody's settings.
fn hermetic(path: &Path) -> Command {
    let mut git = Command::new("git");
    git.current_dir(path).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    git
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn trees_are_committed_and_clean() {
        let folder = tempfile::tempdir().unwrap();
        let tree = BenchTree::grow(&folder.path().join("tree"), 60).unwrap();
        let status = command::capture(hermetic(&tree.path).args(["status", "--porcelain"])).unwrap();
        assert_eq!(status, "");
        let files = command::capture(hermetic(&tree.path).args(["ls-files"])).unwrap();
        assert_eq!(files.lines().count(), 60);
        let changed = tree.changed();
        assert_eq!(changed.len(), CHANGED);
        assert!(changed.iter().all(|name| tree.path.join(name).is_file()));
        let head = command::capture(hermetic(&tree.path).args(["rev-parse", "HEAD^{tree}"])).unwrap();
        let again = BenchTree::grow(&folder.path().join("again"), 60).unwrap();
        assert_eq!(head, command::capture(hermetic(&again.path).args(["rev-parse", "HEAD^{tree}"])).unwrap());
    }
}
