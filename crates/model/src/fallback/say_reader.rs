//! Reads the words out of an object of words and a call while it is still coming.

/// The reader of `{"say": "…"` at the beginning of an answer.
#[derive(Debug, Default)]
pub(super) struct SayReader {
    /// Everything before is read; nothing is while the text has not begun.
    at: Option<usize>,
}

/// Whether there can be more words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SayProgress {
    /// Perhaps.
    More,
    /// No: they ended, or this is something else.
    Enough,
}

/// What comes before the words.
const OPENING: [&str; 4] = ["{", "\"say\"", ":", "\""];

impl SayReader {
    /// Reads on in the answer as it is so far.
    pub(super) fn read(&mut self, answer: &str) -> (String, SayProgress) {
        let mut words = String::new();
        let mut at = match self.at.map_or_else(|| opening(answer), Ok) {
            Ok(at) => at,
            Err(said) => return (words, said),
        };
        let said = loop {
            match sign(&answer[at..]) {
                JsonSign::Unfinished => break SayProgress::More,
                JsonSign::End => break SayProgress::Enough,
                JsonSign::Is(sign, length) => {
                    words.push(sign);
                    at += length;
                }
            }
        };
        self.at = Some(at);
        (words, said)
    }
}

/// Where the words begin.
fn opening(answer: &str) -> Result<usize, SayProgress> {
    let mut rest = answer;
    for token in OPENING {
        rest = rest.trim_start();
        match rest.strip_prefix(token) {
            Some(after) => rest = after,
            None if token.starts_with(rest) => return Err(SayProgress::More),
            None => return Err(SayProgress::Enough),
        }
    }
    Ok(answer.len() - rest.len())
}

enum JsonSign {
    /// Its rest is still to come.
    Unfinished,
    /// The text is closed, or nobody knows what this is.
    End,
    /// A sign, and its length as it is written.
    Is(char, usize),
}

fn sign(rest: &str) -> JsonSign {
    let mut signs = rest.chars();
    match signs.next() {
        None => JsonSign::Unfinished,
        Some('"') => JsonSign::End,
        Some('\\') => match signs.next() {
            None => JsonSign::Unfinished,
            Some('u') => number(rest),
            Some('n') => JsonSign::Is('\n', 2),
            Some('t') => JsonSign::Is('\t', 2),
            Some('r') => JsonSign::Is('\r', 2),
            Some('b') => JsonSign::Is('\u{8}', 2),
            Some('f') => JsonSign::Is('\u{c}', 2),
            Some(same @ ('"' | '\\' | '/')) => JsonSign::Is(same, 2),
            Some(_) => JsonSign::End,
        },
        Some(sign) => JsonSign::Is(sign, sign.len_utf8()),
    }
}

/// `\u00e9`, or two of them for what does not fit into one.
fn number(rest: &str) -> JsonSign {
    let unit = |at: usize| {
        let digits = rest.get(at..at + 6)?.strip_prefix("\\u")?;
        digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok()).flatten()
    };
    let Some(first) = unit(0) else {
        let begun = rest.len() < 6 && rest[2..].bytes().all(|b| b.is_ascii_hexdigit());
        return if begun { JsonSign::Unfinished } else { JsonSign::End };
    };
    if let Some(sign) = char::from_u32(u32::from(first)) {
        return JsonSign::Is(sign, 6);
    }
    match unit(6) {
        Some(second) => match char::decode_utf16([first, second]).next() {
            Some(Ok(sign)) => JsonSign::Is(sign, 12),
            _ => JsonSign::End,
        },
        None if rest.len() < 12 => JsonSign::Unfinished,
        None => JsonSign::End,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_words_arrive_in_any_pieces(words in r#"[a-z"\\/\n\t\u{1}é😀]{0,20}"#, cut in 1usize..7) {
            let answer = serde_json::json!({"say": words, "tool": "none"}).to_string();
            let signs: Vec<char> = answer.chars().collect();
            let (mut say, mut so_far, mut heard) = (SayReader::default(), String::new(), String::new());
            for piece in signs.chunks(cut) {
                so_far.extend(piece);
                let (new, said) = say.read(&so_far);
                heard.push_str(&new);
                if said == SayProgress::Enough {
                    break;
                }
            }
            prop_assert_eq!(heard, words);
        }

        #[test]
        fn any_answer_is_survived(answer in r#"\{"say": "(\\u?|[0-9a-fé"\\]){0,20}"#) {
            SayReader::default().read(&answer);
        }
    }
}
