//! The host's side of a launch.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use super::bare::BareCommand;
use super::enforcement::SandboxEnforcement;
use super::job::{BaseMounts, PayloadLimits, PayloadStreams, SandboxJob};
use super::launcher::LAUNCHER_NAME;
use super::step::{LaunchRefusal, LaunchStep};
use super::wire::{self, GO_ON, InitMessage, LauncherPrelude, TERMINATE};
use crate::ready::readable;

/// How long the walls may take to stand before the launch counts as failed.
const SETUP_LIMIT: Duration = Duration::from_secs(30);

/// How a payload ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PayloadEnding {
    /// By itself, with this code.
    Code(i32),
    /// By a signal.
    Signal(i32),
    /// With its init, because the host said so or the kernel did.
    Killed,
}

/// Starts payloads through a launcher binary.
#[derive(Debug, Clone)]
pub struct Launcher {
    binary: PathBuf,
}

impl Default for Launcher {
    /// The running binary itself, which must call [`super::become_launcher_if_asked`] in `main`.
    fn default() -> Self {
        Self { binary: "/proc/self/exe".into() }
    }
}

impl Launcher {
    /// Another binary that can become the launcher; for benches and tests.
    pub fn at(binary: impl Into<PathBuf>) -> Self {
        Self { binary: binary.into() }
    }

    /// The binary that can become the launcher, or a keeper.
    pub(crate) fn binary(&self) -> &Path {
        &self.binary
    }

    /// Starts the launcher process, which gets ready while the caller still works out the job.
    pub fn warm(&self, ground: &BaseMounts) -> Result<WarmLauncher, LaunchRefusal> {
        let running = self.prepare(&LauncherPrelude::Walls(ground.clone()), ground.streams)?;
        Ok(WarmLauncher { running, ground: ground.clone() })
    }

    /// Starts a command without namespaces; `client` keeps it out of the run's control group.
    pub(crate) fn spawn_bare(
        &self,
        name: &str,
        limits: PayloadLimits,
        bare: &BareCommand,
        client: bool,
    ) -> Result<SandboxedProcess, LaunchRefusal> {
        let prelude = if client {
            LauncherPrelude::Client
        } else {
            LauncherPrelude::Bare { name: name.to_owned(), limits }
        };
        let mut running = self.prepare(&prelude, bare.streams)?;
        wire::give(&running.socket, bare).map_err(|e| LaunchRefusal::new(LaunchStep::Job, e, ""))?;
        running.await_ready()?;
        Ok(running)
    }

    fn prepare(
        &self,
        prelude: &LauncherPrelude,
        streams: PayloadStreams,
    ) -> Result<SandboxedProcess, LaunchRefusal> {
        let refuse = |e: io::Error| LaunchRefusal::new(LaunchStep::Job, e, self.binary.display().to_string());
        let (ours, theirs) = UnixStream::pair().map_err(refuse)?;
        let (channel, stdout) = match streams {
            PayloadStreams::Watched => (None, Stdio::piped()),
            PayloadStreams::Channel => {
                let (near, far) = UnixStream::pair().map_err(refuse)?;
                (Some(near), Stdio::from(OwnedFd::from(far)))
            }
            PayloadStreams::Terminal(_) => (None, Stdio::null()),
        };
        let mut child = Command::new(&self.binary)
            .arg0(LAUNCHER_NAME)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(stdout)
            .stderr(Stdio::piped())
            // Ctrl-C on the terminal is the host's to handle.
            .process_group(0)
            .spawn()
            .map_err(refuse)?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let running = SandboxedProcess {
            messages: BufReader::new(ours.try_clone().map_err(refuse)?),
            socket: ours,
            launcher: Some(child),
            held: SandboxEnforcement::default(),
            channel,
            listeners: VecDeque::new(),
            terminal: None,
            stopped: false,
            stdout,
            stderr,
            ending: None,
            out_of_memory: false,
        };
        wire::give(&running.socket, prelude).map_err(refuse)?;
        Ok(running)
    }

    /// Builds the walls and starts the job; returns when the walls stand.
    pub fn spawn(&self, job: &SandboxJob) -> Result<SandboxedProcess, LaunchRefusal> {
        self.warm(&job.ground())?.start(job)
    }
}

/// A launcher that waits for its job.
#[derive(Debug)]
pub struct WarmLauncher {
    running: SandboxedProcess,
    ground: BaseMounts,
}

impl WarmLauncher {
    /// Builds the rest of the walls and starts the job, whose ground must be the one it was warmed for; returns when
    /// the walls stand.
    pub fn start(self, job: &SandboxJob) -> Result<SandboxedProcess, LaunchRefusal> {
        let mut running = self.running;
        let refuse = |e: io::Error| LaunchRefusal::new(LaunchStep::Job, e, "");
        if !self.ground.carries(job) {
            return Err(refuse(io::Error::other("the launcher was warmed for another job")));
        }
        let rest = SandboxJob { mounts: job.mounts[self.ground.mounts.len()..].to_vec(), ..job.clone() };
        // A launcher that gave up already does not read the job, but has said why.
        let given = wire::give(&running.socket, &rest);
        for _ in job.network.ports() {
            let listener = running.await_descriptor(LaunchStep::Loopback, "a listener of the host")?;
            running.listeners.push_back(listener.into());
        }
        if let PayloadStreams::Terminal(_) = job.streams {
            running.terminal = Some(running.await_descriptor(LaunchStep::Exec, "a terminal inside")?);
        }
        running.await_ready()?;
        given.map_err(refuse)?;
        Ok(running)
    }
}

/// A payload behind its walls.
#[derive(Debug)]
pub struct SandboxedProcess {
    socket: UnixStream,
    messages: BufReader<UnixStream>,
    launcher: Option<Child>,
    held: SandboxEnforcement,
    channel: Option<UnixStream>,
    listeners: VecDeque<TcpListener>,
    terminal: Option<OwnedFd>,
    stopped: bool,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    ending: Option<PayloadEnding>,
    out_of_memory: bool,
}

impl SandboxedProcess {
    /// Which walls stand.
    pub fn held(&self) -> &SandboxEnforcement {
        &self.held
    }

    /// The payload's standard output (none with a channel) and error; `None` the second time.
    pub fn take_output(&mut self) -> Option<(Option<ChildStdout>, ChildStderr)> {
        Some((self.stdout.take(), self.stderr.take()?))
    }

    /// The host's end of the payload's standard input and output, if the job asked for a channel; once.
    pub fn take_channel(&mut self) -> Option<UnixStream> {
        self.channel.take()
    }

    /// The host's end of the payload's terminal, if the job asked for one; once.
    pub fn take_terminal(&mut self) -> Option<OwnedFd> {
        self.terminal.take()
    }

    /// Whether the payload stopped on its terminal since this was asked last.
    pub fn take_stop(&mut self) -> bool {
        std::mem::take(&mut self.stopped)
    }

    /// Lets a payload that stopped on its terminal go on.
    pub fn go_on(&self) {
        let _ = (&self.socket).write_all(&[GO_ON]);
    }

    /// The next listener inside the payload's network, if the job asked for one: that for a gateway first, then that for a
    /// proxy; each once.
    pub fn take_listener(&mut self) -> Option<TcpListener> {
        self.listeners.pop_front()
    }

    /// Waits at most `limit` for the payload to end; `None` if it has not. An exec that failed is an error.
    pub fn wait(&mut self, limit: Duration) -> Result<Option<PayloadEnding>, LaunchRefusal> {
        let deadline = Instant::now() + limit;
        while self.ending.is_none() {
            match self.next_message(deadline)? {
                None => return Ok(None),
                Some(message) => self.take(message)?,
            }
        }
        Ok(self.ending)
    }

    /// Everything below the launcher, as the host numbers it: init adopts whatever the payload lets go of.
    pub fn processes(&self) -> Vec<u32> {
        let mut found = Vec::new();
        let mut todo: Vec<u32> = self.launcher.iter().map(Child::id).collect();
        while let Some(pid) = todo.pop() {
            for task in std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
                let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
                todo.extend(children.split_whitespace().filter_map(|word| word.parse::<u32>().ok()));
            }
            found.push(pid);
        }
        found
    }

    /// Asks the payload to end (SIGTERM to everything inside).
    pub fn terminate(&self) {
        let _ = (&self.socket).write_all(&[TERMINATE]);
    }

    /// Ends everything inside at once.
    pub fn kill(&mut self) {
        let _ = self.socket.shutdown(Shutdown::Write);
    }

    /// Ends what is left, waits until the kernel has removed the last process, and tells how it went.
    pub fn finish(mut self) -> FinishedPayload {
        self.kill();
        let deadline = Instant::now() + SETUP_LIMIT;
        // The socket ends when init and everything below it are gone.
        while let Ok(Some(message)) = self.next_message(deadline) {
            let _ = self.take(message);
        }
        FinishedPayload {
            ending: self.ending.unwrap_or(PayloadEnding::Killed),
            out_of_memory: self.out_of_memory,
        }
    }

    fn await_ready(&mut self) -> Result<(), LaunchRefusal> {
        let deadline = Instant::now() + SETUP_LIMIT;
        match self.next_message(deadline)? {
            Some(InitMessage::Ready(held)) => {
                self.held = held;
                Ok(())
            }
            Some(InitMessage::Refused(refusal)) => Err(refusal),
            _ => {
                let silent = if self.ending.is_some() {
                    "the launcher ended without a word"
                } else {
                    "the walls did not stand in time"
                };
                Err(LaunchRefusal::new(LaunchStep::Namespaces, io::Error::other(silent), ""))
            }
        }
    }

    /// A descriptor comes before the first message, or a refusal instead of it.
    fn await_descriptor(&mut self, step: LaunchStep, what: &str) -> Result<OwnedFd, LaunchRefusal> {
        let refuse = |e: io::Error| LaunchRefusal::new(step, e, what);
        let deadline = Instant::now() + SETUP_LIMIT;
        if !readable(&self.socket, deadline) {
            return Err(refuse(io::ErrorKind::TimedOut.into()));
        }
        match wire::take_fd_or_byte(&self.socket).map_err(refuse)? {
            Ok(fd) => Ok(fd),
            Err(first) => {
                let mut line = vec![first];
                self.messages.read_until(b'\n', &mut line).map_err(refuse)?;
                match serde_json::from_slice(&line) {
                    Ok(InitMessage::Refused(refusal)) => Err(refusal),
                    _ => Err(refuse(io::Error::other("init said something else"))),
                }
            }
        }
    }

    fn take(&mut self, message: InitMessage) -> Result<(), LaunchRefusal> {
        match message {
            InitMessage::Exited(code) => self.ending = self.ending.or(Some(PayloadEnding::Code(code))),
            InitMessage::Signalled(signal) => {
                self.ending = self.ending.or(Some(PayloadEnding::Signal(signal)))
            }
            InitMessage::OutOfMemory => self.out_of_memory = true,
            InitMessage::Stopped => self.stopped = true,
            InitMessage::Refused(refusal) => return Err(refusal),
            InitMessage::Ready(_) => {}
        }
        Ok(())
    }

    /// One message, or `None` when the deadline passes; end of file counts as killed.
    fn next_message(&mut self, deadline: Instant) -> Result<Option<InitMessage>, LaunchRefusal> {
        if self.messages.buffer().is_empty() && !readable(&self.socket, deadline) {
            return Ok(None);
        }
        let mut line = String::new();
        let read = self.messages.read_line(&mut line);
        match read {
            Ok(n) if n > 0 => serde_json::from_str(&line)
                .map(Some)
                .map_err(|e| LaunchRefusal::new(LaunchStep::Job, io::Error::from(e), "message from init")),
            _ => {
                self.ending = self.ending.or(Some(PayloadEnding::Killed));
                Ok(None)
            }
        }
    }
}

impl Drop for SandboxedProcess {
    fn drop(&mut self) {
        self.kill();
        if let Some(mut launcher) = self.launcher.take() {
            // It only has its control group left to tidy up; nobody needs to wait for that.
            std::thread::spawn(move || launcher.wait());
        }
    }
}

/// The end of a payload, after its last process is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FinishedPayload {
    /// How it ended.
    pub ending: PayloadEnding,
    /// Whether the kernel ended a process for want of memory.
    pub out_of_memory: bool,
}
