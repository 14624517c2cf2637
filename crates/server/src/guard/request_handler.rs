//! The door: the name a server was called by, where a page came from, who asks, and how often.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::{LOCAL, RequestUser};
use crate::app::AppState;
use crate::caller;
use crate::problem::{ApiProblem, PROBLEM};
use crate::setup::AccessSettings;

/// Marks a request that came through the door for this user's own programs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ViaUnixSocket;

/// Lets a request in, or says why not.
pub(crate) async fn enter(State(app): State<Arc<AppState>>, mut request: Request, next: Next) -> Response {
    app.metrics.request();
    let open = matches!(request.uri().path(), "/healthz");
    let mut response = match admit(&app, &request, open) {
        Ok(user) => {
            request.extensions_mut().insert(user);
            let caller = caller::of(request.headers());
            // By itself: what was begun is brought to its end, also when whoever asked for it has gone.
            let work = tokio::spawn(caller::on_behalf(caller, next.run(request)));
            let lost = |_| ApiProblem::internal("the request could not be carried out").into_response();
            in_words(work.await.unwrap_or_else(lost))
        }
        Err(problem) => problem.into_response(),
    };
    harden(response.headers_mut());
    response
}

fn admit(app: &AppState, request: &Request, open: bool) -> Result<RequestUser, ApiProblem> {
    let headers = request.headers();
    let doors = &app.setup.doors;
    let host = text(headers, header::HOST).unwrap_or_default();
    if headers.get_all(header::HOST).iter().count() > 1 {
        return Err(ApiProblem::bad_request("a request has one Host"));
    }
    // Who names a whole address means that one, whatever the header says.
    let called = request.uri().authority().map(|authority| authority.as_str());
    if !is_our_name(host, doors) || called.is_some_and(|name| !is_our_name(name, doors)) {
        let problem = ApiProblem::forbidden("this server does not answer to that name");
        return Err(problem.with_hint("use the address it printed, or name it with --allow-host"));
    }
    let origin = text(headers, header::ORIGIN);
    if headers.contains_key(header::ORIGIN) && !origin.is_some_and(|origin| is_same(origin, host)) {
        return Err(ApiProblem::forbidden("requests from pages of other servers are refused"));
    }
    // Browsers that send no origin with a request still say where it came from.
    let foreign =
        text(headers, "sec-fetch-site").is_some_and(|site| matches!(site, "cross-site" | "same-site"));
    // Reading costs, too, and nobody links to the API.
    if foreign && !is_page(request) {
        return Err(ApiProblem::forbidden("requests from pages of other servers are refused"));
    }
    if open || is_page(request) {
        return Ok(RequestUser(String::new()));
    }
    let indoors = request.extensions().get::<ViaUnixSocket>().map(|_| LOCAL.to_owned());
    let named = match text(headers, header::AUTHORIZATION) {
        // Who names a token means that one; a cookie does not stand in for a wrong one.
        Some(shown) => app.tokens.user(Some(shown)),
        None => app.sessions.user(headers),
    };
    let Some(user) = named.or(indoors) else {
        let problem = ApiProblem::new(StatusCode::UNAUTHORIZED, "unauthorized", "a token is needed");
        let hint =
            "open the address the server printed, or send `Authorization: Bearer TOKEN` with the token in it";
        return Err(problem.with_hint(hint));
    };
    app.rates
        .take(&user, Instant::now())
        .map_err(|seconds| ApiProblem::too_many("too many requests at once", seconds))?;
    Ok(RequestUser(user))
}

/// Files of the page hold nothing of anyone; what it asks for afterwards needs a token.
fn is_page(request: &Request) -> bool {
    let path = request.uri().path();
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    reads && !path.starts_with("/api") && path != "/metrics"
}

/// Every error is a problem that programs can read, also those that no handler of ours gave.
fn in_words(response: Response) -> Response {
    let status = response.status();
    let told = response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == PROBLEM);
    if told || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let (code, words) = match status {
        StatusCode::METHOD_NOT_ALLOWED => {
            ("method_not_allowed", "that cannot be done with this address".to_owned())
        }
        StatusCode::PAYLOAD_TOO_LARGE => {
            ("too_large", "the body is larger than this server takes".to_owned())
        }
        _ => ("bad_request", status.canonical_reason().unwrap_or("the request was refused").to_lowercase()),
    };
    let mut problem = ApiProblem::new(status, code, words).into_response();
    if let Some(allow) = response.headers().get(header::ALLOW) {
        problem.headers_mut().insert(header::ALLOW, allow.clone());
    }
    problem
}

fn text(headers: &HeaderMap, name: impl axum::http::header::AsHeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Whether a `Host` header names this server: loopback, where it listens, or a name it was given. Anything else is a page
/// that made its own name point here.
fn is_our_name(host: &str, doors: &AccessSettings) -> bool {
    let (name, port) = split(host);
    let right_port = match (port, doors.address) {
        (Some(port), Some(address)) => port == address.port().to_string(),
        (None, Some(address)) => address.port() == 80,
        (_, None) => true,
    };
    let given =
        doors.hosts.iter().any(|known| known.eq_ignore_ascii_case(host) || known.eq_ignore_ascii_case(name));
    // A page that makes its own name point here has a name: a server that listens everywhere answers to every number.
    let loopback = name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|ip| {
            ip.is_loopback() || doors.address.is_some_and(|a| a.ip() == ip || a.ip().is_unspecified())
        });
    given || (loopback && right_port)
}

/// Name and port; the brackets of an IPv6 address are taken off.
fn split(host: &str) -> (&str, Option<&str>) {
    if let Some(rest) = host.strip_prefix('[') {
        return match rest.split_once(']') {
            Some((name, port)) => (name, port.strip_prefix(':')),
            None => ("", None),
        };
    }
    match host.rsplit_once(':') {
        Some((name, port)) => (name, Some(port)),
        None => (host, None),
    }
}

/// Whether a page's origin is the server it asks.
fn is_same(origin: &str, host: &str) -> bool {
    let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    rest.is_some_and(|rest| rest.eq_ignore_ascii_case(host))
}

/// What every answer says to browsers.
fn harden(headers: &mut HeaderMap) {
    let policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
                  connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    for (name, value) in [
        ("content-security-policy", policy),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("x-frame-options", "DENY"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        if !headers.contains_key(name) {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_our_own_names_are_answered_to() {
        let mut doors =
            AccessSettings { address: Some("127.0.0.1:7070".parse().unwrap()), ..AccessSettings::default() };
        let check = |doors: &AccessSettings, host: &str, expect| {
            assert_eq!(is_our_name(host, doors), expect, "{host}")
        };
        check(&doors, "127.0.0.1:7070", true);
        check(&doors, "localhost:7070", true);
        check(&doors, "[::1]:7070", true);
        check(&doors, "127.0.0.1:7071", false);
        check(&doors, "127.0.0.1", false);
        check(&doors, "evil.example:7070", false);
        check(&doors, "localhost.evil.example:7070", false);
        check(&doors, "", false);
        check(&doors, "[::1:7070", false);
        doors.hosts.push("box.example".into());
        check(&doors, "box.example:7070", true);
        check(&doors, "box.example", true);
        doors.address = Some("10.0.0.5:7070".parse().unwrap());
        check(&doors, "10.0.0.5:7070", true);
        check(&doors, "10.0.0.6:7070", false);
        doors.address = Some("0.0.0.0:7070".parse().unwrap());
        check(&doors, "10.0.0.6:7070", true);
        check(&doors, "10.0.0.6:7071", false);
        check(&doors, "evil.example:7070", false);
    }

    #[test]
    fn only_our_own_page_may_ask() {
        let check = |origin, expect| assert_eq!(is_same(origin, "localhost:7070"), expect, "{origin}");
        check("http://localhost:7070", true);
        check("https://localhost:7070", true);
        check("http://localhost:7071", false);
        check("http://evil.example", false);
        check("null", false);
    }
}
