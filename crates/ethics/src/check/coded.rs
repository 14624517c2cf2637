//! Credentials in the forms code gives them: put together from parts, encoded, or handed to a call as they are.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::security::{CodeLanguage, CodeStatement, statements};
use crate::change::FileChangeLines;
use crate::decoding;
use crate::pattern::RulePattern;

/// The longest text that is put together.
const LONGEST: usize = 600;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CodedFormsRow {
    /// Calls that are given a credential; group `value` is it.
    calls: Vec<String>,
    /// Calls that decode.
    decodes: String,
    /// What joins the parts of a list.
    joins: String,
}

pub(super) struct CodedForms {
    calls: Vec<RulePattern>,
    decodes: RulePattern,
    joins: RulePattern,
}

/// A value that may be a credential: the line, the name it is given, and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SecretCandidate {
    pub(super) line: u64,
    pub(super) name: String,
    pub(super) value: String,
    pub(super) how: CandidateForm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CandidateForm {
    Joined,
    Encoded,
    Given,
}

impl CodedForms {
    pub(super) fn load(row: &CodedFormsRow) -> Result<Self, String> {
        Ok(Self {
            calls: row.calls.iter().map(|text| RulePattern::new(text)).collect::<Result<_, _>>()?,
            decodes: RulePattern::new(&row.decodes)?,
            joins: RulePattern::new(&row.joins)?,
        })
    }

    /// What may be a credential in a file.
    pub(super) fn find(&self, file: &FileChangeLines) -> Vec<SecretCandidate> {
        let first = file.added.first().map_or("", |line| line.text.as_str());
        let Some(lang) = CodeLanguage::of(&file.path, first) else { return Vec::new() };
        if file.added.iter().any(|line| line.text.len() > 4000) {
            return Vec::new();
        }
        let mut constants: BTreeMap<String, (String, u64)> = BTreeMap::new();
        let mut found = Vec::new();
        for statement in statements(file, lang) {
            if !statement.code.contains(['"', '+', '=', ':']) {
                continue;
            }
            self.given(&statement, &mut found);
            named(&statement, &constants, &mut found);
            let name = target(&statement.code);
            let texts = texts(&statement);
            if self.decodes.is_match(&statement.code) {
                for (at, text) in &texts {
                    let bytes = decoding::decode_base64(text)
                        .filter(|_| text.len() >= 8)
                        .or_else(|| decoding::decode_hex(text));
                    let decoded = bytes.as_deref().and_then(decoding::as_text).map(str::to_owned);
                    if let Some(value) = decoded.filter(|value| value.len() >= 6) {
                        found.push(SecretCandidate {
                            line: statement.line(*at),
                            name: name.clone(),
                            value,
                            how: CandidateForm::Encoded,
                        });
                    }
                    let turned: String = text.chars().rev().collect();
                    if statement.code.contains("reverse") || statement.text.contains("[::-1]") {
                        found.push(SecretCandidate {
                            line: statement.line(*at),
                            name: name.clone(),
                            value: turned,
                            how: CandidateForm::Encoded,
                        });
                    }
                }
            }
            let mut first = statement.line(0);
            let parts = self.parts(&statement, &constants, &mut first);
            if parts.len() > 1 {
                let value = parts.concat();
                if value.len() <= LONGEST && value.len() >= 6 {
                    // Where it begins is as telling as where it is put together.
                    for line in [statement.line(0), first] {
                        let (name, value) = (name.clone(), value.clone());
                        found.push(SecretCandidate { line, name, value, how: CandidateForm::Joined });
                    }
                }
            }
            if let ([(_, text)], false) = (texts.as_slice(), name.is_empty()) {
                if constants.len() < 400 {
                    constants.insert(name, (text.clone(), statement.line(0)));
                }
            } else if !name.is_empty() && parts.len() > 1 {
                constants.insert(name, (parts.concat(), first));
            }
        }
        found
    }

    fn given(&self, statement: &CodeStatement, found: &mut Vec<SecretCandidate>) {
        for pattern in &self.calls {
            for hit in pattern.captures_iter(&statement.text) {
                if let Some(value) = hit.name("value") {
                    let line = statement.line(value.start());
                    let (name, value) = ("password".to_owned(), value.as_str().to_owned());
                    let kinds = [
                        "hmac", "aes", "sha", "hs2", "hs3", "hs5", "rs2", "es2", "md5", "utf", "des", "pbkdf",
                    ];
                    let lower = value.to_ascii_lowercase();
                    // The name of a cipher or a hash is no key.
                    if !kinds.iter().any(|kind| lower.starts_with(kind)) {
                        found.push(SecretCandidate { line, name, value, how: CandidateForm::Given });
                    }
                }
            }
        }
    }

    /// The texts and known names of a statement that are joined to one text.
    fn parts(
        &self,
        statement: &CodeStatement,
        constants: &BTreeMap<String, (String, u64)>,
        from_line: &mut u64,
    ) -> Vec<String> {
        let code = statement.code.as_bytes();
        let from = statement.code.find('=').map_or(0, |at| at + 1);
        let listed = self.joins.is_match(&statement.code);
        let (mut parts, mut best): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        let mut at = from;
        while at < code.len() {
            let byte = code.get(at).copied().unwrap_or(0);
            match byte {
                b'"' => {
                    let end = code
                        .get(at + 1..)
                        .unwrap_or_default()
                        .iter()
                        .position(|b| *b == b'"' || *b < 32)
                        .map_or(code.len(), |end| at + 1 + end);
                    let text = statement.text.get(at + 1..end).unwrap_or_default();
                    parts.push(text.to_owned());
                    at = end;
                }
                b'+' | b'.' | b' ' | b'(' | b')' | b'[' | b']' | b'\\' | b'&' => {}
                b',' | b';' if listed => {}
                1 | 2 => {}
                _ if byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$' => {
                    let end = (at..code.len())
                        .find(|at| {
                            !code
                                .get(*at)
                                .is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$'))
                        })
                        .unwrap_or(code.len());
                    let word = statement.code.get(at..end).unwrap_or_default();
                    match constants.get(word) {
                        Some((text, line)) => {
                            *from_line = (*from_line).min(*line);
                            parts.push(text.clone());
                        }
                        None if word.len() <= 2
                            || ["join", "concat", "format", "String", "strings", "new", "implode", "b"]
                                .contains(&word) => {}
                        None => {
                            if parts.len() > best.len() {
                                best = std::mem::take(&mut parts);
                            }
                            parts.clear();
                        }
                    }
                    at = end.saturating_sub(1).max(at);
                }
                _ => {
                    if parts.len() > best.len() {
                        best = std::mem::take(&mut parts);
                    }
                    parts.clear();
                }
            }
            at += 1;
        }
        let mut out = if parts.len() > best.len() { parts } else { best };
        if listed {
            out.retain(|part| !part.is_empty());
        }
        out
    }
}

/// Names that are given a constant of this file: `password=K`.
fn named(
    statement: &CodeStatement,
    constants: &BTreeMap<String, (String, u64)>,
    found: &mut Vec<SecretCandidate>,
) {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    for (at, sign) in statement.code.match_indices(['=', ':']) {
        let left = statement.code.get(..at).unwrap_or_default().trim_end_matches(['"', ' ', ':']);
        let right = statement.code.get(at + sign.len()..).unwrap_or_default().trim_start();
        let value: String = right.chars().take_while(|c| is_name(*c)).collect();
        let Some((text, line)) = constants.get(&value) else { continue };
        let name: String = left.chars().rev().take_while(|c| is_name(*c)).collect();
        let name: String = name.chars().rev().collect();
        for line in [statement.line(at), *line] {
            let (name, value) = (name.clone(), text.clone());
            found.push(SecretCandidate { line, name, value, how: CandidateForm::Joined });
        }
    }
}

/// The name on the left.
fn target(code: &str) -> String {
    let Some(at) = code.find(['=', ':']) else { return String::new() };
    let left = code.get(..at).unwrap_or_default().trim_end_matches([':', '+', ' ', '?']);
    let left = left.rsplit_once(':').map_or(left, |(name, _)| name).trim_end();
    let left = left.trim_end_matches("[]").trim_end_matches(['"', '\'', ']']);
    let name: String =
        left.chars().rev().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '$')).collect();
    name.chars().rev().collect()
}

/// The whole texts in a statement.
fn texts(statement: &CodeStatement) -> Vec<(usize, String)> {
    let code = statement.code.as_bytes();
    let mut all = Vec::new();
    let mut open: Option<usize> = None;
    for (at, byte) in code.iter().enumerate().filter(|(_, byte)| **byte == b'"' || **byte < 32) {
        match open {
            Some(start) if *byte == b'"' => {
                let text = statement.text.get(start + 1..at).unwrap_or_default();
                if !text.is_empty() {
                    all.push((start, text.to_owned()));
                }
                open = None;
            }
            Some(_) => open = None,
            None if *byte == b'"' => open = Some(at),
            None => {}
        }
    }
    all
}
