//! The page: what its tests need in `web/node_modules`, exactly as its lock file says, and its unit tests.

use std::process::Command;

use crate::{XtaskFailure, process, project};

/// How long fetching it may take, in seconds.
const SECONDS: u64 = 600;

/// Fills `web/node_modules` unless it is what the lock file says already.
pub(crate) fn ensure() -> Result<(), XtaskFailure> {
    let web = project::root().join("web");
    // What was installed last; npm's own note of it is in another form.
    let installed = std::fs::read_to_string(web.join("node_modules/.holon-lock")).unwrap_or_default();
    let wanted = std::fs::read_to_string(web.join("package-lock.json"))
        .map_err(|error| format!("cannot read web/package-lock.json: {error}"))?;
    if installed == wanted {
        return Ok(());
    }
    eprintln!("setup: filling web/node_modules");
    let mut npm = Command::new("npm");
    // Not `npm ci`: it refuses a lock file that lacks packages for systems which the registry does not serve here.
    npm.args(["install", "--no-save", "--silent", "--ignore-scripts", "--no-audit", "--no-fund"]);
    process::show(process::with_deadline(SECONDS, &npm).current_dir(&web))?;
    let note = web.join("node_modules/.holon-lock");
    std::fs::write(&note, wanted).map_err(|error| format!("cannot write {}: {error}", note.display()))
}

/// Runs the unit tests of the page's sources.
pub(crate) fn unit_tests() -> Result<(), XtaskFailure> {
    let mut npm = Command::new("npm");
    npm.args(["run", "--silent", "test"]);
    process::show(process::with_deadline(SECONDS, &npm).current_dir(project::root().join("web")))
}
