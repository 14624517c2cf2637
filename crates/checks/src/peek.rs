//! Code that looks at what it is checked by: lines that a change adds to a product and that name tests, cases or what they
//! are compared with.

use std::collections::BTreeSet;

use holon_core::manifest::DefinitionKind;

use crate::definition::RULES;
use crate::reach::{CheckDefinitions, is_code};

/// How lines begin that are remarks, whatever the language.
const REMARKS: [&str; 7] = ["#", "//", "/*", "*", "--", ";", "%"];
/// Ends of scripts in which a name needs no quotes.
const BARE: [&str; 4] = [".sh", ".bash", ".zsh", ".ksh"];

/// Lines of the result that the base does not have.
fn added<'t>(base: &str, result: &'t str) -> impl Iterator<Item = &'t str> {
    let known: BTreeSet<String> = base.lines().map(|line| line.trim().to_owned()).collect();
    result.lines().map(str::trim).filter(move |line| !known.contains(*line))
}

/// Whether lines a change adds to a program name something that defines its checks.
pub(crate) fn names_definitions(path: &str, base: &str, result: &str, defined: &CheckDefinitions) -> bool {
    let bare = BARE.iter().any(|end| path.ends_with(end));
    if !bare && !is_code(path) {
        return false;
    }
    added(base, result)
        .filter(|line| !REMARKS.iter().any(|remark| line.starts_with(remark)))
        .flat_map(|line| if bare { bare_words(line) } else { quoted(line) })
        .any(|word| is_of_checks(word, defined))
}

/// What stands between quotes.
fn quoted(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for quote in ['"', '\''] {
        found.extend(line.split(quote).skip(1).step_by(2));
    }
    found
}

fn bare_words(line: &str) -> Vec<&str> {
    line.split(|c: char| c.is_whitespace() || "\"'`();|&<>=,".contains(c)).collect()
}

/// Whether a word is the path of a test, a case or something to compare with.
fn is_of_checks(word: &str, defined: &CheckDefinitions) -> bool {
    let word = word.trim_start_matches("./");
    let shaped = word.len() > 3 && word.len() < 200 && !word.contains([' ', ':', '\\']) && word.contains('.');
    if !shaped || word.starts_with(['/', '-', '*']) {
        return false;
    }
    let telling = [DefinitionKind::TestSource, DefinitionKind::Fixture, DefinitionKind::CheckScript];
    let by_rule =
        || word.contains('/') && RULES.definition(word).is_some_and(|one| telling.contains(&one.kind));
    defined.names(word) || by_rule()
}

/// The result without words by which a check leaves lines out, in lines that are new; nothing where there are none.
pub(crate) fn without_quiet_words(defined: &CheckDefinitions, base: &str, result: &str) -> Option<String> {
    let words: Vec<&str> = defined.quiet_words().collect();
    if !words.iter().any(|word| result.contains(word)) {
        return None;
    }
    let new: BTreeSet<&str> = added(base, result).collect();
    let mut out = String::with_capacity(result.len());
    for line in result.split_inclusive('\n') {
        let mut kept = line.to_owned();
        if new.contains(line.trim()) {
            words.iter().for_each(|word| kept = kept.replace(word, ""));
        }
        out.push_str(&kept);
    }
    (out != result).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defined() -> CheckDefinitions {
        let read = |path: &str| {
            (path == "check.sh").then(|| {
                "for i in cases/*.in; do p < $i; done\ngrep -n x *.py | grep -v 'lint: ok'\n".to_owned()
            })
        };
        CheckDefinitions::of_commands(&["sh check.sh".to_owned()], &read)
    }

    #[test]
    fn a_product_that_reads_its_cases_is_seen_and_one_that_speaks_of_them_is_not() {
        let seen = |path: &str, text: &str| names_definitions(path, "old\n", text, &defined());
        assert!(seen("a.py", "old\nfor p in glob.glob('cases/*.in'):\n"));
        assert!(seen("a.sh", "cat expected/ann.txt\n"));
        assert!(seen("a.rs", "fs::read(\"tests/a.rs\")"));
        assert!(!seen("a.py", "# see 'tests/test_a.py'\n"));
        assert!(!seen("a.py", "open('data/a.json')\nx = 'tests'\n"));
        assert!(!seen("a.md", "'tests/test_a.py'\n"));
    }

    #[test]
    fn words_that_a_check_leaves_out_do_not_count() {
        let text = "print(1)  # lint: ok\n";
        assert_eq!(without_quiet_words(&defined(), "print(1)\n", text).as_deref(), Some("print(1)  # \n"));
        assert_eq!(without_quiet_words(&defined(), text, text), None);
    }
}
