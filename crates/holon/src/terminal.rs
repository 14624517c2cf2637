//! What is known about standard output and error, and the only way text gets there.
//!
//! Everything passes the filter in [`shown`] on its way out, whoever wrote it: what forgets to ask [`visible`] for words of a
//! model, an agent or a repository is caught there.

pub(crate) mod shown;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

use holon_host::record::now;
use serde_json::json;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::failure::CliFailure;

/// Where text goes, and how it may look there.
#[derive(Debug, Clone)]
pub(crate) struct Terminal {
    /// Results.
    pub(crate) stdout: TerminalStream,
    /// Progress and errors.
    pub(crate) stderr: TerminalStream,
    /// Whether a status line may be rewritten on standard error.
    pub(crate) live: bool,
    /// Whether the terminal knows how to move its cursor.
    pub(crate) moves: bool,
    /// Columns of the terminal; a usual width when there is none.
    pub(crate) width: usize,
    /// Whether standard error is for programs: one JSON object per line.
    pub(crate) json: bool,
}

/// As the process found it at its start.
static DETECTED: OnceLock<Terminal> = OnceLock::new();

/// One of the two output streams.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TerminalStream {
    /// Whether a person is looking at it.
    pub(crate) tty: bool,
    /// Whether it may be coloured.
    pub(crate) colour: bool,
}

/// The few ways text is set apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextStyle {
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
    Cyan,
}

impl Terminal {
    /// Looks at the streams and the variables that speak about them; `format` is what the command line says.
    pub(crate) fn detect(
        env: &dyn Fn(&str) -> Option<OsString>,
        no_color: bool,
        format: Option<&str>,
    ) -> Self {
        let wished = env("HOLON_LOG").and_then(|value| value.into_string().ok());
        let json = format.or(wished.as_deref()).is_some_and(|format| format.trim() == "json");
        let set = |name: &str| env(name).is_some_and(|value| !value.is_empty());
        let dumb = env("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        let plain = no_color || set("NO_COLOR") || dumb;
        let stream = |tty: bool| TerminalStream { tty, colour: tty && !plain };
        let (stdout, mut stderr) = (stream(io::stdout().is_terminal()), stream(io::stderr().is_terminal()));
        stderr.colour &= !json;
        let size =
            rustix::termios::tcgetwinsize(rustix::stdio::stderr()).map(|size| usize::from(size.ws_col));
        let terminal = Self {
            live: stderr.tty && !dumb && !set("CI") && !json,
            moves: !dumb,
            width: size.ok().filter(|columns| *columns >= 20).unwrap_or(100),
            stdout,
            stderr,
            json,
        };
        DETECTED.get_or_init(|| terminal).clone()
    }

    /// The one that was found at the start.
    pub(crate) fn again() -> Self {
        DETECTED.get().cloned().unwrap_or_else(Self::plain)
    }

    /// Whether the cursor can be moved on standard output; `live` is about progress, and off in CI.
    pub(crate) fn live_terminal(&self) -> bool {
        self.stdout.tty && self.moves
    }

    /// No colour and no status line, for when nothing else is known.
    pub(crate) fn plain() -> Self {
        let stream = TerminalStream { tty: false, colour: false };
        Self { stdout: stream, stderr: stream, live: false, moves: false, width: 100, json: false }
    }

    /// Writes a result to standard output, for people or as JSON. Whoever's words it quotes, no terminal obeys them.
    pub(crate) fn print(&self, text: impl AsRef<[u8]>) -> Result<(), CliFailure> {
        let text = String::from_utf8_lossy(text.as_ref());
        self.write(shown::result(&text, self.stdout.colour).as_bytes())
    }

    /// Writes something that is asked for byte by byte to standard output: as it is for programs, as [`Self::print`] for people.
    pub(crate) fn deliver(&self, bytes: impl AsRef<[u8]>) -> Result<(), CliFailure> {
        if self.stdout.tty { self.print(bytes) } else { self.write(bytes.as_ref()) }
    }

    fn write(&self, bytes: &[u8]) -> Result<(), CliFailure> {
        let mut out = io::stdout().lock();
        match out.write_all(bytes).and_then(|()| out.flush()) {
            Err(e) => Err(CliFailure::unwritten(&e)),
            Ok(()) => Ok(()),
        }
    }

    /// Writes one line to standard error; nothing can be done when that fails.
    pub(crate) fn say(&self, line: &str) {
        if !self.json {
            return self.line(line);
        }
        let (level, message) = match line.split_once(": ") {
            Some((level @ ("error" | "warning" | "hint"), message)) => (level, message),
            _ => ("info", line),
        };
        self.line(&json!({"at": now(), "level": level, "message": message}).to_string());
    }

    /// Writes a line to standard error, without what a terminal would obey.
    pub(crate) fn line(&self, line: &str) {
        let _ = writeln!(io::stderr().lock(), "{}", shown::result(line, self.stderr.colour));
    }
}

impl TerminalStream {
    /// The text in a style, or as it is where colour is not wanted.
    pub(crate) fn paint(self, style: TextStyle, text: &str) -> String {
        if !self.colour || text.is_empty() {
            return text.to_owned();
        }
        let code = match style {
            TextStyle::Bold => "1",
            TextStyle::Dim => "2",
            TextStyle::Red => "31",
            TextStyle::Green => "32",
            TextStyle::Yellow => "33",
            TextStyle::Cyan => "36",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// Text that came from somewhere else, without anything a terminal would obey: line breaks and tabs stay.
pub(crate) fn visible(text: &str) -> String {
    shown::plain(text).into_owned()
}

/// The same on one line of at most `width` columns.
pub(crate) fn one_line(text: &str, width: usize) -> String {
    let flat = visible(text).split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.width() <= width {
        return flat;
    }
    let mut left = width.saturating_sub(1);
    let fits = |c: &char| {
        let rest = left.checked_sub(c.width().unwrap_or(0));
        left = rest.unwrap_or(left);
        rest.is_some()
    };
    let mut cut: String = flat.chars().take_while(fits).collect();
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_do_nothing() {
        assert_eq!(visible("a\x1b[2Jb\r\u{202e}c\td\n"), "a\u{fffd}[2Jb\u{fffd}\u{fffd}c\td\n");
        assert_eq!(one_line("a \n b  c", 20), "a b c");
        assert_eq!(one_line("abcdef", 4), "abc…");
        assert_eq!(one_line("中文中文", 6), "中文…", "a character may take two columns");
        assert_eq!(one_line("中文中", 6), "中文中");
    }

    #[test]
    fn colour_is_left_out_when_not_wanted() {
        let coloured = TerminalStream { tty: true, colour: true };
        assert_eq!(coloured.paint(TextStyle::Red, "x"), "\x1b[31mx\x1b[0m");
        assert_eq!(Terminal::plain().stderr.paint(TextStyle::Red, "x"), "x");
    }
}
