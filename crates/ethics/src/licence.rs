//! What a licence asks of those who use the code, and whether it fits a project.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use holon_core::artifact::ethics::RiskLevel;
use serde::Deserialize;

use crate::pattern::RulePattern;
use crate::spdx::{self, LicenceExpression};

/// What a licence asks, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LicenceClass {
    /// Hardly more than to be named.
    Permissive,
    /// Changes to the code itself stay open.
    Weak,
    /// The whole work becomes open when it is passed on.
    Strong,
    /// The same when it is used over a network.
    Network,
    /// Use itself is limited, or there is no licence.
    Restricted,
}

struct LicenceTable {
    classes: BTreeMap<String, LicenceClass>,
    exceptions: BTreeMap<String, LicenceClass>,
    aliases: Vec<(RulePattern, String)>,
    policy: BTreeMap<LicenceClass, LicencePolicy>,
    texts: Vec<LicenceText>,
    known: BTreeMap<String, BTreeMap<String, String>>,
}

/// How to recognise a licence by its words.
struct LicenceText {
    id: String,
    phrases: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LicenceRulesFile {
    class: BTreeMap<LicenceClass, Vec<String>>,
    exception: BTreeMap<LicenceClass, Vec<String>>,
    alias: Vec<(String, String)>,
    project: Vec<LicencePolicy>,
    text: Vec<LicenceTextRow>,
}

/// What a project under licences of one class may contain.
#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
struct LicencePolicy {
    class: LicenceClass,
    allow: Vec<LicenceClass>,
    warn: Vec<LicenceClass>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LicenceTextRow {
    id: String,
    phrases: Vec<String>,
}

static TABLE: LazyLock<Result<LicenceTable, String>> = LazyLock::new(|| {
    load(
        include_str!("../../../rules/ethics/licences.toml"),
        include_str!("../../../rules/ethics/known-licences.toml"),
    )
});

fn load(text: &str, known: &str) -> Result<LicenceTable, String> {
    let file: LicenceRulesFile = toml::from_str(text).map_err(|e| e.to_string())?;
    let turned = |groups: BTreeMap<LicenceClass, Vec<String>>| {
        let pairs = groups
            .into_iter()
            .flat_map(|(class, ids)| ids.into_iter().map(move |id| (id.to_lowercase(), class)));
        pairs.collect::<BTreeMap<_, _>>()
    };
    let alias =
        |(pattern, id): (String, String)| Ok((RulePattern::new(&format!("(?i)^(?:{pattern})$"))?, id));
    Ok(LicenceTable {
        classes: turned(file.class),
        exceptions: turned(file.exception),
        aliases: file.alias.into_iter().map(alias).collect::<Result<_, String>>()?,
        policy: file.project.into_iter().map(|policy| (policy.class, policy)).collect(),
        texts: file
            .text
            .into_iter()
            .map(|row| LicenceText { id: row.id, phrases: row.phrases.iter().map(|p| words_of(p)).collect() })
            .collect(),
        known: toml::from_str(known).map_err(|e| e.to_string())?,
    })
}

/// Why the rules cannot be used, if they cannot.
pub(crate) fn rules_are_sound() -> Result<(), String> {
    TABLE.as_ref().map(|_| ()).map_err(Clone::clone)
}

/// What a declared licence asks: an SPDX expression, a licence's usual name, or its whole text; `None` when unknown.
pub fn class_of(declared: &str) -> Option<LicenceClass> {
    let table = TABLE.as_ref().ok()?;
    let declared = declared.trim();
    if declared.len() > 300 || declared.contains('\n') {
        return identify(declared).and_then(|id| table.expression(&spdx::parse(id)?));
    }
    let named = || table.named(declared).and_then(|id| table.expression(&spdx::parse(id)?));
    spdx::parse(declared).and_then(|expression| table.expression(&expression)).or_else(named).or_else(|| {
        // "MIT, Apache 2.0" and "GPL v3; see COPYING": all parts must be known, the strictest counts.
        let parts: Vec<&str> =
            declared.split([',', ';']).map(str::trim).filter(|part| !part.is_empty()).collect();
        if parts.len() < 2 {
            return None;
        }
        parts.into_iter().map(class_of).collect::<Option<Vec<_>>>()?.into_iter().max()
    })
}

/// The licence whose words a text has, as an SPDX identifier.
pub fn identify(text: &str) -> Option<&'static str> {
    first_phrase(&words_of(text)).map(|(_, id)| id)
}

/// The first licence phrase in normalised words: where it starts, and the licence.
pub(crate) fn first_phrase(words: &str) -> Option<(usize, &'static str)> {
    let table = TABLE.as_ref().ok()?;
    table.texts.iter().find_map(|text| {
        let at = text.phrases.iter().find_map(|phrase| words.find(phrase.as_str()))?;
        Some((at, text.id.as_str()))
    })
}

/// A text as lower-case words with single spaces, without the marks of comments and lists.
pub(crate) fn words_of(text: &str) -> String {
    let mut words = String::with_capacity(text.len());
    for word in text
        .split(|c: char| c.is_whitespace() || "*#/\"'`<>!|;_=".contains(c))
        .filter(|word| !word.is_empty())
    {
        if word.chars().any(char::is_alphanumeric) {
            if !words.is_empty() {
                words.push(' ');
            }
            words.extend(word.chars().flat_map(char::to_lowercase));
        }
    }
    words
}

/// What is known about a package without looking it up: `(ecosystem, name)` to an expression.
pub(crate) fn known(ecosystem: &str, name: &str) -> Option<&'static str> {
    TABLE.as_ref().ok()?.known.get(ecosystem)?.get(name).map(String::as_str)
}

/// How bad it is to take code of one class into a project of another; `None` when it fits.
pub fn fits(class: LicenceClass, project: Option<LicenceClass>, development_only: bool) -> Option<RiskLevel> {
    let Ok(table) = TABLE.as_ref() else { return Some(RiskLevel::Unknown) };
    // Whoever has not said anything is best served by what asks least.
    let Some(policy) = table.policy.get(&project.unwrap_or(LicenceClass::Permissive)) else {
        return Some(RiskLevel::High);
    };
    if policy.allow.contains(&class) {
        return None;
    }
    // What is only used while developing is not passed on.
    match (policy.warn.contains(&class), development_only) {
        (true, true) => None,
        (true, false) | (false, true) => Some(RiskLevel::Medium),
        (false, false) => Some(RiskLevel::High),
    }
}

impl LicenceTable {
    fn named(&self, name: &str) -> Option<&str> {
        self.aliases.iter().find(|(pattern, _)| pattern.is_match(name)).map(|(_, id)| id.as_str())
    }

    fn expression(&self, expression: &LicenceExpression) -> Option<LicenceClass> {
        match expression {
            LicenceExpression::Licence { id, exception } => {
                let class = self.single(id)?;
                let softened = exception.as_ref().and_then(|e| self.exceptions.get(&e.to_lowercase()));
                Some(softened.copied().map_or(class, |soft| soft.min(class)))
            }
            LicenceExpression::And(parts) => {
                parts.iter().map(|part| self.expression(part)).collect::<Option<Vec<_>>>()?.into_iter().max()
            }
            LicenceExpression::Or(parts) => parts.iter().filter_map(|part| self.expression(part)).min(),
        }
    }

    fn single(&self, id: &str) -> Option<LicenceClass> {
        let id = id.to_lowercase();
        let plain = id.trim_end_matches('+');
        let plain = plain.strip_suffix("-or-later").or_else(|| plain.strip_suffix("-only")).unwrap_or(plain);
        let known = self.classes.get(&id).or_else(|| self.classes.get(plain)).copied();
        known.or_else(|| self.named(&id).and_then(|named| self.classes.get(&named.to_lowercase()).copied()))
    }
}

/// The licence a project declares, from the files that say so: `(path, text)`; manifests first, then licence texts.
pub fn project_licence<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Option<String> {
    let (mut declared, mut texts) = (None, Vec::new());
    for (path, text) in files {
        let name = path.rsplit('/').next().unwrap_or(path);
        let found = match name {
            "Cargo.toml" => toml::from_str::<toml::Value>(text).ok().and_then(|value| {
                let package = value.get("package").or_else(|| value.get("workspace")?.get("package"));
                package?.get("license")?.as_str().map(str::to_owned)
            }),
            "package.json" | "composer.json" => serde_json::from_str::<serde_json::Value>(text)
                .ok()
                .and_then(|value| value.get("license")?.as_str().map(str::to_owned)),
            "pyproject.toml" => toml::from_str::<toml::Value>(text).ok().and_then(|value| {
                let licence = value.get("project").and_then(|project| project.get("license"));
                let licence = licence.or_else(|| value.get("tool")?.get("poetry")?.get("license"))?;
                licence.as_str().or_else(|| licence.get("text")?.as_str()).map(str::to_owned)
            }),
            _ => {
                if name.to_uppercase().starts_with("LICEN") || name.to_uppercase().starts_with("COPYING") {
                    texts.extend(identify(text));
                }
                None
            }
        };
        declared = declared.or(found);
    }
    texts.sort_unstable();
    texts.dedup();
    declared.or_else(|| (!texts.is_empty()).then(|| texts.join(" OR ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes() {
        assert_eq!(rules_are_sound(), Ok(()));
        for (declared, expect) in [
            ("MIT", Some(LicenceClass::Permissive)),
            ("mit", Some(LicenceClass::Permissive)),
            ("MIT OR GPL-3.0-only", Some(LicenceClass::Permissive)),
            ("MIT AND GPL-3.0-only", Some(LicenceClass::Strong)),
            ("GPL-2.0+", Some(LicenceClass::Strong)),
            ("GPL-2.0-only WITH Classpath-exception-2.0", Some(LicenceClass::Weak)),
            ("Apache-2.0 WITH LLVM-exception", Some(LicenceClass::Permissive)),
            ("AGPL-3.0-or-later", Some(LicenceClass::Network)),
            ("SSPL-1.0", Some(LicenceClass::Restricted)),
            ("Apache License, Version 2.0", Some(LicenceClass::Permissive)),
            ("GNU General Public License v3 (GPLv3)", Some(LicenceClass::Strong)),
            ("BSD License", Some(LicenceClass::Permissive)),
            ("GPLv3", Some(LicenceClass::Strong)),
            ("UNLICENSED", Some(LicenceClass::Restricted)),
            ("MIT, Apache 2.0", Some(LicenceClass::Permissive)),
            ("Frobnication-1.0", None),
            ("see the website", None),
        ] {
            assert_eq!(class_of(declared), expect, "{declared}");
        }
    }

    #[test]
    fn what_fits() {
        assert_eq!(fits(LicenceClass::Permissive, None, false), None);
        assert_eq!(fits(LicenceClass::Strong, Some(LicenceClass::Permissive), false), Some(RiskLevel::High));
        assert_eq!(fits(LicenceClass::Strong, Some(LicenceClass::Strong), false), None);
        assert_eq!(fits(LicenceClass::Strong, None, true), Some(RiskLevel::Medium));
        assert_eq!(fits(LicenceClass::Weak, None, false), Some(RiskLevel::Medium));
    }

    #[test]
    fn the_project_says() {
        let cargo = "[package]\nname = \"x\"\nlicense = \"MIT OR Apache-2.0\"\n";
        assert_eq!(project_licence([("Cargo.toml", cargo)]).as_deref(), Some("MIT OR Apache-2.0"));
        assert_eq!(project_licence([("package.json", "{\"license\": \"ISC\"}")]).as_deref(), Some("ISC"));
        let mit =
            "Permission is hereby granted, free of charge, to any person obtaining a copy of this software";
        assert_eq!(project_licence([("LICENSE", mit)]).as_deref(), Some("MIT"));
        assert_eq!(project_licence([("README.md", "x")]), None);
    }
}
