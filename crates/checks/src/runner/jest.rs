//! jest and vitest.

use super::headings::{Headings, indent};
use super::{RunnerReport, count_before, plain, untimed};

pub(super) fn read(output: &str) -> RunnerReport {
    let mut report = RunnerReport::default();
    let mut file = String::new();
    let mut summed = false;
    // jest lists the cases of a file right below its name.
    let mut listing = false;
    let mut groups = Headings::default();
    for line in output.lines().map(plain) {
        let text = line.trim();
        if let Some(rest) = text.strip_prefix("Tests:").or_else(|| text.strip_prefix("Tests  ")) {
            summed = true;
            report.passed = count_before(rest, "passed").unwrap_or(0);
            report.failed = count_before(rest, "failed").unwrap_or(0);
            let todo = count_before(rest, "todo").unwrap_or(0);
            report.skipped = count_before(rest, "skipped").unwrap_or(0).saturating_add(todo);
        } else if ["Test Suites:", "Test Files "].iter().any(|start| text.starts_with(start)) {
            summed = true;
        } else if let Some(rest) = text.strip_prefix("FAIL ").map(str::trim) {
            let name = rest.split_whitespace().next().unwrap_or("");
            if rest.contains(" > ") {
                // vitest: FAIL  file > suite > case
                report.fail(rest);
            } else if rest.contains(" [ ") {
                // vitest: a file that could not be loaded
                report.fail(name);
            } else {
                (file, listing) = (name.to_owned(), true);
            }
            groups.clear();
        } else if let Some(rest) = text.strip_prefix("PASS ").map(str::trim) {
            (file, listing) = (rest.split_whitespace().next().unwrap_or("").to_owned(), true);
            groups.clear();
        } else if let Some(case) = text.strip_prefix("● ") {
            listing = false;
            // jest: one heading per failing case, below its file; a file that could not be loaded has no cases.
            match (case.starts_with("Test suite failed"), file.is_empty()) {
                (true, false) => report.fail(&file),
                (false, true) if is_case(case) => report.fail(case),
                (false, false) if is_case(case) => report.fail(&format!("{file} › {case}")),
                _ => {}
            }
        } else if text.is_empty() {
            listing = false;
        } else if let Some((mark, case)) = marked(text) {
            let case = untimed(case);
            let whole = match listing {
                true => format!("{file} › {}", groups.whole(indent(&line), " › ", case)),
                false => case.to_owned(),
            };
            // vitest names a case in full, or prints less than its name.
            match mark {
                _ if !listing && !case.contains(" > ") => {}
                '✓' => report.pass(&whole),
                '○' | '↓' | '✎' | '□' => report.skip(&whole),
                _ => {}
            }
        } else if listing {
            groups.open(indent(&line), text);
        }
    }
    // Scripts print such marks, too; only these runners sum up like this.
    if summed { report } else { RunnerReport::default() }
}

/// `✓ case`, and what jest says before the names of those it leaves out.
fn marked(text: &str) -> Option<(char, &str)> {
    let mark = text.chars().next().filter(|mark| "✓✕×○↓✎□".contains(*mark))?;
    let case = text[mark.len_utf8()..].strip_prefix(' ')?;
    let case = match mark {
        '○' => case.strip_prefix("skipped ").unwrap_or(case),
        '✎' => case.strip_prefix("todo ").unwrap_or(case),
        _ => case,
    };
    Some((mark, case))
}

fn is_case(case: &str) -> bool {
    !case.starts_with("Console")
}
