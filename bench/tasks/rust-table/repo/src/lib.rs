mod column;

pub use column::{pad, width};

/// Rows as lines, each cell padded to the widest of its column, two spaces between them.
pub fn render(rows: &[Vec<&str>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(|at| width(rows, at)).collect();
    let line = |row: &Vec<&str>| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| pad(cell, *width)).collect();
        cells.join("  ").trim_end().to_string()
    };
    rows.iter().map(line).collect()
}
