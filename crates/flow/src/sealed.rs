//! The seal of a run: a list of all its files that are final when it ends, each with its digest, in `sealed.json`.
//!
//! The audit log tells the digest of that list, so whoever changes, removes or adds a file afterwards is found out by
//! `holon runs verify`. What changes later in all honesty (the lock, conflicts, statements) is not in it; of `run.json`
//! only what was asked is.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use holon_core::digest::{sha256, sha256_parts};
use holon_core::manifest::Manifest;
use holon_git::{FileMode, PathDigest};
use holon_host::store::{RunFolder, write_atomic};
use holon_store::AuditEntry;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::audit::AuditTrail;
use crate::error::FlowError;

/// The list, in the run's folder.
pub const SEALED: &str = "sealed.json";
/// Where an entry of the audit log tells the digest of the list.
pub(crate) const SEALED_SHA256: &str = "sealed_sha256";
/// Where it tells the digest of the manifest, for copies of which the list is not at hand.
pub(crate) const MANIFEST_SHA256: &str = "manifest_sha256";
/// What the audit log calls a seal that has no other entry to be told in.
const SEALED_ACTION: &str = "run_sealed";
/// What the audit log calls it when a sealed run is gone on with in its own folder: the seal counts no more.
const RESUMED_ACTION: &str = "run_resumed";
const VERSION: u32 = 1;
/// A run that kept more files than this is not sealed.
const MOST_FILES: usize = 100_000;

/// What is final when a run, a flow or an orchestration ends.
const PARTS: [&str; 19] = [
    "asked.json",
    "bases",
    "carry",
    "checkpoint.jsonl",
    "contents",
    "evidence",
    "flow.json",
    "handed",
    "input",
    "made",
    "merges",
    "notes",
    "orchestrate.json",
    "originals",
    "output",
    "recorded-model.json",
    "run-plan.json",
    "specs",
    "touched.json",
];
/// What `run.json` says that no later command changes.
const ASKED: [&str; 7] = ["id", "workspace", "mode", "goal", "agent", "started_at", "out"];

/// The list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealList {
    /// The form of the list.
    pub version: u32,
    /// The run.
    pub run_id: String,
    /// Digest of what `run.json` says was asked.
    pub asked_sha256: String,
    /// Every file, in the order of their paths.
    pub files: Vec<SealedFile>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedFile {
    /// Relative to the run's folder.
    pub path: String,
    /// What it is.
    pub kind: SealedKind,
    /// Its size.
    pub bytes: u64,
    /// Digest of its content, or of where a link points to.
    pub sha256: String,
}

/// What a listed file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SealedKind {
    /// A plain file.
    File,
    /// A link.
    Link,
    /// A pipe, socket or device.
    Special,
    /// What cannot be read.
    Unreadable,
}

/// What is in the sealed parts of a run's folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SealedContents {
    /// Every file, in the order of their paths.
    pub files: Vec<SealedFile>,
    /// Whether there are more files than anybody seals.
    pub too_many: bool,
}

/// Digests of files that are known already: path, size and digest.
type KnownDigests<'a> = BTreeMap<String, (u64, &'a str)>;

impl SealedContents {
    /// Looks at every file of a run once, without following a link and without keeping any content in memory.
    pub fn in_folder(folder: &Path) -> Self {
        Self::knowing(folder, &KnownDigests::new())
    }

    fn knowing(folder: &Path, known: &KnownDigests<'_>) -> Self {
        let mut found = Self::default();
        let mut todo: Vec<PathBuf> = PARTS.iter().map(PathBuf::from).collect();
        todo.extend(lists_of_parts(folder));
        while let Some(below) = todo.pop() {
            let path = folder.join(&below);
            let kind = match fs::symlink_metadata(&path) {
                Ok(meta) => meta.file_type(),
                Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                Err(_) => {
                    found.files.push(unreadable(&below));
                    continue;
                }
            };
            if kind.is_dir() {
                match fs::read_dir(&path) {
                    Ok(entries) => {
                        todo.extend(entries.flatten().map(|entry| below.join(entry.file_name())));
                    }
                    Err(_) => found.files.push(unreadable(&below)),
                }
            } else {
                found.files.push(look(&path, &below, kind, known));
            }
            if found.files.len() + todo.len() > MOST_FILES {
                found.too_many = true;
                break;
            }
        }
        found.files.sort_by(|one, other| one.path.cmp(&other.path));
        found
    }
}

impl SealList {
    /// The list of a run that ended; `None` when not everything can be read, so that nobody is accused later.
    fn of(folder: &RunFolder, manifest: &Manifest) -> Option<Self> {
        let rows = manifest.artifacts.iter();
        let known = rows
            .filter_map(|row| Some((format!("output/{}", row.path), (row.bytes, row.sha256.as_deref()?))));
        let found = SealedContents::knowing(folder.path(), &known.collect());
        let whole = !found.too_many && found.files.iter().all(|file| file.kind != SealedKind::Unreadable);
        let asked_sha256 = asked_sha256(folder.path())?;
        let run_id = manifest.run_id.to_string();
        whole.then_some(Self { version: VERSION, run_id, asked_sha256, files: found.files })
    }

    /// As it is written.
    pub(crate) fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Notes the new content of a file, if `before` is what was sealed: nothing else becomes sealed this way.
    pub(crate) fn amend(&mut self, path: &str, before: &str, content: &[u8]) {
        if let Some(file) = self.files.iter_mut().find(|file| file.path == path && file.sha256 == before) {
            (file.sha256, file.bytes) = (sha256(content), content.len() as u64);
        }
    }
}

/// Seals a run that is over, and gives the digest of the list for the audit log. A run that is not over, or whose files
/// cannot all be read, is not sealed.
pub(crate) fn seal(folder: &RunFolder, manifest: &Manifest) -> Option<String> {
    if !folder.record().is_ok_and(|record| record.finished) {
        return None;
    }
    let text = SealList::of(folder, manifest)?.to_json();
    write_atomic(&folder.path().join(SEALED), text.as_bytes()).ok()?;
    Some(sha256(text.as_bytes()))
}

/// Seals a run that is over, and tells the audit log in an entry of its own. Whatever stands in the way leaves the run
/// without a seal, which `verify` says.
pub fn seal_and_tell(audit: &AuditTrail, actor: &str, folder: &RunFolder, manifest: &Manifest) {
    if let Some(digest) = seal(folder, manifest) {
        let detail = json!({
            "run_id": manifest.run_id, (SEALED_SHA256): digest, (MANIFEST_SHA256): folder.manifest_sha256(),
        });
        let _ = audit.append(actor, SEALED_ACTION, detail, false);
    }
}

/// Takes the seal off a run that is gone on with in its own folder, before anything in it changes.
pub(crate) fn open_again(audit: &AuditTrail, folder: &RunFolder, run_id: &str) -> Result<(), FlowError> {
    if folder.path().join(SEALED).exists() {
        audit.append("holon", RESUMED_ACTION, json!({ "run_id": run_id }), true)?;
    }
    Ok(())
}

/// The digest of the list that counts, from the entries of the audit log about a run.
pub(crate) fn told<'e>(about: impl DoubleEndedIterator<Item = &'e AuditEntry>) -> Option<&'e str> {
    let last = about.rev().find(|entry| {
        entry.note.action == RESUMED_ACTION
            || entry.note.detail.get(SEALED_SHA256).is_some_and(Value::is_string)
    })?;
    last.note.detail.get(SEALED_SHA256)?.as_str()
}

/// Digest of what `run.json` says was asked.
pub(crate) fn asked_sha256(folder: &Path) -> Option<String> {
    let record: Value = serde_json::from_slice(&fs::read(folder.join("run.json")).ok()?).ok()?;
    let parts: Vec<String> = ASKED.iter().map(|name| record[name].to_string()).collect();
    Some(sha256_parts(parts.iter().map(String::as_bytes)))
}

/// The lists of the runs inside a flow or an orchestration.
fn lists_of_parts(folder: &Path) -> Vec<PathBuf> {
    let names = |below: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder.join(below)).into_iter().flatten().flatten();
        entries.map(|entry| below.join(entry.file_name())).collect()
    };
    let runs = names(Path::new("steps")).into_iter().flat_map(|workspace| names(&workspace.join("runs")));
    runs.map(|run| run.join(SEALED)).collect()
}

fn look(path: &Path, below: &Path, kind: fs::FileType, known: &KnownDigests<'_>) -> SealedFile {
    let path_told = told_path(below);
    let row = |kind, bytes, sha256| SealedFile { path: path_told.clone(), kind, bytes, sha256 };
    if kind.is_symlink() {
        return fs::read_link(path).map_or_else(
            |_| unreadable(below),
            |target| row(SealedKind::Link, 0, sha256(target.as_os_str().as_bytes())),
        );
    }
    if !kind.is_file() {
        return row(SealedKind::Special, 0, String::new());
    }
    let digest = || -> io::Result<SealedFile> {
        let mut file = open(path)?;
        if let Some((bytes, sha256)) = known.get(&path_told)
            && file.metadata()?.len() == *bytes
        {
            return Ok(row(SealedKind::File, *bytes, (*sha256).to_owned()));
        }
        let (digest, bytes) = PathDigest::of_reader(FileMode::Regular, &mut file)?;
        Ok(row(SealedKind::File, bytes, digest.sha256))
    };
    digest().unwrap_or_else(|_| unreadable(below))
}

fn unreadable(below: &Path) -> SealedFile {
    SealedFile { path: told_path(below), kind: SealedKind::Unreadable, bytes: 0, sha256: String::new() }
}

/// A path as text, also one that is none.
fn told_path(path: &Path) -> String {
    path.to_str().map_or_else(|| path.as_os_str().as_bytes().escape_ascii().to_string(), str::to_owned)
}

/// Opens a plain file, never through a link at its end, never waiting for a pipe.
fn open(path: &Path) -> io::Result<File> {
    use rustix::fs::{CWD, Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    Ok(File::from(rustix::fs::openat(CWD, path, flags, Mode::empty())?))
}

#[cfg(test)]
mod tests;
