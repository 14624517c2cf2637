//! Mounts that peers leave behind must not show on the machine.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::BenchFailure;
use crate::command;

/// Set in the process that is inside.
const INSIDE: &str = "HOLON_BENCH_SECLUDED";

/// As root, starts this program again in a mount namespace of its own and does not return; otherwise does nothing.
/// An ordinary user's programs mount nothing outside their own namespaces anyway.
pub(crate) fn enter() -> Result<(), BenchFailure> {
    if !rustix::process::geteuid().is_root() || std::env::var_os(INSIDE).is_some() {
        return Ok(());
    }
    let own = std::env::current_exe().map_err(|e| format!("cannot find this program: {e}"))?;
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let error = Command::new(command::need("unshare")?)
        .args(["--mount", "--propagation", "private"])
        .arg(own)
        .args(arguments)
        .env(INSIDE, "1")
        .exec();
    Err(format!("cannot enter a mount namespace: {error}"))
}
