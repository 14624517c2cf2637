//! The person at the terminal, asked at a gate.

use std::io::Write;
use std::os::unix::net::UnixStream;

use holon_flow::{GateAnswer, GateQuestion, Gatekeeper};
use holon_host::ModelCancel;
use rustix::event::{PollFd, PollFlags, poll};

use crate::show::flow;
use crate::terminal::{Terminal, TextStyle, visible};

/// The longest line that is read.
const LONGEST: usize = 64 * 1024;

/// Shows what a gate is about on standard error and reads the answer from standard input.
pub(super) struct TerminalGatekeeper<'a> {
    pub(super) terminal: &'a Terminal,
    pub(super) cancel: &'a ModelCancel,
}

impl Gatekeeper for TerminalGatekeeper<'_> {
    fn ask(&mut self, question: &GateQuestion) -> GateAnswer {
        self.terminal.say(flow::question(question, self.terminal.stderr).trim_end());
        let mut comment: Option<String> = None;
        loop {
            let prompt = match &comment {
                None => format!("Go on with {}? [y]es, [n]o, or words for its agent:", question.step),
                Some(_) => format!("Noted. Go on with {}? [y]es, [n]o, or other words:", question.step),
            };
            let prompt = self.terminal.stderr.paint(TextStyle::Bold, &visible(&prompt));
            let _ = write!(std::io::stderr().lock(), "\n{prompt} ");
            match self.line() {
                GateInput::Line(line) => match line.trim() {
                    "y" | "Y" | "yes" => return GateAnswer::Go { comment },
                    "n" | "N" | "no" => return GateAnswer::Stop,
                    "" => {}
                    words => comment = Some(words.to_owned()),
                },
                GateInput::Closed => return GateAnswer::Stop,
                GateInput::Cancelled => return GateAnswer::Cancelled,
            }
        }
    }
}

enum GateInput {
    Line(String),
    Closed,
    Cancelled,
}

impl TerminalGatekeeper<'_> {
    /// One line, or that nobody will type one; a signal ends the waiting.
    fn line(&self) -> GateInput {
        let stdin = rustix::stdio::stdin();
        let Ok((bell, ring)) = UnixStream::pair() else { return GateInput::Closed };
        // One end closes when the run shall stop, and the other says so.
        let _rings = self.cancel.on_cancel(move || drop(ring));
        let mut typed = Vec::new();
        loop {
            if self.cancel.is_cancelled() {
                return GateInput::Cancelled;
            }
            let mut waited = [PollFd::new(&stdin, PollFlags::IN), PollFd::new(&bell, PollFlags::IN)];
            match poll(&mut waited, None) {
                Ok(_) if !waited[0].revents().is_empty() => {}
                Ok(_) | Err(rustix::io::Errno::INTR) => continue,
                Err(_) => return GateInput::Closed,
            }
            let mut buffer = [0; 4096];
            match rustix::io::read(stdin, &mut buffer) {
                Ok(0) => return GateInput::Closed,
                Ok(count) => typed.extend_from_slice(&buffer[..count]),
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => continue,
                Err(_) => return GateInput::Closed,
            }
            if typed.ends_with(b"\n") || typed.len() > LONGEST {
                return GateInput::Line(String::from_utf8_lossy(&typed).into_owned());
            }
        }
    }
}
