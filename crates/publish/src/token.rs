//! Credentials of the publisher.

use std::fmt;

/// A secret that is never shown: not by `Debug`, not in errors, not on command lines.
#[derive(Clone, PartialEq, Eq)]
pub struct ForgeToken(String);

impl ForgeToken {
    /// Takes a secret; surrounding white space is not part of it, and no text makes no token.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty() && text.chars().all(|c| !c.is_control())).then(|| Self(text.to_owned()))
    }

    /// The secret itself, for the one place that sends it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ForgeToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_not_shown() {
        let token = ForgeToken::new(" abc\n").map(|t| format!("{t:?}"));
        assert_eq!(token.as_deref(), Some("Token(hidden)"));
        assert_eq!(ForgeToken::new(" "), None);
        assert_eq!(ForgeToken::new("a\nb"), None);
    }
}
