//! Folders and repositories for runs to work on.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use crate::git::{finish, git_command};

/// A folder or repository that belongs to the environment's user; each method acts at once and can be chained.
///
/// What comes before [`TestWorkspace::commit`] is tracked, what comes after it is a dirty edit or an untracked file.
#[derive(Debug)]
pub struct TestWorkspace {
    path: PathBuf,
    become_user: Option<(u32, u32)>,
    variables: Vec<(OsString, OsString)>,
}

impl TestWorkspace {
    pub(crate) fn new(
        path: PathBuf,
        become_user: Option<(u32, u32)>,
        variables: Vec<(OsString, OsString)>,
    ) -> Self {
        Self { path, become_user, variables }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The absolute path of something inside.
    pub fn join(&self, path: impl AsRef<Path>) -> PathBuf {
        self.path.join(path)
    }

    /// Writes a file (0644 unless it exists), folders above included.
    #[track_caller]
    pub fn file(self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> Self {
        let path = self.prepare(path.as_ref());
        let new = !path.exists();
        fs::write(&path, content).unwrap_or_else(|error| panic!("writing {}: {error}", path.display()));
        if new {
            fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("setting a file's mode");
        }
        self.own(&path);
        self
    }

    /// Writes an executable file (0755).
    #[track_caller]
    pub fn executable(self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> Self {
        self.file(path.as_ref(), content).mode(path, 0o755)
    }

    /// Makes a folder, folders above included.
    #[track_caller]
    pub fn folder(self, path: impl AsRef<Path>) -> Self {
        self.prepare(&path.as_ref().join("x"));
        self
    }

    /// Makes a symbolic link.
    #[track_caller]
    pub fn symlink(self, path: impl AsRef<Path>, target: impl AsRef<Path>) -> Self {
        let path = self.prepare(path.as_ref());
        symlink(target, &path).unwrap_or_else(|error| panic!("linking {}: {error}", path.display()));
        self.own(&path);
        self
    }

    /// Sets the mode of a file or folder.
    #[track_caller]
    pub fn mode(self, path: impl AsRef<Path>, mode: u32) -> Self {
        let path = self.join(path);
        fs::set_permissions(&path, Permissions::from_mode(mode))
            .unwrap_or_else(|error| panic!("setting the mode of {}: {error}", path.display()));
        self
    }

    /// Removes a file, a link or a whole folder.
    #[track_caller]
    pub fn remove(self, path: impl AsRef<Path>) -> Self {
        let path = self.join(path);
        let removed = match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_dir() => fs::remove_dir_all(&path),
            Ok(_) => fs::remove_file(&path),
            Err(error) => Err(error),
        };
        removed.unwrap_or_else(|error| panic!("removing {}: {error}", path.display()));
        self
    }

    /// Adds everything and commits it.
    #[track_caller]
    pub fn commit(self, message: &str) -> Self {
        self.git(["add", "--all", "."]);
        self.git(["commit", "--quiet", "--allow-empty", "--no-verify", "--message", message]);
        self
    }

    /// Runs git here as the environment's user and returns its standard output; panics when it fails.
    #[track_caller]
    pub fn git<I, S>(&self, args: I) -> String
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.try_git(args).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The same, with git's failure as an error.
    pub fn try_git<I, S>(&self, args: I) -> Result<String, String>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let mut command = git_command(&self.path);
        let home = |(name, _): &&(OsString, OsString)| name == "HOME" || name == "TMPDIR";
        command.args(args).envs(self.variables.iter().filter(home).map(|(name, value)| (name, value)));
        if let Some((uid, gid)) = self.become_user {
            command.uid(uid).gid(gid);
        }
        finish(&mut command)
    }

    /// What `git status` says, without letting it refresh the index.
    #[track_caller]
    pub fn status(&self) -> String {
        self.git(["--no-optional-locks", "status", "--porcelain=v1", "--untracked-files=all", "--ignored"])
    }

    /// The content of a file inside.
    #[track_caller]
    pub fn read(&self, path: impl AsRef<Path>) -> Vec<u8> {
        let path = self.join(path);
        fs::read(&path).unwrap_or_else(|error| panic!("reading {}: {error}", path.display()))
    }

    fn prepare(&self, relative: &Path) -> PathBuf {
        assert!(relative.is_relative(), "{} must be relative to the workspace", relative.display());
        let path = self.join(relative);
        let parent = path.parent().expect("a path inside has a parent");
        let missing: Vec<_> = parent.ancestors().take_while(|folder| !folder.exists()).collect();
        for folder in missing.iter().rev() {
            fs::create_dir(folder).unwrap_or_else(|error| panic!("making {}: {error}", folder.display()));
            fs::set_permissions(folder, Permissions::from_mode(0o755)).expect("setting a folder's mode");
            self.own(folder);
        }
        path
    }

    fn own(&self, path: &Path) {
        if let Some((uid, gid)) = self.become_user {
            lchown(path, Some(uid), Some(gid))
                .unwrap_or_else(|error| panic!("giving {} away: {error}", path.display()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use crate::for_each_identity;

    #[test]
    fn a_repository_with_dirty_and_untracked_work() {
        for_each_identity("/bin/true", |env| {
            let repo = env
                .repo()
                .file("src/a.rs", "1\n")
                .executable("run.sh", "#!/bin/sh\n")
                .symlink("link", "src/a.rs")
                .file("gone", "x")
                .commit("first")
                .file("src/a.rs", "2\n")
                .file("new/b", "b")
                .remove("gone");
            assert_eq!(repo.status(), " D gone\n M src/a.rs\n?? new/b\n");
            assert_eq!(repo.git(["log", "--format=%an %at %s"]), "Test 1704164645 first\n");
            assert_eq!(repo.git(["ls-files", "--stage", "run.sh"]).split(' ').next(), Some("100755"));
            for path in ["", ".git/HEAD", "src", "new/b", "link"] {
                let owner = repo.join(path).symlink_metadata().unwrap().uid();
                assert_eq!(owner, env.uid(), "{path}");
            }
            let plain = env.folder("plain");
            assert!(plain.try_git(["status"]).unwrap_err().contains("not a git repository"));
        });
    }
}
