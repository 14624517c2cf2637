/// The widest cell of a column.
pub fn width(rows: &[Vec<&str>], at: usize) -> usize {
    rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max().unwrap_or(0)
}

/// A cell with spaces behind it, so wide.
pub fn pad(cell: &str, width: usize) -> String {
    let mut text = cell.to_string();
    for _ in cell.chars().count()..width {
        text.push(' ');
    }
    text
}
