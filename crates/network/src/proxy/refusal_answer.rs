//! What a client is told that was refused, in every place where clients look.

use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

use super::carried_body::CarriedBody;
use crate::record::RefusalReason;

/// A refusal that is recorded and has yet to be told.
#[derive(Debug, Clone)]
pub(crate) struct RefusalAnswer {
    status: StatusCode,
    message: String,
    flag: Option<String>,
}

/// A reason phrase is no longer.
const PHRASE: usize = 240;

impl RefusalAnswer {
    pub(crate) fn new(reason: &RefusalReason, message: String, flag: Option<String>) -> Self {
        let status = match reason {
            RefusalReason::Malformed { .. } => StatusCode::BAD_REQUEST,
            RefusalReason::LongUrl { .. } => StatusCode::URI_TOO_LONG,
            RefusalReason::Limit { .. } => StatusCode::SERVICE_UNAVAILABLE,
            RefusalReason::Unresolved
            | RefusalReason::Unreachable { .. }
            | RefusalReason::Certificate { .. } => StatusCode::BAD_GATEWAY,
            RefusalReason::EncodedAnswer => StatusCode::BAD_GATEWAY,
            _ => StatusCode::FORBIDDEN,
        };
        Self { status, message, flag }
    }

    /// What happened, and the flag that would allow it.
    fn sentence(&self) -> String {
        match &self.flag {
            Some(flag) => format!("holon: {}: add {flag}", self.message),
            None => format!("holon: {}", self.message),
        }
    }

    /// The same in one line of plain characters.
    fn phrase(&self) -> String {
        let plain = |c: char| if c.is_ascii_graphic() || c == ' ' { c } else { '?' };
        self.sentence().chars().map(plain).take(PHRASE).collect()
    }

    /// For a client that reads JSON, or for a person.
    fn body(&self, json: bool) -> (String, &'static str) {
        if json {
            let body = serde_json::json!({ "error": self.sentence(), "allow": self.flag });
            return (format!("{body}\n"), "application/json");
        }
        (format!("{}\n", self.sentence()), "text/plain; charset=utf-8")
    }

    /// As bytes, for a connection on which nothing else was said; it is closed behind them.
    pub(crate) fn raw(&self, json: bool) -> Vec<u8> {
        let (body, kind) = self.body(json);
        let (status, phrase, length) = (self.status.as_u16(), self.phrase(), body.len());
        format!(
            "HTTP/1.1 {status} {phrase}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        )
        .into_bytes()
    }

    /// As an answer to one of several requests.
    pub(crate) fn response(&self, json: bool, close: bool) -> Response<CarriedBody> {
        let (body, kind) = self.body(json);
        let mut response = Response::new(CarriedBody::whole(Bytes::from(body)));
        *response.status_mut() = self.status;
        if let Ok(phrase) = hyper::ext::ReasonPhrase::try_from(self.phrase()) {
            response.extensions_mut().insert(phrase);
        }
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        if let (true, Ok(notice)) = (json, HeaderValue::try_from(self.phrase())) {
            headers.insert(HeaderName::from_static("npm-notice"), notice);
        }
        if close {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// Whether a client shows what an answer in JSON says.
pub(crate) fn reads_json(headers: &HeaderMap) -> bool {
    headers.get(header::USER_AGENT).is_some_and(|value| is_json_client(value.as_bytes()))
}

/// The same, by what it calls itself.
pub(crate) fn is_json_client(agent: &[u8]) -> bool {
    let agent = String::from_utf8_lossy(agent).to_lowercase();
    ["npm/", "pnpm/", "yarn/"].iter().any(|word| agent.contains(word))
}
