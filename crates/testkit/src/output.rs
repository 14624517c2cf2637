//! What a command left behind.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

/// The end of a command: how it ended and what it wrote.
#[derive(Debug, Clone)]
pub struct CommandEnd {
    /// The exit code, or 128 + signal.
    pub code: i32,
    /// True when the deadline ended it.
    pub timed_out: bool,
    /// Standard output, invalid UTF-8 replaced.
    pub stdout: String,
    /// Standard error, invalid UTF-8 replaced.
    pub stderr: String,
    /// Standard output as it was.
    pub stdout_bytes: Vec<u8>,
    /// How long it took.
    pub elapsed: Duration,
    command: String,
}

impl CommandEnd {
    pub(crate) fn new(
        command: String,
        code: i32,
        timed_out: bool,
        stdout: Vec<u8>,
        stderr: Vec<u8>,
        elapsed: Duration,
    ) -> Self {
        Self {
            code,
            timed_out,
            stdout: String::from_utf8_lossy(&stdout).into_owned(),
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
            stdout_bytes: stdout,
            elapsed,
            command,
        }
    }

    /// Panics with everything the command said unless it ended by itself with this code.
    #[track_caller]
    pub fn assert_code(&self, code: i32) -> &Self {
        assert!(!self.timed_out, "ran into the deadline\n{self}");
        assert_eq!(self.code, code, "exit code\n{self}");
        self
    }

    /// Panics unless standard error contains `text`.
    #[track_caller]
    pub fn assert_stderr(&self, text: &str) -> &Self {
        assert!(self.stderr.contains(text), "stderr lacks {text:?}\n{self}");
        self
    }

    /// Panics unless standard output contains `text`.
    #[track_caller]
    pub fn assert_stdout(&self, text: &str) -> &Self {
        assert!(self.stdout.contains(text), "stdout lacks {text:?}\n{self}");
        self
    }

    /// The `--json` events: every line of standard output, each of which must be a JSON object.
    #[track_caller]
    pub fn events(&self) -> Vec<Value> {
        let parse = |line: &str| match serde_json::from_str::<Value>(line) {
            Ok(value) if value.is_object() => value,
            Ok(_) => panic!("not a JSON object: {line:?}\n{self}"),
            Err(error) => panic!("not JSON ({error}): {line:?}\n{self}"),
        };
        self.stdout.lines().filter(|line| !line.trim().is_empty()).map(parse).collect()
    }

    /// Standard output as one JSON document.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("stdout is not JSON: {error}\n{self}"))
    }

    /// The manifest in an output folder.
    #[track_caller]
    pub fn manifest(&self, out: impl AsRef<Path>) -> Value {
        let path = out.as_ref().join("manifest.json");
        let text = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("reading {}: {error}\n{self}", path.display()));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{} is not JSON: {error}", path.display()))
    }
}

impl std::fmt::Display for CommandEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "$ {}", self.command)?;
        writeln!(f, "ended with {} after {:?}", self.code, self.elapsed)?;
        writeln!(f, "--- stdout\n{}", self.stdout)?;
        write!(f, "--- stderr\n{}", self.stderr)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(stdout: &str) -> CommandEnd {
        CommandEnd::new("x".into(), 0, false, stdout.into(), Vec::new(), Duration::ZERO)
    }

    #[test]
    fn events_are_read_line_by_line() {
        let events = said("{\"type\":\"a\"}\n\n{\"type\":\"b\"}\n").events();
        assert_eq!(events.len(), 2);
        assert_eq!(events[1]["type"], "b");
    }

    #[test]
    #[should_panic(expected = "not JSON")]
    fn prose_between_events_is_an_error() {
        said("{}\nhello\n").events();
    }

    #[test]
    #[should_panic(expected = "exit code")]
    fn a_wrong_code_shows_everything() {
        said("out").assert_code(1);
    }
}
