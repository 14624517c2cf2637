//! Scripts without a known form: lines that are marked as failures.

use super::plain;

/// Marks that stand before the name of a failing case.
const BEFORE: [&str; 14] = [
    "not ok", "FAIL:", "FAILED:", "FAIL", "FAILED", "[FAIL]", "[FAILED]", "Failed:", "failed:", "\u{2717}",
    "\u{2718}", "\u{d7}", "\u{2715}", "\u{274c}",
];
/// Marks that stand after it.
const AFTER: [&str; 8] =
    ["... FAILED", "... FAIL", "... failed", "... not ok", ": FAILED", ": FAIL", ": failed", " FAILED"];
/// Most cases named.
const MOST: usize = 40;
/// Most lines looked at.
const LINES: usize = 20_000;

/// The names of the cases such lines tell, each once.
pub(super) fn cases(output: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in output.lines().take(LINES).map(plain) {
        if let Some(name) = case(line.trim())
            && found.len() < MOST
            && !found.contains(&name)
        {
            found.push(name);
        }
    }
    found
}

fn case(line: &str) -> Option<String> {
    let before = BEFORE.iter().filter_map(|mark| line.strip_prefix(mark)).find(|rest| {
        // `FAILURES` and `FAILED (failures=1)` are about all of them.
        rest.starts_with([' ', '\t']) && !rest.trim_start().starts_with(['(', '=', '-'].as_slice())
            || numbered(rest)
    });
    let name = match before {
        Some(rest) => unnumbered(rest),
        None => AFTER.iter().find_map(|mark| line.strip_suffix(mark))?.trim_end_matches(['.', ' ']),
    };
    let name = name.trim();
    let tells = name.chars().any(char::is_alphabetic);
    (tells && name.len() <= super::NAME).then(|| name.to_owned())
}

/// ` 3 - name`, ` - name`
fn numbered(rest: &str) -> bool {
    let rest = rest.trim_start();
    let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    digits.trim_start().strip_prefix('-').is_some_and(|name| name.starts_with(' '))
}

fn unnumbered(rest: &str) -> &str {
    let rest = rest.trim_start();
    let after = rest.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    match after.strip_prefix('-') {
        Some(name) if name.starts_with(' ') => name,
        _ => rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_lines_name_cases() {
        let check = |line: &str, expect: &[&str]| assert_eq!(cases(line), expect, "{line}");
        check("not ok 1 - a is good", &["a is good"]);
        check("not ok - a is good", &["a is good"]);
        check("FAIL: adds two numbers", &["adds two numbers"]);
        check("FAIL test_add (calc.Tests)", &["test_add (calc.Tests)"]);
        check("\u{2717} adds\n\u{2717} adds\n\u{2717} removes", &["adds", "removes"]);
        check("parser ... FAILED", &["parser"]);
        check("parser: FAIL", &["parser"]);
        check("FAILED (failures=1)\nFAILURES\nFAIL\nall is well\n--- FAIL ---", &[]);
        check("", &[]);
    }
}
