//! Code of a change that takes over what a check stands on: functions of the standard library, members of what it
//! brings along, variables of the tests, and equality that says yes too often. Rules as data; what is found is a line.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use crate::before::BaseSources;
use crate::definition::{BorrowedRule, ItemExtent, LazyRegex, LineMark, RULES, SuspectRule};
use crate::restore::inline::{end_of_indented, squeezed};
use crate::restore::scan;
use crate::scope::within;

/// The text of a file before and after a change, without remarks.
#[derive(Clone, Copy)]
pub(crate) struct RevisedCode<'t> {
    /// Its path, with an end that tells the language.
    pub(crate) path: &'t str,
    pub(crate) base: &'t str,
    pub(crate) result: &'t str,
    /// Whether the file was there before.
    pub(crate) is_old: bool,
}

/// The number of the line at a place.
pub(crate) fn line_at(text: &str, place: usize) -> u32 {
    let before = text.as_bytes().iter().take(place).filter(|byte| **byte == b'\n').count();
    u32::try_from(before + 1).unwrap_or(u32::MAX)
}

/// The first of the places in lines that were not there before, else the last one.
fn telling_line(base: &str, result: &str, places: &[usize]) -> u32 {
    let known: BTreeSet<&str> = base.lines().map(str::trim).collect();
    let is_new = |place: &&usize| !known.contains(line_of(result, **place).trim());
    let place = places.iter().find(is_new).or(places.last());
    line_at(result, place.copied().unwrap_or_default())
}

fn line_of(text: &str, place: usize) -> &str {
    let start = text[..place].rfind('\n').map_or(0, |at| at + 1);
    let end = text[place..].find('\n').map_or(text.len(), |at| place + at);
    &text[start..end]
}

impl RevisedCode<'_> {
    /// The line of a mark that is there more often than before.
    pub(crate) fn marked(&self, mark: &LineMark<'_>, tests: &BaseSources<'_>) -> Option<u32> {
        if !mark.regex.is_match(self.result) {
            return None;
        }
        let now = self.counted(mark, self.result, tests);
        let then = self.counted(mark, self.base, tests);
        let taken_back = |text: &str| {
            let scoped = within(mark.scope, self.path, text);
            mark.balance.map_or(0, |balance| balance.find_iter(&scoped).count())
        };
        let more = now.len() + taken_back(self.base) > then.len() + taken_back(self.result);
        (now.len() > then.len() && more).then(|| telling_line(self.base, self.result, &now))
    }

    /// Lines of the matches that count, as places in the text.
    fn counted(&self, mark: &LineMark<'_>, text: &str, tests: &BaseSources<'_>) -> Vec<usize> {
        let scoped = within(mark.scope, self.path, text);
        let counts = |found: &regex::Captures<'_>| {
            let Some(whole) = found.get(0) else { return false };
            let excused =
                mark.unless.is_some_and(|unless| unless.is_match(with_line_above(&scoped, whole.start())));
            let known = || found.get(1).is_none_or(|word| tests.say(word.as_str()));
            !excused && (!mark.in_tests || known())
        };
        let found = mark.regex.captures_iter(&scoped).filter(counts).filter_map(|found| found.get(0));
        // Scopes leave lines where they are, but not what is in them.
        let places =
            found.map(|found| place_of_line(text, line_at(&scoped, found.start() + leading(found.as_str()))));
        places.collect()
    }

    /// The line of something foreign that is changed by the name it has here.
    pub(crate) fn changes_what_is_borrowed(&self) -> Option<u32> {
        RULES.borrowed(self.path).find_map(|rule| self.changed_by(rule))
    }

    fn changed_by(&self, rule: &BorrowedRule) -> Option<u32> {
        let names: Vec<String> =
            borrowed_names(rule, self.result).iter().map(|name| regex::escape(name)).collect();
        if names.is_empty() {
            return None;
        }
        let any = format!("(?:{})", names.join("|"));
        let unless = rule.unless.as_ref().and_then(LazyRegex::regex);
        rule.marks.iter().find_map(|mark| {
            let mark = LazyRegex::new(&mark.replace("{name}", &any));
            let regex = mark.regex()?;
            let places = |text: &str| -> Vec<usize> {
                let excused =
                    |place: usize| unless.is_some_and(|unless| unless.is_match(with_line_above(text, place)));
                let found = regex.find_iter(text).map(|found| found.start() + leading(found.as_str()));
                found.filter(|place| !excused(*place)).collect()
            };
            let (now, then) = (places(self.result), places(self.base));
            (now.len() > then.len()).then(|| telling_line(self.base, self.result, &now))
        })
    }

    /// The line of an item that is new and suspect by what it holds.
    pub(crate) fn holds_suspect(&self) -> Option<u32> {
        RULES.suspects(self.path).find_map(|rule| {
            let known: BTreeSet<String> = items(rule, self.base).into_iter().map(|(_, item)| item).collect();
            let found = items(rule, self.result).into_iter().find(|(_, item)| {
                let holds = |part: &Option<LazyRegex>| {
                    part.as_ref().and_then(LazyRegex::regex).map(|part| part.is_match(item))
                };
                let wrong = holds(&rule.wrong) == Some(true) || holds(&rule.plain) == Some(false);
                !known.contains(item) && (wrong || (self.is_old && holds(&rule.in_old_files) == Some(true)))
            });
            found.map(|(place, _)| line_at(self.result, place))
        })
    }

    /// The line of a name that means something to everyone, and that a test gets by taking in all names.
    pub(crate) fn spreads_a_name(&self, tests: &BaseSources<'_>) -> Option<u32> {
        RULES.spreads(self.path).find_map(|rule| {
            let defines = rule.defines.regex()?;
            let now: Vec<usize> = defines.find_iter(self.result).map(|found| found.start()).collect();
            let takes = rule.takes.replace("{stem}", &regex::escape(stem(self.path)));
            let more = now.len() > defines.find_iter(self.base).count();
            let taken = more && LazyRegex::new(&takes).regex().is_some_and(|takes| tests.any_matches(takes));
            taken.then(|| telling_line(self.base, self.result, &now))
        })
    }

    /// The line that takes in a variable or function that only the tests define.
    pub(crate) fn takes_from_tests(&self, tests: &BaseSources<'_>) -> Option<u32> {
        static EXTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
            Regex::new(r"\bextern\b[^;{=\n]*?\b(\w+)[ \t]*(?:\[[^\]\n]*\]|\([^)\n]*\))?[ \t]*;").ok()
        });
        let in_c =
            [".c", ".h", ".cc", ".hh", ".cpp", ".hpp", ".cxx"].iter().any(|end| self.path.ends_with(end));
        let found = EXTERN.as_ref().filter(|_| in_c)?;
        let names = |text: &str| -> Vec<(usize, String)> {
            let one =
                |found: regex::Captures<'_>| Some((found.get(1)?.start(), found.get(1)?.as_str().to_owned()));
            found.captures_iter(text).filter_map(one).collect()
        };
        let known: BTreeSet<String> = names(self.base).into_iter().map(|(_, name)| name).collect();
        let of_tests = |(_, name): &(usize, String)| !known.contains(name) && tests.alone_say(name);
        names(self.result).into_iter().find(of_tests).map(|(place, _)| line_at(self.result, place))
    }
}

/// How many bytes a match begins with that belong to what is before it.
fn leading(found: &str) -> usize {
    found.len() - found.trim_start_matches(|c: char| c.is_whitespace() || ";{}(".contains(c)).len()
}

fn place_of_line(text: &str, line: u32) -> usize {
    let above = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
    text.split_inclusive('\n').take(above).map(str::len).sum::<usize>().min(text.len())
}

/// The line of a place with the one above it.
fn with_line_above(text: &str, place: usize) -> &str {
    let start = text[..place].rfind('\n').unwrap_or(0);
    let above = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[place..].find('\n').map_or(text.len(), |at| place + at);
    &text[above..end]
}

/// Names by which a text has what it borrows.
fn borrowed_names(rule: &BorrowedRule, text: &str) -> BTreeSet<String> {
    let of_rule = |module: &str| {
        let plain = module.trim().trim_start_matches("node:");
        let first = plain.split(['.', '/', ' ']).next().unwrap_or(plain);
        rule.modules.is_empty() || rule.modules.iter().any(|known| known == plain || known == first)
    };
    let mut found = BTreeSet::new();
    for captures in rule.binds.iter().filter_map(LazyRegex::regex).flat_map(|bind| bind.captures_iter(text)) {
        let Some(names) = captures.name("names") else { continue };
        let module = captures.name("module");
        if module.is_some_and(|module| !of_rule(module.as_str())) {
            continue;
        }
        for part in names.as_str().split([',', '{', '}', '(', ')']).map(str::trim) {
            if part.is_empty() || (module.is_none() && !of_rule(part)) {
                continue;
            }
            let renamed =
                part.rsplit_once(" as ").or_else(|| part.rsplit_once(':')).map(|(_, name)| name.trim());
            let name = renamed.unwrap_or_else(|| part.split('.').next().unwrap_or(part));
            if !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_') {
                found.insert(name.to_owned());
            }
        }
    }
    found
}

/// Items of a rule, each with its place and in one line.
fn items(rule: &SuspectRule, text: &str) -> Vec<(usize, String)> {
    let Some(starts) = rule.starts.regex() else { return Vec::new() };
    let item = |found: regex::Match<'_>| {
        let start = found.start() + leading(found.as_str());
        let line = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let end = match rule.form {
            ItemExtent::Braces => scan::end_of_item(text, start, false),
            ItemExtent::Rust => scan::end_of_item(text, start, true),
            ItemExtent::Indented => end_of_indented(text, line),
            ItemExtent::Statement => scan::end_of_statement(text, start),
        };
        (start, squeezed(&text[start..end.max(start)]))
    };
    starts.find_iter(text).map(item).collect()
}

/// The name by which a file is taken in.
fn stem(path: &str) -> &str {
    let module = path.strip_suffix("/__init__.py").unwrap_or(path);
    let name = module.rsplit('/').next().unwrap_or(module);
    name.split('.').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::before::BaseTree;

    fn change<'t>(path: &'t str, base: &'t str, result: &'t str) -> RevisedCode<'t> {
        RevisedCode { path, base, result, is_old: true }
    }

    #[test]
    fn what_is_found_is_the_line_that_is_new() {
        let base = "import pathlib as p\n\np.Path.cwd = f\n";
        let result = format!("{base}x = 1\np.Path.glob = f\n");
        assert_eq!(change("a.py", base, &result).changes_what_is_borrowed(), Some(5));
        assert_eq!(change("a.py", &result, base).changes_what_is_borrowed(), None);
        let result = "struct A;\n\nimpl PartialEq<str> for A {\n    fn eq(&self, o: &str) -> bool {\n        f(o)\n    }\n}\n";
        assert_eq!(change("a.rs", "struct A;\n", result).holds_suspect(), Some(3));
        assert_eq!(change("a.rs", result, result).holds_suspect(), None);
    }

    #[test]
    fn names_are_known_however_they_come_in() {
        let names = |path: &str, text: &str| -> Vec<String> {
            RULES.borrowed(path).flat_map(|rule| borrowed_names(rule, text)).collect()
        };
        let python =
            "import os.path, json as j\nfrom glob import glob as g, iglob\nimport mine\nfrom mine import x\n";
        assert_eq!(names("a.py", python), ["g", "iglob", "j", "os"]);
        let script = "const { join: put, sep } = require('node:path')\nimport fs, { rm as del } from \"fs\"\nimport x from './fs'\n";
        assert_eq!(names("a.js", script), ["del", "fs", "put", "sep"]);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(base in proptest::string::string_regex(TEXT).unwrap(), result in proptest::string::string_regex(TEXT).unwrap()) {
            let before = BaseTree { text: &|_| None, has_folder: &|_| false, paths: &Vec::new };
            let tests = BaseSources::of(&before);
            for path in ["a.sh", "a.py", "a.js", "a.rs", "a.c", "a.rb", "a.pm", "a.java", "a.kt", "a.swift", "a.cs"] {
                let change = change(path, &base, &result);
                for mark in RULES.aware(path, &[]) {
                    change.marked(&mark, &tests);
                }
                change.changes_what_is_borrowed();
                change.holds_suspect();
                change.spreads_a_name(&tests);
                change.takes_from_tests(&tests);
            }
        }
    }

    const TEXT: &str = "((import fs|from os import x as y|fs\\.a = |class String|def ==|use overload 'eq'|impl PartialEq<str> for|extern int|set \\+e|\u{e4}|[(){};:=\"'\n ]){0,4}){0,6}";
}
