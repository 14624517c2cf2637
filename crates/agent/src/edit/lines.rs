//! Lines of a file with the characters that end them.

use std::borrow::Cow;

/// A line and its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TerminatedLine<'a> {
    /// The line without its end.
    pub(super) text: Cow<'a, str>,
    /// `\n`, `\r\n`, or nothing at the end of a file.
    pub(super) end: &'static str,
}

/// The lines of a text; put together they are the text again.
pub(super) fn split(text: &str) -> Vec<TerminatedLine<'_>> {
    text.split_inclusive('\n')
        .map(|line| {
            let (text, end) = match (line.strip_suffix("\r\n"), line.strip_suffix('\n')) {
                (Some(text), _) => (text, "\r\n"),
                (None, Some(text)) => (text, "\n"),
                (None, None) => (line, ""),
            };
            TerminatedLine { text: Cow::Borrowed(text), end }
        })
        .collect()
}

/// The lines of what a model sent, without their ends.
pub(super) fn contents(text: &str) -> Vec<&str> {
    let bare = |line| str::strip_suffix(line, "\r\n").or(line.strip_suffix('\n')).unwrap_or(line);
    text.split_inclusive('\n').map(bare).collect()
}

/// The line end that most lines have.
pub(super) fn style(text: &str) -> &'static str {
    let all = text.matches('\n').count();
    let with_return = text.matches("\r\n").count();
    if with_return * 2 > all { "\r\n" } else { "\n" }
}

/// Text with plain line ends.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    if text.contains("\r\n") { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) }
}

/// Text with all its line ends in one style.
pub(super) fn in_style(text: &str, style: &str) -> String {
    let plain = plain(text);
    if style == "\n" { plain.into_owned() } else { plain.replace('\n', style) }
}

/// Puts lines together; the end of the last is as the file had it, and no other is without one.
pub(super) fn join(lines: &[TerminatedLine<'_>], style: &str, final_end: bool) -> String {
    let mut text = String::with_capacity(lines.iter().map(|line| line.text.len() + 2).sum());
    for (index, line) in lines.iter().enumerate() {
        text.push_str(&line.text);
        let last = index + 1 == lines.len();
        match (last && !final_end, line.end) {
            (true, _) => {}
            (false, "") => text.push_str(style),
            (false, end) => text.push_str(end),
        }
    }
    text
}

/// The number of the line that holds this byte, from 1.
pub(super) fn number_at(text: &str, byte: usize) -> usize {
    let before = text.as_bytes().get(..byte).unwrap_or(text.as_bytes());
    before.iter().filter(|b| **b == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_style_is_that_of_most_lines() {
        for (text, expect) in
            [("", "\n"), ("a", "\n"), ("a\r\nb", "\r\n"), ("a\nb\r\nc\r\n", "\r\n"), ("a\nb\r\n", "\n")]
        {
            assert_eq!(style(text), expect, "{text:?}");
        }
    }

    #[test]
    fn joining_restores_missing_ends() {
        let line = |text: &'static str, end| TerminatedLine { text: Cow::Borrowed(text), end };
        let lines = [line("a", ""), line("b", "\n")];
        assert_eq!(join(&lines, "\r\n", true), "a\r\nb\n");
        assert_eq!(join(&lines, "\n", false), "a\nb");
        assert_eq!(join(&[], "\n", true), "");
    }

    proptest! {
        #[test]
        fn splitting_and_joining_is_nothing(text in "[ab\r\n]{0,30}") {
            let ended = text.ends_with('\n');
            prop_assert_eq!(join(&split(&text), style(&text), ended), text);
        }
    }
}
