//! Typed names: a run id cannot be passed where a thread id is meant, and each is safe as a path component.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a text is not a valid id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a {kind}: expected {expected}")]
pub struct IdError {
    kind: &'static str,
    text: String,
    expected: &'static str,
}

const BASE32: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Names one run: UTC start time and six random characters, e.g. `20260131-235959-k3m7qa`; sorts by time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("pattern" = r"^\d{8}-\d{6}-[a-z2-7]{6}$"))]
pub struct RunId(String);

impl RunId {
    /// Makes an id from the seconds since 1970 (UTC) and random bytes; the caller owns clock and randomness.
    pub fn from_parts(epoch_seconds: u64, random: [u8; 4]) -> Self {
        // Year 9999 is the last one with four digits.
        let seconds = epoch_seconds.min(253_402_300_799);
        let (year, month, day) = civil(seconds / 86_400);
        let (h, m, s) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
        let bits = u32::from_le_bytes(random);
        let tail: String = (0..6).map(|i| char::from(BASE32[(bits >> (5 * i) & 31) as usize])).collect();
        Self(format!("{year:04}{month:02}{day:02}-{h:02}{m:02}{s:02}-{tail}"))
    }

    /// The text form, also the name of the run's directory.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Gregorian date of a day counted from 1970-01-01.
fn civil(days: u64) -> (u64, u64, u64) {
    // Years are counted from March so that the leap day is the last of a year.
    let z = days + 719_468;
    let era = z / 146_097;
    let day_of_era = z % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

impl FromStr for RunId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let bytes = text.as_bytes();
        let ok = bytes.len() == 22
            && bytes.iter().enumerate().all(|(i, b)| match i {
                8 | 15 => *b == b'-',
                0..=14 => b.is_ascii_digit(),
                _ => BASE32.contains(b),
            });
        let number = |range: std::ops::Range<usize>| text.get(range).and_then(|t| t.parse::<u32>().ok());
        let in_range = |range, low, high| number(range).is_some_and(|n| (low..=high).contains(&n));
        if ok
            && in_range(4..6, 1, 12)
            && in_range(6..8, 1, 31)
            && in_range(9..11, 0, 23)
            && in_range(11..13, 0, 59)
            && in_range(13..15, 0, 60)
        {
            return Ok(Self(text.to_owned()));
        }
        Err(IdError {
            kind: "run id",
            text: text.chars().take(60).collect(),
            expected: "YYYYMMDD-HHMMSS- and six of a-z, 2-7",
        })
    }
}

/// Whether a name given by someone else may be used as one path component.
fn is_safe_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
        && text.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric())
}

macro_rules! named_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(try_from = "String", into = "String")]
        #[schemars(with = "String", extend("pattern" = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"))]
        pub struct $name(String);

        impl $name {
            /// The text form.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                if is_safe_name(text) {
                    return Ok(Self(text.to_owned()));
                }
                Err(IdError {
                    kind: $kind,
                    text: text.chars().take(60).collect(),
                    expected: "1 to 64 letters, digits, dots, dashes or underscores, first a letter or digit",
                })
            }
        }
        text_form!($name);
    };
}

macro_rules! text_form {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                text.parse()
            }
        }
        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }
    };
}

text_form!(RunId);
named_id!(
    /// Names one chat thread.
    ThreadId, "thread id");
named_id!(
    /// Names one piece of work across retries and children.
    TaskId, "task id");
named_id!(
    /// Names one request to the dispatcher.
    RequestId, "request id");
named_id!(
    /// Names one tool call inside a run.
    CallId, "call id");

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn run_ids_name_their_time() {
        let check = |epoch: u64, expect: &str| {
            let id = RunId::from_parts(epoch, [0xff, 0xff, 0xff, 0xff]);
            assert_eq!(id.as_str(), format!("{expect}-777777"));
        };
        check(0, "19700101-000000");
        check(951_782_399, "20000228-235959");
        check(951_782_400, "20000229-000000");
        check(1_709_164_800, "20240229-000000");
        check(1_767_225_599, "20251231-235959");
        check(1_767_225_600, "20260101-000000");
        check(4_102_444_800, "21000101-000000");
        check(u64::MAX, "99991231-235959");
    }

    #[test]
    fn hostile_ids_are_refused() {
        for text in [
            "",
            "..",
            "../20260101-000000-aaaaaa",
            "20260101-000000-AAAAAA",
            "20260101-000000-aaaaa1",
            "20261301-000000-aaaaaa",
            "20260101-000000-aaaaaa/",
            "２0260101-000000-aaaa",
        ] {
            assert!(text.parse::<RunId>().is_err(), "{text}");
        }
        for text in ["", ".", "..", "-x", ".hidden", "a/b", "a\0", "a b", &"x".repeat(65)] {
            assert!(text.parse::<TaskId>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn run_ids_round_trip_and_sort_by_time(a in 0u64..253_402_300_799, b in 0u64..253_402_300_799, r: [u8; 4]) {
            let (x, y) = (RunId::from_parts(a, r), RunId::from_parts(b, r));
            prop_assert_eq!(x.as_str().parse::<RunId>().unwrap(), x.clone());
            prop_assert_eq!(a.cmp(&b), x.cmp(&y));
        }

        #[test]
        fn parsing_never_panics(text in "\\PC{0,30}") {
            let _ = text.parse::<RunId>();
            let _ = text.parse::<ThreadId>();
        }
    }
}
