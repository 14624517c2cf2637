//! Bytes of a terminal as keys.

/// The longest sequence that is waited for; anything longer is no key.
const MOST: usize = 32;
/// The most of a paste that is taken.
const MOST_PASTE: usize = 1 << 20;
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// What was pressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Key {
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
pub(super) struct Decoder {
    held: Vec<u8>,
    paste: Option<Vec<u8>>,
}

enum Found {
    Key(Key),
    Paste,
    More,
    Nothing,
}

impl Decoder {
    /// Takes a byte; gives a key when one is complete.
    pub(super) fn push(&mut self, byte: u8) -> Option<Key> {
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
            return Some(Key::Paste(text));
        }
        self.held.push(byte);
        let found = find(&self.held);
        if !matches!(found, Found::More) {
            self.held.clear();
        }
        match found {
            Found::Key(key) => return Some(key),
            Found::Paste => self.paste = Some(Vec::new()),
            Found::More | Found::Nothing => {}
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

fn find(bytes: &[u8]) -> Found {
    match bytes {
        [] => Found::More,
        [0x1b, rest @ ..] => escape(rest),
        [byte] if *byte < 0x20 || *byte == 0x7f => control(*byte).map_or(Found::Nothing, Found::Key),
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => text.chars().next().map_or(Found::Nothing, |c| Found::Key(Key::Char(c))),
            Err(e) if e.error_len().is_none() => Found::More,
            Err(_) => Found::Nothing,
        },
    }
}

fn control(byte: u8) -> Option<Key> {
    Some(match byte {
        b'\r' => Key::Enter,
        b'\n' => Key::Break,
        b'\t' => Key::Tab,
        0x08 | 0x7f => Key::Backspace,
        0x01 => Key::Home,
        0x02 => Key::Left,
        0x03 => Key::Interrupt,
        0x04 => Key::EndOfInput,
        0x05 => Key::End,
        0x06 => Key::Right,
        0x0b => Key::KillToEnd,
        0x0c => Key::Clear,
        0x0e => Key::Down,
        0x10 => Key::Up,
        0x15 => Key::KillAll,
        0x17 => Key::KillWord,
        0x1a => Key::Suspend,
        _ => return None,
    })
}

/// What comes after an escape.
fn escape(rest: &[u8]) -> Found {
    let key = match rest {
        [] | [b'[' | b'O'] => return Found::More,
        [b'[', params @ .., last] => {
            if !(0x40..=0x7e).contains(last) {
                return if rest.len() < MOST { Found::More } else { Found::Nothing };
            }
            return sequence(params, *last);
        }
        [b'O', last] => return sequence(b"", *last),
        [b'\r' | b'\n'] => Key::Break,
        [b'b'] => Key::WordLeft,
        [b'f'] => Key::WordRight,
        [0x7f] => Key::KillWord,
        _ => return Found::Nothing,
    };
    Found::Key(key)
}

fn sequence(params: &[u8], last: u8) -> Found {
    let numbers: Vec<u32> = params
        .split(|byte| *byte == b';')
        .map(|number| std::str::from_utf8(number).ok().and_then(|n| n.parse().ok()).unwrap_or(1))
        .collect();
    let first = numbers.first().copied().unwrap_or(1);
    // Alt is 3, Ctrl is 5, both together 7.
    let word = matches!(numbers.get(1), Some(3 | 5 | 7));
    let key = match (last, first) {
        (b'A', _) => Key::Up,
        (b'B', _) => Key::Down,
        (b'C', _) if word => Key::WordRight,
        (b'D', _) if word => Key::WordLeft,
        (b'C', _) => Key::Right,
        (b'D', _) => Key::Left,
        (b'H', _) | (b'~', 1 | 7) => Key::Home,
        (b'F', _) | (b'~', 4 | 8) => Key::End,
        (b'~', 3) => Key::Delete,
        (b'Z', _) => Key::BackTab,
        (b'~', 200) => return Found::Paste,
        _ => return Found::Nothing,
    };
    Found::Key(key)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Key> {
        let mut decoder = Decoder::default();
        bytes.iter().filter_map(|byte| decoder.push(*byte)).collect()
    }

    #[test]
    fn keys_are_told_apart() {
        let check = |bytes: &[u8], expect: &[Key]| assert_eq!(keys(bytes), expect, "{bytes:?}");
        check(b"a\r", &[Key::Char('a'), Key::Enter]);
        check("é好🔨".as_bytes(), &[Key::Char('é'), Key::Char('好'), Key::Char('🔨')]);
        check(b"\x1b[Z", &[Key::BackTab]);
        check(b"\x1b[A\x1bOB", &[Key::Up, Key::Down]);
        check(b"\x1b[1;5C\x1b[1;3D\x1bb", &[Key::WordRight, Key::WordLeft, Key::WordLeft]);
        check(b"\x1b[3~\x7f", &[Key::Delete, Key::Backspace]);
        check(b"\x1b[200~a\r\nb\x1b[201~c", &[Key::Paste("a\nb".into()), Key::Char('c')]);
        check(b"\x1b\rx", &[Key::Break, Key::Char('x')]);
        check(b"\xffx", &[Key::Char('x')]);
        check(b"\x1b[38;5;99zx", &[Key::Char('x')]);
        check(b"\x03\x04\x1a", &[Key::Interrupt, Key::EndOfInput, Key::Suspend]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut decoder = Decoder::default();
            for byte in bytes {
                decoder.push(byte);
                prop_assert!(decoder.held.len() <= MOST + 2);
            }
        }
    }
}
