//! Rules over single lines, read from data.

use holon_core::artifact::ethics::RiskLevel;
use serde::Deserialize;

use crate::pattern::{RulePattern, RulePatternSet};

/// What a rule's match is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RuleMatchKind {
    /// It means what it says wherever it stands in code or settings.
    #[default]
    Code,
    /// A shell command: a string in other code means nothing until it is run.
    Command,
}

/// One rule.
#[derive(Debug)]
pub(crate) struct LineRule {
    pub(crate) id: String,
    pub(crate) what: String,
    pub(crate) severity: RiskLevel,
    pub(crate) kind: RuleMatchKind,
    unless: Option<RulePattern>,
}

/// A table of rules, searched in one pass.
#[derive(Debug)]
pub(crate) struct LineRules {
    set: RulePatternSet,
    rules: Vec<LineRule>,
}

/// A row as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LineRuleRow {
    id: String,
    what: String,
    severity: RiskLevel,
    #[serde(default)]
    kind: RuleMatchKind,
    regex: String,
    unless: Option<String>,
}

impl LineRules {
    /// Compiles a table.
    pub(crate) fn of(rows: Vec<LineRuleRow>) -> Result<Self, String> {
        let patterns: Vec<&str> = rows.iter().map(|row| row.regex.as_str()).collect();
        let set = RulePatternSet::new(&patterns)?;
        let mut rules = Vec::new();
        for row in rows {
            let unless = row.unless.as_deref().map(RulePattern::new).transpose();
            let unless = unless.map_err(|error| format!("{}: {error}", row.id))?;
            rules.push(LineRule {
                id: row.id,
                what: row.what,
                severity: row.severity,
                kind: row.kind,
                unless,
            });
        }
        Ok(Self { set, rules })
    }

    /// The rules that hold for a text.
    pub(crate) fn on<'a>(&'a self, text: &str) -> Vec<&'a LineRule> {
        let hits = self.set.matches(text).into_iter().filter_map(|number| self.rules.get(number));
        hits.filter(|rule| !rule.unless.as_ref().is_some_and(|unless| unless.is_match(text))).collect()
    }
}
