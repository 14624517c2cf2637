//! Recognising checks among commands, and reading what they say.

use holon_supervisor::checks::{self, TestRunner};
use holon_supervisor::event::{CheckCommand, CheckOutcome};

use super::workspace_path::inside;

/// What a shell answers when a program is not there or cannot be run.
const NOT_RUNNABLE: i32 = 127;

/// Words of programs whose check is not installed.
const MISSING: [&str; 4] =
    ["No module named pytest", "no such command: `nextest`", "Missing script: \"test\"", "command not found"];

/// A command that ran.
pub(super) struct FinishedCommand<'a> {
    /// Where the work is.
    pub(super) root: &'a str,
    pub(super) command: &'a str,
    pub(super) exit: Option<i32>,
    pub(super) output: &'a str,
    pub(super) duration_ms: u64,
}

/// The check a command was, with what came out of it; nothing when it was none or proves nothing.
pub(super) fn check_of(ran: &FinishedCommand<'_>, known: &[CheckCommand]) -> Option<CheckOutcome> {
    if goes_away(ran.command, ran.root) {
        return None;
    }
    let asked = known.iter().any(|check| check.command.trim() == ran.command.trim());
    let runner = checks::recognise(ran.command).or(asked.then_some(TestRunner::Other))?;
    let report = checks::read(runner, ran.output);
    let mut exit = ran.exit;
    if !asked && hides_exit(ran.command) && exit == Some(0) {
        // The exit code is that of something else: only counted cases prove anything.
        if report.passed + report.failed == 0 {
            return None;
        }
    }
    if exit == Some(0) && report.failed > 0 {
        exit = Some(1);
    }
    if exit.is_some_and(|code| code != 0) && MISSING.iter().any(|words| ran.output.contains(words)) {
        exit = Some(NOT_RUNNABLE);
    }
    let mut fact = checks::into_fact(report, ran.command.trim(), exit, ran.duration_ms);
    fact.failing.truncate(40);
    Some(fact)
}

/// Whether a line goes to another place first: what is checked there is not the work.
fn goes_away(line: &str, root: &str) -> bool {
    let place = |part: &str| {
        let mut words = part.split_whitespace();
        let changes = matches!(words.next(), Some("cd" | "pushd"));
        words.next().filter(|_| changes).map(|word| word.trim_matches(['"', '\'']).to_owned())
    };
    let elsewhere = |to: String| to.starts_with('~') || (to.starts_with('/') && inside(root, &to).is_none());
    parts(line).iter().filter_map(|(part, _)| place(part)).any(elsewhere)
}

/// Whether the exit code of a line may not be that of the check in it: after a pipe, `;`, `||` or in the background.
fn hides_exit(line: &str) -> bool {
    let parts = parts(line);
    let check = parts.iter().rposition(|(part, _)| checks::recognise(part).is_some());
    parts[check.unwrap_or(0)..].iter().any(|(_, joint)| !joint.is_empty() && *joint != "&&")
}

/// The simple commands of a line, each with what follows it; quoted text is part of a command.
fn parts(line: &str) -> Vec<(&str, &str)> {
    let bytes = line.as_bytes();
    let mut parts = Vec::new();
    let (mut start, mut at, mut quote) = (0, 0, None);
    while at < bytes.len() {
        let byte = bytes[at];
        let redirects = byte == b'&' && (at > 0 && bytes[at - 1] == b'>' || bytes.get(at + 1) == Some(&b'>'));
        match quote {
            Some(open) if byte == open => quote = None,
            Some(_) => {}
            None if byte == b'\'' || byte == b'"' => quote = Some(byte),
            None if matches!(byte, b'|' | b';' | b'&' | b'\n') && !redirects => {
                let twice = matches!(byte, b'|' | b'&') && bytes.get(at + 1) == Some(&byte);
                let end = at + 1 + usize::from(twice);
                parts.push((&line[start..at], &line[at..end]));
                (start, at) = (end, end);
                continue;
            }
            None => {}
        }
        at += 1;
    }
    parts.push((&line[start..], ""));
    // A line that ends with its last command.
    if let [.., before, (rest, "")] = parts.as_mut_slice()
        && rest.trim().is_empty()
        && matches!(before.1, ";" | "\n")
    {
        before.1 = "";
    }
    parts
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const RED: &str = "test a::b ... FAILED\ntest result: FAILED. 3 passed; 1 failed; 0 ignored\n";
    const GREEN: &str = "test result: ok. 4 passed; 0 failed; 0 ignored\n";

    fn check(command: &str, exit: i32, output: &str, expect: Option<(i32, u32)>) {
        let known = [CheckCommand { command: "./verify.sh".into(), asked: true }];
        let ran = FinishedCommand { root: "/w", command, exit: Some(exit), output, duration_ms: 1 };
        let found = check_of(&ran, &known).map(|check| (check.exit.unwrap(), check.failed));
        assert_eq!(found, expect, "{command}");
    }

    #[test]
    fn an_exit_code_that_hides_the_checks_proves_nothing() {
        check("cargo test", 0, "", Some((0, 0)));
        check("cargo test 2>&1", 0, "", Some((0, 0)));
        check("cd x && cargo test", 0, "", Some((0, 0)));
        check("cargo build && cargo test", 0, "", Some((0, 0)));
        check("cd /w/a && cargo test", 0, "", Some((0, 0)));
        for away in
            ["cd /tmp/copy && cargo test", "cp -r . ~/b; cd ~/b && cargo test", "cd /wide; ./verify.sh"]
        {
            check(away, 0, GREEN, None);
        }
        check("cargo test 2>&1 | tail -5", 0, "", None);
        check("cargo test 2>&1 | tail -5", 0, GREEN, Some((0, 0)));
        check("cargo test 2>&1 | tail -5", 0, RED, Some((1, 1)));
        check("cargo test || true", 0, "", None);
        check("cargo test; echo done", 0, "done", None);
        check("cargo test; echo done", 0, RED, Some((1, 1)));
        check("cargo test | tee log", 101, "", Some((101, 0)));
        check("cargo test &", 0, "", None);
        check("cargo test;", 0, "", Some((0, 0)));
        check("cargo test -- 'a;b'", 0, "", Some((0, 0)));
        check("echo hi; cargo test &> log", 0, "", Some((0, 0)));
        check("ls", 0, "", None);
        check("cat Makefile | head", 0, "", None);
    }

    #[test]
    fn a_check_that_was_asked_for_is_known_by_its_words() {
        check("./verify.sh", 0, "", Some((0, 0)));
        check(" ./verify.sh", 3, "", Some((3, 0)));
        check("./verify.sh --quick", 0, "", None);
    }

    #[test]
    fn what_is_not_installed_is_told_apart_from_what_fails() {
        check("python3 -m pytest", 1, "/usr/bin/python3: No module named pytest", Some((127, 0)));
        check("pytest", 127, "sh: 1: pytest: not found", Some((127, 0)));
        check("pytest", 1, "1 failed, 2 passed in 0.1s", Some((1, 1)));
    }
}
