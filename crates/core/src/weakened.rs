//! Tests that a change takes away or makes weaker: pointed out, for a person to judge.

use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use regex::bytes::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::patch::{self, PatchItem};

/// How many lines a test may begin below what says that it is skipped.
const REACH: u8 = 4;

/// What became weaker in one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Weakening {
    /// The file, as it was called before the change.
    pub path: String,
    /// What kind of weakening it is.
    pub kind: WeakeningKind,
    /// How many of them.
    pub count: u64,
}

/// Kinds of weakening.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WeakeningKind {
    /// A file with tests is gone.
    FileDeleted,
    /// There are fewer tests than before.
    TestsRemoved,
    /// Tests are skipped that were not.
    TestsSkipped,
    /// There are fewer assertions than before, in as many tests.
    AssertionsRemoved,
}

impl std::fmt::Display for Weakening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { path, count, .. } = self;
        let many =
            |one: &str, more: &str| if *count == 1 { one.to_owned() } else { format!("{count} {more}") };
        match self.kind {
            WeakeningKind::FileDeleted => {
                write!(f, "{path}: a file with {} was deleted", many("a test", "tests"))
            }
            WeakeningKind::TestsRemoved => write!(f, "{path}: {} removed", many("a test was", "tests were")),
            WeakeningKind::TestsSkipped => {
                write!(f, "{path}: {} now skipped", many("a test is", "tests are"))
            }
            WeakeningKind::AssertionsRemoved => {
                write!(f, "{path}: {} removed", many("an assertion was", "assertions were"))
            }
        }
    }
}

#[derive(Deserialize)]
struct TestLanguagesFile {
    language: Vec<TestLanguageRow>,
}

#[derive(Deserialize)]
struct TestLanguageRow {
    name: String,
    files: Vec<String>,
    test: String,
    assertion: String,
    skip: String,
    comment: String,
}

struct TestLanguage {
    files: GlobSet,
    file: TestLanguageRow,
    /// Prepared when the first file of the language is met: a change seldom touches more than one.
    marks: OnceLock<Option<TestMarkers>>,
}

/// What lines of a language's tests look like.
struct TestMarkers {
    test: Regex,
    assertion: Regex,
    skip: Regex,
    comment: Regex,
}

static LANGUAGES: LazyLock<Vec<TestLanguage>> =
    LazyLock::new(|| load(include_str!("../../../rules/tests.toml")).unwrap_or_default());

fn load(text: &str) -> Result<Vec<TestLanguage>, String> {
    let file: TestLanguagesFile = toml::from_str(text).map_err(|e| e.to_string())?;
    let prepare = |file: TestLanguageRow| -> Result<TestLanguage, String> {
        let wrong = |e: &dyn std::fmt::Display| format!("{}: {e}", file.name);
        let mut globs = GlobSetBuilder::new();
        for glob in &file.files {
            globs.add(GlobBuilder::new(glob).literal_separator(true).build().map_err(|e| wrong(&e))?);
        }
        Ok(TestLanguage { files: globs.build().map_err(|e| wrong(&e))?, file, marks: OnceLock::new() })
    };
    file.language.into_iter().map(prepare).collect()
}

impl TestLanguage {
    fn marks(&self) -> Option<&TestMarkers> {
        let compile = || -> Result<TestMarkers, regex::Error> {
            let TestLanguageRow { test, assertion, skip, comment, .. } = &self.file;
            Ok(TestMarkers {
                test: Regex::new(test)?,
                assertion: Regex::new(assertion)?,
                skip: Regex::new(skip)?,
                comment: Regex::new(comment)?,
            })
        };
        self.marks.get_or_init(|| compile().ok()).as_ref()
    }
}

/// The language whose tests may be in a file.
fn language_of(path: &str) -> Option<&'static TestLanguage> {
    LANGUAGES.iter().find(|language| language.files.is_match(path))
}

/// Whether a path is that of a file which holds tests by its name alone.
pub fn is_test_file(path: &str) -> bool {
    // Rust's tests live among other code; its name alone tells only for files below `tests/`.
    language_of(path).is_some_and(|l| l.file.name != "rust" || path.split('/').any(|part| part == "tests"))
}

#[derive(Default)]
struct TestBalance {
    deleted: bool,
    tests: i64,
    removed_tests: i64,
    assertions: i64,
    skips: i64,
    /// Skips that came together with a test, above or in it.
    skips_of_added: i64,
    /// What the added lines right before this one were about.
    run: AddedBlock,
}

/// Added lines that follow each other without a gap.
#[derive(Default)]
struct AddedBlock {
    last_line: u64,
    in_added_test: bool,
    /// Skips that wait for the test they stand above, and how many lines they may still wait.
    above: (i64, u8),
}

impl TestBalance {
    /// An added line, with its number.
    fn added(&mut self, language: &TestLanguage, line: &[u8], number: u64) {
        if number != self.run.last_line + 1 {
            self.run = AddedBlock::default();
        }
        self.run.last_line = number;
        let Some(marks) = language.marks().filter(|marks| !marks.comment.is_match(line)) else { return };
        let (test, skip) = (marks.test.is_match(line), marks.skip.is_match(line));
        let (waiting, lines) = self.run.above;
        self.run.above = if lines == 0 { (0, 0) } else { (waiting, lines - 1) };
        if test {
            self.skips_of_added += self.run.above.0;
            self.run.above = (0, 0);
            self.run.in_added_test = true;
        }
        match (skip, self.run.in_added_test) {
            (true, true) => self.skips_of_added += 1,
            (true, false) => self.run.above = (self.run.above.0 + 1, REACH),
            _ => {}
        }
        self.count(language, line, 1);
    }

    fn count(&mut self, language: &TestLanguage, line: &[u8], sign: i64) {
        let Some(marks) = language.marks() else { return };
        // An assertion that was commented out is gone.
        if marks.comment.is_match(line) {
            return;
        }
        if marks.test.is_match(line) {
            self.tests += sign;
            self.removed_tests += i64::from(sign < 0);
        }
        self.assertions += if marks.assertion.is_match(line) { sign } else { 0 };
        self.skips += if marks.skip.is_match(line) { sign } else { 0 };
    }

    fn weakening(&self) -> Option<(WeakeningKind, i64)> {
        if self.deleted {
            return (self.removed_tests > 0).then_some((WeakeningKind::FileDeleted, self.removed_tests));
        }
        if self.tests < 0 {
            return Some((WeakeningKind::TestsRemoved, -self.tests));
        }
        // A new test that is skipped takes nothing away from those that were there; one that was written anew does.
        let skips = self.skips - self.skips_of_added.min(self.tests).max(0);
        if skips > 0 {
            return Some((WeakeningKind::TestsSkipped, skips));
        }
        (self.assertions < 0 && self.tests == 0)
            .then_some((WeakeningKind::AssertionsRemoved, -self.assertions))
    }
}

/// Everything a patch takes away from tests, by path. Tests that move to another file of the same patch are not counted.
pub fn weakened(patch: &[u8]) -> Vec<Weakening> {
    let mut files: BTreeMap<String, TestBalance> = BTreeMap::new();
    let mut current = String::new();
    patch::walk(patch, &mut |step| match step {
        PatchItem::File { old, new } => {
            current = old.or(new).unwrap_or_default().to_owned();
            let balance = files.entry(current.clone()).or_default();
            balance.deleted = old.is_some() && new.is_none();
        }
        PatchItem::Added { path, text, line } => {
            if let (Some(language), Some(balance)) = (language_of(path), files.get_mut(&current)) {
                balance.added(language, text, line);
            }
        }
        PatchItem::Removed { path, text } => {
            if let (Some(language), Some(balance)) = (language_of(path), files.get_mut(&current)) {
                balance.count(language, text, -1);
            }
        }
    });
    // What appears in one file may have come from another: moved tests are not lost ones.
    let mut moved: i64 = files.values().filter(|b| b.tests > 0).map(|b| b.tests).sum();
    let mut found = Vec::new();
    for (path, balance) in files {
        let Some((kind, count)) = balance.weakening() else { continue };
        let moves = matches!(kind, WeakeningKind::FileDeleted | WeakeningKind::TestsRemoved);
        let taken = if moves { count.min(moved) } else { 0 };
        moved -= taken;
        if let Some(count) = u64::try_from(count - taken).ok().filter(|c| *c > 0) {
            found.push(Weakening { path, kind, count });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn file(path: &str, removed: &[&str], added: &[&str]) -> String {
        let mut text = format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n");
        text += &format!("@@ -1,{} +1,{} @@\n", removed.len(), added.len());
        removed.iter().for_each(|line| text += &format!("-{line}\n"));
        added.iter().for_each(|line| text += &format!("+{line}\n"));
        text
    }

    fn check(patch: &str, expect: &[&str]) {
        let found: Vec<String> = weakened(patch.as_bytes()).iter().map(ToString::to_string).collect();
        assert_eq!(found, expect, "{patch}");
    }

    #[test]
    fn the_table_is_sound() {
        let languages = load(include_str!("../../../rules/tests.toml")).unwrap();
        assert!(languages.len() > 5);
        for language in &languages {
            assert!(language.marks().is_some(), "{}", language.file.name);
        }
    }

    #[test]
    fn what_makes_tests_weaker() {
        check(
            &file("src/a.rs", &["    #[test]", "    fn a() {", "assert!(x);"], &[]),
            &["src/a.rs: a test was removed"],
        );
        check(&file("src/a.rs", &[], &["    #[ignore = \"slow\"]"]), &["src/a.rs: a test is now skipped"]);
        check(
            &file("tests/test_a.py", &["    assert x == 1", "    assert y"], &["    pass"]),
            &["tests/test_a.py: 2 assertions were removed"],
        );
        check(
            &file("a.test.ts", &["it('works', () => {"], &["it.skip('works', () => {"]),
            &["a.test.ts: a test was removed"],
        );
        check(
            &file("tests/test_a.py", &["    self.assertEqual(x, 1)"], &["    # self.assertEqual(x, 1)"]),
            &["tests/test_a.py: an assertion was removed"],
        );
        check(&file("a_test.go", &[], &["\tt.Skip(\"later\")"]), &["a_test.go: a test is now skipped"]);
        check(
            "diff --git a/test_b.py b/test_b.py\ndeleted file mode 100644\n--- a/test_b.py\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-def test_x():\n-    assert f()\n",
            &["test_b.py: a file with a test was deleted"],
        );
    }

    #[test]
    fn a_new_test_does_not_excuse_the_skipping_of_another() {
        // In another place of the file …
        let apart = "diff --git a/a_test.go b/a_test.go\n--- a/a_test.go\n+++ b/a_test.go\n\
            @@ -1,1 +1,2 @@\n func TestOld(t *testing.T) {\n+\tt.Skip()\n\
            @@ -9,0 +11,3 @@\n+func TestNew(t *testing.T) {\n+\tt.Fatal()\n+}\n";
        check(apart, &["a_test.go: a test is now skipped"]);
        // … and written anew with a mark above it.
        check(
            &file(
                "test_a.py",
                &["def test_a():", "    assert f()"],
                &["@pytest.mark.skip", "def test_a():", "    assert f()"],
            ),
            &["test_a.py: a test is now skipped"],
        );
    }

    #[test]
    fn what_does_not() {
        // Rewritten, more, moved, and code that only looks like a test elsewhere.
        check(&file("src/a.rs", &["assert_eq!(a, 1);"], &["assert_eq!(a, 2);"]), &[]);
        check(&file("src/a.rs", &[], &["#[test]", "fn b() { assert!(true); }"]), &[]);
        check(
            &(file("src/a.rs", &["#[test]", "assert!(x);"], &[])
                + &file("tests/b.rs", &[], &["#[test]", "assert!(x);"])),
            &[],
        );
        check(&file("src/app.py", &["assert x"], &[]), &[]);
        // New tests that are skipped here and there.
        check(
            &file("tests/a.rs", &[], &["#[test]", "#[ignore = \"slow\"]", "fn a() {", "assert!(x);", "}"]),
            &[],
        );
        check(
            &file("a_test.go", &[], &["func TestA(t *testing.T) {", "if testing.Short() {", "t.Skip(\"x\")"]),
            &[],
        );
        check(
            &file(
                "test_a.py",
                &[],
                &["@pytest.mark.skipif(win, reason='x')", "def test_a():", "    assert f()"],
            ),
            &[],
        );
        check(&file("README.md", &["#[test]"], &[]), &[]);
        check("", &[]);
    }

    #[test]
    fn test_files_by_name() {
        for (path, expect) in [
            ("tests/a.rs", true),
            ("src/lib.rs", false),
            ("pkg/test_x.py", true),
            ("pkg/x.py", false),
            ("web/a.spec.tsx", true),
            ("x_test.go", true),
        ] {
            assert_eq!(is_test_file(path), expect, "{path}");
        }
    }
}
