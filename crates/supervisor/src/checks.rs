//! What checks say: counts, failing cases and errors, read from their output. Never panics, whatever it is given.

mod cargo;
mod go;
mod jest;
mod junit;
mod loose;
mod make;
mod pytest;
mod tap;

use serde::{Deserialize, Serialize};

use crate::event::CheckRan;
use crate::signature::{signature, telling_line};

/// Most failing cases told.
const FAILING: usize = 200;
/// Longest name of a case.
const NAME: usize = 300;

/// Who printed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are the explanation")]
pub enum Runner {
    Cargo,
    Nextest,
    Pytest,
    Go,
    Junit,
    Tap,
    Jest,
    Make,
    /// A check without a known form: a linter, a compiler, a script.
    Other,
}

/// What a check said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Cases that passed.
    pub passed: u32,
    /// Cases that failed.
    pub failed: u32,
    /// Cases that were left out.
    pub skipped: u32,
    /// The names of those that failed, each once, as printed.
    pub failing: Vec<String>,
    /// Errors of a compiler or linter.
    pub diagnostics: u32,
    /// The signature of the first error.
    pub signature: String,
    /// What names the failing cases where no known form does: only believed when the check failed.
    #[serde(skip)]
    hints: Vec<String>,
    /// Whether `failing` only says where the failing cases are, as a target of make does.
    #[serde(skip)]
    vague: bool,
}

impl Report {
    fn fail(&mut self, name: &str) {
        let name = name.trim();
        if !name.is_empty() && self.failing.len() < FAILING && !self.failing.iter().any(|seen| seen == name) {
            self.failing.push(crate::key::clip(name, NAME));
        }
    }

    fn is_empty(&self) -> bool {
        self.passed == 0 && self.failed == 0 && self.skipped == 0 && self.failing.is_empty()
    }

    /// The fact for the supervisor.
    pub fn into_fact(mut self, command: &str, exit: Option<i32>, duration_ms: u64) -> CheckRan {
        let nameless = self.failing.is_empty() || self.vague;
        // What could not run at all names nothing.
        let failed = !matches!(exit, Some(0 | 126 | 127));
        if failed && nameless && !self.hints.is_empty() {
            self.failing = self.hints;
            self.failed = self.failed.max(u32::try_from(self.failing.len()).unwrap_or(u32::MAX));
        }
        CheckRan {
            call: None,
            command: command.to_owned(),
            exit,
            passed: self.passed,
            failed: self.failed,
            skipped: self.skipped,
            failing: self.failing,
            diagnostics: self.diagnostics,
            duration_ms,
            changed: Vec::new(),
        }
    }
}

/// Which check a command line is, if it is one: the last of several commands counts.
pub fn recognise(command: &str) -> Option<Runner> {
    command.split(['\n', ';', '|', '&']).rev().find_map(|part| of_words(&words(part)))
}

/// The words of a simple command, without assignments, wrappers and options of those.
fn words(part: &str) -> Vec<&str> {
    const WRAPPERS: [&str; 10] =
        ["sudo", "env", "time", "nice", "timeout", "npx", "bunx", "exec", "command", "xvfb-run"];
    let assignment = |word: &&str| word.contains('=') && !word.starts_with('-');
    let clean =
        |word: &'_ str| -> bool { WRAPPERS.contains(&word) || word.starts_with('-') || is_number(word) };
    let mut words = part.split_whitespace().skip_while(assignment).peekable();
    while words.peek().is_some_and(|word| clean(word) || assignment(word)) {
        words.next();
    }
    words.take(12).collect()
}

fn is_number(word: &str) -> bool {
    let word = word.trim_end_matches(['s', 'm', 'h']);
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit())
}

fn of_words(words: &[&str]) -> Option<Runner> {
    let (first, rest) = words.split_first()?;
    let program = first.rsplit('/').next().unwrap_or(first);
    let second = rest.iter().find(|word| !word.starts_with(['-', '+'])).copied().unwrap_or("");
    match (program, second) {
        ("cargo", "nextest") => Some(Runner::Nextest),
        ("cargo", "test" | "t") => Some(Runner::Cargo),
        ("cargo", "check" | "c" | "clippy" | "build" | "b" | "fmt") => Some(Runner::Other),
        ("pytest" | "py.test", _) => Some(Runner::Pytest),
        ("tox" | "nox", _) => Some(Runner::Pytest),
        ("python" | "python3", _) => match rest {
            ["-m", "pytest", ..] => Some(Runner::Pytest),
            ["-m", "unittest" | "mypy" | "ruff" | "compileall", ..] => Some(Runner::Other),
            _ => None,
        },
        ("uv" | "poetry" | "pdm" | "hatch", "run") => {
            let at = rest.iter().position(|word| *word == "run")?;
            let program = rest[at + 1..].iter().position(|word| !word.starts_with('-'))?;
            of_words(&rest[at + 1 + program..])
        }
        ("go", "test") => Some(Runner::Go),
        ("go", "vet" | "build") => Some(Runner::Other),
        ("jest" | "vitest", _) => Some(Runner::Jest),
        ("npm" | "pnpm" | "yarn" | "bun", "test" | "t" | "vitest" | "jest") => Some(Runner::Jest),
        ("npm" | "pnpm" | "yarn" | "bun", "run") => {
            let script = rest.iter().filter(|word| !word.starts_with('-')).nth(1).copied().unwrap_or("");
            let known = ["lint", "build", "typecheck", "check", "tsc"];
            if script.starts_with("test") {
                Some(Runner::Jest)
            } else {
                known.contains(&script).then_some(Runner::Other)
            }
        }
        ("mvn" | "mvnw", goal) => ["test", "verify", "package"].contains(&goal).then_some(Runner::Junit),
        ("gradle" | "gradlew", task) => {
            (task.ends_with("test") || task == "check" || task == "build").then_some(Runner::Junit)
        }
        ("prove" | "bats", _) => Some(Runner::Tap),
        ("make" | "gmake" | "ninja" | "just", _) => Some(Runner::Make),
        ("ctest", _) => Some(Runner::Make),
        ("tsc" | "eslint" | "ruff" | "mypy" | "flake8" | "pylint" | "shellcheck" | "pyright", _) => {
            Some(Runner::Other)
        }
        _ => None,
    }
}

/// Reads what a check printed. A form that is not the expected one is tried as the others are, so that `make test` and
/// scripts that call a runner are understood.
pub fn read(runner: Runner, output: &str) -> Report {
    let mut report = by(runner, output);
    // A target that failed says where the failing cases are, not which.
    let vague = matches!(runner, Runner::Make | Runner::Other) && report.passed == 0 && report.failed == 0;
    if report.is_empty() || vague {
        // JUnit first: nothing else looks like it.
        let others = [
            Runner::Junit,
            Runner::Nextest,
            Runner::Cargo,
            Runner::Pytest,
            Runner::Go,
            Runner::Jest,
            Runner::Tap,
        ];
        let found = others.into_iter().filter(|other| *other != runner).map(|other| by(other, output));
        if let Some(found) = found.into_iter().find(|found| !found.is_empty()) {
            let diagnostics = report.diagnostics.max(found.diagnostics);
            let failing = if found.failing.is_empty() { report.failing } else { found.failing };
            report = Report { diagnostics, failing, ..found };
        } else {
            report.vague = vague;
        }
    }
    report.hints = hints(output);
    report.failed = report.failed.max(u32::try_from(report.failing.len()).unwrap_or(u32::MAX));
    report.diagnostics = report.diagnostics.max(make::diagnostics(output));
    report.signature = signature(output);
    report
}

fn by(runner: Runner, output: &str) -> Report {
    match runner {
        Runner::Cargo => cargo::test(output),
        Runner::Nextest => cargo::nextest(output),
        Runner::Pytest => pytest::read(output),
        Runner::Go => go::read(output),
        Runner::Junit => junit::read(output),
        Runner::Tap => tap::read(output),
        Runner::Jest => jest::read(output),
        Runner::Make | Runner::Other => make::read(output),
    }
}

/// What may name the failing cases of a check without a known form: lines marked as failures, else the telling one.
fn hints(output: &str) -> Vec<String> {
    let marked = loose::cases(output);
    if !marked.is_empty() {
        return marked;
    }
    let own = |line: &&str| !(line.starts_with("make") && line.contains("***"));
    let rest: Vec<&str> = output.lines().filter(own).collect();
    let rest = rest.join("\n");
    let line = plain(telling_line(&rest));
    if line.trim().is_empty() { Vec::new() } else { vec![crate::key::clip(line.trim(), NAME)] }
}

/// The number directly before a word, as in `3 passed`.
fn count_before(line: &str, word: &str) -> Option<u32> {
    let mut before: Option<u32> = None;
    for part in line.split(|c: char| c.is_whitespace() || ",;()=".contains(c)).filter(|part| !part.is_empty())
    {
        if part == word {
            return before;
        }
        before = part.parse().ok();
    }
    None
}

/// A line without colours.
fn plain(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' && chars.peek() == Some(&'[') {
            chars.next();
            // Until the letter that ends the sequence.
            for c in chars.by_ref() {
                if c.is_ascii_alphabetic() {
                    break;
                }
            }
        } else if c != '\r' {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests;
