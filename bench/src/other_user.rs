//! The same suite as an ordinary user, when root runs the bench: the walls stand on other legs then.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::BenchFailure;
use crate::command;
use crate::report::SuiteReport;
use crate::scratch::{BINARY, BenchContext};
use crate::suite::Suite;

/// A uid that belongs to nobody on a usual machine.
const UID: u32 = 54_321;

/// Whether there is a difference to see: not for an ordinary user, nor for a suite without walls.
pub(crate) fn matters(suite: &Suite) -> bool {
    suite.depends_on_user && rustix::process::geteuid().is_root()
}

/// Who that is.
pub(crate) fn name() -> String {
    format!("an ordinary user (uid {UID})")
}

/// What the suite says when an ordinary user measures it.
pub(crate) fn report(suite: &Suite, bench: &BenchContext) -> Result<SuiteReport, BenchFailure> {
    let setpriv = command::need("setpriv")?;
    let refuse = |e: std::io::Error| format!("cannot prepare for uid {UID}: {e}");
    let own = bench.folder().join("holon-bench");
    fs::copy(std::env::current_exe().map_err(refuse)?, &own).map_err(refuse)?;
    fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).map_err(refuse)?;
    let home = bench.new_folder(&format!("user-{}", suite.name))?;
    std::os::unix::fs::chown(&home, Some(UID), Some(UID)).map_err(refuse)?;
    let mut again = Command::new(setpriv);
    again.args([
        format!("--reuid={UID}"),
        format!("--regid={UID}"),
        "--clear-groups".to_owned(),
        "--".to_owned(),
    ]);
    again.arg(&own).args(["--report", suite.name]);
    if bench.quick {
        again.arg("--quick");
    }
    again.current_dir(&home).env("HOME", &home).env("TMPDIR", &home).env(BINARY, &bench.holon);
    again.env_remove("XDG_RUNTIME_DIR").env_remove("XDG_STATE_HOME").env_remove("XDG_CONFIG_HOME");
    let said = command::capture(&mut again)?;
    serde_json::from_str(&said).map_err(|e| format!("the other process said something else: {e}"))
}
