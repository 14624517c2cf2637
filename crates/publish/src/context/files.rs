//! Context files on disk, with an index.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use holon_core::digest::sha256;
use serde::{Deserialize, Serialize};

use super::gather::CollectedFile;
use crate::error::PublishError;
use crate::target::PublishTarget;

const INDEX: &str = "index.json";
const KIND: &str = "holon-context";

/// What a context folder holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextIndex {
    /// Always `holon-context`.
    pub kind: String,
    /// Version of this form.
    pub version: u32,
    /// Where it is from.
    pub source: String,
    /// A word to whoever reads the files.
    pub notice: String,
    /// The files.
    pub files: Vec<ContextIndexEntry>,
}

/// One file of a context folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextIndexEntry {
    /// Its name.
    pub path: String,
    /// What it holds.
    pub what: String,
    /// Its size.
    pub bytes: u64,
    /// Its digest.
    pub sha256: String,
    /// Always true: other people wrote what is in it.
    pub untrusted: bool,
    /// What is not in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// Writes the files and their index into a folder that is new, empty, or holds earlier context.
pub fn write(
    out: &Path,
    target: &PublishTarget,
    files: &[CollectedFile],
) -> Result<ContextIndex, PublishError> {
    prepare(out)?;
    let entry = |file: &CollectedFile| ContextIndexEntry {
        path: file.path.to_owned(),
        what: file.what.to_owned(),
        bytes: file.text.len() as u64,
        sha256: sha256(file.text.as_bytes()),
        untrusted: true,
        left_out: file.left_out.clone(),
    };
    let index = ContextIndex {
        kind: KIND.to_owned(),
        version: 1,
        source: target.to_string(),
        notice: super::untrusted::NOTICE.to_owned(),
        files: files.iter().map(entry).collect(),
    };
    for file in files {
        let path = out.join(file.path);
        fs::write(&path, &file.text).map_err(PublishError::io("write", &path))?;
    }
    // Last, so that an index always describes files that are there.
    let path = out.join(INDEX);
    let text = serde_json::to_string_pretty(&index).unwrap_or_default() + "\n";
    fs::write(&path, text).map_err(PublishError::io("write", &path))?;
    Ok(index)
}

/// Makes the folder, or empties it of earlier context.
fn prepare(out: &Path) -> Result<(), PublishError> {
    match fs::create_dir(out) {
        Ok(()) => return Ok(()),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
        Err(e) => return Err(PublishError::io("create", out)(e)),
    }
    let mut entries = fs::read_dir(out).map_err(PublishError::io("read", out))?;
    if entries.next().is_none() {
        return Ok(());
    }
    let index = out.join(INDEX);
    let earlier = fs::symlink_metadata(&index).is_ok_and(|meta| meta.is_file() && meta.len() < 1 << 20);
    let earlier = earlier.then(|| fs::read(&index).ok()).flatten();
    let earlier: Option<ContextIndex> = earlier.and_then(|text| serde_json::from_slice(&text).ok());
    let Some(earlier) = earlier.filter(|index| index.kind == KIND) else {
        let message = format!("{} holds other files", out.display());
        return Err(PublishError::usage(message, "give a new or empty folder with --out"));
    };
    for entry in &earlier.files {
        // Only plain names are ever written.
        if !entry.path.contains('/') && entry.path != ".." {
            let path = out.join(&entry.path);
            match fs::remove_file(&path) {
                Err(e) if e.kind() != ErrorKind::NotFound => return Err(PublishError::io("remove", path)(e)),
                _ => {}
            }
        }
    }
    Ok(())
}
