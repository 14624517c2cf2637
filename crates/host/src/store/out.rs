//! The copy of a run that `--out` asks for: what it delivered, and its evidence.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::files::{copy_tree, write_atomic};
use super::folder::RunFolder;
use crate::error::HostError;

const EVENTS: &str = "events.jsonl";

/// Replaces `out` in one step: a full new folder takes the place of the old one. `parts` are the runs inside, by name.
pub fn copy_out(run: &RunFolder, parts: &[(String, RunFolder)], out: &Path) -> Result<(), HostError> {
    let parent = out.parent().unwrap_or(Path::new("."));
    let fresh = tempfile::Builder::new()
        .prefix(".holon-out-")
        .tempdir_in(parent)
        .map_err(HostError::io("create", parent))?;
    copy_tree(&run.output(), fresh.path())?;
    // An agent may leave evidence of its own, which has other names.
    let evidence = fresh.path().join("evidence");
    copy_tree(&run.evidence(), &evidence)?;
    for (name, part) in parts {
        let to = evidence.join("steps").join(name);
        copy_tree(&part.output(), &to)?;
        copy_tree(&part.evidence(), &to.join("evidence"))?;
    }
    let fresh = fresh.keep();
    let _ = fs::set_permissions(&fresh, fs::Permissions::from_mode(0o755));
    let id = run.path().file_name().unwrap_or_default().to_string_lossy();
    let old = out.exists().then(|| parent.join(format!(".holon-old-{id}")));
    if let Some(old) = &old {
        fs::rename(out, old).map_err(HostError::io("rename", out))?;
    }
    fs::rename(&fresh, out).map_err(HostError::io("create", out))?;
    if let Some(old) = old {
        fs::remove_dir_all(&old).map_err(HostError::io("remove", &old))?;
    }
    Ok(())
}

/// Brings what was told after the copy was made into it: a run's end is told last.
pub fn copy_last_events(run: &RunFolder, out: &Path) {
    let (from, to) = (run.evidence().join(EVENTS), out.join("evidence").join(EVENTS));
    if to.is_file()
        && let Ok(events) = fs::read(from)
    {
        // What is there lacks the last lines; the store has them all.
        let _ = write_atomic(&to, &events);
    }
}
