//! Running other programs and timing them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::Failure;

/// From fork to the end; an error with the program's own words when it does not succeed.
pub(crate) fn time(command: &mut Command) -> Result<Duration, Failure> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let status = command.status().map_err(|e| cannot_start(command, &e))?;
    let time = start.elapsed();
    if status.success() {
        return Ok(time);
    }
    // Once more, listening: the timed runs have no pipes that could slow them down.
    capture(command)?;
    Err(format!("`{}` ended with {status}", name(command)))
}

/// Its standard output; an error with its standard error when it does not succeed.
pub(crate) fn capture(command: &mut Command) -> Result<String, Failure> {
    let output = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .map_err(|e| cannot_start(command, &e))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).take(4).collect();
        return Err(format!("`{}` ended with {}: {}", name(command), output.status, said.join("; ")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Where a program is: on the PATH or in a folder for administrators.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let admin = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(admin).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// The same, as an error a person can act on.
pub(crate) fn need(program: &str) -> Result<PathBuf, Failure> {
    find(program).ok_or_else(|| format!("{program} is not installed"))
}

fn cannot_start(command: &Command, error: &std::io::Error) -> Failure {
    format!("cannot start `{}`: {error}", name(command))
}

fn name(command: &Command) -> String {
    Path::new(command.get_program()).file_name().unwrap_or(OsStr::new("?")).to_string_lossy().into_owned()
}
