//! What a repository is, told from a handful of its files: no process, no walk over its tree.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::objects::ObjectFormat;
use crate::pointer::{self, LinkedGitDir};
use crate::refs::{self, RepositoryHead};
use crate::{Git, GitError, config, read};

const LONGEST_CONFIG: u64 = 1 << 20;

/// Facts about the repository a workspace belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// Root of the working tree.
    pub toplevel: PathBuf,
    /// The workspace below `toplevel`; empty when they are the same.
    pub prefix: PathBuf,
    /// This working tree's git directory.
    pub git_dir: PathBuf,
    /// The directory with objects and branches; differs from `git_dir` in a worktree.
    pub common_dir: PathBuf,
    /// How the working tree is tied to it.
    pub link: WorktreeLink,
    /// Where it stands.
    pub head: RepositoryHead,
    /// Which ids its objects have.
    pub format: ObjectFormat,
    /// Whether only a part of the tree is checked out.
    pub sparse: bool,
    /// An operation the user has not finished.
    pub unfinished: Option<UnfinishedOperation>,
}

/// How a working tree is tied to its repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorktreeLink {
    /// `.git` is a directory.
    Directory,
    /// `.git` is a file: one of several worktrees.
    Worktree,
    /// `.git` is a file: a submodule.
    Submodule,
}

/// Something begun in a repository and not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnfinishedOperation {
    /// `git merge` with conflicts, or before its commit.
    Merge,
    /// `git rebase` or `git am`.
    Rebase,
    /// `git cherry-pick`.
    CherryPick,
    /// `git revert`.
    Revert,
    /// `git bisect`.
    Bisect,
}

/// The answer to "is this a repository".
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepositoryLookup {
    /// The repository, when there is one that may be used.
    pub repository: Option<Repository>,
    /// Why something that looked like one is not used, in words for the user.
    pub warnings: Vec<String>,
}

impl Repository {
    /// Looks at `workspace` and, if it has no `.git`, at the directories above it.
    pub fn look(workspace: &Path) -> Result<RepositoryLookup, GitError> {
        let workspace = fs::canonicalize(workspace).map_err(GitError::io("open", workspace))?;
        let mut found = RepositoryLookup::default();
        let mut toplevel = workspace.as_path();
        loop {
            let dot_git = toplevel.join(".git");
            match fs::symlink_metadata(&dot_git) {
                Ok(meta) => {
                    match at(toplevel, &workspace, &dot_git, &meta) {
                        Ok(Some(repository)) => found.repository = Some(repository),
                        Ok(None) => {}
                        Err(why) => found.warnings.push(format!("{} is not used: {why}", dot_git.display())),
                    }
                    return Ok(found);
                }
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                // Above the workspace, what cannot be looked at is not there.
                Err(_) if toplevel != workspace => return Ok(found),
                Err(e) => return Err(GitError::io("look at", dot_git)(e)),
            }
            match toplevel.parent() {
                Some(parent) => toplevel = parent,
                None => return Ok(found),
            }
        }
    }

    /// Whether the workspace is the root of the working tree.
    pub fn is_toplevel(&self) -> bool {
        self.prefix.as_os_str().is_empty()
    }

    /// Asks git for HEAD where reading the files gave [`RepositoryHead::Unknown`]; `None` when git cannot tell either.
    pub fn ask_head(&self, git: &Git) -> Result<Option<String>, GitError> {
        let call = git.call(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
        let done = call.git_dir(&self.git_dir).within(Duration::from_secs(20)).run(|_| Ok(()))?;
        let id = String::from_utf8_lossy(&done.stdout).trim().to_owned();
        Ok((done.exit == Some(0) && self.format.is_id(&id)).then_some(id))
    }

    /// The name of this worktree's entry in the common directory.
    pub fn worktree_name(&self) -> Option<&std::ffi::OsStr> {
        (self.link == WorktreeLink::Worktree).then(|| self.git_dir.file_name()).flatten()
    }
}

/// Reads the repository of a `.git` that exists; `Ok(None)` when it plainly is none.
fn at(
    toplevel: &Path,
    workspace: &Path,
    dot_git: &Path,
    meta: &fs::Metadata,
) -> Result<Option<Repository>, String> {
    let (git_dir, common_dir, link) = if meta.file_type().is_symlink() {
        return Err("it is a symbolic link, which could lead anywhere".into());
    } else if meta.is_dir() {
        (dot_git.to_owned(), dot_git.to_owned(), WorktreeLink::Directory)
    } else if meta.is_file() {
        match pointer::follow(toplevel, dot_git)? {
            LinkedGitDir::Worktree { git_dir, common_dir } => (git_dir, common_dir, WorktreeLink::Worktree),
            LinkedGitDir::Submodule { git_dir } => (git_dir.clone(), git_dir, WorktreeLink::Submodule),
        }
    } else {
        return Err("it is neither a directory nor a file".into());
    };
    if toplevel != workspace && !same_owner(meta, workspace) {
        return Err("it lies above the workspace and belongs to another user".into());
    }
    if !common_dir.join("objects").is_dir() || fs::symlink_metadata(git_dir.join("HEAD")).is_err() {
        return if link == WorktreeLink::Directory {
            Ok(None)
        } else {
            Err("what it names is no repository".into())
        };
    }
    let settings = settings(&common_dir.join("config"))?;
    let format = object_format(&settings)?;
    let worktree_settings = match config::is_true(&settings, "extensions", "worktreeconfig") {
        true => self::settings(&git_dir.join("config.worktree"))?,
        false => Vec::new(),
    };
    let is_set =
        |key| config::is_true(&settings, "core", key) || config::is_true(&worktree_settings, "core", key);
    Ok(Some(Repository {
        prefix: workspace.strip_prefix(toplevel).unwrap_or(Path::new("")).to_owned(),
        toplevel: toplevel.to_owned(),
        head: refs::head(&git_dir, &common_dir, format),
        sparse: is_set("sparsecheckout"),
        unfinished: unfinished(&git_dir),
        git_dir,
        common_dir,
        link,
        format,
    }))
}

fn same_owner(dot_git: &fs::Metadata, workspace: &Path) -> bool {
    let me = rustix::process::geteuid().as_raw();
    let owner = fs::symlink_metadata(workspace).map(|meta| meta.uid()).ok();
    [Some(0), Some(me), owner].contains(&Some(dot_git.uid()))
}

fn settings(path: &Path) -> Result<Vec<config::GitSetting>, String> {
    let text = read::small(path, LONGEST_CONFIG).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(config::parse(&text.unwrap_or_default()))
}

fn object_format(settings: &[config::GitSetting]) -> Result<ObjectFormat, String> {
    let Some(setting) = config::get(settings, "extensions", "objectformat") else {
        return Ok(ObjectFormat::Sha1);
    };
    match setting.value.as_deref() {
        Some(b"sha1") => Ok(ObjectFormat::Sha1),
        Some(b"sha256") => Ok(ObjectFormat::Sha256),
        other => Err(format!(
            "its object format `{}` is not known",
            String::from_utf8_lossy(other.unwrap_or_default())
        )),
    }
}

fn unfinished(git_dir: &Path) -> Option<UnfinishedOperation> {
    let marks = [
        ("rebase-merge", UnfinishedOperation::Rebase),
        ("rebase-apply", UnfinishedOperation::Rebase),
        ("MERGE_HEAD", UnfinishedOperation::Merge),
        ("CHERRY_PICK_HEAD", UnfinishedOperation::CherryPick),
        ("REVERT_HEAD", UnfinishedOperation::Revert),
        ("BISECT_LOG", UnfinishedOperation::Bisect),
    ];
    marks.into_iter().find(|(mark, _)| fs::symlink_metadata(git_dir.join(mark)).is_ok()).map(|(_, what)| what)
}
