//! Bytes of a terminal as keys.

/// The longest sequence that is waited for; anything longer is no key.
const MOST: usize = 32;
/// The most of a paste that is taken.
const MOST_PASTE: usize = 1 << 20;
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// What was pressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TerminalKey {
    Char(char),
    Enter,
    /// A line break that does not send.
    Break,
    Tab,
    BackTab,
    Backspace,
    Delete,
    Left,
    Right,
    Up,
    Down,
    Home,
    End,
    WordLeft,
    WordRight,
    KillWord,
    KillToEnd,
    KillAll,
    Clear,
    Interrupt,
    EndOfInput,
    Suspend,
    Paste(String),
}

/// Collects bytes until they are a key.
#[derive(Debug, Default)]
pub(super) struct KeyDecoder {
    held: Vec<u8>,
    paste: Option<Vec<u8>>,
}

enum DecodedKey {
    Key(TerminalKey),
    Paste,
    More,
    Nothing,
}

impl KeyDecoder {
    /// Takes a byte; gives a key when one is complete.
    pub(super) fn push(&mut self, byte: u8) -> Option<TerminalKey> {
        if let Some(paste) = &mut self.paste {
            paste.push(byte);
            if !paste.ends_with(PASTE_ENDS) {
                if paste.len() > MOST_PASTE + PASTE_ENDS.len() {
                    // The end has still to be seen, the rest has not.
                    paste.remove(MOST_PASTE);
                }
                return None;
            }
            paste.truncate(paste.len() - PASTE_ENDS.len());
            let text = String::from_utf8_lossy(paste).replace("\r\n", "\n").replace('\r', "\n");
            self.paste = None;
            return Some(TerminalKey::Paste(text));
        }
        self.held.push(byte);
        let found = find(&self.held);
        if !matches!(found, DecodedKey::More) {
            self.held.clear();
        }
        match found {
            DecodedKey::Key(key) => return Some(key),
            DecodedKey::Paste => self.paste = Some(Vec::new()),
            DecodedKey::More | DecodedKey::Nothing => {}
        }
        None
    }

    /// Whether more bytes are waited for.
    pub(super) fn is_waiting(&self) -> bool {
        !self.held.is_empty()
    }

    /// Nothing more came: what is held was no key of its own.
    pub(super) fn give_up(&mut self) {
        self.held.clear();
    }
}

fn find(bytes: &[u8]) -> DecodedKey {
    match bytes {
        [] => DecodedKey::More,
        [0x1b, rest @ ..] => escape(rest),
        [byte] if *byte < 0x20 || *byte == 0x7f => {
            control(*byte).map_or(DecodedKey::Nothing, DecodedKey::Key)
        }
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => {
                text.chars().next().map_or(DecodedKey::Nothing, |c| DecodedKey::Key(TerminalKey::Char(c)))
            }
            Err(e) if e.error_len().is_none() => DecodedKey::More,
            Err(_) => DecodedKey::Nothing,
        },
    }
}

fn control(byte: u8) -> Option<TerminalKey> {
    Some(match byte {
        b'\r' => TerminalKey::Enter,
        b'\n' => TerminalKey::Break,
        b'\t' => TerminalKey::Tab,
        0x08 | 0x7f => TerminalKey::Backspace,
        0x01 => TerminalKey::Home,
        0x02 => TerminalKey::Left,
        0x03 => TerminalKey::Interrupt,
        0x04 => TerminalKey::EndOfInput,
        0x05 => TerminalKey::End,
        0x06 => TerminalKey::Right,
        0x0b => TerminalKey::KillToEnd,
        0x0c => TerminalKey::Clear,
        0x0e => TerminalKey::Down,
        0x10 => TerminalKey::Up,
        0x15 => TerminalKey::KillAll,
        0x17 => TerminalKey::KillWord,
        0x1a => TerminalKey::Suspend,
        _ => return None,
    })
}

/// What comes after an escape.
fn escape(rest: &[u8]) -> DecodedKey {
    let key = match rest {
        [] | [b'[' | b'O'] => return DecodedKey::More,
        [b'[', params @ .., last] => {
            if !(0x40..=0x7e).contains(last) {
                return if rest.len() < MOST { DecodedKey::More } else { DecodedKey::Nothing };
            }
            return sequence(params, *last);
        }
        [b'O', last] => return sequence(b"", *last),
        [b'\r' | b'\n'] => TerminalKey::Break,
        [b'b'] => TerminalKey::WordLeft,
        [b'f'] => TerminalKey::WordRight,
        [0x7f] => TerminalKey::KillWord,
        _ => return DecodedKey::Nothing,
    };
    DecodedKey::Key(key)
}

fn sequence(params: &[u8], last: u8) -> DecodedKey {
    let numbers: Vec<u32> = params
        .split(|byte| *byte == b';')
        .map(|number| std::str::from_utf8(number).ok().and_then(|n| n.parse().ok()).unwrap_or(1))
        .collect();
    let first = numbers.first().copied().unwrap_or(1);
    // Alt is 3, Ctrl is 5, both together 7.
    let word = matches!(numbers.get(1), Some(3 | 5 | 7));
    let key = match (last, first) {
        (b'A', _) => TerminalKey::Up,
        (b'B', _) => TerminalKey::Down,
        (b'C', _) if word => TerminalKey::WordRight,
        (b'D', _) if word => TerminalKey::WordLeft,
        (b'C', _) => TerminalKey::Right,
        (b'D', _) => TerminalKey::Left,
        (b'H', _) | (b'~', 1 | 7) => TerminalKey::Home,
        (b'F', _) | (b'~', 4 | 8) => TerminalKey::End,
        (b'~', 3) => TerminalKey::Delete,
        (b'Z', _) => TerminalKey::BackTab,
        (b'~', 200) => return DecodedKey::Paste,
        _ => return DecodedKey::Nothing,
    };
    DecodedKey::Key(key)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keys(bytes: &[u8]) -> Vec<TerminalKey> {
        let mut decoder = KeyDecoder::default();
        bytes.iter().filter_map(|byte| decoder.push(*byte)).collect()
    }

    #[test]
    fn keys_are_told_apart() {
        let check = |bytes: &[u8], expect: &[TerminalKey]| assert_eq!(keys(bytes), expect, "{bytes:?}");
        check(b"a\r", &[TerminalKey::Char('a'), TerminalKey::Enter]);
        check(
            "é好🔨".as_bytes(),
            &[TerminalKey::Char('é'), TerminalKey::Char('好'), TerminalKey::Char('🔨')],
        );
        check(b"\x1b[Z", &[TerminalKey::BackTab]);
        check(b"\x1b[A\x1bOB", &[TerminalKey::Up, TerminalKey::Down]);
        check(
            b"\x1b[1;5C\x1b[1;3D\x1bb",
            &[TerminalKey::WordRight, TerminalKey::WordLeft, TerminalKey::WordLeft],
        );
        check(b"\x1b[3~\x7f", &[TerminalKey::Delete, TerminalKey::Backspace]);
        check(b"\x1b[200~a\r\nb\x1b[201~c", &[TerminalKey::Paste("a\nb".into()), TerminalKey::Char('c')]);
        check(b"\x1b\rx", &[TerminalKey::Break, TerminalKey::Char('x')]);
        check(b"\xffx", &[TerminalKey::Char('x')]);
        check(b"\x1b[38;5;99zx", &[TerminalKey::Char('x')]);
        check(b"\x03\x04\x1a", &[TerminalKey::Interrupt, TerminalKey::EndOfInput, TerminalKey::Suspend]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut decoder = KeyDecoder::default();
            for byte in bytes {
                decoder.push(byte);
                prop_assert!(decoder.held.len() <= MOST + 2);
            }
        }
    }
}
