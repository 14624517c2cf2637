//! Credentials that end up in logs.

use std::sync::LazyLock;

use holon_core::artifact::ethics::RiskLevel;
use serde::Deserialize;

use super::EthicsCheckResult;
use crate::change::FileChangeLines;
use crate::finding::{EthicsCheckId, EthicsFinding};
use crate::pattern::RulePattern;

struct SecretLoggingTable {
    calls: Vec<RulePattern>,
    secret: RulePattern,
    token: RulePattern,
    harmless: RulePattern,
    bulk: RulePattern,
    part: RulePattern,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SecretLoggingFile {
    calls: Vec<String>,
    secret: String,
    token: String,
    harmless: String,
    bulk: String,
    part: String,
}

static TABLE: LazyLock<Result<SecretLoggingTable, String>> =
    LazyLock::new(|| load(include_str!("../../../../rules/ethics/logging.toml")));

fn load(text: &str) -> Result<SecretLoggingTable, String> {
    let file: SecretLoggingFile = toml::from_str(text).map_err(|e| e.to_string())?;
    Ok(SecretLoggingTable {
        calls: file.calls.iter().map(|call| RulePattern::new(call)).collect::<Result<_, _>>()?,
        secret: RulePattern::new(&file.secret)?,
        token: RulePattern::new(&file.token)?,
        harmless: RulePattern::new(&file.harmless)?,
        bulk: RulePattern::new(&file.bulk)?,
        part: RulePattern::new(&file.part)?,
    })
}

/// Calls that log a credential itself, not a sentence about one.
pub(super) fn check(files: &[FileChangeLines]) -> EthicsCheckResult {
    let table = TABLE.as_ref().map_err(Clone::clone)?;
    let mut found = Vec::new();
    for file in files.iter().filter(|file| !file.place.docs && !file.place.lock) {
        for (index, line) in file.added.iter().enumerate().filter(|(_, line)| !line.comment) {
            let Some(rest) = table.calls.iter().find_map(|call| call.captures(&line.text)?.name("rest"))
            else {
                continue;
            };
            // Arguments may go on below, where a bracket was opened for them.
            let mut given = rest.as_str().to_owned();
            let before = line.text.get(..rest.start()).unwrap_or_default().trim_end();
            if before.ends_with(['(', '[', '{']) && open(&given) > 0 {
                for next in file.run(index + 1, 4) {
                    given.push(' ');
                    given.push_str(&next.text);
                    if open(&given) <= 0 {
                        break;
                    }
                }
            }
            if let Some(what) = table.judge(&given, file) {
                let severity = if file.place.test_code { RiskLevel::Medium } else { RiskLevel::High };
                let finding =
                    EthicsFinding::new(EthicsCheckId::CredentialLogging, "logs-a-credential", severity, what);
                found.push(finding.at(&file.path, line.number));
            }
        }
    }
    Ok(found)
}

/// How many parentheses stay open; one was opened before the text.
fn open(text: &str) -> i64 {
    let count = |c: char| text.matches(c).count() as i64;
    count('(') + 1 - count(')')
}

impl SecretLoggingTable {
    fn judge(&self, given: &str, file: &FileChangeLines) -> Option<&'static str> {
        if self.bulk.is_match(given) {
            return Some("logs all variables or headers, credentials included");
        }
        if given.contains("::add-mask::") {
            return None;
        }
        let values = self.shortened(&values(given));
        // Each argument is judged for itself: one may be masked, the next not.
        for value in values.split([',', '+', '\u{1}']).map(str::trim).filter(|value| !value.is_empty()) {
            // A name that is given a text of its own, such as `password: "[redacted]"`, shows nothing.
            let named = value.ends_with([':', '=']) || value.ends_with("=>");
            if named || self.harmless.is_match(value) {
                continue;
            }
            if self.secret.is_match(value) {
                return Some("logs a credential");
            }
            if self.token.is_match(value) && !file.place.lexer {
                return Some("logs a token");
            }
        }
        None
    }
}

impl SecretLoggingTable {
    /// The same with the taking of a few characters written as one word, so that its own commas divide nothing.
    fn shortened(&self, values: &str) -> String {
        let (mut out, mut from) = (String::with_capacity(values.len()), 0);
        for part in self.part.find_iter(values) {
            out.push_str(values.get(from..part.start()).unwrap_or_default());
            out.push_str(".masked()");
            from = part.end();
        }
        out + values.get(from..).unwrap_or_default()
    }
}

/// What is put into a message: everything outside of quotes, and the placeholders inside them.
fn values(given: &str) -> String {
    let mut out = String::with_capacity(given.len());
    let mut quote: Option<char> = None;
    let mut depth = 0usize;
    let mut previous = ' ';
    let mut dollar = false;
    let mut rest = given.chars().peekable();
    while let Some(c) = rest.next() {
        match quote {
            // Between quotes only `{…}`, `#{…}` and `$name` are values.
            Some(end) => {
                if c == '\\' {
                    rest.next();
                } else if c == '=' && depth == 1 && rest.peek() == Some(&'}') {
                    // `{name=}` shows the name and its value.
                } else if depth > 0 {
                    match c {
                        '{' | '(' => depth += 1,
                        '}' | ')' => depth -= 1,
                        _ => {}
                    }
                    out.push(if depth == 0 { '\u{1}' } else { c });
                } else if c == end {
                    quote = None;
                    dollar = false;
                    out.push('\u{1}');
                } else if c == '{' || (c == '(' && previous == '\\') {
                    depth = 1;
                    dollar = false;
                    out.push('\u{1}');
                } else if c == '$' && end != '\'' {
                    dollar = true;
                    out.push('\u{1}');
                } else if dollar && (c.is_alphanumeric() || c == '_') {
                    out.push(c);
                } else if dollar {
                    dollar = false;
                    out.push('\u{1}');
                }
            }
            None if matches!(c, '"' | '\'' | '`') => {
                quote = Some(c);
                depth = 0;
                // The letter before belongs to the string.
                if matches!(previous, 'f' | 'r' | 'b' | 'u') {
                    out.pop();
                }
                out.push('\u{1}');
            }
            None => out.push(c),
        }
        previous = c;
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_table_is_sound() {
        load(include_str!("../../../../rules/ethics/logging.toml")).unwrap();
    }

    #[test]
    fn only_values_count() {
        let check = |given: &str, expect: &str| {
            let parts: Vec<String> = values(given)
                .split('\u{1}')
                .map(|part| part.trim().to_owned())
                .filter(|part| !part.is_empty())
                .collect();
            assert_eq!(parts.join("|"), expect, "{given}");
        };
        check("\"password reset for %s\", user.id", ", user.id");
        check("f\"pw={password}\"", "password");
        check("`t ${token} x`", "token");
        check("f\"{cfg.api_key=}\"", "cfg.api_key");
        check("\"pw $PASSWORD done\"", "PASSWORD");
        check("'x' + secret", "+ secret");
        check("\"quote \\\" password\"", "");
    }
}
