//! Whether the log is what was written: every byte of it, and all of it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use holon_core::manifest::AuditHead;
use holon_host::HostError;
use holon_store::AuditEntry;
use holon_store::chain::{ChainChecker, ChainHead, ChainVerdict};
use rustix::fs::FlockOperation;
use serde::Serialize;

use super::lines::{self, LONGEST};
use super::{AuditTrail, MISSING};
use crate::error::FlowError;

/// What a check of the log came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum AuditVerdict {
    /// Every byte is as it was written, and none is missing.
    Whole {
        /// How many entries there are.
        length: u64,
        /// Hash of the last one; empty for an empty log.
        head: String,
        /// How many heads that were written down elsewhere were found in it.
        heads: usize,
    },
    /// Something is wrong.
    Broken {
        /// The first entry that is not as it was, or would have to be there.
        at: u64,
        /// What is wrong with it.
        problem: String,
    },
}

/// Checks the whole log against its own chain, the head beside it, and `heads` from manifests.
pub fn verify(
    audit: &AuditTrail,
    heads: impl IntoIterator<Item = AuditHead>,
) -> Result<AuditVerdict, FlowError> {
    let mut known: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for head in heads.into_iter().chain(audit.written_down()) {
        known.entry(head.length).or_default().push(head.head);
    }
    let count = known.values().map(Vec::len).sum();
    let flat = known
        .iter()
        .flat_map(|(seq, hashes)| hashes.iter().map(|hash| ChainHead { seq: *seq, hash: hash.clone() }));
    let mut checker = ChainChecker::new(flat);
    let file = match File::open(audit.path()) {
        Ok(file) => {
            // Whoever writes an entry this moment has half of it there.
            rustix::fs::flock(&file, FlockOperation::LockShared)
                .map_err(|e| HostError::io("lock", audit.path())(e.into()))?;
            Some(file)
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
        Err(e) => return Err(HostError::io("read", audit.path())(e).into()),
    };
    let mut reader =
        BufReader::new(file.map_or_else(|| Box::new(std::io::empty()) as Box<dyn Read>, |f| Box::new(f)));
    let mut number = 0;
    loop {
        let mut bytes = Vec::new();
        let read = (&mut reader).take(LONGEST).read_until(b'\n', &mut bytes);
        if read.map_err(HostError::io("read", audit.path()))? == 0 {
            break;
        }
        number += 1;
        let broken = |problem: &str| Ok(AuditVerdict::Broken { at: number, problem: problem.to_owned() });
        let Ok(entry) = serde_json::from_slice::<AuditEntry>(&bytes) else {
            return broken("it cannot be read");
        };
        // The same content in other bytes is not what was written either.
        if lines::line(&entry).as_bytes() != bytes {
            return broken("it is not as it was written");
        }
        if known.get(&number).is_some_and(|hashes| hashes.iter().any(|hash| *hash != entry.hash)) {
            return broken("it is not the entry that was written down elsewhere");
        }
        let missing = entry.note.action == MISSING;
        if !checker.take(&entry) {
            break;
        }
        if missing {
            return broken(
                "what came here before it is missing, as was noticed when the log was gone on with",
            );
        }
    }
    Ok(match checker.finish() {
        ChainVerdict::Whole { head } => {
            let (length, head) = head.map_or((0, String::new()), |head| (head.seq, head.hash));
            AuditVerdict::Whole { length, head, heads: count }
        }
        ChainVerdict::Broken { at, problem } => AuditVerdict::Broken { at, problem },
    })
}
