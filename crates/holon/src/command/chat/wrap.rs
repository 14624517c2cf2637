//! Breaks lines between words, where a terminal would break them anywhere; what follows a mark of a list stays beside it.

use unicode_width::UnicodeWidthChar;

/// Breaks a text that comes in pieces; the word that is not complete is held back.
#[derive(Debug, Default)]
pub(super) struct WordWrap {
    /// Columns of the terminal; nothing is broken without.
    columns: Option<usize>,
    column: usize,
    /// Where the rows after the first of a line begin.
    hang: usize,
    /// Whether nothing but marks was seen on this line.
    marks: bool,
    gap: String,
    word: String,
    /// Whether the text is shown as it is, as code is.
    plain: bool,
    /// Whether a sequence for colour is being taken.
    escape: bool,
    out: String,
}

impl WordWrap {
    pub(super) fn new(columns: Option<usize>) -> Self {
        Self { columns: columns.map(usable), marks: true, ..Self::default() }
    }

    /// From here on rows are so long; a text that is not broken stays so.
    pub(super) fn set_columns(&mut self, columns: usize) {
        self.columns = self.columns.map(|_| usable(columns));
    }

    /// A whole text, broken.
    pub(super) fn whole(text: &str, columns: Option<usize>) -> String {
        let mut wrap = Self::new(columns);
        wrap.push_str(text);
        wrap.flush();
        wrap.take()
    }

    pub(super) fn push_str(&mut self, text: &str) {
        text.chars().for_each(|c| self.push(c));
    }

    pub(super) fn push(&mut self, c: char) {
        let Some(columns) = self.columns else {
            self.out.push(c);
            return;
        };
        if self.escape || c == '\x1b' {
            self.escape = c != 'm';
            self.word.push(c);
            return;
        }
        match c {
            '\n' => {
                self.flush();
                self.out.push('\n');
                (self.column, self.hang, self.marks) = (0, 0, true);
            }
            _ if self.plain => {
                self.flush();
                self.out.push(c);
            }
            ' ' | '\t' => {
                self.place(columns);
                self.gap.push(' ');
            }
            _ => {
                self.word.push(c);
                // Scripts without spaces can be broken anywhere, and so must be what fits no row.
                if c.width() == Some(2) || width(&self.word) >= columns.saturating_sub(self.hang) {
                    self.place(columns);
                }
            }
        }
    }

    /// Text that is shown as it is, until the end of this.
    pub(super) fn set_plain(&mut self, plain: bool) {
        self.plain = plain;
    }

    /// Puts the word down: on this row if it fits, else on the next.
    fn place(&mut self, columns: usize) {
        let wide = width(&self.word);
        if wide == 0 {
            return;
        }
        let begins = self.column == 0;
        if self.column + self.gap.len() + wide <= columns || begins && self.gap.len() < columns / 2 {
            self.out.push_str(&self.gap);
            self.column += self.gap.len();
        } else {
            // Marks before the break would otherwise take the rest of a narrow row.
            self.hang = if self.hang < columns / 2 { self.hang } else { 0 };
            self.out.push('\n');
            self.out.push_str(&" ".repeat(self.hang));
            self.column = self.hang;
        }
        if begins {
            self.hang = self.column;
        }
        self.out.push_str(&self.word);
        self.column += wide;
        self.marks = self.marks && is_mark(&self.word);
        if self.marks {
            self.hang = self.column + 1;
        }
        self.gap.clear();
        self.word.clear();
    }

    /// Shows what was held back.
    pub(super) fn flush(&mut self) {
        if let Some(columns) = self.columns {
            self.place(columns);
        }
        // Nothing but spaces, or the end of a colour.
        let (gap, word) = (std::mem::take(&mut self.gap), std::mem::take(&mut self.word));
        self.column += gap.len();
        self.out.push_str(&gap);
        self.out.push_str(&word);
    }

    /// What can be shown.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }
}

/// The last column stays free: terminals differ in what they do there.
fn usable(columns: usize) -> usize {
    columns.saturating_sub(1).max(10)
}

/// What begins an entry of a list, or a question.
fn is_mark(word: &str) -> bool {
    let word = bare(word);
    let digits = word.trim_end_matches(['.', ')']);
    let numbered =
        !digits.is_empty() && digits.len() < word.len() && digits.chars().all(|c| c.is_ascii_digit());
    numbered || matches!(word.as_str(), "-" | ">" | "?" | "✓" | "✗" | "⊘")
}

/// Columns of a text, sequences for colour apart.
pub(super) fn width(text: &str) -> usize {
    bare(text).chars().map(|c| c.width().unwrap_or(0)).sum()
}

fn bare(text: &str) -> String {
    let mut escape = false;
    let keep = |c: &char| {
        let was = escape;
        escape = if was { *c != 'm' } else { *c == '\x1b' };
        !was && *c != '\x1b'
    };
    text.chars().filter(keep).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_break_between_words() {
        let check =
            |text: &str, expect: &str| assert_eq!(WordWrap::whole(text, Some(21)), expect, "{text:?}");
        check("short", "short");
        check("some words that do not fit a row", "some words that do\nnot fit a row");
        check("- an entry of a list that goes on", "- an entry of a list\n  that goes on");
        check("  12. a numbered one that goes on", "  12. a numbered one\n      that goes on");
        check("> quoted words that go on", "> quoted words that\n  go on");
        check("a\n\nb c\n", "a\n\nb c\n");
        check("中文没有空格也要能够换行才行", "中文没有空格也要能够\n换行才行");
        check(&"x".repeat(45), &format!("{0}\n{0}\nxxxxx", "x".repeat(20)));
        check("\x1b[1msome words\x1b[0m that do not fit", "\x1b[1msome words\x1b[0m that do\nnot fit");
        check("trailing  ", "trailing  ");
    }

    #[test]
    fn code_stays_as_it_is() {
        let mut wrap = WordWrap::new(Some(21));
        wrap.push_str("see\n");
        wrap.set_plain(true);
        let code = "    let a_long_line = of(code, that, goes, on);\n";
        wrap.push_str(code);
        wrap.set_plain(false);
        wrap.flush();
        assert_eq!(wrap.take(), format!("see\n{code}"));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_no_row_is_too_long(text in "[a-c .\\-\n好]{0,120}", columns in 12_usize..40, piece in 1_usize..9) {
            let mut wrap = WordWrap::new(Some(columns));
            let chars: Vec<char> = text.chars().collect();
            let mut out = String::new();
            for part in chars.chunks(piece) {
                wrap.push_str(&part.iter().collect::<String>());
                out.push_str(&wrap.take());
            }
            wrap.flush();
            out.push_str(&wrap.take());
            prop_assert_eq!(&out, &WordWrap::whole(&text, Some(columns)));
            let words = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(words(&out), words(&text));
            // Spaces at the end of a line may stand beyond its end, where nobody sees them.
            prop_assert!(out.lines().all(|row| width(row.trim_end()) <= columns), "{:?}", out);
        }
    }
}
