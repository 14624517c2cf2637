//! `cargo xtask battery breaks`: each promise is broken once on purpose, and its test has to notice.
//!
//! All of it happens in a copy of the tree outside of the repository; only the build folder is kept between calls.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use serde::Deserialize;

use crate::process::{self, Echo, ProgramEnd};
use crate::skipped::SkippedTests;
use crate::{XtaskFailure, project, space};

/// Where the list of breaks is, relative to the root.
pub(crate) const LIST: &str = "breaks/breaks.toml";

/// How long one test may take, broken or not, in seconds; its build is not counted.
const TEST_SECONDS: u64 = 300;

/// One way to break one promise.
#[derive(Deserialize, Debug, Clone, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct PromiseBreak {
    /// The promise, as in `INV-01`.
    pub(crate) id: String,
    /// The patch, relative to the folder of the list.
    pub(crate) patch: String,
    /// The package whose test has to turn red.
    pub(crate) package: String,
    /// The integration test to build, or `lib` or `bin` for unit tests.
    pub(crate) binary: String,
    /// The start of, or a part of, the name of the test.
    pub(crate) test: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BreakList {
    #[serde(default, rename = "break")]
    breaks: Vec<PromiseBreak>,
}

/// Reads the list of breaks.
pub(crate) fn parse(text: &str) -> Result<Vec<PromiseBreak>, XtaskFailure> {
    let list: BreakList = toml::from_str(text).map_err(|error| format!("{LIST}: {error}"))?;
    Ok(list.breaks)
}

fn listed() -> Result<Vec<PromiseBreak>, XtaskFailure> {
    let text = fs::read_to_string(project::root().join(LIST))
        .map_err(|error| format!("cannot read {LIST}: {error}"))?;
    parse(&text)
}

/// A copy of the tree whose tests are being built.
pub(crate) struct PreparedBreaks {
    copy: Arc<BreakTreeCopy>,
    builds: JoinHandle<()>,
}

/// Begins to build what the breaks need, with what other tests leave of the processors: most of them wait.
pub(crate) fn prepare(target: &Path) -> Result<PreparedBreaks, XtaskFailure> {
    let breaks = listed()?;
    let copy = Arc::new(BreakTreeCopy::of_the_tree(target)?);
    let builder = Arc::clone(&copy);
    let builds = thread::spawn(move || {
        let mut seen = BTreeSet::new();
        for one in breaks.iter().filter(|one| seen.insert((one.package.clone(), one.binary.clone()))) {
            // What does not build is told when its turn comes.
            let _ =
                process::tell(&mut process::behind_others(&builder.cargo(one, &["--no-run"])), Echo::Silent);
        }
    });
    Ok(PreparedBreaks { copy, builds })
}

/// Breaks every promise in turn; an error when a test did not turn red or could not be tried.
pub(crate) fn run(
    target: &Path,
    prepared: Option<PreparedBreaks>,
    closing: &mut Vec<String>,
) -> Result<(), XtaskFailure> {
    let breaks = listed()?;
    let copy = match prepared {
        Some(PreparedBreaks { copy, builds }) => {
            builds.join().map_err(|_| "the builds for the breaks came to nothing")?;
            copy
        }
        None => Arc::new(BreakTreeCopy::of_the_tree(target)?),
    };
    let green = copy.prove_green(&breaks);
    let mut rows = Vec::new();
    for one in &breaks {
        eprintln!("--- {}: {}", one.id, one.patch);
        let result = match &green {
            Ok(()) => copy.try_break(one),
            Err(failures) => failures.iter().find(|(key, _)| *key == one.key()).map_or_else(
                || copy.try_break(one),
                |(_, failure)| Err(format!("not green before the break: {failure}")),
            ),
        };
        rows.push((one.clone(), result));
    }
    space::give_back(&copy.target);
    let (lines, failed) = table(&rows);
    closing.extend(lines);
    if failed == 0 { Ok(()) } else { Err(format!("{failed} breaks did not do what they should")) }
}

/// What is known of one run of a test.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TestVerdict {
    Green,
    Red,
    /// Neither counts: it did not build, run or end as tests do.
    Nothing(String),
}

type BreakFailures = Vec<((String, String, String), XtaskFailure)>;

impl PromiseBreak {
    fn key(&self) -> (String, String, String) {
        (self.package.clone(), self.binary.clone(), self.test.clone())
    }

    fn target_args(&self) -> Vec<String> {
        match self.binary.as_str() {
            "lib" => vec!["--lib".into()],
            "bin" => vec!["--bins".into()],
            name => vec!["--test".into(), name.into()],
        }
    }
}

/// The copied tree that gets broken and mended.
struct BreakTreeCopy {
    tree: tempfile::TempDir,
    target: PathBuf,
}

impl BreakTreeCopy {
    fn of_the_tree(target: &Path) -> Result<Self, XtaskFailure> {
        Ok(Self { tree: copied_tree("holon-breaks-")?, target: target.join("breaks") })
    }

    fn cargo(&self, one: &PromiseBreak, more: &[&str]) -> Command {
        let mut cargo = project::cargo();
        cargo
            .current_dir(self.tree.path())
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_INCREMENTAL", "1");
        cargo.env_remove("CARGO_MANIFEST_DIR");
        cargo.args(["test", "--package", &one.package]).args(one.target_args()).args(more);
        cargo
    }

    /// Every test has to pass while nothing is broken, or a red one would prove nothing.
    fn prove_green(&self, breaks: &[PromiseBreak]) -> Result<(), BreakFailures> {
        let mut seen = BTreeSet::new();
        let mut failures = Vec::new();
        for one in breaks.iter().filter(|one| seen.insert(one.key())) {
            eprintln!("--- unbroken: {} in {} {}", one.test, one.package, one.binary);
            match self.verdict(one) {
                Ok(TestVerdict::Green) => {}
                Ok(TestVerdict::Red) => failures.push((one.key(), "it fails".into())),
                Ok(TestVerdict::Nothing(why)) | Err(why) => failures.push((one.key(), why)),
            }
        }
        if failures.is_empty() { Ok(()) } else { Err(failures) }
    }

    fn try_break(&self, one: &PromiseBreak) -> Result<(), XtaskFailure> {
        self.apply(one, &[])?;
        let verdict = self.verdict(one);
        self.apply(one, &["--reverse"])
            .map_err(|failure| format!("cannot mend the tree again: {failure}"))?;
        match verdict? {
            TestVerdict::Red => Ok(()),
            TestVerdict::Green => Err(format!("`{}` stayed green", one.test)),
            TestVerdict::Nothing(why) => Err(why),
        }
    }

    fn apply(&self, one: &PromiseBreak, more: &[&str]) -> Result<(), XtaskFailure> {
        let patch = project::root().join(LIST).with_file_name(&one.patch);
        let mut git = Command::new("git");
        git.current_dir(self.tree.path())
            .env("GIT_CEILING_DIRECTORIES", "/")
            .env("GIT_CONFIG_GLOBAL", "/dev/null");
        if let Some(above) = self.tree.path().parent() {
            git.env("GIT_CEILING_DIRECTORIES", above);
        }
        process::capture(git.args(["apply", "--whitespace=nowarn"]).args(more).arg(patch)).map(drop)
    }

    fn verdict(&self, one: &PromiseBreak) -> Result<TestVerdict, XtaskFailure> {
        let build = process::tell(&mut self.cargo(one, &["--no-run"]), Echo::Silent)?;
        if !build.succeeded() {
            build.lines.iter().for_each(|line| eprintln!("{line}"));
            return Ok(TestVerdict::Nothing(format!("it does not build: {}", build.complaint())));
        }
        let skipped = SkippedTests::collect()?;
        let mut command = process::with_deadline(TEST_SECONDS, &self.cargo(one, &["--", &one.test]));
        skipped.tell(&mut command);
        let told = process::tell(&mut command, Echo::Silent)?;
        Ok(judge(&told, &skipped.reasons()))
    }
}

/// What a run of tests says, from how it ended.
pub(crate) fn judge(told: &ProgramEnd, skipped: &[String]) -> TestVerdict {
    let ran = tests_run(&told.lines);
    let failed = told.lines.iter().any(|line| line.starts_with("test result: FAILED"));
    if let Some(reason) = skipped.first() {
        return TestVerdict::Nothing(format!("skipped on this machine:{reason}"));
    }
    match told.code {
        Some(0) if ran > 0 => TestVerdict::Green,
        Some(0) => TestVerdict::Nothing("no test has that name".into()),
        Some(124 | 137) => TestVerdict::Nothing(format!("it did not end within {TEST_SECONDS} s")),
        _ if failed && ran > 0 => TestVerdict::Red,
        code => TestVerdict::Nothing(format!(
            "the test run ended with {} and no result: {}",
            code.map_or_else(|| "a signal".into(), |code| format!("code {code}")),
            told.complaint()
        )),
    }
}

/// How many tests ran, from lines such as `test result: ok. 1 passed; 0 failed; …`.
fn tests_run(lines: &[String]) -> u64 {
    let numbers = |line: &String| -> Option<u64> {
        let counts = line.strip_prefix("test result:")?.split_once(". ")?.1;
        let number = |word: &str| -> u64 {
            let part = counts.split("; ").find_map(|part| part.strip_suffix(word));
            part.and_then(|digits| digits.trim().parse().ok()).unwrap_or(0)
        };
        Some(number(" passed") + number(" failed"))
    };
    lines.iter().filter_map(numbers).sum()
}

fn table(rows: &[(PromiseBreak, Result<(), XtaskFailure>)]) -> (Vec<String>, usize) {
    let mut lines: Vec<String> = rows
        .iter()
        .map(|(one, result)| match result {
            Ok(()) => format!("{:<8} {:<24} red as it should be: {}", one.id, one.patch, one.test),
            Err(why) => format!("{:<8} {:<24} FAILED: {why}", one.id, one.patch),
        })
        .collect();
    let failed = rows.iter().filter(|(_, result)| result.is_err()).count();
    lines.push(format!("breaks: {} passed, {failed} failed", rows.len() - failed));
    (lines, failed)
}

/// A copy of everything that belongs to the tree, in a temporary folder.
pub(crate) fn copied_tree(prefix: &str) -> Result<tempfile::TempDir, XtaskFailure> {
    let tree = tempfile::Builder::new().prefix(prefix).tempdir();
    let tree = tree.map_err(|error| format!("cannot make a temporary folder: {error}"))?;
    for file in project::files()? {
        copy_file(&project::root().join(&file), &tree.path().join(&file))
            .map_err(|error| format!("copying {}: {error}", file.display()))?;
    }
    Ok(tree)
}

fn copy_file(from: &Path, to: &Path) -> std::io::Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    if from.symlink_metadata()?.is_symlink() {
        std::os::unix::fs::symlink(fs::read_link(from)?, to)
    } else {
        fs::copy(from, to).map(drop)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn told(code: i32, text: &str) -> ProgramEnd {
        ProgramEnd { code: Some(code), lines: text.lines().map(str::to_owned).collect() }
    }

    #[test]
    fn only_a_failing_test_is_red() {
        let ok = "running 1 test\ntest result: ok. 1 passed; 0 failed; 0 ignored";
        let red = "test result: FAILED. 0 passed; 1 failed; 0 ignored";
        assert_eq!(judge(&told(0, ok), &[]), TestVerdict::Green);
        assert_eq!(judge(&told(101, red), &[]), TestVerdict::Red);
        for (code, text) in [
            (0, "test result: ok. 0 passed; 0 failed"),
            (101, "error: could not compile"),
            (124, red),
            (137, ""),
        ] {
            assert!(matches!(judge(&told(code, text), &[]), TestVerdict::Nothing(_)), "{code} {text}");
        }
        assert!(matches!(judge(&told(0, ok), &["  x: no root".into()]), TestVerdict::Nothing(_)));
    }

    #[test]
    fn the_table_counts() {
        let text = "[[break]]\nid = \"INV-01\"\npatch = \"INV-01.patch\"\npackage = \"holon\"\nbinary = \"run\"\ntest = \"inv_01_\"\n";
        let one = parse(text).unwrap().remove(0);
        assert_eq!(one.target_args(), ["--test", "run"]);
        let rows = [(one.clone(), Ok(())), (one, Err("stayed green".into()))];
        let (lines, failed) = table(&rows);
        assert_eq!(failed, 1);
        assert_eq!(lines[2], "breaks: 1 passed, 1 failed");
    }

    /// Told within seconds, not when all long tests are over.
    #[test]
    fn every_break_can_be_applied() {
        for one in listed().unwrap() {
            let patch = project::root().join(LIST).with_file_name(&one.patch);
            let mut git = Command::new("git");
            git.current_dir(project::root()).args(["apply", "--check"]).arg(patch);
            process::capture(&mut git).unwrap();
        }
    }

    #[test]
    fn an_unknown_key_in_the_list_is_an_error() {
        assert!(parse("[[break]]\nid = \"INV-01\"\nfilter = \"x\"\n").is_err());
        assert_eq!(parse("").unwrap(), []);
    }
}
