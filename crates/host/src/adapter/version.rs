//! Versions, and the range an adapter was tried with.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use semver::{BuildMetadata, Comparator, Op, Prerelease, Version, VersionReq};
use serde::{Deserialize, Serialize};

/// Bounds on a version, such as `>=2.1, <3`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct VersionRange(VersionReq);

impl VersionRange {
    /// Whether a version is inside; a pre-release counts as the version it leads to.
    pub fn holds(&self, version: &str) -> bool {
        numbers(version).is_some_and(|version| self.0.matches(&version))
    }
}

/// The numbers at the beginning of what a program calls its version; those it does not give are zero.
fn numbers(version: &str) -> Option<Version> {
    let digits = version.split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
    let mut parts = digits.split('.').map_while(|part| part.parse().ok());
    Some(Version {
        major: parts.next()?,
        minor: parts.next().unwrap_or(0),
        patch: parts.next().unwrap_or(0),
        pre: Prerelease::EMPTY,
        build: BuildMetadata::EMPTY,
    })
}

/// The first thing that looks like a version in what a program prints about itself.
pub(super) fn find(text: &str) -> Option<String> {
    let words = text.split(|c: char| c.is_whitespace() || "(),:;\"'".contains(c));
    let plain = words.map(|word| word.strip_prefix(['v', 'V']).unwrap_or(word));
    let is_version = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    plain.take(200).find(is_version).map(|word| word.chars().take(40).collect())
}

impl FromStr for VersionRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let range = VersionReq::parse(text).map_err(|e| format!("`{text}` is no range of versions: {e}"))?;
        // A bare `2.1` means several things to several people.
        let plain = |bound: &Comparator| matches!(bound.op, Op::GreaterEq | Op::Less);
        match !range.comparators.is_empty() && range.comparators.iter().all(plain) {
            true => Ok(Self(range)),
            false => Err(format!("`{text}` has a bound of another kind: write `>=1.2`, `<2` or `>=1.2, <2`")),
        }
    }
}

impl TryFrom<String> for VersionRange {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<VersionRange> for String {
    fn from(range: VersionRange) -> Self {
        range.to_string()
    }
}

impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn ranges_hold_what_they_say() {
        let range: VersionRange = ">=2.1, <3".parse().unwrap();
        for (version, inside) in [
            ("2.1", true),
            ("2.1.325", true),
            ("2", false),
            ("2.10.0-beta.3", true),
            ("2.0.9", false),
            ("3.0.0", false),
            ("", false),
        ] {
            assert_eq!(range.holds(version), inside, "{version}");
        }
        assert_eq!(range.to_string(), ">=2.1, <3");
        assert!("2.1".parse::<VersionRange>().is_err() && ">=x".parse::<VersionRange>().is_err());
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
