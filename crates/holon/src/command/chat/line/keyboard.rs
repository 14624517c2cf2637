//! The terminal a line is typed at: its modes, its bytes, and the drawing of the line.

use std::collections::VecDeque;
use std::io::{self, Write};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use rustix::stdio::stdin;
use rustix::termios::{InputModes, LocalModes, OptionalActions, QueueSelector, Termios};
use rustix::termios::{tcflush, tcgetattr, tcgetwinsize, tcsetattr};

use super::editor::{KeyEffect, LineEditor};
use super::keys::KeyDecoder;
use super::layout::lay_out;
use crate::command::chat::signals::Signals;

/// How long the rest of a key may take.
const KEY: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// A signal can come just before the waiting begins, so it never lasts long.
const WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// A paste comes between marks from here on, and its line breaks send nothing.
const MARKED: &str = "\x1b[?2004h";
const UNMARKED: &str = "\x1b[?2004l";

/// What stands before a line: as it is shown, and without any colour.
pub(in super::super) struct LinePrompt {
    pub(in super::super) shown: String,
    pub(in super::super) plain: String,
}

/// What came of waiting for a line.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) enum TypedLine {
    /// A line.
    Line(String),
    /// Ctrl-C with nothing typed.
    Interrupt,
    /// No line will come any more.
    End,
}

/// The keyboard; the terminal gets its own mode back when this is dropped.
pub(in super::super) struct Keyboard {
    original: Termios,
    /// A terminal that cannot move its cursor gets lines from its own editor.
    dumb: bool,
    pending: VecDeque<u8>,
    signals: Signals,
}

impl Keyboard {
    /// Takes standard input over.
    pub(in super::super) fn take(dumb: bool, signals: Signals) -> io::Result<Self> {
        let original = tcgetattr(stdin())?;
        let keyboard = Self { original, dumb, pending: VecDeque::new(), signals };
        keyboard.rest();
        Ok(keyboard)
    }

    /// Between lines: nothing typed is shown, Ctrl-C is a signal, and Enter is the key it is at the prompt.
    fn rest(&self) {
        if self.dumb {
            return;
        }
        let mut modes = self.original.clone();
        modes.local_modes -= LocalModes::ECHO | LocalModes::ICANON;
        modes.local_modes |= LocalModes::ISIG;
        modes.input_modes -= InputModes::ICRNL | InputModes::INLCR | InputModes::IGNCR;
        let _ = tcsetattr(stdin(), OptionalActions::Now, &modes);
    }

    fn raw(&self) {
        let mut modes = self.original.clone();
        modes.make_raw();
        let _ = tcsetattr(stdin(), OptionalActions::Now, &modes);
    }

    /// Waits for a line. `prompt` is asked again after every `toggle`.
    pub(in super::super) fn line(
        &mut self,
        editor: &mut LineEditor,
        prompt: &dyn Fn() -> LinePrompt,
        toggle: &dyn Fn(),
    ) -> io::Result<TypedLine> {
        self.signals.forget_interrupt();
        if self.dumb {
            return self.plain_line(editor, prompt);
        }
        self.raw();
        let typed = self.edited_line(editor, prompt, toggle);
        let _ = write(UNMARKED);
        self.rest();
        if let Ok(TypedLine::Line(line)) = &typed {
            editor.remember(line);
        }
        typed
    }

    fn edited_line(
        &mut self,
        editor: &mut LineEditor,
        prompt: &dyn Fn() -> LinePrompt,
        toggle: &dyn Fn(),
    ) -> io::Result<TypedLine> {
        let mut decoder = KeyDecoder::default();
        let mut drawing = LineDrawing::default();
        write(MARKED)?;
        drawing.draw(editor, &prompt())?;
        loop {
            let byte = match self.byte(decoder.is_waiting())? {
                KeyWait::Byte(byte) => byte,
                KeyWait::Nothing => {
                    decoder.give_up();
                    if self.signals.resumed() && in_front() {
                        self.raw();
                        write(MARKED)?;
                        drawing = LineDrawing::default();
                        drawing.draw(editor, &prompt())?;
                    }
                    if self.signals.resized() {
                        drawing.draw(editor, &prompt())?;
                    }
                    continue;
                }
                KeyWait::End => {
                    drawing.leave()?;
                    return Ok(TypedLine::End);
                }
            };
            let Some(key) = decoder.push(byte) else { continue };
            match editor.press(key) {
                // More is there already: drawing once is enough.
                KeyEffect::Draw if !self.pending.is_empty() => {}
                KeyEffect::Draw => drawing.draw(editor, &prompt())?,
                KeyEffect::Toggle => {
                    toggle();
                    drawing.draw(editor, &prompt())?;
                }
                KeyEffect::Clear => {
                    write!(io::stdout(), "\x1b[H\x1b[2J")?;
                    drawing = LineDrawing::default();
                    drawing.draw(editor, &prompt())?;
                }
                KeyEffect::Suspend => {
                    drawing.leave()?;
                    self.suspend();
                    drawing = LineDrawing::default();
                    drawing.draw(editor, &prompt())?;
                }
                KeyEffect::Submit(line) => {
                    drawing.finish(&line, &prompt())?;
                    return Ok(TypedLine::Line(line));
                }
                KeyEffect::Interrupt => {
                    drawing.leave()?;
                    return Ok(TypedLine::Interrupt);
                }
                KeyEffect::End => {
                    drawing.leave()?;
                    return Ok(TypedLine::End);
                }
            }
        }
    }

    /// What was typed before a question was seen does not answer it.
    pub(in super::super) fn forget_typed(&mut self) {
        self.pending.clear();
        let _ = tcflush(stdin(), QueueSelector::IFlush);
    }

    /// Hands the terminal back until the shell says to go on.
    fn suspend(&self) {
        let _ = write(UNMARKED);
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.original);
        let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::TSTP);
        self.signals.resumed();
        self.raw();
        let _ = write(MARKED);
    }

    /// The terminal as it is between lines, after somebody else had it.
    pub(in super::super) fn again(&self) {
        if in_front() {
            self.rest();
        }
    }

    fn plain_line(
        &mut self,
        editor: &mut LineEditor,
        prompt: &dyn Fn() -> LinePrompt,
    ) -> io::Result<TypedLine> {
        write!(io::stdout(), "{}", prompt().plain)?;
        io::stdout().flush()?;
        let mut line = Vec::new();
        loop {
            match self.byte(false)? {
                KeyWait::Byte(b'\n') => {
                    let line = String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned();
                    editor.remember(&line);
                    return Ok(TypedLine::Line(line));
                }
                KeyWait::Byte(byte) => line.push(byte),
                KeyWait::Nothing if self.signals.interrupted() => {
                    writeln!(io::stdout())?;
                    return Ok(TypedLine::Interrupt);
                }
                KeyWait::Nothing => {}
                KeyWait::End => return Ok(TypedLine::End),
            }
        }
    }

    /// The next byte, or that there is none for the moment.
    fn byte(&mut self, in_a_key: bool) -> io::Result<KeyWait> {
        if let Some(byte) = self.pending.pop_front() {
            return Ok(KeyWait::Byte(byte));
        }
        if self.signals.must_end() {
            return Ok(KeyWait::End);
        }
        let input = stdin();
        let wait = if in_a_key { KEY } else { WAIT };
        match poll(&mut [PollFd::new(&input, PollFlags::IN)], Some(&wait)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(KeyWait::Nothing),
            Ok(_) => {}
            Err(e) => return Err(e.into()),
        }
        let mut buffer = [0_u8; 4096];
        match rustix::io::read(input, &mut buffer) {
            Ok(0) | Err(rustix::io::Errno::IO) => Ok(KeyWait::End),
            Ok(read) => {
                self.pending.extend(&buffer[..read]);
                Ok(self.pending.pop_front().map_or(KeyWait::Nothing, KeyWait::Byte))
            }
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Ok(KeyWait::Nothing),
            Err(e) => Err(e.into()),
        }
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.original);
    }
}

enum KeyWait {
    Byte(u8),
    Nothing,
    End,
}

/// What is drawn at the moment.
#[derive(Default)]
struct LineDrawing {
    /// The row of the cursor below the prompt's.
    row: usize,
    /// Rows between the cursor and the last one.
    below: usize,
}

impl LineDrawing {
    fn draw(&mut self, editor: &LineEditor, prompt: &LinePrompt) -> io::Result<()> {
        let (text, at) = editor.text();
        let layout = lay_out(columns_of(&prompt.plain), text, at, columns());
        let mut out = self.begin();
        out.push_str(&prompt.shown);
        out.push_str(&layout.body);
        self.row = layout.cursor.0;
        self.below = layout.last - layout.cursor.0;
        if self.below > 0 {
            out.push_str(&format!("\x1b[{}A", self.below));
        }
        out.push('\r');
        if layout.cursor.1 > 0 {
            out.push_str(&format!("\x1b[{}C", layout.cursor.1));
        }
        write(&out)
    }

    /// The line as it was sent, for the record.
    fn finish(&mut self, line: &str, prompt: &LinePrompt) -> io::Result<()> {
        let text: Vec<char> = line.chars().collect();
        let layout = lay_out(columns_of(&prompt.plain), &text, text.len(), columns());
        let mut out = self.begin();
        out.push_str(&prompt.shown);
        out.push_str(&layout.body);
        out.push_str("\r\n");
        write(&out)
    }

    /// Below everything that is drawn.
    fn leave(&mut self) -> io::Result<()> {
        let down = if self.below > 0 { format!("\x1b[{}B", self.below) } else { String::new() };
        write(&format!("{down}\r\n"))
    }

    /// To the beginning of the prompt, and nothing after it.
    fn begin(&self) -> String {
        let up = if self.row > 0 { format!("\x1b[{}A", self.row) } else { String::new() };
        format!("{up}\r\x1b[J")
    }
}

/// Whether the terminal is this process's at the moment; setting it up from the background would stop the process.
fn in_front() -> bool {
    rustix::termios::tcgetpgrp(stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

fn columns() -> usize {
    let size = tcgetwinsize(rustix::stdio::stdout()).map(|size| usize::from(size.ws_col));
    size.ok().filter(|columns| *columns > 0).unwrap_or(80)
}

fn columns_of(text: &str) -> usize {
    use unicode_width::UnicodeWidthStr;
    text.width()
}
