//! Thoughts that a server leaves in the words of an answer, between tags, as local ones do.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// What a piece of an answer turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ThinkingPiece {
    Thoughts(String),
    Words(String),
}

/// Tells thoughts at the beginning of an answer from its words, in whatever pieces it comes.
///
/// Thoughts are not kept in a conversation as words, and a call that is only thought about is none.
#[derive(Debug, Default)]
pub(super) struct ThinkingSplitter {
    place: ThinkingPosition,
    /// What may still be part of a tag.
    held: String,
}

#[derive(Debug, Default)]
enum ThinkingPosition {
    /// Nothing but white space so far.
    #[default]
    Begin,
    /// Between the tags.
    Inside,
    /// Behind the second tag, before the first word.
    Behind,
    /// Among the words.
    Words,
}

impl ThinkingSplitter {
    /// Takes a piece of the answer.
    pub(super) fn push(&mut self, text: &str) -> Vec<ThinkingPiece> {
        self.held.push_str(text);
        let mut pieces = Vec::new();
        loop {
            match self.place {
                ThinkingPosition::Begin => {
                    let begun = self.held.trim_start();
                    if let Some(rest) = begun.strip_prefix(OPEN) {
                        (self.place, self.held) = (ThinkingPosition::Inside, rest.to_owned());
                    } else if OPEN.starts_with(begun) {
                        return pieces;
                    } else {
                        self.place = ThinkingPosition::Words;
                    }
                }
                ThinkingPosition::Inside => {
                    let Some((thoughts, rest)) = self.held.split_once(CLOSE) else {
                        let rest = self.held.split_off(self.held.len() - begun(&self.held));
                        let thoughts = std::mem::replace(&mut self.held, rest);
                        pieces.extend((!thoughts.is_empty()).then_some(ThinkingPiece::Thoughts(thoughts)));
                        return pieces;
                    };
                    pieces
                        .extend((!thoughts.is_empty()).then(|| ThinkingPiece::Thoughts(thoughts.to_owned())));
                    (self.place, self.held) = (ThinkingPosition::Behind, rest.to_owned());
                }
                ThinkingPosition::Behind => {
                    self.held = self.held.trim_start().to_owned();
                    if self.held.is_empty() {
                        return pieces;
                    }
                    self.place = ThinkingPosition::Words;
                }
                ThinkingPosition::Words => {
                    pieces.extend(self.rest());
                    return pieces;
                }
            }
        }
    }

    /// What was held back, when nothing follows.
    pub(super) fn rest(&mut self) -> Option<ThinkingPiece> {
        let held = std::mem::take(&mut self.held);
        if held.is_empty() {
            return None;
        }
        Some(if matches!(self.place, ThinkingPosition::Inside) {
            ThinkingPiece::Thoughts(held)
        } else {
            ThinkingPiece::Words(held)
        })
    }
}

/// Bytes at the end that may be the beginning of the second tag.
fn begun(text: &str) -> usize {
    let Some(at) = text.rfind('<') else { return 0 };
    if CLOSE.starts_with(&text[at..]) { text.len() - at } else { 0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Thoughts and words of an answer that comes in pieces of so many signs.
    fn told(answer: &str, cut: usize) -> (String, String) {
        let (mut thinking, mut thoughts, mut words) =
            (ThinkingSplitter::default(), String::new(), String::new());
        let signs: Vec<char> = answer.chars().collect();
        let mut pieces: Vec<ThinkingPiece> =
            signs.chunks(cut).flat_map(|piece| thinking.push(&piece.iter().collect::<String>())).collect();
        pieces.extend(thinking.rest());
        for piece in pieces {
            match piece {
                ThinkingPiece::Thoughts(text) => thoughts += &text,
                ThinkingPiece::Words(text) => words += &text,
            }
        }
        (thoughts, words)
    }

    #[test]
    fn thoughts_are_what_is_between_the_tags_at_the_beginning() {
        for (answer, thoughts, words) in [
            ("\n<think>\nhm < 3\n</think>\n\nYes.", "\nhm < 3\n", "Yes."),
            ("<think></think>Yes.", "", "Yes."),
            ("<think>never ends </thin", "never ends </thin", ""),
            ("Say <think>x</think>", "", "Say <think>x</think>"),
            ("<thin air>", "", "<thin air>"),
            (" \n plain", "", " \n plain"),
            ("<think>a</think>b <think>c</think>", "a", "b <think>c</think>"),
            ("\n", "", "\n"),
        ] {
            for cut in [1, 2, 3, 100] {
                assert_eq!(told(answer, cut), (thoughts.to_owned(), words.to_owned()), "{answer} by {cut}");
            }
        }
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(answer in "[ \n]{0,2}(<think>)?(<|</|</think|</think>|[a-z\né <>/]){0,20}", cut in 1usize..9) {
            prop_assert_eq!(told(&answer, cut), told(&answer, usize::MAX));
        }
    }
}
