//! The sources that a failing check is most likely about: named in what it printed, taken in by its tests, or called as the
//! tests are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde::Deserialize;

use crate::before::TAKING;
use crate::definition::RULES;
use crate::reach::is_code;

/// Most sources told.
const MOST: usize = 6;
/// Most tests that are read.
const TESTS: usize = 6;
/// Sources whose own imports are followed.
const NEAREST: usize = 2;
/// A whole project of so few sources is likely to be about all of them.
const FEW: usize = 3;

pub(crate) static SOURCES: LazyLock<SourceRules> =
    LazyLock::new(|| toml::from_str(include_str!("../../../rules/sources.toml")).unwrap_or_default());

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SourceRules {
    endings: Vec<String>,
    imports: Vec<String>,
    before_name: Vec<String>,
    after_name: Vec<String>,
    folder_names: Vec<String>,
    pub(crate) failing: Vec<String>,
    pub(crate) passing: Vec<String>,
}

/// A file, and the lines of it that were named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LikelySource {
    /// Its path, relative to the workspace.
    pub path: String,
    /// Lines that the check named, in order.
    pub lines: Vec<usize>,
}

/// The sources among `paths` that a check which printed `output` is likely about, the likeliest first. Tests are not among
/// them. `read` gives the text of a file, and is asked for a few of them only.
pub fn likely_sources(
    paths: &[String],
    output: &str,
    goal: &str,
    read: &dyn Fn(&str) -> Option<String>,
) -> Vec<LikelySource> {
    let index = PathIndex::of(paths);
    let named = index.named_in(output);
    let mut found: Vec<LikelySource> = Vec::new();
    let mut add = |path: &str, lines: &[usize]| {
        if is_source(path) && !found.iter().any(|known| known.path == path) {
            found.push(LikelySource { path: path.to_owned(), lines: lines.to_vec() });
        }
    };
    for (path, lines) in &named {
        add(path, lines);
    }
    let mut tests: Vec<&str> =
        named.iter().map(|(path, _)| path.as_str()).filter(|path| is_definition(path)).collect();
    if tests.is_empty() {
        let words = words(output);
        tests.extend(
            paths.iter().map(String::as_str).filter(|path| is_test(path) && words.contains(stem(path))),
        );
    }
    for test in tests.into_iter().take(TESTS) {
        let taken = read(test).map(|text| taken_in(&text)).unwrap_or_default();
        let tested = tested(stem(test));
        let near: Vec<&String> = paths.iter().filter(|path| is_source(path)).collect();
        near.iter().filter(|path| taken.contains(called(path))).for_each(|path| add(path, &[]));
        near.iter().filter(|path| tested.contains(&stem(path))).for_each(|path| add(path, &[]));
    }
    for (path, lines) in index.named_in(goal) {
        add(&path, &lines);
    }
    // What the first of them take in is not far.
    let first: Vec<String> = found.iter().take(NEAREST).map(|one| one.path.clone()).collect();
    for path in &first {
        let taken = read(path).map(|text| taken_in(&text)).unwrap_or_default();
        let near = paths.iter().filter(|path| is_source(path) && taken.contains(called(path)));
        for path in near.filter(|path| !found.iter().any(|known| known.path == **path)).collect::<Vec<_>>() {
            found.push(LikelySource { path: path.clone(), lines: Vec::new() });
        }
    }
    if found.is_empty() {
        let sources: Vec<&String> = paths.iter().filter(|path| is_source(path)).take(FEW + 1).collect();
        if sources.len() <= FEW {
            found.extend(
                sources.into_iter().map(|path| LikelySource { path: path.clone(), lines: Vec::new() }),
            );
        }
    }
    found.truncate(MOST);
    found
}

/// Whether a file is part of what checks.
fn is_definition(path: &str) -> bool {
    RULES.definition(path).is_some()
}

fn is_text_of_code(path: &str) -> bool {
    is_code(path) || SOURCES.endings.iter().any(|end| path.ends_with(end.as_str()))
}

fn is_source(path: &str) -> bool {
    is_text_of_code(path) && !is_definition(path)
}

fn is_test(path: &str) -> bool {
    is_text_of_code(path) && is_definition(path)
}

/// The name of a file without folder and endings.
fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// By what name others take a file in.
fn called(path: &str) -> &str {
    let own = stem(path);
    if SOURCES.folder_names.iter().any(|name| name == own) {
        return path.rsplit('/').nth(1).unwrap_or(own);
    }
    own
}

/// What a test of this name is about, by its name.
fn tested(test: &str) -> Vec<&str> {
    let before = SOURCES.before_name.iter().filter_map(|mark| test.strip_prefix(mark.as_str()));
    let after = SOURCES.after_name.iter().filter_map(|mark| test.strip_suffix(mark.as_str()));
    before.chain(after).filter(|name| !name.is_empty()).collect()
}

fn words(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').collect()
}

/// The words of all lines that take something in.
fn taken_in(text: &str) -> BTreeSet<String> {
    let takes = |line: &&str| {
        line.split(|c: char| c.is_whitespace() || c == '(')
            .any(|word| TAKING.contains(&word) || SOURCES.imports.iter().any(|known| known == word))
    };
    let lines = text.lines().filter(takes);
    lines.flat_map(words).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The files of a project, by the last part of their paths.
struct PathIndex<'p> {
    by_name: BTreeMap<&'p str, Vec<&'p str>>,
}

impl<'p> PathIndex<'p> {
    fn of(paths: &'p [String]) -> Self {
        let mut by_name: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for path in paths {
            by_name.entry(path.rsplit('/').next().unwrap_or(path)).or_default().push(path);
        }
        Self { by_name }
    }

    /// The files a text names, those it names most often first, and of those the last.
    fn named_in(&self, text: &str) -> Vec<(String, Vec<usize>)> {
        let mut found: BTreeMap<&str, (usize, usize, Vec<usize>)> = BTreeMap::new();
        let mut at = 0;
        while let Some(begin) = text[at..].find(is_of_path).map(|offset| at + offset) {
            let end = text[begin..].find(|c| !is_of_path(c)).map_or(text.len(), |offset| begin + offset);
            let word = text[begin..end].trim_end_matches(['.', '/']);
            if let Some(path) = self.file(word) {
                let (count, last, lines) = found.entry(path).or_default();
                (*count, *last) = (*count + 1, begin);
                lines.extend(line_after(&text[end..]).filter(|line| !lines.contains(line)));
            }
            at = end;
        }
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_by_key(|(_, (count, last, _))| std::cmp::Reverse((*count, *last)));
        found.into_iter().map(|(path, (_, _, lines))| (path.to_owned(), lines)).collect()
    }

    /// The one file that is meant.
    fn file(&self, word: &str) -> Option<&'p str> {
        let word = word.trim_start_matches("./");
        let name = word.rsplit('/').next().filter(|name| name.contains('.'))?;
        let same = self.by_name.get(name)?;
        let ends = |long: &str, short: &str| {
            long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        };
        let fits: Vec<&&str> = same.iter().filter(|path| ends(path, word) || ends(word, path)).collect();
        match fits.as_slice() {
            [one] => Some(**one),
            // A whole path is one of several that end alike.
            several => several.iter().find(|path| ***path == word).map(|path| **path),
        }
    }
}

fn is_of_path(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '+' | '@')
}

/// The line that is named right after a path: `:12`, `", line 12`, ` line 12`, `(12`.
fn line_after(rest: &str) -> Option<usize> {
    let marks = ["\", line ", "', line ", " line ", ":", "("];
    let digits = marks.iter().find_map(|mark| rest.strip_prefix(mark))?;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok().filter(|line| *line > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn likely(paths: &[&str], output: &str, goal: &str, tests: &[(&str, &str)]) -> Vec<String> {
        let paths: Vec<String> = paths.iter().map(ToString::to_string).collect();
        let read = |path: &str| tests.iter().find(|(own, _)| *own == path).map(|(_, text)| text.to_string());
        likely_sources(&paths, output, goal, &read).into_iter().map(|one| one.path).collect()
    }

    #[test]
    fn what_the_output_names_comes_first_with_its_lines() {
        let paths = ["src/parse.rs", "src/lib.rs", "src/other.rs", "Cargo.toml"].map(str::to_owned);
        let output = "thread 'parse::tests::a' panicked at src/parse.rs:12:5:\nleft: 1\n";
        let found = likely_sources(&paths, output, "", &|_| None);
        assert_eq!(found, [LikelySource { path: "src/parse.rs".into(), lines: vec![12] }]);
        let output =
            "  File \"/holon/workspace/calc.py\", line 2, in add\nat lib/Calc.pm line 7.\nsrc/a.cs(3,4)";
        let found = likely(&["calc.py", "lib/Calc.pm", "src/a.cs"], output, "", &[]);
        assert_eq!(found, ["src/a.cs", "lib/Calc.pm", "calc.py"]);
    }

    #[test]
    fn what_tests_take_in_or_are_called_after_follows() {
        let py = [("tests/test_order.py", "from shop.order import total\n")];
        let paths = ["shop/order.py", "shop/other.py", "tests/test_order.py", "README.md"];
        assert_eq!(likely(&paths, "FAILED tests/test_order.py::test_total", "", &py), ["shop/order.py"]);
        let js = [("test/total.test.js", "const { sum } = require('../lib/cart.js');\n")];
        let paths = ["lib/cart.js", "lib/a.js", "lib/b.js", "lib/c.js", "test/total.test.js"];
        assert_eq!(likely(&paths, "at test/total.test.js:3:1", "", &js), ["lib/cart.js"]);
        let paths = ["hex.go", "a.go", "b.go", "c.go", "hex_test.go"];
        assert_eq!(likely(&paths, "hex_test.go:9: want ff", "", &[]), ["hex.go"]);
        let rb = [("spec/day_spec.rb", "require_relative '../lib/day'\n")];
        let paths = ["lib/day.rb", "lib/x.rb", "lib/y.rb", "lib/z.rb", "spec/day_spec.rb"];
        assert_eq!(likely(&paths, "rspec ./spec/day_spec.rb:4", "", &rb), ["lib/day.rb"]);
    }

    #[test]
    fn what_the_nearest_take_in_is_not_far() {
        let texts =
            [("t/ignore.t", "use Ignore;\n"), ("lib/Ignore.pm", "package Ignore;\nuse Wildcard qw(fits);\n")];
        let paths = ["lib/Ignore.pm", "lib/Wildcard.pm", "lib/A.pm", "lib/B.pm", "t/ignore.t"];
        assert_eq!(
            likely(&paths, "Failed test at t/ignore.t line 5.", "", &texts),
            ["lib/Ignore.pm", "lib/Wildcard.pm"]
        );
    }

    #[test]
    fn the_goal_and_a_small_project_come_last() {
        let paths = ["a.sh", "b.sh", "c.sh", "d.sh", "x/deep.sh"];
        assert_eq!(likely(&paths, "no", "Mend x/deep.sh", &[]), ["x/deep.sh"]);
        assert!(likely(&paths, "no", "Mend it", &[]).is_empty());
        assert_eq!(likely(&["a.sh", "README.md"], "no", "Mend it", &[]), ["a.sh"]);
        // Which of two is meant, nobody knows.
        let paths = ["a/mod.rs", "b/mod.rs", "c.rs", "d.rs", "e.rs"];
        assert!(likely(&paths, "mod.rs:3", "", &[]).is_empty());
        assert_eq!(likely(&paths, "b/mod.rs:3", "", &[]), ["b/mod.rs"]);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(output in "\\PC{0,200}", goal in "\\PC{0,60}") {
            let found = likely(&["a.rs", "b/ü.py", "c.txt"], &output, &goal, &[]);
            prop_assert!(found.len() <= MOST);
        }
    }
}
