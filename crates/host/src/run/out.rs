//! `--out`: only ever a new folder, an empty one, or one that holds a former output of ours.

use std::fs;
use std::path::{Path, PathBuf};

use holon_core::manifest::Manifest;

use crate::error::HostError;

/// A folder for the artifacts: new, empty, or holding a former Holon output.
pub(super) fn checked_out(out: &Path, workspace: &Path) -> Result<PathBuf, HostError> {
    let parent = out.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = out
        .file_name()
        .ok_or_else(|| HostError::usage("--out must name a folder", "for example --out holon-output"))?;
    let parent = parent.canonicalize().map_err(|e| {
        HostError::usage(format!("--out {}: {e}", out.display()), "the folder above it must exist")
    })?;
    let out = parent.join(name);
    let refuse = |what: &str| {
        HostError::usage(
            format!("--out {} {what}", out.display()),
            "choose a new folder, or empty this one yourself",
        )
    };
    if out == workspace || workspace.starts_with(&out) {
        return Err(refuse("would contain the workspace"));
    }
    match fs::symlink_metadata(&out) {
        Err(_) => {}
        Ok(meta) if !meta.is_dir() => return Err(refuse("is not a folder")),
        Ok(_) => {
            let mut entries = fs::read_dir(&out).map_err(HostError::io("read", &out))?;
            let ours = || fs::read(out.join("manifest.json")).is_ok_and(|b| is_manifest(&b));
            if entries.next().is_some() && !ours() {
                return Err(refuse("is not empty and holds no Holon manifest"));
            }
        }
    }
    Ok(out)
}

fn is_manifest(bytes: &[u8]) -> bool {
    serde_json::from_slice::<Manifest>(bytes).is_ok()
}
