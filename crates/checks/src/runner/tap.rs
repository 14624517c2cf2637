//! The Test Anything Protocol.

use super::{Report, plain};

pub(super) fn read(output: &str) -> Report {
    let mut report = Report::default();
    let is_tap = output
        .lines()
        .take(400)
        .map(str::trim)
        .any(|line| line.starts_with("TAP version") || is_plan(line) || is_result(line));
    if !is_tap {
        return prove(output);
    }
    // Subtests are indented and summed up by their parent.
    for line in output.lines().map(plain).filter(|line| !line.starts_with([' ', '\t'])) {
        let (ok, rest) = match (line.strip_prefix("ok"), line.strip_prefix("not ok")) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            _ => continue,
        };
        if !rest.is_empty() && !rest.starts_with(' ') {
            continue;
        }
        let (description, directive) = rest.split_once('#').unwrap_or((rest, ""));
        let directive = directive.trim_start().to_ascii_uppercase();
        let todo = directive.starts_with("TODO");
        if directive.starts_with("SKIP") {
            report.skip(name(description));
            report.skipped = report.skipped.saturating_add(1);
        } else if ok || todo {
            report.pass(name(description));
            report.passed = report.passed.saturating_add(1);
        } else {
            report.failed = report.failed.saturating_add(1);
            report.fail(name(description));
        }
    }
    report
}

/// What `prove` sums up where it does not show the results themselves.
fn prove(output: &str) -> Report {
    let mut report = Report::default();
    let mut failed: u32 = 0;
    for line in output.lines().map(plain) {
        let line = line.trim();
        // `Failed 1/3 subtests`
        let of_file = line.strip_prefix("Failed ").filter(|rest| rest.ends_with("subtests"));
        if let Some((count, _)) = of_file.and_then(|rest| rest.split_once('/')) {
            failed = failed.saturating_add(count.parse().unwrap_or(0));
        }
        if let Some((_, rest)) = line.strip_prefix("Files=").and_then(|rest| rest.split_once("Tests=")) {
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            report.passed = digits.parse::<u32>().unwrap_or(0).saturating_sub(failed);
            report.failed = failed;
        }
    }
    report
}

/// `ok 1 - name`, also without its number: a result that counts, also where the plan was cut off.
fn is_result(line: &str) -> bool {
    let rest = line.strip_prefix("not ok ").or_else(|| line.strip_prefix("ok "));
    rest.is_some_and(|rest| {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        rest[digits..].trim_start().starts_with("- ")
    })
}

/// `1..4`
fn is_plan(line: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let plan = line.split('#').next().unwrap_or(line).trim();
    plan.split_once("..").is_some_and(|(from, to)| digits(from) && digits(to))
}

/// What is left of ` 3 - name`; the number when there is no name.
fn name(description: &str) -> &str {
    let text = description.trim();
    let after = text
        .trim_start_matches(|c: char| c.is_ascii_digit())
        .trim_start()
        .trim_start_matches('-')
        .trim_start();
    if after.is_empty() { text } else { after }
}
