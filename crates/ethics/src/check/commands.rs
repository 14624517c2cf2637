//! Commands and settings that do damage or open doors.

use std::cell::LazyCell;
use std::ops::Deref;
use std::sync::LazyLock;

use holon_core::artifact::ethics::RiskLevel;
use serde::Deserialize;

use super::EthicsCheckResult;
use crate::change::FileChangeLines;
use crate::finding::{EthicsCheckId, EthicsFinding};
use crate::pattern::RulePattern;
use crate::rules::{LineRule, LineRuleRow, LineRules, RuleMatchKind};

/// How far from a command something that runs it may stand.
const NEAR: usize = 12;

struct HarmfulCommandTable {
    rules: LineRules,
    runs: RulePattern,
    run_keys: RulePattern,
    says: RulePattern,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HarmfulCommandFile {
    runs: String,
    run_keys: String,
    says: String,
    rule: Vec<LineRuleRow>,
}

static TABLE: LazyLock<Result<HarmfulCommandTable, String>> =
    LazyLock::new(|| load(include_str!("../../../../rules/ethics/commands.toml")));

fn load(text: &str) -> Result<HarmfulCommandTable, String> {
    let file: HarmfulCommandFile = toml::from_str(text).map_err(|e| e.to_string())?;
    Ok(HarmfulCommandTable {
        rules: LineRules::of(file.rule)?,
        runs: RulePattern::new(&file.runs)?,
        run_keys: RulePattern::new(&file.run_keys)?,
        says: RulePattern::new(&file.says)?,
    })
}

/// Dangerous commands and settings in the added lines; prose and comments are not run.
pub(super) fn check(files: &[FileChangeLines]) -> EthicsCheckResult {
    let table = TABLE.as_ref().map_err(Clone::clone)?;
    let mut found = Vec::new();
    for file in files.iter().filter(|file| !file.place.docs && !file.place.lock) {
        let has_run_key = LazyCell::new(|| file.added.iter().any(|line| table.run_keys.is_match(&line.text)));
        for (index, line) in file.added.iter().enumerate().filter(|(_, line)| !line.comment) {
            for rule in table.rules.on(&joined(file, index)) {
                // A rule may match only because of the line that follows a backslash; then it is reported once, here.
                let Some(severity) = table.severity(file, index, rule, &has_run_key) else { continue };
                let finding =
                    EthicsFinding::new(EthicsCheckId::Commands, &rule.id, severity, rule.what.as_str());
                found.push(finding.at(&file.path, line.number));
            }
        }
    }
    Ok(found)
}

/// A line together with those a backslash or an open pipe joins to it.
fn joined(file: &FileChangeLines, index: usize) -> String {
    let mut text = String::new();
    for line in file.run(index, 6) {
        let part = line.text.trim_end();
        match part.strip_suffix('\\') {
            Some(part) => text.push_str(part),
            None if part.ends_with('|') || part.ends_with("&&") => text.push_str(part),
            None => {
                text.push_str(part);
                break;
            }
        }
    }
    text
}

impl HarmfulCommandTable {
    fn severity(
        &self,
        file: &FileChangeLines,
        index: usize,
        rule: &LineRule,
        has_run_key: &dyn Deref<Target = bool>,
    ) -> Option<RiskLevel> {
        let severity = rule.severity;
        let line = file.added.get(index)?;
        let is_run =
            || file.around(index, NEAR).iter().any(|near| !near.comment && self.runs.is_match(&near.text));
        let weaker = if severity == RiskLevel::Medium { RiskLevel::Low } else { RiskLevel::Medium };
        match rule.kind {
            // Tests may talk to servers without certificates; a shell for somebody else is none of their business.
            RuleMatchKind::Code if file.place.test_code && severity != RiskLevel::Critical => Some(weaker),
            RuleMatchKind::Code if file.place.test_code && !is_run() => Some(weaker),
            RuleMatchKind::Code => Some(severity),
            RuleMatchKind::Command if self.says.is_match(&line.text) => None,
            RuleMatchKind::Command if file.place.script && !file.place.test_code => Some(severity),
            RuleMatchKind::Command if is_run() || (file.place.data && **has_run_key) => Some(severity),
            // A script is what its first line says.
            RuleMatchKind::Command
                if file
                    .added
                    .first()
                    .is_some_and(|first| first.text.starts_with("#!") && first.text.contains("sh")) =>
            {
                Some(severity)
            }
            // A string that nothing near it runs: a list of what is forbidden, a test of a filter.
            RuleMatchKind::Command if file.place.test || file.place.data => None,
            RuleMatchKind::Command => Some(weaker),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    #[test]
    fn the_table_is_sound() {
        super::load(include_str!("../../../../rules/ethics/commands.toml")).unwrap();
    }
}
