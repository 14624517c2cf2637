//! Files in which runners write down what they did: which files these are, and how they go with what was printed.

use std::sync::LazyLock;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use serde::Deserialize;

use crate::runner::{RunnerReport, TestRunner, read};

/// The rules, as data.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReportFileRules {
    cases: ReportFileKind,
    coverage: ReportFileKind,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReportFileKind {
    files: Vec<String>,
    options: Vec<String>,
}

static RULES: LazyLock<ReportFileRules> =
    LazyLock::new(|| toml::from_str(include_str!("../../../rules/reports.toml")).unwrap_or_default());

/// A glob for files of reports that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{glob}` is no pattern for files: {why}")]
pub struct WrongGlob {
    /// As it was given.
    pub glob: String,
    /// What is wrong with it.
    pub why: String,
}

/// Where the runner of a check may leave reports.
#[derive(Debug, Clone)]
pub struct ReportLocations {
    places: GlobSet,
}

impl ReportLocations {
    /// The usual places, those the command itself names, and those that were `asked` for. All paths are relative to the
    /// workspace; a command may have changed its folder, so what it names counts below any.
    pub fn of(command: &str, asked: &[String]) -> Result<Self, WrongGlob> {
        let mut set = GlobSetBuilder::new();
        for glob in asked {
            set.add(built(glob.trim_start_matches("./"))?);
        }
        for kind in [&RULES.cases, &RULES.coverage] {
            for glob in &kind.files {
                set.add(built(glob)?);
            }
            for path in named(command, &kind.options) {
                // A name that makes no pattern is one the command keeps to itself.
                if let Ok(glob) = built(&format!("**/{}", globset::escape(path.trim_start_matches("./")))) {
                    set.add(glob);
                }
            }
        }
        let wrong = |e: globset::Error| WrongGlob { glob: asked.join(", "), why: e.to_string() };
        Ok(Self { places: set.build().map_err(wrong)? })
    }

    /// Whether a file may be a report.
    pub fn holds(&self, path: &str) -> bool {
        self.places.is_match(path)
    }
}

fn built(glob: &str) -> Result<Glob, WrongGlob> {
    let wrong = |e: globset::Error| WrongGlob { glob: glob.to_owned(), why: e.kind().to_string() };
    GlobBuilder::new(glob).literal_separator(true).build().map_err(wrong)
}

/// Values of options in a command: `--option=value`, `--option value`, and `kind:value` behind either.
fn named<'c>(command: &'c str, options: &'c [String]) -> impl Iterator<Item = &'c str> {
    let words: Vec<&str> = command.split_whitespace().map(|word| word.trim_matches(['"', '\''])).collect();
    let mut found = Vec::new();
    for (number, word) in words.iter().enumerate() {
        let (option, value) = word.split_once('=').map_or((*word, None), |(name, value)| (name, Some(value)));
        if options.iter().any(|known| known == option) {
            let value = value.or_else(|| words.get(number + 1).copied()).unwrap_or_default();
            found.push(value.split_once(':').map_or(value, |(_, file)| file));
        }
    }
    found.into_iter().filter(|value| !value.is_empty() && !value.starts_with('-'))
}

/// What a check printed, with what its report files add. Files never take anything back: a case that was printed as
/// failed stays so, and where what was printed names every case, it is believed alone.
pub fn with_case_files<'t>(printed: RunnerReport, files: impl IntoIterator<Item = &'t str>) -> RunnerReport {
    let mut written = RunnerReport::default();
    for text in files.into_iter().filter(|text| text.contains("<testsuite")) {
        written.join(&read(TestRunner::Junit, text));
    }
    let tells_more = written.is_counted()
        && !printed.names_all()
        && written.total() >= printed.total()
        && written.failed >= printed.failed;
    if !tells_more {
        return printed;
    }
    // The same case under another form of its name is one case; any other that was printed as failed stays.
    let known: Vec<String> = written.failing.iter().map(|name| dotted(name)).collect();
    for name in printed.failing.iter().filter(|name| !known.contains(&dotted(name))) {
        written.fail(name);
    }
    let failed = written.failed.max(u32::try_from(written.failing.len()).unwrap_or(u32::MAX));
    RunnerReport { diagnostics: printed.diagnostics, failed, ..written }
}

/// `tests/test_a.py::Group::case` as JUnit XML names it: `tests.test_a.Group.case`.
fn dotted(name: &str) -> String {
    let (place, parameters) = name.split_at(name.find('[').unwrap_or(name.len()));
    place.replace(".py::", ".").replace("::", ".").replace('/', ".") + parameters
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;
    use crate::runner::CaseState;

    const TWO: &str = "<testsuites><testsuite><testcase classname='a' name='x[1]'/>\
        <testcase classname='a' name='y'><failure/></testcase></testsuite></testsuites>";

    #[test]
    fn the_rules_are_sound() {
        assert!(!RULES.cases.files.is_empty() && !RULES.coverage.options.is_empty());
        assert!(ReportLocations::of("true", &[]).is_ok());
    }

    #[test]
    fn usual_places_named_ones_and_asked_ones_hold_reports_and_no_others_do() {
        let places = ReportLocations::of(
            "cd api && pytest --junitxml=out/py.xml --cov-report xml:cov.xml && phpunit --log-junit 'logs/p.xml'",
            &["./results/*.xml".to_owned()],
        )
        .unwrap();
        for path in [
            "target/surefire-reports/TEST-a.B.xml",
            "core/build/test-results/test/TEST-a.xml",
            "api/out/py.xml",
            "out/py.xml",
            "logs/p.xml",
            "results/one.xml",
            "api/cov.xml",
            "coverage/lcov.info",
        ] {
            assert!(places.holds(path), "{path}");
        }
        for path in ["pom.xml", "src/layout.xml", "results/deep/one.xml", "a/results/one.xml", "py.xml"] {
            assert!(!places.holds(path), "{path}");
        }
        let wrong = ReportLocations::of("true", &["a/[".to_owned()]).unwrap_err();
        assert!(wrong.to_string().starts_with("`a/[` is no pattern for files"), "{wrong}");
    }

    #[test]
    fn files_name_what_was_only_counted() {
        let printed = read(TestRunner::Maven, "[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0\n");
        assert!(printed.is_counted() && !printed.names_all());
        let report = with_case_files(printed, [TWO]);
        assert_eq!((report.passed, report.failed), (1, 1));
        assert_eq!(report.cases.get("a.x[1]"), Some(&CaseState::Passed));
        assert_eq!(report.failing, ["a.y"]);
        // Several files are one report.
        let report = with_case_files(RunnerReport::default(), [TWO, &TWO.replace("'a'", "'b'")]);
        assert_eq!((report.total(), report.cases.len()), (4, 4));
    }

    #[test]
    fn files_take_nothing_back() {
        let one = "<testsuite><testcase name='x'/></testsuite>";
        let fails =
            read(TestRunner::Pytest, "FAILED t.py::a - assert 0\n===== 1 failed, 1 passed in 0.1s =====\n");
        assert_eq!(with_case_files(fails.clone(), [one, one]), fails, "green files beside a red run");
        let more = read(TestRunner::Maven, "[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 0\n");
        assert_eq!(with_case_files(more.clone(), [one]), more, "fewer cases than were counted");
        assert_eq!(with_case_files(fails.clone(), ["<html>", "no xml"]), fails);
        // A case that failed before does not stand for another one that fails now.
        let other = "<testsuite><testcase classname='t' name='x'/><testcase classname='t' name='b'><failure/></testcase></testsuite>";
        assert_eq!(with_case_files(fails.clone(), [other]).failing, ["t.b", "t.py::a"]);
        let same = other.replace("'b'", "'a'");
        assert_eq!(with_case_files(fails, [same.as_str()]).failing, ["t.a"]);
    }

    proptest! {
        #[test]
        fn any_text_and_any_command_are_read(text in "(?s).{0,300}", command in "(?s).{0,120}") {
            let _ = with_case_files(RunnerReport::default(), [text.as_str(), TWO]);
            let tagged = format!("<testsuite {text}<testcase name='a'{text}<failure");
            let _ = with_case_files(RunnerReport::default(), [tagged.as_str()]);
            prop_assert!(ReportLocations::of(&command, &[]).is_ok());
            let _ = ReportLocations::of("true", &[command]);
        }
    }
}
