//! What an adapter's own manifest claims.

use serde::{Deserialize, Serialize};

/// What an adapter says about its own run; evidence, never the verdict.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdapterClaim {
    /// Its status word.
    pub status: Option<String>,
    /// Its outcome word.
    pub outcome: Option<String>,
    /// Its error, as text.
    pub error: Option<String>,
    /// What it asks a person.
    #[serde(default)]
    pub question: Option<String>,
}

impl AdapterClaim {
    /// Reads a manifest written by an adapter, taking whatever is usable; `None` when it is not a JSON object.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let value: serde_json::Value = serde_json::from_slice(bytes).ok()?;
        let object = value.as_object()?;
        let text = |key: &str| object.get(key).and_then(|v| v.as_str()).map(str::to_owned);
        let error = object.get("error").filter(|v| !v.is_null()).map(|v| match v {
            serde_json::Value::String(s) => s.clone(),
            other => {
                other.get("message").and_then(|m| m.as_str()).map_or_else(|| other.to_string(), str::to_owned)
            }
        });
        Some(Self { status: text("status"), outcome: text("outcome"), error, question: text("question") })
    }

    /// Whether the adapter asks for a person, which counts even with exit code 1.
    pub fn needs_human(&self) -> bool {
        let says = |v: &Option<String>| v.as_deref().is_some_and(|s| s.eq_ignore_ascii_case("needs_human"));
        says(&self.outcome) || says(&self.status)
    }

    /// Whether the adapter itself says that it failed.
    pub fn failed(&self) -> bool {
        let is = |v: &Option<String>, words: &[&str]| {
            v.as_deref().is_some_and(|s| words.iter().any(|w| s.eq_ignore_ascii_case(w)))
        };
        is(&self.outcome, &["failure", "failed"]) || is(&self.status, &["failed", "failure", "error"])
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn claims_are_read_leniently() {
        let check = |text: &str, human: bool, failed: bool| {
            let claim = AdapterClaim::parse(text.as_bytes()).unwrap();
            assert_eq!((claim.needs_human(), claim.failed()), (human, failed), "{text}");
        };
        check(r#"{"outcome":"needs_human","status":"failed"}"#, true, true);
        check(r#"{"outcome":"success","status":"completed"}"#, false, false);
        check(r#"{"status":"failed","error":{"message":"no key"}}"#, false, true);
        check(r#"{"status":7}"#, false, false);
        assert_eq!(AdapterClaim::parse(b"[1]"), None);
        assert_eq!(AdapterClaim::parse(b"{"), None);
    }

    proptest! {
        #[test]
        fn claims_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = AdapterClaim::parse(&bytes);
        }
    }
}
