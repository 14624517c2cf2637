//! Tests that are gone, skipped, or assert less than before.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use holon_core::artifact::ethics::RiskLevel;
use holon_core::weakened::{self, WeakeningKind};
use serde::Deserialize;

use super::EthicsCheckResult;
use crate::change::FileChangeLines;
use crate::finding::{EthicsCheckId, EthicsFinding};
use crate::input::AssessmentInput;
use crate::pattern::RulePattern;

struct TestWeakeningTable {
    vacuous: RulePattern,
    strong: RulePattern,
    weak: RulePattern,
    neutralised: RulePattern,
    asked: RulePattern,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TestWeakeningFile {
    vacuous: String,
    strong: String,
    weak: String,
    neutralised: String,
    asked: String,
}

static TABLE: LazyLock<Result<TestWeakeningTable, String>> =
    LazyLock::new(|| load(include_str!("../../../../rules/ethics/tests.toml")));

fn load(text: &str) -> Result<TestWeakeningTable, String> {
    let file: TestWeakeningFile = toml::from_str(text).map_err(|e| e.to_string())?;
    Ok(TestWeakeningTable {
        vacuous: RulePattern::new(&file.vacuous)?,
        strong: RulePattern::new(&file.strong)?,
        weak: RulePattern::new(&file.weak)?,
        neutralised: RulePattern::new(&file.neutralised)?,
        asked: RulePattern::new(&file.asked)?,
    })
}

/// What the change takes away from tests. A person who asked for it in the goal is only reminded.
pub(super) fn check(input: &AssessmentInput, files: &[FileChangeLines]) -> EthicsCheckResult {
    let table = TABLE.as_ref().map_err(Clone::clone)?;
    let asked = table.asked.is_match(&input.goal);
    let level = |severity| if asked { RiskLevel::Medium } else { severity };
    let mut found = Vec::new();
    let push = |rule: &str, severity, what: String, path: &str, line| {
        EthicsFinding::new(EthicsCheckId::Tests, rule, level(severity), what).at(path, line)
    };
    let by_path: BTreeMap<&str, &FileChangeLines> =
        files.iter().rev().map(|file| (file.path.as_str(), file)).collect();
    let deleted = files.iter().filter(|file| file.is_deleted && !file.place.test);
    let gone: BTreeSet<String> =
        deleted.map(|file| stem(&file.path)).filter(|stem| !stem.is_empty()).collect();
    for weakening in weakened::weakened(&input.patch) {
        let rule = match weakening.kind {
            WeakeningKind::FileDeleted => "test-file-deleted",
            WeakeningKind::TestsRemoved => "tests-removed",
            WeakeningKind::TestsSkipped => "tests-skipped",
            WeakeningKind::AssertionsRemoved => "assertions-removed",
        };
        // Where the tested code goes as well, its tests have nothing left to do.
        let severity = match weakening.kind {
            WeakeningKind::FileDeleted | WeakeningKind::TestsRemoved
                if gone.contains(&stem(&weakening.path)) =>
            {
                RiskLevel::Medium
            }
            WeakeningKind::AssertionsRemoved
                if by_path.get(weakening.path.as_str()).is_some_and(|file| table.rewritten(file)) =>
            {
                RiskLevel::Medium
            }
            _ => RiskLevel::High,
        };
        found.push(push(rule, severity, weakening.to_string(), &weakening.path, 0));
    }
    for file in files {
        if let Some((line, what)) = table.hollow(file) {
            found.push(push("assertions-weakened", RiskLevel::High, what.to_owned(), &file.path, line));
        }
        let settings = file.place.script
            || file.place.data
            || file.place.credits
            || file.path.ends_with(".ini")
            || file.path.ends_with(".cfg")
            || file.path.ends_with(".js")
            || file.path.ends_with(".py");
        let already = LazyCell::new(|| file.removed.iter().any(|old| table.neutralised.is_match(old)));
        for line in file.added.iter().filter(|line| settings && !line.comment && !file.place.docs) {
            if table.neutralised.is_match(&line.text) && !*already {
                let what = "tests no longer run, or their result no longer counts".to_owned();
                // A step that may fail is not always a test.
                let sure = !line.text.contains("continue-on-error") && !line.text.contains("allow_failure");
                let severity = if sure { RiskLevel::High } else { RiskLevel::Medium };
                found.push(push("tests-neutralised", severity, what, &file.path, line.number));
            }
        }
    }
    Ok(found)
}

impl TestWeakeningTable {
    /// The first line of a test file that asserts nothing where something was asserted before.
    fn hollow(&self, file: &FileChangeLines) -> Option<(u64, &'static str)> {
        let is_test = file.place.test_code || file.removed.iter().any(|line| self.strong.is_match(line));
        let strong = |lines: &mut dyn Iterator<Item = &str>| {
            lines.filter(|line| self.strong.is_match(line) && !self.vacuous.is_match(line)).count()
        };
        let before = strong(&mut file.removed.iter().map(String::as_str));
        let after =
            strong(&mut file.added.iter().filter(|line| !line.comment).map(|line| line.text.as_str()));
        let hollow = file.added.iter().find(|line| !line.comment && self.vacuous.is_match(&line.text));
        if let Some(line) =
            hollow.filter(|_| is_test && !file.removed.iter().any(|old| self.vacuous.is_match(old)))
        {
            return (before > after || before == 0)
                .then_some((line.number, "an assertion that always holds"));
        }
        let weak = file.added.iter().find(|line| !line.comment && self.weak.is_match(&line.text))?;
        (before > after && after == 0)
            .then_some((weak.number, "comparisons became mere checks that something is there"))
    }

    /// Whether some assertions of a file were written anew, so that fewer may say as much.
    fn rewritten(&self, file: &FileChangeLines) -> bool {
        file.added.iter().any(|line| {
            !line.comment && self.strong.is_match(&line.text) && !self.vacuous.is_match(&line.text)
        })
    }
}

/// What a test and the code it tests are both named after.
fn stem(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let name = name.split('.').next().unwrap_or(name).to_lowercase();
    name.trim_start_matches("test_")
        .trim_end_matches("_test")
        .trim_end_matches("test")
        .trim_end_matches("spec")
        .trim_end_matches(['_', '-'])
        .to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    #[test]
    fn the_table_is_sound() {
        super::load(include_str!("../../../../rules/ethics/tests.toml")).unwrap();
    }
}
