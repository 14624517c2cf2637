//! Why a request is not served, in the words of each wire.

use std::time::Duration;

use holon_model::{ErrorKind, ModelError};
use serde_json::{Value, json};

use crate::tongue::Tongue;

/// An answer that is no success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// What sort it is.
    pub(crate) sort: Sort,
    /// For the client; free of secrets.
    pub(crate) message: String,
    /// How long the client is asked to wait.
    pub(crate) retry_after: Option<Duration>,
    /// The provider's id of the request.
    pub(crate) request_id: Option<String>,
}

/// Sorts of refusal: the door's own, and the provider's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    /// The token is missing or wrong.
    Token,
    /// Nothing is served there.
    NotFound,
    /// The method does not fit the path.
    Method,
    /// The request is not understood.
    Malformed,
    /// The body is larger than allowed.
    TooLarge,
    /// The body did not come in time.
    TooSlow,
    /// The body is encoded in a way that is not read.
    Encoding,
    /// Too much is going on at once.
    Busy,
    /// The run has nothing left to spend.
    Spent,
    /// Whoever attends the conversation has stopped it.
    Stopped,
    /// The provider gave no reply; with its status, where that says more than its kind.
    Provider(ErrorKind, Option<u16>),
}

impl Refusal {
    pub(crate) fn new(sort: Sort, message: impl Into<String>) -> Self {
        Self { sort, message: message.into(), retry_after: None, request_id: None }
    }

    /// The HTTP status.
    pub(crate) fn status(&self, wire: Option<Tongue>) -> u16 {
        match self.sort {
            Sort::Token => 401,
            Sort::NotFound => 404,
            Sort::Method => 405,
            Sort::Malformed => 400,
            Sort::TooLarge => 413,
            Sort::TooSlow => 408,
            Sort::Encoding => 415,
            Sort::Busy => 503,
            // One client repeats what it gets a 402 for.
            Sort::Spent | Sort::Stopped if wire == Some(Tongue::Responses) => 400,
            Sort::Spent | Sort::Stopped => 402,
            Sort::Provider(kind, status) => provider_status(kind, status, wire),
        }
    }

    /// Whether the same request may succeed later.
    pub(crate) fn may_retry(&self) -> bool {
        match self.sort {
            Sort::Busy | Sort::TooSlow => true,
            Sort::Provider(kind, _) => kind.may_retry(),
            _ => false,
        }
    }

    /// The JSON body; without a wire in the form that most clients understand.
    pub(crate) fn body(&self, wire: Option<Tongue>) -> Value {
        match wire {
            Some(Tongue::Messages) => {
                let mut body = json!({
                    "type": "error", "error": {"type": self.messages_word(), "message": self.message},
                });
                if let Some(id) = &self.request_id {
                    body["request_id"] = json!(id);
                }
                body
            }
            Some(Tongue::Gemini) => {
                let (code, status) = (self.status(wire), self.google_word());
                let mut body = json!({"error": {"code": code, "message": self.message, "status": status}});
                if let Some(wait) = self.retry_after {
                    let wait = format!("{}s", wait.as_secs_f64());
                    let kind = "type.googleapis.com/google.rpc.RetryInfo";
                    body["error"]["details"] = json!([{"@type": kind, "retryDelay": wait}]);
                }
                body
            }
            Some(Tongue::Chat | Tongue::Responses) | None => {
                let (kind, code) = self.openai_words();
                json!({"error": {"message": self.message, "type": kind, "param": null, "code": code}})
            }
        }
    }

    fn messages_word(&self) -> &'static str {
        use ErrorKind as K;
        match self.sort {
            Sort::Token | Sort::Provider(K::Auth, _) => "authentication_error",
            Sort::NotFound | Sort::Provider(K::BadRequest, Some(404)) => "not_found_error",
            Sort::Spent | Sort::Stopped | Sort::Provider(K::Billing, _) => "billing_error",
            Sort::TooLarge => "request_too_large",
            Sort::Provider(K::RateLimit, _) => "rate_limit_error",
            Sort::Busy | Sort::Provider(K::Overloaded, _) => "overloaded_error",
            Sort::Provider(K::Refused, _) => "permission_error",
            Sort::TooSlow | Sort::Provider(K::Timeout, _) => "timeout_error",
            Sort::Provider(K::Network | K::Cut | K::Malformed | K::Cancelled, _) => "api_error",
            Sort::Method
            | Sort::Malformed
            | Sort::Encoding
            | Sort::Provider(K::ContextOverflow | K::BadRequest | K::Replay | K::Setup, _) => {
                "invalid_request_error"
            }
        }
    }

    fn google_word(&self) -> &'static str {
        use ErrorKind as K;
        match self.sort {
            Sort::Token | Sort::Provider(K::Auth, _) => "UNAUTHENTICATED",
            Sort::NotFound | Sort::Provider(K::BadRequest, Some(404)) => "NOT_FOUND",
            Sort::Spent | Sort::Stopped | Sort::Provider(K::Billing, _) => "FAILED_PRECONDITION",
            Sort::Provider(K::RateLimit, _) => "RESOURCE_EXHAUSTED",
            Sort::Provider(K::Refused, _) => "PERMISSION_DENIED",
            Sort::TooSlow | Sort::Provider(K::Timeout, _) => "DEADLINE_EXCEEDED",
            Sort::Provider(K::Cancelled, _) => "CANCELLED",
            Sort::Provider(K::Malformed, _) => "INTERNAL",
            Sort::Busy | Sort::Provider(K::Overloaded | K::Network | K::Cut, _) => "UNAVAILABLE",
            Sort::Method
            | Sort::Malformed
            | Sort::TooLarge
            | Sort::Encoding
            | Sort::Provider(K::ContextOverflow | K::BadRequest | K::Replay | K::Setup, _) => {
                "INVALID_ARGUMENT"
            }
        }
    }

    /// Type and code.
    fn openai_words(&self) -> (&'static str, Option<&'static str>) {
        use ErrorKind as K;
        const INVALID: &str = "invalid_request_error";
        match self.sort {
            Sort::Token | Sort::Provider(K::Auth, _) => (INVALID, Some("invalid_api_key")),
            Sort::Spent | Sort::Stopped | Sort::Provider(K::Billing, _) => {
                ("insufficient_quota", Some("insufficient_quota"))
            }
            Sort::NotFound => (INVALID, Some("not_found")),
            Sort::TooLarge => (INVALID, Some("request_too_large")),
            Sort::Provider(K::RateLimit, _) => ("rate_limit_error", Some("rate_limit_exceeded")),
            Sort::Provider(K::ContextOverflow, _) => (INVALID, Some("context_length_exceeded")),
            Sort::Provider(K::Refused, _) => (INVALID, Some("content_policy_violation")),
            Sort::Busy | Sort::Provider(K::Overloaded, _) => ("server_error", Some("server_is_overloaded")),
            Sort::TooSlow | Sort::Provider(K::Timeout, _) => ("timeout_error", Some("timeout")),
            Sort::Provider(K::Network | K::Cut | K::Malformed | K::Cancelled, _) => {
                ("server_error", Some("server_error"))
            }
            Sort::Method | Sort::Malformed | Sort::Encoding => (INVALID, None),
            Sort::Provider(K::BadRequest | K::Replay | K::Setup, _) => (INVALID, Some("invalid_prompt")),
        }
    }
}

fn provider_status(kind: ErrorKind, status: Option<u16>, wire: Option<Tongue>) -> u16 {
    match kind {
        ErrorKind::Auth => 401,
        ErrorKind::Billing => 402,
        ErrorKind::RateLimit => 429,
        ErrorKind::Overloaded if wire == Some(Tongue::Messages) => 529,
        ErrorKind::Overloaded => 503,
        ErrorKind::Refused => 403,
        // What the provider said, but never a redirect.
        ErrorKind::BadRequest => status.filter(|status| (400..500).contains(status)).unwrap_or(400),
        ErrorKind::Network | ErrorKind::Cut | ErrorKind::Malformed => 502,
        ErrorKind::Timeout => 504,
        ErrorKind::Cancelled => 503,
        // Sending it again would change nothing, and some clients repeat whatever begins with 5.
        ErrorKind::ContextOverflow | ErrorKind::Replay | ErrorKind::Setup => 400,
    }
}

impl From<&ModelError> for Refusal {
    fn from(error: &ModelError) -> Self {
        let message = match (error.kind, error.retry_after) {
            // The words one client looks for before it shortens its conversation.
            (ErrorKind::ContextOverflow, _) if !error.message.contains("prompt is too long") => {
                format!("prompt is too long: {}", error.message)
            }
            // The words another one looks for.
            (ErrorKind::RateLimit, Some(wait)) if !error.message.contains("try again in") => {
                format!("{} Please try again in {}s.", error.message, wait.as_secs_f64())
            }
            _ => error.message.clone(),
        };
        Self {
            sort: Sort::Provider(error.kind, error.status),
            message,
            retry_after: error.retry_after,
            request_id: error.request_id.clone(),
        }
    }
}
