//! What the server is and how it does.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::guard::User;
use crate::metrics::Gauges;
use crate::problem::{Answer, Problem};
use crate::setup::Minds;

/// What a page needs to know before anything else.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Info {
    version: String,
    /// Who asks.
    user: String,
    /// Folders below which workspaces may lie.
    workspaces: Vec<String>,
    /// Whether a cassette answers.
    demo: bool,
    default_workspace: Option<String>,
    model: Option<String>,
    limits: Sizes,
}

/// Largest things.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Sizes {
    upload_bytes: usize,
    message_bytes: usize,
}

/// Says what the server is.
#[utoipa::path(get, path = "/api/info", tag = "server",
    responses((status = 200, body = Info), (status = "4XX", body = Problem)))]
pub(crate) async fn info(State(app): State<Arc<App>>, user: User) -> Json<Info> {
    let setup = &app.setup;
    let workspaces: Vec<String> =
        setup.roots.iter().map(|root| root.to_string_lossy().into_owned()).collect();
    let (demo, model) = match &setup.minds {
        Minds::Cassette { demo, .. } => (*demo, None),
        Minds::Network { model, .. } => (false, model.clone()),
    };
    Json(Info {
        version: setup.version.clone(),
        user: user.0,
        default_workspace: workspaces.first().cloned(),
        workspaces,
        demo,
        model,
        limits: Sizes { upload_bytes: setup.limits.upload, message_bytes: setup.limits.message },
    })
}

/// Says that the server is up.
#[utoipa::path(get, path = "/healthz", tag = "server", responses((status = 200, body = String)))]
pub(crate) async fn health() -> &'static str {
    "ok\n"
}

/// Numbers in Prometheus' text form.
#[utoipa::path(get, path = "/metrics", tag = "server",
    responses((status = 200, body = String), (status = "4XX", body = Problem)))]
pub(crate) async fn metrics(State(app): State<Arc<App>>, _user: User) -> Answer<Response> {
    let (threads, events) = app.store.read(|backend| backend.counts()).await?;
    let gauges = Gauges { streams: app.streams.taken(), turns: app.turns.taken(), threads, events };
    let text = app.metrics.text(&gauges);
    Ok(([("content-type", "text/plain; version=0.0.4; charset=utf-8")], text).into_response())
}
