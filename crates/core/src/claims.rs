//! Sentences in which an agent says that something was verified. The host believes only what it checked itself.

use std::sync::LazyLock;

use regex::{RegexSet, RegexSetBuilder};
use serde::Deserialize;

/// Longer texts are looked at up to here.
const MAX_TEXT: usize = 256 * 1024;
/// Longer sentences are cut for the manifest.
const MAX_QUOTE: usize = 200;
/// Enough to make the point.
const MAX_CLAIMS: usize = 10;

#[derive(Deserialize)]
struct File {
    claims: Vec<String>,
    denials: Vec<String>,
}

static RULES: LazyLock<Option<(RegexSet, RegexSet)>> =
    LazyLock::new(|| load(include_str!("../../../rules/claims.toml")).ok());

fn load(text: &str) -> Result<(RegexSet, RegexSet), String> {
    let file: File = toml::from_str(text).map_err(|e| e.to_string())?;
    let set = |patterns: &[String]| {
        RegexSetBuilder::new(patterns).case_insensitive(true).build().map_err(|e| e.to_string())
    };
    Ok((set(&file.claims)?, set(&file.denials)?))
}

/// The sentences of a summary that claim a verification, shortened.
pub fn of_verification(summary: &str) -> Vec<String> {
    let Some((claims, denials)) = RULES.as_ref() else { return Vec::new() };
    let end = (0..=summary.len().min(MAX_TEXT)).rev().find(|i| summary.is_char_boundary(*i)).unwrap_or(0);
    sentences(&summary[..end])
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
        assert!(load(include_str!("../../../rules/claims.toml")).is_ok());
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
