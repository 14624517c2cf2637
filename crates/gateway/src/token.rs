//! The placeholder that a sandbox holds instead of a key.

use std::fmt;
use std::io::{self, Read as _};

/// What a client must show to be served; worth nothing anywhere else.
#[derive(Clone, PartialEq, Eq)]
pub struct GatewayToken(String);

impl GatewayToken {
    /// A fresh one for a run.
    pub fn random() -> io::Result<Self> {
        let mut bytes = [0u8; 24];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self(format!("holon-{digits}")))
    }

    /// A known one, for tests and replays.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The text to put where a client expects its key.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is it; the time taken does not tell how much of it is right.
    pub(crate) fn is(&self, shown: &[u8]) -> bool {
        let own = self.0.as_bytes();
        let mut different = u8::from(own.len() != shown.len()) | u8::from(own.is_empty());
        for (at, byte) in own.iter().enumerate() {
            different |= byte ^ shown.get(at).copied().unwrap_or(0);
        }
        std::hint::black_box(different) == 0
    }
}

impl fmt::Debug for GatewayToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_the_whole_token_fits() {
        let token = GatewayToken::new("holon-abc");
        for (shown, fits) in [
            ("holon-abc", true),
            ("holon-abd", false),
            ("holon-ab", false),
            ("holon-abcd", false),
            ("", false),
            ("Holon-abc", false),
        ] {
            assert_eq!(token.is(shown.as_bytes()), fits, "{shown}");
        }
        assert!(!GatewayToken::new("").is(b""), "an empty token opens nothing");
    }

    #[test]
    fn fresh_tokens_differ() {
        let (one, other) = (GatewayToken::random().unwrap(), GatewayToken::random().unwrap());
        assert_ne!(one, other);
        assert_eq!(one.as_str().len(), 54);
    }
}
