//! A patch of working files as a tree of committed ones, where git converts between the two: line ends, keywords and
//! encodings, which git does itself. A filter is somebody's program; none is run, and what goes through one is refused.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::command::{GitCall, tail};
use crate::commit::{CommitError, CommitRequest};
use crate::objects::RAW_ATTRIBUTES;
use crate::read;
use crate::touched::{FileMode, PathDigest, TouchedPath};
use crate::{Git, GitError, ScratchRepository, apply};

/// The attributes by which git changes bytes between a file and what is committed.
const CONVERTING: [&str; 6] = ["filter", "text", "eol", "crlf", "ident", "working-tree-encoding"];
/// Attributes that are somebody's own are a page at most.
const MOST_ATTRIBUTES: u64 = 1 << 20;

/// Where a tree with conversions is made: an index and attributes as the user's repository has them, and a folder that
/// stands for its files.
pub(crate) struct TreeConversion<'a> {
    git: &'a Git,
    wanted: CommitRequest<'a>,
    scratch: ScratchRepository,
    files: tempfile::TempDir,
    /// `core.autocrlf` and `core.eol` as the user has them, and a copy of their own attributes.
    settings: [OsString; 3],
}

/// What becomes of touched paths on their way into a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConversionMode {
    /// Every byte stays.
    Raw,
    /// Git converts some of them.
    Converted,
}

impl<'a> TreeConversion<'a> {
    pub(crate) fn new(git: &'a Git, wanted: CommitRequest<'a>) -> Result<Self, GitError> {
        let scratch = ScratchRepository::new(wanted.temp, wanted.repository.format)?;
        let files = tempfile::Builder::new().prefix("files-").tempdir_in(wanted.temp);
        let files = files.map_err(GitError::io("make a folder in", wanted.temp))?;
        // Asked with an override of our own in place, which is the last of the answers.
        let mut crlf = all_of(git, wanted, &["core.autocrlf"])?;
        crlf.pop();
        let setting = |name: &str, values: Vec<String>, default: &str| {
            let last = values.last().map(|value| value.to_lowercase());
            OsString::from(format!("{name}={}", last.as_deref().unwrap_or(default)))
        };
        let eol = all_of(git, wanted, &["core.eol"])?;
        let copy = scratch.path().join("info/attributes-of-user");
        let mut attributes = OsString::from("core.attributesFile=");
        attributes.push(&copy);
        fs::write(&copy, of_user(git, wanted)?).map_err(GitError::io("write", &copy))?;
        let settings =
            [setting("core.autocrlf", crlf, "false"), setting("core.eol", eol, "native"), attributes];
        Ok(Self { git, wanted, scratch, files, settings })
    }

    /// How the touched paths get into a commit by the attributes in an index of somebody else's making.
    pub(crate) fn way(&self, index: &Path) -> Result<ConversionMode, CommitError> {
        self.attributes(false)?;
        let paths: Vec<&TouchedPath> = self.wanted.touched.iter().filter(|t| t.result.is_some()).collect();
        let args = ["check-attr", "--cached", "-z", "--stdin"].into_iter().chain(CONVERTING).map(OsStr::new);
        let args = [OsStr::new("-c"), &self.settings[2]].into_iter().chain(args);
        let call = self.git.call(args).git_dir(self.scratch.path()).env("GIT_INDEX_FILE", index);
        let call = call.env("GIT_OBJECT_DIRECTORY", self.objects());
        let out = call.feed(|stdin| paths.iter().try_for_each(|touched| self.name(stdin, touched)))?;
        let mut way = if self.settings[0] == "core.autocrlf=false" {
            ConversionMode::Raw
        } else {
            ConversionMode::Converted
        };
        let words: Vec<&[u8]> = out.split(|byte| *byte == 0).collect();
        for triple in words.chunks_exact(3) {
            let [path, attribute, value] = [triple[0], triple[1], triple[2]];
            if matches!(value, b"unspecified" | b"unset") {
                continue;
            }
            if attribute == b"filter" {
                let path = PathBuf::from(OsStr::from_bytes(path));
                return Err(CommitError::Filtered {
                    path,
                    filter: String::from_utf8_lossy(value).into_owned(),
                });
            }
            way = ConversionMode::Converted;
        }
        Ok(way)
    }

    /// The tree of the change on top of a commit. `raw` says that the files the change was made on are as they were
    /// committed, byte for byte; else they are what git makes of that.
    pub(crate) fn tree(&self, parent: Option<&str>, raw: bool) -> Result<String, CommitError> {
        match parent {
            Some(parent) => self.call(&["read-tree", parent]).output()?,
            None => self.call(&["read-tree", "--empty"]).output()?,
        };
        let touched = self.wanted.touched;
        let link = |digest: &Option<PathDigest>| digest.as_ref().is_some_and(|d| d.mode == FileMode::Gitlink);
        if let Some(link) = touched.iter().find(|t| link(&t.base) || link(&t.result)) {
            let detail = format!("{} is a submodule, beside files that git converts", link.path.display());
            return Err(CommitError::DoesNotFit { detail });
        }
        self.attributes(raw)?;
        let bases: Vec<&TouchedPath> = touched.iter().filter(|touched| touched.base.is_some()).collect();
        self.over(&["checkout-index", "--force", "-z", "--stdin"], &bases)?;
        let folder = self.files.path().join(&self.wanted.repository.prefix);
        fs::create_dir_all(&folder).map_err(GitError::io("create", &folder))?;
        apply::plain(self.git, self.wanted.patch, &folder, self.wanted.repository.format)
            .map_err(does_not_fit)?;
        for touched in touched {
            let path = folder.join(&touched.path);
            if PathDigest::of_path(&path).map_err(GitError::io("read", &path))? != touched.result {
                let detail = format!("{} would not become what the run made", touched.path.display());
                return Err(CommitError::DoesNotFit { detail });
            }
        }
        self.attributes(false)?;
        self.over(
            &["update-index", "--add", "--remove", "-z", "--stdin"],
            &touched.iter().collect::<Vec<_>>(),
        )?;
        let tree = self.call(&["write-tree"]).output()?;
        Ok(String::from_utf8_lossy(&tree).trim().to_owned())
    }

    /// Attributes beside those in the tree: ones that leave every byte alone, or the repository's own.
    fn attributes(&self, raw: bool) -> Result<(), GitError> {
        let own = self.wanted.repository.common_dir.join("info/attributes");
        let bytes = match raw {
            true => RAW_ATTRIBUTES.as_bytes().to_vec(),
            false => {
                read::small(&own, MOST_ATTRIBUTES).map_err(GitError::io("read", &own))?.unwrap_or_default()
            }
        };
        let path = self.scratch.path().join("info/attributes");
        fs::write(&path, bytes).map_err(GitError::io("write", &path))
    }

    /// A call that knows the folder and the user's objects.
    fn call<S: AsRef<OsStr>>(&self, args: &[S]) -> GitCall<'_> {
        let flag = OsStr::new("-c");
        let bare = [flag, OsStr::new("core.bare=false"), flag, OsStr::new("core.fsync=committed")];
        let settings = self.settings.iter().flat_map(|setting| [flag, setting.as_os_str()]);
        let all = bare.into_iter().chain(settings).chain(args.iter().map(AsRef::as_ref));
        let call = self.git.call(all).git_dir(self.scratch.path()).dir(self.files.path());
        call.work_tree(self.files.path()).env("GIT_OBJECT_DIRECTORY", self.objects())
    }

    fn objects(&self) -> PathBuf {
        self.wanted.repository.common_dir.join("objects")
    }

    /// A call that is told paths.
    fn over(&self, args: &[&str], paths: &[&TouchedPath]) -> Result<(), CommitError> {
        let done =
            self.call(args).run(|stdin| paths.iter().try_for_each(|touched| self.name(stdin, touched)))?;
        match done.exit {
            Some(0) => Ok(()),
            _ => Err(CommitError::DoesNotFit { detail: tail(&done.stderr) }),
        }
    }

    /// A path from the repository's root, as git reads lists of them.
    fn name(&self, to: &mut dyn Write, touched: &TouchedPath) -> std::io::Result<()> {
        let path = self.wanted.repository.prefix.join(&touched.path).into_os_string().into_vec();
        to.write_all(&path)?;
        to.write_all(b"\0")
    }
}

/// Every value of a key, the one that counts last.
fn all_of(git: &Git, wanted: CommitRequest<'_>, key: &[&str]) -> Result<Vec<String>, GitError> {
    let args = ["config", "--get-all"].iter().chain(key);
    let call = git.call(args).git_dir(&wanted.repository.git_dir);
    let done = call.as_user(wanted.user).run(|_| Ok(()))?;
    Ok(String::from_utf8_lossy(&done.stdout).lines().map(|line| line.trim().to_owned()).collect())
}

/// The attributes that hold for all of the user's repositories: those of `core.attributesFile`, or of git's usual place.
fn of_user(git: &Git, wanted: CommitRequest<'_>) -> Result<Vec<u8>, GitError> {
    let mut named = all_of(git, wanted, &["--type=path", "core.attributesFile"])?;
    // The last answer is our own override.
    named.pop();
    let variable = |name: &str| wanted.user.iter().find(|(known, _)| *known == name).map(|(_, value)| value);
    let usual = || {
        let config = variable("XDG_CONFIG_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
        let config = config.or_else(|| Some(Path::new(variable("HOME")?).join(".config")))?;
        Some(config.join("git/attributes"))
    };
    let Some(path) = named.pop().map(PathBuf::from).or_else(usual).filter(|path| path.is_absolute()) else {
        return Ok(Vec::new());
    };
    // It is the user's own, who may keep it elsewhere and link to it.
    let path = fs::canonicalize(&path).unwrap_or(path);
    if fs::metadata(&path).is_ok_and(|meta| !meta.is_file()) {
        return Ok(Vec::new());
    }
    let read = read::small(&path, MOST_ATTRIBUTES).map_err(GitError::io("read", &path))?;
    Ok(read.unwrap_or_default())
}

fn does_not_fit(error: GitError) -> CommitError {
    match error {
        GitError::Failed { stderr, .. } => CommitError::DoesNotFit { detail: stderr },
        other => other.into(),
    }
}
