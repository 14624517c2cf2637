//! Starting shells, one of them ahead of time: a call then costs a write, not the start of a shell.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::OFlags;
use rustix::pipe::{PipeFlags, pipe_with};

use super::follow::GroupedProcess;
use super::group::ProcessGroups;
use crate::words::refused;
use crate::workspace_paths::WorkspacePaths;
use crate::{CommandRequest, ExecutorError, ExecutorErrorKind};

/// What a shell does that waits: it takes its line from its standard input, in one go …
const TAKE: &str = "IFS= read -r -N 1073741824 __line;";
/// … says [`TAKEN`] …
const SAY: &str = r"printf '\6';";
/// … and becomes as if it had been started with `-c` and that line.
const GO: &str = r#"exec </dev/null; eval "unset -v __line;$__line""#;
/// The sign on its output that a shell that waited has taken its line.
pub(super) const TAKEN: u8 = 6;
/// Longer lines do not fit into an argument.
const LONGEST_ARGUMENT: usize = 100 << 10;
/// What a pipe takes without anybody reading.
const FITS_IN_PIPE: usize = 32 << 10;

/// Where commands run, and with what.
pub(crate) struct ShellStarter {
    place: WorkspacePaths,
    /// The whole environment of commands; `None` for that of this process.
    env: Option<Vec<(OsString, OsString)>>,
    groups: Arc<ProcessGroups>,
    waiting: Mutex<Option<PrestartedShell>>,
    /// Whether a first try showed that there is no bash.
    no_bash: AtomicBool,
    closed: AtomicBool,
}

/// A shell that waits for its line.
struct PrestartedShell {
    process: GroupedProcess,
    input: File,
    /// Which folder it is in: the workspace may since be another one of the same name.
    folder: (u64, u64),
}

impl ShellStarter {
    pub(crate) fn new(
        place: WorkspacePaths,
        env: Option<Vec<(OsString, OsString)>>,
        groups: Arc<ProcessGroups>,
    ) -> Self {
        let (waiting, no_bash, closed) = (Mutex::default(), AtomicBool::new(false), AtomicBool::new(false));
        Self { place, env, groups, waiting, no_bash, closed }
    }

    pub(crate) fn groups(&self) -> &Arc<ProcessGroups> {
        &self.groups
    }

    /// Starts a shell that waits, unless there is one.
    pub(crate) fn make_ready(&self) {
        let mut slot = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.is_none() && !self.no_bash.load(Ordering::Relaxed) && !self.closed.load(Ordering::SeqCst) {
            // It is only ahead of time; the call itself will report what is wrong, or find another shell.
            *slot = self.start_waiting().ok();
        }
    }

    /// Ends the shell that waits; none is started any more.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        if let Some(waiting) = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take() {
            waiting.process.kill();
        }
    }

    /// Starts a line in the shell that waits, with nothing to read on its standard input; `None` if there is none for it.
    /// Its output begins with [`TAKEN`]; without that, nothing was run.
    pub(super) fn start_ready(&self, run: &CommandRequest) -> Result<Option<GroupedProcess>, ExecutorError> {
        check(run)?;
        let here = run.env.is_empty() && self.folder(run)? == self.place.root();
        Ok(if here { self.hand_over(&run.line) } else { None })
    }

    /// Starts a line in a new shell, with nothing to read on its standard input.
    pub(super) fn start(&self, run: &CommandRequest) -> Result<GroupedProcess, ExecutorError> {
        check(run)?;
        if run.line.len() > LONGEST_ARGUMENT && !self.no_bash.load(Ordering::Relaxed) {
            return self.start_long(run);
        }
        let (process, _) = self.spawn_line(run, false)?;
        Ok(process)
    }

    /// Starts a line that can be fed.
    pub(super) fn start_fed(&self, run: &CommandRequest) -> Result<(GroupedProcess, OwnedFd), ExecutorError> {
        check(run)?;
        let (process, input) = self.spawn_line(run, true)?;
        let input =
            input.ok_or_else(|| ExecutorError::new(ExecutorErrorKind::Other, "the command has no input"))?;
        Ok((process, input))
    }

    /// Gives the line to the shell that waits; `None` if there is none that could take it.
    fn hand_over(&self, line: &str) -> Option<GroupedProcess> {
        if line.len() > FITS_IN_PIPE {
            return None;
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        if waiting.process.alive()
            && folder_of(self.place.root()) == Some(waiting.folder)
            && waiting.input.write_all(line.as_bytes()).is_ok()
        {
            // Dropping the input is the end of the line.
            return Some(waiting.process);
        }
        waiting.process.kill();
        None
    }

    /// A line too long for an argument goes the way of the shell that waits.
    fn start_long(&self, run: &CommandRequest) -> Result<GroupedProcess, ExecutorError> {
        let line = CommandRequest { line: format!("{TAKE} {GO}"), ..run.clone() };
        let (process, input) = self.start_fed(&line)?;
        // The shell reads; if it dies, this ends with a broken pipe.
        match File::from(input).write_all(run.line.as_bytes()) {
            Ok(()) => Ok(process),
            Err(error) => {
                process.kill();
                Err(refused("run", "the command", &error))
            }
        }
    }

    fn start_waiting(&self) -> io::Result<PrestartedShell> {
        let folder = folder_of(self.place.root()).ok_or(ErrorKind::NotFound)?;
        let mut command = self.command("bash");
        command.args(["-c", &format!("{TAKE} {SAY} {GO}"), "bash"]).current_dir(self.place.root());
        let (process, input) = self.spawn(command, Stdio::piped())?;
        let input = input.ok_or(ErrorKind::BrokenPipe)?.into();
        Ok(PrestartedShell { process, input, folder })
    }

    /// Starts the line in a bash, or in whatever `sh` is where there is none.
    fn spawn_line(
        &self,
        run: &CommandRequest,
        fed: bool,
    ) -> Result<(GroupedProcess, Option<OwnedFd>), ExecutorError> {
        let folder = self.folder(run)?;
        loop {
            let shell = if self.no_bash.load(Ordering::Relaxed) { "sh" } else { "bash" };
            let mut command = self.command(shell);
            command.args(["-c", &run.line, shell]).current_dir(&folder).envs(&run.env);
            match self.spawn(command, if fed { Stdio::piped() } else { Stdio::null() }) {
                Err(error) if error.kind() == ErrorKind::NotFound && shell == "bash" && folder.is_dir() => {
                    self.no_bash.store(true, Ordering::Relaxed);
                }
                done => return done.map_err(|error| refused("run", "the command", &error)),
            }
        }
    }

    /// A program in its own group with the environment of commands.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        if let Some(env) = &self.env {
            command.env_clear().envs(env.iter().map(|(key, value)| (key, value)));
        }
        command.process_group(0);
        command
    }

    /// Starts a command whose standard output and error are one pipe; gives its input too, if that is a pipe.
    fn spawn(&self, mut command: Command, stdin: Stdio) -> io::Result<(GroupedProcess, Option<OwnedFd>)> {
        let (output, end) = output_pipe()?;
        command.stdin(stdin).stdout(Stdio::from(end.try_clone()?)).stderr(Stdio::from(end));
        let mut child = command.spawn()?;
        let input = child.stdin.take().map(OwnedFd::from);
        Ok((GroupedProcess::new(child, output, &self.groups), input))
    }

    /// The folder a line runs in.
    fn folder(&self, run: &CommandRequest) -> Result<PathBuf, ExecutorError> {
        let folder = self.place.resolve(&run.cwd)?;
        match folder.is_dir() {
            true => Ok(folder),
            false if folder.exists() => Err(ExecutorError::new(
                ExecutorErrorKind::WrongKind,
                format!("{} is no folder to run in", run.cwd),
            )),
            false => Err(self.place.missing(&run.cwd, &folder)),
        }
    }

    /// Where relative paths start.
    pub(super) fn root(&self) -> &Path {
        self.place.root()
    }
}

/// A pipe whose reading end never waits.
pub(super) fn output_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    rustix::fs::fcntl_setfl(&read, OFlags::NONBLOCK)?;
    Ok((read, write))
}

fn check(run: &CommandRequest) -> Result<(), ExecutorError> {
    let nul = run.line.contains('\0') || run.env.iter().any(|(k, v)| k.contains('\0') || v.contains('\0'));
    let odd = run.env.keys().any(|key| key.is_empty() || key.contains('='));
    match nul || odd {
        true => Err(ExecutorError::new(
            ExecutorErrorKind::Invalid,
            "a command and its environment cannot hold NUL characters, nor a variable's name a `=`",
        )),
        false => Ok(()),
    }
}

fn folder_of(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}
