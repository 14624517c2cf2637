//! Starting a command of the environment and waiting for it with a deadline.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::wait::wait_until;
use crate::{CommandEnd, TestEnv};

/// How long a command may take unless the test says otherwise.
const PATIENCE: Duration = Duration::from_secs(240);

/// A command that is being put together; nothing of the caller's environment but PATH reaches it.
pub struct Invocation {
    command: Command,
    display: String,
    logs: PathBuf,
    timeout: Duration,
}

impl Invocation {
    pub(crate) fn new(program: &OsStr, env: &TestEnv) -> Self {
        let mut command = Command::new(program);
        command.env_clear().envs(env.variables()).current_dir(env.work()).stdin(Stdio::null());
        // A group of its own, so that a deadline takes the children along.
        command.process_group(0);
        if let Some((uid, gid)) = env.become_user() {
            // With a uid set, std drops all supplementary groups of root as well.
            command.uid(uid).gid(gid);
        }
        let display = program.to_string_lossy().into_owned();
        Self { command, display, logs: env.root().join("logs"), timeout: PATIENCE }
    }

    /// Adds one argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.display.push(' ');
        self.display.push_str(&arg.as_ref().to_string_lossy());
        self.command.arg(arg);
        self
    }

    /// Adds arguments.
    pub fn args<I, S>(mut self, args: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        for arg in args {
            self = self.arg(arg);
        }
        self
    }

    /// Sets a variable.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Takes a variable away.
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Starts in this folder instead of `work/`.
    pub fn cwd(mut self, folder: impl AsRef<Path>) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Reads standard input from this file instead of /dev/null.
    pub fn stdin_from(mut self, file: impl AsRef<Path>) -> Self {
        let path = file.as_ref();
        let file = File::open(path).unwrap_or_else(|error| panic!("opening {}: {error}", path.display()));
        self.command.stdin(file);
        self
    }

    /// Kills the command and its process group after this time instead of two minutes.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Runs to the end, or to the deadline: then the output says `timed_out`.
    pub fn run(self) -> CommandEnd {
        self.spawn().wait()
    }

    /// Starts the command and returns while it runs.
    pub fn spawn(mut self) -> RunningCommand {
        // Files instead of pipes: a descendant that outlives the command cannot make the test hang.
        let log = |suffix: &str| {
            tempfile::Builder::new()
                .prefix("")
                .suffix(suffix)
                .tempfile_in(&self.logs)
                .expect("making a log")
                .keep()
        };
        let (stdout, stdout_path) = log(".out").expect("keeping a log");
        let (stderr, stderr_path) = log(".err").expect("keeping a log");
        self.command.stdout(append(&stdout_path, stdout)).stderr(append(&stderr_path, stderr));
        let started = Instant::now();
        let child =
            self.command.spawn().unwrap_or_else(|error| panic!("cannot start `{}`: {error}", self.display));
        RunningCommand {
            child,
            display: self.display,
            stdout_path,
            stderr_path,
            deadline: started + self.timeout,
            started,
            status: None,
        }
    }
}

/// Reopens a log for appending, so that writers sharing it never overwrite each other.
fn append(path: &Path, made: File) -> File {
    drop(made);
    File::options().append(true).open(path).expect("reopening a log")
}

/// A command that was started; dropped before its end, it is killed with its process group.
pub struct RunningCommand {
    child: Child,
    display: String,
    stdout_path: PathBuf,
    stderr_path: PathBuf,
    started: Instant,
    deadline: Instant,
    status: Option<ExitStatus>,
}

impl RunningCommand {
    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What the command has written to standard output so far.
    pub fn stdout_so_far(&self) -> String {
        String::from_utf8_lossy(&read(&self.stdout_path)).into_owned()
    }

    /// What the command has written to standard error so far.
    pub fn stderr_so_far(&self) -> String {
        String::from_utf8_lossy(&read(&self.stderr_path)).into_owned()
    }

    /// Blocks until standard output or error contains `text`; panics when the command's deadline passes first.
    pub fn wait_for_text(&mut self, text: &str) {
        let found =
            |running: &Self| running.stdout_so_far().contains(text) || running.stderr_so_far().contains(text);
        let left = self.deadline.saturating_duration_since(Instant::now());
        let mut ended = false;
        wait_until(left, || {
            // Looked at before the text, or the last words of a command that ends here would be missed.
            ended = self.has_ended();
            found(self) || ended
        });
        assert!(
            found(self),
            "`{}` {} without saying {text:?}\n--- stdout\n{}\n--- stderr\n{}",
            self.display,
            if ended { "ended" } else { "ran into its deadline" },
            self.stdout_so_far(),
            self.stderr_so_far()
        );
    }

    /// True once the command itself has ended.
    pub fn has_ended(&mut self) -> bool {
        if self.status.is_none() {
            self.status = self.child.try_wait().expect("asking for a child's state");
        }
        self.status.is_some()
    }

    /// Sends a signal to the command alone, as `kill PID` does.
    pub fn signal(&self, signal: Signal) {
        if self.status.is_none() {
            rustix::process::kill_process(pid(&self.child), signal).expect("sending a signal");
        }
    }

    /// Sends SIGKILL to the command alone and returns what it said; its descendants are left to themselves.
    pub fn kill(self) -> CommandEnd {
        self.signal(Signal::KILL);
        self.wait()
    }

    /// Waits for the end or the deadline, at which the whole process group is killed.
    pub fn wait(mut self) -> CommandEnd {
        let timed_out = !self.wait_for_exit();
        if timed_out {
            self.kill_group();
        }
        let status = match self.status {
            Some(status) => status,
            None => {
                let status = self.child.wait().expect("waiting for a child");
                self.status = Some(status);
                status
            }
        };
        let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
        CommandEnd::new(
            std::mem::take(&mut self.display),
            code,
            timed_out,
            read(&self.stdout_path),
            read(&self.stderr_path),
            self.started.elapsed(),
        )
    }

    /// Blocks on the process itself, not on the clock; false when the deadline came first.
    fn wait_for_exit(&mut self) -> bool {
        if self.has_ended() {
            return true;
        }
        let pidfd = pidfd_open(pid(&self.child), PidfdFlags::empty()).expect("opening a pidfd");
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
            match poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&timeout)) {
                Ok(0) => return false,
                Ok(_) => return true,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => panic!("waiting for `{}`: {error}", self.display),
            }
        }
    }

    fn kill_group(&self) {
        // The child leads its group and is not reaped yet, so the number cannot belong to anyone else.
        let _ = kill_process_group(pid(&self.child), Signal::KILL);
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        if self.status.is_none() && !self.has_ended() {
            self.kill_group();
            let _ = self.child.wait();
        }
    }
}

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

fn read(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut file = File::open(path).unwrap_or_else(|error| panic!("opening {}: {error}", path.display()));
    bytes.reserve(file.metadata().map_or(0, |meta| meta.size() as usize));
    file.read_to_end(&mut bytes).expect("reading a log");
    bytes
}

impl std::fmt::Debug for Invocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let program: OsString = self.command.get_program().to_owned();
        f.debug_struct("Invocation").field("program", &program).field("display", &self.display).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_takes_the_whole_group() {
        let env = TestEnv::new("/bin/sh");
        let script = "sleep 3600 & exec sleep 3600";
        let output = env.holon(["-c", script]).timeout(Duration::from_millis(300)).run();
        assert!(output.timed_out);
        assert_eq!(output.code, 137);
        env.assert_nothing_left();
    }

    #[test]
    fn a_process_that_outlives_the_command_does_not_hold_the_test() {
        let env = TestEnv::new("/bin/sh");
        let mut keeper = env.program("sleep").arg("3600").spawn();
        let output = env.holon(["-c", "echo said; exit 3"]).run();
        output.assert_code(3);
        assert_eq!(output.stdout, "said\n");
        assert!(!keeper.has_ended());
        assert_eq!(env.leftover_processes().len(), 1);
        assert_eq!(keeper.kill().code, 137);
        env.assert_nothing_left();
    }

    #[test]
    fn text_can_be_waited_for() {
        let env = TestEnv::new("/bin/sh");
        let mut running = env.holon(["-c", "echo ready >&2; exec sleep 3600"]).spawn();
        running.wait_for_text("ready");
        running.signal(Signal::TERM);
        assert_eq!(running.wait().code, 128 + 15);
    }

    #[test]
    #[should_panic(expected = "ended without saying")]
    fn text_that_never_comes_is_an_error() {
        let env = TestEnv::new("/bin/sh");
        env.holon(["-c", "echo other"]).spawn().wait_for_text("ready");
    }
}
