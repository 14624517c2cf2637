//! What the agent left in its output folder: any tree at all, of which only plain files of bounded size are taken.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use holon_core::artifact;
use holon_core::manifest::ArtifactRecord;
use holon_git::{FileMode, PathDigest};
use rustix::fs::{Mode, OFlags, ResolveFlags};

use super::ActiveRun;
use crate::error::HostError;

/// What is said of a file that is not there.
pub(super) const MISSING: &str = "the file is missing";

/// Files taken besides the artifacts asked for, and how deep they may lie.
const MAX_FILES: usize = 2_000;
const MAX_DEPTH: usize = 16;

impl ActiveRun<'_> {
    /// One file the agent left, or what is wrong with it in words it can act on.
    pub(super) fn read_left(&self, name: &str, limit: u64) -> Result<Vec<u8>, String> {
        let file = open_below(&self.folder.left(), Path::new(name)).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => MISSING.to_owned(),
            _ => "it must be a regular file, not a link, folder or special file".to_owned(),
        })?;
        let cannot = |e: io::Error| format!("it cannot be read: {e}");
        let size = file.metadata().map_err(cannot)?.len();
        if size > limit {
            return Err(format!("it has {size} bytes, more than the {} MiB a run may leave", limit >> 20));
        }
        let mut bytes = Vec::new();
        file.take(limit).read_to_end(&mut bytes).map_err(cannot)?;
        Ok(bytes)
    }

    /// Carries everything else over, redacted, once; what is too much, too deep or no plain file stays behind.
    pub(super) fn keep_left(&mut self) {
        // Without the folder nothing was started.
        if std::mem::replace(&mut self.kept, true) || !self.folder.left().exists() {
            return;
        }
        let mut room = self.plan.profile.limits.output_mb << 20;
        let (files, mut behind) = plain_files(&self.folder.left());
        for name in files {
            let known = matches!(name.to_str(), Some("manifest.json" | "diff.patch"));
            if known || self.folder.output().join(&name).exists() {
                continue;
            }
            if let Some(rule) = self.events.redactor().first_hit(name.as_os_str().as_bytes()) {
                self.warn(format!(
                    "a file the agent left is not kept: its name holds what looks like a secret ({rule})"
                ));
                continue;
            }
            match self.carry(&name, room) {
                Ok(Ok(row)) => {
                    room = room.saturating_sub(row.bytes);
                    self.manifest.artifacts.push(row);
                }
                Ok(Err(why)) => behind.add(&name, why),
                Err(e) => behind.add(&name, e.to_string()),
            }
        }
        for (name, why) in behind.named {
            self.warn(format!("{} was not kept: {why}", name.display()));
        }
        if behind.more > 0 {
            self.warn(format!("{} more things the agent left were not kept", behind.more));
        }
    }

    /// Carries one file over, or says why it stays behind.
    fn carry(&self, name: &Path, room: u64) -> Result<Result<ArtifactRecord, String>, HostError> {
        let target = self.folder.output().join(name);
        let Ok(file) = open_below(&self.folder.left(), name) else {
            return Ok(Err("it is no plain file".into()));
        };
        let size = file.metadata().map_err(HostError::io("read", name))?.len();
        if size > room {
            let most = self.plan.profile.limits.output_mb;
            return Ok(Err(format!(
                "it has {size} bytes, and {room} are left of the {most} MiB that a run may leave (--max-output)"
            )));
        }
        let parent = target.parent().unwrap_or(&target);
        fs::create_dir_all(parent).map_err(HostError::io("create", parent))?;
        let mut to = File::create(&target).map_err(HostError::io("create", &target))?;
        self.redact_into(file.take(room), &mut to).map_err(HostError::io("write", &target))?;
        let mut written = File::open(&target).map_err(HostError::io("read", &target))?;
        let (digest, bytes) =
            PathDigest::of_reader(FileMode::Regular, &mut written).map_err(HostError::io("read", &target))?;
        let problems = name.to_str().map(|name| misshapen(name, &target)).unwrap_or_default();
        // A run that failed before it came to that has judged nothing, and demanded it all the same.
        let required = name.to_str().is_some_and(|name| self.plan.profile.requires(name));
        Ok(Ok(ArtifactRecord {
            path: name.to_string_lossy().into_owned(),
            sha256: Some(digest.sha256),
            bytes,
            required,
            valid: problems.is_empty(),
            problems,
        }))
    }

    /// Gives files the agent left below `evidence/` another name where the host's own evidence has that name, so that the
    /// copy for the user holds both, under the paths the manifest gives them.
    pub(super) fn settle_evidence(&mut self) {
        let own = self.folder.evidence();
        let output = self.folder.output();
        for row in &mut self.manifest.artifacts {
            let Some(name) = row.path.strip_prefix("evidence/") else { continue };
            if !clashes(&own, Path::new(name)) {
                continue;
            }
            let moved = format!("{OF_AGENT}/{name}");
            let target = output.join(&moved);
            let made = target.parent().map(fs::create_dir_all).transpose().map(drop);
            if made.and_then(|()| fs::rename(output.join(&row.path), &target)).is_ok() {
                row.path = moved;
            }
        }
    }

    fn redact_into(&self, mut from: impl Read, to: &mut File) -> io::Result<()> {
        let mut redactor = self.events.redactor().stream();
        let (mut buffer, mut clean) = (vec![0; 64 * 1024], Vec::new());
        loop {
            let n = from.read(&mut buffer)?;
            if n == 0 {
                redactor.flush(&mut clean);
                return to.write_all(&clean);
            }
            redactor.push(&buffer[..n], &mut clean);
            to.write_all(&clean)?;
            clean.clear();
        }
    }
}

/// Whether a file of this name has to have a certain form, asked for or not.
pub fn promises_form(name: &str) -> bool {
    let kind = artifact::ArtifactKind::of(name);
    kind == artifact::ArtifactKind::PlanMarkdown || kind.schema().is_some()
}

/// What is wrong with a file nobody asked for: only one whose name promises a form can be wrong.
fn misshapen(name: &str, kept: &Path) -> Vec<String> {
    if !promises_form(name) {
        return Vec::new();
    }
    let wrong = fs::read(kept).map(|bytes| artifact::validate(name, &bytes).err().unwrap_or_default());
    wrong.map_or_else(|e| vec![e.to_string()], |wrong| wrong.iter().map(ToString::to_string).collect())
}

/// Opens a regular file below `folder` through no link at all, without waiting on anything.
pub(super) fn open_below(folder: &Path, relative: &Path) -> io::Result<File> {
    let root = File::open(folder)?;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(rustix::fs::openat2(&root, relative, flags, Mode::empty(), resolve)?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    Ok(file)
}

/// Whether a path could not stand beside what is in a folder: it is there, or a part of it is something else.
fn clashes(folder: &Path, path: &Path) -> bool {
    let mut parts = path.ancestors().take_while(|part| !part.as_os_str().is_empty());
    let whole = parts.next().is_some_and(|whole| folder.join(whole).symlink_metadata().is_ok());
    whole || parts.any(|part| folder.join(part).symlink_metadata().is_ok_and(|meta| !meta.is_dir()))
}

/// Where files of an agent go that have the name of the host's own evidence.
const OF_AGENT: &str = "evidence/of-agent";

/// How many things that are not kept are told by name.
const MOST_NAMED: usize = 20;

/// What the agent left and nobody takes, with the reason.
#[derive(Debug, Default)]
struct UntakenLeftovers {
    named: Vec<(PathBuf, String)>,
    more: u64,
}

impl UntakenLeftovers {
    fn add(&mut self, name: &Path, why: impl Into<String>) {
        if self.named.len() < MOST_NAMED {
            self.named.push((name.to_owned(), why.into()));
        } else {
            self.more += 1;
        }
    }
}

/// Names of the plain files below a folder, in order, and what else there is.
fn plain_files(folder: &Path) -> (Vec<PathBuf>, UntakenLeftovers) {
    let (mut files, mut behind) = (Vec::new(), UntakenLeftovers::default());
    let mut todo = vec![(PathBuf::new(), 0)];
    while let Some((below, depth)) = todo.pop() {
        let Ok(entries) = fs::read_dir(folder.join(&below)) else {
            behind.add(&below, "the folder cannot be read");
            continue;
        };
        for entry in entries.flatten() {
            let name = below.join(entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < MAX_DEPTH => todo.push((name, depth + 1)),
                Ok(kind) if kind.is_dir() => {
                    behind.add(&name, format!("it is more than {MAX_DEPTH} folders deep"))
                }
                Ok(kind) if kind.is_file() && files.len() < MAX_FILES => files.push(name),
                Ok(kind) if kind.is_file() => {
                    behind.add(&name, format!("there are more than {MAX_FILES} files"))
                }
                _ => behind.add(&name, "it is no plain file"),
            }
            if behind.more > 1_000_000 {
                return (files, behind);
            }
        }
    }
    files.sort();
    (files, behind)
}
