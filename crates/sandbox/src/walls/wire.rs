//! What host, launcher and init say to each other over the control socket.
//!
//! The host sends the job, then nothing but single bytes; end of file means "end everything now", so that a killed
//! host takes its payload along. Init answers with one JSON line per message.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::held::Held;
use super::job::Limits;
use super::step::Refusal;

/// Asks init to send SIGTERM to the payload.
pub(super) const TERMINATE: u8 = b'T';
/// Larger jobs are refused rather than read.
const MAX_JOB: u32 = 16 << 20;

/// From init (or the launcher, before there is one) to the host.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Message {
    /// The walls stand; the payload is about to start.
    Ready(Held),
    /// A step was refused; nothing was started.
    Refused(Refusal),
    /// The payload ended with this exit code.
    Exited(i32),
    /// The payload was ended by this signal.
    Signalled(i32),
    /// The kernel ended something because the run's memory was used up.
    OutOfMemory,
}

/// What the launcher needs to know first: entering a control group is slow, so it happens while the host still works
/// out the job.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Prelude {
    pub name: String,
    pub limits: Limits,
    pub kind: Kind,
}

/// What follows the prelude.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// A job behind all walls.
    Walls,
    /// A command without namespaces.
    Bare,
    /// A client of something that makes its own walls and control groups.
    Client,
}

/// Sends a prelude or a job: length, then JSON.
pub(super) fn give(mut to: impl Write, what: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_vec(what)?;
    let length = u32::try_from(text.len()).map_err(|_| io::Error::other("the job is too large"))?;
    to.write_all(&[&length.to_le_bytes(), text.as_slice()].concat())
}

/// Reads what [`give`] sent.
pub(super) fn receive<T: DeserializeOwned>(mut from: impl Read) -> io::Result<T> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    if length > MAX_JOB {
        return Err(io::Error::other("the job is too large"));
    }
    let mut text = vec![0; length as usize];
    from.read_exact(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

/// Sends one message as a line.
pub(super) fn send(mut to: impl Write, message: &Message) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line)
}
