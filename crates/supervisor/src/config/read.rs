//! From a TOML table to [`SupervisorConfig`], key by key, so that every refusal names the key.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use toml::{Table, Value};

use super::{ContractMode, SupervisorConfig, SupervisorConfigError};
use crate::level::SupervisorLevel;
use crate::signal::trigger_fields;

const PRESETS: &str = include_str!("../../../../rules/supervisor/presets.toml");

static PRESET_TABLES: LazyLock<BTreeMap<String, Table>> =
    LazyLock::new(|| toml::from_str(PRESETS).unwrap_or_default());

impl SupervisorConfig {
    /// Reads a text whose `[supervisor]` section counts; without one the defaults hold.
    pub fn from_toml(text: &str) -> Result<Self, SupervisorConfigError> {
        let whole: Table = text
            .parse()
            .map_err(|error: toml::de::Error| SupervisorConfigError::Syntax(error.to_string()))?;
        match whole.get("supervisor") {
            None => Ok(Self::default()),
            Some(Value::Table(section)) => Self::from_table(section),
            Some(other) => Err(wrong("supervisor", other, "a table")),
        }
    }

    /// Reads the section itself: the preset first, then what is written beside it.
    pub fn from_table(section: &Table) -> Result<Self, SupervisorConfigError> {
        let mut config = Self::default();
        match section.get("preset") {
            None => {}
            Some(Value::String(name)) => config = Self::preset(name)?,
            Some(other) => return Err(wrong("supervisor.preset", other, &preset_names())),
        }
        config.overlay(section)?;
        config.check()?;
        Ok(config)
    }

    /// The values of a preset; an empty name stands for the defaults.
    pub fn preset(name: &str) -> Result<Self, SupervisorConfigError> {
        let mut config = Self::default();
        if name.is_empty() {
            return Ok(config);
        }
        let Some(table) = PRESET_TABLES.get(name) else {
            return Err(wrong("supervisor.preset", &Value::String(name.to_owned()), &preset_names()));
        };
        config.overlay(table)?;
        Ok(config)
    }

    /// Every key that can be written, sections first.
    pub fn keys() -> Vec<String> {
        fields(&mut Self::default()).into_iter().map(|(key, _)| format!("supervisor.{key}")).collect()
    }

    /// Sets one key, e.g. `supervisor.takeover.max_rounds`, as flags and environment do.
    pub fn set(&mut self, key: &str, value: &Value) -> Result<(), SupervisorConfigError> {
        let short = key.strip_prefix("supervisor.").unwrap_or(key);
        if short == "preset" {
            let Value::String(name) = value else { return Err(wrong(key, value, &preset_names())) };
            *self = Self::preset(name)?;
            return Ok(());
        }
        let mut fields = fields(self);
        match fields.iter_mut().find(|(name, _)| *name == short) {
            Some((name, field)) => field.set(&format!("supervisor.{name}"), value),
            None => Err(unknown(short)),
        }
    }

    fn overlay(&mut self, section: &Table) -> Result<(), SupervisorConfigError> {
        for (key, value) in section.iter().filter(|(key, _)| *key != "preset") {
            match value {
                Value::Table(inner) if is_section(key) => {
                    for (name, value) in inner {
                        self.set(&format!("supervisor.{key}.{name}"), value)?;
                    }
                }
                _ => self.set(&format!("supervisor.{key}"), value)?,
            }
        }
        Ok(())
    }

    /// Contradictions between keys.
    pub fn check(&self) -> Result<(), SupervisorConfigError> {
        if self.shadow && !self.level.can_shadow() {
            return Err(SupervisorConfigError::Contradiction {
                key: "supervisor.shadow".to_owned(),
                why: "level `off` has nothing to watch with; set supervisor.level to advise, adaptive or strict"
                    .to_owned(),
            });
        }
        Ok(())
    }
}

/// Every key of a section by its whole name, those of a preset before those beside it.
pub(super) fn flat(section: &Table) -> Result<Vec<(String, Value)>, SupervisorConfigError> {
    let mut keys = Vec::new();
    if let Some(preset) = section.get("preset") {
        let Value::String(name) = preset else {
            return Err(wrong("supervisor.preset", preset, &preset_names()));
        };
        // Refuses what there is not.
        SupervisorConfig::preset(name)?;
        if let Some(table) = PRESET_TABLES.get(name) {
            keys.extend(flat(table)?);
        }
    }
    for (key, value) in section.iter().filter(|(key, _)| *key != "preset") {
        match value {
            Value::Table(inner) if is_section(key) => {
                keys.extend(inner.iter().map(|(name, value)| (format!("{key}.{name}"), value.clone())));
            }
            _ => keys.push((key.clone(), value.clone())),
        }
    }
    Ok(keys)
}

/// Where a value goes, and what it may be.
pub(crate) enum ConfigField<'a> {
    Level(&'a mut SupervisorLevel),
    Contracts(&'a mut ContractMode),
    Flag(&'a mut bool),
    /// A count from the given least value on.
    Count(&'a mut u32, u32),
    /// A number between two others.
    Number(&'a mut f64, f64, f64),
}

impl ConfigField<'_> {
    fn set(&mut self, key: &str, value: &Value) -> Result<(), SupervisorConfigError> {
        match self {
            Self::Level(level) => match value.as_str().and_then(SupervisorLevel::from_name) {
                Some(found) => **level = found,
                None => return Err(wrong(key, value, "off, advise, adaptive or strict")),
            },
            Self::Contracts(contracts) => match value.as_str().and_then(ContractMode::from_name) {
                Some(found) => **contracts = found,
                None => return Err(wrong(key, value, "advise or enforce")),
            },
            Self::Flag(flag) => match value.as_bool() {
                Some(found) => **flag = found,
                None => return Err(wrong(key, value, "true or false")),
            },
            Self::Count(count, least) => match value.as_integer().and_then(|n| u32::try_from(n).ok()) {
                Some(found) if (*least..=MOST).contains(&found) => **count = found,
                _ => return Err(wrong(key, value, &format!("a whole number from {least} to {MOST}"))),
            },
            Self::Number(number, low, high) => {
                let found = value.as_float().or_else(|| value.as_integer().map(|n| n as f64));
                match found.filter(|n| (*low..=*high).contains(n)) {
                    Some(found) => **number = found,
                    None => return Err(wrong(key, value, &format!("a number from {low} to {high}"))),
                }
            }
        }
        Ok(())
    }
}

/// Larger counts would switch a rule off by another name.
const MOST: u32 = 100_000;

pub(super) fn fields(config: &mut SupervisorConfig) -> Vec<(&'static str, ConfigField<'_>)> {
    use ConfigField::{Count, Flag, Number};
    let SupervisorConfig { level, shadow, contracts, triggers, ladder, takeover, strict, snapshot } = config;
    let mut fields = vec![
        ("level", ConfigField::Level(level)),
        ("shadow", Flag(shadow)),
        ("contracts", ConfigField::Contracts(contracts)),
    ];
    fields.extend(trigger_fields(triggers));
    fields.extend([
        ("ladder.advice", Count(&mut ladder.advice, 1)),
        ("ladder.takeover", Count(&mut ladder.takeover, 1)),
        ("takeover.stability_window", Count(&mut takeover.stability_window, 1)),
        ("takeover.cooldown_rounds", Count(&mut takeover.cooldown_rounds, 1)),
        ("takeover.max_rounds", Count(&mut takeover.max_rounds, 1)),
        ("takeover.token_ratio", Number(&mut takeover.token_ratio, 0.01, 1.0)),
        ("takeover.extension", Number(&mut takeover.extension, 0.0, 1.0)),
        ("strict.first_round_graph", Flag(&mut strict.first_round_graph)),
        ("strict.check_rounds", Count(&mut strict.check_rounds, 1)),
        ("strict.max_rounds", Count(&mut strict.max_rounds, 1)),
        ("snapshot.template_graph_min", Number(&mut snapshot.template_graph_min, 0.0, 1.0)),
    ]);
    fields
}

fn is_section(key: &str) -> bool {
    let prefix = format!("{key}.");
    fields(&mut SupervisorConfig::default()).iter().any(|(name, _)| name.starts_with(&prefix))
}

fn unknown(short: &str) -> SupervisorConfigError {
    let mut config = SupervisorConfig::default();
    let all = fields(&mut config);
    let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    let section = short.rsplit_once('.').map(|(section, _)| format!("{section}."));
    let near: Vec<&str> = names
        .iter()
        .filter(|name| section.as_deref().is_some_and(|section| name.starts_with(section)))
        .copied()
        .collect();
    let known = if near.is_empty() { names.clone() } else { near };
    let hint = holon_core::suggest::hint(short, names.iter().copied());
    SupervisorConfigError::Unknown { key: format!("supervisor.{short}"), hint, known: known.join(", ") }
}

fn wrong(key: &str, value: &Value, expected: &str) -> SupervisorConfigError {
    let found = crate::key::clip(value.to_string().trim(), 60);
    SupervisorConfigError::Value { key: key.to_owned(), found, expected: expected.to_owned() }
}

fn preset_names() -> String {
    let names: Vec<&str> = PRESET_TABLES.keys().map(String::as_str).collect();
    format!("one of {} (or nothing)", names.join(", "))
}
