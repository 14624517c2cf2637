//! Starting other programs.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{PoisonError, RwLock, mpsc};

use crate::XtaskFailure;

/// So much of a line is repeated in a report, in characters.
const COMPLAINT: usize = 200;

/// Held while a program is started, and alone while one is written: a program that began as a copy of this process
/// holds its open files for a moment, and what somebody still writes cannot be started.
static STARTS: RwLock<()> = RwLock::new(());

fn spawn(command: &mut Command) -> Result<Child, XtaskFailure> {
    let _started = STARTS.read().unwrap_or_else(PoisonError::into_inner);
    command.spawn().map_err(|error| cannot_start(command, &error))
}

/// Does what must not happen while another program is being started.
pub(crate) fn undisturbed<T>(act: impl FnOnce() -> T) -> T {
    let _alone = STARTS.write().unwrap_or_else(PoisonError::into_inner);
    act()
}

/// Runs a program with its output shown; an error when it does not succeed.
pub(crate) fn show(command: &mut Command) -> Result<(), XtaskFailure> {
    let mut child = spawn(command.stdin(Stdio::null()))?;
    let status = child.wait().map_err(|error| cannot_await(command, &error))?;
    if status.success() { Ok(()) } else { Err(format!("`{}` ended with {status}", words(command))) }
}

/// Runs a program silently and returns its standard output; its standard error is part of the error.
pub(crate) fn capture(command: &mut Command) -> Result<String, XtaskFailure> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = spawn(command)?.wait_with_output().map_err(|error| cannot_await(command, &error))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`{}` ended with {}: {}", words(command), output.status, said.trim_end()));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("`{}` wrote text that is not UTF-8", words(command)))
}

/// How a program that was shown and remembered ended.
pub(crate) struct ProgramEnd {
    /// Its exit code; none when a signal ended it.
    pub(crate) code: Option<i32>,
    /// Everything it wrote, both streams in the order of arrival.
    pub(crate) lines: Vec<String>,
}

impl ProgramEnd {
    /// True when it ended with 0.
    pub(crate) fn succeeded(&self) -> bool {
        self.code == Some(0)
    }

    /// The line that tells best why it failed, shortened: a full disk, the first error, or the last words.
    pub(crate) fn complaint(&self) -> String {
        let said = |select: &dyn Fn(&str) -> bool| self.lines.iter().find(|line| select(line.trim()));
        let last = || self.lines.iter().rfind(|line| !line.trim().is_empty());
        let line = said(&|line| line.contains("No space left on device"))
            .or_else(|| said(&|line| line.starts_with("error")))
            .or_else(last);
        line.map_or_else(|| "it said nothing".into(), |line| line.trim().chars().take(COMPLAINT).collect())
    }
}

/// Whether output appears while it is made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Echo {
    /// As it comes.
    Live,
    /// Not at all.
    Silent,
}

/// Runs a program, shows its output as it comes if asked to, and remembers it.
pub(crate) fn tell(command: &mut Command, echo: Echo) -> Result<ProgramEnd, XtaskFailure> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = spawn(command)?;
    let (send, receive) = mpsc::channel();
    let streams: [Option<Box<dyn Read + Send>>; 2] =
        [child.stdout.take().map(|s| Box::new(s) as _), child.stderr.take().map(|s| Box::new(s) as _)];
    let lines = std::thread::scope(|scope| {
        for stream in streams.into_iter().flatten() {
            let send = send.clone();
            scope.spawn(move || forward(stream, &send));
        }
        drop(send);
        receive.iter().inspect(|line| echo_line(line, echo)).collect()
    });
    let status = child.wait().map_err(|error| cannot_await(command, &error))?;
    Ok(ProgramEnd { code: status.code(), lines })
}

fn forward(stream: impl Read, send: &mpsc::Sender<String>) {
    for line in BufReader::new(stream).split(b'\n').map_while(Result::ok) {
        if send.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
            return;
        }
    }
}

fn echo_line(line: &str, echo: Echo) {
    if echo == Echo::Live {
        // A closed standard error is no reason to stop a test run.
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}

/// Where a program is, looked for on the PATH and in the folders for administrators.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let admin = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(admin).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// The same command, ended with its children after `seconds` (code 124, or 137 when it would not listen).
pub(crate) fn with_deadline(seconds: u64, command: &Command) -> Command {
    through(Command::new("timeout").arg("--kill-after=20").arg(seconds.to_string()), command)
}

/// The same command, behind everything else that wants a processor.
pub(crate) fn behind_others(command: &Command) -> Command {
    through(Command::new("nice").args(["-n", "19"]), command)
}

/// A command as the last arguments of another one, with its folder and its variables.
fn through(first: &Command, command: &Command) -> Command {
    let mut both = Command::new(first.get_program());
    both.args(first.get_args()).arg(command.get_program()).args(command.get_args());
    both.current_dir(command.get_current_dir().unwrap_or_else(|| Path::new(".")));
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => both.env(name, value),
            None => both.env_remove(name),
        };
    }
    both
}

fn cannot_start(command: &Command, error: &std::io::Error) -> XtaskFailure {
    format!("cannot start `{}`: {error}", words(command))
}

fn cannot_await(command: &Command, error: &std::io::Error) -> XtaskFailure {
    format!("waiting for `{}`: {error}", words(command))
}

/// A command as a person would type it, without the folders of its program.
fn words(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or(program.as_os_str());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn both_streams_and_the_code_are_remembered() {
        let told = tell(&mut sh("echo out; echo err >&2; exit 3"), Echo::Silent).unwrap();
        assert_eq!(told.code, Some(3));
        assert!(!told.succeeded());
        let mut lines = told.lines;
        lines.sort();
        assert_eq!(lines, ["err", "out"]);
    }

    #[test]
    fn the_best_line_of_a_failure_is_repeated() {
        let told =
            |text: &str| ProgramEnd { code: Some(101), lines: text.lines().map(str::to_owned).collect() };
        let full =
            "   Compiling a\nerror: could not write b\n  = note: No space left on device (os error 28)\n";
        assert_eq!(told(full).complaint(), "= note: No space left on device (os error 28)");
        assert_eq!(told("x\nerror[E0432]: no y\nerror: aborting\n").complaint(), "error[E0432]: no y");
        assert_eq!(told("one\n two \n\n").complaint(), "two");
        assert_eq!(told("").complaint(), "it said nothing");
        assert_eq!(told(&format!("error {}", "x".repeat(900))).complaint().len(), COMPLAINT);
    }

    #[test]
    fn a_failure_says_what_the_program_said() {
        let failure = capture(&mut sh("echo broken >&2; exit 1")).unwrap_err();
        assert!(failure.contains("broken") && failure.starts_with("`sh -c"), "{failure}");
    }

    #[test]
    fn a_deadline_ends_a_program() {
        let told = tell(&mut with_deadline(1, &sh("exec sleep 3600")), Echo::Silent).unwrap();
        assert_eq!(told.code, Some(124));
    }

    #[test]
    fn programs_are_found_by_name_or_path() {
        assert!(find("sh").is_some());
        assert!(find("/bin/sh").is_some());
        assert!(find("no-such-program-anywhere").is_none());
    }
}
