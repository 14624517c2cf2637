//! A payload that another program put behind walls: the launcher attends to that program, the walls are measured.

use std::io::{Cursor, Read};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use super::measure;
use crate::backend::{PayloadOutput, RunningPayload};
use crate::isolation::{
    DetachedNetns, FinishedPayload, LaunchRefusal, PayloadEnding, SandboxEnforcement, SandboxedProcess,
};

/// How long the other program may take to start the payload.
const START: Duration = Duration::from_secs(60);
/// How long the payload may take to get its last wall, which is the system call filter.
const SETTLE: Duration = Duration::from_secs(5);
const TICK: Duration = Duration::from_millis(4);
/// Enough of what a failed program said.
const MAX_WORDS: u64 = 64 << 10;

/// See the module.
pub(super) struct AttendedPayload {
    running: SandboxedProcess,
    held: SandboxEnforcement,
    /// Output that was already looked at.
    seen: Option<PayloadOutput>,
    /// The network it lives in, if that is one of the host's making.
    apart: Option<DetachedNetns>,
    /// Generated files that must live as long as the payload.
    _stage: tempfile::TempDir,
}

/// What became of a start.
pub(super) enum AttendedStart {
    /// The payload runs, or ran, behind these walls.
    Payload(Box<AttendedPayload>),
    /// The program ended before there was a payload, saying this.
    Failed(String),
}

impl AttendedStart {
    /// With a network that the payload was put into.
    pub(super) fn with_door(mut self, apart: Option<DetachedNetns>) -> Self {
        if let Self::Payload(payload) = &mut self {
            payload.apart = apart;
        }
        self
    }
}

impl AttendedPayload {
    /// Waits until `pid` tells the payload's process id. If the payload is over before its walls could be measured,
    /// `promised` stands in: what the program is known to do or fail.
    pub(super) fn start(
        mut running: SandboxedProcess,
        stage: tempfile::TempDir,
        promised: SandboxEnforcement,
        pid: impl Fn() -> Option<u32>,
        failed: impl Fn(PayloadEnding, &str) -> bool,
    ) -> Result<AttendedStart, LaunchRefusal> {
        let deadline = Instant::now() + START;
        let mut seen = None;
        loop {
            let ended = running.wait(TICK)?;
            let measured = match pid() {
                Some(pid) => settle(&mut running, pid)?,
                None => None,
            };
            if let Some(held) = measured {
                let payload = Self { running, held, seen, apart: None, _stage: stage };
                return Ok(AttendedStart::Payload(Box::new(payload)));
            }
            match running.wait(Duration::ZERO)?.or(ended) {
                Some(ending) => {
                    let said = words(&mut running, &mut seen);
                    if failed(ending, &said) {
                        return Ok(AttendedStart::Failed(said));
                    }
                    return Ok(AttendedStart::Payload(Box::new(Self {
                        running,
                        held: promised,
                        seen,
                        apart: None,
                        _stage: stage,
                    })));
                }
                None if Instant::now() > deadline => {
                    running.kill();
                    return Ok(AttendedStart::Failed("it did not start in time".into()));
                }
                None => {}
            }
        }
    }
}

/// Looks again until the filter is on: walls go up one after the other, the filter last. `None` if it ended before.
fn settle(running: &mut SandboxedProcess, pid: u32) -> Result<Option<SandboxEnforcement>, LaunchRefusal> {
    let deadline = Instant::now() + SETTLE;
    while let Some(held) = measure::around(pid) {
        if held.seccomp || Instant::now() > deadline {
            return Ok(Some(held));
        }
        if running.wait(TICK)?.is_some() {
            break;
        }
    }
    Ok(None)
}

/// What was said on standard error; it stays in `seen` for whoever reads the output later.
fn words(running: &mut SandboxedProcess, seen: &mut Option<PayloadOutput>) -> String {
    let Some((out, errors)) = running.take_output() else { return String::new() };
    let mut said = Vec::new();
    let mut errors = errors.take(MAX_WORDS);
    let _ = errors.read_to_end(&mut said);
    let text = String::from_utf8_lossy(&said).trim().to_owned();
    let out: Box<dyn Read + Send> = match out {
        Some(out) => Box::new(out),
        None => Box::new(std::io::empty()),
    };
    *seen = Some((out, Box::new(Cursor::new(said).chain(errors.into_inner()))));
    text
}

impl RunningPayload for AttendedPayload {
    fn held(&self) -> &SandboxEnforcement {
        &self.held
    }

    fn take_output(&mut self) -> Option<PayloadOutput> {
        self.seen.take().or_else(|| RunningPayload::take_output(&mut self.running))
    }

    fn take_channel(&mut self) -> Option<UnixStream> {
        self.running.take_channel()
    }

    fn take_listener(&mut self) -> Option<TcpListener> {
        self.apart.as_mut().and_then(DetachedNetns::take_listener)
    }

    fn wait(&mut self, limit: Duration) -> Result<Option<PayloadEnding>, LaunchRefusal> {
        self.running.wait(limit)
    }

    fn terminate(&self) {
        self.running.terminate();
    }

    fn kill(&mut self) {
        self.running.kill();
    }

    fn finish(self: Box<Self>) -> FinishedPayload {
        let Self { running, _stage, .. } = *self;
        running.finish()
    }
}
