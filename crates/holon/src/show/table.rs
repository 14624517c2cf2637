//! Columns that line up.

use crate::terminal::{Stream, Style, one_line};

/// Longest text of a cell: callers cut what may be cut.
const WIDEST: usize = 2000;
/// Where the last column of an indented table is broken.
const BREAK: usize = 110;

/// Rows of `N` cells; everything in them is made safe to print.
#[derive(Debug)]
pub(crate) struct Table<const N: usize> {
    head: Option<[String; N]>,
    rows: Vec<[String; N]>,
    indent: usize,
}

impl<const N: usize> Table<N> {
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

    /// The table as lines.
    pub(crate) fn render(&self, stream: Stream) -> String {
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
            if self.indent > 0 { broken(text.trim_end(), last) } else { text.trim_end().to_owned() }
        };
        let mut text = String::new();
        if let Some(head) = &self.head {
            text.push_str(&stream.paint(Style::Bold, &line(head)));
            text.push('\n');
        }
        for row in &self.rows {
            text.push_str(&line(row));
            text.push('\n');
        }
        text
    }
}

/// The line on several ones, each further one set in by `inset`.
fn broken(line: &str, inset: usize) -> String {
    let start: usize = line.chars().take(inset).map(char::len_utf8).sum();
    let (mut text, mut column) = (line[..start].to_owned(), inset);
    for (number, word) in line[start..].split(' ').enumerate() {
        let width = word.chars().count();
        if number > 0 && column + width >= BREAK && inset + width < BREAK {
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
    use crate::terminal::Terminal;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(["A", "LONG", ""]);
        table.row(["äöü", "x", "end"]);
        table.row(["b", "\x1b[2J", ""]);
        let plain = Terminal::plain().stdout;
        assert_eq!(table.render(plain), "A    LONG\näöü  x     end\nb    \u{fffd}[2J\n");
    }

    #[test]
    fn a_long_last_column_goes_on_below() {
        let mut table = Table::indented(2);
        table.row(["key", &"word ".repeat(30)]);
        let text = table.render(Terminal::plain().stdout);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[1].starts_with("       word"), "{text}");
        assert_eq!(text.matches("word").count(), 30);
        assert!(lines.iter().all(|line| line.len() < BREAK), "{text}");
    }
}
