//! When to send a request again: a pure decision, and how servers ask for patience.

use std::time::Duration;

use jiff::Timestamp;

use crate::error::ModelError;

/// Response headers by lower-case name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResponseHeaders(Vec<(String, String)>);

impl ResponseHeaders {
    /// The first value of a header; the name is in lower case.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.trim())
    }
}

impl<K: AsRef<str>, V: Into<String>> FromIterator<(K, V)> for ResponseHeaders {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Self(
            pairs.into_iter().map(|(key, value)| (key.as_ref().to_ascii_lowercase(), value.into())).collect(),
        )
    }
}

/// How often and how patiently a request is repeated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Backoff {
    /// The first pause when the server names none.
    pub base: Duration,
    /// The longest pause.
    pub cap: Duration,
    /// The most repetitions.
    pub most: u32,
    /// Repeat also when a part of the answer was already handed on; the receiver is then told to forget it.
    pub after_text: bool,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { base: Duration::from_secs(2), cap: Duration::from_secs(30), most: 5, after_text: false }
    }
}

/// What to do after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryDecision {
    /// Send it again after this pause.
    Wait(Duration),
    /// The failure stands.
    GiveUp,
}

impl Backoff {
    /// Decides after `failures` failed attempts (1 after the first); `random` is in 0..1.
    pub fn decide(&self, failures: u32, error: &ModelError, delivered: bool, random: f64) -> RetryDecision {
        let left = (self.most + 1).saturating_sub(failures);
        if left == 0 || !error.kind.may_retry() || (delivered && !self.after_text) {
            return RetryDecision::GiveUp;
        }
        match error.retry_after {
            // Not even all pauses together would be enough: say so at once.
            Some(asked) if asked > self.cap.saturating_mul(left) => RetryDecision::GiveUp,
            Some(asked) => RetryDecision::Wait(asked.min(self.cap)),
            None => {
                let doubled = self.base.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(self.cap);
                let jitter = if random.is_finite() { random.clamp(0.0, 1.0) / 4.0 } else { 0.0 };
                RetryDecision::Wait((doubled + doubled.mul_f64(jitter)).min(self.cap))
            }
        }
    }
}

/// How long the headers ask to wait: `retry-after-ms`, `retry-after` in seconds or as a date, else the reset of a
/// limit that is used up.
pub fn wait_asked_for(headers: &ResponseHeaders, now: Timestamp) -> Option<Duration> {
    let millis = headers.get("retry-after-ms").and_then(|text| seconds(text, 1e-3));
    let after =
        || headers.get("retry-after").and_then(|text| seconds(text, 1.0).or_else(|| until(text, now)));
    millis.or_else(after).or_else(|| reset_of_spent_limit(headers, now))
}

fn seconds(text: &str, unit: f64) -> Option<Duration> {
    let number: f64 = text.parse().ok()?;
    Duration::try_from_secs_f64((number * unit).max(0.0)).ok()
}

/// The time until a moment, given as an HTTP date or in RFC 3339; zero when it has passed.
fn until(text: &str, now: Timestamp) -> Option<Duration> {
    let then = jiff::fmt::rfc2822::DateTimeParser::new()
        .relaxed_weekday(true)
        .parse_timestamp(text)
        .or_else(|_| text.parse::<Timestamp>())
        .ok()?;
    Some(Duration::try_from(then.duration_since(now)).unwrap_or(Duration::ZERO))
}

fn reset_of_spent_limit(headers: &ResponseHeaders, now: Timestamp) -> Option<Duration> {
    let openai = ["requests", "tokens"]
        .map(|what| (format!("x-ratelimit-remaining-{what}"), format!("x-ratelimit-reset-{what}")));
    let anthropic = ["requests", "tokens", "input-tokens", "output-tokens"].map(|what| {
        (format!("anthropic-ratelimit-{what}-remaining"), format!("anthropic-ratelimit-{what}-reset"))
    });
    let spent = openai.iter().chain(&anthropic).filter(|(left, _)| headers.get(left) == Some("0"));
    spent
        .filter_map(|(_, reset)| {
            let text = headers.get(reset)?;
            go_duration(text).or_else(|| until(text, now))
        })
        .max()
}

/// A duration as Go prints it: `12ms`, `6m0s`, `1h2m3.5s`.
fn go_duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = 0.0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let (number, tail) = rest.split_at(digits);
        let letters = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(letters);
        let unit = match unit {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        total += number.parse::<f64>().ok()? * unit;
        rest = tail;
    }
    Duration::try_from_secs_f64(total).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;
    use crate::error::ModelErrorKind;

    fn error(kind: ModelErrorKind, wait: Option<u64>) -> ModelError {
        ModelError { retry_after: wait.map(Duration::from_secs), ..ModelError::new(kind, "") }
    }

    #[test]
    fn pauses_double_with_jitter_up_to_the_cap_five_times() {
        let backoff = Backoff::default();
        let error = error(ModelErrorKind::Overloaded, None);
        let secs = |failures, random| match backoff.decide(failures, &error, false, random) {
            RetryDecision::Wait(pause) => Some(pause.as_secs_f64()),
            RetryDecision::GiveUp => None,
        };
        let plain: Vec<_> = (1..=6).map(|n| secs(n, 0.0)).collect();
        assert_eq!(plain, [Some(2.0), Some(4.0), Some(8.0), Some(16.0), Some(30.0), None]);
        assert_eq!(secs(1, 1.0), Some(2.5));
        assert_eq!(secs(5, 1.0), Some(30.0));
        assert_eq!(secs(1, f64::NAN), Some(2.0));
    }

    #[test]
    fn the_servers_wish_is_kept_within_the_cap() {
        let backoff = Backoff::default();
        let decide = |failures, wait| {
            backoff.decide(failures, &error(ModelErrorKind::RateLimit, Some(wait)), false, 0.5)
        };
        assert_eq!(decide(1, 7), RetryDecision::Wait(Duration::from_secs(7)));
        assert_eq!(decide(1, 0), RetryDecision::Wait(Duration::ZERO));
        assert_eq!(decide(1, 100), RetryDecision::Wait(Duration::from_secs(30)));
        assert_eq!(decide(1, 3600), RetryDecision::GiveUp);
        assert_eq!(decide(5, 100), RetryDecision::GiveUp);
    }

    #[test]
    fn what_cannot_help_is_not_repeated() {
        let backoff = Backoff::default();
        for kind in [
            ModelErrorKind::Auth,
            ModelErrorKind::Billing,
            ModelErrorKind::ContextOverflow,
            ModelErrorKind::Refused,
            ModelErrorKind::BadRequest,
            ModelErrorKind::Malformed,
            ModelErrorKind::Cancelled,
            ModelErrorKind::Replay,
            ModelErrorKind::Setup,
        ] {
            assert_eq!(
                backoff.decide(1, &error(kind, Some(1)), false, 0.0),
                RetryDecision::GiveUp,
                "{kind:?}"
            );
        }
        for kind in [ModelErrorKind::Network, ModelErrorKind::Timeout, ModelErrorKind::Cut] {
            assert_ne!(backoff.decide(1, &error(kind, None), false, 0.0), RetryDecision::GiveUp, "{kind:?}");
        }
    }

    #[test]
    fn delivered_text_is_not_repeated_unless_asked() {
        let cut = error(ModelErrorKind::Cut, None);
        assert_eq!(Backoff::default().decide(1, &cut, true, 0.0), RetryDecision::GiveUp);
        let asked = Backoff { after_text: true, ..Backoff::default() };
        assert_eq!(asked.decide(1, &cut, true, 0.0), RetryDecision::Wait(Duration::from_secs(2)));
    }

    #[test]
    fn every_way_to_ask_for_patience() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        for (headers, expect) in [
            (vec![("Retry-After-Ms", "250"), ("retry-after", "9")], Some(0.25)),
            (vec![("retry-after", "1.5")], Some(1.5)),
            (vec![("retry-after", "-3")], Some(0.0)),
            (vec![("retry-after", "Thu, 01 Jan 2026 00:00:20 GMT")], Some(20.0)),
            (vec![("retry-after", "Thu, 01 Jan 2025 00:00:20 GMT")], Some(0.0)),
            (vec![("retry-after", "soon")], None),
            (vec![("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "6m0s")], Some(360.0)),
            (
                vec![("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "12ms")],
                Some(0.012),
            ),
            (vec![("x-ratelimit-remaining-tokens", "5"), ("x-ratelimit-reset-tokens", "6m0s")], None),
            (
                vec![
                    ("anthropic-ratelimit-input-tokens-remaining", "0"),
                    ("anthropic-ratelimit-input-tokens-reset", "2026-01-01T00:00:07Z"),
                ],
                Some(7.0),
            ),
            (vec![], None),
        ] {
            let headers: ResponseHeaders = headers.into_iter().collect();
            let got = wait_asked_for(&headers, now).map(|wait| wait.as_secs_f64());
            assert_eq!(got, expect, "{headers:?}");
        }
    }

    proptest! {
        #[test]
        fn any_header_is_survived(text in ".{0,30}", random in any::<f64>(), failures in any::<u32>()) {
            let headers: ResponseHeaders = [
                ("retry-after", text.clone()),
                ("x-ratelimit-remaining-tokens", "0".to_owned()),
                ("x-ratelimit-reset-tokens", text),
            ].into_iter().collect();
            let wait = wait_asked_for(&headers, Timestamp::UNIX_EPOCH);
            let error = ModelError { retry_after: wait, ..ModelError::new(ModelErrorKind::RateLimit, "") };
            if let RetryDecision::Wait(pause) = Backoff::default().decide(failures, &error, false, random) {
                prop_assert!(pause <= Backoff::default().cap);
            }
        }
    }
}
