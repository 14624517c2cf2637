//! A person lets something leave that the release gate holds: first the audit log, then everything else.

use std::fs;

use holon_core::digest::sha256;
use holon_core::manifest::Manifest;
use holon_core::release::{ReleaseDecision, ReleaseOverride};
use holon_host::store::{RunFolder, write_durable};
use holon_host::{HostError, release};
use serde_json::{Value, json};

use crate::audit::Audit;
use crate::error::FlowError;

/// Writes a person's word down, and lets it count from then on: the audit log before anything else, then the run's own
/// record, then what people read about the run or about the whole it is a part of.
pub fn overrule(audit: &Audit, folder: &RunFolder, word: ReleaseOverride) -> Result<(), FlowError> {
    let word = note_override(audit, word)?;
    release::keep_override(folder, &word)?;
    match release::whole_of(folder.path()) {
        Some(whole) => {
            let whole = RunFolder::open(whole);
            release::keep_override(&whole, &word)?;
            name_in_reports(audit, &whole, &word)
        }
        None => name_in_reports(audit, folder, &word),
    }
}

/// Writes a person's word to the audit log, and into it where that is.
pub fn note_override(audit: &Audit, word: ReleaseOverride) -> Result<ReleaseOverride, FlowError> {
    let detail = json!({
        "run_id": word.run, "of": word.of, "to": word.to, "reason": word.reason, "uid": word.uid,
        "terminal": word.terminal,
    });
    let head = audit.append(&word.person, "release_overridden", detail, true)?;
    Ok(ReleaseOverride { audit: Some(head), ..word })
}

/// Writes down that the gate held something back. Nothing follows from it, so a log that cannot be written is no reason
/// to say something else than why it was held.
pub fn note_refusal(audit: &Audit, person: &str, decision: &ReleaseDecision) {
    let because: Vec<&str> = decision.held.iter().map(|reason| reason.code()).collect();
    let detail = json!({
        "run_id": decision.run, "to": decision.target, "decision": "block", "because": because,
        "reason": decision.message(),
    });
    let _ = audit.append(person, "release_refused", detail, false);
}

/// Writes down that something left: where to, and what of it a person had let pass.
pub fn note_release(
    audit: &Audit,
    person: &str,
    decision: &ReleaseDecision,
    outcome: &str,
) -> Result<(), FlowError> {
    let overridden: Vec<&str> = decision.overridden.iter().map(|(reason, _)| reason.code()).collect();
    let detail = json!({
        "run_id": decision.run, "to": decision.target, "decision": "approve", "outcome": outcome,
        "overridden": overridden,
    });
    audit.append(person, "released", detail, false)?;
    Ok(())
}

/// What the audit log calls a manifest that a person's word was added to: `manifest_sha256` tells which one it is now.
pub(crate) const AMENDED: &str = "manifest_amended";

/// Names it in the manifest, in summary.md and in orchestration.json, whose digests the manifest holds. The end of the run
/// told the digest of another manifest, so the audit log tells that of this one.
fn name_in_reports(audit: &Audit, folder: &RunFolder, word: &ReleaseOverride) -> Result<(), FlowError> {
    let Some(mut manifest) = folder.manifest() else { return Ok(()) };
    manifest.metadata.overrides.push(word.clone());
    rewrite(folder, &mut manifest, "summary.md", |bytes| {
        let text = String::from_utf8_lossy(bytes);
        Some(format!("{}\n\n> Override: {}\n", text.trim_end(), one_line(&word.told())).into_bytes())
    })?;
    rewrite(folder, &mut manifest, "orchestration.json", |bytes| {
        let mut document: Value = serde_json::from_slice(bytes).ok()?;
        let list = document.as_object_mut()?.entry("overrides").or_insert_with(|| json!([]));
        list.as_array_mut()?.push(serde_json::to_value(word).ok()?);
        let mut text = serde_json::to_vec_pretty(&document).ok()?;
        text.push(b'\n');
        Some(text)
    })?;
    let text = manifest.to_json();
    let detail = json!({"run_id": manifest.run_id, "manifest_sha256": sha256(text.as_bytes())});
    audit.append(&word.person, AMENDED, detail, true)?;
    Ok(write_durable(&folder.output().join("manifest.json"), text.as_bytes())?)
}

/// Changes a valid artifact, and its row with it.
fn rewrite(
    folder: &RunFolder,
    manifest: &mut Manifest,
    name: &str,
    change: impl FnOnce(&[u8]) -> Option<Vec<u8>>,
) -> Result<(), HostError> {
    let path = folder.output().join(name);
    let Some(row) = manifest.artifacts.iter_mut().find(|row| row.path == name && row.valid) else {
        return Ok(());
    };
    let bytes = fs::read(&path).map_err(HostError::io("read", &path))?;
    // What is not what the manifest says stays what it is: nobody shall take it for the host's.
    if row.sha256.as_deref() != Some(sha256(&bytes).as_str()) {
        return Ok(());
    }
    let Some(changed) = change(&bytes) else { return Ok(()) };
    write_durable(&path, &changed)?;
    (row.sha256, row.bytes) = (Some(sha256(&changed)), changed.len() as u64);
    Ok(())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
