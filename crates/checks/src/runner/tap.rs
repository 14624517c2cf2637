//! The Test Anything Protocol, with its subtests.

use super::{CaseState, RunnerReport, plain};

/// One result that waits for the parent whose subtest it is.
struct PendingTapResult {
    indent: usize,
    name: String,
    state: CaseState,
}

pub(super) fn read(output: &str) -> RunnerReport {
    let is_tap = output
        .lines()
        .take(400)
        .map(str::trim)
        .any(|line| line.starts_with("TAP version") || is_plan(line) || is_result(line));
    if !is_tap {
        return prove(output);
    }
    let mut cases: Vec<(String, CaseState)> = Vec::new();
    let mut waiting: Vec<PendingTapResult> = Vec::new();
    // Notes in YAML may hold anything, also what looks like a result.
    let mut notes: Option<usize> = None;
    for line in output.lines().map(plain) {
        let text = line.trim_start_matches([' ', '\t']);
        let indent = line.len() - text.len();
        if let Some(begun) = notes {
            let over = text.trim_end() == "..." || (indent < begun && !text.is_empty());
            notes = notes.filter(|_| !over);
            if over && text.trim_end() != "..." {
                settle(text, indent, &mut waiting);
            }
        } else if indent > 0 && text.trim_end() == "---" {
            notes = Some(indent);
        } else {
            settle(text, indent, &mut waiting);
        }
        // A result that is not indented has taken everything in.
        if waiting.last().is_some_and(|one| one.indent == 0) {
            cases.extend(waiting.drain(..).map(|one| (one.name, one.state)));
        }
    }
    // What was cut off before its parent came belongs to nobody that is known.
    let mut report = RunnerReport::default();
    for (_, state) in &cases {
        match state {
            CaseState::Passed => report.add(1, 0, 0),
            CaseState::Failed => report.add(0, 1, 0),
            CaseState::Skipped => report.add(0, 0, 1),
        }
    }
    report.cases(cases);
    report
}

/// Reads a result, and takes its subtests in.
fn settle(text: &str, indent: usize, waiting: &mut Vec<PendingTapResult>) {
    let (ok, rest) = match (text.strip_prefix("ok"), text.strip_prefix("not ok")) {
        (Some(rest), _) => (true, rest),
        (_, Some(rest)) => (false, rest),
        _ => return,
    };
    if !rest.is_empty() && !rest.starts_with(' ') {
        return;
    }
    let (description, directive) = directive(rest);
    let state = match directive {
        Some("SKIP") => CaseState::Skipped,
        Some(_) => CaseState::Passed,
        None if ok => CaseState::Passed,
        None => CaseState::Failed,
    };
    let own = name(description).to_owned();
    let first = waiting.iter().rposition(|one| one.indent <= indent).map_or(0, |at| at + 1);
    let inner = waiting.split_off(first);
    if inner.is_empty() || state == CaseState::Skipped {
        waiting.push(PendingTapResult { indent, name: own, state });
        return;
    }
    let one_failed = inner.iter().any(|one| one.state == CaseState::Failed);
    for one in inner {
        // A parent that passes vouches for all there is in it.
        let vouched = state == CaseState::Passed && one.state == CaseState::Failed;
        let of_one = if vouched { CaseState::Passed } else { one.state };
        waiting.push(PendingTapResult { indent, name: format!("{own} > {}", one.name), state: of_one });
    }
    if state == CaseState::Failed && !one_failed {
        waiting.push(PendingTapResult { indent, name: own, state });
    }
}

/// A description and its directive; a `#` before anything else is part of the name.
fn directive(rest: &str) -> (&str, Option<&'static str>) {
    for (at, _) in rest.rmatch_indices('#') {
        let word = rest[at + 1..].trim_start().to_ascii_uppercase();
        let known = ["SKIP", "TODO"].into_iter().find(|known| word.starts_with(known));
        if known.is_some() {
            return (&rest[..at], known);
        }
    }
    (rest, None)
}

/// What `prove` sums up where it does not show the results themselves.
fn prove(output: &str) -> RunnerReport {
    let mut report = RunnerReport::default();
    let (mut failed, mut skipped): (u32, u32) = (0, 0);
    for line in output.lines().map(plain) {
        let line = line.trim();
        // `Failed 1/3 subtests`
        let of_file = line.strip_prefix("Failed ").filter(|rest| rest.ends_with("subtests"));
        if let Some((count, _)) = of_file.and_then(|rest| rest.split_once('/')) {
            failed = failed.saturating_add(count.parse().unwrap_or(0));
        }
        // `(less 1 skipped subtest: 2 okay)`
        if let Some((count, _)) =
            line.strip_prefix("(less ").and_then(|rest| rest.split_once(" skipped subtest"))
        {
            skipped = skipped.saturating_add(count.parse().unwrap_or(0));
        }
        if let Some((_, rest)) = line.strip_prefix("Files=").and_then(|rest| rest.split_once("Tests=")) {
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            let all = digits.parse::<u32>().unwrap_or(0);
            report.passed = all.saturating_sub(failed).saturating_sub(skipped);
            (report.failed, report.skipped) = (failed, skipped);
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
