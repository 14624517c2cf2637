//! Keys of former releases: read as what they have become, and told.

use std::collections::BTreeSet;

use toml::Table;

use super::key::rules;
use super::layer::{ConfigSource, flatten, put};

/// The section of former releases that stays what it was.
const STAYS: &str = "llm.default";

/// A key that was read under its new name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RenamedKey {
    pub(super) old: String,
    pub(super) new: String,
    /// Whether the new key is there as well, and wins.
    pub(super) beaten: bool,
}

/// Notes about moved keys travel with the values until all layers are read: only then is it known what to make of them.
pub(super) const NOTE: &str = "\u{0}legacy\u{0}";

impl RenamedKey {
    pub(super) fn note(&self) -> String {
        format!("{NOTE}{}\u{0}{}", self.old, self.new)
    }
}

/// Old and new name from a note.
pub(super) fn from_note(note: &str) -> Option<(String, String)> {
    let (old, new) = note.strip_prefix(NOTE)?.split_once('\u{0}')?;
    Some((old.to_owned(), new.to_owned()))
}

impl RenamedKey {
    /// What to tell about it, and how to be rid of it.
    pub(super) fn told(&self, source: &ConfigSource) -> String {
        let Self { old, new, .. } = self;
        if self.beaten {
            return format!("`{old}` is `{new}` now; both are there, and `{new}` wins");
        }
        let remedy = match source {
            ConfigSource::Project { path } | ConfigSource::User { path } => {
                format!(" (`holon config migrate {path} --write` rewrites it)")
            }
            ConfigSource::Env { .. } | ConfigSource::Default => String::new(),
        };
        format!("`{old}` is `{new}` now; it still works in this release{remedy}")
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
pub(super) fn translate(table: &Table, said: &BTreeSet<String>) -> (Table, Vec<RenamedKey>) {
    let mut all = flatten(table);
    // The section that stays may be a text as well.
    all.iter_mut().filter(|(name, _)| name == STAYS).for_each(|(name, _)| name.push_str(".model"));
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
        moved.push(RenamedKey { old: old.clone(), new: name.clone(), beaten });
        if beaten {
            continue;
        }
        put(&mut new, &name, value.clone());
    }
    (new, moved)
}
