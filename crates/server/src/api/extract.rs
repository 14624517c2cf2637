//! Reading requests: what cannot be read is a problem like every other.

use std::time::Duration;

use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use serde::de::DeserializeOwned;

use crate::guard::RequestUser;
use crate::problem::ApiProblem;

/// How long a body may take; others wait for its place.
pub(super) const PATIENCE: Duration = Duration::from_secs(300);

/// A JSON body.
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiProblem;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiProblem> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let kind = kind.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let whole = tokio::time::timeout(PATIENCE, axum::body::Bytes::from_request(request, state));
        let bytes = whole.await.map_err(|_| too_slow())?.map_err(|e| match e.status() {
            StatusCode::PAYLOAD_TOO_LARGE => too_large(),
            _ => ApiProblem::bad_request(e.body_text()),
        })?;
        // Forms of other pages could send everything else without being asked.
        if kind != "application/json" && !(bytes.is_empty() && kind.is_empty()) {
            return Err(ApiProblem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "bad_request",
                "the body must be application/json",
            ));
        }
        let bytes: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
        serde_json::from_slice(bytes).map(JsonBody).map_err(|e| {
            if e.is_data() {
                ApiProblem::invalid(e.to_string())
            } else {
                ApiProblem::bad_request(e.to_string())
            }
        })
    }
}

/// A body that is larger than allowed.
pub(crate) fn too_large() -> ApiProblem {
    ApiProblem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", "the body is larger than this server takes")
}

/// A body that would not end.
pub(super) fn too_slow() -> ApiProblem {
    ApiProblem::new(StatusCode::REQUEST_TIMEOUT, "too_slow", "the body did not arrive in time")
}

/// The part after the question mark.
pub(crate) struct QueryPart<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for QueryPart<T> {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiProblem> {
        Query::<T>::try_from_uri(&parts.uri)
            .map(|Query(asked)| QueryPart(asked))
            .map_err(|e| ApiProblem::bad_request(e.body_text()))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for RequestUser {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiProblem> {
        // The door puts it there; without it nobody came through the door.
        let user = parts.extensions.get::<RequestUser>().cloned().filter(|user| !user.0.is_empty());
        user.ok_or_else(|| ApiProblem::new(StatusCode::UNAUTHORIZED, "unauthorized", "a token is needed"))
    }
}
