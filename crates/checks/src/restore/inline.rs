//! Tests among other code: the old ones grafted onto the new code.

use std::collections::BTreeSet;
use std::ops::Range;

use super::scan;
use crate::definition::{InlineForm, InlineRule};

/// What became of a file whose tests are put back.
pub(crate) enum GraftOutcome {
    /// Its tests are as they were.
    Same,
    /// The new code with the old tests.
    Text(String),
    /// The old tests have no place in the new code.
    Impossible,
}

/// The tests of a text, each in one line without regard to spaces.
pub(crate) fn tests(rule: &InlineRule, text: &str) -> BTreeSet<String> {
    match rule.form {
        InlineForm::RustDocs => rust_examples(text).into_iter().collect(),
        InlineForm::PythonDocs => python_examples(text).into_iter().collect(),
        _ => spans(rule, text).into_iter().map(|range| squeezed(&text[range])).collect(),
    }
}

pub(crate) fn graft(rule: &InlineRule, base: &str, result: &str) -> GraftOutcome {
    match rule.form {
        InlineForm::RustDocs => beside(rust_examples(base), &rust_examples(result), result, rust_example),
        InlineForm::PythonDocs => {
            beside(python_examples(base), &python_examples(result), result, python_example)
        }
        InlineForm::RustItems | InlineForm::Braces | InlineForm::Indented => items(rule, base, result),
    }
}

pub(crate) fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text without its tests.
pub(crate) fn without_tests(rule: &InlineRule, text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for range in spans(rule, text) {
        out.push_str(&text[at..range.start]);
        at = range.end;
    }
    out.push_str(&text[at..]);
    out
}

/// A text without those of its tests that lie in files of their own which `is_gone` says are not there.
pub(crate) fn without_gone_modules(
    rule: &InlineRule,
    text: &str,
    is_gone: impl Fn(&str) -> bool,
) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for range in spans(rule, text) {
        let item = text[after_attributes(text, range.start)..range.end].trim();
        let name =
            item.strip_suffix(';').and_then(|item| item.rsplit_once("mod ")).map(|(_, name)| name.trim());
        if name.is_some_and(&is_gone) {
            out.push_str(&text[at..range.start]);
            at = range.end;
        }
    }
    out.push_str(&text[at..]);
    (at > 0).then_some(out)
}

fn items(rule: &InlineRule, base: &str, result: &str) -> GraftOutcome {
    let (old, new) = (spans(rule, base), spans(rule, result));
    let texts = |ranges: &[Range<usize>], of: &str| -> Vec<String> {
        ranges.iter().map(|range| squeezed(&of[range.clone()])).collect()
    };
    if texts(&old, base) == texts(&new, result) {
        return GraftOutcome::Same;
    }
    let rust = rule.form == InlineForm::RustItems;
    let outermost = |range: &Range<usize>, of: &str| match rule.form {
        InlineForm::Indented => !of[range.clone()].starts_with([' ', '\t']),
        _ => scan::depth_at(of, range.start, rust) == 0,
    };
    if old.iter().any(|range| !outermost(range, base)) || new.iter().any(|range| !outermost(range, result)) {
        return GraftOutcome::Impossible;
    }
    let mut text = String::with_capacity(result.len() + base.len() / 2);
    let mut at = 0;
    for range in &new {
        text.push_str(&result[at..range.start]);
        at = range.end;
    }
    text.push_str(&result[at..]);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    for range in old {
        text.push('\n');
        text.push_str(base[range].trim_end());
        text.push('\n');
    }
    GraftOutcome::Text(text)
}

/// Where tests are, in order, none inside another.
fn spans(rule: &InlineRule, text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    if matches!(rule.form, InlineForm::RustDocs | InlineForm::PythonDocs) {
        return found;
    }
    let Some(starts) = rule.starts.regex() else { return found };
    let holds = rule.holds.as_ref().and_then(|holds| holds.regex());
    for start in starts.find_iter(text) {
        let from = text[..start.start()].rfind('\n').map_or(0, |at| at + 1);
        if found.last().is_some_and(|last| from < last.end) {
            continue;
        }
        let range = match rule.form {
            InlineForm::RustItems => {
                with_attributes(text, from)..scan::end_of_item(text, after_attributes(text, from), true)
            }
            InlineForm::Indented => with_decorators(text, from)..end_of_indented(text, from),
            _ => from..scan::end_of_item(text, from, false),
        };
        if found.last().is_some_and(|last| range.start < last.end) || range.is_empty() {
            continue;
        }
        if holds.is_none_or(|holds| holds.is_match(&text[range.clone()])) {
            found.push(range);
        }
    }
    found
}

/// The start of attributes and comments right above.
fn with_attributes(text: &str, from: usize) -> usize {
    above(text, from, |line| line.starts_with("#[") || line.starts_with("///"))
}

fn with_decorators(text: &str, from: usize) -> usize {
    above(text, from, |line| line.starts_with('@'))
}

fn above(text: &str, from: usize, belongs: impl Fn(&str) -> bool) -> usize {
    let mut start = from;
    while let Some(end) = start.checked_sub(1) {
        let line = text[..end].rfind('\n').map_or(0, |at| at + 1);
        if !belongs(text[line..end].trim_start()) {
            break;
        }
        start = line;
    }
    start
}

/// Behind the attributes and comments an item begins with.
fn after_attributes(text: &str, from: usize) -> usize {
    let mut at = from;
    loop {
        let rest = &text[at..];
        let trimmed = rest.trim_start();
        at += rest.len() - trimmed.len();
        if trimmed.starts_with("//") {
            at += trimmed.find('\n').map_or(trimmed.len(), |end| end + 1);
        } else if trimmed.starts_with("#[") {
            at = end_of_attribute(text, at);
        } else {
            return at;
        }
    }
}

fn end_of_attribute(text: &str, from: usize) -> usize {
    let mut scanner = scan::Scanner::new(text, from, true);
    let mut depth = 0usize;
    while let Some((at, byte)) = scanner.next_code() {
        match byte {
            b'[' => depth += 1,
            b']' if depth <= 1 => return at + 1,
            b']' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// The end of a line and of all that is indented further than it.
pub(crate) fn end_of_indented(text: &str, from: usize) -> usize {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut lines = text[from..].split_inclusive('\n');
    let Some(first) = lines.next() else { return from };
    let (own, mut end, mut blank) = (indent(first), from + first.len(), 0);
    for line in lines {
        if line.trim().is_empty() {
            blank += line.len();
        } else if indent(line) > own || line.trim_start().starts_with(')') {
            end += blank + line.len();
            blank = 0;
        } else {
            break;
        }
    }
    end
}

/// Old examples that the result does not have, put beside the new code.
fn beside(old: Vec<String>, new: &[String], result: &str, write: fn(usize, &str) -> String) -> GraftOutcome {
    let lost: Vec<&String> = old.iter().filter(|example| !new.contains(example)).collect();
    if lost.is_empty() {
        return GraftOutcome::Same;
    }
    let mut text = result.to_owned();
    for (number, example) in lost.into_iter().enumerate() {
        text.push_str(&write(number + 1, example));
    }
    GraftOutcome::Text(text)
}

/// Code in documentation comments that is run.
fn rust_examples(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Option<(bool, String)> = None;
    for line in text.lines() {
        let line = line.trim_start();
        let Some(line) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else {
            open = None;
            continue;
        };
        let line = line.strip_prefix(' ').unwrap_or(line);
        match (line.trim().strip_prefix("```"), open.take()) {
            (Some(info), None) => open = Some((is_run(info), String::new())),
            (Some(_), Some((true, code))) => found.push(code),
            (Some(_), Some((false, _))) => {}
            (None, Some((run, code))) => open = Some((run, format!("{code}{line}\n"))),
            (None, None) => {}
        }
    }
    found
}

fn is_run(info: &str) -> bool {
    let fine = |word: &str| {
        word.is_empty() || word == "rust" || word == "should_panic" || word.starts_with("edition")
    };
    info.trim().split(',').all(|word| fine(word.trim()))
}

fn rust_example(number: usize, code: &str) -> String {
    format!(
        "\n#[doc = r####\"```\n{code}```\"####]\n#[allow(dead_code)]\nstruct HolonExampleAsItWas{number};\n"
    )
}

/// `>>>` lines with what they must print.
fn python_examples(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut example = String::new();
    for line in text.lines().map(str::trim_start) {
        let ends = line.is_empty() || line.starts_with("\"\"\"") || line.starts_with("'''");
        if line.starts_with(">>>") || (!example.is_empty() && !ends) {
            let line = line.trim_end_matches("\"\"\"").trim_end_matches("'''");
            example.push_str(line);
            example.push('\n');
        } else if !example.is_empty() {
            found.push(std::mem::take(&mut example));
        }
    }
    if !example.is_empty() {
        found.push(example);
    }
    found
}

fn python_example(number: usize, example: &str) -> String {
    let lines: String = example.lines().map(|line| format!("    {line}\n")).collect();
    format!("\n\ndef _holon_example_as_it_was_{number}():\n    r'''\n{lines}    '''\n")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::definition::RULES;

    fn grafted(path: &str, base: &str, result: &str) -> Option<String> {
        let mut text = result.to_owned();
        let mut changed = false;
        for rule in RULES.inline(path) {
            match graft(rule, base, &text) {
                GraftOutcome::Same => {}
                GraftOutcome::Text(grafted) => (text, changed) = (grafted, true),
                GraftOutcome::Impossible => return None,
            }
        }
        Some(if changed { text } else { "same".to_owned() })
    }

    #[test]
    fn old_tests_meet_new_code() {
        let base =
            "fn a() { 1 }\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn t() { assert!(a() == 1); }\n}\n";
        let result =
            "fn a() { 2 }\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    #[ignore]\n    fn t() {}\n}\n";
        let text = grafted("src/a.rs", base, result).unwrap();
        assert!(
            text.contains("fn a() { 2 }") && text.contains("a() == 1") && !text.contains("ignore"),
            "{text}"
        );
        assert_eq!(text.matches("mod tests").count(), 1, "{text}");
        let formatted =
            base.replace("fn t() { assert", "fn t() {\n        assert").replace("; }\n}", ";\n    }\n}");
        assert_eq!(grafted("src/a.rs", base, &formatted.replace("{ 1 }", "{ 2 }")).as_deref(), Some("same"));
    }

    #[test]
    fn tests_inside_of_other_blocks_are_not_guessed_at() {
        let base = "mod inner {\n    #[test]\n    fn t() { assert!(true); }\n}\n";
        assert_eq!(grafted("src/a.rs", base, "mod inner {\n}\n"), None);
        assert_eq!(grafted("src/a.rs", base, &format!("fn more() {{}}\n{base}")).as_deref(), Some("same"));
    }

    #[test]
    fn tests_by_indentation() {
        let base = "def a():\n    return 1\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(a(), 1)\n";
        let text = grafted("app.py", base, "def a():\n    return 2\n").unwrap();
        assert!(text.contains("return 2") && text.contains("assertEqual(a(), 1)"), "{text}");
    }

    #[test]
    fn examples_stand_beside_the_new_code() {
        let text = grafted(
            "src/a.rs",
            "/// ```\n/// x();\n/// ```\nfn x() {}\n",
            "/// ```no_run\n/// x();\n/// ```\nfn x() {}\n",
        );
        assert!(text.unwrap().contains("r####\"```\nx();\n```\"####"));
        let base = "def f():\n    '''\n    >>> f()\n    1\n    '''\n";
        assert!(grafted("a.py", base, "def f():\n    pass\n").unwrap().contains("    >>> f()\n    1\n"));
        assert_eq!(grafted("a.py", base, &format!("x = 1\n{base}")).as_deref(), Some("same"));
    }
}
