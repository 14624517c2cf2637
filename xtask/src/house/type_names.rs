//! What the types of the crates are called.
//!
//! Structs, enums, traits, unions and type aliases in `crates/*/src` count, those of tests in there too. The associated
//! types of traits and impls do not: the trait named them. Each type counts, not each name.

use std::collections::BTreeMap;

use super::sizes::sources;
use crate::tidy::SourceTree;
use crate::tidy::code::code_only;

/// The names of all types, one for each type.
pub(super) fn declared_types(tree: &SourceTree) -> Vec<String> {
    sources(tree).flat_map(|file| types_in(&file.text)).collect()
}

fn types_in(source: &str) -> Vec<String> {
    let code = code_only(source);
    let lines: Vec<&str> = code.lines().collect();
    let mut names = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some((word, name)) = declaration(line)
            && (word != "type" || !is_associated(&lines[..at], indent(line)))
        {
            names.push(name.to_owned());
        }
    }
    names
}

/// The keyword and the name of a type that a line declares.
fn declaration(line: &str) -> Option<(&str, &str)> {
    let mut rest = line.trim_start();
    if let Some(after) = rest.strip_prefix("pub") {
        rest = after.trim_start();
        if rest.starts_with('(') {
            rest = rest.split_once(')')?.1.trim_start();
        }
    }
    rest = rest.strip_prefix("unsafe ").unwrap_or(rest);
    let (word, after) = rest.split_once(' ')?;
    let end = after.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(after.len());
    let name = &after[..end];
    let is_type = matches!(word, "struct" | "enum" | "trait" | "union" | "type");
    (is_type && name.starts_with(|c: char| c.is_alphabetic())).then_some((word, name))
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Whether a line so far in, after these, stands in an impl or a trait: the last line further out begins one.
fn is_associated(before: &[&str], inside: usize) -> bool {
    let mut outer = before.iter().rev().filter(|line| !line.trim().is_empty() && indent(line) < inside);
    // A header that is wrapped ends with a line of its own, `{` or the end of `where`; its first line is as far out.
    let Some(last) = outer.next() else { return false };
    let begins = |line: &str| {
        let words: Vec<&str> =
            line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        words.iter().take(4).any(|word| matches!(*word, "impl" | "trait"))
    };
    begins(last)
        || (last.trim() == "{" && outer.take(12).any(|line| indent(line) == indent(last) && begins(line)))
}

/// How many of a hundred types have a name of one word.
pub(super) fn one_word_percent(types: &[String]) -> usize {
    percent(types.iter().filter(|name| words(name) == 1).count(), types.len())
}

/// How many of a hundred types have a name that another type has too.
pub(super) fn shared_percent(types: &[String]) -> usize {
    percent(counted(types).values().filter(|count| **count > 1).sum(), types.len())
}

/// The names that most types have.
pub(super) fn most_shared(types: &[String]) -> Vec<(usize, String)> {
    let shared = counted(types).into_iter().filter(|(_, count)| *count > 1);
    descending(shared.map(|(name, count)| (count, name.to_owned())).collect())
}

/// How many types have each of the empty names.
pub(super) fn empty_names(types: &[String], empty: &[String]) -> Vec<(usize, String)> {
    let counts = counted(types);
    descending(empty.iter().filter_map(|name| Some((*counts.get(name.as_str())?, name.clone()))).collect())
}

fn descending(mut rows: Vec<(usize, String)>) -> Vec<(usize, String)> {
    rows.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    rows
}

fn counted(types: &[String]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for name in types {
        *counts.entry(name.as_str()).or_default() += 1;
    }
    counts
}

fn percent(part: usize, whole: usize) -> usize {
    (part * 100 + whole / 2).checked_div(whole).unwrap_or_default()
}

/// A word begins with a capital after a small letter, or with the last capital of several before a small letter.
fn words(name: &str) -> usize {
    let letters: Vec<char> = name.chars().collect();
    let begins = |at: &usize| {
        let small = |at: usize| letters.get(at).is_some_and(|c| c.is_lowercase() || c.is_ascii_digit());
        letters[*at].is_uppercase()
            && (*at == 0 || small(at - 1) || (small(at + 1) && letters[at - 1].is_uppercase()))
    };
    (0..letters.len()).filter(begins).count().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_count_and_associated_types_do_not() {
        let source = "pub struct One<T>(T);\npub(crate) enum Two {}\nunsafe trait Three {\n    type Inner;\n}\n\
            type Four = u8;\nimpl Iterator for One<u8> {\n    type Item = u8;\n}\nmod a {\n    pub type Five = u8;\n}\n\
            impl<T> Trait for Long\nwhere\n    T: Copy,\n{\n    type Output = T;\n}\n\
            // struct Not;\nconst TEXT: &str = \"\nstruct Nor;\n\";\nfn f() {\n    struct Six;\n}\nunion Seven {}\n";
        assert_eq!(types_in(source), ["One", "Two", "Three", "Four", "Five", "Six", "Seven"]);
    }

    #[test]
    fn words_are_counted_by_their_capitals() {
        for (name, count) in [
            ("Wanted", 1),
            ("ToolRequest", 2),
            ("HTTPClient", 2),
            ("Sha256", 1),
            ("IO", 1),
            ("A", 1),
            ("x", 1),
        ] {
            assert_eq!(words(name), count, "{name}");
        }
    }

    #[test]
    fn each_type_counts_and_not_each_name() {
        let types = ["Wanted", "Wanted", "ToolRequest", "Found"].map(str::to_owned);
        assert_eq!((one_word_percent(&types), shared_percent(&types)), (75, 50));
        assert_eq!(most_shared(&types), [(2, "Wanted".to_owned())]);
        assert_eq!(empty_names(&types, &["Found".to_owned(), "Way".to_owned()]), [(1, "Found".to_owned())]);
        assert_eq!((one_word_percent(&[]), shared_percent(&[])), (0, 0));
    }
}
