//! Keys of former releases: read as what they have become, and told.

use std::collections::BTreeSet;
use std::fmt;

use toml::Table;

use super::key::rules;
use super::layer::{flatten, put};

/// A key that was read under its new name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Moved {
    pub(super) old: String,
    pub(super) new: String,
    /// Whether the new key is there as well, and wins.
    pub(super) beaten: bool,
}

/// Notes about moved keys travel with the values until all layers are read: only then is it known what to make of them.
pub(super) const NOTE: &str = "\u{0}legacy\u{0}";

impl Moved {
    pub(super) fn note(&self) -> String {
        format!("{NOTE}{}\u{0}{}", self.old, self.new)
    }
}

/// Old and new name from a note.
pub(super) fn from_note(note: &str) -> Option<(String, String)> {
    let (old, new) = note.strip_prefix(NOTE)?.split_once('\u{0}')?;
    Some((old.to_owned(), new.to_owned()))
}

impl fmt::Display for Moved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { old, new, .. } = self;
        if self.beaten {
            write!(f, "`{old}` is `{new}` now; both are there, and `{new}` wins")
        } else {
            write!(
                f,
                "`{old}` is `{new}` now; it still works in this release (`holon config migrate` rewrites it)"
            )
        }
    }
}

/// The name of today of a mode that is asked for by its former one.
pub(super) fn former_mode(name: &str) -> Option<&'static str> {
    let last = |text: &'static str| text.rsplit('.').next();
    rules().legacy.iter().find(|legacy| last(&legacy.old) == Some(name)).and_then(|legacy| last(&legacy.new))
}

/// The new name of a former key.
pub(super) fn renamed(name: &str) -> Option<String> {
    rules().legacy.iter().find_map(|legacy| {
        let rest = name.strip_prefix(&legacy.old)?;
        (rest.is_empty() || rest.starts_with('.')).then(|| format!("{}{rest}", legacy.new))
    })
}

/// The table with former keys under their new names, and what was moved.
///
/// A section that was only a text named a model. `said` are the names of today that are used in any layer, and win.
pub(super) fn translate(table: &Table, said: &BTreeSet<String>) -> (Table, Vec<Moved>) {
    let all = flatten(table);
    let has = |name: &str| said.contains(name) || all.iter().any(|(n, _)| n == name);
    let (mut new, mut moved) = (Table::new(), Vec::new());
    for (name, value) in &all {
        if renamed(name).is_none() {
            put(&mut new, name, value.clone());
        }
    }
    for (old, value) in &all {
        let Some(name) = renamed(old) else { continue };
        let name = if rules().legacy.iter().any(|l| l.new == name) { format!("{name}.model") } else { name };
        let beaten = has(&name);
        moved.push(Moved { old: old.clone(), new: name.clone(), beaten });
        if beaten {
            continue;
        }
        put(&mut new, &name, value.clone());
    }
    (new, moved)
}
