//! What test runners print: cases that passed, failed or were left out, read from their output. Never panics, whatever
//! it is given, and names no case that the runner did not name.

mod bats;
mod cargo;
mod ctest;
mod dotnet;
mod go;
mod gradle;
mod headings;
mod jest;
mod junit;
mod maven;
mod minitest;
mod mocha;
mod node;
mod phpunit;
mod pytest;
mod recognise;
mod rspec;
mod tap;
mod tcltest;
mod unittest;
mod unstopped;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use recognise::recognise;
pub use unstopped::unstopped;

/// Most cases remembered by name.
const CASES: usize = 5_000;
/// Most failing cases told.
const FAILING: usize = 200;
/// Longest name of a case.
const NAME: usize = 300;

/// Who printed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are the explanation")]
pub enum TestRunner {
    Cargo,
    Nextest,
    Pytest,
    Unittest,
    Go,
    Node,
    Jest,
    Mocha,
    Maven,
    Gradle,
    Dotnet,
    Rspec,
    Minitest,
    Phpunit,
    Ctest,
    Bats,
    Tap,
    Tcltest,
    Junit,
    Make,
    /// A check without a known form: a linter, a compiler, a script.
    Other,
}

/// What became of one case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are the explanation")]
pub enum CaseState {
    Passed,
    Failed,
    Skipped,
}

/// What a check said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunnerReport {
    /// Cases that passed.
    pub passed: u32,
    /// Cases that failed.
    pub failed: u32,
    /// Cases that were left out.
    pub skipped: u32,
    /// The names of those that failed, each once, as printed.
    pub failing: Vec<String>,
    /// Every case the runner named, with what became of it. Many name only those that failed.
    pub cases: BTreeMap<String, CaseState>,
    /// Errors of a compiler or linter.
    pub diagnostics: u32,
}

impl RunnerReport {
    /// Whether any case was counted or named: else the exit code is all that is known.
    pub fn is_counted(&self) -> bool {
        self.passed > 0 || self.failed > 0 || self.skipped > 0 || !self.failing.is_empty()
    }

    /// How many cases there were, the skipped ones included.
    pub fn total(&self) -> u32 {
        self.passed.saturating_add(self.failed).saturating_add(self.skipped)
    }

    /// Whether every case that was counted is known by its name.
    pub fn names_all(&self) -> bool {
        self.is_counted() && self.cases.len() >= self.total() as usize
    }

    fn case(&mut self, name: &str, state: CaseState) {
        let name = clip(name.trim());
        if name.is_empty() {
            return;
        }
        if state == CaseState::Failed && self.failing.len() < FAILING && !self.failing.contains(&name) {
            self.failing.push(name.clone());
        }
        let room = self.cases.len() < CASES;
        match self.cases.get_mut(&name) {
            // A case that failed once has failed, whatever is said of it later.
            Some(known) => *known = if *known == CaseState::Failed { CaseState::Failed } else { state },
            None if room => {
                self.cases.insert(name, state);
            }
            None => {}
        }
    }

    pub(crate) fn fail(&mut self, name: &str) {
        self.case(name, CaseState::Failed);
    }

    fn pass(&mut self, name: &str) {
        self.case(name, CaseState::Passed);
    }

    fn skip(&mut self, name: &str) {
        self.case(name, CaseState::Skipped);
    }

    /// Cases of a runner that names each of them once, without its file: the same name again is another case. Those that
    /// failed come first, so that runs can be compared whatever the order of their files is.
    fn cases(&mut self, cases: Vec<(String, CaseState)>) {
        let weight = |state: CaseState| match state {
            CaseState::Failed => 0,
            CaseState::Passed => 1,
            CaseState::Skipped => 2,
        };
        let mut numbered: Vec<(&str, CaseState, usize)> =
            cases.iter().enumerate().map(|(at, (name, state))| (name.as_str(), *state, at)).collect();
        numbered.sort_by_key(|(name, state, _)| (*name, weight(*state)));
        let mut names = vec![String::new(); cases.len()];
        let mut before: Option<(&str, usize)> = None;
        for (name, _, at) in numbered {
            let number = before.filter(|(known, _)| *known == name).map_or(1, |(_, number)| number + 1);
            names[at] = if number == 1 { name.to_owned() } else { format!("{name} #{number}") };
            before = Some((name, number));
        }
        names.iter().zip(&cases).for_each(|(name, (_, state))| self.case(name, *state));
    }

    /// Counts from the named cases, for runners that print no sum.
    fn count_cases(&mut self) {
        let of = |state: CaseState| {
            u32::try_from(self.cases.values().filter(|known| **known == state).count()).unwrap_or(u32::MAX)
        };
        (self.passed, self.failed, self.skipped) =
            (of(CaseState::Passed), of(CaseState::Failed), of(CaseState::Skipped));
    }

    /// Takes in what another report of the same run says.
    pub(crate) fn join(&mut self, other: &Self) {
        self.add(other.passed, other.failed, other.skipped);
        self.diagnostics = self.diagnostics.saturating_add(other.diagnostics);
        for (name, state) in &other.cases {
            self.case(name, *state);
        }
        for name in &other.failing {
            self.fail(name);
        }
    }

    fn add(&mut self, passed: u32, failed: u32, skipped: u32) {
        self.passed = self.passed.saturating_add(passed);
        self.failed = self.failed.saturating_add(failed);
        self.skipped = self.skipped.saturating_add(skipped);
    }
}

/// Runners whose output is tried in turn; those with the most particular form first.
const FORMS: [TestRunner; 19] = [
    TestRunner::Junit,
    TestRunner::Nextest,
    TestRunner::Cargo,
    TestRunner::Pytest,
    TestRunner::Unittest,
    TestRunner::Maven,
    TestRunner::Gradle,
    TestRunner::Dotnet,
    TestRunner::Rspec,
    TestRunner::Minitest,
    TestRunner::Phpunit,
    TestRunner::Ctest,
    TestRunner::Tcltest,
    TestRunner::Go,
    TestRunner::Jest,
    TestRunner::Mocha,
    TestRunner::Node,
    TestRunner::Bats,
    TestRunner::Tap,
];

/// Reads what a check printed. A form that is not the expected one is tried as the others are, so that `make test` and
/// scripts that call a runner are understood.
pub fn read(runner: TestRunner, output: &str) -> RunnerReport {
    let mut report = by(runner, output);
    if !report.is_counted() {
        let others = FORMS.into_iter().filter(|other| *other != runner).map(|other| by(other, output));
        report = others.into_iter().find(RunnerReport::is_counted).unwrap_or(report);
    }
    report.failed = report.failed.max(u32::try_from(report.failing.len()).unwrap_or(u32::MAX));
    report.diagnostics = diagnostics(output);
    report
}

fn by(runner: TestRunner, output: &str) -> RunnerReport {
    match runner {
        TestRunner::Cargo => cargo::test(output),
        TestRunner::Nextest => cargo::nextest(output),
        TestRunner::Pytest => pytest::read(output),
        TestRunner::Unittest => unittest::read(output),
        TestRunner::Go => go::read(output),
        TestRunner::Node => node::read(output),
        TestRunner::Jest => jest::read(output),
        TestRunner::Mocha => mocha::read(output),
        TestRunner::Maven => maven::read(output),
        TestRunner::Gradle => gradle::read(output),
        TestRunner::Dotnet => dotnet::read(output),
        TestRunner::Rspec => rspec::read(output),
        TestRunner::Minitest => minitest::read(output),
        TestRunner::Phpunit => phpunit::read(output),
        TestRunner::Ctest => ctest::read(output),
        TestRunner::Bats => bats::read(output),
        TestRunner::Tap => tap::read(output),
        TestRunner::Tcltest => tcltest::read(output),
        TestRunner::Junit => junit::read(output),
        TestRunner::Make | TestRunner::Other => RunnerReport::default(),
    }
}

/// The end of what a check printed, for whoever has nothing better to read.
pub fn last_lines(output: &str, most: usize) -> String {
    let lines: Vec<String> = output.lines().map(plain).filter(|line| !line.trim().is_empty()).collect();
    let from = lines.len().saturating_sub(most);
    lines[from..].iter().map(|line| clip(line)).collect::<Vec<_>>().join("\n")
}

/// How many errors compilers and linters report, in the forms most of them use.
fn diagnostics(output: &str) -> u32 {
    let mut count: u32 = 0;
    for line in output.lines().map(plain) {
        let line = line.trim_start();
        let rustc = line.starts_with("error[") || (line.starts_with("error: ") && !is_summary(line));
        let placed = line
            .split_once(": error")
            .is_some_and(|(place, rest)| place.contains(':') && rest.starts_with([':', ' ', '[']));
        let placed = placed || [" - error TS", "): error TS"].iter().any(|form| line.contains(form));
        count = count.saturating_add(u32::from(rustc || placed));
    }
    count
}

/// Lines that only sum up what was told before.
fn is_summary(line: &str) -> bool {
    ["could not compile", "aborting due to", "test failed", "test run failed", "process didn't exit"]
        .iter()
        .any(|part| line.contains(part))
}

/// A name that fits.
fn clip(name: &str) -> String {
    let mut end = name.len().min(NAME);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name[..end].chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
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

/// The number directly after a label, as in `Failures: 1,` or `failures=1`.
fn count_after(line: &str, label: &str) -> Option<u32> {
    let mut rest = line;
    while let Some(at) = rest.find(label) {
        let whole = !rest[..at].ends_with(|c: char| c.is_alphanumeric());
        rest = &rest[at + label.len()..];
        let number: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
        if let (true, Ok(number)) = (whole, number.parse()) {
            return Some(number);
        }
    }
    None
}

/// A name without the time a runner prints behind it: `adds (3 ms)`, `adds [12 ms]`, `adds 3ms`.
fn untimed(name: &str) -> &str {
    let name = name.trim();
    let is_time = |text: &str| {
        let text = text.trim_matches(|c: char| "()[] ".contains(c));
        text.starts_with(|c: char| c.is_ascii_digit() || c == '<')
            && text.ends_with(['s', 'm', 'h'])
            && text.chars().all(|c| c.is_ascii_digit() || c.is_whitespace() || "<.,msinuh".contains(c))
    };
    for open in ['(', '['] {
        if let Some(at) = name.rfind(open)
            && is_time(&name[at..])
        {
            return name[..at].trim_end();
        }
    }
    match name.rsplit_once(' ') {
        Some((rest, last)) if is_time(last) => rest.trim_end(),
        _ => name,
    }
}

/// A line without colours.
pub(crate) fn plain(line: &str) -> String {
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
