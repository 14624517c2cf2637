//! Rules over single statements and single settings: what is wrong wherever its values come from.

use std::sync::OnceLock;

use holon_core::artifact::ethics::RiskLevel;
use serde::Deserialize;

use super::lang::CodeLanguage;
use super::logical::CodeStatement;
use super::settings::SettingEntry;
use super::table::{any, holds_for};
use crate::finding::EthicsCheckId;
use crate::pattern::{RulePattern, RulePatternSet};

/// How many statements around one may say more about it.
const REACH: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RuleCheck {
    #[default]
    CodeSecurity,
    ExcessiveRights,
    PersonalDataFlow,
}

impl RuleCheck {
    fn id(self) -> EthicsCheckId {
        match self {
            Self::CodeSecurity => EthicsCheckId::CodeSecurity,
            Self::ExcessiveRights => EthicsCheckId::ExcessiveRights,
            Self::PersonalDataFlow => EthicsCheckId::PersonalDataFlow,
        }
    }
}

/// A hit: the rule, what it is, how bad, and the line.
pub(super) type RuleHit<'a> = (&'a str, &'a str, RiskLevel, u64);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StatementFile {
    rule: Vec<StatementRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StatementRow {
    id: String,
    what: String,
    #[serde(default)]
    check: RuleCheck,
    langs: Option<String>,
    severity: Option<RiskLevel>,
    regex: Vec<String>,
    /// Something near has to match as well.
    near: Option<String>,
    /// Nothing near may match.
    far: Option<String>,
    unless: Option<String>,
    names: Option<String>,
    not_names: Option<String>,
    file: Option<String>,
    absent: Option<String>,
}

#[derive(Debug)]
struct StatementRule {
    id: String,
    what: String,
    check: EthicsCheckId,
    severity: RiskLevel,
    pattern: RulePattern,
    near: Option<RulePattern>,
    far: Option<RulePattern>,
    unless: Option<RulePattern>,
    names: Option<RulePattern>,
    not_names: Option<RulePattern>,
    file: Option<RulePattern>,
    absent: Option<RulePattern>,
}

#[derive(Debug)]
pub(super) struct StatementRules {
    set: RulePatternSet,
    rules: Vec<StatementRule>,
}

const STATEMENTS: [&str; 3] = [
    include_str!("../../../../../rules/ethics/security-crypto.toml"),
    include_str!("../../../../../rules/ethics/security-code.toml"),
    include_str!("../../../../../rules/ethics/rights-code.toml"),
];

/// The rules over statements for a language.
pub(super) fn statements(lang: CodeLanguage) -> Result<&'static StatementRules, String> {
    static TABLES: [OnceLock<Result<StatementRules, String>>; 20] = [const { OnceLock::new() }; 20];
    let at = CodeLanguage::ALL.iter().position(|(one, _)| *one == lang).unwrap_or(0);
    let Some(cell) = TABLES.get(at) else { return Err("no such language".into()) };
    cell.get_or_init(|| load_statements(lang)).as_ref().map_err(Clone::clone)
}

fn load_statements(lang: CodeLanguage) -> Result<StatementRules, String> {
    let (mut rules, mut patterns) = (Vec::new(), Vec::new());
    for text in STATEMENTS {
        let file: StatementFile = toml::from_str(text).map_err(|error| error.to_string())?;
        for row in file.rule.into_iter().filter(|row| holds_for(row.langs.as_deref(), lang)) {
            let whole = any(&row.regex);
            let optional = |text: &Option<String>| text.as_deref().map(RulePattern::new).transpose();
            let failed = |error: String| format!("{}: {error}", row.id);
            rules.push(StatementRule {
                check: row.check.id(),
                severity: row.severity.unwrap_or(RiskLevel::High),
                pattern: RulePattern::new(&whole).map_err(failed)?,
                near: optional(&row.near)?,
                far: optional(&row.far)?,
                unless: optional(&row.unless)?,
                names: optional(&row.names)?,
                not_names: optional(&row.not_names)?,
                file: optional(&row.file)?,
                absent: optional(&row.absent)?,
                id: row.id,
                what: row.what,
            });
            patterns.push(whole);
        }
    }
    Ok(StatementRules { set: RulePatternSet::new(&patterns)?, rules })
}

impl StatementRules {
    /// What is wrong in the statements; `functions` has the name and parameters of the one around each.
    pub(super) fn find<'a>(
        &'a self,
        id: EthicsCheckId,
        all: &[CodeStatement],
        functions: &[String],
        whole: &str,
    ) -> Vec<RuleHit<'a>> {
        let mut hits = Vec::new();
        for (at, statement) in all.iter().enumerate() {
            for rule in
                self.set.matches(&statement.text).into_iter().filter_map(|number| self.rules.get(number))
            {
                if rule.check != id || !rule.holds(all, at, functions, whole) {
                    continue;
                }
                for hit in rule.pattern.find_iter(&statement.text).take(3) {
                    let line = statement.line(hit.start());
                    hits.push((rule.id.as_str(), rule.what.as_str(), rule.severity, line));
                }
            }
        }
        hits
    }
}

impl StatementRule {
    fn holds(&self, all: &[CodeStatement], at: usize, functions: &[String], whole: &str) -> bool {
        let Some(statement) = all.get(at) else { return false };
        let is = |pattern: &Option<RulePattern>, text: &str| {
            pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
        };
        if is(&self.unless, &statement.text)
            || (self.file.is_some() && !is(&self.file, whole))
            || is(&self.absent, whole)
        {
            return false;
        }
        if self.near.is_some() || self.far.is_some() {
            // What stands outside of the block says nothing about it.
            let inside = |one: &&CodeStatement| one.indent >= statement.indent;
            let ahead = all
                .get(at.saturating_sub(REACH)..at)
                .unwrap_or_default()
                .iter()
                .rev()
                .take_while(inside)
                .count();
            let after = all
                .get(at..all.len().min(at + REACH + 1))
                .unwrap_or_default()
                .iter()
                .take_while(inside)
                .count();
            let from = at - ahead;
            let around = all.get(from..at + after).unwrap_or_default();
            // Statements that are written directly after each other belong together.
            let number = statement.line(0);
            let texts = || {
                around.iter().filter(|one| one.line(0).abs_diff(number) <= 12).map(|one| one.text.as_str())
            };
            if self.near.is_some() && !texts().any(|text| is(&self.near, text))
                || texts().any(|text| is(&self.far, text))
            {
                return false;
            }
        }
        if self.names.is_none() && self.not_names.is_none() {
            return true;
        }
        let own = names(&statement.code);
        let around = functions.get(at).map(String::as_str).unwrap_or_default();
        let both = format!("{own} {around}");
        (self.names.is_none() || is(&self.names, &both)) && !is(&self.not_names, &both)
    }
}

/// The names in code, one after the other.
fn names(code: &str) -> String {
    code.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| word.len() > 1)
        .collect::<Vec<_>>()
        .join(" ")
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SettingFile {
    rule: Vec<SettingRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SettingRow {
    id: String,
    what: String,
    check: Option<RuleCheck>,
    severity: Option<RiskLevel>,
    /// What the path of the file has to match.
    file: Option<String>,
    /// What the file has to hold.
    content: Option<String>,
    key: String,
    value: String,
    unless: Option<String>,
    /// Settings beside it that have to be there, as `path=value`.
    #[serde(default)]
    with: Vec<String>,
    /// … and those that must not be.
    #[serde(default)]
    without: Vec<String>,
    /// How many levels further out counts as beside it.
    #[serde(default)]
    up: usize,
}

struct SettingRule {
    id: String,
    what: String,
    check: EthicsCheckId,
    severity: RiskLevel,
    file: Option<RulePattern>,
    content: Option<RulePattern>,
    key: RulePattern,
    value: RulePattern,
    unless: Option<RulePattern>,
    with: Vec<RulePattern>,
    without: Vec<RulePattern>,
    up: usize,
}

pub(super) struct SettingRules {
    keys: RulePatternSet,
    rules: Vec<SettingRule>,
}

const SETTINGS: [&str; 2] = [
    include_str!("../../../../../rules/ethics/rights-settings.toml"),
    include_str!("../../../../../rules/ethics/security-settings.toml"),
];

/// The rules over settings.
pub(super) fn settings() -> Result<&'static SettingRules, String> {
    static TABLE: OnceLock<Result<SettingRules, String>> = OnceLock::new();
    TABLE.get_or_init(load_settings).as_ref().map_err(Clone::clone)
}

fn load_settings() -> Result<SettingRules, String> {
    let (mut rules, mut keys) = (Vec::new(), Vec::new());
    for text in SETTINGS {
        let file: SettingFile = toml::from_str(text).map_err(|error| error.to_string())?;
        for row in file.rule {
            let optional = |text: &Option<String>| text.as_deref().map(RulePattern::new).transpose();
            let failed = |error: String| format!("{}: {error}", row.id);
            let all = |texts: &[String]| {
                texts.iter().map(|text| RulePattern::new(text)).collect::<Result<Vec<_>, _>>()
            };
            keys.push(row.key.clone());
            rules.push(SettingRule {
                check: row.check.unwrap_or(RuleCheck::ExcessiveRights).id(),
                severity: row.severity.unwrap_or(RiskLevel::High),
                file: optional(&row.file).map_err(failed)?,
                content: optional(&row.content).map_err(failed)?,
                key: RulePattern::new(&row.key).map_err(failed)?,
                value: RulePattern::new(&row.value).map_err(failed)?,
                unless: optional(&row.unless)?,
                with: all(&row.with)?,
                without: all(&row.without)?,
                up: row.up,
                id: row.id,
                what: row.what,
            });
        }
    }
    Ok(SettingRules { keys: RulePatternSet::new(&keys)?, rules })
}

impl SettingRules {
    /// What is wrong in the settings of a file.
    pub(super) fn find<'a>(
        &'a self,
        id: EthicsCheckId,
        path: &str,
        entries: &[SettingEntry],
        whole: &str,
    ) -> Vec<RuleHit<'a>> {
        let mut hits = Vec::new();
        for entry in entries {
            for rule in self.keys.matches(&entry.path).into_iter().filter_map(|number| self.rules.get(number))
            {
                if rule.check == id
                    && rule.key.is_match(&entry.path)
                    && rule.holds(entry, path, entries, whole)
                {
                    hits.push((rule.id.as_str(), rule.what.as_str(), rule.severity, entry.line));
                }
            }
        }
        hits
    }
}

impl SettingRule {
    fn holds(&self, entry: &SettingEntry, path: &str, entries: &[SettingEntry], whole: &str) -> bool {
        let fits = self.value.is_match(&entry.value)
            && !self.unless.as_ref().is_some_and(|unless| unless.is_match(&entry.value))
            && self.file.as_ref().is_none_or(|file| file.is_match(path))
            && self.content.as_ref().is_none_or(|content| content.is_match(whole));
        if !fits || (self.with.is_empty() && self.without.is_empty()) {
            return fits;
        }
        let depth = entry.within.len().saturating_sub(1 + self.up);
        let Some(container) = entry.within.get(depth) else { return false };
        let beside = || {
            let own = entries.iter().filter(|one| one.within.contains(container));
            own.take(400).map(|one| format!("{}={}", one.path, one.value))
        };
        self.with.iter().all(|pattern| beside().any(|text| pattern.is_match(&text)))
            && !self.without.iter().any(|pattern| beside().any(|text| pattern.is_match(&text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_sound() {
        for (lang, name) in CodeLanguage::ALL {
            assert!(statements(lang).is_ok(), "{name}: {:?}", statements(lang).err());
        }
        assert!(settings().is_ok(), "{:?}", settings().err());
    }
}
