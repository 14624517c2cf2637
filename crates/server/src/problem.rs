//! Every error a client gets: a status, a code to act on, words to read.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use holon_host::HostError;
use holon_store::StoreError;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// The type of every answer that is a problem.
pub(crate) const PROBLEM: &str = "application/problem+json";

/// What went wrong, as the body of every answer with a status of 400 or more.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ApiProblem {
    /// What to act on, e.g. `turn_running`.
    pub code: String,
    /// What to read.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// More, depending on the code: `modes`, `paths`, …
    #[serde(flatten)]
    #[schema(value_type = Object, additional_properties = true)]
    pub more: Box<Map<String, Value>>,
    #[serde(skip)]
    status: u16,
    #[serde(skip)]
    retry_after: Option<u64>,
}

/// What a handler gives back.
pub(crate) type ApiResult<T> = Result<T, ApiProblem>;

impl ApiProblem {
    /// A problem with this status and code.
    pub(crate) fn new(status: StatusCode, code: &str, message: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            message: message.into(),
            hint: None,
            more: Box::default(),
            status: status.as_u16(),
            retry_after: None,
        }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", message)
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", message)
    }

    /// A workspace that this server does not work on.
    pub(crate) fn outside() -> Self {
        Self::forbidden("that folder is not below a folder this server works on")
            .with_hint("start the server with --root FOLDER to allow it")
    }

    pub(crate) fn not_found(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", format!("there is no such {what}"))
    }

    pub(crate) fn conflict(code: &str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, message)
    }

    pub(crate) fn too_many(message: impl Into<String>, seconds: u64) -> Self {
        let problem = Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many", message);
        Self { retry_after: Some(seconds), ..problem }
    }

    pub(crate) fn ending() -> Self {
        let problem =
            Self::new(StatusCode::SERVICE_UNAVAILABLE, "shutting_down", "the server is shutting down");
        Self { retry_after: Some(5), ..problem }
    }

    /// Something of ours went wrong; the words may be read by anyone.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
    }

    /// There is no room left on the server's disk.
    pub(crate) fn full(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INSUFFICIENT_STORAGE, "disk_full", message).with_hint(
            "free some space where Holon keeps its state, then ask again: nothing that was stored is lost",
        )
    }

    #[must_use]
    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.more.insert(name.to_owned(), value.into());
        self
    }
}

impl IntoResponse for ApiProblem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let retry = self.retry_after;
        let mut response = (status, Json(self)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM));
        if let Some(seconds) = retry {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl From<StoreError> for ApiProblem {
    fn from(e: StoreError) -> Self {
        match e {
            StoreError::Closed => Self::ending(),
            StoreError::Conflict(_) => {
                Self::conflict("conflict", "this was changed by somebody else meanwhile")
            }
            // The database has these words for it.
            StoreError::Database(words) if words.contains("disk is full") => Self::full(words),
            other => Self::internal(other.to_string()),
        }
    }
}

impl From<HostError> for ApiProblem {
    fn from(e: HostError) -> Self {
        if e.kind() == "disk_full" {
            return Self::full(e.to_string());
        }
        let hint = e.hint();
        let problem = match &e {
            HostError::Usage { .. } | HostError::Mode(_) | HostError::Spec(_) => Self::invalid(e.to_string()),
            HostError::Held(_) => Self::conflict("conflict", e.to_string()),
            HostError::Walls { .. } => Self::new(StatusCode::SERVICE_UNAVAILABLE, "walls", e.to_string()),
            HostError::Model(_) => Self::new(StatusCode::SERVICE_UNAVAILABLE, "model", e.to_string()),
            _ => Self::internal(e.to_string()),
        };
        match hint {
            Some(hint) => problem.with_hint(hint),
            None => problem,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_asks_too_much_is_told_when_to_come_back() {
        let answer = ApiProblem::too_many("too many requests at once", 3).into_response();
        assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(answer.headers()[header::RETRY_AFTER], "3");
        assert_eq!(answer.headers()[header::CONTENT_TYPE], PROBLEM);
    }

    #[test]
    fn a_full_disk_is_told_with_what_to_do() {
        let full = || std::io::Error::from(std::io::ErrorKind::StorageFull);
        for problem in [
            ApiProblem::from(HostError::io("write", std::path::Path::new("/x"))(full())),
            ApiProblem::from(StoreError::Database("database or disk is full".into())),
        ] {
            assert_eq!((problem.status, problem.code.as_str()), (507, "disk_full"), "{problem:?}");
            assert!(problem.hint.is_some_and(|hint| hint.contains("free some space")));
        }
        let other = ApiProblem::from(StoreError::Database("no such table".into()));
        assert_eq!((other.status, other.code.as_str()), (500, "internal"));
    }
}
