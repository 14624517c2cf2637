//! Promises, their tests and their breaks belong together.

use std::collections::BTreeMap;

use super::code::code_only;
use super::{SourceTree, TidyFinding};
use crate::breaks;

/// Where promises are written down: lines that begin with their id. `(later)` or a cell `later` on such a line means
/// that nothing keeps the promise yet.
const DOCUMENT: &str = "ARCHITECTURE.md";

/// Every promise in force has a test named after it and a break, and there are none without a promise.
pub(super) fn check(tree: &SourceTree) -> Vec<TidyFinding> {
    let Some(document) = tree.get(DOCUMENT) else {
        return vec![TidyFinding::new(DOCUMENT, 0, "is missing, and with it the promises")];
    };
    let promises: BTreeMap<u32, Promise> = document
        .lines()
        .filter_map(|(line, text)| Some((promise(text)?, Promise { line, in_force: !is_later(text) })))
        .collect();
    let tests = tests(tree);
    let mut findings = Vec::new();
    for (number, promise) in promises.iter().filter(|(_, promise)| promise.in_force) {
        if !tests.iter().any(|test| test.number == *number) {
            let message = format!("INV-{number:02} has no test `fn inv_{number:02}_…`");
            findings.push(TidyFinding::new(DOCUMENT, promise.line, message));
        }
    }
    for test in tests.iter().filter(|test| !promises.contains_key(&test.number)) {
        let message = format!("`{}` tests a promise that {DOCUMENT} does not make", test.name);
        findings.push(TidyFinding::new(&test.path, test.line, message));
    }
    findings.extend(check_breaks(tree, &promises, &tests));
    findings
}

struct Promise {
    line: usize,
    in_force: bool,
}

struct PromiseTest {
    number: u32,
    name: String,
    path: String,
    line: usize,
}

fn check_breaks(
    tree: &SourceTree,
    promises: &BTreeMap<u32, Promise>,
    tests: &[PromiseTest],
) -> Vec<TidyFinding> {
    let list = match tree.get(breaks::LIST).map(|file| breaks::parse(&file.text)).transpose() {
        Ok(list) => list.unwrap_or_default(),
        Err(failure) => return vec![TidyFinding::new(breaks::LIST, 0, failure)],
    };
    let mut findings = Vec::new();
    for (number, promise) in promises.iter().filter(|(_, promise)| promise.in_force) {
        let id = format!("INV-{number:02}");
        if !list.iter().any(|one| one.id == id) {
            let message = format!("{id} has no break in {}", breaks::LIST);
            findings.push(TidyFinding::new(DOCUMENT, promise.line, message));
        }
    }
    for one in &list {
        let mut object = |message: String| findings.push(TidyFinding::new(breaks::LIST, 0, message));
        let number = promise(&one.id);
        if !number.is_some_and(|number| promises.contains_key(&number)) {
            object(format!("{} breaks a promise that {DOCUMENT} does not make", one.id));
        }
        if tree.get(&format!("breaks/{}", one.patch)).is_none() {
            object(format!("{}: there is no breaks/{}", one.id, one.patch));
        }
        if !tests.iter().any(|test| Some(test.number) == number && test.name.contains(last_part(&one.test))) {
            object(format!("{}: no test of that promise is called `{}`", one.id, one.test));
        }
    }
    let patches =
        tree.0.iter().filter(|file| file.path.starts_with("breaks/") && file.extension() == "patch");
    for file in patches.filter(|file| !list.iter().any(|one| file.path == format!("breaks/{}", one.patch))) {
        findings.push(TidyFinding::new(&file.path, 0, format!("is not in {}", breaks::LIST)));
    }
    findings
}

/// The number of the promise that a line of text begins with, whatever marks a list, table or heading.
fn promise(line: &str) -> Option<u32> {
    let digits = line.trim_start_matches(['-', '*', '#', '|', '>', '`', ' ']).strip_prefix("INV-")?;
    digits.get(..2).and_then(|digits| digits.parse().ok())
}

fn is_later(line: &str) -> bool {
    let line = line.to_lowercase();
    line.contains("(later") || line.split('|').any(|cell| cell.trim() == "later")
}

/// The functions in the crates that are named after a promise.
fn tests(tree: &SourceTree) -> Vec<PromiseTest> {
    let mut found = Vec::new();
    for file in tree.rust().filter(|file| file.path.starts_with("crates/")) {
        for (index, line) in code_only(&file.text).lines().enumerate() {
            let Some((_, rest)) = line.split_once("fn inv_") else { continue };
            let tail: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let number = tail.get(..2).and_then(|digits| digits.parse().ok());
            if let Some(number) = number.filter(|_| tail[2..].starts_with('_')) {
                let (name, path) = (format!("inv_{tail}"), file.path.clone());
                found.push(PromiseTest { number, name, path, line: index + 1 });
            }
        }
    }
    found
}

/// A test may be selected with its modules in front.
fn last_part(test: &str) -> &str {
    test.rsplit("::").next().unwrap_or(test)
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::expect;

    const BREAK: &str = "[[break]]\nid = \"INV-01\"\npatch = \"INV-01.patch\"\npackage = \"holon\"\nbinary = \"run\"\ntest = \"inv_01_reads\"\n";

    #[test]
    fn a_promise_with_test_and_break_is_fine() {
        expect(
            check,
            &[
                ("ARCHITECTURE.md", "Intro about INV-09.\n- **INV-01** reads only\n| INV-02 | x | later |\n"),
                ("crates/holon/tests/run.rs", "#[test]\nfn inv_01_reads_only() {}\n"),
                ("breaks/breaks.toml", BREAK),
                ("breaks/INV-01.patch", "--- a\n"),
            ],
            &[],
        );
    }

    #[test]
    fn a_promise_alone_is_not() {
        expect(
            check,
            &[("ARCHITECTURE.md", "# A\n### INV-01 reads\n")],
            &[("ARCHITECTURE.md:2", "no test"), ("ARCHITECTURE.md:2", "no break")],
        );
        expect(check, &[], &[("ARCHITECTURE.md", "missing")]);
    }

    #[test]
    fn tests_and_breaks_without_a_promise_are_found() {
        expect(
            check,
            &[
                ("ARCHITECTURE.md", "- INV-02 (later) x\n"),
                ("crates/core/src/a.rs", "// fn inv_07_no() {}\nfn inv_03_x() {}\n"),
                ("breaks/breaks.toml", BREAK),
                ("breaks/INV-05.patch", ""),
            ],
            &[
                ("crates/core/src/a.rs:2", "does not make"),
                ("breaks/breaks.toml", "INV-01 breaks a promise"),
                ("breaks/breaks.toml", "no breaks/INV-01.patch"),
                ("breaks/breaks.toml", "no test of that promise"),
                ("breaks/INV-05.patch", "is not in"),
            ],
        );
    }
}
