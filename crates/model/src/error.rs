//! What can go wrong with a model, told apart by what one can do about it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Why there is no reply.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}: {message}{}", kind.words(), self.suffix())]
pub struct ModelError {
    /// What sort of failure it is.
    pub kind: ModelErrorKind,
    /// What was said, by the provider or by us.
    pub message: String,
    /// HTTP status, when there was one.
    pub status: Option<u16>,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
    /// The provider's id of the request, for its support.
    pub request_id: Option<String>,
}

/// Sorts of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelErrorKind {
    /// The key is missing, wrong or lacks a right.
    Auth,
    /// There is no money or quota left.
    Billing,
    /// Too many requests or tokens at once.
    RateLimit,
    /// The provider has a problem of its own, or too many customers.
    Overloaded,
    /// The conversation does not fit into the model's window.
    ContextOverflow,
    /// The provider declines this content.
    Refused,
    /// The request is wrong, or the model unknown.
    BadRequest,
    /// The provider could not be reached.
    Network,
    /// It did not answer in time.
    Timeout,
    /// The stream ended before the answer did.
    Cut,
    /// The answer could not be understood.
    Malformed,
    /// The caller stopped it.
    Cancelled,
    /// A cassette does not fit the run.
    Replay,
    /// No model can be asked as things are configured; the message says what to set or start.
    Setup,
}

impl ModelErrorKind {
    /// Whether sending the same request again can help.
    pub fn may_retry(self) -> bool {
        match self {
            Self::RateLimit | Self::Overloaded | Self::Network | Self::Timeout | Self::Cut => true,
            Self::Auth
            | Self::Billing
            | Self::ContextOverflow
            | Self::Refused
            | Self::BadRequest
            | Self::Malformed
            | Self::Cancelled
            | Self::Replay
            | Self::Setup => false,
        }
    }

    /// The word for it in events.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::Billing => "billing",
            Self::RateLimit => "rate_limit",
            Self::Overloaded => "overloaded",
            Self::ContextOverflow => "context_overflow",
            Self::Refused => "refused",
            Self::BadRequest => "bad_request",
            Self::Network => "network",
            Self::Timeout => "timeout",
            Self::Cut => "cut",
            Self::Malformed => "malformed",
            Self::Cancelled => "cancelled",
            Self::Replay => "replay",
            Self::Setup => "setup",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Auth => "the credentials are missing or not accepted",
            Self::Billing => "the provider's account has no credit left",
            Self::RateLimit => "the provider limits the rate",
            Self::Overloaded => "the provider has a problem",
            Self::ContextOverflow => "the conversation is too long for the model",
            Self::Refused => "the provider declines this content",
            Self::BadRequest => "the provider does not accept the request",
            Self::Network => "the provider cannot be reached",
            Self::Timeout => "the provider did not answer in time",
            Self::Cut => "the answer was cut off",
            Self::Malformed => "the answer cannot be understood",
            Self::Cancelled => "cancelled",
            Self::Replay => "the cassette does not fit",
            Self::Setup => "no model can be asked",
        }
    }

    /// The HTTP status that stands for it best; used by scripted servers.
    pub fn status(self) -> u16 {
        match self {
            Self::Auth => 401,
            Self::Billing => 402,
            Self::RateLimit => 429,
            Self::Refused => 403,
            Self::Timeout => 408,
            Self::Overloaded | Self::Network | Self::Cut => 503,
            Self::ContextOverflow | Self::BadRequest => 400,
            Self::Malformed | Self::Cancelled | Self::Replay | Self::Setup => 500,
        }
    }
}

impl ModelError {
    /// A failure of this kind.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), status: None, retry_after: None, request_id: None }
    }

    /// The stream ended before its terminal event.
    pub(crate) fn cut(missing: &str) -> Self {
        Self::new(ModelErrorKind::Cut, format!("the stream ended without {missing}"))
    }

    /// Something that is not what the wire promises.
    pub(crate) fn malformed(what: impl std::fmt::Display, found: &str) -> Self {
        Self::new(ModelErrorKind::Malformed, format!("{what}: `{}`", excerpt(found)))
    }

    /// The caller stopped it.
    pub fn cancelled() -> Self {
        Self::new(ModelErrorKind::Cancelled, "the request was stopped")
    }

    /// No key where one is needed.
    pub fn missing_key(variable: &str, provider: &str) -> Self {
        Self::new(
            ModelErrorKind::Auth,
            format!(
                "{provider} needs a key: set {variable} in the environment, or choose another provider or a local server"
            ),
        )
    }

    fn suffix(&self) -> String {
        let mut notes = Vec::new();
        notes.extend(self.status.map(|status| format!("HTTP {status}")));
        notes.extend(self.retry_after.map(|wait| format!("asks to wait {} s", wait.as_secs_f64())));
        notes.extend(self.request_id.as_ref().map(|id| format!("request {id}")));
        if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) }
    }
}

/// The beginning of a text, for a message.
pub(crate) fn excerpt(text: &str) -> String {
    const MOST: usize = 200;
    let begun: String = text.trim().chars().take(2 * MOST).collect();
    // An error is one line.
    let line = begun.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut short: String = line.chars().take(MOST).collect();
    if short.len() < line.len() || begun.len() < text.trim().len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_one_short_line() {
        assert_eq!(excerpt("\n # Goal\n\n\tx  y\n"), "# Goal x y");
        assert_eq!(excerpt(&"é ".repeat(150)), format!("{}…", "é ".repeat(100)));
        assert_eq!(excerpt(&"a".repeat(200)), "a".repeat(200));
        assert!(excerpt(&" a\n".repeat(5000)).ends_with('…'));
    }

    #[test]
    fn a_message_says_what_where_and_what_to_do() {
        let mut error = ModelError::new(ModelErrorKind::RateLimit, "slow down");
        error.status = Some(429);
        error.retry_after = Some(Duration::from_millis(1500));
        error.request_id = Some("req_1".into());
        assert_eq!(
            error.to_string(),
            "the provider limits the rate: slow down (HTTP 429, asks to wait 1.5 s, request req_1)"
        );
        let missing = ModelError::missing_key("OPENROUTER_API_KEY", "OpenRouter").to_string();
        assert!(missing.contains("set OPENROUTER_API_KEY"), "{missing}");
    }
}
