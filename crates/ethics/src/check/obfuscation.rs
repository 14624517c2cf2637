//! Code that hides what it does: decoded and run, written in escapes, or invisible.

use std::sync::LazyLock;

use holon_core::artifact::ethics::RiskLevel;
use serde::Deserialize;

use super::EthicsCheckResult;
use crate::change::{AddedLine, FileChangeLines};
use crate::decoding;
use crate::finding::{EthicsCheckId, EthicsFinding};
use crate::pattern::RulePattern;
use crate::rules::{LineRuleRow, LineRules};

struct ObfuscationTable {
    rules: LineRules,
    decodes: RulePattern,
    executes: RulePattern,
    harmless: RulePattern,
    distance: usize,
    blob: RulePattern,
    script: RulePattern,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ObfuscationFile {
    decodes: String,
    executes: String,
    harmless: String,
    distance: usize,
    rule: Vec<LineRuleRow>,
}

static TABLE: LazyLock<Result<ObfuscationTable, String>> =
    LazyLock::new(|| load(include_str!("../../../../rules/ethics/obfuscation.toml")));

fn load(text: &str) -> Result<ObfuscationTable, String> {
    let file: ObfuscationFile = toml::from_str(text).map_err(|e| e.to_string())?;
    Ok(ObfuscationTable {
        rules: LineRules::of(file.rule)?,
        decodes: RulePattern::new(&file.decodes)?,
        executes: RulePattern::new(&file.executes)?,
        harmless: RulePattern::new(&file.harmless)?,
        distance: file.distance,
        blob: RulePattern::new(r"[A-Za-z0-9+/_-]{24,}={0,2}")?,
        // What only scripts say; an encoded text or picture does not.
        script: RulePattern::new(
            r"(?i)^#!/|\b(?:curl|wget)\s+(?:-\S+\s+)*https?://|/bin/(?:ba)?sh\b|/dev/tcp/|\bimport\s+(?:os|socket|subprocess)\b|\bos\.system\(|\bexec\(|\beval\(|child_process|powershell|rm\s+-rf\s|\bnc\s+-e|<script|IEX\b.{0,40}http|document\.cookie",
        )?,
    })
}

/// Hidden code in the added lines.
pub(super) fn check(files: &[FileChangeLines]) -> EthicsCheckResult {
    let table = TABLE.as_ref().map_err(Clone::clone)?;
    let mut found = Vec::new();
    for file in files {
        for (index, line) in file.added.iter().enumerate() {
            if let Some((rule, severity, what)) = table.line(file, index, line) {
                let finding = EthicsFinding::new(EthicsCheckId::Obfuscation, rule, severity, what);
                found.push(finding.at(&file.path, line.number));
            }
        }
    }
    Ok(found)
}

impl ObfuscationTable {
    fn line(
        &self,
        file: &FileChangeLines,
        index: usize,
        line: &AddedLine,
    ) -> Option<(&str, RiskLevel, &str)> {
        if invisible(&line.text) {
            return Some((
                "invisible-characters",
                RiskLevel::High,
                "has characters that change how the code reads",
            ));
        }
        if file.place.docs || file.place.lock || line.comment {
            return None;
        }
        // A long line that continues is one line to whoever runs it.
        let soften = |severity| {
            if file.place.test_code && severity != RiskLevel::Critical { RiskLevel::Medium } else { severity }
        };
        if let Some(rule) = self.rules.on(&line.text).first() {
            return Some((&rule.id, soften(rule.severity), &rule.what));
        }
        if self.decodes.is_match(&line.text) && self.runs_near(file, index) {
            return Some((
                "decoded-and-run-later",
                soften(RiskLevel::High),
                "decodes something that is run close by",
            ));
        }
        if self.hides_a_script(&line.text) {
            return Some(("encoded-script", soften(RiskLevel::High), "holds an encoded script or program"));
        }
        None
    }

    fn runs_near(&self, file: &FileChangeLines, index: usize) -> bool {
        let runs = |near: &AddedLine| {
            !near.comment && self.executes.is_match(&near.text) && !self.harmless.is_match(&near.text)
        };
        file.around(index, self.distance).iter().any(runs)
    }

    /// Whether some long word is base64 or hexadecimal of a script or program.
    fn hides_a_script(&self, text: &str) -> bool {
        self.blob.find_iter(text).take(50).any(|blob| {
            let blob = blob.as_str();
            let bytes =
                decoding::decode_hex(blob).or_else(|| decoding::decode_base64(blob)).unwrap_or_default();
            let program = bytes.starts_with(b"\x7fELF")
                || (bytes.starts_with(b"MZ") && bytes.len() > 60 && bytes.contains(&0));
            // UTF-16 is what PowerShell takes.
            let wide = bytes.len() > 16 && bytes.chunks(2).take(16).all(|pair| pair.get(1) == Some(&0));
            let narrow: Vec<u8> = if wide { bytes.iter().step_by(2).copied().collect() } else { bytes };
            program || decoding::as_text(&narrow).is_some_and(|text| self.script.is_match(text))
        })
    }
}

/// Characters that turn the order of text around, or that nobody sees although programs read them.
fn invisible(text: &str) -> bool {
    let mut hidden = 0;
    for c in text.chars() {
        match c {
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => return true,
            '\u{e0020}'..='\u{e007f}' => hidden += 1,
            _ => {}
        }
    }
    // Flags of regions use a few of these; a message uses many.
    hidden > 8
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    #[test]
    fn the_table_is_sound() {
        super::load(include_str!("../../../../rules/ethics/obfuscation.toml")).unwrap();
    }
}
