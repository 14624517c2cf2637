//! The table of credential shapes, from `rules/secrets.toml`.

use std::sync::{LazyLock, OnceLock};

use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;

/// Bytes of an armoured block's first or last line that are looked at.
const ARMOUR_LINE: usize = 80;

/// One known shape.
#[derive(Debug)]
pub(crate) enum SecretShape {
    Rule(SecretRule),
    Block(SecretBlock),
}

#[derive(Debug)]
pub(crate) struct SecretRule {
    pub(crate) id: String,
    prefixes: Vec<String>,
    pattern: String,
    /// Compiled when first needed: most runs never meet most shapes.
    regex: OnceLock<Option<Regex>>,
    pub(crate) within: SecretExtent,
    pub(crate) max: usize,
}

impl SecretRule {
    /// Length of the match at the beginning of `window`.
    pub(crate) fn matches(&self, window: &[u8]) -> Option<usize> {
        match self.regex.get_or_init(|| compile(&self.pattern).ok()) {
            Some(regex) => regex.find(window).map(|hit| hit.end()).filter(|end| *end > 0),
            // Cannot happen with the embedded table; if it did, too much would be better than too little.
            None => Some(window.len()),
        }
    }
}

fn compile(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(&format!("^(?:{pattern})")).unicode(false).build()
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SecretExtent {
    #[default]
    Token,
    Line,
}

impl SecretExtent {
    /// Whether a match cannot go past this byte.
    pub(crate) fn stops(self, byte: u8) -> bool {
        match self {
            Self::Token => byte <= b' ' || byte >= 0x7f || matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>'),
            Self::Line => (byte < b' ' && byte != b'\t') || byte >= 0x7f,
        }
    }
}

#[derive(Debug)]
pub(crate) struct SecretBlock {
    pub(crate) id: String,
    begin: String,
    kind: String,
    end: String,
}

impl SecretBlock {
    /// Length of an opening line; inner `None` when it is another kind, outer `None` when more bytes are needed.
    #[expect(clippy::option_option, reason = "undecided and no are different answers")]
    pub(crate) fn first_line(&self, bytes: &[u8], ended: bool) -> Option<Option<usize>> {
        let window = &bytes[..bytes.len().min(ARMOUR_LINE)];
        let body = window.get(self.begin.len()..).unwrap_or_default();
        let Some(dashes) = find(body, b"-----") else {
            return (ended || window.len() == ARMOUR_LINE).then_some(None);
        };
        let right_kind = find(&body[..dashes], self.kind.as_bytes()).is_some();
        Some(right_kind.then_some(self.begin.len() + dashes + 5))
    }

    /// How much of `bytes`, which follow the opening line, belongs to the block: `(bytes, whether it ends there)`.
    pub(crate) fn rest(&self, bytes: &[u8], ended: bool) -> (usize, bool) {
        let foreign = bytes.iter().position(|b| !is_armour(*b));
        let inside = &bytes[..foreign.unwrap_or(bytes.len())];
        if let Some(at) = find(inside, self.end.as_bytes()) {
            let line = &inside[at + self.end.len()..inside.len().min(at + ARMOUR_LINE)];
            if let Some(dashes) = find(line, b"-----") {
                return (at + self.end.len() + dashes + 5, true);
            }
            if foreign.is_none() && inside.len() < at + ARMOUR_LINE && !ended {
                return (at, false);
            }
        }
        if foreign.is_some() || ended {
            return (inside.len(), true);
        }
        // Keep what could be the beginning of the last line.
        (inside.len().saturating_sub(self.end.len() - 1), false)
    }
}

/// Bytes found inside an armoured key, also when it is quoted, escaped or indented in a log or patch.
fn is_armour(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte.is_ascii_whitespace() || b"+/=\\:,-|>#".contains(&byte)
}

pub(crate) fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|w| w == needle)
}

impl SecretShape {
    pub(crate) fn prefixes(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        match self {
            Self::Rule(rule) => Box::new(rule.prefixes.iter().map(String::as_str)),
            Self::Block(block) => Box::new(std::iter::once(block.begin.as_str())),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SecretShapesFile {
    rule: Vec<SecretRuleRow>,
    block: Vec<SecretBlockRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SecretRuleRow {
    id: String,
    #[serde(rename = "description")]
    _description: String,
    prefixes: Vec<String>,
    regex: String,
    #[serde(default)]
    within: SecretExtent,
    #[serde(default = "default_max")]
    max: usize,
}

fn default_max() -> usize {
    256
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SecretBlockRow {
    id: String,
    #[serde(rename = "description")]
    _description: String,
    begin: String,
    kind: String,
    end: String,
}

/// All shapes; the embedded table is checked by a test, so an unreadable one cannot be released.
pub(crate) static SHAPES: LazyLock<Vec<SecretShape>> =
    LazyLock::new(|| load(include_str!("../../../../rules/secrets.toml")).unwrap_or_default());

fn load(text: &str) -> Result<Vec<SecretShape>, String> {
    let file: SecretShapesFile = toml::from_str(text).map_err(|e| e.to_string())?;
    let mut shapes = Vec::new();
    for row in file.rule {
        let SecretRuleRow { id, prefixes, regex: pattern, within, max, .. } = row;
        shapes.push(SecretShape::Rule(SecretRule {
            id,
            prefixes,
            pattern,
            regex: OnceLock::new(),
            within,
            max,
        }));
    }
    for row in file.block {
        shapes.push(SecretShape::Block(SecretBlock {
            id: row.id,
            begin: row.begin,
            kind: row.kind,
            end: row.end,
        }));
    }
    Ok(shapes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_table_is_sound() {
        let shapes = load(include_str!("../../../../rules/secrets.toml")).unwrap();
        assert!(shapes.len() >= 25, "{}", shapes.len());
        for shape in &shapes {
            assert!(shape.prefixes().count() > 0);
            if let SecretShape::Rule(rule) = shape {
                assert!(compile(&rule.pattern).is_ok(), "{}", rule.id);
            }
            for prefix in shape.prefixes() {
                assert!(prefix.len() >= 3, "{prefix} is too short to search for");
            }
        }
    }
}
