//! A patch as one commit on a branch of its own. Working tree, index, the branch that is checked out and hooks have no part
//! in it: trees are made in a throw-away index, and only objects and one new ref go to the user's repository.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::command::{GitCall, tail};
use crate::convert::{ConversionMode, TreeConversion};
use crate::{Git, GitError, Repository, ScratchRepository, TouchedPath, waits};

/// Objects of a commit that somebody will rely on are written like git's own.
const DURABLE: [&str; 2] = ["-c", "core.fsync=committed"];

/// What is to be committed, and where.
#[derive(Debug, Clone, Copy)]
pub struct CommitRequest<'a> {
    /// The change, with paths relative to the workspace.
    pub patch: &'a [u8],
    /// What it touches, as recorded when it was made.
    pub touched: &'a [TouchedPath],
    /// The repository the workspace belongs to.
    pub repository: &'a Repository,
    /// The commit the change was made on, when it is known; else the one that is checked out.
    pub base: Option<&'a str>,
    /// The branch, without `refs/heads/`.
    pub branch: &'a str,
    /// The message.
    pub message: &'a str,
    /// Variables of the user's that say who they are and where their configuration is.
    pub user: &'a [(&'static str, OsString)],
    /// A place for temporary files.
    pub temp: &'a Path,
}

/// A commit that holds the change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedChange {
    /// Its id.
    pub id: String,
    /// Whether it was there before.
    pub before: bool,
}

/// Why there is no such commit.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// Git does not know who commits.
    #[error("git knows no name and e-mail of yours, and a commit needs both")]
    NoIdentity,
    /// The branch is there and holds something else.
    #[error("the branch {branch} is there already and holds something else ({commit})")]
    Taken {
        /// The branch.
        branch: String,
        /// What it is at.
        commit: String,
    },
    /// The change does not apply to what is committed.
    #[error("the patch does not fit what is committed: {detail}")]
    DoesNotFit {
        /// What git says.
        detail: String,
    },
    /// A file belongs to a repository inside of this one.
    #[error("{} is in the submodule {}, whose files are committed in its own repository", path.display(), module.display())]
    InSubmodule {
        /// The file.
        path: PathBuf,
        /// The submodule.
        module: PathBuf,
    },
    /// Somebody's program stands between a file and what is committed of it.
    #[error("{} goes through git's filter `{filter}` when it is committed, and no filter is run here", path.display())]
    Filtered {
        /// The file.
        path: PathBuf,
        /// The filter.
        filter: String,
    },
    /// Files that root would make there could not be changed by their owner.
    #[error("{} belongs to another user", path.display())]
    Foreign {
        /// The repository.
        path: PathBuf,
    },
    /// Git would read it to an end that does not come.
    #[error("{} is neither a file nor a folder, and git would wait for it", path.display())]
    NeverEnds {
        /// What it is about.
        path: PathBuf,
    },
    /// Nothing can be added to the repository.
    #[error("{} cannot be written: {why}", path.display())]
    Closed {
        /// Where its objects are.
        path: PathBuf,
        /// The reason given by the system.
        why: String,
    },
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// Makes the commit, or finds the one that was made before.
pub fn commit(git: &Git, wanted: CommitRequest<'_>) -> Result<CommittedChange, CommitError> {
    let repository = wanted.repository;
    not_foreign(repository)?;
    not_closed(repository)?;
    let home = wanted.user.iter().find(|(name, _)| *name == "HOME").map(|(_, home)| PathBuf::from(home));
    if let Some(path) = waits::what_never_ends(repository, wanted.branch, home.as_deref()) {
        return Err(CommitError::NeverEnds { path });
    }
    let bench =
        CommitBuilder { git, wanted, scratch: ScratchRepository::new(wanted.temp, repository.format)? };
    let taken = bench.at(&format!("refs/heads/{}", wanted.branch))?;
    let mut trouble = None;
    for parent in bench.parents()? {
        let tree = match bench.tree(parent.as_deref()) {
            Err(CommitError::DoesNotFit { detail }) => {
                trouble.get_or_insert(detail);
                continue;
            }
            other => other?,
        };
        match &taken {
            Some(id) if bench.is(id, &tree, parent.as_deref())? => {
                return Ok(CommittedChange { id: id.clone(), before: true });
            }
            Some(_) => {}
            None => return bench.make(&tree, parent.as_deref()),
        }
    }
    match (taken, trouble) {
        (Some(commit), _) => Err(CommitError::Taken { branch: wanted.branch.to_owned(), commit }),
        (None, detail) => Err(CommitError::DoesNotFit { detail: detail.unwrap_or_default() }),
    }
}

fn not_foreign(repository: &Repository) -> Result<(), CommitError> {
    let path = &repository.common_dir;
    let owner = std::fs::metadata(path).map_err(GitError::io("look at", path))?.uid();
    match rustix::process::geteuid().is_root() && owner != 0 {
        true => Err(CommitError::Foreign { path: path.clone() }),
        false => Ok(()),
    }
}

/// Found out by trying: git would say it in words that sound as if the change were wrong.
fn not_closed(repository: &Repository) -> Result<(), CommitError> {
    let path = repository.common_dir.join("objects");
    let tried = tempfile::tempfile_in(&path).map(drop);
    tried.map_err(|error| CommitError::Closed { path, why: error.kind().to_string() })
}

struct CommitBuilder<'a> {
    git: &'a Git,
    wanted: CommitRequest<'a>,
    scratch: ScratchRepository,
}

impl CommitBuilder<'_> {
    /// Commits the change may go on top of: the one it was made on, then the one that is checked out.
    fn parents(&self) -> Result<Vec<Option<String>>, GitError> {
        let mut parents = Vec::new();
        if let Some(base) = self.wanted.base.filter(|base| self.wanted.repository.format.is_id(base)) {
            parents.extend(self.at(base)?);
        }
        parents.extend(self.at("HEAD")?);
        parents.dedup();
        // Nothing was ever committed: then this is the first.
        Ok(if parents.is_empty() { vec![None] } else { parents.into_iter().map(Some).collect() })
    }

    /// The commit a name stands for in the user's repository.
    fn at(&self, name: &str) -> Result<Option<String>, GitError> {
        let name = format!("{name}^{{commit}}");
        let call = self.git.call(["rev-parse", "--verify", "--quiet", &name]);
        let done = call.git_dir(&self.wanted.repository.git_dir).run(|_| Ok(()))?;
        let id = String::from_utf8_lossy(&done.stdout).trim().to_owned();
        Ok((done.exit == Some(0) && self.wanted.repository.format.is_id(&id)).then_some(id))
    }

    /// A call in the throw-away repository that reads and writes the user's objects.
    fn call<S: AsRef<OsStr>>(&self, args: &[S]) -> GitCall<'_> {
        let objects = self.wanted.repository.common_dir.join("objects");
        let all = DURABLE.iter().map(OsStr::new).chain(args.iter().map(AsRef::as_ref));
        let call = self.git.call(all).git_dir(self.scratch.path()).dir(self.scratch.path());
        call.env("GIT_OBJECT_DIRECTORY", objects)
    }

    /// The tree with the change on top of a commit.
    fn tree(&self, parent: Option<&str>) -> Result<String, CommitError> {
        match parent {
            Some(parent) => self.call(&["read-tree", parent]).output()?,
            None => self.call(&["read-tree", "--empty"]).output()?,
        };
        if let Some(error) = self.in_submodule()? {
            return Err(error);
        }
        let mut directory = OsString::from("--directory=");
        directory.push(&self.wanted.repository.prefix);
        let mut args = ["apply", "--cached", "--whitespace=nowarn", "-p1"].map(OsString::from).to_vec();
        if !self.wanted.repository.is_toplevel() {
            args.push(directory);
        }
        args.push("-".into());
        let done = self.call(&args).run(|stdin| stdin.write_all(self.wanted.patch))?;
        let raw = done.exit == Some(0);
        // Bytes of files are not always what is committed of them.
        let conversion = TreeConversion::new(self.git, self.wanted)?;
        match (conversion.way(&self.scratch.path().join("index"))?, raw) {
            (ConversionMode::Raw, true) => Ok(text(&self.call(&["write-tree"]).output()?)),
            (ConversionMode::Raw, false) => Err(CommitError::DoesNotFit { detail: tail(&done.stderr) }),
            (ConversionMode::Converted, raw) => conversion.tree(parent, raw),
        }
    }

    /// The first touched file that lies in a submodule: to git it is a file that is not there, and a new one would take the
    /// submodule's place.
    fn in_submodule(&self) -> Result<Option<CommitError>, GitError> {
        let listed = self.call(&["ls-files", "--stage", "-z"]).output()?;
        let entries = listed.split(|byte| *byte == 0).filter_map(|entry| entry.strip_prefix(b"160000 "));
        let modules: Vec<&Path> = entries
            .filter_map(|entry| entry.split(|byte| *byte == b'\t').nth(1))
            .map(|name| Path::new(OsStr::from_bytes(name)))
            .collect();
        let prefix = &self.wanted.repository.prefix;
        let paths: Vec<PathBuf> = self.wanted.touched.iter().map(|t| prefix.join(&t.path)).collect();
        // One that the change itself takes away is none any more.
        let stays = |module: &&&Path| !paths.iter().any(|path| path == **module);
        Ok(modules.iter().filter(stays).find_map(|module| {
            let path = paths.iter().find(|path| path.starts_with(module))?.clone();
            Some(CommitError::InSubmodule { module: module.to_path_buf(), path })
        }))
    }

    /// Whether a commit has this tree and this one parent.
    fn is(&self, id: &str, tree: &str, parent: Option<&str>) -> Result<bool, GitError> {
        let names = [format!("{id}^{{tree}}"), format!("{id}^@")];
        let shown = text(&self.call(&["rev-parse", &names[0], &names[1]]).output()?);
        Ok(shown.split_whitespace().eq([Some(tree), parent].into_iter().flatten()))
    }

    fn make(&self, tree: &str, parent: Option<&str>) -> Result<CommittedChange, CommitError> {
        let (author, committer) = (self.identity("AUTHOR")?, self.identity("COMMITTER")?);
        let mut args = vec!["commit-tree", tree];
        if let Some(parent) = parent {
            args.extend(["-p", parent]);
        }
        args.extend(["-F", "-"]);
        let call = author.as_author(committer.as_committer(self.call(&args)));
        let id = text(&call.feed(|stdin| stdin.write_all(self.wanted.message.as_bytes()))?);
        let name = format!("refs/heads/{}", self.wanted.branch);
        let nothing = "0".repeat(id.len());
        let args = DURABLE.into_iter().chain(["update-ref", "-m", "holon", &name, &id, &nothing]);
        committer.as_committer(self.git.call(args).git_dir(&self.wanted.repository.git_dir)).output()?;
        Ok(CommittedChange { id, before: false })
    }

    /// Name and e-mail as the user's own configuration has them; never made up from the machine's name.
    fn identity(&self, role: &str) -> Result<GitIdentity, CommitError> {
        let variable = format!("GIT_{role}_IDENT");
        let call = self.git.call(["-c", "user.useConfigOnly=true", "var", &variable]);
        let call = call.git_dir(&self.wanted.repository.git_dir).as_user(self.wanted.user);
        let done = call.run(|_| Ok(()))?;
        let said = text(&done.stdout);
        let parts = said.split_once(" <").and_then(|(name, rest)| Some((name, rest.split_once('>')?.0)));
        match parts.filter(|(name, _)| done.exit == Some(0) && !name.trim().is_empty()) {
            Some((name, email)) => Ok(GitIdentity { name: name.to_owned(), email: email.to_owned() }),
            None => Err(CommitError::NoIdentity),
        }
    }
}

struct GitIdentity {
    name: String,
    email: String,
}

impl GitIdentity {
    fn as_author<'g>(&self, call: GitCall<'g>) -> GitCall<'g> {
        call.env("GIT_AUTHOR_NAME", &self.name).env("GIT_AUTHOR_EMAIL", &self.email)
    }

    fn as_committer<'g>(&self, call: GitCall<'g>) -> GitCall<'g> {
        call.env("GIT_COMMITTER_NAME", &self.name).env("GIT_COMMITTER_EMAIL", &self.email)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}
