//! A throw-away repository of the host's own, where two small trees become a patch.

use std::fs;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::quote::quote;
use crate::{Git, GitError};

/// Attributes that win over every `.gitattributes`: bytes stay as they are.
pub(crate) const RAW_ATTRIBUTES: &str =
    "* -text !eol -ident -filter -working-tree-encoding !diff !merge !whitespace !conflict-marker-size\n";

/// Candidates git may compare pairwise when looking for renames with edits.
const RENAME_LIMIT: u32 = 400;

/// Which hash names objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ObjectFormat {
    /// 40 hex digits.
    #[default]
    Sha1,
    /// 64 hex digits.
    Sha256,
}

impl ObjectFormat {
    /// Git's name for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sha1 => "sha1",
            Self::Sha256 => "sha256",
        }
    }

    /// Whether `text` is a full id in lower-case hex.
    pub fn is_id(self, text: &str) -> bool {
        let digits = match self {
            Self::Sha1 => 40,
            Self::Sha256 => 64,
        };
        text.len() == digits && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    }
}

/// A bare repository without branches, hooks, attributes or anyone's configuration; deleted when dropped.
#[derive(Debug)]
pub struct ScratchRepository {
    dir: tempfile::TempDir,
    format: ObjectFormat,
}

/// A patch between two imported trees.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeDiff {
    /// What `git apply` takes; empty when the trees are equal.
    pub patch: Vec<u8>,
    /// Files in it; a rename counts once.
    pub files: u64,
    /// Lines added in text files.
    pub insertions: u64,
    /// Lines removed in text files.
    pub deletions: u64,
}

impl ScratchRepository {
    /// Makes one below `parent`, by hand: `git init` would cost a process and read templates.
    pub fn new(parent: &Path, format: ObjectFormat) -> Result<Self, GitError> {
        let dir = tempfile::Builder::new()
            .prefix("scratch-")
            .tempdir_in(parent)
            .map_err(GitError::io("make a scratch repository in", parent))?;
        let config = match format {
            ObjectFormat::Sha1 => "[core]\n\trepositoryformatversion = 0\n\tbare = true\n".to_owned(),
            ObjectFormat::Sha256 => {
                "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = sha256\n"
                    .to_owned()
            }
        };
        let scratch = Self { dir, format };
        for name in ["objects/info", "objects/pack", "refs/heads", "info"] {
            let path = scratch.path().join(name);
            fs::create_dir_all(&path).map_err(GitError::io("create", &path))?;
        }
        scratch.write("config", config.as_bytes())?;
        scratch.write("info/attributes", RAW_ATTRIBUTES.as_bytes())?;
        scratch.write("HEAD", b"ref: refs/heads/unborn\n")?;
        Ok(scratch)
    }

    /// The git directory.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Which ids its objects have.
    pub fn format(&self) -> ObjectFormat {
        self.format
    }

    /// Lets git also read the objects in these `objects` directories.
    pub fn borrow_objects(&self, from: &[PathBuf]) -> Result<(), GitError> {
        let mut text = Vec::new();
        for path in from {
            // Quoting makes every path expressible, also one with a newline or a leading `#`.
            text.extend(quote(path.as_os_str().as_bytes()));
            text.push(b'\n');
        }
        self.write("objects/info/alternates", &text)
    }

    /// Imports trees in one process: `fill` names each tree and lists its entries.
    pub fn import(
        &self,
        git: &Git,
        fill: impl FnOnce(&mut Importer<'_>) -> Result<(), GitError>,
    ) -> Result<(), GitError> {
        let mut refused = None;
        let args = [
            "-c",
            "fastimport.unpackLimit=0",
            "-c",
            "pack.compression=0",
            "fast-import",
            "--quiet",
            "--done",
            "--depth=0",
            "--big-file-threshold=4m",
        ];
        let done = git.call(args).git_dir(self.path()).dir(self.path()).feed(|stdin| {
            let mut importer = Importer { out: BufWriter::with_capacity(1 << 16, stdin) };
            match fill(&mut importer).and_then(|()| importer.finish()) {
                Ok(()) => Ok(()),
                Err(GitError::Import { source, .. }) if source.kind() == io::ErrorKind::BrokenPipe => {
                    Err(source)
                }
                Err(e) => {
                    refused = Some(e);
                    Err(io::Error::other("the import was given up"))
                }
            }
        });
        match refused {
            Some(e) => Err(e),
            None => done.map(drop),
        }
    }

    /// The patch that turns one imported tree into another. `renames` says whether moved files are told as
    /// renames (shorter) or as a deletion and a creation.
    pub fn diff(&self, git: &Git, from: &str, to: &str, renames: bool) -> Result<TreeDiff, GitError> {
        let limit = format!("-l{RENAME_LIMIT}");
        let (from, to) = (reference(from), reference(to));
        let mut args = vec![
            "diff-tree",
            "-r",
            "--numstat",
            "-p",
            "--binary",
            "--full-index",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            "--unified=3",
            "--diff-algorithm=histogram",
            "--src-prefix=a/",
            "--dst-prefix=b/",
            "--ignore-submodules=none",
            "--submodule=short",
            &limit,
        ];
        args.push(if renames { "--find-renames" } else { "--no-renames" });
        args.extend([from.as_str(), to.as_str(), "--"]);
        let out = git.call(args).git_dir(self.path()).dir(self.path()).output()?;
        Ok(split_numstat(out))
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), GitError> {
        let path = self.path().join(name);
        fs::write(&path, bytes).map_err(GitError::io("write", path))
    }
}

fn reference(tree: &str) -> String {
    format!("refs/heads/{tree}")
}

/// Separates the counts git prints first from the patch after the empty line.
fn split_numstat(mut out: Vec<u8>) -> TreeDiff {
    let mut diff = TreeDiff::default();
    let mut at = 0;
    for line in out.split_inclusive(|&b| b == b'\n') {
        at += line.len();
        if line == b"\n" {
            break;
        }
        let mut columns =
            line.split(|&b| b == b'\t').map(|c| std::str::from_utf8(c).ok()?.parse::<u64>().ok());
        diff.files += 1;
        // Binary files have `-` for both.
        diff.insertions += columns.next().flatten().unwrap_or(0);
        diff.deletions += columns.next().flatten().unwrap_or(0);
    }
    diff.patch = out.split_off(at);
    diff
}

/// Writes the stream `git fast-import` reads: raw bytes, no filters, no attributes.
pub struct Importer<'w> {
    out: BufWriter<&'w mut dyn Write>,
}

impl Importer<'_> {
    /// Begins a tree; the entries that follow belong to it.
    pub fn tree(&mut self, name: &str) -> Result<(), GitError> {
        let text = format!("commit {}\ncommitter h <h> 0 +0000\ndata 0\n", reference(name));
        self.out.write_all(text.as_bytes()).map_err(failed(name.as_bytes()))
    }

    /// Adds a file of exactly `len` bytes read from `content`.
    pub fn file(
        &mut self,
        path: &[u8],
        exec: bool,
        len: u64,
        content: &mut dyn Read,
    ) -> Result<(), GitError> {
        self.entry(if exec { "100755" } else { "100644" }, "inline", path)?;
        let mut copy = || {
            writeln!(self.out, "data {len}")?;
            if io::copy(&mut content.take(len), &mut self.out)? != len {
                return Err(io::Error::other("it became shorter while being read"));
            }
            self.out.write_all(b"\n")
        };
        copy().map_err(failed(path))
    }

    /// Adds a symbolic link.
    pub fn symlink(&mut self, path: &[u8], target: &[u8]) -> Result<(), GitError> {
        self.entry("120000", "inline", path)?;
        let mut write = || {
            writeln!(self.out, "data {}", target.len())?;
            self.out.write_all(target)?;
            self.out.write_all(b"\n")
        };
        write().map_err(failed(path))
    }

    /// Adds a submodule pointer; `id` must be a full hex id.
    pub fn gitlink(&mut self, path: &[u8], id: &str) -> Result<(), GitError> {
        self.entry("160000", id, path)
    }

    fn entry(&mut self, mode: &str, what: &str, path: &[u8]) -> Result<(), GitError> {
        // Not every git refuses such names here, and none may reach a patch.
        let unfit = |part: &[u8]| matches!(part, b"" | b"." | b"..") || part.eq_ignore_ascii_case(b".git");
        if path.contains(&0) || path.split(|&b| b == b'/').any(unfit) {
            return Err(failed(path)(io::Error::other("it is no path of a working tree")));
        }
        let mut write = || {
            write!(self.out, "M {mode} {what} ")?;
            self.out.write_all(&quote(path))?;
            self.out.write_all(b"\n")
        };
        write().map_err(failed(path))
    }

    fn finish(&mut self) -> Result<(), GitError> {
        self.out.write_all(b"done\n").and_then(|()| self.out.flush()).map_err(failed(b"the last entry"))
    }
}

fn failed(path: &[u8]) -> impl FnOnce(io::Error) -> GitError {
    let path = PathBuf::from(std::ffi::OsStr::from_bytes(path));
    move |source| GitError::Import { path, source }
}
