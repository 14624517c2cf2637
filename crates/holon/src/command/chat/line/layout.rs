//! How a line and its prompt lie on the rows of a terminal.

use unicode_width::UnicodeWidthChar;

/// What to write after the prompt, and where the cursor belongs.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LineLayout {
    /// The text with its row breaks.
    pub(super) body: String,
    /// Row and column of the cursor, counted from the prompt's.
    pub(super) cursor: (usize, usize),
    /// The last row.
    pub(super) last: usize,
}

/// Lays a text out after a prompt of some width; rows are broken here, never by the terminal.
pub(super) fn lay_out(prompt: usize, text: &[char], at: usize, columns: usize) -> LineLayout {
    let columns = columns.max(2);
    let (mut row, mut column) = (prompt / columns, prompt % columns);
    let mut body = String::new();
    let mut cursor = (row, column);
    for (index, c) in text.iter().enumerate() {
        let c = if *c == '\n' { '↵' } else { *c };
        let width = c.width().unwrap_or(0);
        if column + width > columns {
            body.push_str("\r\n");
            (row, column) = (row + 1, 0);
        }
        if index == at {
            cursor = (row, column);
        }
        body.push(c);
        column += width;
    }
    if column >= columns {
        body.push_str("\r\n");
        (row, column) = (row + 1, 0);
    }
    if at >= text.len() {
        cursor = (row, column);
    }
    LineLayout { body, cursor, last: row }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rows_break_where_the_terminal_ends() {
        let check = |text: &str, at: usize, body: &str, cursor: (usize, usize)| {
            let chars: Vec<char> = text.chars().collect();
            let layout = lay_out(2, &chars, at, 6);
            assert_eq!((layout.body.as_str(), layout.cursor), (body, cursor), "{text} {at}");
        };
        check("ab", 2, "ab", (0, 4));
        check("abcd", 4, "abcd\r\n", (1, 0));
        check("abcde", 4, "abcd\r\ne", (1, 0));
        check("abc好", 4, "abc\r\n好", (1, 2));
        check("a\nb", 0, "a↵b", (0, 2));
        check("", 0, "", (0, 2));
    }

    proptest! {
        #[test]
        fn no_row_is_wider_than_the_terminal(text in "[a-z好🔨\n]{0,80}", columns in 2_usize..30, prompt in 0_usize..40) {
            let chars: Vec<char> = text.chars().collect();
            let layout = lay_out(prompt, &chars, chars.len(), columns);
            for (number, row) in layout.body.split("\r\n").enumerate() {
                let width: usize = row.chars().map(|c| c.width().unwrap_or(0)).sum();
                let before = if number == 0 { prompt % columns } else { 0 };
                prop_assert!(width + before <= columns);
            }
            prop_assert!(layout.cursor.0 <= layout.last && layout.cursor.1 < columns);
        }
    }
}
