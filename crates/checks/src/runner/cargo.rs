//! `cargo test` and `cargo nextest`.

use super::{CaseState, RunnerReport, count_before, plain};

/// The plain harness: one `test result:` line per binary.
pub(super) fn test(output: &str) -> RunnerReport {
    let mut report = RunnerReport::default();
    let (mut examples, mut cases) = (Vec::new(), Vec::new());
    for line in output.lines().map(plain) {
        if let Some(result) = line.trim_start().strip_prefix("test result:") {
            let count = |word: &str| count_before(result, word).unwrap_or(0);
            report.add(count("passed"), count("failed"), count("ignored"));
        } else if let Some((name, outcome)) =
            line.strip_prefix("test ").and_then(|rest| rest.rsplit_once(" ... "))
        {
            let name = name.trim_end_matches(" - should panic");
            let outcome = outcome.trim_end();
            match example(name) {
                Some((stem, line)) => examples.push((stem, line, outcome.to_owned())),
                None => cases.extend(state(outcome).map(|state| (name.trim().to_owned(), state))),
            }
        }
    }
    report.cases(cases);
    // Lines move with every change above them: examples are told apart by their order.
    examples.sort();
    let mut before: Option<(String, usize)> = None;
    for (stem, _, outcome) in examples {
        let number = before.filter(|(known, _)| *known == stem).map_or(1, |(_, number)| number + 1);
        match number {
            1 => note(&mut report, &stem, &outcome),
            _ => note(&mut report, &format!("{stem} #{number}"), &outcome),
        }
        before = Some((stem, number));
    }
    report
}

fn note(report: &mut RunnerReport, name: &str, outcome: &str) {
    if let Some(state) = state(outcome) {
        report.case(name, state);
    }
}

fn state(outcome: &str) -> Option<CaseState> {
    let states = [("FAILED", CaseState::Failed), ("ignored", CaseState::Skipped), ("ok", CaseState::Passed)];
    states.into_iter().find_map(|(word, state)| outcome.starts_with(word).then_some(state))
}

/// The name of an example in documentation without its line, `src/lib.rs - two (line 8) - compile`, and the line.
fn example(name: &str) -> Option<(String, u64)> {
    let (head, rest) = name.split_once(" (line ")?;
    let (line, tail) = rest.split_once(')')?;
    (head.contains(" - ") || head.ends_with(" -")).then_some(())?;
    Some((format!("{}{tail}", head.trim_end_matches(" -")), line.parse().ok()?))
}

/// Nextest: a line per case, a summary at the end.
pub(super) fn nextest(output: &str) -> RunnerReport {
    let mut report = RunnerReport::default();
    for line in output.lines().map(plain) {
        let line = line.trim_start();
        if line.starts_with("Summary [") {
            let count = |word: &str| count_before(line, word).unwrap_or(0);
            (report.passed, report.skipped) = (count("passed"), count("skipped"));
            report.failed = count("failed").saturating_add(count("timed"));
            continue;
        }
        let Some((outcome, case)) = line
            .split_once(" [")
            .and_then(|(outcome, rest)| rest.split_once(']').map(|(_, case)| (outcome, case.trim_start())))
        else {
            continue;
        };
        // Newer ones count: (3/9) name.
        let case =
            case.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(case, |(_, rest)| rest);
        match outcome.trim_end() {
            "FAIL" | "TIMEOUT" | "SIGABRT" | "SIGSEGV" | "TRY 2 FAIL" | "TRY 3 FAIL" => report.fail(case),
            "PASS" | "SLOW PASS" | "LEAK" => report.pass(case),
            _ => {}
        }
    }
    report
}

#[cfg(test)]
mod tests {
    use super::test;

    #[test]
    fn cases_of_the_same_name_are_told_apart_whatever_their_order() {
        let said = |states: &[&str]| {
            test(&states.iter().map(|s| format!("test works ... {s}\n")).collect::<String>())
        };
        let (one, two) = (said(&["ok", "FAILED"]), said(&["FAILED", "FAILED"]));
        assert_eq!(one, said(&["FAILED", "ok"]));
        assert_eq!(
            (one.failing, two.failing),
            (vec!["works".to_owned()], vec!["works".to_owned(), "works #2".to_owned()])
        );
        assert!(one.cases.contains_key("works #2"));
    }

    #[test]
    fn examples_keep_their_names_when_lines_move() {
        let said = |first: u32, second: u32| {
            format!(
                "test src/lib.rs - two (line {second}) ... FAILED\ntest src/lib.rs - two (line {first}) ... ok\n\
                 test src/lib.rs - (line {first}) - compile ... ok\ntest a::b ... ok\n"
            )
        };
        let report = test(&said(8, 9));
        assert_eq!(report, test(&said(98, 100)), "9 comes before 10, and 98 before 100");
        assert_eq!(report.failing.iter().collect::<Vec<_>>(), ["src/lib.rs - two #2"]);
        let names: Vec<_> = report.cases.keys().collect();
        assert_eq!(names, ["a::b", "src/lib.rs - compile", "src/lib.rs - two", "src/lib.rs - two #2"]);
    }
}
