//! The supervisor: its timeline, and asking it to take over.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use holon_core::ids::ThreadId;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use super::extract::QueryPart;
use crate::app::AppState;
use crate::guard::RequestUser;
use crate::problem::{ApiProblem, ApiResult};

/// Whether somebody will hear it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TakeoverResult {
    asked: bool,
}

/// Asks the supervisor to take over in the turn under way.
#[utoipa::path(post, path = "/api/threads/{id}/takeover", tag = "supervisor", params(("id" = String, Path)),
    responses((status = 202, body = TakeoverResult), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn takeover(
    State(app): State<Arc<AppState>>,
    user: RequestUser,
    Path(id): Path<String>,
) -> ApiResult<(StatusCode, Json<TakeoverResult>)> {
    let thread = app.thread(&user, &id).await?;
    let asked = app.lives.find(&thread.id).is_some_and(|live| live.take_over(&user.0));
    let audit =
        app.audit(&user.0, "takeover_asked", Some((&thread.id, thread.turns)), json!({"heard": asked}));
    app.store.write(vec![audit]).await?;
    Ok((StatusCode::ACCEPTED, Json(TakeoverResult { asked })))
}

/// Which records.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct RecordsQuery {
    /// Of the last so many days, 7 unless told.
    days: Option<u32>,
    /// Of this kind only, e.g. `switch`.
    event: Option<String>,
    /// At most so many, 200 unless told.
    limit: Option<u32>,
    /// `json` (the default) or `text`.
    format: Option<String>,
    /// Of this thread only.
    thread: Option<String>,
}

/// Records of the supervisor.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SupervisorRecords {
    /// Newest first: `{thread, seq, at, record}`.
    #[schema(value_type = Vec<Object>)]
    events: Vec<Value>,
}

/// Lists what the supervisor decided.
#[utoipa::path(get, path = "/api/supervisor/events", tag = "supervisor", params(RecordsQuery),
    responses((status = 200, body = SupervisorRecords), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn events(
    State(app): State<Arc<AppState>>,
    user: RequestUser,
    QueryPart(which): QueryPart<RecordsQuery>,
) -> ApiResult<Response> {
    let limit = which.limit.unwrap_or(200).clamp(1, 1000) as usize;
    let days = i64::from(which.days.unwrap_or(7).min(36_500));
    let since = jiff::Timestamp::from_second((jiff::Timestamp::now().as_second() - days * 86_400).max(0))
        .map(|at| at.to_string())
        .unwrap_or_default();
    let thread: Option<ThreadId> = match which.thread.as_deref() {
        None => None,
        Some(text) => Some(text.parse().map_err(|_| ApiProblem::bad_request("`thread` is no id"))?),
    };
    let rows = app
        .store
        .read(move |backend| backend.events_of_kind(&user.0, thread.as_ref(), "supervisor", &since, 1000))
        .await?;
    let wanted = |record: &Value| which.event.as_deref().is_none_or(|event| record["event"] == event);
    let records = rows.into_iter().filter_map(|row| {
        let data: Value = serde_json::from_str(&row.data).ok()?;
        let record = data.get("record")?.clone();
        wanted(&record).then(|| json!({"thread": row.thread, "seq": row.seq, "at": row.at, "record": record}))
    });
    let events: Vec<Value> = records.take(limit).collect();
    if which.format.as_deref() == Some("text") {
        let line = |e: &Value| {
            format!("{} {} {}", e["at"], e["record"]["event"], e["record"]["reason"]).replace('"', "")
        };
        let text: String = events.iter().map(|e| line(e) + "\n").collect();
        return Ok(([("content-type", "text/plain; charset=utf-8")], text).into_response());
    }
    Ok(Json(SupervisorRecords { events }).into_response())
}
