//! A person's seat: a real terminal with `holon` on it, played from the outside.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use holon_sandbox::isolation::{PseudoTerminal, TerminalSize};
use holon_testkit::{TestEnv, TestWorkspace, wait_until};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{Termios, tcgetattr};
use serde_json::Value;

use super::BIN;

/// Nothing here takes long; a machine at its limits may.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);
/// Runs a command, says how it ended, and stays.
const LEADER: &str = "\"$@\"; echo \"<ended with $?>\"; read rest";
pub(crate) const SIZE: TerminalSize = TerminalSize { rows: 31, columns: 97, width: 0, height: 0 };

/// A repository, and a place for agents.
pub(crate) struct Room {
    pub(crate) env: TestEnv,
    pub(crate) repo: TestWorkspace,
}

impl Room {
    pub(crate) fn new() -> Self {
        let env = TestEnv::new(BIN);
        let repo = env.repo().file("a.txt", "one\n").commit("first");
        Self { env, repo }
    }

    /// A shell script as an agent.
    pub(crate) fn agent(&self, script: &str) -> PathBuf {
        self.env.agent("agent.sh", &format!("#!/bin/sh\n{script}\n"))
    }

    /// `holon run -i` with this script as the agent.
    pub(crate) fn sit(&self, script: &str, more: &[&str]) -> Seat {
        let agent = self.agent(script);
        let begin = ["run", "-i", "--agent", agent.to_str().unwrap()];
        self.seat(&[&begin, more].concat())
    }

    /// `holon` with these arguments on a terminal of its own.
    pub(crate) fn seat(&self, args: &[&str]) -> Seat {
        let binary = self.env.binary().to_str().unwrap().to_owned();
        self.seat_of(&[&[binary.as_str()], args].concat(), &[])
    }

    /// Any program there, below a shell that stays: with the first process of a terminal's session the terminal goes, too.
    pub(crate) fn seat_of(&self, argv: &[&str], more: &[(&str, &str)]) -> Seat {
        let PseudoTerminal { outside, inside } = PseudoTerminal::open(SIZE).unwrap();
        let stream = || Stdio::from(inside.try_clone().unwrap());
        let before = tcgetattr(&inside).unwrap();
        let child = Command::new("setsid")
            .args(["--ctty", "--wait", "/bin/sh", "-c", LEADER, "leader"])
            .args(argv)
            .env_clear()
            .envs(self.env.variables())
            .env("TERM", "xterm-256color")
            .envs(more.iter().copied())
            .current_dir(self.repo.path())
            .stdin(stream())
            .stdout(stream())
            .stderr(stream())
            .spawn()
            .unwrap();
        Seat { outside: File::from(outside), inside, before, child, seen: Vec::new(), read: 0 }
    }

    pub(crate) fn file(&self) -> String {
        std::fs::read_to_string(self.repo.path().join("a.txt")).unwrap()
    }

    /// The manifest of the only run.
    pub(crate) fn manifest(&self) -> Value {
        let runs = self.env.runs();
        assert_eq!(runs.len(), 1, "{runs:?}");
        manifest(&runs[0])
    }
}

pub(crate) fn manifest(run: &Path) -> Value {
    let file = run.join("output/manifest.json");
    assert!(wait_until(PATIENCE, || file.exists()), "{} did not come", file.display());
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

/// Somebody's terminal.
pub(crate) struct Seat {
    outside: File,
    inside: OwnedFd,
    before: Termios,
    child: Child,
    seen: Vec<u8>,
    /// How much of it was waited for.
    read: usize,
}

impl Seat {
    /// Everything shown since the last words that were waited for, up to these.
    #[track_caller]
    pub(crate) fn until(&mut self, words: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = find(&self.seen[self.read..], words.as_bytes()) {
                let from = self.read;
                self.read += at + words.len();
                return String::from_utf8_lossy(&self.seen[from..self.read]).into_owned();
            }
            assert!(Instant::now() < deadline && self.more(), "no {words:?} in {:?}", self.shown());
        }
    }

    /// Reads on; whether there was anything, or may still be.
    fn more(&mut self) -> bool {
        let wait = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        if poll(&mut [PollFd::new(&self.outside, PollFlags::IN)], Some(&wait)).unwrap_or(0) == 0 {
            return true;
        }
        let mut buffer = [0; 4096];
        match self.outside.read(&mut buffer) {
            Ok(read) if read > 0 => {
                self.seen.extend_from_slice(&buffer[..read]);
                true
            }
            _ => false,
        }
    }

    /// Everything shown by now.
    pub(crate) fn shown(&self) -> String {
        String::from_utf8_lossy(&self.seen).into_owned()
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.outside.write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn resize(&self, size: TerminalSize) {
        size.set(&self.outside).unwrap();
    }

    /// The process of `holon` itself: `setsid` becomes the shell, whose only child it is.
    pub(crate) fn pid(&self) -> i32 {
        child_of(i32::try_from(self.child.id()).unwrap(), b"")
    }

    /// The one that carries the run.
    pub(crate) fn carrier(&self) -> i32 {
        child_of(self.pid(), b"holon-screen")
    }

    pub(crate) fn signal(pid: i32, signal: Signal) {
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    /// Waits for the end, reading what is shown, and gives the exit code as a shell tells it.
    #[track_caller]
    pub(crate) fn end(&mut self) -> i32 {
        self.until("<ended with ");
        let code = self.until(">");
        code.trim_end_matches('>').parse().unwrap()
    }

    /// Whether the terminal's own modes are those it had.
    pub(crate) fn is_itself(&self) -> bool {
        let flags =
            |modes: &Termios| (modes.input_modes, modes.output_modes, modes.control_modes, modes.local_modes);
        flags(&tcgetattr(&self.inside).unwrap()) == flags(&self.before)
    }

    /// The terminal is whole: its modes, its screen, its cursor, its mouse and its pastes.
    #[track_caller]
    pub(crate) fn assert_whole(&mut self) {
        assert!(wait_until(PATIENCE, || self.is_itself()), "the modes are not back");
        let deadline = Instant::now() + PATIENCE;
        while let Some(left) = left_on(&self.shown()) {
            assert!(Instant::now() < deadline && self.more(), "{left} is left on: {:?}", self.shown());
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A child whose name begins like this.
fn child_of(parent: i32, name: &[u8]) -> i32 {
    let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap();
    let named =
        |pid: &&str| std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.starts_with(name));
    children.split_whitespace().find(named).expect("a child of that name").parse().unwrap()
}

fn find(bytes: &[u8], words: &[u8]) -> Option<usize> {
    bytes.windows(words.len()).position(|part| part == words)
}

/// A private mode that was switched last to what a shell does not expect.
fn left_on(shown: &str) -> Option<&'static str> {
    let last = |mode: &str| {
        let at = |letter: char| shown.rfind(&format!("\x1b[?{mode}{letter}"));
        (at('h'), at('l'))
    };
    let on = |mode: &str| matches!(last(mode), (on @ Some(_), off) if on > off);
    let off = |mode: &str| matches!(last(mode), (on, off @ Some(_)) if off > on);
    ["1049", "1000", "1006", "2004", "1004"].into_iter().find(|mode| on(mode)).or(off("25").then_some("25"))
}
