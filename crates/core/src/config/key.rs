//! The keys there are.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use toml::Value;

/// A key of the configuration.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigKey {
    /// With its sections; `*` stands for a mode.
    pub name: String,
    /// What it takes.
    pub kind: ConfigValueKind,
    /// What holds when nobody says anything.
    #[serde(default)]
    pub default: Option<Value>,
    /// The texts it takes, when only some are fine.
    #[serde(default)]
    pub one_of: Vec<String>,
    /// The least number it takes.
    #[serde(default)]
    pub least: u64,
    /// What a workspace may do with it.
    #[serde(default)]
    project: WorkspaceKeyRight,
    /// The only value a workspace may give it: the strict one.
    #[serde(default)]
    project_only: Option<Value>,
    /// In a sentence.
    pub help: String,
}

/// What a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfigValueKind {
    /// `true` or `false`.
    Bool,
    /// A text.
    Text,
    /// A whole number that is not negative.
    Number,
    /// An amount that is not negative, such as a price.
    Amount,
    /// A list of SPDX licence identifiers.
    Spdx,
    /// A list of texts.
    Texts,
    /// A folder below the workspace, without a way out of it.
    Folder,
}

/// What a workspace may do with a key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WorkspaceKeyRight {
    /// Nothing.
    #[default]
    No,
    /// Give it any value.
    Yes,
    /// Make it smaller.
    Lower,
    /// Make it larger.
    Higher,
}

/// A section that has another name now.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LegacySection {
    pub(super) old: String,
    pub(super) new: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConfigKeyRules {
    pub(super) elsewhere: Vec<String>,
    pub(super) sections: BTreeMap<String, String>,
    pub(super) key: Vec<ConfigKey>,
    pub(super) legacy: Vec<LegacySection>,
}

/// All keys, in the order of the file.
pub fn known() -> &'static [ConfigKey] {
    &rules().key
}

pub(super) fn rules() -> &'static ConfigKeyRules {
    static RULES: LazyLock<ConfigKeyRules> = LazyLock::new(|| load().unwrap_or_default());
    &RULES
}

pub(super) fn load() -> Result<ConfigKeyRules, toml::de::Error> {
    toml::from_str(include_str!("../../../../rules/config.toml"))
}

impl ConfigKey {
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
        let number = value.as_integer().and_then(|n| u64::try_from(n).ok());
        let fits = match self.kind {
            ConfigValueKind::Bool => value.is_bool(),
            ConfigValueKind::Text => value.is_str(),
            ConfigValueKind::Number => number.is_some_and(|n| n >= self.least),
            ConfigValueKind::Amount => amount(value).is_some_and(|n| n.is_finite() && n >= 0.0),
            ConfigValueKind::Spdx => value.as_array().is_some_and(|list| list.iter().all(is_licence)),
            ConfigValueKind::Texts => value.as_array().is_some_and(|list| list.iter().all(Value::is_str)),
            ConfigValueKind::Folder => value.as_str().is_some_and(is_below),
        };
        if !fits {
            let must = match self.kind {
                ConfigValueKind::Bool => "true or false".to_owned(),
                ConfigValueKind::Text => "a text".to_owned(),
                ConfigValueKind::Number if self.least > 0 => format!("a whole number from {} on", self.least),
                ConfigValueKind::Number => "a whole number".to_owned(),
                ConfigValueKind::Amount => "an amount, such as 2.5".to_owned(),
                ConfigValueKind::Spdx => "a list of SPDX identifiers, such as [\"MPL-2.0\"]".to_owned(),
                ConfigValueKind::Texts => "a list of texts, such as [\"npm\"]".to_owned(),
                ConfigValueKind::Folder => "a folder below the workspace, such as \"logs\"".to_owned(),
            };
            return Some(must);
        }
        let known =
            self.one_of.is_empty() || value.as_str().is_some_and(|v| self.one_of.iter().any(|o| o == v));
        (!known).then(|| format!("one of {}", self.one_of.join(", ")))
    }

    /// What a workspace may say instead of this value, in brackets, when it may not say this; `now` is what holds below
    /// it.
    pub(super) fn project_refuses(&self, value: &Value, now: Option<&Value>) -> Option<String> {
        if let Some(only) = &self.project_only {
            return (only != value).then(|| format!(" (only `{only}` is)"));
        }
        // Where nothing holds yet, any limit is a tighter one.
        let loosens = |looser: fn(f64, f64) -> bool| match (now.and_then(amount), amount(value)) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(now), Some(new)) => looser(new, now),
        };
        match self.project {
            WorkspaceKeyRight::Yes => None,
            WorkspaceKeyRight::No => Some(String::new()),
            WorkspaceKeyRight::Lower => {
                loosens(|new, now| new > now).then(|| " (only a lower one is)".into())
            }
            WorkspaceKeyRight::Higher => {
                loosens(|new, now| new < now).then(|| " (only a higher one is)".into())
            }
        }
    }
}

/// A whole number or a fraction.
pub(super) fn amount(value: &Value) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "limits are small")]
    let whole = value.as_integer().map(|n| n as f64);
    whole.or_else(|| value.as_float())
}

/// One identifier, perhaps with an exception: no expression, because each entry stands for itself.
fn is_licence(value: &Value) -> bool {
    let Some(text) = value.as_str() else { return false };
    let word =
        |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-.+".contains(c));
    match text.split(' ').collect::<Vec<_>>().as_slice() {
        [id] => word(id),
        [id, "WITH", exception] => word(id) && word(exception),
        _ => false,
    }
}

/// A relative path of plain names, none of which is git's.
fn is_below(text: &str) -> bool {
    let plain = |name: &str| {
        !matches!(name, "" | "." | "..")
            && !name.eq_ignore_ascii_case(".git")
            && !name.chars().any(|c| c.is_control() || c == '\\')
    };
    text.len() <= 200 && text.trim() == text && text.split('/').all(plain)
}

/// The key of a full name.
pub(super) fn find(name: &str) -> Option<&'static ConfigKey> {
    known().iter().find(|key| key.matches(name))
}
