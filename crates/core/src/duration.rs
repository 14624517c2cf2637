//! Lengths of time as people write them: `20m`, `90s`, `1h30m`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A length of time that reads and prints as `1h30m`; at most 30 days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("pattern" = r"^(\d+d)?(\d+h)?(\d+m)?(\d+s)?(\d+ms)?$"))]
pub struct HumanDuration(Duration);

/// Why a text is not a length of time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a duration: {why}; write it like 90s, 20m or 1h30m")]
pub struct DurationError {
    text: String,
    why: &'static str,
}

/// Units from large to small, with their milliseconds.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];
const MAX_MS: u64 = 30 * 86_400_000;

impl HumanDuration {
    /// A span of whole seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(Duration::from_secs(secs))
    }

    /// The same length as the standard library's type.
    pub const fn get(self) -> Duration {
        self.0
    }
}

impl From<Duration> for HumanDuration {
    fn from(d: Duration) -> Self {
        Self(d)
    }
}

impl FromStr for HumanDuration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        let fail = |why| Err(DurationError { text: text.chars().take(40).collect(), why });
        let mut rest = text.trim();
        if rest.is_empty() {
            return fail("it is empty");
        }
        let mut total: u64 = 0;
        let mut next_unit = 0;
        while !rest.is_empty() {
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let (number, tail) = rest.split_at(digits);
            let Ok(number) = number.parse::<u64>() else {
                return fail("a number is expected before each unit");
            };
            let letters = tail.len() - tail.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
            let (unit, tail) = tail.split_at(letters);
            if unit.is_empty() {
                return fail("the unit is missing");
            }
            let Some(index) = UNITS.iter().position(|(name, _)| *name == unit) else {
                return fail("the units are d, h, m, s and ms");
            };
            if index < next_unit {
                return fail("each unit may appear once, largest first");
            }
            next_unit = index + 1;
            let ms = number.checked_mul(UNITS[index].1).and_then(|ms| ms.checked_add(total));
            match ms {
                Some(ms) if ms <= MAX_MS => total = ms,
                _ => return fail("it is longer than 30 days"),
            }
            rest = tail;
        }
        if total == 0 {
            return fail("it must be longer than zero");
        }
        Ok(Self(Duration::from_millis(total)))
    }
}

impl fmt::Display for HumanDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ms = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        if ms == 0 {
            return f.write_str("0s");
        }
        // Days are read but not printed: `26h` is clearer in a table than `1d2h`.
        for (unit, size) in &UNITS[1..] {
            if ms >= *size {
                write!(f, "{}{unit}", ms / size)?;
                ms %= size;
            }
        }
        Ok(())
    }
}

impl TryFrom<String> for HumanDuration {
    type Error = DurationError;
    fn try_from(text: String) -> Result<Self, DurationError> {
        text.parse()
    }
}

impl From<HumanDuration> for String {
    fn from(span: HumanDuration) -> Self {
        span.to_string()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_people_write() {
        let check = |text: &str, secs: u64| {
            assert_eq!(text.parse::<HumanDuration>().unwrap(), HumanDuration::from_secs(secs))
        };
        check("90s", 90);
        check("20m", 1200);
        check("1h30m", 5400);
        check("1d", 86_400);
        check(" 2h ", 7200);
    }

    #[test]
    fn refuses_with_a_reason() {
        let check = |text: &str, why: &str| {
            let error = text.parse::<HumanDuration>().unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        };
        check("", "empty");
        check("90", "unit is missing");
        check("0s", "longer than zero");
        check("m", "number");
        check("1s1s", "once");
        check("1s1m", "largest first");
        check("-1s", "number");
        check("1 h", "unit is missing");
        check("3w", "units are");
        check("99999999999999999999s", "number");
        check("31d", "30 days");
    }

    proptest! {
        #[test]
        fn never_panics(text in "\\PC{0,40}") {
            let _ = text.parse::<HumanDuration>();
        }

        #[test]
        fn printing_and_reading_agree(ms in 1u64..MAX_MS) {
            let span = HumanDuration::from(Duration::from_millis(ms));
            prop_assert_eq!(span.to_string().parse::<HumanDuration>().unwrap(), span);
        }
    }
}
