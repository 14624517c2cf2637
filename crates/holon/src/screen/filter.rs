//! What an agent draws, on its way to a person's terminal: nearly everything passes, and what it switched on is known.
//!
//! Taken out is what would reach beyond the screen: writing or reading the clipboard, files by way of the terminal, and
//! sequences wrapped for another terminal around this one. Everything else is the agent's to draw with; [`ScreenModes`] knows
//! how to undo it.

use super::modes::ScreenModes;

/// A sequence whose kind is not decided after this many bytes is none that anybody means.
const UNDECIDED: usize = 64;
/// The longest sequence of parameters that is understood.
const PARAMETERS: usize = 128;

/// Reads what is drawn, byte by byte.
#[derive(Debug, Default)]
pub(super) struct ScreenFilter {
    state: FilterState,
    /// Bytes of a sequence that is not decided yet.
    held: Vec<u8>,
    /// Bytes that still belong to a character of several.
    continuation: u8,
    /// Whether the character begins with 0xC2, whose second byte can be a control.
    control_lead: bool,
    modes: ScreenModes,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum FilterState {
    /// Text.
    #[default]
    Ground,
    /// After ESC, with what may stand between.
    Escape,
    /// After CSI.
    Csi,
    /// In a string, whose kind is not decided: its introducer's letter.
    Undecided(u8),
    /// In a string that passes.
    Passing,
    /// In a string that does not.
    Swallowing,
    /// After ESC in a string, which passed or did not.
    StringEscape(bool),
}

impl ScreenFilter {
    /// What the agent has switched on by now.
    pub(super) fn modes(&self) -> &ScreenModes {
        &self.modes
    }

    /// Takes what was drawn and appends what a terminal may have of it.
    pub(super) fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        for byte in bytes {
            self.take(*byte, out);
        }
    }

    fn take(&mut self, byte: u8, out: &mut Vec<u8>) {
        // ESC begins anew wherever it stands; CAN and SUB end whatever there was.
        match (self.state, byte) {
            (FilterState::Undecided(_) | FilterState::Swallowing, 0x1b) => {
                self.held.clear();
                return self.state = FilterState::StringEscape(false);
            }
            (FilterState::Passing, 0x1b) => {
                self.held.clear();
                return self.state = FilterState::StringEscape(true);
            }
            (FilterState::Ground, 0x1b) => out.append(&mut self.held),
            (_, 0x1b) => self.held.clear(),
            (FilterState::Ground, _) => {}
            (state, 0x18 | 0x1a) => {
                self.held.clear();
                self.state = FilterState::Ground;
                if matches!(state, FilterState::Passing | FilterState::StringEscape(true)) {
                    out.push(byte);
                }
                return;
            }
            _ => {}
        }
        if byte == 0x1b && !matches!(self.state, FilterState::StringEscape(_)) {
            self.continuation = 0;
            self.held.push(byte);
            return self.state = FilterState::Escape;
        }
        match self.state {
            FilterState::Ground => self.ground(byte, out),
            FilterState::Escape => self.escape(byte, out),
            FilterState::Csi => self.csi(byte, out),
            FilterState::Undecided(kind) => self.undecided(kind, byte, out),
            FilterState::Passing | FilterState::Swallowing => self.in_string(byte, out),
            FilterState::StringEscape(passed) => self.after_string(passed, byte, out),
        }
    }

    fn ground(&mut self, byte: u8, out: &mut Vec<u8>) {
        if self.continuation > 0 && (0x80..0xc0).contains(&byte) {
            self.continuation -= 1;
            if std::mem::take(&mut self.control_lead) && (0x80..0xa0).contains(&byte) {
                // A control in the form of a character: the first byte has been held back.
                return self.control(byte, out);
            }
            out.append(&mut self.held);
            out.push(byte);
            return;
        }
        out.append(&mut self.held);
        self.begin_character(byte);
        match byte {
            0xc2 => self.held.push(byte),
            // In a terminal that does not read UTF-8 these are controls, in one that does they are nothing.
            0x80..=0x9f => self.control(byte, out),
            _ => {
                self.modes.printed(byte);
                out.push(byte);
            }
        }
    }

    /// One of the controls that stand for ESC and a letter; it passes in that form.
    fn control(&mut self, byte: u8, out: &mut Vec<u8>) {
        self.held.clear();
        self.held.push(0x1b);
        self.state = FilterState::Escape;
        self.escape(byte - 0x40, out);
    }

    fn escape(&mut self, byte: u8, out: &mut Vec<u8>) {
        match byte {
            b'[' => {
                self.held.push(byte);
                self.state = FilterState::Csi;
            }
            b']' | b'P' | b'_' | b'^' | b'X' => {
                self.held.push(byte);
                self.state = FilterState::Undecided(byte);
            }
            // Obeyed at once, and the sequence goes on.
            0x00..=0x17 | 0x19 | 0x1c..=0x1f => out.push(byte),
            0x7f => {}
            // Between ESC and its letter.
            0x20..=0x2f if self.held.len() < UNDECIDED => self.held.push(byte),
            _ => {
                self.held.push(byte);
                self.modes.escaped(&self.held[1..]);
                self.pass(out);
            }
        }
    }

    fn csi(&mut self, byte: u8, out: &mut Vec<u8>) {
        match byte {
            0x00..=0x17 | 0x19 | 0x1c..=0x1f => out.push(byte),
            0x7f => {}
            0x20..=0x3f if self.held.len() < PARAMETERS => self.held.push(byte),
            0x40..=0x7e => {
                self.held.push(byte);
                if self.modes.controlled(&self.held[2..]) {
                    self.pass(out);
                } else {
                    self.held.clear();
                    self.state = FilterState::Ground;
                }
            }
            _ => {
                // Too long, or no sequence at all.
                self.held.clear();
                self.state = FilterState::Ground;
            }
        }
    }

    /// Decides by its number whether a string passes.
    fn undecided(&mut self, kind: u8, byte: u8, out: &mut Vec<u8>) {
        if matches!(byte, 0x00..=0x06 | 0x08..=0x1f | 0x7f..) {
            // Terminals differ in what these do to a string; without them it means the same to all.
            return;
        }
        let ends = byte == 0x07;
        if kind != b']' {
            // Wrapped sequences for a terminal around this one, of tmux and of screen.
            self.held.push(byte);
            let body = &self.held[2..];
            let wrapped = kind == b'P' && (b"tmux;".starts_with(body) || body.starts_with(b"tmux;"));
            if wrapped && body.len() < 5 && !ends {
                return;
            }
            self.modes.asks();
            return if wrapped { self.swallow(ends) } else { self.let_pass(ends, out) };
        }
        if byte.is_ascii_digit() && self.held.len() < UNDECIDED {
            return self.held.push(byte);
        }
        let digits = String::from_utf8_lossy(&self.held[2..]).into_owned();
        let number = digits.parse::<u64>().ok();
        self.held.push(byte);
        // 52 is the clipboard; 50, 1337 and 5113 are files and settings of single terminals; 99 and 777 only notify.
        // Larger numbers mean nothing, and a terminal that counts in few bits may take them for small ones.
        let harmless =
            number.is_some_and(|number| number < 10_000 && !matches!(number, 50 | 52 | 1337 | 5113));
        let iconic = digits.is_empty() && matches!(byte, b'l' | b'L');
        if self.held.len() >= UNDECIDED || !(harmless || iconic) {
            return self.swallow(ends);
        }
        self.modes.commanded(number.unwrap_or_default());
        self.let_pass(ends, out);
    }

    fn let_pass(&mut self, ends: bool, out: &mut Vec<u8>) {
        out.append(&mut self.held);
        self.continuation = 0;
        self.state = if ends { FilterState::Ground } else { FilterState::Passing };
    }

    fn swallow(&mut self, ends: bool) {
        self.held.clear();
        self.state = if ends { FilterState::Ground } else { FilterState::Swallowing };
    }

    /// A string passes without controls in the form of characters, by which some terminals would end it.
    fn in_string(&mut self, byte: u8, out: &mut Vec<u8>) {
        let passing = self.state == FilterState::Passing;
        if byte == 0x07 {
            (self.state, self.continuation) = (FilterState::Ground, 0);
            self.held.clear();
            if passing {
                out.push(byte);
            }
        } else if passing && self.continuation > 0 && (0x80..0xc0).contains(&byte) {
            self.continuation -= 1;
            let control = std::mem::take(&mut self.control_lead) && byte < 0xa0;
            let lead = std::mem::take(&mut self.held);
            if !control {
                out.extend(lead);
                out.push(byte);
            }
        } else if passing {
            self.held.clear();
            self.begin_character(byte);
            match byte {
                0xc2 => self.held.push(byte),
                0x80..=0x9f => {}
                _ => out.push(byte),
            }
        }
    }

    fn begin_character(&mut self, byte: u8) {
        self.control_lead = byte == 0xc2;
        self.continuation = match byte {
            0xc2..=0xdf => 1,
            0xe0..=0xef => 2,
            0xf0..=0xf4 => 3,
            _ => 0,
        };
    }

    /// ESC in a string ends it, and most often its second byte is the end's own.
    fn after_string(&mut self, passed: bool, byte: u8, out: &mut Vec<u8>) {
        if passed {
            // Whatever follows, the string is over for the terminal too.
            out.extend_from_slice(b"\x1b\\");
        }
        self.state = FilterState::Ground;
        if byte != b'\\' {
            self.take(0x1b, out);
            self.take(byte, out);
        }
    }

    fn pass(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.held);
        self.state = FilterState::Ground;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filtered(bytes: &[u8]) -> Vec<u8> {
        let (mut filter, mut out) = (ScreenFilter::default(), Vec::new());
        filter.feed(bytes, &mut out);
        out
    }

    #[test]
    fn what_draws_passes_as_it_is() {
        for text in [
            "plain ✻ 中文 é\r\n",
            "\x1b[38;2;10;20;30mcolour\x1b[0m\x1b[?1049h\x1b[?2004h\x1b[>1u\x1b[2 q",
            "\x1b]0;title\x07\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\",
            "\x1b]10;?\x07\x1b]4;1;rgb:00/00/00\x1b\\",
            "\x1bP0;1q#0;2;0;0;0~~\x1b\\\x1b_Ga=T,f=100;AAAA\x1b\\",
            "\x1b(0lqk\x1b(B\x1b=\x1b>\x1b7\x1b8",
        ] {
            assert_eq!(String::from_utf8_lossy(&filtered(text.as_bytes())), text);
        }
    }

    #[test]
    fn what_reaches_beyond_the_screen_is_taken_out() {
        for sequence in [
            &b"\x1b]52;c;cm0gLXJm\x07"[..],
            b"\x1b]52;c;?\x1b\\",
            b"\x1b]052;c;eA==\x07",
            b"\x1b]5\x002;c;eA==\x07",
            b"\x1b\x00]52;c;eA==\x07",
            b"\x1b]\x1b]52;c;eA==\x07",
            b"\x9d52;c;eA==\x07",
            b"\xc2\x9d52;c;eA==\x07",
            b"\x1b]1337;File=name=eA==:eA==\x07",
            b"\x1bPtmux;\x1b\x1b]52;c;eA==\x07\x1b\\",
            b"\x1b]0000000000000000000000000000000000000000000000000000000000000000000052;c;eA==\x07",
        ] {
            let out = filtered(&[b"a", sequence, b"b"].concat());
            let text = String::from_utf8_lossy(&out).into_owned();
            assert!(!text.contains("52;") && !text.contains("eA=="), "{sequence:?} became {text:?}");
            assert!(text.starts_with('a') && text.ends_with('b'), "{sequence:?} became {text:?}");
        }
    }

    proptest! {
        /// However it is cut, the same comes out, and it is left alone when it passes again.
        #[test]
        fn pieces_make_no_difference(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in 0usize..200) {
            let whole = filtered(&bytes);
            let (mut filter, mut out) = (ScreenFilter::default(), Vec::new());
            let at = at.min(bytes.len());
            filter.feed(&bytes[..at], &mut out);
            filter.feed(&bytes[at..], &mut out);
            prop_assert_eq!(&out, &whole);
            prop_assert_eq!(filtered(&whole), whole);
        }

        #[test]
        fn no_clipboard_comes_through(
            parts in proptest::collection::vec(prop_oneof![
                Just(&b"\x1b"[..]), Just(&b"]"[..]), Just(&b"52;"[..]), Just(&b"c;eA=="[..]), Just(&b"\x07"[..]),
                Just(&b"\\"[..]), Just(&b"P"[..]), Just(&b"tmux;"[..]), Just(&b"\x18"[..]), Just(&b"\xc2"[..]),
                Just(&b"\x9d"[..]), Just(&b"\x90"[..]), Just(&b"x"[..]), Just(&b"0"[..]), Just(&b"\x00"[..]),
            ], 0..24),
        ) {
            let out = filtered(&parts.concat());
            let clean: Vec<u8> = out.iter().copied().filter(|byte| *byte >= 0x20 || *byte == 0x1b).collect();
            prop_assert!(!clean.windows(5).any(|five| five == b"\x1b]52;"), "{:?}", out);
        }
    }
}
