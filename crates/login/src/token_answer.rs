//! What is asked of a token endpoint, and what it answers: pure.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::known_login::{RenewalBody, RenewalRule};
use crate::login_text::LoginTokens;
use crate::secret::Secret;

/// New tokens, as a token endpoint gave them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenAnswer {
    /// The token for requests.
    pub access: Secret,
    /// The token for the next renewal, unless the old one stays.
    pub refresh: Option<Secret>,
    /// The token that says who logged in.
    pub id: Option<Secret>,
    /// When the first one ends.
    pub ends: Option<Timestamp>,
    /// When this was received.
    pub received: Timestamp,
}

/// The longest that a token is believed to last.
const MOST_SECONDS: i64 = 10 * 366 * 24 * 3600;

/// The body of a renewal's request and its media type.
pub(crate) fn request(rule: &RenewalRule, refresh: &Secret, tokens: &LoginTokens) -> (String, &'static str) {
    let scope = tokens.scopes.join(" ");
    let mut pairs = vec![
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh.expose()),
        ("client_id", rule.client_id.as_str()),
    ];
    if rule.scope && !scope.is_empty() {
        pairs.push(("scope", &scope));
    }
    match rule.body {
        RenewalBody::Json => {
            let body: serde_json::Map<String, Value> =
                pairs.into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect();
            (Value::Object(body).to_string(), "application/json")
        }
        RenewalBody::Form => {
            let body: Vec<String> =
                pairs.into_iter().map(|(name, value)| format!("{name}={}", escaped(value))).collect();
            (body.join("&"), "application/x-www-form-urlencoded")
        }
    }
}

/// The tokens of a successful answer; without words where it has none.
pub(crate) fn read(body: &[u8], received: Timestamp) -> Option<TokenAnswer> {
    let whole: Value = serde_json::from_slice(body).ok()?;
    let secret = |name: &str| {
        let token = whole.get(name)?.as_str().map(Secret::new)?;
        (!token.is_blank()).then_some(token)
    };
    let access =
        secret("access_token").filter(|token| token.expose().bytes().all(|b| b.is_ascii_graphic()))?;
    let seconds = whole.get("expires_in").and_then(|value| match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    });
    let seconds = seconds.filter(|seconds: &f64| seconds.is_finite() && *seconds >= 0.0);
    let lasts = seconds.map(|seconds| (seconds.min(MOST_SECONDS as f64)) as i64);
    let told = lasts.and_then(|lasts| received.checked_add(SignedDuration::from_secs(lasts)).ok());
    let claimed = || crate::token_claims::end(access.expose()).and_then(|at| Timestamp::from_second(at).ok());
    let ends = told.or_else(claimed);
    Some(TokenAnswer { refresh: secret("refresh_token"), id: secret("id_token"), access, ends, received })
}

/// The short name of an error, where it is one that can be shown: no server puts a token into a name of small letters.
pub(crate) fn error_name(body: &[u8]) -> Option<String> {
    let whole: Value = serde_json::from_slice(body).ok()?;
    let error = whole.get("error")?;
    let inner = |name: &str| error.get(name).and_then(Value::as_str);
    let name = error.as_str().or_else(|| inner("code")).or_else(|| inner("type"))?;
    let plain = name.len() <= 40 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    (plain && !name.is_empty()).then(|| name.to_owned())
}

/// A value of a form.
fn escaped(value: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let one = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    value.bytes().map(one).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;
    use crate::known_login::known_login;

    fn tokens() -> LoginTokens {
        LoginTokens {
            access: Secret::new("a"),
            refresh: None,
            ends: None,
            account: None,
            who: None,
            scopes: vec!["user:inference".into(), "user:profile".into()],
            plan: None,
        }
    }

    #[test]
    fn a_request_is_what_the_agent_would_send() {
        let rule = known_login("claude").unwrap().renewal.clone().unwrap();
        let (body, kind) = request(&rule, &Secret::new("r&1"), &tokens());
        let expect = json!({
            "grant_type": "refresh_token", "refresh_token": "r&1", "client_id": rule.client_id,
            "scope": "user:inference user:profile",
        });
        assert_eq!((serde_json::from_str::<Value>(&body).unwrap(), kind), (expect, "application/json"));
        let rule = RenewalRule { body: RenewalBody::Form, client_id: "c d".into(), scope: false, ..rule };
        let (body, _) = request(&rule, &Secret::new("r&1"), &tokens());
        assert_eq!(body, "grant_type=refresh_token&refresh_token=r%261&client_id=c%20d");
    }

    #[test]
    fn an_answer_is_read_or_is_none() {
        let now = Timestamp::from_second(1_000).unwrap();
        let ends = |text: &str| read(text.as_bytes(), now).unwrap().ends.map(Timestamp::as_second);
        assert_eq!(ends(r#"{"access_token": "a", "expires_in": 60}"#), Some(1_060));
        assert_eq!(ends(r#"{"access_token": "a", "expires_in": "60"}"#), Some(1_060));
        assert_eq!(ends(r#"{"access_token": "a", "expires_in": -1}"#), None);
        assert_eq!(ends(r#"{"access_token": "a", "expires_in": 1e300}"#), Some(1_000 + MOST_SECONDS));
        for none in [
            "",
            "{}",
            r#"{"access_token": ""}"#,
            r#"{"access_token": 1}"#,
            r#"{"access_token":"a\nb"}"#,
            "[]",
        ] {
            assert_eq!(read(none.as_bytes(), now), None, "{none}");
        }
    }

    #[test]
    fn only_names_of_errors_are_shown() {
        for (body, name) in [
            (r#"{"error": "invalid_grant", "error_description": "canary"}"#, Some("invalid_grant")),
            (
                r#"{"error": {"code": "refresh_token_reused", "message": "canary"}}"#,
                Some("refresh_token_reused"),
            ),
            (r#"{"error": {"type": "invalid_request_error"}}"#, Some("invalid_request_error")),
            (r#"{"error": "sk-ant-ort01-canary"}"#, None),
            (r#"{"error": ""}"#, None),
            ("<html>", None),
        ] {
            assert_eq!(error_name(body.as_bytes()).as_deref(), name, "{body}");
        }
    }

    proptest! {
        #[test]
        fn no_answer_panics(body in prop::collection::vec(any::<u8>(), 0..100), seconds in any::<f64>()) {
            let now = Timestamp::from_second(1_000).unwrap();
            let _ = (read(&body, now), error_name(&body));
            let _ = read(json!({"access_token": "a", "expires_in": seconds}).to_string().as_bytes(), now);
        }
    }
}
