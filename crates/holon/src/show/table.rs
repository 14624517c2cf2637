//! Columns that line up.

use crate::terminal::{Stream, Style, one_line};

/// Longest text of a cell.
const WIDEST: usize = 100;

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
            for (cell, width) in row.iter().zip(widths) {
                text.push_str(cell);
                text.push_str(&" ".repeat(width - cell.chars().count() + 2));
            }
            text.trim_end().to_owned()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::Terminal;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(["A", "LONG", ""]);
        table.row(["äöü", "x", "end"]);
        table.row(["b", "\x1b[2J", ""]);
        assert_eq!(table.render(Terminal::plain().stdout), "A    LONG\näöü  x     end\nb    \u{fffd}[2J\n");
    }
}
