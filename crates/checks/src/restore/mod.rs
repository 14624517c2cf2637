//! Putting definitions back: whole files, or the parts of them that make a check what it is.

pub(crate) mod inline;
mod keys;
mod parts;
pub(crate) mod scan;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use regex::{Regex, RegexBuilder};

use crate::definition::RestoreForm;

/// The text with what defines checks from the base and the rest from the result; nothing where only the whole base will do.
/// `sources` are files the change adds that define nothing.
pub(crate) fn merged(
    form: &RestoreForm,
    base: &str,
    result: &str,
    sources: &BTreeSet<&str>,
) -> Option<String> {
    match form {
        RestoreForm::Whole => None,
        RestoreForm::Words => Some(words::merged(base, result, sources)),
        RestoreForm::Json(keys) => keys::json(keys, base, result),
        RestoreForm::Toml(keys) => keys::toml(keys, base, result),
        RestoreForm::Sections(pattern) => sections(&Regex::new(pattern).ok()?, base, result),
        RestoreForm::Lines(pattern) => lines(&Regex::new(pattern).ok()?, base, result),
        RestoreForm::Parts(wanted) => parts::merged(wanted, base, result),
    }
}

/// Sections of an INI file by name, each with its heading.
fn split_sections(text: &str) -> Vec<(&str, String)> {
    let mut found: Vec<(&str, String)> = vec![("", String::new())];
    for line in text.split_inclusive('\n') {
        let heading = line.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        if let Some(name) = heading {
            found.push((name, String::new()));
        }
        if let Some(last) = found.last_mut() {
            last.1.push_str(line);
        }
    }
    found
}

fn sections(defines: &Regex, base: &str, result: &str) -> Option<String> {
    let (old, new) = (split_sections(base), split_sections(result));
    let of_base = old.iter().filter(|(name, _)| defines.is_match(name)).map(|(_, text)| text);
    let others = new.iter().filter(|(name, _)| !defines.is_match(name)).map(|(_, text)| text);
    let same = old
        .iter()
        .filter(|(name, _)| defines.is_match(name))
        .eq(new.iter().filter(|(name, _)| defines.is_match(name)));
    if same {
        return Some(result.to_owned());
    }
    let ended = |text: &String| if text.ends_with('\n') { text.clone() } else { format!("{text}\n") };
    Some(others.chain(of_base).map(ended).collect())
}

fn lines(defines: &Regex, base: &str, result: &str) -> Option<String> {
    let of = |text: &str| -> Vec<String> {
        text.lines().filter(|line| defines.is_match(line)).map(str::to_owned).collect()
    };
    let (old, new) = (of(base), of(result));
    if old == new {
        return Some(result.to_owned());
    }
    let others = result.lines().filter(|line| !defines.is_match(line)).map(str::to_owned);
    Some(others.chain(old).map(|line| line + "\n").collect())
}

/// The result without marks in lines that the base does not have; nothing when there are none.
pub(crate) fn without_new_marks(marks: &[&Regex], base: &str, result: &str) -> Option<String> {
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for line in base.lines() {
        *known.entry(line).or_default() += 1;
    }
    let mut changed = false;
    let mut out = String::with_capacity(result.len());
    for line in result.split_inclusive('\n') {
        let bare = line.trim_end_matches('\n');
        if let Some(left) = known.get_mut(bare).filter(|left| **left > 0) {
            *left -= 1;
            out.push_str(line);
            continue;
        }
        let mut kept = bare.to_owned();
        for mark in marks {
            kept = mark.replace_all(&kept, "").into_owned();
        }
        changed |= kept != bare;
        out.push_str(&kept);
        out.push_str(&line[bare.len()..]);
    }
    changed.then_some(out)
}

/// An expression over lines.
fn by_line(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).multi_line(true).build().ok()
}
