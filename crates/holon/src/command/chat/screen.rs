//! Where pieces go: the terminal of a person, or the two streams of a script.

use std::io::{self, Write};

use super::view::ViewPiece;
use super::wrap::WordWrap;
use crate::failure::CliFailure;
use crate::terminal::{Terminal, TextStyle, one_line, shown};

/// Writes pieces as they come.
pub(super) struct ChatScreen {
    terminal: Terminal,
    /// Whether a person sits there; then everything is on standard output.
    person: bool,
    /// Whether a status is shown at the moment.
    status: bool,
    /// Whether the last row of the answer is not complete.
    open: bool,
    /// Why nothing can be written any more.
    lost: Option<io::Error>,
}

impl ChatScreen {
    pub(super) fn new(terminal: &Terminal, person: bool) -> Self {
        Self { terminal: terminal.clone(), person, status: false, open: false, lost: None }
    }

    /// The stream that answers are written to.
    pub(super) fn stream(&self) -> crate::terminal::TerminalStream {
        self.terminal.stdout
    }

    /// Columns at this moment: people change the size of their windows.
    pub(super) fn width(&self) -> usize {
        let size =
            rustix::termios::tcgetwinsize(rustix::stdio::stdout()).map(|size| usize::from(size.ws_col));
        size.ok().filter(|columns| self.person && *columns >= 20).unwrap_or(self.terminal.width)
    }

    /// Shows pieces; `false` when nobody reads any more.
    pub(super) fn show(&mut self, pieces: &[ViewPiece]) -> bool {
        let shown = pieces.iter().try_for_each(|piece| self.piece(piece));
        shown.map_err(|e| self.lost = Some(e)).is_ok()
    }

    /// Why nobody reads any more, if that is so.
    pub(super) fn lost(&self) -> Option<CliFailure> {
        self.lost.as_ref().map(CliFailure::unwritten)
    }

    /// Shows a line.
    pub(super) fn line(&mut self, text: &str) {
        let _ = self.piece(&ViewPiece::Aside(text.to_owned()));
    }

    /// Shows lines without breaking them, as patches are.
    pub(super) fn as_it_is(&mut self, text: &str) {
        let _ = self.piece(&ViewPiece::Answer(format!("{text}\n")));
    }

    /// Shows a line in a style.
    pub(super) fn styled(&mut self, style: TextStyle, text: &str) {
        let text = self.side().paint(style, text);
        self.line(&text);
    }

    fn side(&self) -> crate::terminal::TerminalStream {
        if self.person { self.terminal.stdout } else { self.terminal.stderr }
    }

    fn piece(&mut self, piece: &ViewPiece) -> io::Result<()> {
        let mut out = io::stdout().lock();
        if std::mem::take(&mut self.status) {
            out.write_all(b"\r\x1b[K")?;
        }
        match piece {
            ViewPiece::Answer(text) => {
                self.open = if text.is_empty() { self.open } else { !text.ends_with('\n') };
                out.write_all(shown::styled(text, self.terminal.stdout.colour).as_bytes())?;
            }
            ViewPiece::Aside(text) if self.person => {
                if std::mem::take(&mut self.open) {
                    writeln!(out)?;
                }
                let columns = self.terminal.stdout.tty.then(|| self.width());
                writeln!(
                    out,
                    "{}",
                    WordWrap::whole(&shown::styled(text, self.terminal.stdout.colour), columns)
                )?;
            }
            ViewPiece::Aside(text) => {
                // The answer so far comes first where both are the same terminal.
                out.flush()?;
                self.terminal.say(text);
            }
            ViewPiece::Status(text) if self.person && self.terminal.live_terminal() => {
                let text = one_line(text, self.width().saturating_sub(1));
                write!(out, "{}", self.terminal.stdout.paint(TextStyle::Dim, &text))?;
                self.status = true;
            }
            ViewPiece::Status(_) => {}
        }
        out.flush()
    }
}
