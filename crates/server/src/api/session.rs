//! Signing in and out of a browser.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::app::AppState;
use crate::guard::RequestUser;
use crate::problem::{ApiProblem, ApiResult};

/// What is ended.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SignOut {
    /// `true` for every browser of this user, not this one alone.
    #[serde(default)]
    everywhere: bool,
}

/// Signs this browser in: a cookie that scripts cannot read stands for the token from then on.
#[utoipa::path(post, path = "/api/session", tag = "server",
    responses((status = 204), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn begin(State(app): State<Arc<AppState>>, user: RequestUser) -> ApiResult<Response> {
    let cookie = app.sessions.begin(&user.0);
    Ok(with_cookie(StatusCode::NO_CONTENT, cookie))
}

/// Signs this browser out; its cookie is worth nothing from then on.
#[utoipa::path(delete, path = "/api/session", tag = "server", params(SignOut),
    responses((status = 204), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn end(
    State(app): State<Arc<AppState>>,
    user: RequestUser,
    headers: HeaderMap,
    Query(what): Query<SignOut>,
) -> ApiResult<Response> {
    let everywhere = what.everywhere.then_some(user.0.as_str());
    Ok(with_cookie(StatusCode::NO_CONTENT, app.sessions.end(&headers, everywhere)))
}

fn with_cookie(status: StatusCode, cookie: Option<HeaderValue>) -> Response {
    let mut response = status.into_response();
    if let Some(cookie) = cookie {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

/// What an address with a token or a ticket leads to: the page, signed in, and the address without it.
pub(crate) fn entrance(app: &AppState, query: &str) -> Option<Response> {
    let value = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    let user = match (value("token"), value("ticket")) {
        (Some(token), _) => app.tokens.owner(token),
        (None, Some(ticket)) => app.sessions.take_ticket(ticket).then(|| crate::guard::LOCAL.to_owned()),
        (None, None) => return None,
    };
    let cookie = user.and_then(|user| app.sessions.begin(&user));
    let mut response = with_cookie(StatusCode::SEE_OTHER, cookie);
    response.headers_mut().insert(header::LOCATION, HeaderValue::from_static("/"));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Some(response)
}
