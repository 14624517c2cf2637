//! Markdown as it comes in pieces, for a terminal: set apart where colour is wanted, else as it was written.
//!
//! Nothing is held back but what the next characters decide: the beginning of a line, a run of marks, and at a person's
//! terminal the word that may not fit, and tables.

use super::table;
use super::wrap::WordWrap;
use crate::terminal::{TerminalStream, visible};

/// The longest beginning of a line that is held back.
const MOST_HELD: usize = 200;
/// The longest row of a table that is held back, and how many there are at most.
const MOST_ROW: usize = 2000;
const MOST_ROWS: usize = 200;

/// Renders a text that comes in pieces.
#[derive(Debug)]
pub(super) struct MarkdownRenderer {
    colour: bool,
    /// The mark that closes a block of code.
    fence: Option<(char, usize)>,
    /// The beginning of a line, as long as it can be a mark; nothing once it is decided.
    start: Option<String>,
    /// A run of marks whose meaning the next character decides.
    run: String,
    heading: bool,
    bold: bool,
    /// Marks that opened a span of code.
    code: Option<usize>,
    before: char,
    /// Columns of a person's terminal.
    columns: Option<usize>,
    /// Rows of a table that may go on.
    table: Vec<String>,
    out: WordWrap,
}

impl MarkdownRenderer {
    /// From here on rows are so long, unless they are not broken at all.
    pub(super) fn set_columns(&mut self, columns: usize) {
        self.columns = self.columns.map(|_| columns);
        self.out.set_columns(columns);
    }

    /// Text for a stream; lines are broken between words where the columns are told.
    pub(super) fn new(stream: TerminalStream, columns: Option<usize>) -> Self {
        Self {
            colour: stream.colour,
            fence: None,
            start: Some(String::new()),
            run: String::new(),
            heading: false,
            bold: false,
            code: None,
            before: '\n',
            columns,
            table: Vec::new(),
            out: WordWrap::new(columns),
        }
    }

    /// The next piece, as far as it can be shown.
    pub(super) fn push(&mut self, text: &str) -> String {
        for c in visible(&text.replace("\r\n", "\n")).chars() {
            self.take(c);
        }
        self.out.take()
    }

    /// Whatever was held back, and the end of the line if one is open.
    pub(super) fn finish(&mut self) -> String {
        let held = self.start.as_ref().is_some_and(|start| !start.is_empty());
        if held || self.start.is_none() {
            self.take('\n');
        }
        self.end_table();
        self.out.flush();
        let out = self.out.take();
        *self = Self::new(TerminalStream { tty: true, colour: self.colour }, self.columns);
        out
    }

    fn take(&mut self, c: char) {
        let Some(start) = &mut self.start else {
            if c == '\n' {
                self.end_line()
            } else {
                self.inline(c)
            }
            return;
        };
        if c == '\n' {
            let line = std::mem::take(start);
            if self.is_row(&line) && self.table.len() < MOST_ROWS {
                self.table.push(line);
                self.start = Some(String::new());
                return;
            }
            self.end_table();
            if !self.is_fence(&line) {
                self.begin_line(&line);
                self.end_line();
            }
            return;
        }
        start.push(c);
        if self.fence.is_some() { self.decide_code() } else { self.decide() }
    }

    /// Whether a line is kept until its table is whole.
    fn is_row(&self, line: &str) -> bool {
        self.columns.is_some() && self.fence.is_none() && line.trim_start_matches(' ').starts_with('|')
    }

    /// Shows the table there is: its columns below one another if they fit, else as it was written.
    fn end_table(&mut self) {
        let lines = std::mem::take(&mut self.table);
        if lines.is_empty() {
            return;
        }
        let aligned = table::aligned(&lines, self.columns.unwrap_or(0));
        // Rows are not broken: the terminal does that better than we could.
        self.out.set_plain(true);
        for (at, line) in aligned.as_ref().unwrap_or(&lines).iter().enumerate() {
            let head = at == 0 && aligned.is_some();
            if head {
                self.paint("1");
            }
            self.out.push_str(line);
            if head {
                self.paint("0");
            }
            self.out.push('\n');
        }
        self.out.set_plain(false);
    }

    /// Whether a line opens or closes a block of code; then it is not shown itself.
    fn is_fence(&mut self, line: &str) -> bool {
        let text = line.trim_start_matches(' ');
        let Some(mark) = text.chars().next().filter(|c| matches!(c, '`' | '~')) else { return false };
        let length = text.chars().take_while(|c| *c == mark).count();
        let rest = text[length..].trim();
        match self.fence {
            Some((open, least)) if open == mark && length >= least && rest.is_empty() => self.fence = None,
            None if length >= 3 && !(mark == '`' && rest.contains('`')) => self.fence = Some((mark, length)),
            _ => return false,
        }
        self.start = Some(String::new());
        true
    }

    /// Inside a block of code: everything but its end is code.
    fn decide_code(&mut self) {
        let Some((mark, _)) = self.fence else { return };
        let Some(start) = &self.start else { return };
        if start.trim_start_matches(' ').chars().all(|c| c == mark) && start.len() < MOST_HELD {
            return;
        }
        let line = start.clone();
        self.begin_line(&line);
    }

    fn decide(&mut self) {
        let Some(start) = &self.start else { return };
        if self.is_row(start) && start.len() < MOST_ROW {
            return;
        }
        let text = start.trim_start_matches(' ');
        let digits = text.chars().take_while(char::is_ascii_digit).count();
        let open = match text.chars().next() {
            None => true,
            Some(mark @ ('`' | '~')) => {
                let length = text.chars().take_while(|c| *c == mark).count();
                length == text.len() || (length >= 3 && !(mark == '`' && text[length..].contains('`')))
            }
            Some('#') => text.len() <= 6 && text.chars().all(|c| c == '#'),
            Some('-' | '*' | '+') => text.len() == 1,
            Some(c) if c.is_ascii_digit() => {
                digits <= 9 && (digits == text.len() || matches!(&text[digits..], "." | ")"))
            }
            Some(_) => false,
        };
        if open && start.len() < MOST_HELD {
            return;
        }
        let line = start.clone();
        self.begin_line(&line);
    }

    /// Shows the beginning of a line, which is decided.
    fn begin_line(&mut self, line: &str) {
        self.end_table();
        self.start = None;
        self.out.set_plain(self.fence.is_some());
        if self.fence.is_some() {
            if !line.is_empty() {
                self.out.push_str("    ");
                self.paint("36");
                self.out.push_str(line);
            }
            return;
        }
        let text = line.trim_start_matches(' ');
        let indent = &line[..line.len() - text.len()];
        let hashes = text.chars().take_while(|c| *c == '#').count();
        if (1..=6).contains(&hashes) && text[hashes..].starts_with(' ') {
            self.heading = true;
            if self.colour {
                self.restyle();
                text[hashes..].trim_start().chars().for_each(|c| self.inline(c));
                return;
            }
        }
        if let Some(rest) = ["- ", "* ", "+ "].iter().find_map(|mark| text.strip_prefix(mark)) {
            self.out.push_str(indent);
            self.out.push_str("- ");
            self.before = ' ';
            rest.chars().for_each(|c| self.inline(c));
            return;
        }
        line.chars().for_each(|c| self.inline(c));
    }

    fn end_line(&mut self) {
        self.resolve('\n');
        let styled = self.heading || self.bold || self.code.is_some() || self.fence.is_some();
        (self.heading, self.bold, self.code) = (false, false, None);
        if styled {
            self.paint("0");
        }
        self.out.push('\n');
        self.out.set_plain(false);
        self.before = '\n';
        self.start = Some(String::new());
    }

    fn inline(&mut self, c: char) {
        if self.fence.is_some() {
            self.out.push(c);
            return;
        }
        if self.run == "\\" {
            self.run.clear();
            if !c.is_ascii_punctuation() || !self.colour {
                self.out.push('\\');
            }
            if c.is_ascii_punctuation() {
                self.show(c);
                return;
            }
        }
        if let Some(mark) = self.run.chars().next() {
            if c == mark {
                self.run.push(c);
                return;
            }
            self.resolve(c);
        }
        let marks = c == '`' || (self.code.is_none() && matches!(c, '*' | '\\'));
        if marks { self.run.push(c) } else { self.show(c) }
    }

    fn show(&mut self, c: char) {
        self.out.push(c);
        self.before = c;
    }

    /// Decides what a run of marks means, now that its next character is known.
    fn resolve(&mut self, next: char) {
        let run = std::mem::take(&mut self.run);
        let Some(mark) = run.chars().next() else { return };
        let meant = match mark {
            '`' => match self.code {
                Some(open) if open == run.len() => {
                    self.code = None;
                    true
                }
                Some(_) => false,
                None => {
                    self.code = Some(run.len());
                    true
                }
            },
            '*' if run.len() == 2 && (self.bold || self.can_open(next)) => {
                self.bold = !self.bold;
                true
            }
            _ => false,
        };
        if meant && self.colour {
            self.restyle();
        } else {
            self.out.push_str(&run);
        }
        self.before = mark;
    }

    fn can_open(&self, next: char) -> bool {
        let edge = |c: char| c.is_whitespace() || c.is_ascii_punctuation();
        !next.is_whitespace() && (!next.is_ascii_punctuation() || edge(self.before))
    }

    fn restyle(&mut self) {
        self.paint("0");
        if self.heading || self.bold {
            self.paint("1");
        }
        if self.code.is_some() {
            self.paint("36");
        }
    }

    fn paint(&mut self, code: &str) {
        if self.colour {
            self.out.push_str("\x1b[");
            self.out.push_str(code);
            self.out.push('m');
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn render(text: &str, colour: bool, piece: usize) -> String {
        let mut markdown = MarkdownRenderer::new(TerminalStream { tty: true, colour }, None);
        let chars: Vec<char> = text.chars().collect();
        let mut out: String =
            chars.chunks(piece.max(1)).map(|part| markdown.push(&part.iter().collect::<String>())).collect();
        out.push_str(&markdown.finish());
        out
    }

    /// Styles as letters, so that they can be read.
    fn shown(text: &str) -> String {
        let out = render(text, true, 3);
        out.replace("\x1b[0m", "<0>").replace("\x1b[1m", "<b>").replace("\x1b[36m", "<c>")
    }

    #[test]
    fn marks_become_styles() {
        let check = |text: &str, expect: &str| assert_eq!(shown(text), format!("{expect}\n"), "{text}");
        check("plain", "plain");
        check("a **b** c", "a <0><b>b<0> c");
        check("use `x*y` now", "use <0><c>x*y<0> now");
        check("``a ` b``", "<0><c>a ` b<0>");
        check("# Head `x`", "<0><b>Head <0><b><c>x<0><b><0>");
        check("* one\n  + two", "- one\n  - two");
        check("1. one", "1. one");
        check("2 * 3 ** 4", "2 * 3 ** 4");
        check("\\*not\\*", "*not*");
        check(
            "```rust\nlet x = 1;\n\n  **y**\n```\nafter",
            "    <c>let x = 1;<0>\n<0>\n    <c>  **y**<0>\nafter",
        );
        check("~~~\n```\n~~~", "    <c>```<0>");
        check("**open\nclosed** x", "<0><b>open<0>\nclosed** x");
        check("| a | b |\n|---|---|", "| a | b |\n|---|---|");
        check("> quoted", "> quoted");
        check("-", "-");
    }

    #[test]
    fn without_colour_it_stays_as_written() {
        let text = "# Head\n\na **b** `c` \\*d\n- e\n";
        assert_eq!(render(text, false, 2), text);
        assert_eq!(render("```\ncode\n```\n", false, 2), "    code\n");
    }

    #[test]
    fn words_come_at_once() {
        let mut markdown = MarkdownRenderer::new(TerminalStream { tty: true, colour: false }, None);
        assert_eq!(markdown.push("Let me"), "Let me");
        assert_eq!(markdown.push(" see"), " see");
    }

    #[test]
    fn at_a_terminal_words_stay_whole_and_tables_stand_straight() {
        let shown = |text: &str, columns: usize| {
            let mut markdown =
                MarkdownRenderer::new(TerminalStream { tty: true, colour: false }, Some(columns));
            let out: String = text.chars().map(|c| markdown.push(&c.to_string())).collect();
            out + &markdown.finish()
        };
        assert_eq!(shown("some words that do not fit", 21), "some words that do\nnot fit\n");
        let code = "```\nlet a_long_line = of(code, that, goes, on);\n```\n";
        assert_eq!(shown(code, 21), "    let a_long_line = of(code, that, goes, on);\n");
        let table = "Look:\n| a | b |\n|---|---|\n| one | 2 |\n\nSo.";
        assert_eq!(shown(table, 40), "Look:\na   │ b\n────┼──\none │ 2\n\nSo.\n");
        let wide = "| a long cell in it | b |\n|---|---|\n| one | 2 |";
        assert_eq!(shown(wide, 20), format!("{wide}\n"), "what does not fit stays as it was written");
        assert_eq!(shown("|x", 20), "|x\n");
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(text in "[a#*`~\\-1. |\n\\\\好]{0,60}", piece in 1_usize..9, colour: bool) {
            prop_assert_eq!(render(&text, colour, piece), render(&text, colour, 1000));
            let wrapped = |piece: usize| {
                let mut markdown = MarkdownRenderer::new(TerminalStream { tty: true, colour }, Some(24));
                let chars: Vec<char> = text.chars().collect();
                let mut out: String =
                    chars.chunks(piece).map(|part| markdown.push(&part.iter().collect::<String>())).collect();
                out.push_str(&markdown.finish());
                out
            };
            prop_assert_eq!(wrapped(piece), wrapped(1000));
        }

        #[test]
        fn no_escape_of_others_survives(text in "[\u{1b}\u{9b}\\[2Ja\r\u{7}*`\n]{0,60}") {
            let out = render(&text, false, 4);
            prop_assert!(out.chars().all(|c| c == '\n' || !c.is_control()), "{:?}", out);
        }
    }
}
