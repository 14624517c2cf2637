//! A report as a small table.

use crate::report::{ReportRow, SuiteReport};

const HEAD: [&str; 8] = ["", "min", "median", "p90", "unit", "ratio", "target", "met"];

/// Prints the rows, then the notes.
pub(crate) fn print(report: &SuiteReport) {
    for line in lines(report) {
        println!("  {line}");
    }
}

fn lines(report: &SuiteReport) -> Vec<String> {
    let mut cells = vec![HEAD.map(str::to_owned)];
    cells.extend(report.rows.iter().map(row));
    let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
    let mut lines: Vec<String> = cells.iter().map(|row| aligned(row, &widths)).collect();
    lines.extend(report.notes.iter().map(|note| format!("note: {note}")));
    lines
}

/// The first column to the left, numbers to the right.
fn aligned(row: &[String; 8], widths: &[usize]) -> String {
    let mut line = format!("{:<1$}", row[0], widths[0]);
    for (cell, width) in row.iter().zip(widths).skip(1) {
        line += &format!("  {cell:>width$}");
    }
    line.trim_end().to_owned()
}

fn row(row: &ReportRow) -> [String; 8] {
    let number = |pick: fn(&crate::summary::SampleSummary) -> f64| {
        row.summary.as_ref().map_or_else(String::new, |summary| short(pick(summary)))
    };
    [
        row.what.clone(),
        number(|s| s.min),
        number(|s| s.median),
        number(|s| s.p90),
        row.unit.clone(),
        row.ratio.as_ref().map_or_else(String::new, |ratio| format!("{}×", short(ratio.value))),
        row.target.as_ref().map_or_else(String::new, |target| target.text.clone()),
        row.target.as_ref().map_or("", |target| if target.met { "yes" } else { "NO" }).to_owned(),
    ]
}

/// Three digits are all that such numbers are worth.
fn short(value: f64) -> String {
    match value {
        v if v >= 99.95 => format!("{v:.0}"),
        v if v >= 9.995 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::TargetBound;

    #[test]
    fn columns_line_up() {
        let base = ReportRow::milliseconds("unshare", &[1.0]);
        let walls = ReportRow::milliseconds("holon, cold", &[20.0])
            .against(&base)
            .ratio_target(TargetBound::AtMost(2.0));
        let report = SuiteReport { rows: vec![base, walls], notes: vec!["no podman".to_owned()] };
        assert_eq!(
            lines(&report),
            [
                "              min  median   p90  unit  ratio  target  met",
                "unshare      1.00    1.00  1.00    ms",
                "holon, cold  20.0    20.0  20.0    ms  20.0×    ≤ 2×   NO",
                "note: no podman",
            ]
        );
    }
}
