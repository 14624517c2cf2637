//! Why a request is not served, in the words of each wire.

use std::time::Duration;

use holon_model::{ModelError, ModelErrorKind};
use serde_json::{Value, json};

use crate::client_wire::ClientWire;

/// An answer that is no success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GatewayRefusal {
    /// What sort it is.
    pub(crate) sort: RefusalKind,
    /// For the client; free of secrets.
    pub(crate) message: String,
    /// How long the client is asked to wait.
    pub(crate) retry_after: Option<Duration>,
    /// The provider's id of the request.
    pub(crate) request_id: Option<String>,
}

/// Sorts of refusal: the door's own, and the provider's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefusalKind {
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
    Provider(ModelErrorKind, Option<u16>),
}

impl GatewayRefusal {
    pub(crate) fn new(sort: RefusalKind, message: impl Into<String>) -> Self {
        Self { sort, message: message.into(), retry_after: None, request_id: None }
    }

    /// The HTTP status.
    pub(crate) fn status(&self, wire: Option<ClientWire>) -> u16 {
        match self.sort {
            RefusalKind::Token => 401,
            RefusalKind::NotFound => 404,
            RefusalKind::Method => 405,
            RefusalKind::Malformed => 400,
            RefusalKind::TooLarge => 413,
            RefusalKind::TooSlow => 408,
            RefusalKind::Encoding => 415,
            RefusalKind::Busy => 503,
            // One client repeats what it gets a 402 for.
            RefusalKind::Spent | RefusalKind::Stopped if wire == Some(ClientWire::Responses) => 400,
            RefusalKind::Spent | RefusalKind::Stopped => 402,
            RefusalKind::Provider(kind, status) => provider_status(kind, status, wire),
        }
    }

    /// Whether the same request may succeed later.
    pub(crate) fn may_retry(&self) -> bool {
        match self.sort {
            RefusalKind::Busy | RefusalKind::TooSlow => true,
            RefusalKind::Provider(kind, _) => kind.may_retry(),
            _ => false,
        }
    }

    /// The JSON body; without a wire in the form that most clients understand.
    pub(crate) fn body(&self, wire: Option<ClientWire>) -> Value {
        match wire {
            Some(ClientWire::Messages) => {
                let mut body = json!({
                    "type": "error", "error": {"type": self.messages_word(), "message": self.message},
                });
                if let Some(id) = &self.request_id {
                    body["request_id"] = json!(id);
                }
                body
            }
            Some(ClientWire::Gemini) => {
                let (code, status) = (self.status(wire), self.google_word());
                let mut body = json!({"error": {"code": code, "message": self.message, "status": status}});
                if let Some(wait) = self.retry_after {
                    let wait = format!("{}s", wait.as_secs_f64());
                    let kind = "type.googleapis.com/google.rpc.RetryInfo";
                    body["error"]["details"] = json!([{"@type": kind, "retryDelay": wait}]);
                }
                body
            }
            Some(ClientWire::Chat | ClientWire::Responses) | None => {
                let (kind, code) = self.openai_words();
                json!({"error": {"message": self.message, "type": kind, "param": null, "code": code}})
            }
        }
    }

    fn messages_word(&self) -> &'static str {
        use ModelErrorKind as K;
        match self.sort {
            RefusalKind::Token | RefusalKind::Provider(K::Auth, _) => "authentication_error",
            RefusalKind::NotFound | RefusalKind::Provider(K::BadRequest, Some(404)) => "not_found_error",
            RefusalKind::Spent | RefusalKind::Stopped | RefusalKind::Provider(K::Billing, _) => {
                "billing_error"
            }
            RefusalKind::TooLarge => "request_too_large",
            RefusalKind::Provider(K::RateLimit, _) => "rate_limit_error",
            RefusalKind::Busy | RefusalKind::Provider(K::Overloaded, _) => "overloaded_error",
            RefusalKind::Provider(K::Refused, _) => "permission_error",
            RefusalKind::TooSlow | RefusalKind::Provider(K::Timeout, _) => "timeout_error",
            RefusalKind::Provider(K::Network | K::Cut | K::Malformed | K::Cancelled, _) => "api_error",
            RefusalKind::Method
            | RefusalKind::Malformed
            | RefusalKind::Encoding
            | RefusalKind::Provider(K::ContextOverflow | K::BadRequest | K::Replay | K::Setup, _) => {
                "invalid_request_error"
            }
        }
    }

    fn google_word(&self) -> &'static str {
        use ModelErrorKind as K;
        match self.sort {
            RefusalKind::Token | RefusalKind::Provider(K::Auth, _) => "UNAUTHENTICATED",
            RefusalKind::NotFound | RefusalKind::Provider(K::BadRequest, Some(404)) => "NOT_FOUND",
            RefusalKind::Spent | RefusalKind::Stopped | RefusalKind::Provider(K::Billing, _) => {
                "FAILED_PRECONDITION"
            }
            RefusalKind::Provider(K::RateLimit, _) => "RESOURCE_EXHAUSTED",
            RefusalKind::Provider(K::Refused, _) => "PERMISSION_DENIED",
            RefusalKind::TooSlow | RefusalKind::Provider(K::Timeout, _) => "DEADLINE_EXCEEDED",
            RefusalKind::Provider(K::Cancelled, _) => "CANCELLED",
            RefusalKind::Provider(K::Malformed, _) => "INTERNAL",
            RefusalKind::Busy | RefusalKind::Provider(K::Overloaded | K::Network | K::Cut, _) => {
                "UNAVAILABLE"
            }
            RefusalKind::Method
            | RefusalKind::Malformed
            | RefusalKind::TooLarge
            | RefusalKind::Encoding
            | RefusalKind::Provider(K::ContextOverflow | K::BadRequest | K::Replay | K::Setup, _) => {
                "INVALID_ARGUMENT"
            }
        }
    }

    /// Type and code.
    fn openai_words(&self) -> (&'static str, Option<&'static str>) {
        use ModelErrorKind as K;
        const INVALID: &str = "invalid_request_error";
        match self.sort {
            RefusalKind::Token | RefusalKind::Provider(K::Auth, _) => (INVALID, Some("invalid_api_key")),
            RefusalKind::Spent | RefusalKind::Stopped | RefusalKind::Provider(K::Billing, _) => {
                ("insufficient_quota", Some("insufficient_quota"))
            }
            RefusalKind::NotFound => (INVALID, Some("not_found")),
            RefusalKind::TooLarge => (INVALID, Some("request_too_large")),
            RefusalKind::Provider(K::RateLimit, _) => ("rate_limit_error", Some("rate_limit_exceeded")),
            RefusalKind::Provider(K::ContextOverflow, _) => (INVALID, Some("context_length_exceeded")),
            RefusalKind::Provider(K::Refused, _) => (INVALID, Some("content_policy_violation")),
            RefusalKind::Busy | RefusalKind::Provider(K::Overloaded, _) => {
                ("server_error", Some("server_is_overloaded"))
            }
            RefusalKind::TooSlow | RefusalKind::Provider(K::Timeout, _) => ("timeout_error", Some("timeout")),
            RefusalKind::Provider(K::Network | K::Cut | K::Malformed | K::Cancelled, _) => {
                ("server_error", Some("server_error"))
            }
            RefusalKind::Method | RefusalKind::Malformed | RefusalKind::Encoding => (INVALID, None),
            RefusalKind::Provider(K::BadRequest | K::Replay | K::Setup, _) => {
                (INVALID, Some("invalid_prompt"))
            }
        }
    }
}

fn provider_status(kind: ModelErrorKind, status: Option<u16>, wire: Option<ClientWire>) -> u16 {
    match kind {
        ModelErrorKind::Auth => 401,
        ModelErrorKind::Billing => 402,
        ModelErrorKind::RateLimit => 429,
        ModelErrorKind::Overloaded if wire == Some(ClientWire::Messages) => 529,
        ModelErrorKind::Overloaded => 503,
        ModelErrorKind::Refused => 403,
        // What the provider said, but never a redirect.
        ModelErrorKind::BadRequest => status.filter(|status| (400..500).contains(status)).unwrap_or(400),
        ModelErrorKind::Network | ModelErrorKind::Cut | ModelErrorKind::Malformed => 502,
        ModelErrorKind::Timeout => 504,
        ModelErrorKind::Cancelled => 503,
        // Sending it again would change nothing, and some clients repeat whatever begins with 5.
        ModelErrorKind::ContextOverflow | ModelErrorKind::Replay | ModelErrorKind::Setup => 400,
    }
}

impl From<&ModelError> for GatewayRefusal {
    fn from(error: &ModelError) -> Self {
        let message = match (error.kind, error.retry_after) {
            // The words one client looks for before it shortens its conversation.
            (ModelErrorKind::ContextOverflow, _) if !error.message.contains("prompt is too long") => {
                format!("prompt is too long: {}", error.message)
            }
            // The words another one looks for.
            (ModelErrorKind::RateLimit, Some(wait)) if !error.message.contains("try again in") => {
                format!("{} Please try again in {}s.", error.message, wait.as_secs_f64())
            }
            _ => error.message.clone(),
        };
        Self {
            sort: RefusalKind::Provider(error.kind, error.status),
            message,
            retry_after: error.retry_after,
            request_id: error.request_id.clone(),
        }
    }
}
