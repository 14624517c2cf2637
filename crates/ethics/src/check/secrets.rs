//! Credentials: provider shapes, and values whose name makes them one.

use std::cell::LazyCell;
use std::ops::Deref;
use std::sync::LazyLock;

use holon_core::artifact::ethics::RiskLevel;
use holon_core::digest;
use holon_core::redact::Redactor;
use serde::Deserialize;

use super::assignment::{self, Assignment};
use super::coded::{self, CandidateForm, CodedForms};
use crate::change::FileChangeLines;
use crate::file_role::FileRole;
use crate::finding::{EthicsCheckId, EthicsFinding};
use crate::pattern::{RulePattern, RulePatternSet};
use crate::redactor;
use crate::{decoding, entropy};

/// The most that are told of one line.
const MOST: usize = 100;

struct SecretTable {
    redactor: Redactor,
    shapes: Vec<ProviderShape>,
    /// All of them in one search, since most lines have none.
    shape_set: RulePatternSet,
    strong: RulePattern,
    documented: Vec<String>,
    pub(super) names: assignment::SecretNames,
    key_body: RulePattern,
    coded: CodedForms,
}

struct ProviderShape {
    id: String,
    regex: RulePattern,
    near: Option<RulePattern>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SecretTableFile {
    shape: Vec<ProviderShapeRow>,
    names: assignment::SecretNamesRow,
    placeholders: Placeholders,
    coded: coded::CodedFormsRow,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProviderShapeRow {
    id: String,
    regex: String,
    near: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Placeholders {
    strong: String,
    weak: String,
    reference: String,
    documented: Vec<String>,
}

static TABLE: LazyLock<Result<SecretTable, String>> =
    LazyLock::new(|| load(include_str!("../../../../rules/ethics/secrets.toml")));

fn load(text: &str) -> Result<SecretTable, String> {
    let file: SecretTableFile = toml::from_str(text).map_err(|e| e.to_string())?;
    let shape = |row: ProviderShapeRow| -> Result<ProviderShape, String> {
        let near = row.near.as_deref().map(RulePattern::new).transpose()?;
        Ok(ProviderShape { regex: RulePattern::new(&row.regex)?, near, id: row.id })
    };
    let shape_set =
        RulePatternSet::new(&file.shape.iter().map(|row| row.regex.as_str()).collect::<Vec<_>>())?;
    let Placeholders { strong, weak, reference, documented } = file.placeholders;
    Ok(SecretTable {
        redactor: redactor().clone(),
        shape_set,
        shapes: file.shape.into_iter().map(shape).collect::<Result<_, _>>()?,
        names: assignment::SecretNames::load(&file.names, &strong, &weak, &reference)?,
        strong: RulePattern::new(&strong)?,
        documented,
        key_body: RulePattern::new(r"[A-Za-z0-9+/]{16,}|Proc-Type:|Comment:")?,
        coded: CodedForms::load(&file.coded)?,
    })
}

/// Every credential in the added lines.
pub(crate) fn check(files: &[FileChangeLines]) -> Result<Vec<EthicsFinding>, String> {
    let table = TABLE.as_ref().map_err(Clone::clone)?;
    let mut found = Vec::new();
    for file in files {
        for index in 0..file.added.len() {
            table.line(file, index, &mut found);
        }
        if !(file.place.lock || file.place.generated || file.place.docs) {
            table.in_code(file, &mut found);
        }
    }
    Ok(found)
}

/// The credentials in a text that is not part of a file, such as the goal.
pub(crate) fn in_text(text: &str) -> Result<Vec<(String, String)>, String> {
    let table = TABLE.as_ref().map_err(Clone::clone)?;
    Ok(table.shaped(text, &|| false))
}

impl SecretTable {
    /// Credentials that no single line shows as they are.
    fn in_code(&self, file: &FileChangeLines, found: &mut Vec<EthicsFinding>) {
        for one in self.coded.find(file) {
            let known = found.iter().any(|finding| finding.path == file.path && finding.line == one.line);
            if known || file.added.binary_search_by_key(&one.line, |line| line.number).is_err() {
                continue;
            }
            let shaped = self.shaped(&one.value, &|| true);
            let what = match one.how {
                CandidateForm::Joined => "a credential that is put together from parts",
                CandidateForm::Encoded => "a credential that is only encoded",
                CandidateForm::Given => "a credential that is handed to a call as it is",
            };
            if let Some((rule, value)) = shaped.into_iter().next() {
                let finding = EthicsFinding::new(EthicsCheckId::Secrets, &rule, RiskLevel::Critical, what);
                found.push(finding.at(&file.path, one.line).hiding(&value));
                continue;
            }
            if self.documented.contains(&digest::sha256(one.value.as_bytes())) {
                continue;
            }
            let assignment = Assignment { name: one.name, value: one.value };
            if !self.names.is_secret(&assignment.name) {
                continue;
            }
            let around = placed(file.place, false);
            let given = one.how == CandidateForm::Given
                && !around.invented
                && self.names.is_chosen(&assignment.value);
            let severity = self.names.judge(&assignment, around).or(given.then_some(RiskLevel::High));
            if let Some(severity) = severity {
                let finding = EthicsFinding::new(EthicsCheckId::Secrets, "coded-credential", severity, what);
                found.push(finding.at(&file.path, one.line).hiding(&assignment.value));
            }
        }
    }

    fn line(&self, file: &FileChangeLines, index: usize, found: &mut Vec<EthicsFinding>) {
        let Some(line) = file.added.get(index) else { return };
        let mut seen: Vec<(String, String)> =
            self.shaped(&line.text, &|| !file.run(index + 1, 1).any(|next| self.is_key(&next.text)));
        for (rule, value) in &seen {
            let finding = EthicsFinding::new(
                EthicsCheckId::Secrets,
                rule,
                RiskLevel::Critical,
                format!("a credential ({rule})"),
            );
            found.push(finding.at(&file.path, line.number).hiding(value));
        }
        if file.place.lock || file.place.generated {
            return;
        }
        let before = index.checked_sub(1).and_then(|i| file.added.get(i)).map(|line| line.text.as_str());
        for assignment in self.names.find(&line.text, before, &file.path) {
            let known = seen
                .iter()
                .any(|(_, value)| value.contains(&assignment.value) || assignment.value.contains(value));
            if known || self.documented.contains(&digest::sha256(assignment.value.as_bytes())) {
                continue;
            }
            let Some(severity) = self.names.judge(&assignment, placed(file.place, line.comment)) else {
                continue;
            };
            let Assignment { name, value } = assignment;
            let what = format!("a value that looks like a credential, named `{}`", short(&name));
            let finding = EthicsFinding::new(EthicsCheckId::Secrets, "named-credential", severity, what);
            found.push(finding.at(&file.path, line.number).hiding(&value));
            seen.push(("named-credential".into(), value));
        }
    }

    /// What has a provider's shape and does not merely stand for it, as `(rule, value)`.
    fn shaped(&self, text: &str, armour_is_empty: &dyn Fn() -> bool) -> Vec<(String, String)> {
        let mut seen: Vec<(String, String)> = Vec::new();
        // What has a provider's shape is decided by it, also when it is none.
        let mut decided: Vec<&str> = Vec::new();
        for (range, id) in self.redactor.hits(text.as_bytes()).into_iter().take(MOST) {
            let Some(value) = text.get(range.clone()) else { continue };
            decided.push(value);
            let after = text.get(range.end..).unwrap_or_default();
            let real = match id.as_str() {
                // A key is its body; its first line alone is a text about keys.
                "private-key" => {
                    self.is_key(after)
                        || (after
                            .trim_matches(['"', '\'', '`', ' ', '\\', 'n', '+', ',', ';', ')'])
                            .is_empty()
                            && !armour_is_empty())
                }
                "jwt" => !self.stands_for(value) && is_secret_jwt(value),
                _ => !self.stands_for(value),
            };
            if real {
                seen.push((id, value.to_owned()));
            }
        }
        for shape in self.shape_set.matches(text).into_iter().filter_map(|number| self.shapes.get(number)) {
            if shape.near.as_ref().is_some_and(|near| !near.is_match(text)) {
                continue;
            }
            let digest = LazyCell::new(|| text.contains("sha"));
            for hit in shape.regex.captures_iter(text) {
                if seen.len() >= MOST {
                    return seen;
                }
                let Some(value) = hit.name("value").or_else(|| hit.get(0)).map(|m| m.as_str()) else {
                    continue;
                };
                let known = decided.iter().any(|other| other.contains(value))
                    || seen.iter().any(|(_, other)| other.contains(value));
                if !known && !self.stands_for(value) && self.plausible(&shape.id, value, &digest) {
                    seen.push((shape.id.clone(), value.to_owned()));
                }
            }
        }
        seen
    }

    fn is_key(&self, text: &str) -> bool {
        self.key_body.is_match(text) && !text.contains("-----BEGIN ") && !self.strong.is_match(text)
    }

    /// Whether a value is a placeholder or a documented example.
    fn stands_for(&self, value: &str) -> bool {
        let body = value.rsplit(['_', '-', '=', ':', '/', '.']).find(|part| part.len() >= 8).unwrap_or(value);
        self.strong.is_match(value)
            || entropy::distinct(body) <= 3
            || entropy::counting(body) > 0.5
            || self.documented.contains(&digest::sha256(value.as_bytes()))
    }

    /// What more a shape has to be, beyond its expression; `digest` says whether the line speaks of one.
    fn plausible(&self, id: &str, value: &str, digest: &dyn Deref<Target = bool>) -> bool {
        match id {
            "aws-secret-key" => {
                let mixed = entropy::classes(value) >= 3 && entropy::bits(value) >= 4.2;
                // A commit or digest has no capitals; a plain word list has no digits.
                mixed && value.chars().any(|c| c.is_ascii_uppercase()) && !**digest
            }
            "prefixed-token" => {
                let random = entropy::classes(value) >= 4 && entropy::bits(value) >= 4.2;
                let digits = value.chars().filter(char::is_ascii_digit).count();
                // Words put together by dashes have few digits, and no capitals in the middle of one.
                random && digits >= 3 && !self.names.is_common(value) && !**digest
            }
            "password-in-query" => {
                !self.names.is_reference(value)
                    && !self.names.is_common(value)
                    && !value.contains(['{', '(', '$', '%', '*'])
                    && entropy::bits(value) >= 2.8
                    && value.chars().any(|c| c.is_ascii_digit())
            }
            "cloudflare-token" => entropy::classes(value) >= 2 && entropy::bits(value) >= 3.4,
            "password-in-url" | "connection-string" | "password-on-command-line" | "netrc-password" => {
                !self.names.is_reference(value)
                    && !self.names.is_common(value)
                    && !value.contains(['{', '('])
                    && !value.starts_with(['$', '%', '<'])
            }
            "bearer-authorisation" => {
                entropy::classes(value) >= 2
                    && entropy::bits(value) >= 3.3
                    && !self.names.is_common(value)
                    && value.chars().any(|c| c.is_ascii_digit())
            }
            "basic-authorisation" | "docker-login" => decoding::decode_base64(value)
                .as_deref()
                .and_then(decoding::as_text)
                .and_then(|text| text.split_once(':'))
                .is_some_and(|(_, password)| {
                    password.len() >= 4 && !self.strong.is_match(password) && !self.names.is_common(password)
                }),
            "registry-login" => !self.names.is_reference(value) && entropy::bits(value) >= 3.0,
            "twilio-key" => entropy::distinct(value) >= 8,
            _ => true,
        }
    }
}

/// Whether a web token could open anything: the specification's sample and keys for everybody cannot.
fn is_secret_jwt(token: &str) -> bool {
    let part = |number: usize| token.split('.').nth(number).and_then(decoding::decode_base64);
    let Some(claims) = part(1) else { return false };
    let Ok(header) = serde_json::from_slice::<serde_json::Value>(&part(0).unwrap_or_default()) else {
        return false;
    };
    let Ok(claims) = serde_json::from_slice::<serde_json::Value>(&claims) else { return false };
    let is = |key: &str, value: &str| claims.get(key).and_then(|v| v.as_str()) == Some(value);
    let unsigned =
        header.get("alg").and_then(|alg| alg.as_str()).is_some_and(|alg| alg.eq_ignore_ascii_case("none"));
    !(unsigned || is("sub", "1234567890") || is("name", "John Doe") || is("role", "anon") || is("iss", "joe"))
}

/// What counts as a place where made-up values are usual.
fn placed(place: FileRole, comment: bool) -> assignment::AssignmentContext {
    assignment::AssignmentContext { invented: place.test || place.docs, comment }
}

fn short(name: &str) -> String {
    name.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    #[test]
    fn the_table_is_sound() {
        super::load(include_str!("../../../../rules/ethics/secrets.toml")).unwrap();
    }
}
