//! Versions, and the range an adapter was tried with.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bounds on a version, such as `>=2.1, <3`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Range(Vec<(Bound, Vec<u64>)>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    AtLeast,
    Below,
}

impl Range {
    /// Whether a version is inside.
    pub fn holds(&self, version: &str) -> bool {
        let version = numbers(version);
        self.0.iter().all(|(bound, limit)| match bound {
            Bound::AtLeast => version >= *limit,
            Bound::Below => version < *limit,
        })
    }
}

/// The numbers at the beginning of a version; what follows them (a pre-release) does not count.
fn numbers(version: &str) -> Vec<u64> {
    let digits: &str = version.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default();
    digits.split('.').map_while(|part| part.parse().ok()).collect()
}

/// The first thing that looks like a version in what a program prints about itself.
pub(super) fn find(text: &str) -> Option<String> {
    let words = text.split(|c: char| c.is_whitespace() || "(),:;\"'".contains(c));
    let plain = words.map(|word| word.strip_prefix(['v', 'V']).unwrap_or(word));
    let is_version = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    plain.take(200).find(is_version).map(|word| word.chars().take(40).collect())
}

impl FromStr for Range {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bound = |part: &str| {
            let (bound, rest) = match part.trim() {
                part if part.starts_with(">=") => (Bound::AtLeast, &part[2..]),
                part if part.starts_with('<') => (Bound::Below, &part[1..]),
                _ => return Err(format!("`{part}` is no bound: write `>=1.2` or `<2`")),
            };
            let limit = numbers(rest.trim());
            if limit.is_empty() {
                return Err(format!("`{part}` names no version"));
            }
            Ok((bound, limit))
        };
        text.split(',').map(bound).collect::<Result<_, _>>().map(Self)
    }
}

impl TryFrom<String> for Range {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Range> for String {
    fn from(range: Range) -> Self {
        range.to_string()
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (bound, limit)) in self.0.iter().enumerate() {
            let limit: Vec<String> = limit.iter().map(u64::to_string).collect();
            let sign = if *bound == Bound::AtLeast { ">=" } else { "<" };
            write!(f, "{}{sign}{}", if index > 0 { ", " } else { "" }, limit.join("."))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn ranges_hold_what_they_say() {
        let range: Range = ">=2.1, <3".parse().unwrap();
        for (version, inside) in [
            ("2.1", true),
            ("2.1.325", true),
            ("2.10.0-beta.3", true),
            ("2.0.9", false),
            ("3.0.0", false),
            ("", false),
        ] {
            assert_eq!(range.holds(version), inside, "{version}");
        }
        assert_eq!(range.to_string(), ">=2.1, <3");
        assert!("2.1".parse::<Range>().is_err() && ">=x".parse::<Range>().is_err());
    }

    #[test]
    fn versions_are_found_in_what_programs_print() {
        for (text, version) in [
            ("2.1.325 (Claude Code)\n", Some("2.1.325")),
            ("codex-cli 0.166.0\n", Some("0.166.0")),
            ("v22.23.3", Some("22.23.3")),
            (" goose\n 0.20.1", Some("0.20.1")),
            ("usage: x", None),
        ] {
            assert_eq!(find(text).as_deref(), version, "{text}");
        }
    }
}
