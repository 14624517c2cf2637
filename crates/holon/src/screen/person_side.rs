//! A person's terminal while an agent has it, and how it becomes itself again whatever happens.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use holon_sandbox::isolation::TerminalSize;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::stdio::{stdin, stdout};
use rustix::termios::{OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcgetwinsize, tcsetattr};

use super::modes::ScreenModes;

/// How long a terminal has to answer what it was asked; one that answers late answers a shell.
const ANSWER: Timespec = Timespec { tv_sec: 0, tv_nsec: 300_000_000 };
/// A size for a terminal that does not know its own.
const USUAL: TerminalSize = TerminalSize { rows: 24, columns: 80, width: 0, height: 0 };
/// Puts the title aside, and takes it back.
const KEEP_TITLE: &[u8] = b"\x1b[22;0t";
const OLD_TITLE: &[u8] = b"\x1b[23;0t";
/// Asks where the cursor is: the answer comes after those to everything that was asked before.
const WHERE: &[u8] = b"\x1b[6n";

/// The size of the terminal somebody sits at.
pub(super) fn size() -> TerminalSize {
    let size = tcgetwinsize(stdin()).ok().filter(|size| size.ws_row > 0 && size.ws_col > 0);
    size.map_or(USUAL, |size| TerminalSize {
        rows: size.ws_row,
        columns: size.ws_col,
        width: size.ws_xpixel,
        height: size.ws_ypixel,
    })
}

/// The name of its device.
pub(super) fn device() -> Option<PathBuf> {
    let name = rustix::termios::ttyname(stdin(), Vec::new()).ok()?;
    Some(PathBuf::from(String::from_utf8(name.into_bytes()).ok()?))
}

/// The terminal of this process, given to an agent; it is itself again when this is dropped.
pub(super) struct LentTerminal {
    original: Termios,
    lent: bool,
}

impl LentTerminal {
    /// Gives it away: every key is the agent's from here on. What `modes` say is switched on again.
    pub(super) fn lend(modes: &ScreenModes) -> io::Result<Self> {
        let mut lent = Self { original: tcgetattr(stdin())?, lent: false };
        lent.again(modes)?;
        Ok(lent)
    }

    /// Gives it away once more.
    pub(super) fn again(&mut self, modes: &ScreenModes) -> io::Result<()> {
        tcsetattr(stdin(), OptionalActions::Now, &raw(&self.original))?;
        self.lent = true;
        write(&[KEEP_TITLE, modes.redo().as_slice()].concat())
    }

    /// Takes it back; answers to what the agent asked go nowhere.
    pub(super) fn take_back(&mut self, modes: &ScreenModes) {
        if !std::mem::take(&mut self.lent) {
            return;
        }
        let _ = write(&[modes.undo().as_slice(), OLD_TITLE].concat());
        if modes.may_answer() {
            drain();
        }
        let _ = tcflush(stdin(), QueueSelector::IFlush);
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.original);
    }
}

impl Drop for LentTerminal {
    fn drop(&mut self) {
        self.take_back(&ScreenModes::default());
    }
}

/// Throws away what comes until the terminal has answered a last question.
fn drain() {
    if write(WHERE).is_err() {
        return;
    }
    let (mut seen, mut buffer) = (Vec::new(), [0; 1024]);
    while poll(&mut [PollFd::new(&stdin(), PollFlags::IN)], Some(&ANSWER)).is_ok_and(|count| count > 0) {
        match rustix::io::read(stdin(), &mut buffer) {
            Ok(read) if read > 0 => seen.extend_from_slice(&buffer[..read]),
            _ => return,
        }
        if tells_place(&seen) {
            return;
        }
    }
}

/// Whether the last answer is among these bytes.
fn tells_place(bytes: &[u8]) -> bool {
    let is_place = |body: &[u8]| {
        let numbers = body.iter().take_while(|byte| matches!(byte, b'0'..=b'9' | b';')).count();
        numbers > 2 && body[..numbers].contains(&b';') && body.get(numbers) == Some(&b'R')
    };
    bytes.windows(2).enumerate().any(|(at, two)| two == b"\x1b[" && is_place(&bytes[at + 2..]))
}

fn raw(original: &Termios) -> Termios {
    let mut modes = original.clone();
    modes.make_raw();
    modes
}

/// Writes to the terminal, all of it.
pub(super) fn write(bytes: &[u8]) -> io::Result<()> {
    write_to(stdout(), bytes)
}

fn write_to(to: BorrowedFd<'_>, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(to, bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => {
                let _ = poll(&mut [PollFd::new(&to, PollFlags::OUT)], Some(&ANSWER));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// The terminal of another process, to be made itself again should that one be killed.
pub(super) struct WatchedTerminal {
    device: File,
    original: Termios,
}

impl WatchedTerminal {
    /// Remembers how it is now.
    pub(super) fn remember(device: &Path) -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let device = File::from(rustix::fs::open(device, flags, Mode::empty())?);
        let original = tcgetattr(&device)?;
        Ok(Self { device, original })
    }

    /// Makes it as it was, unless somebody else has taken care of its keys already: a shell does, and has its own.
    pub(super) fn make_good(&mut self, modes: &ScreenModes) {
        let _ = self.device.write_all(&[modes.undo().as_slice(), OLD_TITLE].concat());
        let left = tcgetattr(&self.device).is_ok_and(|now| alike(&now, &raw(&self.original)));
        if left {
            let _ = tcflush(&self.device, QueueSelector::IFlush);
            let _ = tcsetattr(self.device.as_fd(), OptionalActions::Now, &self.original);
        }
    }
}

fn alike(one: &Termios, other: &Termios) -> bool {
    let flags = |modes: &Termios| {
        (
            modes.input_modes.bits(),
            modes.output_modes.bits(),
            modes.control_modes.bits(),
            modes.local_modes.bits(),
        )
    };
    flags(one) == flags(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_answer_is_known_among_others() {
        for (bytes, last) in [
            (&b"\x1b[12;40R"[..], true),
            (b"\x1b[?1;2c\x1b]11;rgb:0/0/0\x07\x1b[1;1R", true),
            (b"typed\x1b[1;1R", true),
            (b"\x1b[?1;2c", false),
            (b"\x1b[12;40", false),
            (b"\x1b[R", false),
            (b"", false),
        ] {
            assert_eq!(tells_place(bytes), last, "{bytes:?}");
        }
    }
}
