//! The tables of the flow of data, compiled for one language when a file in it comes by.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use holon_core::artifact::ethics::RiskLevel;
use serde::Deserialize;

use super::lang::Lang;
use crate::pattern::{Pattern, Patterns};

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
pub(super) enum Least {
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
pub(super) struct Sink {
    pub(super) id: String,
    pub(super) what: String,
    pub(super) severity: RiskLevel,
    pub(super) class: u32,
    pub(super) least: Least,
    pub(super) args: Vec<usize>,
    pub(super) named: Option<Pattern>,
    pub(super) calls: Pattern,
    pub(super) shape: Option<Pattern>,
    pub(super) also: Option<Pattern>,
    pub(super) unless: Option<Pattern>,
    pub(super) file: Option<Pattern>,
    pub(super) absent: Option<Pattern>,
    /// A text with a fixed beginning is fine.
    pub(super) fixed: bool,
}

/// A text that is a hole in itself when a value is put into it.
#[derive(Debug)]
pub(super) struct Built {
    pub(super) id: String,
    pub(super) what: String,
    pub(super) class: u32,
    pub(super) shape: Pattern,
    /// What stands directly ahead of a value that is data.
    pub(super) ahead: Pattern,
}

/// Everything for one language.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) source_set: Patterns,
    pub(super) sources: Vec<(Pattern, u8)>,
    pub(super) sink_set: Patterns,
    pub(super) sinks: Vec<Sink>,
    pub(super) built: Vec<Built>,
    pub(super) cleaners: Vec<(Pattern, u32)>,
    pub(super) hands_on: Pattern,
    pub(super) formats: Pattern,
    pub(super) forgets: Pattern,
    pub(super) appends: Pattern,
    pub(super) checks: Pattern,
    pub(super) asserts: Pattern,
    pub(super) leaves: Pattern,
    pub(super) constant: Pattern,
    pub(super) number: Pattern,
    pub(super) handler: Pattern,
    pub(super) handler_name: Pattern,
    pub(super) handler_param: Pattern,
    pub(super) function: Pattern,
    pub(super) says: Pattern,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceFile {
    source: Vec<SourceRow>,
    function: BTreeMap<String, String>,
    handler: String,
    handler_name: String,
    handler_param: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceRow {
    langs: Option<String>,
    level: u8,
    regex: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SinkFile {
    sink: Vec<SinkRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SinkRow {
    id: String,
    what: String,
    class: String,
    langs: Option<String>,
    least: Least,
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
struct CleanFile {
    cleaner: Vec<CleanRow>,
    built: Vec<BuiltRow>,
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
struct CleanRow {
    classes: String,
    regex: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BuiltRow {
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
pub(super) fn of(lang: Lang) -> Result<&'static Table, String> {
    static TABLES: [OnceLock<Result<Table, String>>; 20] = [const { OnceLock::new() }; 20];
    let at = Lang::ALL.iter().position(|(one, _)| *one == lang).unwrap_or(0);
    let Some(cell) = TABLES.get(at) else { return Err("no such language".into()) };
    cell.get_or_init(|| load(lang)).as_ref().map_err(Clone::clone)
}

fn parse<T: for<'a> Deserialize<'a>>(text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error| error.to_string())
}

/// Whether a row holds for a language: it names it, or names none.
pub(super) fn holds_for(langs: Option<&str>, lang: Lang) -> bool {
    let name = Lang::ALL.iter().find(|(one, _)| *one == lang).map_or("", |(_, name)| *name);
    langs.is_none_or(|langs| langs.split_whitespace().any(|one| one == name))
}

/// One expression for several; flags within one stay there.
pub(super) fn any(patterns: &[String]) -> String {
    format!("(?:(?:{}))", patterns.join(")|(?:"))
}

fn load(lang: Lang) -> Result<Table, String> {
    let sources: SourceFile = parse(SOURCES)?;
    let clean: CleanFile = parse(CLEAN)?;
    let mut rows = Vec::new();
    for text in SINKS {
        rows.extend(parse::<SinkFile>(text)?.sink);
    }
    rows.retain(|row| holds_for(row.langs.as_deref(), lang));
    let own: Vec<&SourceRow> =
        sources.source.iter().filter(|row| holds_for(row.langs.as_deref(), lang)).collect();
    let patterns: Vec<String> = own.iter().map(|row| any(&row.regex)).collect();
    let optional = |text: &Option<String>| text.as_deref().map(Pattern::new).transpose();
    let mut sinks = Vec::new();
    for row in &rows {
        let failed = |error| format!("{}: {error}", row.id);
        sinks.push(Sink {
            id: row.id.clone(),
            what: row.what.clone(),
            severity: row.severity.unwrap_or(RiskLevel::High),
            class: class_bit(&row.class)?,
            least: row.least,
            args: row.args.clone(),
            named: optional(&row.named).map_err(failed)?,
            calls: Pattern::new(&any(&row.calls)).map_err(failed)?,
            shape: optional(&row.shape).map_err(failed)?,
            also: optional(&row.also).map_err(failed)?,
            unless: optional(&row.unless).map_err(failed)?,
            file: optional(&row.file).map_err(failed)?,
            absent: optional(&row.absent).map_err(failed)?,
            fixed: row.fixed,
        });
    }
    let built = clean.built.iter().map(|row| -> Result<Built, String> {
        Ok(Built {
            id: row.id.clone(),
            what: row.what.clone(),
            class: class_bit(&row.class)?,
            shape: Pattern::new(&row.shape)?,
            ahead: Pattern::new(&row.ahead)?,
        })
    });
    let cleaners = clean.cleaner.iter().map(|row| -> Result<(Pattern, u32), String> {
        let bits = row.classes.split_whitespace().map(class_bit).collect::<Result<Vec<u32>, _>>()?;
        Ok((Pattern::new(&any(&row.regex))?, bits.into_iter().fold(0, |all, bit| all | bit)))
    });
    let name = Lang::ALL.iter().find(|(one, _)| *one == lang).map_or("", |(_, name)| *name);
    Ok(Table {
        source_set: Patterns::new(&patterns)?,
        sources: own
            .iter()
            .zip(&patterns)
            .map(|(row, pattern)| Ok((Pattern::new(pattern)?, row.level)))
            .collect::<Result<_, String>>()?,
        sink_set: Patterns::new(&rows.iter().map(|row| any(&row.calls)).collect::<Vec<_>>())?,
        sinks,
        built: built.collect::<Result<_, _>>()?,
        cleaners: cleaners.collect::<Result<_, _>>()?,
        hands_on: Pattern::new(&clean.hands_on)?,
        formats: Pattern::new(&clean.formats)?,
        forgets: Pattern::new(&clean.forgets)?,
        appends: Pattern::new(&clean.appends)?,
        checks: Pattern::new(&any(&clean.checks))?,
        asserts: Pattern::new(&clean.asserts)?,
        leaves: Pattern::new(&clean.leaves)?,
        constant: Pattern::new(&clean.constant)?,
        number: Pattern::new(&clean.number)?,
        says: Pattern::new(&clean.says)?,
        handler: Pattern::new(&sources.handler)?,
        handler_name: Pattern::new(&sources.handler_name)?,
        handler_param: Pattern::new(&sources.handler_param)?,
        function: Pattern::new(sources.function.get(name).map_or("$^", String::as_str))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_sound() {
        for (lang, name) in Lang::ALL {
            assert!(of(lang).is_ok(), "{name}: {:?}", of(lang).err());
        }
    }
}
