//! The launcher while the command runs: it listens to the host, reaps, and cleans up.

use std::io::Read;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

use super::super::wire::{self, InitMessage, TERMINATE};
use super::broker::MetadataBroker;
use super::{BareCommand, descendants};

/// How long a daemon's client may take to end what it started, in all and between two attempts.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(100);

/// Returns when the command, and everything that belongs to it, is gone.
pub(super) fn until_the_end(
    socket: &UnixStream,
    children: BorrowedFd<'_>,
    pid: i32,
    bare: &BareCommand,
    broker: Option<&MetadataBroker>,
) {
    let Some(payload) = Pid::from_raw(pid) else { return };
    let mut ending = None;
    while ending.is_none() {
        ending = reap(payload);
        if ending.is_none() && !listen(socket, children, bare, broker) {
            break;
        }
    }
    if ending.is_none() && !bare.at_end.is_empty() {
        end_outside(children, payload, bare);
    } else if ending.is_some() {
        // Normally there is nothing left of it; a client that was killed leaves its container.
        if matches!(ending, Some(status) if status.signaled()) {
            run_all(&bare.at_end, bare);
        }
    }
    if bare.adopt {
        descendants::end_all();
    } else if ending.is_none() {
        let _ = rustix::process::kill_process(payload, Signal::KILL);
        let _ = rustix::process::waitpid(Some(payload), WaitOptions::empty());
    }
    if let Some(status) = ending {
        let _ = wire::send(socket, &told(status));
    }
}

fn told(status: WaitStatus) -> InitMessage {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => InitMessage::Exited(code),
        (_, Some(signal)) => InitMessage::Signalled(signal),
        _ => InitMessage::Exited(1),
    }
}

/// Collects whoever has ended; the payload's own end is returned.
fn reap(payload: Pid) -> Option<WaitStatus> {
    while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
        if pid == payload {
            return Some(status);
        }
    }
    None
}

/// Waits for a word from the host or the end of a child; false when the host wants an end or is gone.
fn listen(
    mut socket: &UnixStream,
    children: BorrowedFd<'_>,
    bare: &BareCommand,
    broker: Option<&MetadataBroker>,
) -> bool {
    let mut fds = vec![PollFd::new(socket, PollFlags::IN), PollFd::new(&children, PollFlags::IN)];
    fds.extend(broker.map(|broker| PollFd::new(broker, PollFlags::IN)));
    if poll(&mut fds, None).is_err() {
        return true;
    }
    let (spoken, ended) = (!fds[0].revents().is_empty(), !fds[1].revents().is_empty());
    if let (Some(broker), Some(asked)) = (broker, fds.get(2))
        && asked.revents().contains(PollFlags::IN)
    {
        broker.answer_one();
    }
    if ended {
        let _ = rustix::io::read(children, &mut [0; 512]);
    }
    if !spoken {
        return true;
    }
    let mut byte = [0];
    match socket.read(&mut byte) {
        Ok(1) if byte[0] == TERMINATE && bare.adopt => descendants::signal_all(Signal::TERM),
        Ok(1) if byte[0] == TERMINATE => run(&bare.to_terminate, bare),
        _ => return false,
    }
    true
}

/// Ends what runs elsewhere, again while the client still waits for it: it may only just be coming to life.
fn end_outside(children: BorrowedFd<'_>, client: Pid, bare: &BareCommand) {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        run_all(&bare.at_end, bare);
        let pause = Timespec { tv_sec: 0, tv_nsec: PAUSE.as_nanos() as i64 };
        let _ = poll(&mut [PollFd::new(&children, PollFlags::IN)], Some(&pause));
        let _ = rustix::io::read(children, &mut [0; 512]);
        if reap(client).is_some() {
            break;
        }
    }
    run_all(&bare.at_end, bare);
}

fn run_all(commands: &[Vec<String>], bare: &BareCommand) {
    commands.iter().for_each(|command| run(command, bare));
}

fn run(command: &[String], bare: &BareCommand) {
    let Some((program, args)) = command.split_first() else { return };
    let _ = Command::new(program)
        .args(args)
        .env_clear()
        .envs(bare.env.iter().map(|(k, v)| (k, v)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
}
