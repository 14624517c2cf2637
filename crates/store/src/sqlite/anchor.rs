//! The head of the audit chain, written down beside the database.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::chain::Head;
use crate::error::StoreError;

pub(super) struct Anchor {
    path: PathBuf,
}

impl Anchor {
    pub(super) fn of(folder: &Path) -> Self {
        Self { path: folder.join("audit.head") }
    }

    /// What was written last; none before the first entry.
    pub(super) fn read(&self) -> Result<Option<Head>, StoreError> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(StoreError::io("read", &self.path)(e)),
        };
        serde_json::from_str(&text)
            .map(Some)
            .map_err(|e| StoreError::Damaged { what: "audit head", why: e.to_string() })
    }

    /// Replaces it in one step.
    pub(super) fn write(&self, head: &Head) -> Result<(), StoreError> {
        let next = self.path.with_extension("head.new");
        let text = serde_json::to_string(head).unwrap_or_default();
        let replace = || -> io::Result<()> {
            File::create(&next)?.write_all(text.as_bytes())?;
            fs::rename(&next, &self.path)
        };
        replace().map_err(StoreError::io("write", &self.path))
    }
}
