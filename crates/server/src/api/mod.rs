//! The API: one file per part, each with its routes and their description in one place.

mod audit;
mod branches;
mod changes;
mod chat;
mod export;
mod extract;
mod files;
mod info;
mod modes;
mod outputs;
mod run_events;
mod run_evidence;
mod run_files;
mod run_tasks;
mod runs;
mod search;
mod session;
mod shapes;
mod supervisor;
mod threads;
mod tools;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use axum::routing::get;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::AppState;
use crate::guard::enter;
use crate::page;

pub(crate) use session::entrance;

/// The head of the document.
#[derive(OpenApi)]
#[openapi(info(
    title = "Holon",
    description = "Chats with a coding agent in a mode that the host enforces; runs and their gates.",
    version = "1",
    license(name = "Apache-2.0 OR MIT")
))]
struct ApiDocument;

fn described() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::with_openapi(ApiDocument::openapi())
        .routes(routes!(threads::create, threads::list))
        .routes(routes!(threads::show, threads::change, threads::delete))
        .routes(routes!(branches::create, branches::list))
        .routes(routes!(export::export))
        .routes(routes!(search::search))
        .routes(routes!(threads::history))
        .routes(routes!(chat::say))
        .routes(routes!(chat::resume))
        .routes(routes!(chat::cancel))
        .routes(routes!(chat::events))
        .routes(routes!(outputs::part))
        .routes(routes!(tools::set))
        .routes(routes!(supervisor::takeover))
        .routes(routes!(supervisor::events))
        .routes(routes!(changes::diff))
        .routes(routes!(changes::apply))
        .routes(routes!(changes::undo))
        .routes(routes!(files::upload))
        .routes(routes!(runs::create, runs::list))
        .routes(routes!(runs::show))
        .routes(routes!(run_files::file))
        .routes(routes!(run_evidence::show))
        .routes(routes!(run_events::events))
        .routes(routes!(runs::gate))
        .routes(routes!(runs::stop))
        .routes(routes!(run_tasks::say))
        .routes(routes!(modes::list))
        .routes(routes!(audit::list))
        .routes(routes!(audit::verify))
        .routes(routes!(session::begin, session::end))
        .routes(routes!(info::info))
        .routes(routes!(info::health))
        .routes(routes!(info::metrics))
}

/// The document as it is served and committed.
pub fn document() -> String {
    let api = described().into_openapi();
    // Plain data with string keys always serialises.
    let mut text = serde_json::to_string_pretty(&api).unwrap_or_default();
    text.push('\n');
    text
}

/// Everything the server answers to.
pub(crate) fn router(app: Arc<AppState>) -> Router {
    let (router, _) = described().split_for_parts();
    let text: Arc<str> = document().into();
    let limit = app.setup.limits.body;
    router
        .route(
            "/api/openapi.json",
            get(move || {
                let text = Arc::clone(&text);
                async move { ([("content-type", "application/json")], text.to_string()) }
            }),
        )
        .fallback(page::serve)
        .layer(DefaultBodyLimit::max(limit))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), enter))
        .with_state(app)
}
