//! `cargo xtask battery breaks`: each promise is broken once on purpose, and its test has to notice.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde::Deserialize;

use crate::skipped::SkippedTests;
use crate::switched::{SwitchedCopy, TestBinary, TrialPace, side_by_side};
use crate::verdict::{TestVerdict, judge};
use crate::{XtaskFailure, project};

/// Where the list of breaks is, relative to the root.
pub(crate) const LIST: &str = "breaks/breaks.toml";

/// How long one test may take, broken or not, in seconds.
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

impl PromiseBreak {
    fn tests(&self) -> TestBinary {
        TestBinary { package: self.package.clone(), binary: self.binary.clone() }
    }

    /// What is run, whatever is broken.
    fn key(&self) -> (TestBinary, String) {
        (self.tests(), self.test.clone())
    }
}

/// All breaks with their numbers in a copy of the tree, or why one has none.
pub(crate) struct NumberedBreaks(Vec<(PromiseBreak, Result<usize, XtaskFailure>)>);

/// Puts every break into the copy.
pub(crate) fn add_to(copy: &mut SwitchedCopy) -> Result<NumberedBreaks, XtaskFailure> {
    let add = |one: PromiseBreak| {
        let patch = project::root().join(LIST).with_file_name(&one.patch);
        let number = copy.tree().patched(&patch).and_then(|changed| copy.add(changed, one.tests()));
        (one, number)
    };
    Ok(NumberedBreaks(listed()?.into_iter().map(add).collect()))
}

impl NumberedBreaks {
    /// Breaks every promise; an error when a test did not turn red or could not be tried.
    pub(crate) fn try_all(&self, copy: &SwitchedCopy, closing: &mut Vec<String>) -> Result<(), XtaskFailure> {
        let red = self.red_before(copy);
        let results = side_by_side(self.0.len(), |at| {
            let (one, number) = &self.0[at];
            eprintln!("--- {}: {}", one.id, one.patch);
            let number = number.clone()?;
            match red.get(&one.key()) {
                Some(why) => Err(format!("not green before the break: {why}")),
                None => try_break(copy, one, number),
            }
        });
        let rows: Vec<_> = self.0.iter().map(|(one, _)| one.clone()).zip(results).collect();
        closing.extend(self.built_apart(copy));
        let (lines, failed) = table(&rows);
        closing.extend(lines);
        if failed == 0 { Ok(()) } else { Err(format!("{failed} breaks did not do what they should")) }
    }

    /// Every test has to pass while nothing is broken, or a red one would prove nothing.
    fn red_before(&self, copy: &SwitchedCopy) -> BTreeMap<(TestBinary, String), XtaskFailure> {
        let mut seen = BTreeSet::new();
        let once: Vec<&PromiseBreak> =
            self.0.iter().map(|(one, _)| one).filter(|one| seen.insert(one.key())).collect();
        let verdicts = side_by_side(once.len(), |at| {
            eprintln!("--- unbroken: {} in {} {}", once[at].test, once[at].package, once[at].binary);
            verdict(copy, once[at], 0)
        });
        let why = |verdict| match verdict {
            Ok(TestVerdict::Green) => None,
            Ok(TestVerdict::Red) => Some("it fails".to_owned()),
            Ok(TestVerdict::Nothing(why)) | Err(why) => Some(why),
        };
        let all = once.iter().map(|one| one.key()).zip(verdicts);
        all.filter_map(|(key, verdict)| Some((key, why(verdict)?))).collect()
    }

    fn built_apart(&self, copy: &SwitchedCopy) -> Option<String> {
        let apart =
            |number: &Result<usize, XtaskFailure>| number.as_ref().is_ok_and(|n| copy.apart().contains(n));
        let names: Vec<&str> =
            self.0.iter().filter(|(_, number)| apart(number)).map(|(one, _)| one.patch.as_str()).collect();
        (!names.is_empty()).then(|| {
            format!("breaks built on their own, {} of {}: {}", names.len(), self.0.len(), names.join(", "))
        })
    }
}

fn try_break(copy: &SwitchedCopy, one: &PromiseBreak, number: usize) -> Result<(), XtaskFailure> {
    match verdict(copy, one, number)? {
        TestVerdict::Red => Ok(()),
        TestVerdict::Green => Err(format!("`{}` stayed green", one.test)),
        TestVerdict::Nothing(why) => Err(why),
    }
}

fn verdict(copy: &SwitchedCopy, one: &PromiseBreak, number: usize) -> Result<TestVerdict, XtaskFailure> {
    let skipped = SkippedTests::collect()?;
    let variant = match copy.variant(number, &one.tests(), TrialPace::Alone)? {
        Ok(variant) => variant,
        Err(why) => return Ok(TestVerdict::Nothing(why)),
    };
    let told = variant.run(&[&one.test], TEST_SECONDS, |command| skipped.tell(command))?;
    Ok(judge(&told, &skipped.reasons()))
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::process;
    use std::process::Command;

    #[test]
    fn the_table_counts() {
        let text = "[[break]]\nid = \"INV-01\"\npatch = \"INV-01.patch\"\npackage = \"holon\"\nbinary = \"run\"\ntest = \"inv_01_\"\n";
        let one = parse(text).unwrap().remove(0);
        assert_eq!(one.tests(), TestBinary { package: "holon".into(), binary: "run".into() });
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
