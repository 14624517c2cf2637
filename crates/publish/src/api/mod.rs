//! The forge's HTTP interface, as far as publishing needs it.
//!
//! A dozen calls are made, each known beforehand, so they are plain values that tests and `--dry-run` can look at. A client
//! library would bring several times the code of this folder and hide the two things that matter here: which answers are
//! unclear, and how long to wait.

mod http;
mod pages;
mod patience;

pub use http::{Http, Reach};
pub use patience::{Clock, Patience, SystemClock};

use serde_json::Value;

use crate::error::Error;

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Reads.
    Get,
    /// Creates.
    Post,
    /// Changes.
    Patch,
    /// Replaces.
    Put,
}

impl Method {
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
pub struct Request {
    /// What it does.
    pub method: Method,
    /// The path below the API's address.
    pub path: String,
    /// Query parameters, not yet encoded.
    pub query: Vec<(&'static str, String)>,
    /// The form of the answer; JSON unless set.
    pub accept: Option<&'static str>,
    /// The body.
    pub body: Option<Value>,
}

impl Request {
    /// A request that reads.
    pub fn get(path: impl Into<String>) -> Self {
        Self { method: Method::Get, path: path.into(), query: Vec::new(), accept: None, body: None }
    }

    /// A request with a body.
    pub fn send(method: Method, path: impl Into<String>, body: Value) -> Self {
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
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
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
pub trait Api {
    /// Sends it once and gives the answer whatever its status; an error means that it is not known what was done.
    fn send(&mut self, request: &Request) -> Result<Answer, Error>;
}

/// Sends a request with patience and gives its JSON; a refusal is an error.
pub(crate) fn json(api: &mut dyn Api, request: &Request) -> Result<Value, Error> {
    let answer = checked(api, request)?;
    serde_json::from_slice(&answer.body)
        .map_err(|e| Error::Answer { call: request.shown(), why: format!("no JSON: {e}") })
}

/// Sends a request; a refusal is an error.
pub(crate) fn checked(api: &mut dyn Api, request: &Request) -> Result<Answer, Error> {
    let answer = api.send(request)?;
    match answer.status {
        200..=299 => Ok(answer),
        // The server does not know either what it did.
        500..=599 => Err(Error::Unclear { call: request.shown(), why: format!("status {}", answer.status) }),
        status => Err(Error::Refused { call: request.shown(), status, message: answer.message() }),
    }
}

pub(crate) use http::percent;
pub(crate) use pages::{Bound, pages};
