//! A file with former keys, rewritten line by line: comments, order and everything else stay.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::key::rules;
use super::legacy::renamed;

/// A rewritten file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigratedConfig {
    /// The new text.
    pub text: String,
    /// Old and new names of what was moved.
    pub moved: Vec<(String, String)>,
    /// What could not be moved, with the reason; it is left as it was.
    pub left: Vec<(String, String)>,
}

/// Renames sections and dotted keys of former releases; what the new name already has is left for a person.
pub fn migrate(text: &str) -> MigratedConfig {
    let before: Table = text.parse().unwrap_or_default();
    let mut migrated = MigratedConfig { text: String::new(), moved: Vec::new(), left: Vec::new() };
    let mut section = String::new();
    let mut open: Option<&'static str> = None;
    // What needs a section of its own, which comes last.
    let mut below: BTreeMap<String, String> = BTreeMap::new();
    for line in text.split_inclusive('\n') {
        let starts_inside = open;
        open = after(line, open);
        let trimmed = line.trim();
        let new = if starts_inside.is_some() || trimmed.starts_with('#') {
            None
        } else if let Some(header) = trimmed.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            section = plain(header);
            rename(&section, &before, &mut migrated).map(|new| line.replacen(header, &new, 1))
        } else if let Some((table, entry)) = open.is_none().then(|| apart(&section, line, &before)).flatten()
        {
            migrated.moved.push((
                format!("{section}.{}", plain(key_of(line).map_or("", |(key, _)| key))),
                table.clone(),
            ));
            *below.entry(table).or_default() += &entry;
            continue;
        } else {
            key_of(line).and_then(|(key, rest)| renamed_key(&section, key, rest, &before, &mut migrated))
        };
        migrated.text += new.as_deref().unwrap_or(line);
    }
    for (table, entries) in below {
        let gap = if migrated.text.ends_with('\n') { "\n" } else { "\n\n" };
        migrated.text += &format!("{gap}[{table}]\n{entries}");
    }
    // A rewriting that does not mean the same is none.
    if text.parse::<Table>().is_ok() && migrated.text.parse::<Table>().is_err() {
        let why = "the file is written in a way that cannot be rewritten safely".to_owned();
        migrated.left =
            std::mem::take(&mut migrated.moved).into_iter().map(|(old, _)| (old, why.clone())).collect();
        text.clone_into(&mut migrated.text);
    }
    migrated
}

/// The section and the line that a plain value of a former key becomes, when it stands below `[llm]` and nobody has
/// written that section yet.
fn apart(section: &str, line: &str, before: &Table) -> Option<(String, String)> {
    let (key, rest) = key_of(line)?;
    let full = format!("{section}.{}", plain(key));
    let new = renamed(&full).filter(|_| !section.is_empty() && renamed(section).is_none())?;
    let new = if is_section(&full) { format!("{new}.model") } else { new };
    let (table, name) = new.rsplit_once('.')?;
    let value = format!("x{rest}").parse::<Table>().ok()?;
    let plain = value.get("x").is_some_and(|value| !value.is_table() && !value.is_array());
    (plain && !there(before, table))
        .then(|| (table.to_owned(), format!("{name}{}\n", rest.trim_end_matches(['\n', '\r']))))
}

/// `llm.code_review = "x"` below `[…]`, or `code_review = "x"` below `[llm]`, which needs the name from the root.
fn renamed_key(
    section: &str,
    key: &str,
    rest: &str,
    before: &Table,
    migrated: &mut MigratedConfig,
) -> Option<String> {
    let name = plain(key);
    let full = if section.is_empty() { name.clone() } else { format!("{section}.{name}") };
    if section.is_empty() {
        let new = rename(&full, before, migrated)?;
        let new = if is_section(&full) && !rest.trim_start().starts_with("= {") {
            format!("{new}.model")
        } else {
            new
        };
        return Some(format!("{new}{rest}"));
    }
    if renamed(&full).is_some() && renamed(section).is_none() {
        let why = format!("write it below [{}]", renamed(&full).unwrap_or_default());
        migrated.left.push((full, why));
    }
    None
}

fn is_section(name: &str) -> bool {
    rules().legacy.iter().any(|legacy| legacy.old == name)
}

/// The new name of a section or key, unless that is taken.
fn rename(name: &str, before: &Table, migrated: &mut MigratedConfig) -> Option<String> {
    let new = renamed(name)?;
    if there(before, &new) {
        migrated
            .left
            .push((name.to_owned(), format!("`{new}` is there already and wins; remove one of them")));
        return None;
    }
    migrated.moved.push((name.to_owned(), new.clone()));
    Some(new)
}

fn there(table: &Table, name: &str) -> bool {
    let mut now = Some(table);
    let mut words = name.split('.').peekable();
    while let Some(word) = words.next() {
        let Some(value) = now.and_then(|table| table.get(word)) else { return false };
        now = match value {
            Value::Table(inner) => Some(inner),
            _ => return words.peek().is_none(),
        };
    }
    true
}

/// `KEY` and the rest of its line, from the first space or sign after it.
fn key_of(line: &str) -> Option<(&str, &str)> {
    let (key, _) = line.split_once('=')?;
    let key = key.trim_end();
    Some((key, &line[key.len()..]))
}

/// A dotted name without quotes and spaces.
fn plain(name: &str) -> String {
    name.split('.').map(|word| word.trim().trim_matches(['"', '\''])).collect::<Vec<_>>().join(".")
}

/// Whether a text of several lines is open after this line.
fn after(line: &str, open: Option<&'static str>) -> Option<&'static str> {
    let mut open = open;
    let mut rest = line;
    loop {
        match open {
            Some(quote) => {
                let Some(at) = rest.find(quote) else { return Some(quote) };
                rest = &rest[at + quote.len()..];
                open = None;
            }
            None => {
                let next = ["\"\"\"", "'''"].into_iter().filter_map(|q| Some((rest.find(q)?, q))).min();
                let (at, quote) = next?;
                if rest[..at].contains('#') {
                    return None;
                }
                rest = &rest[at + quote.len()..];
                open = Some(quote);
            }
        }
    }
}
