//! The log as lines: one entry each, in exactly one spelling.

use std::fs::File;
use std::io::{BufRead, BufReader};

use holon_host::HostError;
use holon_store::AuditEntry;

use super::AuditTrail;
use crate::error::FlowError;

/// The longest line that is read.
pub(super) const LONGEST: u64 = 4 << 20;

/// An entry as it is written.
pub(super) fn line(entry: &AuditEntry) -> String {
    let mut text = serde_json::to_string(entry).unwrap_or_default();
    text.push('\n');
    text
}

/// All entries that can be read, in order; what is wrong with others is for `verify` to say.
pub fn entries(audit: &AuditTrail) -> Result<Vec<AuditEntry>, FlowError> {
    let file = match File::open(audit.path()) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(HostError::io("read", audit.path())(e).into()),
    };
    let mut found = Vec::new();
    for line in BufReader::new(file).split(b'\n') {
        let line = line.map_err(HostError::io("read", audit.path()))?;
        found.extend(serde_json::from_slice::<AuditEntry>(&line).ok());
    }
    Ok(found)
}
