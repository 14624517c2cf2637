//! What calls printed, where it is more than their events hold.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::extract::QueryPart;
use crate::app::AppState;
use crate::guard::RequestUser;
use crate::problem::{ApiProblem, ApiResult};

/// Bytes of an answer unless told, and at most.
const USUAL: usize = 64 << 10;
const MOST: usize = 1 << 20;

/// Which part.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct OutputQuery {
    /// The first byte, 0 unless told.
    from: Option<u64>,
    /// At most so many bytes, 65536 unless told.
    bytes: Option<usize>,
}

/// A part of what a call printed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OutputPart {
    /// The byte with which it begins.
    from: u64,
    /// The byte after it: where the next part begins.
    next: u64,
    /// Bytes that are kept of this call.
    kept: u64,
    text: String,
}

/// Shows what a call printed, part by part; short outputs are whole in the event `tool_end` and not here.
#[utoipa::path(get, path = "/api/threads/{id}/turns/{turn}/calls/{call}/output", tag = "chat",
    params(("id" = String, Path), ("turn" = u64, Path), ("call" = String, Path), OutputQuery),
    responses((status = 200, body = OutputPart), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn part(
    State(app): State<Arc<AppState>>,
    user: RequestUser,
    Path((id, turn, call)): Path<(String, u64, String)>,
    QueryPart(asked): QueryPart<OutputQuery>,
) -> ApiResult<Json<OutputPart>> {
    let thread = app.thread(&user, &id).await?;
    let (from, bytes) = (asked.from.unwrap_or(0), asked.bytes.unwrap_or(USUAL).clamp(1, MOST));
    let read = move |backend: &dyn holon_store::StoreBackend| {
        backend.tool_output(&thread.id, turn, &call, from, bytes)
    };
    let found = app.store.read(read).await?;
    if found.kept == 0 {
        return Err(ApiProblem::not_found("output")
            .with_hint("short outputs are in the event of the call's end; a call that runs has none yet"));
    }
    let next = found.from + found.text.len() as u64;
    Ok(Json(OutputPart { from: found.from, next, kept: found.kept, text: found.text }))
}
