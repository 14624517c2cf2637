//! How many tracked files have uncommitted work, without asking git to look at the tree: its own looking runs filters of
//! the repository, and takes as long as the tree is large.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::index::{self, IndexEntry};
use crate::touched::hex;
use crate::{Git, GitError, Repository, tracked};

const LIMIT: Duration = Duration::from_secs(30);
/// How many files are read to tell whether one that was only touched is the same.
const MOST_READ: usize = 200;

/// What the index says of one file.
struct ExpectedFile {
    /// From the root of the working tree.
    path: PathBuf,
    id: String,
}

/// How many of the tracked files below the workspace have uncommitted work; nothing when the index has more than `most`
/// entries or a form that is not read here.
pub fn among_tracked(git: &Git, repository: &Repository, most: u32) -> Result<Option<u64>, GitError> {
    let path = repository.git_dir.join("index");
    let (Ok(Some(bytes)), Ok(meta)) = (read_if_small(&path, most), fs::metadata(&path)) else {
        return Ok(None);
    };
    let written = (meta.mtime() as u32, meta.mtime_nsec() as u32);
    let (mut dirty, mut unsure) = (BTreeSet::new(), Vec::new());
    let read = index::each_entry(&bytes, repository.format, |entry| {
        let path = PathBuf::from(OsStr::from_bytes(entry.path));
        if !path.starts_with(&repository.prefix) {
            return;
        }
        match standing(&repository.toplevel.join(&path), entry, written) {
            FileComparison::Same => {}
            FileComparison::Differs => drop(dirty.insert(path)),
            FileComparison::Unsure => unsure.push(ExpectedFile { path, id: hex(entry.id) }),
        }
    });
    if read.is_err() {
        return Ok(None);
    }
    let expected: Vec<(&Path, &str)> = unsure.iter().map(|e| (e.path.as_path(), e.id.as_str())).collect();
    dirty.extend(differing(git, repository, &repository.toplevel, &expected)?);
    dirty.extend(staged(git, repository)?);
    Ok(Some(dirty.len() as u64))
}

/// How many of these paths, relative to the workspace, had uncommitted work; `true` stands for one that existed.
pub fn among(git: &Git, repository: &Repository, paths: &[(PathBuf, bool)]) -> Result<u64, GitError> {
    let names: Vec<PathBuf> = paths.iter().map(|(path, _)| path.clone()).collect();
    let entries = tracked::below(git, repository, &names)?;
    let workspace = repository.toplevel.join(&repository.prefix);
    let mut dirty = 0;
    let mut expected = Vec::new();
    for (path, existed) in paths {
        match (entries.get(path), existed) {
            (Some((_, id)), true) => expected.push((path.as_path(), id.as_str())),
            (None, false) => {}
            (Some(_), false) | (None, true) => dirty += 1,
        }
    }
    Ok(dirty + differing(git, repository, &workspace, &expected)?.len() as u64)
}

enum FileComparison {
    Same,
    Differs,
    Unsure,
}

fn standing(path: &Path, entry: &IndexEntry<'_>, index_written: (u32, u32)) -> FileComparison {
    if entry.stage != 0 {
        return FileComparison::Differs;
    }
    if entry.absent || entry.mode == 0o160_000 {
        return FileComparison::Same;
    }
    let Ok(meta) = fs::symlink_metadata(path) else { return FileComparison::Differs };
    let link = entry.mode == 0o120_000;
    let same_kind = if link { meta.is_symlink() } else { meta.is_file() };
    let same_bit = link || (meta.mode() & 0o100 != 0) == (entry.mode & 0o100 != 0);
    if !same_kind || !same_bit || meta.len() as u32 != entry.size {
        return FileComparison::Differs;
    }
    let (seconds, nanos) = (meta.mtime() as u32, meta.mtime_nsec() as u32);
    let same_time = entry.mtime.0 == seconds && (entry.mtime.1 == nanos || entry.mtime.1 == 0);
    // A file written as late as the index may have been written again after it was looked at.
    if same_time && (entry.mtime < index_written || link) {
        FileComparison::Same
    } else {
        FileComparison::Unsure
    }
}

/// The paths whose bytes are not those of their object, looked at without any filter.
fn differing(
    git: &Git,
    repository: &Repository,
    folder: &Path,
    expected: &[(&Path, &str)],
) -> Result<Vec<PathBuf>, GitError> {
    let plain = |path: &&Path| !path.as_os_str().as_bytes().contains(&b'\n');
    let is_file = |path: &&Path| folder.join(path).symlink_metadata().is_ok_and(|meta| meta.is_file());
    let (read, rest): (Vec<_>, Vec<_>) =
        expected.iter().copied().partition(|(path, _)| plain(path) && is_file(path));
    let mut found: Vec<PathBuf> = rest.iter().map(|(path, _)| (*path).to_owned()).collect();
    if read.len() > MOST_READ {
        found.extend(read[MOST_READ..].iter().map(|(path, _)| (*path).to_owned()));
    }
    let read = &read[..read.len().min(MOST_READ)];
    if read.is_empty() {
        return Ok(found);
    }
    let call =
        git.call(["hash-object", "--no-filters", "--stdin-paths"]).git_dir(&repository.git_dir).within(LIMIT);
    let answer = call.feed(|to| {
        for (path, _) in read {
            to.write_all(folder.join(path).as_os_str().as_bytes())?;
            to.write_all(b"\n")?;
        }
        Ok(())
    })?;
    let ids = String::from_utf8_lossy(&answer);
    let mut ids = ids.lines();
    found.extend(read.iter().filter(|(_, id)| ids.next() != Some(*id)).map(|(path, _)| (*path).to_owned()));
    Ok(found)
}

/// What the index holds that the last commit does not; no file of the working tree is looked at.
fn staged(git: &Git, repository: &Repository) -> Result<Vec<PathBuf>, GitError> {
    let args =
        ["diff-index", "--cached", "--name-only", "--no-renames", "--ignore-submodules", "-z", "HEAD", "--"];
    let call = git.call(args).git_dir(&repository.git_dir).within(LIMIT);
    let done = call.run(|_| Ok(()))?;
    if done.exit != Some(0) {
        // Without a commit everything is uncommitted; the working tree has told.
        return Ok(Vec::new());
    }
    let names = done.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let paths = names.map(|name| PathBuf::from(OsStr::from_bytes(name)));
    Ok(paths.filter(|path| path.starts_with(&repository.prefix)).collect())
}

/// The index, if its header says that it is small enough.
fn read_if_small(path: &Path, most: u32) -> std::io::Result<Option<Vec<u8>>> {
    use std::io::Read;
    let mut file = fs::File::open(path)?;
    let mut head = [0; 12];
    file.read_exact(&mut head)?;
    let count = u32::from_be_bytes([head[8], head[9], head[10], head[11]]);
    if head[..4] != *b"DIRC" || count > most {
        return Ok(None);
    }
    let mut bytes = head.to_vec();
    file.read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    use super::*;

    fn git_in(dir: &Path, args: &[&str]) {
        let mut command = Command::new("git");
        command.current_dir(dir).args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "index.version=2"]);
        assert!(command.args(args).output().unwrap().status.success(), "{args:?}");
    }

    #[test]
    fn uncommitted_work_is_counted_file_by_file() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().canonicalize().unwrap();
        git_in(&dir, &["init", "-q"]);
        for name in ["a", "b", "c", "d", "e"] {
            fs::write(dir.join(name), format!("{name}\n")).unwrap();
        }
        std::os::unix::fs::symlink("a", dir.join("link")).unwrap();
        git_in(&dir, &["add", "."]);
        git_in(&dir, &["commit", "-qm", "x"]);
        let git = Git::find().unwrap();
        let repository = Repository::look(&dir).unwrap().repository.unwrap();
        let count = || among_tracked(&git, &repository, 100).unwrap();
        assert_eq!(count(), Some(0));
        assert_eq!(among_tracked(&git, &repository, 3).unwrap(), None, "too many to look at");
        // Written again with the same bytes: not uncommitted.
        fs::write(dir.join("a"), "a\n").unwrap();
        assert_eq!(count(), Some(0));
        fs::write(dir.join("a"), "A\n").unwrap();
        fs::remove_file(dir.join("b")).unwrap();
        fs::set_permissions(dir.join("c"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(dir.join("d"), "staged\n").unwrap();
        git_in(&dir, &["add", "d"]);
        assert_eq!(count(), Some(4));
        let path = |name: &str, existed| (PathBuf::from(name), existed);
        let asked =
            [path("a", true), path("b", false), path("e", true), path("new", false), path("seen", true)];
        assert_eq!(among(&git, &repository, &asked).unwrap(), 3);
    }
}
