//! Columns that line up.

use crate::terminal::{Terminal, TerminalStream, TextStyle, one_line};

/// Longest text of a cell: callers cut what may be cut.
const WIDEST: usize = 2000;
/// Where the last column of an indented table is broken.
const BREAK: usize = 110;
/// Columns that a broken last column needs at least.
const NARROWEST: usize = 16;

/// Rows of `N` cells; everything in them is made safe to print.
#[derive(Debug)]
pub(crate) struct TextTable<const N: usize> {
    head: Option<[String; N]>,
    rows: Vec<[String; N]>,
    indent: usize,
}

impl<const N: usize> TextTable<N> {
    /// A table with a heading.
    pub(crate) fn new(head: [&str; N]) -> Self {
        Self { head: Some(head.map(str::to_owned)), rows: Vec::new(), indent: 0 }
    }

    /// A table without a heading, set off from the left.
    pub(crate) fn indented(indent: usize) -> Self {
        Self { head: None, rows: Vec::new(), indent }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: [&str; N]) {
        self.rows.push(cells.map(|cell| one_line(cell, WIDEST)));
    }

    /// The table as lines; in front of a person its last column stays within the terminal.
    pub(crate) fn render(&self, stream: TerminalStream) -> String {
        let edge = if self.indent > 0 { BREAK } else { usize::MAX };
        self.within(if stream.tty { edge.min(Terminal::again().width) } else { edge }, stream)
    }

    fn within(&self, edge: usize, stream: TerminalStream) -> String {
        let mut widths = [0; N];
        for row in self.head.iter().chain(&self.rows) {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let line = |row: &[String; N]| {
            let mut text = " ".repeat(self.indent);
            let mut last = text.len();
            for (cell, width) in row.iter().zip(widths) {
                last = text.chars().count();
                text.push_str(cell);
                text.push_str(&" ".repeat(width - cell.chars().count() + 2));
            }
            broken(text.trim_end(), last, edge)
        };
        let mut text = String::new();
        if let Some(head) = &self.head {
            text.push_str(&stream.paint(TextStyle::Bold, &line(head)));
            text.push('\n');
        }
        for row in &self.rows {
            text.push_str(&line(row));
            text.push('\n');
        }
        text
    }
}

/// The line on several ones that end before `edge`, each further one set in by `inset`; as it is where that leaves too
/// little room for words.
fn broken(line: &str, inset: usize, edge: usize) -> String {
    if edge == usize::MAX || inset + NARROWEST > edge {
        return line.to_owned();
    }
    let start: usize = line.chars().take(inset).map(char::len_utf8).sum();
    let (mut text, mut column) = (line[..start].to_owned(), inset);
    for (number, word) in line[start..].split(' ').enumerate() {
        let width = word.chars().count();
        if number > 0 && column + width >= edge && inset + width < edge {
            text.push('\n');
            text.push_str(&" ".repeat(inset));
            column = inset;
        } else if number > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += width;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_terminal_breaks_the_last_column_alone() {
        let mut table = TextTable::new(["MODE", "WHAT"]);
        table.row(["plan", "Thinks a change through and writes it down"]);
        let plain = Terminal::plain().stdout;
        assert_eq!(
            table.within(30, plain),
            "MODE  WHAT\nplan  Thinks a change through\n      and writes it down\n"
        );
        assert_eq!(table.within(20, plain).lines().count(), 2, "too narrow to be of use");
        assert_eq!(table.render(plain).lines().count(), 2, "programs get one line a row");
    }

    #[test]
    fn columns_line_up() {
        let mut table = TextTable::new(["A", "LONG", ""]);
        table.row(["äöü", "x", "end"]);
        table.row(["b", "\x1b[2J", ""]);
        let plain = Terminal::plain().stdout;
        assert_eq!(table.render(plain), "A    LONG\näöü  x     end\nb    \u{fffd}[2J\n");
    }

    #[test]
    fn a_long_last_column_goes_on_below() {
        let mut table = TextTable::indented(2);
        table.row(["key", &"word ".repeat(30)]);
        let text = table.render(Terminal::plain().stdout);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[1].starts_with("       word"), "{text}");
        assert_eq!(text.matches("word").count(), 30);
        assert!(lines.iter().all(|line| line.len() < BREAK), "{text}");
    }
}
