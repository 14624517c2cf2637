//! What an agent switched on in a terminal, and how to undo it.

use std::collections::BTreeMap;

/// Modes that a terminal has switched on when nobody touched it: wrapping, and the cursor.
const ON_BY_ITSELF: [u16; 2] = [7, 25];
/// Modes that are switched off again, whoever set them: keys of the cursor and the pad, origin, reverse, mouse in all its
/// forms, focus, paste, synchronised drawing, notes about colour and size, margins at the sides.
const UNDONE: [u16; 25] = [
    1, 5, 6, 9, 45, 66, 69, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1015, 1016, 1035, 2004, 2026, 2027,
    2031, 2048, 5522, 9001, 1007,
];
/// The other screen, by its three names.
const OTHER_SCREEN: [u16; 3] = [47, 1047, 1049];
/// Titles that an agent may put aside at once.
const TITLES: u32 = 16;

/// What is switched on.
#[derive(Debug, Clone, Default)]
pub(super) struct ScreenModes {
    /// Private modes that were touched.
    private: BTreeMap<u16, bool>,
    /// The ways in which keys are told that were pushed, the last one counting.
    keyboard: Vec<String>,
    keyboard_touched: bool,
    other_keys: Option<String>,
    keypad: bool,
    insert: bool,
    cursor_shape: bool,
    region: bool,
    charset: bool,
    link: bool,
    colours: bool,
    pointer: bool,
    progress: bool,
    /// Titles put aside.
    titles: u32,
    /// Whether the terminal may still answer something.
    asked: bool,
    /// Whether the cursor stands behind something in its line.
    behind: bool,
}

impl ScreenModes {
    /// Whether the terminal was asked something that it answers as if it were typed.
    pub(super) fn may_answer(&self) -> bool {
        self.asked
    }

    /// Something was asked.
    pub(super) fn asks(&mut self) {
        self.asked = true;
    }

    /// A byte of text, or a control of one byte.
    pub(super) fn printed(&mut self, byte: u8) {
        match byte {
            b'\r' | b'\n' => self.behind = false,
            0x0e => self.charset = true,
            0x05 => self.asked = true,
            0x20.. => self.behind = true,
            _ => {}
        }
    }

    /// A sequence of ESC and these bytes.
    pub(super) fn escaped(&mut self, body: &[u8]) {
        match body {
            b"c" => *self = Self { titles: self.titles, asked: self.asked, ..Self::default() },
            b"=" => self.keypad = true,
            b">" => self.keypad = false,
            b"Z" => self.asked = true,
            [b'(' | b')' | b'*' | b'+' | b'-' | b'.' | b'/', ..] => self.charset = true,
            _ => {}
        }
    }

    /// A command by number, such as a title or a colour.
    pub(super) fn commanded(&mut self, number: u64) {
        match number {
            8 => self.link = true,
            9 => self.progress = true,
            22 => self.pointer = true,
            4 | 5 | 10..=19 => (self.colours, self.asked) = (true, true),
            21 | 60 | 61 | 99 => self.asked = true,
            _ => {}
        }
    }

    /// A control sequence, from its parameters to its letter. Whether it passes: a title that this agent did not put aside is
    /// not its own to take back.
    pub(super) fn controlled(&mut self, body: &[u8]) -> bool {
        let Some((letter, parameters)) = body.split_last() else { return true };
        let text = std::str::from_utf8(parameters).unwrap_or_default();
        let numbers = |text: &str| -> Vec<u16> {
            text.split([';', ':']).map(|part| part.parse().unwrap_or_default()).collect()
        };
        match (*letter, text.as_bytes().first()) {
            (b'h' | b'l', Some(b'?')) => {
                for mode in numbers(&text[1..]) {
                    self.private.insert(mode, *letter == b'h');
                }
            }
            (b'h' | b'l', _) if numbers(text).contains(&4) => self.insert = *letter == b'h',
            (b'u', Some(b'>')) => {
                self.keyboard_touched = true;
                if self.keyboard.len() < 64 {
                    self.keyboard.push(text[1..].to_owned());
                }
            }
            (b'u', Some(b'<')) => {
                let count = usize::from(numbers(&text[1..]).first().copied().unwrap_or(1).max(1));
                self.keyboard.truncate(self.keyboard.len().saturating_sub(count));
            }
            (b'u', Some(b'=')) => self.keyboard_touched = true,
            (b'm', Some(b'>')) => self.other_keys = Some(text.to_owned()).filter(|text| text.contains(';')),
            (b'q', _) if text.ends_with(' ') => self.cursor_shape = true,
            (b'r', None | Some(b'0'..=b'9' | b';')) => self.region = !text.is_empty(),
            (b't', _) => match numbers(text).first() {
                Some(22) if self.titles >= TITLES => return false,
                Some(22) => self.titles += 1,
                Some(23) if self.titles == 0 => return false,
                Some(23) => self.titles -= 1,
                Some(11..=21) => self.asked = true,
                _ => {}
            },
            (b'n' | b'c' | b'x', _) | (b'q', Some(b'>')) | (b'u', Some(b'?')) => self.asked = true,
            (b'p', _) if text.ends_with('$') => self.asked = true,
            (b'y' | b'w', _) => self.asked = true,
            (b'p', Some(b'!')) => {
                let (titles, asked, private) = (self.titles, self.asked, std::mem::take(&mut self.private));
                *self = Self { titles, asked, private, ..Self::default() };
            }
            _ => {}
        }
        true
    }

    fn on_other_screen(&self) -> Option<u16> {
        OTHER_SCREEN.into_iter().find(|mode| self.private.get(mode) == Some(&true))
    }

    /// What makes a terminal as it was before.
    pub(super) fn undo(&self) -> Vec<u8> {
        let mut out = String::new();
        let keyboard = |out: &mut String| {
            if self.keyboard_touched || !self.keyboard.is_empty() {
                // More than anybody pushes: an empty pile is the keyboard as it was.
                out.push_str("\x1b[<99u\x1b[=0u");
            }
        };
        for mode in UNDONE.into_iter().filter(|mode| self.private.get(mode) == Some(&true)) {
            out.push_str(&format!("\x1b[?{mode}l"));
        }
        keyboard(&mut out);
        let parts = [
            (self.other_keys.is_some(), "\x1b[>4m"),
            (self.keypad, "\x1b>"),
            (self.insert, "\x1b[4l"),
            (self.cursor_shape, "\x1b[0 q"),
            // Taking a region back moves the cursor.
            (self.region, "\x1b7\x1b[r\x1b8"),
            (self.charset, "\x1b(B\x1b)B\x0f"),
            (self.link, "\x1b]8;;\x1b\\"),
            (self.colours, "\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b]112\x1b\\"),
            (self.pointer, "\x1b]22;\x1b\\"),
            (self.progress, "\x1b]9;4;0\x1b\\"),
        ];
        parts.iter().filter(|(wanted, _)| *wanted).for_each(|(_, part)| out.push_str(part));
        out.push_str("\x1b[0m");
        if let Some(mode) = self.on_other_screen() {
            out.push_str(&format!("\x1b[?{mode}l"));
            keyboard(&mut out);
            out.push_str("\x1b[0m");
        } else if self.behind {
            out.push_str("\r\n");
        }
        for mode in ON_BY_ITSELF.into_iter().filter(|mode| self.private.get(mode) == Some(&false)) {
            out.push_str(&format!("\x1b[?{mode}h"));
        }
        for _ in 0..self.titles {
            out.push_str("\x1b[23;0t");
        }
        out.into_bytes()
    }

    /// What leads below everything that is drawn, on the screen that stays.
    pub(super) fn below(&self) -> &'static [u8] {
        if self.on_other_screen().is_some() { b"" } else { b"\x1b[r\x1b[9999;1H\r\n" }
    }

    /// What makes another terminal, or this one after it was given back, as the agent believes it to be.
    pub(super) fn redo(&self) -> Vec<u8> {
        let mut out = String::new();
        if let Some(mode) = self.on_other_screen() {
            out.push_str(&format!("\x1b[?{mode}h"));
        }
        for (mode, on) in &self.private {
            let own = if *on { UNDONE.contains(mode) } else { ON_BY_ITSELF.contains(mode) };
            // Drawing that is held until it is whole may never be let go.
            if own && *mode != 2026 {
                out.push_str(&format!("\x1b[?{mode}{}", if *on { 'h' } else { 'l' }));
            }
        }
        for flags in &self.keyboard {
            out.push_str(&format!("\x1b[>{flags}u"));
        }
        if let Some(keys) = &self.other_keys {
            out.push_str(&format!("\x1b[{keys}m"));
        }
        if self.keypad {
            out.push_str("\x1b=");
        }
        for _ in 0..self.titles {
            out.push_str("\x1b[22;0t");
        }
        out.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::super::filter::ScreenFilter;

    fn after(text: &str) -> ScreenFilter {
        let mut filter = ScreenFilter::default();
        filter.feed(text.as_bytes(), &mut Vec::new());
        filter
    }

    fn undone(text: &str) -> String {
        String::from_utf8_lossy(&after(text).modes().undo()).into_owned()
    }

    #[test]
    fn what_was_switched_on_is_switched_off() {
        let all =
            undone("\x1b[?1049h\x1b[?1000;1006h\x1b[?2004h\x1b[?25l\x1b[>1u\x1b[>4;2m\x1b=\x1b[2 q\x1b[2;9r");
        for part in [
            "\x1b[?1000l",
            "\x1b[?1006l",
            "\x1b[?2004l",
            "\x1b[<99u",
            "\x1b[>4m",
            "\x1b>",
            "\x1b[0 q",
            "\x1b[r",
            "\x1b[?1049l",
            "\x1b[?25h",
        ] {
            assert!(all.contains(part), "{part:?} is not in {all:?}");
        }
        assert!(all.find("\x1b[?1000l") < all.find("\x1b[?1049l"), "the screen comes last");
    }

    #[test]
    fn what_was_taken_back_is_left_alone() {
        let rest = undone("\x1b[?1049h\x1b[?1000h\x1b[?25l\x1b[?25h\x1b[?1000l\x1b[?1049l\r\n");
        assert_eq!(rest, "\x1b[0m");
        assert_eq!(undone(""), "\x1b[0m");
        assert_eq!(undone("words"), "\x1b[0m\r\n");
    }

    #[test]
    fn titles_of_others_stay() {
        let mut out = Vec::new();
        super::super::filter::ScreenFilter::default()
            .feed(b"\x1b[23;0t\x1b[22;0t\x1b[23;0t\x1b[23t", &mut out);
        assert_eq!(out, b"\x1b[22;0t\x1b[23;0t");
        assert!(undone("\x1b[22;0t").contains("\x1b[23;0t"));
    }

    #[test]
    fn questions_are_known() {
        for asks in [
            "\x1b[6n",
            "\x1b[c",
            "\x1b[>0q",
            "\x1b[?u",
            "\x1b]11;?\x07",
            "\x1bP$qm\x1b\\",
            "\x1b[14t",
            "\x1b[?2026$p",
        ] {
            assert!(after(asks).modes().may_answer(), "{asks:?}");
        }
        assert!(!after("words\x1b[2J\x1b[1;1H\x1b[31m").modes().may_answer());
    }

    #[test]
    fn a_new_terminal_is_made_like_the_old_one() {
        let again = after("\x1b[?1049h\x1b[?1003;1006;2004h\x1b[?25l\x1b[>7u\x1b[?2026h").modes().redo();
        assert_eq!(
            String::from_utf8_lossy(&again),
            "\x1b[?1049h\x1b[?25l\x1b[?1003h\x1b[?1006h\x1b[?2004h\x1b[>7u"
        );
    }
}
