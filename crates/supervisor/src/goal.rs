//! What a goal names: files, steps, and the area they lie in.

use serde::{Deserialize, Serialize};

use crate::key::{clip_path, key};

/// Longest path kept.
pub(crate) const PATH: usize = 120;
/// Most named paths kept.
const PATHS: usize = 32;

/// The paths a text names, in order, each once.
pub fn named_paths(text: &str) -> Vec<String> {
    let separators = |c: char| c.is_whitespace() || "`'\"()[]{}<>,;|=".contains(c);
    let mut found: Vec<String> = Vec::new();
    for word in text.split(separators) {
        let word = word.trim_end_matches(['.', ':', '!', '?', '*']).trim_start_matches("./");
        // A place in a file names the file.
        let word = word.split(':').next().unwrap_or(word);
        if is_path(word) && found.len() < PATHS && !found.iter().any(|seen| seen == word) {
            found.push(clip_path(word, PATH));
        }
    }
    found
}

fn is_path(word: &str) -> bool {
    let name = word.trim_end_matches('/').rsplit('/').next().unwrap_or("");
    let plain = word.chars().all(|c| c.is_alphanumeric() || "/._-+@*".contains(c));
    let any_letter = word.chars().any(char::is_alphabetic);
    if !plain || !any_letter || word.starts_with('/') || word.contains("//") || word.contains("..") {
        return false;
    }
    let extension = name.rsplit_once('.').is_some_and(|(stem, extension)| {
        let known_shape = (1..=5).contains(&extension.len())
            && extension.chars().all(|c| c.is_ascii_alphanumeric())
            && extension.starts_with(|c: char| c.is_ascii_alphabetic());
        known_shape && !stem.is_empty() && !["e.g", "i.e"].contains(&name)
    });
    let well_known = ["Makefile", "Dockerfile", "LICENSE", "README"].contains(&name);
    let folder =
        word.contains('/') && !name.is_empty() && (word.ends_with('/') || word.matches('/').count() >= 2);
    extension || well_known || folder
}

/// What a goal demands of checks that failed before anything was changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckDemand {
    /// Everything that fails is to be repaired.
    pub(crate) all: bool,
    /// Words of the goal that a case may be about.
    words: Vec<u64>,
}

/// Most words of a goal kept.
const WORDS: usize = 96;
/// Words that say nothing about what a case is about.
const COMMON: [&str; 30] = [
    "test", "tests", "should", "the", "and", "for", "with", "not", "src", "lib", "from", "that", "this",
    "when", "make", "add", "all", "fix", "file", "files", "code", "case", "cases", "check", "checks",
    "function", "error", "main", "use", "new",
];

impl CheckDemand {
    /// From the goal, where `repair` says that it wants something repaired and `passes` are words for a green check.
    pub(crate) fn of(goal: &str, repair: bool, passes: &[String]) -> Self {
        let lower = goal.to_lowercase();
        let all = repair || passes.iter().any(|phrase| lower.contains(phrase.as_str()));
        let mut words: Vec<u64> = Vec::new();
        for word in telling(&lower).map(|word| key([word])) {
            if words.len() < WORDS && !words.contains(&word) {
                words.push(word);
            }
        }
        Self { all, words }
    }

    /// Whether these cases are what the goal is about.
    pub(crate) fn covers(&self, cases: &[String]) -> bool {
        let about =
            |case: &String| telling(&case.to_lowercase()).any(|word| self.words.contains(&key([word])));
        self.all || cases.iter().any(about)
    }
}

/// The words of a text that tell what it is about.
fn telling(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| word.chars().count() >= 3 && !COMMON.contains(word))
}

/// How many steps a text lists, as bullets or numbers.
pub fn named_steps(text: &str) -> u32 {
    let is_step = |line: &str| {
        let line = line.trim_start();
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        let numbered =
            digits > 0 && line[digits..].starts_with(['.', ')']) && line[digits + 1..].starts_with(' ');
        numbered || ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark))
    };
    text.lines().filter(|line| is_step(line)).count().try_into().unwrap_or(u32::MAX)
}

/// Whether a name is that of a file and not of a folder.
pub(crate) fn is_file(name: &str) -> bool {
    name.rsplit('/').next().is_some_and(|last| last.contains('.'))
}

/// Whether a path is one of the named ones, or lies in a named folder.
pub fn is_named(path: &str, named: &[String]) -> bool {
    named.iter().any(|name| {
        let folder = name.trim_end_matches('/');
        path == folder || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paths_are_found_in_prose() {
        let check = |text: &str, expect: &[&str]| assert_eq!(named_paths(text), expect, "{text}");
        check("Fix `src/a.rs` and ./b.py, please.", &["src/a.rs", "b.py"]);
        check("see src/a.rs:10:5, src/a.rs", &["src/a.rs"]);
        check("touch crates/core/src and docs/", &["crates/core/src", "docs/"]);
        check("Makefile and README", &["Makefile", "README"]);
        check("version 1.2, e.g. 3.5; and/or; https://x.org/a.html /etc/passwd ../x.rs", &[]);
        check("", &[]);
    }

    #[test]
    fn steps_are_counted() {
        let check = |text: &str, expect: u32| assert_eq!(named_steps(text), expect, "{text}");
        check("do\n1. a\n2) b\n - c\n", 3);
        check("1.5 is no step\n-neither", 0);
    }

    #[test]
    fn named_folders_hold_their_files() {
        let check = |path: &str, named: &[&str], is: bool| {
            let named: Vec<String> = named.iter().map(ToString::to_string).collect();
            assert_eq!(is_named(path, &named), is, "{path}");
        };
        check("src/a.rs", &["src/a.rs"], true);
        check("src/b.rs", &["src/a.rs"], false);
        check("docs/a.md", &["docs/"], true);
        check("docsy/a.md", &["docs/"], false);
        check("x/b.rs", &[], false);
    }

    #[test]
    fn what_was_red_before_is_wanted_where_the_goal_says_so() {
        let check = |goal: &str, repair: bool, case: &str, expect: bool| {
            let demand = CheckDemand::of(goal, repair, &["tests pass".to_owned()]);
            assert_eq!(demand.covers(&[case.to_owned()]), expect, "{goal}: {case}");
        };
        check("Add a multiply function", false, "test_legacy_dates", false);
        check("Add a multiply function", false, "test_multiply", true);
        check("Repair it", true, "test_legacy_dates", true);
        check("Do what is needed so that the TESTS PASS", false, "test_legacy_dates", true);
        check("Make src/a.txt say good", false, "a is good", true);
        check("Make a test for the file", false, "test the file", false);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "\\PC{0,200}|[-a-z0-9./: \n]{0,200}") {
            prop_assert!(named_paths(&text).len() <= PATHS);
            let _ = named_steps(&text);
        }
    }
}
