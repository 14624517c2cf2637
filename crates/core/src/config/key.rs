//! The keys there are.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use toml::Value;

/// A key of the configuration.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// With its sections; `*` stands for a mode.
    pub name: String,
    /// What it takes.
    pub kind: Kind,
    /// What holds when nobody says anything.
    #[serde(default)]
    pub default: Option<Value>,
    /// The texts it takes, when only some are fine.
    #[serde(default)]
    pub one_of: Vec<String>,
    /// What a workspace may do with it.
    #[serde(default)]
    project: Option<String>,
    /// The only value a workspace may give it: the strict one.
    #[serde(default)]
    project_only: Option<Value>,
    /// Whether nothing acts upon it yet.
    #[serde(default)]
    pub planned: bool,
    /// In a sentence.
    pub help: String,
}

/// What a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// `true` or `false`.
    Bool,
    /// A text.
    Text,
    /// A whole number that is not negative.
    Number,
    /// A list of texts.
    List,
}

/// A section that has another name now.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Legacy {
    pub(super) old: String,
    pub(super) new: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rules {
    pub(super) elsewhere: Vec<String>,
    pub(super) sections: BTreeMap<String, String>,
    pub(super) key: Vec<Key>,
    pub(super) legacy: Vec<Legacy>,
}

/// All keys, in the order of the file.
pub fn known() -> &'static [Key] {
    &rules().key
}

pub(super) fn rules() -> &'static Rules {
    static RULES: LazyLock<Rules> = LazyLock::new(|| load().unwrap_or_default());
    &RULES
}

pub(super) fn load() -> Result<Rules, toml::de::Error> {
    toml::from_str(include_str!("../../../../rules/config.toml"))
}

impl Key {
    /// Whether a full name such as `modes.code.model` is this key's.
    pub fn matches(&self, name: &str) -> bool {
        let (mut own, mut given) = (self.name.split('.'), name.split('.'));
        loop {
            match (own.next(), given.next()) {
                (None, None) => return true,
                (Some("*"), Some(word)) if !word.is_empty() => {}
                (Some(a), Some(b)) if a == b => {}
                _ => return false,
            }
        }
    }

    /// What is wrong with a value, as what it must be instead.
    pub(super) fn refuses(&self, value: &Value) -> Option<String> {
        let fits = match self.kind {
            Kind::Bool => value.is_bool(),
            Kind::Text => value.is_str(),
            Kind::Number => value.as_integer().is_some_and(|n| n >= 0),
            Kind::List => value.as_array().is_some_and(|list| list.iter().all(Value::is_str)),
        };
        if !fits {
            let must = match self.kind {
                Kind::Bool => "true or false",
                Kind::Text => "a text",
                Kind::Number => "a whole number",
                Kind::List => "a list of texts",
            };
            return Some(must.to_owned());
        }
        let known =
            self.one_of.is_empty() || value.as_str().is_some_and(|v| self.one_of.iter().any(|o| o == v));
        (!known).then(|| format!("one of {}", self.one_of.join(", ")))
    }

    /// Whether a workspace may give it this value.
    pub(super) fn project_may(&self, value: &Value) -> bool {
        match &self.project_only {
            Some(only) => only == value,
            None => self.project.as_deref() == Some("yes"),
        }
    }
}

/// The key of a full name.
pub(super) fn find(name: &str) -> Option<&'static Key> {
    known().iter().find(|key| key.matches(name))
}
