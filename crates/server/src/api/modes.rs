//! The modes there are, resolved, with where each value comes from.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use holon_host::modes;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::AppState;
use crate::guard::RequestUser;
use crate::problem::{ApiProblem, ApiResult};

/// All modes.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModeList {
    modes: Vec<ModeInfo>,
}

/// A mode.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModeInfo {
    name: String,
    aliases: Vec<String>,
    description: String,
    /// Who defined it: `built-in`, `user` or `project`.
    source: String,
    /// `read-only`, `scoped`, `scratch` or `rw`; `flow` for modes of several steps.
    access: String,
    /// The name of the mode in a chat, if it is one there.
    chat: Option<String>,
    rows: Vec<ModeValueRow>,
}

/// One value of a mode.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModeValueRow {
    key: String,
    value: String,
    origin: String,
}

/// Lists the modes: built-in ones and the user's.
#[utoipa::path(get, path = "/api/modes", tag = "modes",
    responses((status = 200, body = ModeList), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn list(State(app): State<Arc<AppState>>, _user: RequestUser) -> ApiResult<Json<ModeList>> {
    let catalog = modes::catalog(&app.setup.places, None)?;
    let mut found = Vec::new();
    for listed in catalog.list() {
        // A broken mode of the user's is told by `holon modes check`.
        let Ok(profile) = catalog.resolve(&listed.name) else { continue };
        let row = |row: holon_core::mode::ProfileRow| ModeValueRow {
            key: row.key,
            value: row.value,
            origin: row.origin.to_string(),
        };
        found.push(ModeInfo {
            chat: match profile.name.as_str() {
                "execute" => Some("build".to_owned()),
                "plan" => Some("plan".to_owned()),
                _ => None,
            },
            access: profile.access.label().to_owned(),
            source: profile.source.to_string(),
            rows: profile.rows().into_iter().map(row).collect(),
            name: profile.name,
            aliases: profile.aliases,
            description: profile.description,
        });
    }
    for flow in holon_flow::builtin::all().unwrap_or_default() {
        found.push(ModeInfo {
            name: flow.name,
            aliases: Vec::new(),
            description: flow.description,
            source: "built-in".to_owned(),
            access: "flow".to_owned(),
            chat: None,
            rows: Vec::new(),
        });
    }
    Ok(Json(ModeList { modes: found }))
}
