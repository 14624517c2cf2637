//! The tables of the flow of data, compiled for one language when a file in it comes by.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use holon_core::artifact::ethics::RiskLevel;
use serde::Deserialize;

use super::lang::CodeLanguage;
use crate::pattern::{RulePattern, RulePatternSet};

/// How far from home a value is: nothing, a parameter, this machine, somebody else.
pub(super) const PARAMETER: u8 = 1;
pub(super) const LOCAL: u8 = 2;
pub(super) const REMOTE: u8 = 3;

/// What a value can be made harmless for.
const CLASSES: [&str; 11] =
    ["sql", "shell", "html", "path", "url", "header", "ldap", "xpath", "code", "data", "nosql"];

/// Harmless for everything.
pub(super) const ALL: u32 = u32::MAX;

fn class_bit(name: &str) -> Result<u32, String> {
    if name == "all" {
        return Ok(ALL);
    }
    let at =
        CLASSES.iter().position(|class| *class == name).ok_or_else(|| format!("no such class: {name}"))?;
    Ok(1 << at)
}

/// What a sink needs of a value to be a hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SinkNeed {
    /// Anything that is not written out.
    Any,
    /// A parameter, however it is used.
    Parameter,
    /// A text that is put together, or anything from outside.
    Built,
    /// A text that is put together.
    Joined,
    /// From outside of the program.
    Local,
    /// From somebody else.
    Remote,
}

/// Where a value does harm.
#[derive(Debug)]
pub(super) struct TaintSink {
    pub(super) id: String,
    pub(super) what: String,
    pub(super) severity: RiskLevel,
    pub(super) class: u32,
    pub(super) least: SinkNeed,
    pub(super) args: Vec<usize>,
    pub(super) named: Option<RulePattern>,
    pub(super) calls: RulePattern,
    pub(super) shape: Option<RulePattern>,
    pub(super) also: Option<RulePattern>,
    pub(super) unless: Option<RulePattern>,
    pub(super) file: Option<RulePattern>,
    pub(super) absent: Option<RulePattern>,
    /// A text with a fixed beginning is fine.
    pub(super) fixed: bool,
}

/// A text that is a hole in itself when a value is put into it.
#[derive(Debug)]
pub(super) struct BuiltTextRule {
    pub(super) id: String,
    pub(super) what: String,
    pub(super) class: u32,
    pub(super) shape: RulePattern,
    /// What stands directly ahead of a value that is data.
    pub(super) ahead: RulePattern,
}

/// Everything for one language.
#[derive(Debug)]
pub(super) struct TaintTable {
    pub(super) source_set: RulePatternSet,
    pub(super) sources: Vec<(RulePattern, u8)>,
    pub(super) sink_set: RulePatternSet,
    pub(super) sinks: Vec<TaintSink>,
    pub(super) built: Vec<BuiltTextRule>,
    pub(super) cleaners: Vec<(RulePattern, u32)>,
    pub(super) hands_on: RulePattern,
    pub(super) formats: RulePattern,
    pub(super) forgets: RulePattern,
    pub(super) appends: RulePattern,
    pub(super) checks: RulePattern,
    pub(super) asserts: RulePattern,
    pub(super) leaves: RulePattern,
    pub(super) constant: RulePattern,
    pub(super) number: RulePattern,
    pub(super) handler: RulePattern,
    pub(super) handler_name: RulePattern,
    pub(super) handler_param: RulePattern,
    pub(super) function: RulePattern,
    pub(super) says: RulePattern,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaintSourceFile {
    source: Vec<TaintSourceRow>,
    function: BTreeMap<String, String>,
    handler: String,
    handler_name: String,
    handler_param: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaintSourceRow {
    langs: Option<String>,
    level: u8,
    regex: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaintSinkFile {
    sink: Vec<TaintSinkRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaintSinkRow {
    id: String,
    what: String,
    class: String,
    langs: Option<String>,
    least: SinkNeed,
    #[serde(default)]
    args: Vec<usize>,
    named: Option<String>,
    calls: Vec<String>,
    shape: Option<String>,
    also: Option<String>,
    unless: Option<String>,
    file: Option<String>,
    absent: Option<String>,
    #[serde(default)]
    fixed: bool,
    severity: Option<RiskLevel>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaintCleanerFile {
    cleaner: Vec<TaintCleanerRow>,
    built: Vec<BuiltTextRow>,
    hands_on: String,
    formats: String,
    forgets: String,
    appends: String,
    checks: Vec<String>,
    asserts: String,
    leaves: String,
    constant: String,
    number: String,
    says: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaintCleanerRow {
    classes: String,
    regex: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BuiltTextRow {
    id: String,
    what: String,
    class: String,
    shape: String,
    ahead: String,
}

const SOURCES: &str = include_str!("../../../../../rules/ethics/flow-sources.toml");
const SINKS: [&str; 3] = [
    include_str!("../../../../../rules/ethics/flow-sinks-injection.toml"),
    include_str!("../../../../../rules/ethics/flow-sinks-code.toml"),
    include_str!("../../../../../rules/ethics/flow-sinks-web.toml"),
];
const CLEAN: &str = include_str!("../../../../../rules/ethics/flow-clean.toml");

/// The table of a language.
pub(super) fn of(lang: CodeLanguage) -> Result<&'static TaintTable, String> {
    static TABLES: [OnceLock<Result<TaintTable, String>>; 20] = [const { OnceLock::new() }; 20];
    let at = CodeLanguage::ALL.iter().position(|(one, _)| *one == lang).unwrap_or(0);
    let Some(cell) = TABLES.get(at) else { return Err("no such language".into()) };
    cell.get_or_init(|| load(lang)).as_ref().map_err(Clone::clone)
}

fn parse<T: for<'a> Deserialize<'a>>(text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error| error.to_string())
}

/// Whether a row holds for a language: it names it, or names none.
pub(super) fn holds_for(langs: Option<&str>, lang: CodeLanguage) -> bool {
    let name = CodeLanguage::ALL.iter().find(|(one, _)| *one == lang).map_or("", |(_, name)| *name);
    langs.is_none_or(|langs| langs.split_whitespace().any(|one| one == name))
}

/// One expression for several; flags within one stay there.
pub(super) fn any(patterns: &[String]) -> String {
    format!("(?:(?:{}))", patterns.join(")|(?:"))
}

fn load(lang: CodeLanguage) -> Result<TaintTable, String> {
    let sources: TaintSourceFile = parse(SOURCES)?;
    let clean: TaintCleanerFile = parse(CLEAN)?;
    let mut rows = Vec::new();
    for text in SINKS {
        rows.extend(parse::<TaintSinkFile>(text)?.sink);
    }
    rows.retain(|row| holds_for(row.langs.as_deref(), lang));
    let own: Vec<&TaintSourceRow> =
        sources.source.iter().filter(|row| holds_for(row.langs.as_deref(), lang)).collect();
    let patterns: Vec<String> = own.iter().map(|row| any(&row.regex)).collect();
    let optional = |text: &Option<String>| text.as_deref().map(RulePattern::new).transpose();
    let mut sinks = Vec::new();
    for row in &rows {
        let failed = |error| format!("{}: {error}", row.id);
        sinks.push(TaintSink {
            id: row.id.clone(),
            what: row.what.clone(),
            severity: row.severity.unwrap_or(RiskLevel::High),
            class: class_bit(&row.class)?,
            least: row.least,
            args: row.args.clone(),
            named: optional(&row.named).map_err(failed)?,
            calls: RulePattern::new(&any(&row.calls)).map_err(failed)?,
            shape: optional(&row.shape).map_err(failed)?,
            also: optional(&row.also).map_err(failed)?,
            unless: optional(&row.unless).map_err(failed)?,
            file: optional(&row.file).map_err(failed)?,
            absent: optional(&row.absent).map_err(failed)?,
            fixed: row.fixed,
        });
    }
    let built = clean.built.iter().map(|row| -> Result<BuiltTextRule, String> {
        Ok(BuiltTextRule {
            id: row.id.clone(),
            what: row.what.clone(),
            class: class_bit(&row.class)?,
            shape: RulePattern::new(&row.shape)?,
            ahead: RulePattern::new(&row.ahead)?,
        })
    });
    let cleaners = clean.cleaner.iter().map(|row| -> Result<(RulePattern, u32), String> {
        let bits = row.classes.split_whitespace().map(class_bit).collect::<Result<Vec<u32>, _>>()?;
        Ok((RulePattern::new(&any(&row.regex))?, bits.into_iter().fold(0, |all, bit| all | bit)))
    });
    let name = CodeLanguage::ALL.iter().find(|(one, _)| *one == lang).map_or("", |(_, name)| *name);
    Ok(TaintTable {
        source_set: RulePatternSet::new(&patterns)?,
        sources: own
            .iter()
            .zip(&patterns)
            .map(|(row, pattern)| Ok((RulePattern::new(pattern)?, row.level)))
            .collect::<Result<_, String>>()?,
        sink_set: RulePatternSet::new(&rows.iter().map(|row| any(&row.calls)).collect::<Vec<_>>())?,
        sinks,
        built: built.collect::<Result<_, _>>()?,
        cleaners: cleaners.collect::<Result<_, _>>()?,
        hands_on: RulePattern::new(&clean.hands_on)?,
        formats: RulePattern::new(&clean.formats)?,
        forgets: RulePattern::new(&clean.forgets)?,
        appends: RulePattern::new(&clean.appends)?,
        checks: RulePattern::new(&any(&clean.checks))?,
        asserts: RulePattern::new(&clean.asserts)?,
        leaves: RulePattern::new(&clean.leaves)?,
        constant: RulePattern::new(&clean.constant)?,
        number: RulePattern::new(&clean.number)?,
        says: RulePattern::new(&clean.says)?,
        handler: RulePattern::new(&sources.handler)?,
        handler_name: RulePattern::new(&sources.handler_name)?,
        handler_param: RulePattern::new(&sources.handler_param)?,
        function: RulePattern::new(sources.function.get(name).map_or("$^", String::as_str))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_sound() {
        for (lang, name) in CodeLanguage::ALL {
            assert!(of(lang).is_ok(), "{name}: {:?}", of(lang).err());
        }
    }
}
