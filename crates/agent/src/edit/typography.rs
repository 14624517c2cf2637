//! Typographic characters and the plain ones models write for them, or the reverse.

/// A character as it is compared, and as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FoldedChar {
    /// The plain form.
    pub(super) plain: char,
    /// What stood there.
    pub(super) written: char,
    /// Where it stood, in bytes.
    pub(super) at: usize,
}

/// The characters of a text in their plain forms.
pub(super) fn fold(text: &str) -> impl Iterator<Item = FoldedChar> + '_ {
    text.char_indices()
        .flat_map(|(at, written)| plain(written).chars().map(move |plain| FoldedChar { plain, written, at }))
}

/// The plain form of a whole text.
pub(super) fn folded(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut folded, c| {
        plain(c).push_to(&mut folded);
        folded
    })
}

/// What a typographic character stands for; others stand for themselves.
fn plain(c: char) -> PlainSpelling {
    match c {
        '\u{2018}'..='\u{201B}' | '\u{2032}' => PlainSpelling::One('\''),
        '\u{201C}'..='\u{201F}' | '\u{2033}' => PlainSpelling::One('"'),
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{FE63}' | '\u{FF0D}' => PlainSpelling::One('-'),
        '\u{00A0}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => {
            PlainSpelling::One(' ')
        }
        '\u{2026}' => PlainSpelling::Dots,
        '\u{200B}'..='\u{200D}' | '\u{2060}' | '\u{FEFF}' | '\u{00AD}' => PlainSpelling::Nothing,
        other => PlainSpelling::One(other),
    }
}

enum PlainSpelling {
    Nothing,
    One(char),
    Dots,
}

impl PlainSpelling {
    fn chars(&self) -> impl Iterator<Item = char> + use<> {
        let (c, count) = match self {
            Self::Nothing => (' ', 0),
            Self::One(c) => (*c, 1),
            Self::Dots => ('.', 3),
        };
        std::iter::repeat_n(c, count)
    }

    fn push_to(&self, text: &mut String) {
        text.extend(self.chars());
    }
}

/// How characters in a model's text are to be written so that they look as they do in the file.
///
/// Only typographic characters are exchanged: a model that writes plain ones means plain ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TypographicSpelling(Vec<(char, char)>);

impl TypographicSpelling {
    /// Learns from a passage of the file and the model's version of it, which are the same in plain form.
    pub(super) fn learn(&mut self, file: &str, model: &str) {
        if model.is_ascii() {
            return;
        }
        for (there, here) in fold(file).zip(fold(model)) {
            let new = !here.written.is_ascii() && there.written != here.written;
            // An ellipsis for three dots has no single character to be written as.
            if new && !matches!(plain(here.written), PlainSpelling::Dots) && self.of(here.written).is_none() {
                self.0.push((here.written, there.written));
            }
        }
    }

    fn of(&self, c: char) -> Option<char> {
        self.0.iter().find(|(model, _)| *model == c).map(|(_, file)| *file)
    }

    /// A model's text in the file's spelling.
    pub(super) fn apply(&self, text: &str) -> String {
        if self.0.is_empty() {
            return text.to_owned();
        }
        text.chars().map(|c| self.of(c).unwrap_or(c)).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn typographic_characters_have_plain_forms() {
        for (text, expect) in [
            ("“a”", "\"a\""),
            ("don’t", "don't"),
            ("a\u{a0}– b…", "a - b..."),
            ("a\u{200b}b", "ab"),
            ("é √", "é √"),
        ] {
            assert_eq!(folded(text), expect, "{text}");
            assert_eq!(fold(text).map(|c| c.plain).collect::<String>(), expect, "{text}");
        }
    }

    #[test]
    fn spelling_goes_from_typographic_to_the_file_only() {
        let mut spelling = TypographicSpelling::default();
        spelling.learn("say \"a\"", "say “a”");
        assert_eq!(spelling.apply("say “b”, ‘c’"), "say \"b\", ‘c’");
        let mut spelling = TypographicSpelling::default();
        spelling.learn("say “a”", "say \"a\"");
        assert_eq!(spelling.apply("say \"b\""), "say \"b\"");
    }
}
