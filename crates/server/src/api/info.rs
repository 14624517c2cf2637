//! What the server is and how it does.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::AppState;
use crate::guard::RequestUser;
use crate::metrics::ServerGauges;
use crate::problem::{ApiProblem, ApiResult};
use crate::setup::ReplySource;

/// What a page needs to know before anything else.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ServerInfo {
    version: String,
    /// Who asks.
    user: String,
    /// Folders below which workspaces may lie.
    workspaces: Vec<String>,
    /// Whether a cassette answers.
    demo: bool,
    default_workspace: Option<String>,
    model: Option<String>,
    limits: SizeLimits,
}

/// Largest things.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SizeLimits {
    upload_bytes: usize,
    message_bytes: usize,
}

/// Says what the server is.
#[utoipa::path(get, path = "/api/info", tag = "server",
    responses((status = 200, body = ServerInfo), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn info(State(app): State<Arc<AppState>>, user: RequestUser) -> Json<ServerInfo> {
    let setup = &app.setup;
    let workspaces: Vec<String> =
        setup.roots.iter().map(|root| root.to_string_lossy().into_owned()).collect();
    let (demo, model) = match &setup.minds {
        ReplySource::Cassette { demo, .. } => (*demo, None),
        ReplySource::Network { model, .. } => (false, model.clone()),
    };
    Json(ServerInfo {
        version: setup.version.clone(),
        user: user.0,
        default_workspace: workspaces.first().cloned(),
        workspaces,
        demo,
        model,
        limits: SizeLimits { upload_bytes: setup.limits.upload, message_bytes: setup.limits.message },
    })
}

/// Says that the server is up.
#[utoipa::path(get, path = "/healthz", tag = "server", responses((status = 200, body = String)))]
pub(crate) async fn health() -> &'static str {
    "ok\n"
}

/// Numbers in Prometheus' text form.
#[utoipa::path(get, path = "/metrics", tag = "server",
    responses((status = 200, body = String), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn metrics(State(app): State<Arc<AppState>>, _user: RequestUser) -> ApiResult<Response> {
    let (threads, events) = app.store.read(|backend| backend.counts()).await?;
    let gauges = ServerGauges { streams: app.streams.taken(), turns: app.turns.taken(), threads, events };
    let text = app.metrics.text(&gauges);
    Ok(([("content-type", "text/plain; version=0.0.4; charset=utf-8")], text).into_response())
}
