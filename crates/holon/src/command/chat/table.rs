//! Tables of an answer, with their columns below one another.

use super::wrap::width;

/// The rows with padded columns; nothing when it is no table, or does not fit.
pub(super) fn aligned(lines: &[String], columns: usize) -> Option<Vec<String>> {
    let rows: Vec<Vec<String>> = lines.iter().map(|line| cells(line)).collect();
    let (head, rest) = rows.split_first()?;
    let (rule, body) = rest.split_first()?;
    let is_rule = |cell: &String| {
        let bare = cell.trim_matches(':');
        !bare.is_empty() && bare.chars().all(|c| c == '-')
    };
    if head.is_empty() || rule.len() != head.len() || !rule.iter().all(is_rule) {
        return None;
    }
    let of = |row: &Vec<String>, at: usize| row.get(at).map_or(0, |cell| width(cell));
    let widths: Vec<usize> = (0..head.len())
        .map(|at| rows.iter().filter(|row| *row != rule).map(|row| of(row, at)).max().unwrap_or(0))
        .collect();
    if widths.iter().sum::<usize>() + 3 * (head.len() - 1) >= columns {
        return None;
    }
    let row = |cells: &Vec<String>| {
        let cell = |(at, wide): (usize, &usize)| {
            let text = cells.get(at).map_or("", String::as_str);
            let space = " ".repeat(wide - width(text));
            if rule.get(at).is_some_and(|rule| rule.ends_with(':') && !rule.starts_with(':')) {
                space + text
            } else {
                text.to_owned() + &space
            }
        };
        let line = widths.iter().enumerate().map(cell).collect::<Vec<_>>().join(" │ ");
        line.trim_end().to_owned()
    };
    let mut shown = vec![row(head)];
    shown.push(widths.iter().map(|wide| "─".repeat(*wide)).collect::<Vec<_>>().join("─┼─"));
    shown.extend(body.iter().map(row));
    Some(shown)
}

/// The cells of a row; a bar after a backslash belongs to its cell.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let mut cells = vec![String::new()];
    let mut escaped = false;
    for c in line.chars() {
        match (c, escaped) {
            ('|', false) => cells.push(String::new()),
            ('\\', false) => {
                escaped = true;
                continue;
            }
            (c, was) => {
                if was && c != '|' {
                    push(&mut cells, '\\');
                }
                push(&mut cells, c);
            }
        }
        escaped = false;
    }
    if escaped {
        push(&mut cells, '\\');
    }
    if cells.last().is_some_and(|cell| cell.trim().is_empty()) {
        cells.pop();
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

fn push(cells: &mut [String], c: char) {
    if let Some(last) = cells.last_mut() {
        last.push(c);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn columns_stand_below_one_another() {
        let table = lines("| name | n |\n|---|--:|\n| 好 | 1 |\n| a \\| b | 200 | more |\n| x |");
        let expect = "name  │   n\n──────┼────\n好    │   1\na | b │ 200\nx     │";
        assert_eq!(aligned(&table, 80), Some(lines(expect)));
        assert_eq!(aligned(&table, 11), None, "it does not fit");
        assert_eq!(aligned(&lines("| a | b |"), 80), None, "no rule");
        assert_eq!(aligned(&lines("| a |\n| b |"), 80), None, "no rule");
        assert_eq!(aligned(&[], 80), None);
    }

    proptest! {
        #[test]
        fn any_lines_are_survived(text in "[|a\\\\:\\- 好\n]{0,80}", columns in 0_usize..40) {
            let rows = aligned(&lines(&text), columns).unwrap_or_default();
            prop_assert!(rows.iter().all(|row| width(row) < columns));
        }
    }
}
