//! Holes in code and settings: where foreign values go, what is switched off, who may do too much, where people's data ends up.

mod braces;
mod expr;
mod flow;
mod lang;
mod logical;
mod personal;
mod personal_words;
mod plain;
mod quoted;
mod scope;
mod settings;
mod table;
mod taint;
mod walk;

use holon_core::artifact::ethics::RiskLevel;

use super::EthicsCheckResult;
use crate::change::FileChangeLines;
use crate::finding::{EthicsCheckId, EthicsFinding};
pub(super) use lang::CodeLanguage;
pub(super) use logical::{CodeStatement, statements};

/// The most that are told of one file.
const MOST: usize = 200;

/// The longest line that is taken for code somebody wrote.
const LONGEST_LINE: usize = 4000;

/// What one of the three checks finds.
pub(super) fn check(id: EthicsCheckId, files: &[FileChangeLines]) -> EthicsCheckResult {
    let mut found = Vec::new();
    for file in files {
        let place = file.place;
        if place.docs || place.lock || place.generated || file.added.is_empty() {
            continue;
        }
        if file.added.iter().any(|line| line.text.len() > LONGEST_LINE) {
            continue;
        }
        let mut own = Vec::new();
        in_code(id, file, &mut own)?;
        in_settings(id, file, &mut own)?;
        own.sort_by(|a: &EthicsFinding, b| (a.line, &a.rule).cmp(&(b.line, &b.rule)));
        own.dedup_by(|a, b| a.line == b.line && a.rule == b.rule);
        own.truncate(MOST);
        for finding in &mut own {
            // Tests try holes out, and examples show them.
            if place.test && finding.severity.blocks() {
                finding.severity = RiskLevel::Medium;
            }
        }
        found.extend(own);
    }
    Ok(found)
}

fn in_code(id: EthicsCheckId, file: &FileChangeLines, found: &mut Vec<EthicsFinding>) -> Result<(), String> {
    let first = file.added.first().map_or("", |line| line.text.as_str());
    let Some(lang) = CodeLanguage::of(&file.path, first) else { return Ok(()) };
    let statements = logical::statements(file, lang);
    let whole = whole(file);
    let functions = functions(lang, &statements)?;
    for (rule, what, severity, line) in plain::statements(lang)?.find(id, &statements, &functions, &whole) {
        found.push(EthicsFinding::new(id, rule, severity, what).at(&file.path, line));
    }
    match id {
        EthicsCheckId::CodeSecurity => {
            let table = table::of(lang)?;
            for hole in flow::holes(table, lang, &statements, &whole, !file.is_new) {
                found.push(
                    EthicsFinding::new(id, &hole.id, hole.severity, hole.what).at(&file.path, hole.line),
                );
            }
        }
        EthicsCheckId::PersonalDataFlow => {
            for (rule, what, severity, line) in personal::find(lang, &statements, &functions)? {
                found.push(EthicsFinding::new(id, rule, severity, what).at(&file.path, line));
            }
        }
        _ => {}
    }
    Ok(())
}

fn in_settings(
    id: EthicsCheckId,
    file: &FileChangeLines,
    found: &mut Vec<EthicsFinding>,
) -> Result<(), String> {
    let entries = settings::entries(file);
    if entries.is_empty() {
        return Ok(());
    }
    for (rule, what, severity, line) in plain::settings()?.find(id, &file.path, &entries, &whole(file)) {
        found.push(EthicsFinding::new(id, rule, severity, what).at(&file.path, line));
    }
    Ok(())
}

/// The added lines as one text, without whole comments.
fn whole(file: &FileChangeLines) -> String {
    let lines = file.added.iter().filter(|line| !line.comment).map(|line| line.text.as_str());
    lines.collect::<Vec<_>>().join("\n")
}

/// For each statement the names of the function and the class around it, with the function's parameters.
fn functions(lang: CodeLanguage, statements: &[CodeStatement]) -> Result<Vec<String>, String> {
    let table = table::of(lang)?;
    let mut stack: Vec<(usize, String)> = Vec::new();
    let mut all = Vec::with_capacity(statements.len());
    for statement in statements {
        while stack.last().is_some_and(|(indent, _)| statement.indent <= *indent) {
            stack.pop();
        }
        let class =
            ["class ", "struct ", "impl ", "object ", "module ", "interface "].iter().find_map(|word| {
                let at = statement.code.find(word)?;
                let ahead = statement.code.get(..at)?;
                let usual =
                    ahead.split_whitespace().all(|word| word.len() < 12) && !ahead.contains(['(', '=', '"']);
                let name = statement.code.get(at + word.len()..)?;
                usual.then(|| {
                    name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>()
                })
            });
        if let Some(class) = class {
            stack.push((statement.indent, class));
        } else if let Some((name, parameters)) = scope::parameters(table, lang, statement) {
            let parameters: Vec<String> = parameters.into_iter().map(|(name, _)| name).collect();
            stack.push((statement.indent, format!("{name} {}", parameters.join(" "))));
        }
        let names: Vec<&str> = stack.iter().rev().take(2).map(|(_, name)| name.as_str()).collect();
        all.push(names.join(" "));
    }
    Ok(all)
}
