//! The forge's HTTP interface, as far as publishing needs it.
//!
//! A dozen calls are made, each known beforehand, so they are plain values that tests and `--dry-run` can look at. A client
//! library would bring several times the code of this folder and hide the two things that matter here: which answers are
//! unclear, and how long to wait.

mod http;
mod pages;
mod patience;

pub use http::{ApiBase, HttpApi};
pub use patience::{Clock, PatientApi, SystemClock};

use serde_json::Value;

use crate::error::PublishError;

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpMethod {
    /// Reads.
    Get,
    /// Creates.
    Post,
    /// Changes.
    Patch,
    /// Replaces.
    Put,
}

impl HttpMethod {
    /// As it stands in a request.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Patch => "PATCH",
            Self::Put => "PUT",
        }
    }
}

/// One request.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiRequest {
    /// What it does.
    pub method: HttpMethod,
    /// The path below the API's address.
    pub path: String,
    /// Query parameters, not yet encoded.
    pub query: Vec<(&'static str, String)>,
    /// The form of the answer; JSON unless set.
    pub accept: Option<&'static str>,
    /// The body.
    pub body: Option<Value>,
}

impl ApiRequest {
    /// A request that reads.
    pub fn get(path: impl Into<String>) -> Self {
        Self { method: HttpMethod::Get, path: path.into(), query: Vec::new(), accept: None, body: None }
    }

    /// A request with a body.
    pub fn send(method: HttpMethod, path: impl Into<String>, body: Value) -> Self {
        Self { method, path: path.into(), query: Vec::new(), accept: None, body: Some(body) }
    }

    /// The same with a query parameter.
    pub fn query(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.query.push((name, value.into()));
        self
    }

    /// The same, asking for another form.
    pub fn accept(mut self, form: &'static str) -> Self {
        self.accept = Some(form);
        self
    }

    /// Method and path, for messages.
    pub fn shown(&self) -> String {
        format!("{} {}", self.method.name(), self.path)
    }
}

/// One answer.
#[derive(Debug, Clone, Default)]
pub struct ApiResponse {
    /// The status.
    pub status: u16,
    /// Headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl ApiResponse {
    /// The first value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// What the forge says about a refusal, on one line.
    pub(crate) fn message(&self) -> String {
        let value: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let mut text = value["message"].as_str().unwrap_or("no reason given").to_owned();
        for error in value["errors"].as_array().into_iter().flatten().take(5) {
            let detail =
                error.as_str().or_else(|| error["message"].as_str()).or_else(|| error["code"].as_str());
            if let Some(detail) = detail {
                text.push_str("; ");
                text.push_str(detail);
            }
        }
        text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(500).collect()
    }
}

/// Sends requests one by one; what is behind it may be a server, a recording or a test.
pub trait ForgeApi {
    /// Sends it once and gives the answer whatever its status; an error means that it is not known what was done.
    fn send(&mut self, request: &ApiRequest) -> Result<ApiResponse, PublishError>;
}

/// Sends a request with patience and gives its JSON; a refusal is an error.
pub(crate) fn json(api: &mut dyn ForgeApi, request: &ApiRequest) -> Result<Value, PublishError> {
    let answer = checked(api, request)?;
    serde_json::from_slice(&answer.body)
        .map_err(|e| PublishError::Answer { call: request.shown(), why: format!("no JSON: {e}") })
}

/// Sends a request; a refusal is an error.
pub(crate) fn checked(api: &mut dyn ForgeApi, request: &ApiRequest) -> Result<ApiResponse, PublishError> {
    let answer = api.send(request)?;
    match answer.status {
        200..=299 => Ok(answer),
        // The server does not know either what it did.
        500..=599 => {
            Err(PublishError::Unclear { call: request.shown(), why: format!("status {}", answer.status) })
        }
        status => Err(PublishError::Refused { call: request.shown(), status, message: answer.message() }),
    }
}

pub(crate) use http::percent;
pub(crate) use pages::{PageBound, pages};
