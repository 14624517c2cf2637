//! What people read about a run, once it names a person's word: worked out first, written afterwards.

use std::collections::BTreeMap;
use std::fs;

use holon_core::digest::sha256;
use holon_core::manifest::Manifest;
use holon_core::release::ReleaseOverride;
use holon_host::HostError;
use holon_host::store::{RunFolder, write_durable};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::audit::{self, AuditTrail};
use crate::error::FlowError;
use crate::sealed::{self, SEALED, SealList};

/// What the audit log calls a manifest that a person's word was added to: `manifest_sha256` tells which one it is now.
pub(crate) const AMENDED: &str = "manifest_amended";
const MANIFEST: &str = "output/manifest.json";

/// The reports of a run that name a person's word.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AmendedReports {
    /// Digest of the manifest; empty for a run that has none.
    pub(super) manifest_sha256: String,
    /// Digest of the list of sealed files, when the run is sealed.
    pub(super) sealed_sha256: Option<String>,
    /// Content by path in the run's folder.
    pub(super) files: BTreeMap<String, String>,
}

impl AmendedReports {
    /// Names it in the manifest, in summary.md and in orchestration.json, whose digests the manifest holds, and in the list
    /// of sealed files.
    pub(super) fn naming(
        word: &ReleaseOverride,
        folder: &RunFolder,
        audit: &AuditTrail,
    ) -> Result<Self, FlowError> {
        let (Some(mut manifest), Some(before)) = (folder.manifest(), folder.manifest_sha256()) else {
            return Ok(Self::default());
        };
        let mut amended = Self::default();
        let mut sealed = sealed_now(folder, audit, manifest.run_id.as_str())?;
        manifest.metadata.overrides.push(word.clone());
        amended.rewrite(folder, &mut manifest, &mut sealed, "summary.md", |bytes| {
            let text = String::from_utf8_lossy(bytes);
            Some(format!("{}\n\n> Override: {}\n", text.trim_end(), one_line(&word.told())))
        })?;
        amended.rewrite(folder, &mut manifest, &mut sealed, "orchestration.json", |bytes| {
            let mut document: Value = serde_json::from_slice(bytes).ok()?;
            let list = document.as_object_mut()?.entry("overrides").or_insert_with(|| json!([]));
            list.as_array_mut()?.push(serde_json::to_value(word).ok()?);
            let mut text = serde_json::to_string_pretty(&document).ok()?;
            text.push('\n');
            Some(text)
        })?;
        let text = manifest.to_json();
        amended.manifest_sha256 = sha256(text.as_bytes());
        if let Some(mut sealed) = sealed {
            sealed.amend(MANIFEST, &before, text.as_bytes());
            let list = sealed.to_json();
            amended.sealed_sha256 = Some(sha256(list.as_bytes()));
            amended.files.insert(SEALED.to_owned(), list);
        }
        amended.files.insert(MANIFEST.to_owned(), text);
        Ok(amended)
    }

    /// Changes a valid artifact, and its row in the manifest and in the list of sealed files with it.
    fn rewrite(
        &mut self,
        folder: &RunFolder,
        manifest: &mut Manifest,
        sealed: &mut Option<SealList>,
        name: &str,
        change: impl FnOnce(&[u8]) -> Option<String>,
    ) -> Result<(), HostError> {
        let path = folder.output().join(name);
        let Some(row) = manifest.artifacts.iter_mut().find(|row| row.path == name && row.valid) else {
            return Ok(());
        };
        let bytes = fs::read(&path).map_err(HostError::io("read", &path))?;
        let before = sha256(&bytes);
        // What is not what the manifest says stays what it is: nobody shall take it for the host's.
        if row.sha256.as_deref() != Some(before.as_str()) {
            return Ok(());
        }
        let Some(changed) = change(&bytes) else { return Ok(()) };
        (row.sha256, row.bytes) = (Some(sha256(changed.as_bytes())), changed.len() as u64);
        let path = format!("output/{name}");
        if let Some(sealed) = sealed {
            sealed.amend(&path, &before, changed.as_bytes());
        }
        self.files.insert(path, changed);
        Ok(())
    }

    /// Puts them in their places. Whoever did so before and died left the same content, or none of it.
    pub(super) fn write(&self, folder: &RunFolder) -> Result<(), HostError> {
        for (path, text) in &self.files {
            write_durable(&folder.path().join(path), text.as_bytes())?;
        }
        Ok(())
    }
}

/// The list of sealed files, if it is the one that the audit log tells of: nothing else is sealed again.
fn sealed_now(folder: &RunFolder, audit: &AuditTrail, run: &str) -> Result<Option<SealList>, FlowError> {
    let entries = audit::entries(audit)?;
    let about = entries.iter().filter(|entry| entry.note.detail.get("run_id").is_some_and(|id| id == run));
    let Some(told) = sealed::told(about) else { return Ok(None) };
    let Ok(bytes) = fs::read(folder.path().join(SEALED)) else { return Ok(None) };
    Ok((sha256(&bytes) == told).then(|| serde_json::from_slice(&bytes).ok()).flatten())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
