/// The widest cell of a column.
pub fn width(rows: &[Vec<&str>], at: usize) -> usize {
    rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.len()).max().unwrap_or(0)
}

/// A cell with spaces behind it, so wide.
pub fn pad(cell: &str, width: usize) -> String {
    let mut text = cell.to_string();
    while text.len() < width {
        text.push(' ');
    }
    text
}
