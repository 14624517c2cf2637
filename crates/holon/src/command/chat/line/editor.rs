//! The text of a line while it is typed, without a terminal.

use unicode_width::UnicodeWidthChar;

use super::keys::Key;

/// Lines that are remembered.
const MOST_HISTORY: usize = 1000;

/// A line that is being typed, and those before it.
#[derive(Debug, Default)]
pub(in super::super) struct Editor {
    text: Vec<char>,
    at: usize,
    history: Vec<String>,
    /// The remembered line that is shown; past the last one it is the new line.
    place: usize,
    /// The new line while another one is shown.
    draft: String,
    /// Words that Tab completes.
    words: &'static [&'static str],
}

/// What a key means beyond the text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing but perhaps a changed text.
    Draw,
    /// The line is complete.
    Submit(String),
    /// Shift+Tab.
    Toggle,
    /// Ctrl-C with nothing typed.
    Interrupt,
    /// Ctrl-D with nothing typed.
    End,
    /// Ctrl-Z.
    Suspend,
    /// Ctrl-L.
    Clear,
}

impl Editor {
    /// An empty line; Tab completes these words at its beginning.
    pub(in super::super) fn completing(words: &'static [&'static str]) -> Self {
        Self { words, ..Self::default() }
    }

    /// Remembers a line, so that the arrows find it.
    pub(in super::super) fn remember(&mut self, line: &str) {
        if !line.trim().is_empty() && self.history.last().is_none_or(|last| last != line) {
            self.history.push(line.to_owned());
        }
        if self.history.len() > MOST_HISTORY {
            self.history.remove(0);
        }
        self.place = self.history.len();
    }

    /// The characters, and the place of the cursor among them.
    pub(super) fn text(&self) -> (&[char], usize) {
        (&self.text, self.at)
    }

    /// Empties the line.
    pub(super) fn reset(&mut self) {
        self.text.clear();
        self.at = 0;
        self.place = self.history.len();
        self.draft.clear();
    }

    /// Takes a key.
    pub(super) fn press(&mut self, key: Key) -> Effect {
        match key {
            Key::Enter => {
                let line: String = self.text.iter().collect();
                self.reset();
                return Effect::Submit(line);
            }
            Key::BackTab => return Effect::Toggle,
            Key::Clear => return Effect::Clear,
            Key::Suspend => return Effect::Suspend,
            Key::Interrupt if self.text.is_empty() => return Effect::Interrupt,
            Key::EndOfInput if self.text.is_empty() => return Effect::End,
            Key::Interrupt | Key::KillAll => self.reset(),
            Key::Char(c) => self.insert(&c.to_string()),
            Key::Break => self.insert("\n"),
            Key::Paste(text) => self.insert(&text),
            Key::Tab => self.complete(),
            Key::Backspace => {
                let start = self.left_of(self.at);
                self.cut(start, self.at);
            }
            Key::Delete | Key::EndOfInput => self.cut(self.at, self.right_of(self.at)),
            Key::KillToEnd => self.cut(self.at, self.text.len()),
            Key::KillWord => {
                let start = self.word_left();
                self.cut(start, self.at);
            }
            Key::Left => self.at = self.left_of(self.at),
            Key::Right => self.at = self.right_of(self.at),
            Key::Home => self.at = 0,
            Key::End => self.at = self.text.len(),
            Key::WordLeft => self.at = self.word_left(),
            Key::WordRight => self.at = self.word_right(),
            Key::Up if self.place > 0 => self.show(self.place - 1),
            Key::Down if self.place < self.history.len() => self.show(self.place + 1),
            Key::Up | Key::Down => {}
        }
        Effect::Draw
    }

    /// Control characters have no place in a message, but line breaks do.
    fn insert(&mut self, text: &str) {
        let clean = text.chars().map(|c| if c == '\t' { ' ' } else { c });
        let new: Vec<char> = clean.filter(|c| *c == '\n' || !c.is_control()).collect();
        let length = new.len();
        self.text.splice(self.at..self.at, new);
        self.at += length;
    }

    fn cut(&mut self, from: usize, to: usize) {
        self.text.drain(from..to);
        self.at = from;
    }

    /// The place before a character and what belongs to it.
    fn left_of(&self, at: usize) -> usize {
        let joined = |at: &usize| self.text.get(*at).is_some_and(|c| c.width() == Some(0));
        (0..at).rev().find(|at| !joined(at)).unwrap_or(0)
    }

    fn right_of(&self, at: usize) -> usize {
        let next = (at + 1).min(self.text.len());
        let stands = |c: &char| c.width() != Some(0);
        self.text[next..].iter().position(stands).map_or(self.text.len(), |more| next + more)
    }

    fn word_left(&self) -> usize {
        let before = &self.text[..self.at];
        let word = before.iter().rposition(|c| c.is_alphanumeric()).map_or(0, |last| last + 1);
        before[..word].iter().rposition(|c| !c.is_alphanumeric()).map_or(0, |space| space + 1)
    }

    fn word_right(&self) -> usize {
        let after = &self.text[self.at..];
        let word = after.iter().position(|c| c.is_alphanumeric()).unwrap_or(after.len());
        let end = after[word..].iter().position(|c| !c.is_alphanumeric()).unwrap_or(after.len() - word);
        self.at + word + end
    }

    fn show(&mut self, place: usize) {
        if self.place == self.history.len() {
            self.draft = self.text.iter().collect();
        }
        let line = self.history.get(place).unwrap_or(&self.draft);
        self.text = line.chars().collect();
        self.at = self.text.len();
        self.place = place;
    }

    /// The rest of the word, as far as only one is meant.
    fn complete(&mut self) {
        let typed: String = self.text[..self.at].iter().collect();
        let mut fitting = self.words.iter().filter(|word| word.starts_with(&typed));
        if let (false, Some(word), None) = (typed.is_empty(), fitting.next(), fitting.next()) {
            let rest = word[typed.len()..].to_owned();
            self.insert(&rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn typed(editor: &mut Editor, keys: impl IntoIterator<Item = Key>) -> String {
        for key in keys {
            editor.press(key);
        }
        let (text, at) = editor.text();
        let mut shown: String = text[..at].iter().collect();
        shown.push('|');
        shown.extend(&text[at..]);
        shown
    }

    fn chars(text: &str) -> impl Iterator<Item = Key> {
        text.chars().map(Key::Char).collect::<Vec<_>>().into_iter()
    }

    #[test]
    fn text_is_edited() {
        let check = |keys: Vec<Key>, expect: &str| {
            assert_eq!(
                typed(&mut Editor::default(), chars("fix 好 it").chain(keys.clone())),
                expect,
                "{keys:?}"
            );
        };
        check(vec![], "fix 好 it|");
        check(vec![Key::WordLeft, Key::Left, Key::Backspace], "fix | it");
        check(vec![Key::Home, Key::Delete, Key::Right], "i|x 好 it");
        check(vec![Key::KillWord, Key::KillWord], "fix |");
        check(vec![Key::Home, Key::WordRight, Key::KillToEnd], "fix|");
        check(vec![Key::Break, Key::Char('x')], "fix 好 it\nx|");
        check(vec![Key::KillAll, Key::Paste("a\tb\x1b[2J\nc".into())], "a b[2J\nc|");
        check(vec![Key::Interrupt], "|");
    }

    #[test]
    fn a_letter_with_its_accent_is_one_step() {
        let mut editor = Editor::default();
        assert_eq!(typed(&mut editor, chars("ae\u{301}").chain([Key::Left])), "a|e\u{301}");
        assert_eq!(typed(&mut editor, [Key::Right, Key::Backspace]), "a|");
    }

    #[test]
    fn lines_before_come_back() {
        let mut editor = Editor::default();
        for line in ["one", "two", "two"] {
            editor.remember(line);
        }
        assert_eq!(typed(&mut editor, chars("new").chain([Key::Up])), "two|");
        assert_eq!(typed(&mut editor, [Key::Up, Key::Up]), "one|");
        assert_eq!(typed(&mut editor, [Key::Down, Key::Down, Key::Down]), "new|");
        assert_eq!(editor.press(Key::Enter), Effect::Submit("new".into()));
    }

    #[test]
    fn tab_completes_what_is_clear() {
        let mut editor = Editor::completing(&["/apply", "/diff", "/quit"]);
        assert_eq!(typed(&mut editor, chars("/d").chain([Key::Tab])), "/diff|");
        assert_eq!(typed(&mut editor, [Key::KillAll, Key::Char('/'), Key::Tab]), "/|");
    }

    proptest! {
        #[test]
        fn any_keys_keep_the_cursor_in_the_text(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut decoder = super::super::keys::Decoder::default();
            let mut editor = Editor::completing(&["/apply"]);
            editor.remember("before");
            for key in bytes.into_iter().filter_map(|byte| decoder.push(byte)) {
                editor.press(key);
                prop_assert!(editor.at <= editor.text.len());
            }
        }
    }
}
