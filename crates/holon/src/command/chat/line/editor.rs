//! The text of a line while it is typed, without a terminal.

use unicode_width::UnicodeWidthChar;

use super::keys::TerminalKey;

/// Lines that are remembered.
const MOST_HISTORY: usize = 1000;

/// A line that is being typed, and those before it.
#[derive(Debug, Default)]
pub(in super::super) struct LineEditor {
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
pub(super) enum KeyEffect {
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

impl LineEditor {
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
    pub(super) fn press(&mut self, key: TerminalKey) -> KeyEffect {
        match key {
            TerminalKey::Enter => {
                let line: String = self.text.iter().collect();
                self.reset();
                return KeyEffect::Submit(line);
            }
            TerminalKey::BackTab => return KeyEffect::Toggle,
            TerminalKey::Clear => return KeyEffect::Clear,
            TerminalKey::Suspend => return KeyEffect::Suspend,
            TerminalKey::Interrupt if self.text.is_empty() => return KeyEffect::Interrupt,
            TerminalKey::EndOfInput if self.text.is_empty() => return KeyEffect::End,
            TerminalKey::Interrupt | TerminalKey::KillAll => self.reset(),
            TerminalKey::Char(c) => self.insert(&c.to_string()),
            TerminalKey::Break => self.insert("\n"),
            TerminalKey::Paste(text) => self.insert(&text),
            TerminalKey::Tab => self.complete(),
            TerminalKey::Backspace => {
                let start = self.left_of(self.at);
                self.cut(start, self.at);
            }
            TerminalKey::Delete | TerminalKey::EndOfInput => self.cut(self.at, self.right_of(self.at)),
            TerminalKey::KillToEnd => self.cut(self.at, self.text.len()),
            TerminalKey::KillWord => {
                let start = self.word_left();
                self.cut(start, self.at);
            }
            TerminalKey::Left => self.at = self.left_of(self.at),
            TerminalKey::Right => self.at = self.right_of(self.at),
            TerminalKey::Home => self.at = 0,
            TerminalKey::End => self.at = self.text.len(),
            TerminalKey::WordLeft => self.at = self.word_left(),
            TerminalKey::WordRight => self.at = self.word_right(),
            TerminalKey::Up if self.place > 0 => self.show(self.place - 1),
            TerminalKey::Down if self.place < self.history.len() => self.show(self.place + 1),
            TerminalKey::Up | TerminalKey::Down => {}
        }
        KeyEffect::Draw
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

    fn typed(editor: &mut LineEditor, keys: impl IntoIterator<Item = TerminalKey>) -> String {
        for key in keys {
            editor.press(key);
        }
        let (text, at) = editor.text();
        let mut shown: String = text[..at].iter().collect();
        shown.push('|');
        shown.extend(&text[at..]);
        shown
    }

    fn chars(text: &str) -> impl Iterator<Item = TerminalKey> {
        text.chars().map(TerminalKey::Char).collect::<Vec<_>>().into_iter()
    }

    #[test]
    fn text_is_edited() {
        let check = |keys: Vec<TerminalKey>, expect: &str| {
            assert_eq!(
                typed(&mut LineEditor::default(), chars("fix 好 it").chain(keys.clone())),
                expect,
                "{keys:?}"
            );
        };
        check(vec![], "fix 好 it|");
        check(vec![TerminalKey::WordLeft, TerminalKey::Left, TerminalKey::Backspace], "fix | it");
        check(vec![TerminalKey::Home, TerminalKey::Delete, TerminalKey::Right], "i|x 好 it");
        check(vec![TerminalKey::KillWord, TerminalKey::KillWord], "fix |");
        check(vec![TerminalKey::Home, TerminalKey::WordRight, TerminalKey::KillToEnd], "fix|");
        check(vec![TerminalKey::Break, TerminalKey::Char('x')], "fix 好 it\nx|");
        check(vec![TerminalKey::KillAll, TerminalKey::Paste("a\tb\x1b[2J\nc".into())], "a b[2J\nc|");
        check(vec![TerminalKey::Interrupt], "|");
    }

    #[test]
    fn a_letter_with_its_accent_is_one_step() {
        let mut editor = LineEditor::default();
        assert_eq!(typed(&mut editor, chars("ae\u{301}").chain([TerminalKey::Left])), "a|e\u{301}");
        assert_eq!(typed(&mut editor, [TerminalKey::Right, TerminalKey::Backspace]), "a|");
    }

    #[test]
    fn lines_before_come_back() {
        let mut editor = LineEditor::default();
        for line in ["one", "two", "two"] {
            editor.remember(line);
        }
        assert_eq!(typed(&mut editor, chars("new").chain([TerminalKey::Up])), "two|");
        assert_eq!(typed(&mut editor, [TerminalKey::Up, TerminalKey::Up]), "one|");
        assert_eq!(typed(&mut editor, [TerminalKey::Down, TerminalKey::Down, TerminalKey::Down]), "new|");
        assert_eq!(editor.press(TerminalKey::Enter), KeyEffect::Submit("new".into()));
    }

    #[test]
    fn tab_completes_what_is_clear() {
        let mut editor = LineEditor::completing(&["/apply", "/diff", "/quit"]);
        assert_eq!(typed(&mut editor, chars("/d").chain([TerminalKey::Tab])), "/diff|");
        assert_eq!(
            typed(&mut editor, [TerminalKey::KillAll, TerminalKey::Char('/'), TerminalKey::Tab]),
            "/|"
        );
    }

    proptest! {
        #[test]
        fn any_keys_keep_the_cursor_in_the_text(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut decoder = super::super::keys::KeyDecoder::default();
            let mut editor = LineEditor::completing(&["/apply"]);
            editor.remember("before");
            for key in bytes.into_iter().filter_map(|byte| decoder.push(byte)) {
                editor.press(key);
                prop_assert!(editor.at <= editor.text.len());
            }
        }
    }
}
