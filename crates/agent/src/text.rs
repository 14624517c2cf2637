//! Cutting texts, always at a character and always saying so.

/// The beginning, at most `most` bytes and a mark.
pub(crate) fn head(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    format!("{}…", &text[..floor(text, most)])
}

/// The end, at most `most` bytes and a mark.
pub(crate) fn tail(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    format!("…{}", &text[ceil(text, text.len() - most)..])
}

/// Beginning and end, with a note of how much was between them; about `most` bytes.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    // A cut that saves less than its note is none.
    if text.len() <= most + 60 {
        return text.to_owned();
    }
    let (begin, end) = (floor(text, most / 2), ceil(text, text.len() - most / 2));
    format!("{}\n[… {} bytes left out]\n{}", &text[..begin], end - begin, &text[end..])
}

/// One line of at most `most` bytes: control characters and runs of space become one space.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    let mut line = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > most {
            return head(&line, most);
        }
    }
    line
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0)
}

fn ceil(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|i| text.is_char_boundary(*i)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cuts_say_that_they_are_cuts() {
        assert_eq!(head("abc", 3), "abc");
        assert_eq!(head("abcd", 3), "abc…");
        assert_eq!(tail("abcd", 3), "…bcd");
        assert_eq!(one_line(" a\n\tb\u{0}c ", 10), "a b c");
        let long = format!("{}{}", "a".repeat(100), "b".repeat(100));
        assert_eq!(shorten(&long, 20), "aaaaaaaaaa\n[… 180 bytes left out]\nbbbbbbbbbb");
    }

    proptest! {
        #[test]
        fn any_text_is_cut_at_characters(text in "\\PC{0,80}", most in 0usize..60) {
            prop_assert!(head(&text, most).len() <= most.max(text.len().min(most)) + 3);
            prop_assert!(tail(&text, most).len() <= most + 3);
            prop_assert!(shorten(&text, most).len() <= most + 60);
            prop_assert!(!one_line(&text, most).contains('\n'));
        }
    }
}
