//! Decides how much of an answer can be told while the rest is still coming.
//!
//! What is told can never turn out to be part of a call: it is always a beginning of the words that
//! [`find_calls`](super::find_calls) leaves of the whole answer.

use super::find::{FENCES, TAGS, is_no_call};
use super::say_reader::{SayProgress, SayReader};

/// An answer that grows.
#[derive(Debug, Default)]
pub(super) struct GrowingReply {
    text: String,
    /// What was told.
    told: String,
    way: ReplyShape,
}

#[derive(Debug, Default)]
enum ReplyShape {
    /// Nothing but white space so far.
    #[default]
    Open,
    /// Words, perhaps with calls among them.
    Words(DecidedWords),
    /// An object with the words in it.
    Object(SayReader),
    /// What comes now must wait for the end.
    Silent,
}

impl GrowingReply {
    /// Takes a piece and gives what can be told now.
    pub(super) fn push(&mut self, piece: &str) -> Option<String> {
        self.text.push_str(piece);
        if matches!(self.way, ReplyShape::Open) {
            self.way = match self.text.trim_start().chars().next() {
                None => ReplyShape::Open,
                Some('{') => ReplyShape::Object(SayReader::default()),
                Some(_) => ReplyShape::Words(DecidedWords::default()),
            };
        }
        let new = match &mut self.way {
            ReplyShape::Open | ReplyShape::Silent => return None,
            ReplyShape::Words(words) => words.told_now(&self.text, piece),
            ReplyShape::Object(say) => {
                let (new, said) = say.read(&self.text);
                if said == SayProgress::Enough {
                    self.way = ReplyShape::Silent;
                }
                new
            }
        };
        self.told.push_str(&new);
        (!new.is_empty()).then_some(new)
    }

    /// Something other than words came in between: what follows belongs to another part, and waits.
    pub(super) fn interrupted(&mut self) {
        if self.text.trim().is_empty() {
            *self = Self::default();
        } else {
            self.way = ReplyShape::Silent;
        }
    }

    /// Everything that was told.
    pub(super) fn told(&self) -> &str {
        &self.told
    }
}

/// How far an answer in words is decided.
#[derive(Debug, Default)]
struct DecidedWords {
    /// Everything before is words, whatever follows.
    at: usize,
    /// Whether that is within a line that is known to be words.
    within: bool,
    /// Everything before was told, or was white space at the beginning.
    told: usize,
    /// Within a fenced block that is no call: where to look for its end.
    block: Option<usize>,
}

/// What stands at the place up to which an answer is decided.
enum UndecidedPart {
    /// Nobody can tell yet.
    Held,
    /// Words of this length; whether the line goes on.
    Words(usize, bool),
    /// A block that is no call: the length of its first line, and where its inside begins.
    Block(usize, usize),
}

impl DecidedWords {
    fn told_now(&mut self, text: &str, piece: &str) -> String {
        self.decide(text, piece);
        if self.told == 0 {
            self.told = text.len() - text.trim_start().len();
        }
        // White space at the very end of the words is dropped, so it waits for what comes after it.
        let end = text[..self.at].trim_end().len();
        if end <= self.told {
            return String::new();
        }
        let new = text[self.told..end].to_owned();
        self.told = end;
        new
    }

    fn decide(&mut self, text: &str, piece: &str) {
        loop {
            if let Some(from) = self.block {
                if let Some(end) = fence_after(text, from) {
                    // Closed, so nothing inside is a call, whatever it looks like.
                    (self.at, self.within, self.block) = (end.max(self.at), false, None);
                    continue;
                }
                self.block = Some(from.max(text.len().saturating_sub(3)));
            }
            match next(&text[self.at..], self.within, piece) {
                UndecidedPart::Held => return,
                UndecidedPart::Words(length, within) => {
                    self.at += length;
                    self.within = within;
                }
                UndecidedPart::Block(length, inside) => {
                    self.block = Some(self.at + inside);
                    self.at += length;
                    self.within = false;
                }
            }
        }
    }
}

fn next(rest: &str, within: bool, piece: &str) -> UndecidedPart {
    if rest.is_empty() || TAGS.iter().any(|(open, _)| rest.starts_with(open)) {
        return UndecidedPart::Held;
    }
    let (line, complete) = match rest.find('\n') {
        Some(end) => (&rest[..=end], true),
        None => (rest, false),
    };
    if !within {
        let here = line.trim_start_matches([' ', '\t']);
        if here.is_empty() || here.starts_with(['{', '[']) {
            return UndecidedPart::Held;
        }
        if let Some(label) = here.strip_prefix("```") {
            return fence(rest, line, label, complete, piece);
        }
        if "```".starts_with(here) {
            return UndecidedPart::Held;
        }
    }
    let tag = TAGS.iter().filter_map(|(open, _)| line.find(open)).min();
    let length = tag.unwrap_or_else(|| line.len() - begun_tag(line));
    match length {
        0 => UndecidedPart::Held,
        length => UndecidedPart::Words(length, !(complete && length == line.len())),
    }
}

/// A fenced block: a call unless its label, its first sign or the whole of it says otherwise.
fn fence(rest: &str, line: &str, label: &str, complete: bool, piece: &str) -> UndecidedPart {
    if !complete || TAGS.iter().any(|(open, _)| label.contains(open)) {
        return UndecidedPart::Held;
    }
    let block = UndecidedPart::Block(line.len(), line.len() - label.len());
    if !FENCES.contains(&label.trim()) {
        return block;
    }
    let body = &rest[line.len()..];
    let first = body.trim_start_matches(|c: char| c.is_whitespace() || c == ',').chars().next();
    match first {
        None => UndecidedPart::Held,
        // Only worth a look when the block may just have been closed.
        Some('{' | '[') if piece.contains('`') && body.contains("\n```") && is_no_call(body) => block,
        Some('{' | '[') => UndecidedPart::Held,
        Some(_) => block,
    }
}

/// Bytes at the end of a line that may be the beginning of a tag.
fn begun_tag(line: &str) -> usize {
    let Some(at) = line.rfind('<') else { return 0 };
    let end = &line[at..];
    if TAGS.iter().any(|(open, _)| open.starts_with(end)) { end.len() } else { 0 }
}

/// Where the fence that closes a block ends.
fn fence_after(text: &str, from: usize) -> Option<usize> {
    let found = text.as_bytes()[from..].windows(4).position(|four| four == b"\n```")?;
    Some(from + found + 4)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fallback::find_calls;

    /// What is told of an answer that stops here, with `|` between the pieces it came in.
    fn told(answer: &str) -> String {
        let mut aloud = GrowingReply::default();
        let said: Vec<String> = answer.split('|').filter_map(|piece| aloud.push(piece)).collect();
        assert_eq!(said.concat(), aloud.told());
        said.join("|")
    }

    #[test]
    fn words_are_told_as_they_come_and_what_may_be_a_call_is_not() {
        for (answer, expect) in [
            ("Let |me |see", "Let| me| see"),
            ("\n\n Hello| \n", "Hello"),
            ("a\n\n|b", "a|\n\nb"),
            ("I look.\n|`|``|json\n|{\"tool\": \"ls\"}\n```\nthen", "I look."),
            ("I look.\n<|tool_call|>{}", "I look."),
            ("a <b| and a <| c", "a <b| and a| < c"),
            ("Sure: <tool_call>{", "Sure:"),
            ("so\n|{\"tool\"", "so"),
            ("so\n| [1", "so"),
            // Code is no call, whatever is in it once its block is closed.
            (
                "See:\n```rust\n|fn a() |{\n|{\"tool\"|: 1}\n|```\nand",
                "See:\n```rust|\nfn a()| {|\n{\"tool\": 1}\n```\nand",
            ),
            ("```\n|$ ls| -l\n", "```\n$ ls| -l"),
            ("```json\n{\"a\": 1}\n|```\nfine", "```json\n{\"a\": 1}\n```\nfine"),
            ("`code` is| fine", "`code` is| fine"),
            ("``| not a fence", "`` not a fence"),
        ] {
            assert_eq!(told(answer), expect, "{answer}");
        }
    }

    #[test]
    fn the_words_in_an_object_are_told_as_they_come() {
        for (answer, expect) in [
            (
                "{\"say\"|: \"Loo|king \\|\"at\\\" \\u00|e9\\n|it\", \"tool\": \"ls\"",
                "Loo|king |\"at\" |é\n|it",
            ),
            ("{ \"say\" : \"\\ud83d|\\ude00!\"", "😀!"),
            ("{\"tool\": \"ls\", \"say\": \"x\"", ""),
            ("{\"say\": 5", ""),
            ("{\"say\": \"a\\q", "a"),
            ("{\"say\": \"a\"|, \"say\": \"b\"", "a"),
        ] {
            assert_eq!(told(answer), expect, "{answer}");
        }
    }

    proptest! {
        /// Whatever an answer becomes, what was told of it stays the beginning of its words.
        #[test]
        fn what_is_told_stays_true(
            pieces in prop::collection::vec(
                r#"(<tool_call>|</tool_call>|<|```json\n|```rust\n|```\n|\n```|`|\{"tool": "ls"\}|\{"tool": "ls"|\{"a": 1\}|[{}\[\]:,'"a \n\té]){0,3}"#,
                0..14,
            )
        ) {
            let mut aloud = GrowingReply::default();
            pieces.iter().for_each(|piece| drop(aloud.push(piece)));
            let text = pieces.concat();
            if !text.trim_start().starts_with('{') {
                let words = find_calls(&text, &|name, _, _| name == "ls").text;
                prop_assert!(words.starts_with(aloud.told()), "{text:?}: told {:?} of {words:?}", aloud.told());
            }
        }

        /// Without anything that looks like a call nothing is held back but white space and a begun sign.
        #[test]
        fn plain_words_are_not_held(text in "[a-z.,é]([a-z.,é \n]{0,30}[a-z])?", cut in 1usize..9) {
            let mut aloud = GrowingReply::default();
            let signs: Vec<char> = text.chars().collect();
            for piece in signs.chunks(cut) {
                aloud.push(&piece.iter().collect::<String>());
            }
            prop_assert_eq!(aloud.told(), text);
        }
    }
}
