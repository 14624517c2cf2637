//! Text that talks to whoever assesses the change.

use std::sync::LazyLock;

use holon_core::artifact::ethics::RiskLevel;
use serde::Deserialize;

use super::Found;
use crate::base64;
use crate::change::FileChange;
use crate::finding::{CheckId, Finding};
use crate::pattern::{Pattern, Patterns};

/// How many lines a sentence may take.
const LINES: usize = 4;

struct Table {
    overrides: Patterns,
    addressed: Pattern,
    verdict: Pattern,
    certain: Patterns,
    pretended: Pattern,
    harmless: Pattern,
    machine: Pattern,
    about: Pattern,
    blob: Pattern,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "override")]
    overrides: Vec<String>,
    addressed: String,
    verdict: String,
    certain: Vec<String>,
    pretended: String,
    harmless: String,
    machine: String,
    about: String,
}

static TABLE: LazyLock<Result<Table, String>> =
    LazyLock::new(|| load(include_str!("../../../../rules/ethics/injection.toml")));

fn load(text: &str) -> Result<Table, String> {
    let file: File = toml::from_str(text).map_err(|e| e.to_string())?;
    Ok(Table {
        overrides: Patterns::new(&file.overrides)?,
        addressed: Pattern::new(&file.addressed)?,
        verdict: Pattern::new(&file.verdict)?,
        certain: Patterns::new(&file.certain)?,
        pretended: Pattern::new(&file.pretended)?,
        harmless: Pattern::new(&file.harmless)?,
        machine: Pattern::new(&file.machine)?,
        about: Pattern::new(&file.about)?,
        blob: Pattern::new(r"[A-Za-z0-9+/_-]{40,}={0,2}")?,
    })
}

/// How sure it is that a text is meant for the assessor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sure {
    /// It could be a text about such texts.
    Maybe,
    Certain,
}

/// Such text in the goal and in the added lines of any file.
pub(super) fn check(goal: &str, files: &[FileChange]) -> Found {
    let table = TABLE.as_ref().map_err(Clone::clone)?;
    let mut found = Vec::new();
    if table.judge(&plain(goal)).is_some() {
        found.push(finding(RiskLevel::High).at("goal", 0));
    }
    for file in files.iter().filter(|file| !file.place.lock) {
        let mut quiet_until = 0;
        for (index, line) in file.added.iter().enumerate() {
            if index < quiet_until {
                continue;
            }
            let Some((lines, sure)) = table.at(file, index) else { continue };
            // Tests of filters and papers about the matter quote such texts.
            let told_of = || {
                file.place.docs && file.run(index, lines).any(|line| table.about.is_match(&plain(&line.text)))
            };
            let quoted = (file.place.test_code && !line.comment) || told_of();
            let severity = if quoted && sure == Sure::Maybe { RiskLevel::Medium } else { RiskLevel::High };
            found.push(finding(severity).at(&file.path, line.number));
            quiet_until = index + lines;
        }
    }
    Ok(found)
}

fn finding(severity: RiskLevel) -> Finding {
    Finding::new(
        CheckId::PromptInjection,
        "addresses-the-assessor",
        severity,
        "text that tells the assessor what to find",
    )
}

impl Table {
    /// The fewest lines from here on that say it.
    fn at(&self, file: &FileChange, index: usize) -> Option<(usize, Sure)> {
        let mut text = String::new();
        let mut start = 0;
        for (count, line) in file.run(index, LINES).enumerate() {
            let more = plain(&line.text);
            if count == 0 && more.is_empty() {
                return None;
            }
            start = if count == 0 { more.len() } else { start };
            text.push_str(&more);
            text.push(' ');
            if let Some(sure) = self.judge(&text) {
                // What the later lines say without the first is found when they come first.
                let alone =
                    count > 0 && self.judge(text.get(start..).unwrap_or_default().trim_start()).is_some();
                return (!alone).then_some((count + 1, sure));
            }
        }
        let decoded = file.added.get(index).and_then(|line| self.decoded(&line.text))?;
        self.judge(&plain(&decoded)).map(|sure| (1, sure))
    }

    fn judge(&self, text: &str) -> Option<Sure> {
        // Hardly any line gets as far as this question.
        let harmless = || self.harmless.is_match(text) && !self.machine.is_match(text);
        if self.certain.is_match(text) && !harmless() {
            return Some(Sure::Certain);
        }
        let overrides = self.overrides.is_match(text) || self.pretended.is_match(text);
        let directed = self.addressed.is_match(text) && self.verdict.is_match(text) && self.close(text);
        if overrides && (directed || self.verdict.is_match(text)) {
            return Some(Sure::Certain);
        }
        if overrides {
            return Some(Sure::Maybe);
        }
        (directed && !harmless()).then_some(Sure::Certain)
    }

    /// Whether the one who is spoken to and what it shall do are in one breath: the request follows the address.
    fn close(&self, text: &str) -> bool {
        self.addressed.find_iter(text).any(|address| {
            let rest: String = text.get(address.end()..).unwrap_or_default().chars().take(200).collect();
            // Addressed: at the start of what is said, or followed by a colon, a comma or an order.
            let before = text.get(..address.start()).unwrap_or_default().trim_end();
            let opens =
                before.is_empty() || before.ends_with(['.', '!', ':', '"', '(', '[', '{', '-', '—', '>']);
            let called = rest.trim_start().starts_with([':', ',', '!', '-', '—', ']', ')', '.']);
            let orders = ["must", "should", "shall", "please", "reading", "who", "that"];
            let ordered = orders.iter().any(|order| rest.trim_start().starts_with(order));
            let telling = ["to the", "for the", " any", "for", "attention", "dear", "note to"];
            let told = telling.iter().any(|telling| before.ends_with(telling));
            // People are reviewers too; an order is one only when it is given to a machine.
            let obeys =
                (ordered || told) && self.machine.is_match(address.as_str()) && self.verdict.is_match(&rest);
            (called && (opens || told)) || obeys
        })
    }

    /// The text behind a long base64 word.
    fn decoded(&self, line: &str) -> Option<String> {
        self.blob.find_iter(line).take(20).find_map(|blob| {
            let bytes = base64::decode(blob.as_str())?;
            base64::as_text(&bytes).filter(|text| text.contains(' ')).map(str::to_owned)
        })
    }
}

/// A line as it is meant: visible characters in lower case, single spaces, without the marks of comments.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let shown = text.chars().filter_map(|c| match c {
        '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{ad}' => None,
        // Invisible copies of ASCII.
        '\u{e0020}'..='\u{e007e}' => char::from_u32(c as u32 - 0xe0000),
        '\u{2018}' | '\u{2019}' => Some('\''),
        _ => Some(c),
    });
    let line: String = shown.collect();
    let trimmed = line
        .trim()
        .trim_start_matches(['#', '/', '*', '-', ';', '%', '<', '!', '|', '>'])
        .trim_end_matches(['*', '/', '-', '>']);
    for word in trimmed.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.extend(word.chars().flat_map(char::to_lowercase));
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_table_is_sound() {
        load(include_str!("../../../../rules/ethics/injection.toml")).unwrap();
    }

    #[test]
    fn hidden_letters_are_read() {
        assert_eq!(plain("// Ig\u{200b}nore   THIS"), "ignore this");
        assert_eq!(plain("\u{e0041}\u{e0042}"), "ab");
    }
}
