//! A person's word, written down in every place that has to name it, also when the process that does so dies in between:
//! a record in the state folder says what was begun, and the next command finishes it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use holon_core::manifest::AuditHead;
use holon_core::release::ReleaseOverride;
use holon_host::store::{RunFolder, write_durable};
use holon_host::{HostError, release};
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::reports::{AMENDED, AmendedReports};
use super::{OVERRIDDEN, note_override};
use crate::audit::{self, AuditTrail};
use crate::dispatch::private_folder;
use crate::error::FlowError;
use crate::sealed::SEALED_SHA256;

/// Below the state folder; one override is written down at a time.
const FOLDER: &str = "overrides";
const RECORD: &str = "begun.json";
const LOCK: &str = "lock";

/// What was begun.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct PendingOverride {
    /// The folder of the run it is about, below the state folder.
    run: PathBuf,
    word: ReleaseOverride,
    /// How long the audit log was before.
    after: u64,
    /// What the reports become; unknown until the word is in the audit log.
    amended: Option<AmendedReports>,
}

/// An override on its way.
struct OverrideInProgress {
    audit: AuditTrail,
    folder: RunFolder,
    begun: PendingOverride,
    /// Whether a process before began it, so that some of it may be done.
    again: bool,
    /// Held until it is everywhere.
    _lock: File,
}

/// One step. Each can be done once more without harm.
type OverrideStep = fn(&mut OverrideInProgress) -> Result<(), FlowError>;

/// The audit log comes first. From the second step on it counts; the reports follow.
const STEPS: [OverrideStep; 5] = [
    OverrideInProgress::note,
    OverrideInProgress::keep,
    OverrideInProgress::work_out,
    OverrideInProgress::tell,
    OverrideInProgress::write,
];

/// Writes a person's word down, and lets it count from then on: the audit log before anything else, then the run's own
/// record, then what people read about the run or about the whole it is a part of.
pub fn overrule(audit: &AuditTrail, folder: &RunFolder, word: ReleaseOverride) -> Result<(), FlowError> {
    begin(audit, folder, word)?.go_on(&STEPS)
}

/// Finishes an override whose process died, and tells the run it is about. One that is under way is left alone, and one
/// that had not reached the audit log was never given.
pub fn finish_override(audit: &AuditTrail) -> Result<Option<String>, FlowError> {
    if !record_of(audit).exists() {
        return Ok(None);
    }
    match lock(audit, FlockOperation::NonBlockingLockExclusive)? {
        Some(lock) => finish(audit, lock).map(|(run, _)| run),
        None => Ok(None),
    }
}

fn begin(
    audit: &AuditTrail,
    folder: &RunFolder,
    word: ReleaseOverride,
) -> Result<OverrideInProgress, FlowError> {
    let state = audit.state();
    private_folder(&state.join(FOLDER))?;
    let lock = lock(audit, FlockOperation::LockExclusive)?;
    let Some(lock) = lock else {
        return Err(HostError::io("lock", state)(io::Error::other("it is held")).into());
    };
    let (_, lock) = finish(audit, lock)?;
    let real = |path: &Path| fs::canonicalize(path).map_err(HostError::io("open", path));
    let path = real(folder.path())?;
    // A run that is kept elsewhere is found by its whole path.
    let run = path.strip_prefix(real(state)?).map_or_else(|_| path.clone(), Path::to_owned);
    let after = audit.written_down().map_or(0, |head| head.length);
    let begun = PendingOverride { run, word, after, amended: None };
    let overriding = OverrideInProgress {
        audit: audit.clone(),
        folder: RunFolder::open(path),
        begun,
        again: false,
        _lock: lock,
    };
    overriding.save()?;
    Ok(overriding)
}

/// Finishes what a process before began, if there is anything.
fn finish(audit: &AuditTrail, lock: File) -> Result<(Option<String>, File), FlowError> {
    let path = record_of(audit);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok((None, lock)),
        Err(e) => return Err(HostError::io("read", &path)(e).into()),
    };
    let mut begun: PendingOverride =
        serde_json::from_slice(&bytes).map_err(|e| HostError::io("read", &path)(e.into()))?;
    if begun.word.audit.is_none() {
        begun.word.audit = noted(audit, &begun)?;
    }
    let folder = RunFolder::open(audit.state().join(&begun.run));
    if begun.word.audit.is_none() || !folder.path().is_dir() {
        // It was never given, or the run is gone.
        fs::remove_file(&path).map_err(HostError::io("remove", &path))?;
        return Ok((None, lock));
    }
    let run = begun.word.run.clone();
    let held = lock.try_clone().map_err(HostError::io("lock", &path))?;
    OverrideInProgress { audit: audit.clone(), folder, begun, again: true, _lock: lock }.go_on(&STEPS)?;
    Ok((Some(run), held))
}

impl OverrideInProgress {
    fn go_on(mut self, steps: &[OverrideStep]) -> Result<(), FlowError> {
        for step in steps {
            step(&mut self)?;
        }
        let path = record_of(&self.audit);
        Ok(fs::remove_file(&path).map_err(HostError::io("remove", &path))?)
    }

    fn save(&self) -> Result<(), FlowError> {
        let text = serde_json::to_vec(&self.begun)
            .map_err(|e| HostError::io("write", self.folder.path())(e.into()))?;
        Ok(write_durable(&record_of(&self.audit), &text)?)
    }

    /// Writes it to the audit log.
    fn note(&mut self) -> Result<(), FlowError> {
        if self.begun.word.audit.is_none() {
            self.begun.word = note_override(&self.audit, self.begun.word.clone())?;
        }
        Ok(())
    }

    /// Keeps it with the run, and with the whole that the run is a part of: from here on the gate sees it.
    fn keep(&mut self) -> Result<(), FlowError> {
        release::keep_override(&self.folder, &self.begun.word)?;
        Ok(release::keep_override(&self.told_by(), &self.begun.word)?)
    }

    /// Works out what the reports become, and writes that down before any of them changes.
    fn work_out(&mut self) -> Result<(), FlowError> {
        if self.begun.amended.is_none() {
            self.begun.amended =
                Some(AmendedReports::naming(&self.begun.word, &self.told_by(), &self.audit)?);
            self.save()?;
        }
        Ok(())
    }

    /// The end of the run told the digest of another manifest, so the audit log tells that of this one.
    fn tell(&mut self) -> Result<(), FlowError> {
        let Some(amended) = self.begun.amended.as_ref().filter(|amended| !amended.files.is_empty()) else {
            return Ok(());
        };
        let told = self.told_by().record()?.id;
        let mut detail = json!({ "run_id": told, "manifest_sha256": amended.manifest_sha256 });
        if let Some(sealed) = &amended.sealed_sha256 {
            detail[SEALED_SHA256] = sealed.as_str().into();
        }
        let is_told =
            |entry: &holon_store::AuditEntry| entry.note.action == AMENDED && entry.note.detail == detail;
        if self.again && audit::entries(&self.audit)?.iter().any(is_told) {
            return Ok(());
        }
        self.audit.append(&self.begun.word.person, AMENDED, detail, true)?;
        Ok(())
    }

    fn write(&mut self) -> Result<(), FlowError> {
        let told_by = self.told_by();
        if self.again {
            remove_half_written(&told_by);
        }
        Ok(self.begun.amended.iter().try_for_each(|amended| amended.write(&told_by))?)
    }

    /// The run whose reports name it: the whole, when it is about a part.
    fn told_by(&self) -> RunFolder {
        RunFolder::open(
            release::whole_of(self.folder.path()).unwrap_or_else(|| self.folder.path().to_owned()),
        )
    }
}

/// Files that a process was writing when it died have names of their own until they are whole.
fn remove_half_written(folder: &RunFolder) {
    let listed = folder.manifest().map(|manifest| manifest.artifacts).unwrap_or_default();
    for place in [folder.path().to_owned(), folder.output()] {
        for entry in fs::read_dir(place).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(".new-") && !listed.iter().any(|row| row.path == name) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// Where the audit log holds the word, if it got there.
fn noted(audit: &AuditTrail, begun: &PendingOverride) -> Result<Option<AuditHead>, FlowError> {
    let word = &begun.word;
    let is = |entry: &&holon_store::AuditEntry| {
        let (note, detail) = (&entry.note, &entry.note.detail);
        entry.seq > begun.after
            && (note.action.as_str(), note.actor.as_str()) == (OVERRIDDEN, word.person.as_str())
            && detail["run_id"] == word.run.as_str()
            && detail["reason"] == word.reason.as_str()
            && detail["of"] == json!(word.of)
            && detail["to"] == json!(word.to)
    };
    let entries = audit::entries(audit)?;
    Ok(entries.iter().find(is).map(|entry| AuditHead { length: entry.seq, head: entry.hash.clone() }))
}

fn record_of(audit: &AuditTrail) -> PathBuf {
    audit.state().join(FOLDER).join(RECORD)
}

/// The lock of whoever writes an override down; `None` when somebody else holds it.
fn lock(audit: &AuditTrail, how: FlockOperation) -> Result<Option<File>, FlowError> {
    let path = audit.state().join(FOLDER).join(LOCK);
    let file =
        File::options().create(true).append(true).open(&path).map_err(HostError::io("create", &path))?;
    match rustix::fs::flock(&file, how) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(e) => Err(HostError::io("lock", &path)(e.into()).into()),
    }
}

#[cfg(test)]
mod tests;
