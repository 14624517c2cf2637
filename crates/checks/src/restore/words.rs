//! Build files that are lists of words: as they were, with the names of sources the change adds.

use std::collections::BTreeSet;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Ends of what is built from a source.
const BUILT: [&str; 5] = [".o", ".obj", ".lo", ".class", ".beam"];

pub(super) fn merged(base: &str, result: &str, sources: &BTreeSet<&str>) -> String {
    let old: Vec<&str> = base.split_inclusive('\n').collect();
    let new: Vec<&str> = result.split_inclusive('\n').collect();
    let mut out = String::with_capacity(result.len());
    for op in capture_diff_slices(Algorithm::Myers, &old, &new) {
        match op {
            DiffOp::Equal { old_index, len, .. } => {
                out.extend(old[old_index..old_index + len].iter().copied())
            }
            DiffOp::Delete { old_index, old_len, .. } => {
                out.extend(old[old_index..old_index + old_len].iter().copied());
            }
            DiffOp::Insert { new_index, new_len, .. } => {
                let fine =
                    new[new_index..new_index + new_len].iter().filter(|line| only_adds("", line, sources));
                out.extend(fine.copied());
            }
            DiffOp::Replace { old_index, old_len, new_index, new_len } => {
                let (old, new) = (&old[old_index..old_index + old_len], &new[new_index..new_index + new_len]);
                for (at, line) in old.iter().enumerate() {
                    let changed = new.get(at).filter(|changed| only_adds(line, changed, sources));
                    out.push_str(changed.unwrap_or(line));
                }
                let more = new.iter().skip(old.len()).filter(|line| only_adds("", line, sources));
                out.extend(more.copied());
            }
        }
    }
    out
}

/// Whether the changed line has every word of the old one, in order, and besides only names of new sources.
fn only_adds(old: &str, new: &str, sources: &BTreeSet<&str>) -> bool {
    let mut left = tokens(old).peekable();
    let mut added = false;
    for word in tokens(new) {
        if left.peek() == Some(&word) {
            left.next();
        } else if is_source(word, sources) {
            added = true;
        } else {
            return false;
        }
    }
    left.next().is_none() && (added || !old.is_empty())
}

/// Words, and parentheses as words of their own.
fn tokens(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| c.is_whitespace() || "\"',".contains(c))
        .flat_map(|word| word.split_inclusive(['(', ')']))
        .flat_map(|word| match word.char_indices().next_back() {
            Some((at, '(' | ')')) => [&word[..at], &word[at..]],
            _ => [word, ""],
        })
        .filter(|word| !word.is_empty() && *word != "\\")
}

fn is_source(word: &str, sources: &BTreeSet<&str>) -> bool {
    let word = word.trim_start_matches("./");
    let named = |path: &str, word: &str| path == word || path.ends_with(&format!("/{word}"));
    let built = |path: &str| {
        let stem = BUILT.iter().find_map(|end| word.strip_suffix(end));
        stem.is_some_and(|stem| path.rsplit_once('.').is_some_and(|(path, _)| named(path, stem)))
    };
    sources.iter().any(|path| named(path, word) || built(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_new_sources_come_in() {
        let sources = BTreeSet::from(["util/c.c", "d.c"]);
        let check =
            |base: &str, result: &str, expect: &str| assert_eq!(merged(base, result, &sources), expect);
        check("O = a.o\nt:\n\trun\n", "O = a.o util/c.o\nt:\n\ttrue\n", "O = a.o util/c.o\nt:\n\trun\n");
        check("O = a.o\n", "O = a.o -DX c.o\n", "O = a.o\n");
        check("l(\n  a.c\n)\n", "l(\n  a.c\n  d.c\n  other.c\n)\n", "l(\n  a.c\n  d.c\n)\n");
        check("l(x a.c)\n", "l(x a.c d.c)\n", "l(x a.c d.c)\n");
        check("l(x a.c)\n", "l(x d.c)\n", "l(x a.c)\n");
        check("l(x a.c)\n", "l(x a.c) q(d.c)\n", "l(x a.c)\n");
        check("a\nb\n", "b\n", "a\nb\n");
        check("t:\n\trun\n", "SHELL = x\nt:\n\trun\n", "t:\n\trun\n");
        check("", "t:\n", "");
    }
}
