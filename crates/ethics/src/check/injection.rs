//! Text that talks to whoever assesses the change.

use std::borrow::Cow;
use std::sync::LazyLock;

use holon_core::artifact::ethics::RiskLevel;
use serde::Deserialize;

use super::EthicsCheckResult;
use crate::change::FileChangeLines;
use crate::decoding;
use crate::finding::{EthicsCheckId, EthicsFinding};
use crate::pattern::{RulePattern, RulePatternSet};

/// How many lines a sentence may take.
const LINES: usize = 4;

/// How many lines are read at once to rule them out together; nearly all of them are.
const BLOCK: usize = 64;
/// Into how many parts a block is divided where something may be.
const PARTS: usize = 8;

struct InjectionTable {
    overrides: RulePatternSet,
    addressed: RulePattern,
    verdict: RulePattern,
    certain: RulePatternSet,
    pretended: RulePattern,
    /// The same wherever a line could begin.
    perhaps_pretended: RulePattern,
    harmless: RulePattern,
    machine: RulePattern,
    about: RulePattern,
    blob: RulePattern,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InjectionFile {
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

static TABLE: LazyLock<Result<InjectionTable, String>> =
    LazyLock::new(|| load(include_str!("../../../../rules/ethics/injection.toml")));

fn load(text: &str) -> Result<InjectionTable, String> {
    let file: InjectionFile = toml::from_str(text).map_err(|e| e.to_string())?;
    Ok(InjectionTable {
        overrides: RulePatternSet::new(&file.overrides)?,
        addressed: RulePattern::new(&file.addressed)?,
        verdict: RulePattern::new(&file.verdict)?,
        certain: RulePatternSet::new(&file.certain)?,
        pretended: RulePattern::new(&format!(r#"(?:^|[.!?"'>\]] ){}"#, file.pretended))?,
        perhaps_pretended: RulePattern::new(&format!("(?:^| ){}", file.pretended))?,
        harmless: RulePattern::new(&file.harmless)?,
        machine: RulePattern::new(&file.machine)?,
        about: RulePattern::new(&file.about)?,
        blob: RulePattern::new(r"[A-Za-z0-9+/_-]{40,}={0,2}")?,
    })
}

/// How sure it is that a text is meant for the assessor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum InjectionCertainty {
    /// It could be a text about such texts.
    Maybe,
    Certain,
}

/// Such text in the goal and in the added lines of any file.
pub(super) fn check(goal: &str, files: &[FileChangeLines]) -> EthicsCheckResult {
    let table = TABLE.as_ref().map_err(Clone::clone)?;
    let mut found = Vec::new();
    if table.judge(&plain(goal)).is_some() {
        found.push(finding(RiskLevel::High).at("goal", 0));
    }
    for file in files.iter().filter(|file| !file.place.lock) {
        let lines: Vec<String> = file.added.iter().map(|line| plain(&line.text)).collect();
        let suspects = table.suspects(file, &lines);
        let mut quiet_until = 0;
        for (index, (line, said)) in file.added.iter().zip(&lines).enumerate() {
            if index < quiet_until || said.is_empty() {
                continue;
            }
            let run = lines.get(index..index + file.run(index, LINES).count()).unwrap_or_default();
            let suspect = suspects.get(index).is_some_and(|suspect| *suspect);
            let told = if suspect { table.at(run, &line.text) } else { table.encoded(&line.text) };
            let Some((lines, sure)) = told else { continue };
            // Tests of filters and papers about the matter quote such texts.
            let told_of = || {
                file.place.docs && file.run(index, lines).any(|line| table.about.is_match(&plain(&line.text)))
            };
            let quoted = (file.place.test_code && !line.comment) || told_of();
            let severity =
                if quoted && sure == InjectionCertainty::Maybe { RiskLevel::Medium } else { RiskLevel::High };
            found.push(finding(severity).at(&file.path, line.number));
            quiet_until = index + lines;
        }
    }
    Ok(found)
}

fn finding(severity: RiskLevel) -> EthicsFinding {
    EthicsFinding::new(
        EthicsCheckId::PromptInjection,
        "addresses-the-assessor",
        severity,
        "text that tells the assessor what to find",
    )
}

impl InjectionTable {
    /// Which lines could begin such a text. Blocks of lines are read as one, and in parts only where something may be.
    fn suspects(&self, file: &FileChangeLines, lines: &[String]) -> Vec<bool> {
        let mut suspects = vec![false; lines.len()];
        let mut from = 0;
        while from < lines.len() {
            let follow = file.added.get(from..).unwrap_or_default();
            let gap = follow.windows(2).position(|pair| pair[1].number != pair[0].number.saturating_add(1));
            let to = gap.map_or(lines.len(), |gap| from + gap + 1);
            let run = lines.get(..to).unwrap_or_default();
            for start in (from..to).step_by(BLOCK) {
                self.narrow(run, start, to.min(start + BLOCK), &mut suspects);
            }
            from = to;
        }
        suspects
    }

    fn narrow(&self, run: &[String], start: usize, end: usize, suspects: &mut [bool]) {
        // What begins in the last line may go on below.
        let reach = run.len().min(end + LINES - 1);
        let mut text = String::new();
        for line in run.get(start..reach).unwrap_or_default() {
            text.push_str(line);
            text.push(' ');
        }
        if !self.possible(&text) {
            return;
        }
        match end - start {
            1 => suspects.iter_mut().skip(start).take(1).for_each(|suspect| *suspect = true),
            count => {
                let step = (count / PARTS).max(1);
                for from in (start..end).step_by(step) {
                    self.narrow(run, from, end.min(from + step), suspects);
                }
            }
        }
    }

    /// Whether [`InjectionTable::judge`] could find something in a part of the text that begins and ends with a line.
    fn possible(&self, text: &str) -> bool {
        self.certain.is_match(text)
            || self.overrides.is_match(text)
            || self.perhaps_pretended.is_match(text)
            || (self.addressed.is_match(text) && self.verdict.is_match(text))
    }

    /// The fewest of the lines, the first included, that say it; `first` is that one as it is written.
    fn at(&self, lines: &[String], first: &str) -> Option<(usize, InjectionCertainty)> {
        let mut text = String::new();
        let mut start = 0;
        for (count, more) in lines.iter().enumerate() {
            start = if count == 0 { more.len() } else { start };
            text.push_str(more);
            text.push(' ');
            if let Some(sure) = self.judge(&text) {
                // What the later lines say without the first is found when they come first.
                let alone =
                    count > 0 && self.judge(text.get(start..).unwrap_or_default().trim_start()).is_some();
                return (!alone).then_some((count + 1, sure));
            }
        }
        self.encoded(first)
    }

    /// The same behind a long base64 word of one line.
    fn encoded(&self, line: &str) -> Option<(usize, InjectionCertainty)> {
        let decoded = self.decoded(line)?;
        self.judge(&plain(&decoded)).map(|sure| (1, sure))
    }

    fn judge(&self, text: &str) -> Option<InjectionCertainty> {
        // Hardly any line gets as far as this question.
        let harmless = || self.harmless.is_match(text) && !self.machine.is_match(text);
        if self.certain.is_match(text) && !harmless() {
            return Some(InjectionCertainty::Certain);
        }
        let overrides = self.overrides.is_match(text) || self.pretended.is_match(text);
        let directed = self.addressed.is_match(text) && self.verdict.is_match(text) && self.close(text);
        if overrides && (directed || self.verdict.is_match(text)) {
            return Some(InjectionCertainty::Certain);
        }
        if overrides {
            return Some(InjectionCertainty::Maybe);
        }
        (directed && !harmless()).then_some(InjectionCertainty::Certain)
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
            let bytes = decoding::decode_base64(blob.as_str())?;
            decoding::as_text(&bytes).filter(|text| text.contains(' ')).map(str::to_owned)
        })
    }
}

/// A line as it is meant: visible characters in lower case, single spaces, without the marks of comments.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let shown = |c: char| match c {
        '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{ad}' => None,
        // Invisible copies of ASCII.
        '\u{e0020}'..='\u{e007e}' => char::from_u32(c as u32 - 0xe0000),
        '\u{2018}' | '\u{2019}' => Some('\''),
        _ => Some(c),
    };
    let line = match text.is_ascii() {
        true => Cow::Borrowed(text),
        false => Cow::Owned(text.chars().filter_map(shown).flat_map(char::to_lowercase).collect()),
    };
    let trimmed = line
        .trim()
        .trim_start_matches(['#', '/', '*', '-', ';', '%', '<', '!', '|', '>'])
        .trim_end_matches(['*', '/', '-', '>']);
    for word in trimmed.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out.make_ascii_lowercase();
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
        assert_eq!(plain("\u{c4}ND\u{cc}ERE \u{2018}x\u{2019}"), "\u{e4}nd\u{ec}ere 'x'");
    }
}
