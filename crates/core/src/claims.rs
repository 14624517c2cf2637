//! Sentences in which an agent says that something was verified. The host believes only what it checked itself.

use std::sync::{LazyLock, OnceLock};

use regex::{RegexSet, RegexSetBuilder};
use serde::Deserialize;

/// Longer texts are looked at up to here.
const MAX_TEXT: usize = 256 * 1024;
/// Longer sentences are cut for the manifest.
const MAX_QUOTE: usize = 200;
/// Enough to make the point.
const MAX_CLAIMS: usize = 10;

#[derive(Deserialize)]
struct ClaimWordsFile {
    words: Vec<String>,
    claims: Vec<String>,
    denials: Vec<String>,
}

static RULES: LazyLock<Option<ClaimRules>> =
    LazyLock::new(|| Some(ClaimRules::new(toml::from_str(include_str!("../../../rules/claims.toml")).ok()?)));

struct ClaimRules {
    file: ClaimWordsFile,
    /// Claims and denials, prepared for the first text that may hold one.
    sets: OnceLock<Option<(RegexSet, RegexSet)>>,
}

impl ClaimRules {
    fn new(file: ClaimWordsFile) -> Self {
        Self { file, sets: OnceLock::new() }
    }

    /// The expressions, unless the text cannot hold a claim.
    fn for_text(&self, text: &str) -> Option<&(RegexSet, RegexSet)> {
        let small = text.to_lowercase();
        let may = self.file.words.iter().any(|word| small.contains(word));
        if may { self.sets.get_or_init(|| compile(&self.file).ok()).as_ref() } else { None }
    }
}

fn compile(file: &ClaimWordsFile) -> Result<(RegexSet, RegexSet), regex::Error> {
    let set = |patterns: &[String]| RegexSetBuilder::new(patterns).case_insensitive(true).build();
    Ok((set(&file.claims)?, set(&file.denials)?))
}

/// The sentences of a summary that claim a verification, shortened.
pub fn of_verification(summary: &str) -> Vec<String> {
    let end = (0..=summary.len().min(MAX_TEXT)).rev().find(|i| summary.is_char_boundary(*i)).unwrap_or(0);
    let text = &summary[..end];
    let Some((claims, denials)) = RULES.as_ref().and_then(|rules| rules.for_text(text)) else {
        return Vec::new();
    };
    sentences(text)
        .filter(|s| claims.is_match(s) && !denials.is_match(s))
        .map(|s| s.chars().take(MAX_QUOTE).collect())
        .take(MAX_CLAIMS)
        .collect()
}

/// Lines, cut at the ends of sentences; a dot inside a name is no end.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .flat_map(|line| line.split_inclusive(". ").flat_map(|s| s.split_inclusive(['!', '?', '。', ';'])))
        .map(|s| s.trim_matches(|c: char| c.is_whitespace() || "-*#>`._".contains(c)))
        .filter(|s| !s.is_empty())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_table_is_sound() {
        let rules = RULES.as_ref().unwrap();
        assert!(compile(&rules.file).is_ok());
        assert!(rules.for_text("The tests are GREEN").is_some());
        assert!(rules.for_text("Renamed the field and looked around").is_none());
    }

    #[test]
    fn claims_and_what_only_sounds_like_one() {
        for (text, expect) in [
            ("Fixed it. All tests pass.", true),
            ("- All 12 tests are passing now", true),
            ("I ran the test suite and everything is green, all passed", true),
            ("`cargo test`: 42 passed, 0 failed", true),
            ("The build succeeds and clippy is clean.", true),
            ("I verified that the fix works.", true),
            ("测试全部通过", true),
            ("I could not run the tests here.", false),
            ("The tests should pass once the server is up.", false),
            ("The test failed before and I did not run it again.", false),
            ("Adds a test for the parser.", false),
            ("passes the buffer to the parser", false),
            ("The user is verified by e-mail", false),
            ("", false),
        ] {
            assert_eq!(!of_verification(text).is_empty(), expect, "{text}");
        }
    }

    #[test]
    fn long_texts_are_bounded() {
        let text = format!("{} all tests pass\n", "ä".repeat(500)).repeat(50);
        let found = of_verification(&text);
        assert!(found.len() == MAX_CLAIMS && found.iter().all(|f| f.chars().count() <= MAX_QUOTE));
        assert!(of_verification(&"ä".repeat(MAX_TEXT)).is_empty());
    }
}
