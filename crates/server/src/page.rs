//! The page: files that came with the server, and nothing of the disk.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use holon_core::digest::sha256;

use crate::api::entrance;
use crate::app::AppState;
use crate::problem::ApiProblem;

/// The files of the page that came with this build, by path.
pub const PAGE: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

const PLAIN: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Holon</title>\
<h1>Holon is up</h1><p>The API is described at <a href=\"/api/openapi.json\">/api/openapi.json</a>.</p></html>\n";

/// Answers everything that is no route of the API.
pub(crate) async fn serve(
    State(app): State<Arc<AppState>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let path = uri.path();
    if path.starts_with("/api") || !matches!(method, Method::GET | Method::HEAD) {
        return ApiProblem::not_found("address").into_response();
    }
    if path == "/"
        && method == Method::GET
        && let Some(response) = uri.query().and_then(|query| entrance(&app, query))
    {
        return response;
    }
    let wanted = path.trim_start_matches('/');
    let find = |name: &str| app.setup.page.iter().find(|(known, _)| *known == name);
    let (name, bytes): (&str, &'static [u8]) = match find(wanted) {
        Some((name, bytes)) => (name, bytes),
        // A file that is missing must not turn out to be the page.
        None if has_extension(wanted) && wanted != "index.html" => {
            return ApiProblem::not_found("file").into_response();
        }
        None => ("index.html", find("index.html").map_or(PLAIN.as_bytes(), |(_, bytes)| bytes)),
    };
    let tag = format!("\"{}\"", &sha256(bytes)[..16]);
    let known = headers.get(header::IF_NONE_MATCH).is_some_and(|value| value.as_bytes() == tag.as_bytes());
    let mut response = if known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        Bytes::from_static(bytes).into_response()
    };
    let set = response.headers_mut();
    set.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind(name)));
    // Names with a digest in them never change what they hold.
    let lasting =
        if name.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
    set.insert(header::CACHE_CONTROL, HeaderValue::from_static(lasting));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        set.insert(header::ETAG, tag);
    }
    response
}

fn has_extension(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|last| last.contains('.'))
}

fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "json" | "map" => "application/json",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
