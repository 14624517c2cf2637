//! Code that looks at what it is checked by: lines that a change adds to a product and that name tests, cases or what they
//! are compared with.

use std::collections::BTreeSet;

use holon_core::manifest::DefinitionKind;

use crate::before::{BaseSources, functions};
use crate::definition::RULES;
use crate::reach::{CheckDefinitions, is_code};
use crate::restore::inline::without_tests;

/// How lines begin that are remarks, whatever the language.
const REMARKS: [&str; 7] = ["#", "//", "/*", "*", "--", ";", "%"];
/// Ends of files in which a remark begins with `#`.
const HASHED: [&str; 11] = [".py", ".rb", ".pl", ".pm", ".sh", ".bash", ".zsh", ".ksh", ".tcl", ".ex", ".jl"];
/// Ends of files whose functions are those of whoever reads them in: a second one of a name takes the place of the first.
const SHARED: [&str; 5] = [".sh", ".bash", ".zsh", ".ksh", ".tcl"];
/// Words by which code asks whether a function is there.
const ASKING: [&str; 8] = [
    "function_exists",
    "is_callable",
    "defined?",
    "typeset -f",
    "declare -F",
    "type -t",
    "info procs",
    "info commands",
];
/// Ends of scripts in which a name needs no quotes.
const BARE: [&str; 4] = [".sh", ".bash", ".zsh", ".ksh"];

/// Lines of the result that the base does not have.
fn added<'t>(base: &str, result: &'t str) -> impl Iterator<Item = &'t str> {
    numbered(base, result).map(|(_, line)| line)
}

/// The same with their numbers.
fn numbered<'t>(base: &str, result: &'t str) -> impl Iterator<Item = (u32, &'t str)> {
    let known: BTreeSet<String> = base.lines().map(|line| line.trim().to_owned()).collect();
    (1..).zip(result.lines().map(str::trim)).filter(move |(_, line)| !known.contains(*line))
}

/// The number of the first line for which something holds.
fn first(base: &str, result: &str, holds: impl Fn(&str) -> bool) -> Option<u32> {
    numbered(base, result).find(|(_, line)| holds(line)).map(|(number, _)| number)
}

/// A path with an end that tells the language, for a script whose name has none and whose first line names a program.
pub(crate) fn telling_path(path: &str, text: &str) -> String {
    const PROGRAMS: [(&str, &str); 8] = [
        ("python", ".py"),
        ("node", ".js"),
        ("perl", ".pl"),
        ("ruby", ".rb"),
        ("php", ".php"),
        ("tclsh", ".tcl"),
        ("bash", ".bash"),
        ("sh", ".sh"),
    ];
    let plain = path.rsplit('/').next().is_some_and(|name| !name.contains('.'));
    let line = text.lines().next().and_then(|line| line.strip_prefix("#!")).filter(|_| plain);
    let end = line.and_then(|line| PROGRAMS.iter().find(|(program, _)| line.contains(program)));
    end.map_or_else(|| path.to_owned(), |(_, end)| format!("{path}{end}"))
}

/// A text with nothing in place of lines that are remarks alone.
pub(crate) fn without_remarks(path: &str, text: &str) -> String {
    let hashes = HASHED.iter().any(|end| path.ends_with(end));
    let is_remark = |line: &&str| {
        let line = line.trim_start();
        if hashes { line.starts_with('#') } else { line.starts_with("//") || line.starts_with("* ") }
    };
    text.split_inclusive('\n').map(|line| if is_remark(&line) { "\n" } else { line }).collect()
}

/// The line that is new and takes the place of a function of the tests, or asks whether it is there.
pub(crate) fn meddles_with_tests(
    path: &str,
    base: &str,
    result: &str,
    sources: &BaseSources<'_>,
) -> Option<u32> {
    let shared = SHARED.iter().any(|end| path.ends_with(end));
    let known: BTreeSet<String> = functions(base).collect();
    let new: Vec<String> =
        functions(result).filter(|name| shared && !known.contains(name) && name != "main").collect();
    let asks: Vec<&str> =
        added(base, result).filter(|line| ASKING.iter().any(|word| line.contains(word))).collect();
    if new.is_empty() && asks.is_empty() {
        return None;
    }
    let of_tests = sources.functions_of_tests(path);
    let asked = |line: &&str| {
        line.split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|word| of_tests.contains(word) && !known.contains(word))
    };
    let taken = new.iter().find(|name| of_tests.contains(*name));
    let asking = asks.into_iter().find(asked);
    let told = |line: &str| taken.is_some_and(|name| line.contains(name.as_str())) || asking == Some(line);
    if taken.is_none() && asking.is_none() { None } else { first(base, result, told).or(Some(1)) }
}

/// The first new line of a module that tests alone take in and that asserts less than before: what it asserts is theirs.
pub(crate) fn asserts_less(path: &str, base: &str, result: &str, sources: &BaseSources<'_>) -> Option<u32> {
    let asserts = |text: &str| {
        let is_one = |line: &&str| {
            let line = line.trim_start();
            line.starts_with("assert") || line.contains("AssertionError")
        };
        // Its own tests are put back.
        let own = RULES.inline(path).fold(text.to_owned(), |text, rule| without_tests(rule, &text));
        own.lines().filter(is_one).count()
    };
    let less = is_code(path) && asserts(result) < asserts(base) && sources.is_imported_by_tests_alone(path);
    if less { first(base, result, |line| !line.is_empty()).or(Some(1)) } else { None }
}

/// The line of a macro that is new and takes the place of a function: tests see what the macro says.
pub(crate) fn macro_for_function(path: &str, base: &str, result: &str) -> Option<u32> {
    let in_c = [".c", ".h", ".cc", ".hh", ".cpp", ".hpp", ".cxx"].iter().any(|end| path.ends_with(end));
    let defined = |line: &str| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("define ")?.trim_start();
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        (!rest[..end].is_empty()).then(|| rest[..end].to_owned())
    };
    // `int f(int n);` at the beginning of a line: a type, then the name.
    let declares = |name: &str| {
        result.lines().filter(|line| line.starts_with(|c: char| c.is_alphabetic() || c == '_')).any(|line| {
            let Some((before, _)) = line.split_once(&format!("{name}(")) else { return false };
            before.ends_with([' ', '*']) && !before.contains(['=', '('])
        })
    };
    first(base, result, |line| in_c && defined(line).is_some_and(|name| declares(&name)))
}

/// The line that a change adds to a program and that names something that defines its checks.
pub(crate) fn names_definitions(
    path: &str,
    base: &str,
    result: &str,
    defined: &CheckDefinitions,
) -> Option<u32> {
    let bare = BARE.iter().any(|end| path.ends_with(end));
    if !bare && !is_code(path) {
        return None;
    }
    first(base, result, |line| {
        let words = if bare { bare_words(line) } else { quoted(line) };
        !REMARKS.iter().any(|remark| line.starts_with(remark))
            && words.into_iter().any(|word| is_of_checks(word, defined))
    })
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
    defined.names(word) || defined.starts(word) || defined.expects(word) || by_rule()
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
        let seen = |path: &str, text: &str| names_definitions(path, "old\n", text, &defined()).is_some();
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
