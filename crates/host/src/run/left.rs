//! What the agent left in its output folder: any tree at all, of which only plain files of bounded size are taken.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use holon_core::manifest::Artifact;
use holon_git::{Digest, FileMode};
use rustix::fs::{Mode, OFlags, ResolveFlags};

use super::Run;
use crate::error::HostError;

/// Files taken besides the artifacts asked for, and how deep they may lie.
const MAX_FILES: usize = 2_000;
const MAX_DEPTH: usize = 16;

impl Run<'_> {
    /// One file the agent left, or what is wrong with it in words it can act on.
    pub(super) fn read_left(&self, name: &str, limit: u64) -> Result<Vec<u8>, String> {
        let file = open_below(&self.folder.left(), Path::new(name)).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => "the file is missing".to_owned(),
            _ => "it must be a regular file, not a link, folder or special file".to_owned(),
        })?;
        let cannot = |e: io::Error| format!("it cannot be read: {e}");
        if file.metadata().map_err(cannot)?.len() > limit {
            return Err(format!("it is larger than {} MiB", limit >> 20));
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
                Ok(Some(row)) => {
                    room = room.saturating_sub(row.bytes);
                    self.manifest.artifacts.push(row);
                }
                Ok(None) => behind += 1,
                Err(e) => self.warn(format!("{} was not kept: {e}", name.display())),
            }
        }
        if behind > 0 {
            self.warn(format!("{behind} things the agent left are not kept: too large, too deep, too many, or no plain files"));
        }
    }

    fn carry(&self, name: &Path, room: u64) -> Result<Option<Artifact>, HostError> {
        let target = self.folder.output().join(name);
        let Ok(file) = open_below(&self.folder.left(), name) else { return Ok(None) };
        if file.metadata().map_err(HostError::io("read", name))?.len() > room {
            return Ok(None);
        }
        let parent = target.parent().unwrap_or(&target);
        fs::create_dir_all(parent).map_err(HostError::io("create", parent))?;
        let mut to = File::create(&target).map_err(HostError::io("create", &target))?;
        self.redact_into(file.take(room), &mut to).map_err(HostError::io("write", &target))?;
        let mut written = File::open(&target).map_err(HostError::io("read", &target))?;
        let (digest, bytes) =
            Digest::of_reader(FileMode::Regular, &mut written).map_err(HostError::io("read", &target))?;
        Ok(Some(Artifact {
            path: name.to_string_lossy().into_owned(),
            sha256: Some(digest.sha256),
            bytes,
            required: false,
            valid: true,
            problems: Vec::new(),
        }))
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

/// Names of the plain files below a folder, in order, and how many other things there are.
fn plain_files(folder: &Path) -> (Vec<PathBuf>, u64) {
    let (mut files, mut behind) = (Vec::new(), 0);
    let mut todo = vec![(PathBuf::new(), 0)];
    while let Some((below, depth)) = todo.pop() {
        let Ok(entries) = fs::read_dir(folder.join(&below)) else {
            behind += 1;
            continue;
        };
        for entry in entries.flatten() {
            let name = below.join(entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < MAX_DEPTH => todo.push((name, depth + 1)),
                Ok(kind) if kind.is_file() && files.len() < MAX_FILES => files.push(name),
                _ => behind += 1,
            }
            if behind > 1_000_000 {
                return (files, behind);
            }
        }
    }
    files.sort();
    (files, behind)
}
