//! What host, launcher and init say to each other over the control socket.
//!
//! The host sends the job, then nothing but single bytes; end of file means "end everything now", so that a killed
//! host takes its payload along. Init answers with one JSON line per message.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::enforcement::SandboxEnforcement;
use super::job::{BaseMounts, PayloadLimits};
use super::step::LaunchRefusal;

/// Asks init to send SIGTERM to the payload.
pub(super) const TERMINATE: u8 = b'T';
/// Asks init to let a payload go on that stopped on its terminal.
pub(super) const GO_ON: u8 = b'C';
/// Larger jobs are refused rather than read.
const MAX_JOB: u32 = 16 << 20;
/// Descriptors per message; the kernel takes at most 253.
const FDS_AT_ONCE: usize = 128;

/// From init (or the launcher, before there is one) to the host.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum InitMessage {
    /// The walls stand; the payload is about to start.
    Ready(SandboxEnforcement),
    /// A step was refused; nothing was started.
    Refused(LaunchRefusal),
    /// The payload ended with this exit code.
    Exited(i32),
    /// The payload was ended by this signal.
    Signalled(i32),
    /// The payload stopped on its terminal, as a job does that a shell put aside.
    Stopped,
    /// The kernel ended something because the run's memory was used up.
    OutOfMemory,
}

/// What the launcher needs to know first: everything that does not depend on the job is built while the host still
/// works the job out.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LauncherPrelude {
    /// A job behind all walls follows.
    Walls(BaseMounts),
    /// A command without namespaces follows.
    Bare { name: String, limits: PayloadLimits },
    /// A client of something that makes its own walls and control groups follows.
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
pub(super) fn send(mut to: impl Write, message: &InitMessage) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line)
}

/// Hands descriptors over, in order.
pub(super) fn give_fds(to: &UnixStream, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    for chunk in fds.chunks(FDS_AT_ONCE) {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FDS_AT_ONCE))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(chunk));
        sendmsg(to, &[IoSlice::new(b"f")], &mut control, SendFlags::NOSIGNAL)?;
    }
    Ok(())
}

/// Takes one descriptor that [`give_fds`] handed over, or the first byte of a message that came instead.
pub(super) fn take_fd_or_byte(from: &UnixStream) -> io::Result<Result<OwnedFd, u8>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let got = recvmsg(from, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    if got.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let fd = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut rights) => rights.next(),
        _ => None,
    });
    Ok(fd.ok_or(byte[0]))
}

/// Takes `count` descriptors that [`give_fds`] handed over; they are closed at exec.
pub(super) fn take_fds(from: &UnixStream, count: usize) -> io::Result<Vec<OwnedFd>> {
    let mut fds = Vec::with_capacity(count);
    while fds.len() < count {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FDS_AT_ONCE))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let got = recvmsg(from, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
        if got.bytes == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                fds.extend(rights);
            }
        }
    }
    Ok(fds)
}
