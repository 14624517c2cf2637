//! Running other programs and timing them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::BenchFailure;

/// From fork to the end; an error with the program's own words when it does not succeed.
pub(crate) fn time(command: &mut Command) -> Result<Duration, BenchFailure> {
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
pub(crate) fn capture(command: &mut Command) -> Result<String, BenchFailure> {
    output(command).map(|(stdout, _)| stdout)
}

/// Its standard output and then its standard error: some tell their version on that.
pub(crate) fn capture_both(command: &mut Command) -> Result<String, BenchFailure> {
    output(command).map(|(stdout, stderr)| format!("{stdout}\n{stderr}"))
}

fn output(command: &mut Command) -> Result<(String, String), BenchFailure> {
    let output = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .map_err(|e| cannot_start(command, &e))?;
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|b| String::from_utf8_lossy(b).into_owned());
    if !output.status.success() {
        return Err(format!("`{}` ended with {}: {}", name(command), output.status, gist(&stderr)));
    }
    Ok((stdout, stderr))
}

/// The line that names the error, or else the first few.
fn gist(said: &str) -> String {
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let error = lines.iter().rev().find(|line| line.to_lowercase().starts_with("error"));
    error.map_or_else(
        || lines.iter().take(4).copied().collect::<Vec<_>>().join("; "),
        |line| (*line).to_owned(),
    )
}

/// Where a program is: on the PATH or in a folder for administrators.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let admin = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(admin).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// The same, as an error a person can act on.
pub(crate) fn need(program: &str) -> Result<PathBuf, BenchFailure> {
    find(program).ok_or_else(|| format!("{program} is not installed"))
}

fn cannot_start(command: &Command, error: &std::io::Error) -> BenchFailure {
    format!("cannot start `{}`: {error}", name(command))
}

fn name(command: &Command) -> String {
    Path::new(command.get_program()).file_name().unwrap_or(OsStr::new("?")).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn failures_say_what_the_program_said() {
        for (script, expect) in [
            ("echo first >&2; echo 'Error: second' >&2; exit 3", "exit status: 3: Error: second"),
            ("echo first >&2; echo second >&2; exit 1", "exit status: 1: first; second"),
        ] {
            let failure = time(Command::new("/bin/sh").args(["-c", script])).unwrap_err();
            assert!(failure.ends_with(expect), "{failure}");
        }
        assert!(time(Command::new("/bin/sh").args(["-c", "true"])).is_ok());
        assert!(need("no-such-program-anywhere").unwrap_err().contains("not installed"));
    }
}
