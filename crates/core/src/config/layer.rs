//! Layers, laid over one another.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use toml::{Table, Value};

use super::ConfigError;
use super::key::{self, ConfigKey, rules};
use super::legacy;
use crate::suggest;

/// Where a value comes from; later ones win.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfigSource {
    /// Nobody said anything.
    Default,
    /// The user's file.
    User {
        /// Its path.
        path: String,
    },
    /// `holon.toml` in the workspace: it can narrow, and choose among what costs nobody anything.
    Project {
        /// Its path.
        path: String,
    },
    /// A variable.
    Env {
        /// Its name.
        variable: String,
    },
}

impl fmt::Display for ConfigSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::User { path } | Self::Project { path } => f.write_str(path),
            Self::Env { variable } => write!(f, "${variable}"),
        }
    }
}

/// One layer, read.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigLayer {
    /// Where it comes from.
    pub source: ConfigSource,
    /// What it says.
    pub table: Table,
}

impl ConfigLayer {
    /// A file's text as a layer.
    pub fn parse(source: ConfigSource, text: &str) -> Result<Self, ConfigError> {
        let table = text.parse().map_err(|e: toml::de::Error| ConfigError::Syntax {
            place: source.to_string(),
            message: e.to_string().trim_end().to_owned(),
        })?;
        Ok(Self { source, table })
    }

    /// The variables `HOLON_MODELS__SELECTION=off`, `HOLON_MODES__CODE__MODEL=…`, as layers of one value each.
    pub fn from_variables<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<Self> {
        let mut layers: Vec<Self> =
            variables.into_iter().filter_map(|(name, text)| from_variable(name, text)).collect();
        layers.sort_by(|a, b| a.source.cmp(&b.source));
        layers
    }
}

/// Sections are divided by two underscores, since keys have single ones.
fn from_variable(name: &str, text: &str) -> Option<ConfigLayer> {
    let path = name.strip_prefix("HOLON_")?.to_ascii_lowercase().replace("__", ".");
    let key = key::find(&path).filter(|_| path.contains('.'))?;
    let value = match key.kind {
        super::ConfigValueKind::Bool => {
            text.trim().parse().map_or_else(|_| Value::String(text.into()), Value::Boolean)
        }
        super::ConfigValueKind::Number => {
            text.trim().parse().map_or_else(|_| Value::String(text.into()), Value::Integer)
        }
        super::ConfigValueKind::Amount => {
            text.trim().parse().map_or_else(|_| Value::String(text.into()), Value::Float)
        }
        super::ConfigValueKind::Text | super::ConfigValueKind::Folder => {
            Value::String(text.trim().to_owned())
        }
        super::ConfigValueKind::Spdx | super::ConfigValueKind::Texts => {
            Value::Array(text.split(',').map(|word| Value::String(word.trim().into())).collect())
        }
    };
    let mut table = Table::new();
    put(&mut table, &path, value);
    Some(ConfigLayer { source: ConfigSource::Env { variable: name.to_owned() }, table })
}

/// A value and where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigValue {
    /// The value.
    pub value: Value,
    /// Its origin.
    pub source: ConfigSource,
}

/// Something to tell once per run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConfigWarning {
    /// The layer.
    pub source: String,
    /// What is the matter, and what to write instead.
    pub message: String,
}

impl fmt::Display for ConfigWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.source, self.message)
    }
}

/// What holds, with the origin of each value.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResolvedConfig {
    values: BTreeMap<String, ConfigValue>,
    /// What to tell, each once.
    pub warnings: BTreeSet<ConfigWarning>,
}

impl ResolvedConfig {
    /// The value of a key, or its default.
    pub fn get(&self, name: &str) -> Option<ConfigValue> {
        let default =
            || Some(ConfigValue { value: key::find(name)?.default.clone()?, source: ConfigSource::Default });
        self.values.get(name).cloned().or_else(default)
    }

    /// The modes that something is said about.
    pub fn modes(&self) -> BTreeSet<&str> {
        let named = self.values.keys().filter_map(|name| name.strip_prefix("modes.")?.split_once('.'));
        named.map(|(mode, _)| mode).collect()
    }

    /// A text.
    pub fn text(&self, name: &str) -> Option<String> {
        self.get(name)?.value.as_str().map(str::to_owned)
    }

    /// Yes or no.
    pub fn flag(&self, name: &str) -> Option<bool> {
        self.get(name)?.value.as_bool()
    }

    /// A number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.value.as_integer().and_then(|n| n.try_into().ok())
    }

    /// An amount, whole or not.
    pub fn amount(&self, name: &str) -> Option<f64> {
        key::amount(&self.get(name)?.value)
    }

    /// A list of texts; empty when nobody says anything.
    pub fn list(&self, name: &str) -> Vec<String> {
        let found = self.get(name);
        let all = found.as_ref().and_then(|found| found.value.as_array()).into_iter().flatten();
        all.filter_map(|value| value.as_str().map(str::to_owned)).collect()
    }

    /// Everything somebody said, and the defaults of keys that need no mode's name.
    pub fn rows(&self) -> BTreeMap<String, ConfigValue> {
        let plain = key::known().iter().filter(|key| !key.name.contains('*'));
        let defaults = plain.filter_map(|key| Some((key.name.clone(), self.get(&key.name)?)));
        defaults.chain(self.values.clone()).collect()
    }
}

/// Lays layers over one another, the first below the others.
pub fn merge(layers: &[ConfigLayer]) -> Result<ResolvedConfig, ConfigError> {
    let mut config = ResolvedConfig::default();
    let said = said(layers);
    for layer in layers {
        let source = layer.source.to_string();
        let (table, moved) = legacy::translate(&layer.table, &said);
        for moved in &moved {
            let message = moved.told(&layer.source);
            config.warnings.insert(ConfigWarning { source: source.clone(), message });
            config.values.entry(moved.note()).or_insert(ConfigValue {
                value: Value::String(source.clone()),
                source: layer.source.clone(),
            });
        }
        for (name, value) in flatten(&table) {
            let written = moved.iter().find(|moved| moved.new == name).map_or(&name, |moved| &moved.old);
            take(&mut config, layer, (&name, written), value)?;
        }
    }
    settle_legacy(&mut config)?;
    Ok(config)
}

/// The names of today that somebody uses and may use: they beat former ones in whichever layer these are.
fn said(layers: &[ConfigLayer]) -> BTreeSet<String> {
    let allowed = |layer: &ConfigLayer, name: &str, value: &Value| {
        let from_project = matches!(layer.source, ConfigSource::Project { .. });
        key::find(name).is_some_and(|key| !from_project || key.project_refuses(value, None).is_none())
    };
    let named = |layer: &ConfigLayer| -> Vec<String> {
        let all = flatten(&layer.table).into_iter();
        all.filter(|(name, value)| allowed(layer, name, value)).map(|(name, _)| name).collect()
    };
    layers.iter().flat_map(named).collect()
}

/// With `compat.legacy = "error"` anywhere, former keys end here.
fn settle_legacy(config: &mut ResolvedConfig) -> Result<(), ConfigError> {
    let notes: Vec<(String, ConfigValue)> = config
        .values
        .iter()
        .filter(|(name, _)| name.starts_with(legacy::NOTE))
        .map(|(n, f)| (n.clone(), f.clone()))
        .collect();
    config.values.retain(|name, _| !name.starts_with(legacy::NOTE));
    if config.text("compat.legacy").as_deref() != Some("error") {
        return Ok(());
    }
    match notes.first().and_then(|(name, found)| Some((legacy::from_note(name)?, found))) {
        Some(((old, new), found)) => Err(ConfigError::Legacy { place: found.source.to_string(), old, new }),
        None => Ok(()),
    }
}

/// Takes a value in; `written` is what the layer calls its key.
fn take(
    config: &mut ResolvedConfig,
    layer: &ConfigLayer,
    (name, written): (&str, &str),
    value: Value,
) -> Result<(), ConfigError> {
    let source = layer.source.to_string();
    let Some(key) = key::find(name) else {
        let message = format!("unknown key `{name}`{}", nearest(name));
        config.warnings.insert(ConfigWarning { source, message });
        return Ok(());
    };
    let now = config.get(name).map(|found| found.value);
    let project = matches!(layer.source, ConfigSource::Project { .. });
    let not_for_project = project.then(|| key.project_refuses(&value, now.as_ref())).flatten();
    // What a workspace may not say at all is not looked at: it cannot stop anybody's work either.
    if let Some(must) = key.refuses(&value).filter(|_| not_for_project.is_none()) {
        return Err(ConfigError::Value {
            place: source,
            key: written.to_owned(),
            is: value.to_string(),
            must,
        });
    }
    if let Some(instead) = not_for_project {
        let message = format!("`{name} = {value}` is not for a workspace to say{instead}; it is not used");
        config.warnings.insert(ConfigWarning { source, message });
        return Ok(());
    }
    config.values.insert(name.to_owned(), ConfigValue { value, source: layer.source.clone() });
    Ok(())
}

/// The known key that is closest, with the mode's name put in.
fn nearest(name: &str) -> String {
    let words: Vec<&str> = name.split('.').collect();
    let concrete = |key: &ConfigKey| -> String {
        let own = key.name.split('.').enumerate();
        let filled =
            own.map(|(at, word)| if word == "*" { words.get(at).copied().unwrap_or("*") } else { word });
        filled.collect::<Vec<_>>().join(".")
    };
    let names: Vec<String> = key::known().iter().map(concrete).collect();
    suggest::hint(name, names.iter().map(String::as_str))
}

/// Full names with their values; sections that are checked elsewhere are left out.
pub(super) fn flatten(table: &Table) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for (name, value) in table {
        if !rules().elsewhere.iter().any(|section| section == name) {
            walk(name.clone(), value, &mut found, 0);
        }
    }
    found
}

fn walk(name: String, value: &Value, found: &mut Vec<(String, Value)>, depth: usize) {
    match value {
        Value::Table(inner) if depth < 8 => {
            for (word, value) in inner {
                walk(format!("{name}.{word}"), value, found, depth + 1);
            }
        }
        other => found.push((name, other.clone())),
    }
}

/// Sets a value by its full name, making the sections on the way; a value in the way is replaced.
pub(super) fn put(table: &mut Table, name: &str, value: Value) {
    match name.split_once('.') {
        None => {
            table.insert(name.to_owned(), value);
        }
        Some((section, rest)) => {
            let inner = table.entry(section).or_insert_with(|| Value::Table(Table::new()));
            if !inner.is_table() {
                *inner = Value::Table(Table::new());
            }
            if let Value::Table(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}
