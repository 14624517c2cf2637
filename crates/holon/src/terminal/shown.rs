//! Text without anything a terminal would obey, or that would make it look like something else.

use std::borrow::Cow;
use std::fmt::Write as _;

/// What stands for a character that is not shown.
const REPLACED: char = '\u{fffd}';
/// The few sequences that our own styles are made of.
const STYLES: [&str; 8] =
    ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[4m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m"];

/// Whether a character could move the cursor, change a line that was read already, turn its direction, or hide.
fn is_harmful(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        // Direction marks can make a line read as something it is not.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        // What takes no room can hide words from a person and not from a program; joiners are part of scripts.
        '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}' => true,
        // Ends of lines that only some programs know, annotations, and letters that nobody sees.
        '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => true,
        c => c.is_control(),
    }
}

/// Words of others: nothing but what can be read.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    filtered(text, false, |out, _| out.push(REPLACED))
}

/// A line or a page of our own, in our own styles where colour is wanted, whoever's words it quotes.
pub(crate) fn styled(text: &str, colour: bool) -> Cow<'_, str> {
    filtered(text, colour, |out, _| out.push(REPLACED))
}

/// What a command gives: JSON stays the same data, everything else is [`styled`].
pub(super) fn result(text: &str, colour: bool) -> Cow<'_, str> {
    if text.chars().any(is_harmful) && is_json(text) {
        return filtered(text, false, escape);
    }
    styled(text, colour)
}

/// One value, or one in each line.
fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
        && serde_json::Deserializer::from_str(text)
            .into_iter::<serde_json::Value>()
            .all(|value| value.is_ok())
}

/// In JSON, such a character can only be in a string.
fn escape(out: &mut String, c: char) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        let _ = write!(out, "\\u{unit:04x}");
    }
}

fn filtered(text: &str, colour: bool, instead: impl Fn(&mut String, char)) -> Cow<'_, str> {
    if !text.chars().any(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let style = STYLES.iter().find(|style| colour && c == '\x1b' && rest.starts_with(**style));
        if let Some(style) = style {
            out.push_str(style);
            rest = &rest[style.len()..];
            continue;
        }
        rest = &rest[c.len_utf8()..];
        match c {
            // The end of a line elsewhere.
            '\r' if rest.starts_with('\n') => {}
            c if is_harmful(c) => instead(&mut out, c),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_gone() {
        let check = |text: &str, expect: &str| assert_eq!(plain(text), expect, "{text:?}");
        check("plain\ttext\n", "plain\ttext\n");
        check("a\r\nb\rc", "a\nb\u{fffd}c");
        check("\x1b]52;c;aGk=\x07", "\u{fffd}]52;c;aGk=\u{fffd}");
        check("\u{9b}31m\u{202e}\u{200b}x", "\u{fffd}31m\u{fffd}\u{fffd}x");
        check("\x1b[31m", "\u{fffd}[31m");
        check("क्\u{200d}ष 👩\u{200d}💻", "क्\u{200d}ष 👩\u{200d}💻");
    }

    #[test]
    fn our_own_styles_stay_where_colour_is_wanted() {
        assert_eq!(styled("\x1b[31mx\x1b[0m\x1b[2J", true), "\x1b[31mx\x1b[0m\u{fffd}[2J");
        assert_eq!(styled("\x1b[31mx", false), "\u{fffd}[31mx");
    }

    #[test]
    fn json_says_the_same() {
        let text = "{\"a\": \"\u{9b}\u{202e}\u{e0041}\"}\n{\"b\": 1}\n";
        let out = result(text, true);
        assert_eq!(out, "{\"a\": \"\\u009b\\u202e\\udb40\\udc41\"}\n{\"b\": 1}\n");
        assert_eq!(result("{ no json \u{9b}", true), "{ no json \u{fffd}");
    }
}
