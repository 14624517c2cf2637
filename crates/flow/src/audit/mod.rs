//! The audit log of this machine's user: one file in the state folder, every entry chained to the one before.
//!
//! Several processes may write at once; each takes the lock for the moment of one entry. The chain alone cannot tell that
//! its end is missing, so its head is written down beside it and in the manifest of every run.

mod check;
mod lines;

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use holon_core::manifest::AuditHead;
use holon_host::store::write_atomic;
use holon_host::{HostError, record};
use holon_store::chain::{self, ChainHead};
use holon_store::{AuditEntry, AuditNote};
use rustix::fs::FlockOperation;
use serde_json::{Value, json};

use crate::dispatch::private_folder;
use crate::error::FlowError;

pub use check::{AuditVerdict, verify};
pub use lines::entries;

/// How much of the end is read to find the last entry; entries are far smaller.
const TAIL: u64 = 1 << 20;
/// What is written down when the end of the log is not what it was; no log with such an entry is whole.
const MISSING: &str = "entries_missing";

/// The log of one state folder.
#[derive(Debug, Clone)]
pub struct AuditTrail {
    log: PathBuf,
    head: PathBuf,
}

impl AuditTrail {
    /// The log in a state folder.
    pub fn of(state: &Path) -> Self {
        Self { log: state.join("audit.jsonl"), head: state.join("audit.head") }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.log
    }

    /// The state folder it is in.
    pub fn state(&self) -> &Path {
        self.log.parent().unwrap_or(Path::new("/"))
    }

    /// Where its head is written down besides.
    pub fn head_path(&self) -> &Path {
        &self.head
    }

    /// Adds an entry and tells where the log ends now. `durable` makes it survive a power cut.
    pub fn append(
        &self,
        actor: &str,
        action: &str,
        detail: Value,
        durable: bool,
    ) -> Result<AuditHead, FlowError> {
        private_folder(self.state())?;
        let opened = File::options().read(true).append(true).create(true).mode(0o600).open(&self.log);
        let mut file = opened.map_err(HostError::io("open", &self.log))?;
        rustix::fs::flock(&file, FlockOperation::LockExclusive)
            .map_err(|e| HostError::io("lock", &self.log)(e.into()))?;
        let mut last = self.last(&mut file)?;
        let mut text = String::new();
        if let Some(gone) = self.gone(last.as_ref()) {
            // Going on as if nothing had happened would hide it as soon as the head beside the log is replaced.
            let detail = json!({ "there_were": gone.length, "head": gone.head });
            let entry = chain::link(last.as_ref(), note("holon", MISSING, detail));
            text.push_str(&lines::line(&entry));
            last = Some(ChainHead { seq: entry.seq, hash: entry.hash });
        }
        let entry = chain::link(last.as_ref(), note(actor, action, detail));
        text.push_str(&lines::line(&entry));
        let failed = HostError::io("write", &self.log);
        file.write_all(text.as_bytes()).map_err(failed)?;
        if durable {
            file.sync_data().map_err(HostError::io("write", &self.log))?;
        }
        let head = AuditHead { length: entry.seq, head: entry.hash };
        write_atomic(&self.head, &serde_json::to_vec(&head).unwrap_or_default())?;
        Ok(head)
    }

    /// The last entry. Half a line at the end is what a process left that died while writing; it was never part of
    /// the log, and goes, unless the head that was written down knows of it.
    fn last(&self, file: &mut File) -> Result<Option<ChainHead>, FlowError> {
        let io = || HostError::io("read", &self.log);
        let length = file.metadata().map_err(io())?.len();
        let from = length.saturating_sub(TAIL);
        file.seek(SeekFrom::Start(from)).map_err(io())?;
        let mut tail = Vec::new();
        file.take(TAIL).read_to_end(&mut tail).map_err(io())?;
        if let Some(end) = tail.iter().rposition(|b| *b == b'\n').map_or(Some(0), |at| Some(at + 1))
            && end < tail.len()
        {
            file.set_len(from + end as u64).map_err(HostError::io("write", &self.log))?;
            tail.truncate(end);
        }
        let Some(line) = tail.split(|b| *b == b'\n').rfind(|line| !line.is_empty()) else {
            return match self.written_down() {
                // An empty log where there was one: going on would hide that.
                Some(head) if head.length > 0 => Err(self.cut(&head)),
                _ => Ok(None),
            };
        };
        let entry: AuditEntry = serde_json::from_slice(line)
            .map_err(|e| FlowError::Audit { path: self.log.clone(), message: e.to_string() })?;
        Ok(Some(ChainHead { seq: entry.seq, hash: entry.hash }))
    }

    /// The head beside the log.
    pub fn written_down(&self) -> Option<AuditHead> {
        serde_json::from_slice(&fs::read(&self.head).ok()?).ok()
    }

    /// The head that was written down, when the log does not reach it any more or ends otherwise.
    fn gone(&self, last: Option<&ChainHead>) -> Option<AuditHead> {
        let last = last?;
        let other =
            |head: &AuditHead| head.length > last.seq || (head.length == last.seq && head.head != last.hash);
        self.written_down().filter(other)
    }

    fn cut(&self, head: &AuditHead) -> FlowError {
        let message = format!("it is empty, and there were {} entries", head.length);
        FlowError::Audit { path: self.log.clone(), message }
    }
}

fn note(actor: &str, action: &str, detail: Value) -> AuditNote {
    AuditNote {
        at: record::now(),
        actor: actor.to_owned(),
        action: action.to_owned(),
        thread: None,
        turn: None,
        detail,
    }
}

#[cfg(test)]
mod tests;
