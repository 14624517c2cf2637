//! What one command used: a small process of its own starts it, so that the kernel's count of what its children used
//! is about this command and nothing before it.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::resource::{UsageWho, getrusage};

use crate::BenchFailure;
use crate::command::capture;

/// Runs `command` and returns the peak memory, in MB, of the largest process of it and of all that it waited for.
pub(crate) fn peak_mb(command: &Command) -> Result<f64, BenchFailure> {
    let own = std::env::current_exe().map_err(|e| format!("cannot find this program: {e}"))?;
    let mut metered = Command::new(own);
    metered.arg("--meter").arg(command.get_program()).args(command.get_args());
    metered.current_dir(command.get_current_dir().unwrap_or(Path::new("/")));
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => metered.env(name, value),
            None => metered.env_remove(name),
        };
    }
    let said = capture(&mut metered)?;
    said.trim().parse::<f64>().map_err(|_| format!("the meter said {said:?}"))
}

/// The other side of [`peak_mb`].
pub(crate) fn run(command: &[OsString]) -> Result<(), BenchFailure> {
    let (program, arguments) = command.split_first().ok_or("--meter needs a command")?;
    let status = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .map_err(|e| format!("cannot start {}: {e}", program.to_string_lossy()))?;
    if !status.success() {
        return Err(format!("{} ended with {status}", program.to_string_lossy()));
    }
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|e| format!("no usage: {e}"))?;
    println!("{:.3}", usage.max_rss() as f64 / 1024.0);
    Ok(())
}
