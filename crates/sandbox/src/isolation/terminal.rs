//! A terminal of a payload's own, on which a person works with it.
//!
//! Init opens it inside, so that it has a name there, leads the session and stands behind the payload as a shell stands behind
//! a job: one that stops can be let go on. The host holds the other end and nothing else of it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};

use rustix::termios::{Winsize, tcsetwinsize};
use serde::{Deserialize, Serialize};

use super::sys;

/// How large a terminal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalSize {
    /// Lines.
    pub rows: u16,
    /// Characters in a line.
    pub columns: u16,
    /// Pixels across, where that is known.
    pub width: u16,
    /// Pixels down, where that is known.
    pub height: u16,
}

impl TerminalSize {
    /// Tells a terminal its size; whoever runs on it gets a signal when that is a new one.
    pub fn set(self, terminal: &impl AsFd) -> io::Result<()> {
        let size = Winsize {
            ws_row: self.rows,
            ws_col: self.columns,
            ws_xpixel: self.width,
            ws_ypixel: self.height,
        };
        Ok(tcsetwinsize(terminal, size)?)
    }
}

/// Both ends of a terminal.
#[derive(Debug)]
pub struct PseudoTerminal {
    /// Where a person's side reads and types.
    pub outside: OwnedFd,
    /// What a program takes for its terminal.
    pub inside: OwnedFd,
}

impl PseudoTerminal {
    /// A new one of this size.
    pub fn open(size: TerminalSize) -> io::Result<Self> {
        let (outside, inside) = sys::open_terminal()?;
        size.set(&outside)?;
        Ok(Self { outside, inside })
    }
}

/// Lets a command begin on the terminal, in front of it. The calling process must lead a session and becomes the one that
/// the terminal controls.
pub(super) fn start_on(command: &mut Command, own: &OwnedFd) -> io::Result<()> {
    rustix::process::ioctl_tiocsctty(own)?;
    let stream = || own.try_clone().map(Stdio::from);
    command.stdin(stream()?).stdout(stream()?).stderr(stream()?);
    sys::begin_in_front(command);
    Ok(())
}

/// Brings a payload that stopped to the front again and lets it go on.
pub(super) fn go_on(own: &OwnedFd, payload: i32) {
    // Where it cannot be brought to the front, it is stopped once more, and the host told again.
    let _ = sys::bring_to_front(own.as_fd(), payload);
    sys::continue_group(payload);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use std::fs::File;
    use std::io::{Read, Write};
    use std::time::Duration;

    use super::*;
    use crate::backend::{NativeSandbox, RunningPayload, SandboxBackend};
    use crate::fallback::testing::{SandboxWorld, as_every_user};
    use crate::isolation::{PayloadEnding, PayloadStreams};

    const SIZE: TerminalSize = TerminalSize { rows: 31, columns: 97, width: 0, height: 0 };

    fn started(script: &str) -> (Box<dyn RunningPayload>, File, SandboxWorld) {
        let mut world = SandboxWorld::new(script, true);
        world.job.streams = PayloadStreams::Terminal(SIZE);
        let mut payload = NativeSandbox::default().start(&world.job).unwrap_or_else(|e| panic!("{e}"));
        let outside = File::from(payload.take_terminal().unwrap());
        (payload, outside, world)
    }

    /// Everything up to the words, or to the end of the terminal.
    fn until(outside: &mut File, words: &str) -> String {
        let mut seen = Vec::new();
        let mut byte = [0];
        while !String::from_utf8_lossy(&seen).ends_with(words) {
            match outside.read(&mut byte) {
                Ok(1) => seen.push(byte[0]),
                _ => panic!("no `{words}` in {}", String::from_utf8_lossy(&seen)),
            }
        }
        String::from_utf8_lossy(&seen).into_owned()
    }

    #[test]
    fn a_payload_has_a_terminal_with_name_size_and_keys() {
        as_every_user("isolation::terminal::tests::a_payload_has_a_terminal_with_name_size_and_keys", || {
            let script = "tty; stty size; test -t 0 && test -t 1 && test -t 2 && echo THREE
                read line < /dev/tty; echo \"got $line\"; trap 'stty size; echo RESIZED' WINCH
                echo wait; while read more; do :; done < /dev/tty; sleep 60";
            let (mut payload, mut outside, _world) = started(script);
            let begin = until(&mut outside, "THREE");
            assert!(begin.contains("/dev/pts/0") && begin.contains("31 97"), "{begin}");
            outside.write_all(b"some words\n").unwrap();
            until(&mut outside, "got some words");
            until(&mut outside, "wait");
            TerminalSize { rows: 40, ..SIZE }.set(&outside).unwrap();
            outside.write_all(b"\n").unwrap();
            let resized = until(&mut outside, "RESIZED");
            assert!(resized.contains("40 97"), "{resized}");
            // Ctrl-C reaches what is in front, and that alone.
            outside.write_all(&[3]).unwrap();
            let ending = payload.wait(Duration::from_secs(60)).unwrap();
            assert_eq!(ending, Some(PayloadEnding::Signal(libc::SIGINT)));
            payload.finish();
        });
    }

    #[test]
    fn a_payload_that_stops_is_told_of_and_goes_on() {
        as_every_user("isolation::terminal::tests::a_payload_that_stops_is_told_of_and_goes_on", || {
            let (mut payload, mut outside, _world) = started("echo ready; read line; echo \"then $line\"");
            until(&mut outside, "ready");
            // Ctrl-Z.
            outside.write_all(&[26]).unwrap();
            while !payload.take_stop() {
                assert_eq!(payload.wait(Duration::from_millis(5)).unwrap(), None);
            }
            outside.write_all(b"typed meanwhile\n").unwrap();
            payload.go_on();
            until(&mut outside, "then typed meanwhile");
            assert_eq!(payload.wait(Duration::from_secs(60)).unwrap(), Some(PayloadEnding::Code(0)));
            payload.finish();
        });
    }

    #[test]
    fn characters_cannot_be_pushed_into_the_terminal() {
        as_every_user("isolation::terminal::tests::characters_cannot_be_pushed_into_the_terminal", || {
            let script =
                "/usr/bin/python3 -c 'import fcntl; fcntl.ioctl(0, 0x5412, b\"x\")' 2>&1 | tail -1; echo END";
            let (payload, mut outside, _world) = started(script);
            let said = until(&mut outside, "END");
            assert!(said.contains("PermissionError"), "{said}");
            payload.finish();
        });
    }
}
