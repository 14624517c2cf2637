//! Rust source without what is not code.

/// The same text with comments and the contents of literals replaced by spaces; lines stay where they are.
pub(crate) fn code_only(source: &str) -> String {
    let mut rest: Vec<char> = source.chars().collect();
    let mut at = 0;
    while at < rest.len() {
        let end = at + length_of_other(&rest[at..], at.checked_sub(1).map(|before| rest[before]));
        for c in &mut rest[at..end] {
            if *c != '\n' {
                *c = ' ';
            }
        }
        at = end.max(at + 1);
    }
    rest.into_iter().collect()
}

/// How many characters from here on are a comment or a literal; 0 when code starts here.
fn length_of_other(text: &[char], before: Option<char>) -> usize {
    match text {
        ['/', '/', ..] => text.iter().position(|c| *c == '\n').unwrap_or(text.len()),
        ['/', '*', ..] => block_comment(text),
        ['"', ..] => string(text, 1),
        // The prefixes of literals, unless they end a longer word as in `number"`.
        ['r' | 'b' | 'c', ..] if !before.is_some_and(is_word) => prefixed(text),
        ['\'', ..] => character(text),
        _ => 0,
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn block_comment(text: &[char]) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        match &text[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// The length of a string whose first character is at `start`.
fn string(text: &[char], start: usize) -> usize {
    let mut at = start;
    while at < text.len() {
        match text[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

fn prefixed(text: &[char]) -> usize {
    let letters = text.iter().take_while(|c| matches!(c, 'r' | 'b' | 'c')).count().min(2);
    let hashes = text[letters..].iter().take_while(|c| **c == '#').count();
    let raw = text[..letters].contains(&'r');
    match text.get(letters + hashes) {
        Some('"') if raw => raw_string(text, letters + hashes + 1, hashes),
        Some('"') if hashes == 0 => string(text, letters + 1),
        Some('\'') if hashes == 0 && text[..letters] == ['b'] => 1 + character(&text[1..]),
        _ => 0,
    }
}

fn raw_string(text: &[char], start: usize, hashes: usize) -> usize {
    (start..text.len())
        .find(|at| text[*at] == '"' && text[at + 1..].iter().take_while(|c| **c == '#').count() >= hashes)
        .map_or(text.len(), |at| at + 1 + hashes)
}

/// A character literal, as opposed to a lifetime.
fn character(text: &[char]) -> usize {
    match text {
        ['\'', '\\', _, rest @ ..] => rest.iter().position(|c| *c == '\'').map_or(0, |at| at + 4),
        ['\'', _, '\'', ..] => 3,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::code_only;

    proptest! {
        #[test]
        fn any_text_keeps_its_shape(source in r#"[a-z'"rbc#/*\\\n é]{0,60}"#) {
            let code = code_only(&source);
            prop_assert_eq!(code.chars().count(), source.chars().count());
            for (code, source) in code.chars().zip(source.chars()) {
                prop_assert!(code == source || (code == ' ' && source != '\n'));
            }
        }
    }

    #[test]
    fn comments_and_literals_disappear() {
        for (source, expect) in [
            ("a // b", "a     "),
            ("a /* b /* c */ d */ e", "a                   e"),
            ("f(\"x\\\"y\") z", "f(      ) z"),
            ("r\"a\" b", "     b"),
            ("r#\"a\"b\"# c", "         c"),
            ("br#\"a\"# c", "        c"),
            ("b\"a\" b'x' 'y' '\\n' '\\'' k", "                        k"),
            ("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)"),
            ("number_r\"x\"", "number_r   "),
            ("\"one\ntwo\" x", "    \n     x"),
            ("'\"' a", "    a"),
            ("\"open", "     "),
        ] {
            assert_eq!(code_only(source), expect, "{source}");
        }
    }
}
