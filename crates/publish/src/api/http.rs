//! Requests over HTTP, one after the other.

use std::time::Duration;

use holon_http::{ClientSettings, innermost};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};

use super::{ApiRequest, ApiResponse, ForgeApi};
use crate::error::PublishError;
use crate::token::ForgeToken;

/// The version of GitHub's interface that is spoken.
const VERSION: &str = "2022-11-28";
const JSON: &str = "application/vnd.github+json";
/// The most bytes of an answer that are read.
const LONGEST: usize = 64 * 1024 * 1024;
const CONNECT: Duration = Duration::from_secs(10);
const WHOLE: Duration = Duration::from_secs(60);

/// Where the API is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiBase {
    base: String,
    loopback: bool,
}

impl ApiBase {
    /// Takes an address such as `https://api.github.com`; plain HTTP is accepted on loopback alone.
    pub fn new(address: &str) -> Result<Self, PublishError> {
        let wrong = |why: &str| {
            PublishError::usage(
                format!("the API's address `{address}` {why}"),
                "such as https://api.github.com or https://HOST/api/v3",
            )
        };
        let url = reqwest::Url::parse(address).map_err(|e| wrong(&format!("is none: {e}")))?;
        let host = url.host_str().unwrap_or_default();
        let loopback = matches!(host, "127.0.0.1" | "localhost" | "[::1]");
        match url.scheme() {
            "https" => {}
            "http" if loopback => {}
            _ => return Err(wrong("is not https")),
        }
        if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
            return Err(wrong("holds more than scheme, host and path"));
        }
        Ok(Self { base: address.trim_end_matches('/').to_owned(), loopback })
    }

    /// The address without a slash at its end.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The host and port of the API.
    pub fn host(&self) -> String {
        let url = reqwest::Url::parse(&self.base).ok();
        url.and_then(|u| Some(authority(&u)?.to_owned())).unwrap_or_default()
    }

    /// Whether a repository's address belongs to the same forge, so that the token may go there.
    pub fn owns(&self, address: &str) -> bool {
        let Ok(url) = reqwest::Url::parse(address) else { return false };
        let encrypted = url.scheme() == "https" || (url.scheme() == "http" && self.loopback);
        let (Some(theirs), ours) = (authority(&url), self.host()) else { return false };
        encrypted
            && url.username().is_empty()
            && (theirs == ours || ours.strip_prefix("api.") == Some(&theirs))
    }
}

fn authority(url: &reqwest::Url) -> Option<String> {
    let host = url.host_str()?;
    Some(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
}

/// Sends requests to a server.
#[derive(Debug)]
pub struct HttpApi {
    client: reqwest::Client,
    runtime: tokio::runtime::Runtime,
    reach: ApiBase,
    token: Option<ForgeToken>,
}

impl HttpApi {
    /// A client for an address; redirects are not followed, because the token would go along.
    pub fn new(reach: ApiBase, token: Option<ForgeToken>) -> Result<Self, PublishError> {
        let fail = |e: &dyn std::fmt::Display| {
            PublishError::Credentials(format!("the network cannot be set up: {e}"))
        };
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| fail(&e))?;
        let settings = ClientSettings {
            encrypted: !reach.loopback,
            loopback: reach.loopback,
            connect: CONNECT,
            whole: Some(WHOLE),
        };
        let client = settings.client().map_err(|e| fail(&e))?;
        Ok(Self { client, runtime, reach, token })
    }

    fn url(&self, request: &ApiRequest) -> String {
        let mut url = format!("{}{}", self.reach.base, request.path);
        for (number, (name, value)) in request.query.iter().enumerate() {
            url.push(if number == 0 { '?' } else { '&' });
            url.push_str(name);
            url.push('=');
            url.push_str(&percent(value, ""));
        }
        url
    }

    async fn exchange(&self, request: &ApiRequest) -> Result<ApiResponse, String> {
        let method =
            reqwest::Method::from_bytes(request.method.name().as_bytes()).map_err(|e| e.to_string())?;
        let mut call = self
            .client
            .request(method, self.url(request))
            .header(ACCEPT, request.accept.unwrap_or(JSON))
            .header("x-github-api-version", VERSION);
        if let Some(token) = &self.token {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", token.reveal()))
                .map_err(|_| "the token holds characters no header can".to_owned())?;
            value.set_sensitive(true);
            call = call.header(AUTHORIZATION, value);
        }
        if let Some(body) = &request.body {
            call = call.header(CONTENT_TYPE, "application/json").body(body.to_string());
        }
        let mut response = call.send().await.map_err(|e| innermost(&e))?;
        let headers = response
            .headers()
            .iter()
            .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())));
        let mut answer =
            ApiResponse { status: response.status().as_u16(), headers: headers.collect(), body: Vec::new() };
        while let Some(chunk) = response.chunk().await.map_err(|e| innermost(&e))? {
            if answer.body.len() + chunk.len() > LONGEST {
                return Err(format!("the answer has more than {LONGEST} bytes"));
            }
            answer.body.extend_from_slice(&chunk);
        }
        Ok(answer)
    }
}

impl ForgeApi for HttpApi {
    fn send(&mut self, request: &ApiRequest) -> Result<ApiResponse, PublishError> {
        self.runtime
            .block_on(self.exchange(request))
            .map_err(|why| PublishError::Unclear { call: request.shown(), why })
    }
}

/// Percent-encodes everything but unreserved characters and those in `keep`.
pub(crate) fn percent(text: &str, keep: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        let plain =
            byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || keep.as_bytes().contains(&byte);
        if plain {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_token_goes_to_its_own_forge_only() {
        let check = |api: &str, address: &str, expect: bool| {
            assert_eq!(ApiBase::new(api).unwrap().owns(address), expect, "{api} {address}");
        };
        check("https://api.github.com", "https://github.com/o/r.git", true);
        check("https://api.github.com", "https://github.com.evil.example/o/r.git", false);
        check("https://api.github.com", "http://github.com/o/r.git", false);
        check("https://api.github.com", "https://x@github.com/o/r.git", false);
        check("https://ghe.example/api/v3", "https://ghe.example/o/r.git", true);
        check("https://ghe.example:8443/api/v3", "https://ghe.example/o/r.git", false);
        check("http://127.0.0.1:8080", "http://127.0.0.1:8080/o/r.git", true);
        check("http://127.0.0.1:8080", "file:///srv/o/r.git", false);
    }

    #[test]
    fn odd_addresses_are_refused() {
        for address in [
            "",
            "github.com",
            "http://api.github.com",
            "https://u:p@api.github.com",
            "ftp://x",
            "https://x/?a=b",
        ] {
            assert!(ApiBase::new(address).is_err(), "{address}");
        }
        assert_eq!(ApiBase::new("https://ghe.example/api/v3/").unwrap().base(), "https://ghe.example/api/v3");
    }

    #[test]
    fn odd_characters_are_encoded() {
        assert_eq!(percent("a b/ü&", ""), "a%20b%2F%C3%BC%26");
        assert_eq!(percent("a/b c", "/"), "a/b%20c");
    }
}
