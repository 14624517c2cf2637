//! What the two processes of a session say to each other: the one a person's terminal belongs to, and the one that carries
//! the run.

use std::io::{self, Read, Write};
use std::path::PathBuf;

use holon_sandbox::isolation::TerminalSize;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Longer messages are refused: a plan is far smaller.
const MAX: usize = 64 << 20;

/// A message: its kind, and its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScreenFrame {
    pub(super) kind: FrameKind,
    pub(super) content: Vec<u8>,
}

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum FrameKind {
    /// From the person's side: the plan to carry out.
    Plan = b'P',
    /// The terminal, and its size.
    Hello = b'H',
    /// What was typed.
    Keys = b'K',
    /// The size changed.
    Size = b'S',
    /// The agent, which stopped, is to go on.
    GoOn = b'G',
    /// The person leaves; the run goes on.
    Detach = b'D',
    /// The run is to end.
    End = b'E',
    /// From the run's side: one of its events.
    Event = b'V',
    /// The screen begins: the folder of the run.
    Begun = b'B',
    /// What the agent draws.
    Drawn = b'O',
    /// The agent stopped.
    Stopped = b'Z',
    /// The screen is over, and the host looks at the result.
    Over = b'X',
    /// The run is over: its folder.
    Finished = b'F',
    /// Nothing was started: why.
    NotStarted = b'N',
    /// Another terminal has taken over.
    Replaced = b'R',
}

const KINDS: [FrameKind; 15] = [
    FrameKind::Plan,
    FrameKind::Hello,
    FrameKind::Keys,
    FrameKind::Size,
    FrameKind::GoOn,
    FrameKind::Detach,
    FrameKind::End,
    FrameKind::Event,
    FrameKind::Begun,
    FrameKind::Drawn,
    FrameKind::Stopped,
    FrameKind::Over,
    FrameKind::Finished,
    FrameKind::NotStarted,
    FrameKind::Replaced,
];

/// The terminal somebody sits at.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct TerminalHello {
    /// The name of its device, where it has one: what a process that was killed left of it is made good by the other side.
    pub(super) device: Option<PathBuf>,
    pub(super) size: TerminalSize,
}

/// Why nothing was started.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct NotStarted {
    pub(super) message: String,
    pub(super) hint: Option<String>,
    /// Whether the request was wrong, and not the machine.
    pub(super) usage: bool,
}

impl ScreenFrame {
    pub(super) fn bare(kind: FrameKind) -> Self {
        Self { kind, content: Vec::new() }
    }

    /// One whose content is JSON.
    pub(super) fn with(kind: FrameKind, what: &impl Serialize) -> io::Result<Self> {
        Ok(Self { kind, content: serde_json::to_vec(what)? })
    }

    /// Its content as JSON.
    pub(super) fn read<T: DeserializeOwned>(&self) -> io::Result<T> {
        Ok(serde_json::from_slice(&self.content)?)
    }

    /// Sends it in one piece.
    pub(super) fn send(&self, mut to: impl Write) -> io::Result<()> {
        let length = u32::try_from(self.content.len())
            .ok()
            .filter(|length| *length as usize <= MAX)
            .ok_or_else(|| io::Error::other("the message is too long"))?;
        let head = [&[self.kind as u8][..], &length.to_le_bytes()].concat();
        to.write_all(&[head, self.content.clone()].concat())
    }

    /// Waits for the next one; nothing when the other side is gone.
    pub(super) fn receive(mut from: impl Read) -> io::Result<Option<Self>> {
        let mut head = [0; 5];
        match from.read_exact(&mut head) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
        let (kind, length) = Self::head(head)?;
        let mut content = vec![0; length];
        from.read_exact(&mut content)?;
        Ok(Some(Self { kind, content }))
    }

    fn head(head: [u8; 5]) -> io::Result<(FrameKind, usize)> {
        let [kind, length @ ..] = head;
        let kind = KINDS.into_iter().find(|known| *known as u8 == kind);
        let length = u32::from_le_bytes(length) as usize;
        kind.map(|kind| (kind, length))
            .filter(|(_, length)| *length <= MAX)
            .ok_or_else(|| io::Error::other("the other side speaks another language"))
    }
}

/// Messages out of bytes that come in pieces.
#[derive(Debug, Default)]
pub(super) struct FrameBuffer(Vec<u8>);

impl FrameBuffer {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// The next whole message.
    pub(super) fn next(&mut self) -> io::Result<Option<ScreenFrame>> {
        let Some(head) = self.0.first_chunk::<5>() else { return Ok(None) };
        let (kind, length) = ScreenFrame::head(*head)?;
        if self.0.len() < 5 + length {
            return Ok(None);
        }
        let rest = self.0.split_off(5 + length);
        let whole = std::mem::replace(&mut self.0, rest);
        Ok(Some(ScreenFrame { kind, content: whole[5..].to_vec() }))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn messages_come_out_as_they_went_in_however_they_are_cut() {
        let frames: Vec<ScreenFrame> = KINDS
            .into_iter()
            .enumerate()
            .map(|(number, kind)| ScreenFrame { kind, content: vec![7; number * 3] })
            .collect();
        let mut bytes = Vec::new();
        frames.iter().for_each(|frame| frame.send(&mut bytes).unwrap());
        for piece in [1, 4, 7, bytes.len()] {
            let (mut buffer, mut out) = (FrameBuffer::default(), Vec::new());
            for part in bytes.chunks(piece) {
                buffer.push(part);
                while let Some(frame) = buffer.next().unwrap() {
                    out.push(frame);
                }
            }
            assert_eq!(out, frames);
        }
        let mut from = bytes.as_slice();
        for frame in frames {
            assert_eq!(ScreenFrame::receive(&mut from).unwrap(), Some(frame));
        }
        assert_eq!(ScreenFrame::receive(&mut from).unwrap(), None);
    }

    #[test]
    fn what_is_no_message_is_refused() {
        assert!(ScreenFrame::receive(&b"?\0\0\0\0"[..]).is_err());
        assert!(ScreenFrame::receive(&b"K\xff\xff\xff\xff"[..]).is_err());
        assert!(ScreenFrame::receive(&b"K\x02\0\0\0a"[..]).is_err());
    }
}
