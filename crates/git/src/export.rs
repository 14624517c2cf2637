//! The files of a commit in a folder of their own, byte by byte as they are stored: no filter, no conversion, no hook.

use std::ffi::OsString;
use std::path::Path;

use crate::objects::ScratchRepository;
use crate::{Git, GitError, Repository};

/// Writes what a commit holds at the repository's workspace into the empty folder `to`. Its objects are read through a
/// repository of our own below `scratch`, so that nothing of the user's settings counts.
pub fn files_of_commit(
    git: &Git,
    repository: &Repository,
    commit: &str,
    scratch: &Path,
    to: &Path,
) -> Result<(), GitError> {
    let own = ScratchRepository::new(scratch, repository.format)?;
    own.borrow_objects(&[repository.common_dir.join("objects")])?;
    let mut tree = OsString::from(format!("{commit}^{{tree}}"));
    if !repository.is_toplevel() {
        tree = OsString::from(format!("{commit}:"));
        tree.push(repository.prefix.as_os_str());
    }
    let call = |args: &[OsString]| git.call(args).git_dir(own.path()).dir(own.path());
    call(&["read-tree".into(), tree]).output()?;
    let args = ["checkout-index".into(), "--all".into(), "--force".into(), "--quiet".into()];
    call(&args).work_tree(to).dir(to).output().map(drop)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;
    use std::process::Command;

    use super::*;

    fn call(dir: &Path, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=x", "-c", "user.email=x@example.org"]).args(args).current_dir(dir);
        let done = command.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    }

    #[test]
    fn files_come_as_they_were_committed_whatever_the_folder_holds_now() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().join("top");
        fs::create_dir_all(top.join("part")).unwrap();
        fs::write(top.join("a.txt"), "one\r\n").unwrap();
        fs::write(top.join("part/b.txt"), "b\n").unwrap();
        std::os::unix::fs::symlink("a.txt", top.join("link")).unwrap();
        call(&top, &["init", "-q"]);
        call(&top, &["add", "."]);
        call(&top, &["commit", "-qm", "first"]);
        let commit = call(&top, &["rev-parse", "HEAD"]);
        // Filters and conversions of the repository do not count.
        fs::write(top.join(".git/info/attributes"), "* filter=evil text eol=crlf\n").unwrap();
        call(&top, &["config", "filter.evil.smudge", "touch ../smudged; cat"]);
        fs::write(top.join("a.txt"), "later\n").unwrap();

        let git = Git::find().unwrap();
        for (workspace, expected) in
            [(top.clone(), vec!["a.txt", "link", "part"]), (top.join("part"), vec!["b.txt"])]
        {
            let repository =
                Repository::look(&workspace.canonicalize().unwrap()).unwrap().repository.unwrap();
            let to = tempfile::tempdir_in(temp.path()).unwrap();
            files_of_commit(&git, &repository, &commit, temp.path(), to.path()).unwrap();
            let mut names: Vec<_> = fs::read_dir(to.path())
                .unwrap()
                .map(|e| e.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            assert_eq!(names, expected);
        }
        let repository = Repository::look(&top.canonicalize().unwrap()).unwrap().repository.unwrap();
        let to = tempfile::tempdir_in(temp.path()).unwrap();
        files_of_commit(&git, &repository, &commit, temp.path(), to.path()).unwrap();
        assert_eq!(fs::read(to.path().join("a.txt")).unwrap(), b"one\r\n");
        assert!(!temp.path().join("smudged").exists());
        let unknown = "0".repeat(40);
        assert!(files_of_commit(&git, &repository, &unknown, temp.path(), to.path()).is_err());
    }
}
