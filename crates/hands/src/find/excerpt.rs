//! A line short enough to be shown, with what matched in it.

use std::ops::Range;

/// Most characters of a line that are shown.
pub(crate) const MOST_CHARACTERS: usize = 300;
/// How many of them stand before what matched.
const BEFORE: usize = 100;

/// The line without its end; of a very long one what is around the match, between ellipses.
pub(crate) fn excerpt(line: &[u8], matched: Option<Range<usize>>) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // A character has one byte at least.
    if line.len() <= MOST_CHARACTERS {
        return String::from_utf8_lossy(line).into_owned();
    }
    let from = matched.map_or(0, |matched| matched.start.min(line.len()));
    let start = at_character(line, back(line, from, BEFORE));
    let rest = String::from_utf8_lossy(&line[start..line.len().min(start + 4 * MOST_CHARACTERS)]);
    let end = rest.char_indices().nth(MOST_CHARACTERS).map_or(rest.len(), |(at, _)| at);
    let whole = end == rest.len() && start + rest.len() >= line.len();
    format!("{}{}{}", if start > 0 { "…" } else { "" }, &rest[..end], if whole { "" } else { "…" })
}

/// The position some characters before another one.
fn back(line: &[u8], from: usize, characters: usize) -> usize {
    let mut left = characters;
    let mut at = from;
    while at > 0 && left > 0 {
        at -= 1;
        left -= usize::from(starts_character(line[at]));
    }
    at
}

fn at_character(line: &[u8], mut at: usize) -> usize {
    while at > 0 && at < line.len() && !starts_character(line[at]) {
        at -= 1;
    }
    at
}

fn starts_character(byte: u8) -> bool {
    byte & 0b1100_0000 != 0b1000_0000
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn short_lines_stay() {
        assert_eq!(excerpt(b"plain\r\n", None), "plain");
        assert_eq!(excerpt(b"\n", None), "");
        assert_eq!(excerpt("ü\n".as_bytes(), Some(0..2)), "ü");
    }

    #[test]
    fn long_lines_show_the_match() {
        let line = format!("{}needle{}", "x".repeat(5000), "y".repeat(5000));
        let shown = excerpt(line.as_bytes(), Some(5000..5006));
        assert!(shown.starts_with('…') && shown.ends_with('…') && shown.contains("needle"));
        assert_eq!(excerpt(line.as_bytes(), None).chars().count(), MOST_CHARACTERS + 1);
    }

    proptest! {
        #[test]
        fn any_line_is_short_and_shows_its_match(
            before in "\\PC{0,800}", needle in "[a-z]{1,20}", after in "\\PC{0,800}",
        ) {
            let line = format!("{before}{needle}{after}");
            let at = before.len()..before.len() + needle.len();
            let shown = excerpt(line.as_bytes(), Some(at));
            prop_assert!(shown.chars().count() <= MOST_CHARACTERS + 2);
            prop_assert!(shown.contains(&needle));
            let torn = shown.contains(char::REPLACEMENT_CHARACTER);
            prop_assert!(!torn || line.contains(char::REPLACEMENT_CHARACTER));
        }

        #[test]
        fn any_bytes_are_shown(line in prop::collection::vec(any::<u8>(), 0..2000), at in 0_usize..3000) {
            prop_assert!(excerpt(&line, Some(at..at + 1)).chars().count() <= MOST_CHARACTERS + 2);
        }
    }
}
