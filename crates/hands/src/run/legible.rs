//! Bytes of a terminal's output made legible: UTF-8 whatever comes, no escape sequences, no control characters but line
//! feed, tab, carriage return and backspace (the latter two are for [`super::fold`]).

/// Longest sequence that is taken for one; more is text again, so that a stray escape cannot swallow everything.
const LONGEST_SEQUENCE: usize = 4096;

/// Works on bytes as they come, however they are cut.
#[derive(Default)]
pub(super) struct LegibleText {
    /// The beginning of a character whose rest has not come.
    half: Vec<u8>,
    state: EscapeState,
    /// Characters of the current sequence so far.
    length: usize,
    /// Whether the last character was a NUL: a run of them is shown as one.
    nul: bool,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum EscapeState {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC and an intermediate character: one more belongs to it.
    Designator,
    /// After ESC [: up to a final character.
    Control,
    /// After ESC ], P, X, ^ or _: up to BEL or ESC \.
    Words,
    /// After an ESC inside of those.
    WordsEscape,
}

impl LegibleText {
    /// Adds what is legible of these bytes to `out`.
    pub(super) fn push(&mut self, bytes: &[u8], out: &mut String) {
        let joined;
        let bytes = match self.half.is_empty() {
            true => bytes,
            false => {
                self.half.extend_from_slice(bytes);
                joined = std::mem::take(&mut self.half);
                joined.as_slice()
            }
        };
        for chunk in bytes.utf8_chunks() {
            self.text(chunk.valid(), out);
            let invalid = chunk.invalid();
            let at_end = invalid.as_ptr_range().end == bytes.as_ptr_range().end;
            if at_end && unfinished(invalid) {
                self.half = invalid.to_vec();
            } else if !invalid.is_empty() {
                self.text("\u{fffd}", out);
            }
        }
    }

    /// The end of the bytes.
    pub(super) fn finish(&mut self, out: &mut String) {
        if !std::mem::take(&mut self.half).is_empty() {
            self.text("\u{fffd}", out);
        }
    }

    fn text(&mut self, text: &str, out: &mut String) {
        let mut rest = text;
        while !rest.is_empty() {
            if self.state == EscapeState::Text {
                // Nearly everything is plain: it goes in one piece.
                let plain = rest.bytes().position(special).unwrap_or(rest.len());
                let (now, later) = rest.split_at(plain);
                out.push_str(now);
                self.nul &= now.is_empty();
                rest = later;
            }
            let Some(c) = rest.chars().next() else { break };
            rest = &rest[c.len_utf8()..];
            self.character(c, out);
        }
    }

    fn character(&mut self, c: char, out: &mut String) {
        let was_nul = std::mem::take(&mut self.nul);
        self.length += 1;
        if self.length > LONGEST_SEQUENCE || (c == '\n' && self.state != EscapeState::Text) {
            self.state = EscapeState::Text;
        }
        self.state = match (self.state, c) {
            (EscapeState::Text, '\x1b') | (EscapeState::Escape | EscapeState::Control, '\x1b') => {
                self.length = 0;
                EscapeState::Escape
            }
            (EscapeState::Text, '\u{9b}') => {
                self.length = 0;
                EscapeState::Control
            }
            (EscapeState::Text, '\0') => {
                self.nul = true;
                if !was_nul {
                    out.push('\u{fffd}');
                }
                EscapeState::Text
            }
            (EscapeState::Text, c) => {
                if !c.is_control() || matches!(c, '\n' | '\t' | '\r' | '\x08') {
                    out.push(c);
                }
                EscapeState::Text
            }
            (EscapeState::Escape, '[') => EscapeState::Control,
            (EscapeState::Escape, ']' | 'P' | 'X' | '^' | '_') => EscapeState::Words,
            (EscapeState::Escape, ' '..='/') => EscapeState::Designator,
            (EscapeState::Escape | EscapeState::Designator, _) => EscapeState::Text,
            (EscapeState::Control, '@'..='~') => EscapeState::Text,
            (EscapeState::Control, _) => EscapeState::Control,
            (EscapeState::Words, '\x07' | '\u{9c}') => EscapeState::Text,
            (EscapeState::Words, '\x1b') => EscapeState::WordsEscape,
            (EscapeState::Words, _) => EscapeState::Words,
            (EscapeState::WordsEscape, '\\') => EscapeState::Text,
            (EscapeState::WordsEscape, _) => EscapeState::Words,
        };
    }
}

/// The first bytes of everything that is not simply text; line feeds and tabs are.
fn special(byte: u8) -> bool {
    // 0xc2 leads the second set of control characters.
    (byte < 0x20 && byte != b'\n' && byte != b'\t') || byte == 0x7f || byte == 0xc2
}

fn unfinished(bytes: &[u8]) -> bool {
    !bytes.is_empty() && std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn legible<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
        let (mut legible, mut out) = (LegibleText::default(), String::new());
        for piece in pieces {
            legible.push(piece, &mut out);
        }
        legible.finish(&mut out);
        out
    }

    #[test]
    fn escapes_go_and_text_stays() {
        let check = |bytes: &[u8], expected: &str| assert_eq!(legible([bytes]), expected, "{bytes:?}");
        check(b"plain\n", "plain\n");
        check(b"\x1b[31;1mred\x1b[0m and \x1b[38;5;12mblue\x1b[m", "red and blue");
        check(b"\x1b]0;title\x07text", "text");
        check(b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link");
        check(b"\x1b(Bascii\x1b=", "ascii");
        check(b"\x1b[\x1b[1mtwice", "twice");
        check(b"bell\x07 del\x7f nul\0\0\0.", "bell del nul\u{fffd}.");
        check(b"tab\tcr\rbs\x08", "tab\tcr\rbs\x08");
        check("grün\u{85}\u{9b}1m€".as_bytes(), "grün€");
        check(b"\xff\xfe broken \xe2\x82", "\u{fffd}\u{fffd} broken \u{fffd}");
        check(b"\x1b]never ended\nnext line", "\nnext line");
        let long = [b"\x1b]".as_slice(), &[b'x'; 2 * LONGEST_SEQUENCE]].concat();
        assert!(legible([long.as_slice()]).len() > LONGEST_SEQUENCE / 2);
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same(
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(0x1b), Just(b'['), Just(b']'), Just(0), Just(0xe2)], 0..300),
            cuts in prop::collection::vec(0_usize..300, 0..10),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
            let whole = legible([bytes.as_slice()]);
            prop_assert_eq!(&legible(pieces), &whole);
            prop_assert!(whole.chars().all(|c| !c.is_control() || "\n\t\r\x08".contains(c)));
        }

        #[test]
        fn plain_text_is_kept(text in "[\\PC\n\t]{0,300}") {
            prop_assert_eq!(legible([text.as_bytes()]), text);
        }
    }
}
