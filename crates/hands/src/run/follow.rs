//! Following a process to its end: its output as it comes, its time, and a stop that is asked for.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};

use super::group::ProcessGroups;
use crate::CommandOutcome;
use crate::stop::{READABLE, StopSignal};

/// Between asking a group to end and ending it.
const GRACE: Duration = Duration::from_millis(300);
/// How long output may still come from what a command left behind.
const DRAIN: Duration = Duration::from_millis(25);
/// How often to look where the kernel cannot tell, and while a group is being ended.
const TICK: Duration = Duration::from_millis(5);

/// A process with its own group and its output in one pipe.
pub(super) struct GroupedProcess {
    child: Child,
    group: Pid,
    groups: Arc<ProcessGroups>,
    /// Not blocking; `None` at its end.
    output: Option<File>,
    /// Readable when the process has ended.
    end: Option<OwnedFd>,
}

impl GroupedProcess {
    /// A child that leads its own group.
    pub(super) fn new(child: Child, output: OwnedFd, groups: &Arc<ProcessGroups>) -> Self {
        let group = Pid::from_child(&child);
        groups.add(group);
        let end = pidfd_open(group, PidfdFlags::empty()).ok();
        Self { child, group, groups: Arc::clone(groups), output: Some(output.into()), end }
    }

    pub(super) fn group(&self) -> (Pid, Arc<ProcessGroups>) {
        (self.group, Arc::clone(&self.groups))
    }

    /// Whether it has not ended.
    pub(super) fn alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Ends it at once.
    pub(super) fn kill(mut self) {
        self.groups.signal(self.group, Signal::KILL);
        let _ = self.child.wait();
        self.groups.leader_ended(self.group);
    }

    /// Gives all output to `take` and waits for the end, which comes at the deadline at the latest. What the process left
    /// running goes on, unless it was ended from here.
    pub(super) fn follow(
        mut self,
        deadline: Option<Instant>,
        stop: &StopSignal,
        take: &mut dyn FnMut(&[u8]),
    ) -> CommandOutcome {
        let mut buffer = vec![0; 64 << 10];
        let mut ending: Option<ForcedEnding> = None;
        let status = loop {
            let until = ending.as_ref().map_or(deadline, |ending| Some(ending.kill_at));
            let ready = self.wait(until, if ending.is_none() { stop.bell() } else { None });
            if ready.output {
                self.read(&mut buffer, take);
            }
            if ready.end {
                match self.child.try_wait() {
                    Ok(Some(status)) => break Some(status),
                    Ok(None) => {}
                    Err(_) => break None,
                }
            }
            let now = Instant::now();
            match &mut ending {
                None if stop.asked() || deadline.is_some_and(|deadline| now >= deadline) => {
                    self.groups.signal(self.group, Signal::TERM);
                    ending = Some(ForcedEnding { timed_out: !stop.asked(), kill_at: now + GRACE });
                }
                Some(ending) if now >= ending.kill_at => {
                    self.groups.signal(self.group, Signal::KILL);
                    ending.kill_at = now + GRACE;
                }
                _ => {}
            }
        };
        if ending.is_some() {
            self.groups.signal(self.group, Signal::KILL);
        }
        let left = self.groups.leader_ended(self.group);
        self.drain(&mut buffer, take);
        if let (true, Some(output)) = (left, self.output.take()) {
            swallow(output);
        }
        match ending {
            Some(ForcedEnding { timed_out: true, .. }) => CommandOutcome::TimedOut,
            _ => status.map_or(CommandOutcome::Signal(0), outcome),
        }
    }

    fn wait(&self, until: Option<Instant>, bell: Option<std::os::fd::BorrowedFd<'_>>) -> PollReadiness {
        let mut left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if self.end.is_none() || bell.is_none() {
            left = Some(left.map_or(TICK, |left| left.min(TICK)));
        }
        let mut fds = Vec::with_capacity(3);
        let first = [self.end.as_ref().map(AsFd::as_fd), self.output.as_ref().map(AsFd::as_fd), bell];
        fds.extend(first.into_iter().flatten().map(|fd| PollFd::from_borrowed_fd(fd, READABLE)));
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        // Interrupted or out of memory: whatever is ready is seen by trying.
        if poll(&mut fds, timeout.as_ref()).is_err() {
            return PollReadiness { output: self.output.is_some(), end: true };
        }
        let mut heard = fds.iter().map(|fd| !fd.revents().is_empty());
        let end = if self.end.is_some() { heard.next().unwrap_or(false) } else { true };
        let output = self.output.is_some() && heard.next().unwrap_or(false);
        PollReadiness { output, end }
    }

    /// Reads what is there, but not for ever: a flood must not outrun the clock.
    fn read(&mut self, buffer: &mut [u8], take: &mut dyn FnMut(&[u8])) -> bool {
        for _ in 0..16 {
            let Some(output) = &mut self.output else { return false };
            match output.read(buffer) {
                Ok(0) => self.output = None,
                Ok(count) => take(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if Errno::from_io_error(&error) == Some(Errno::AGAIN) => return false,
                Err(_) => self.output = None,
            }
        }
        true
    }

    /// The rest of the output. All that the process itself printed is in the pipe; others may still hold it open.
    fn drain(&mut self, buffer: &mut [u8], take: &mut dyn FnMut(&[u8])) {
        let until = Instant::now() + DRAIN;
        loop {
            let more = self.read(buffer, take);
            let left = until.saturating_duration_since(Instant::now());
            let Some(output) = &self.output else { return };
            if left.is_zero() {
                return;
            }
            let mut fds = [PollFd::new(output, READABLE)];
            let timeout = Timespec::try_from(left).ok();
            if !more && !matches!(poll(&mut fds, timeout.as_ref()), Ok(1..) | Err(Errno::INTR)) {
                return;
            }
        }
    }
}

struct PollReadiness {
    output: bool,
    end: bool,
}

struct ForcedEnding {
    timed_out: bool,
    kill_at: Instant,
}

/// Reads on, so that what was left running does not fail for lack of a reader.
fn swallow(mut output: File) {
    let read_on = move || {
        let blocking = rustix::fs::fcntl_getfl(&output)
            .and_then(|flags| rustix::fs::fcntl_setfl(&output, flags - rustix::fs::OFlags::NONBLOCK));
        let mut buffer = [0; 4096];
        while blocking.is_ok() && output.read(&mut buffer).is_ok_and(|count| count > 0) {}
    };
    // Without a thread to be had it gets a broken pipe.
    let _ = std::thread::Builder::new().name("hands-left".to_owned()).stack_size(128 << 10).spawn(read_on);
}

fn outcome(status: ExitStatus) -> CommandOutcome {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => CommandOutcome::Exit(code),
        (None, signal) => CommandOutcome::Signal(signal.unwrap_or_default()),
    }
}
