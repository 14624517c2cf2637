//! Verdicts for single tools of one thread: on top of the mode, and never wider than it.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use holon_core::policy::{ToolTable, ToolVerdict};
use holon_host::record::now;
use holon_store::{StoreWrite, ThreadUpdate};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::extract::JsonBody;
use super::shapes::word;
use crate::app::AppState;
use crate::guard::RequestUser;
use crate::problem::{ApiProblem, ApiResult};

/// Entries in a table.
const MOST: usize = 200;

/// What a thread says about tools.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ThreadTools {
    /// `allow`, `ask` or `deny` by tool; a name may end in `*`.
    tools: BTreeMap<String, String>,
}

/// Replaces the table of a thread.
#[utoipa::path(put, path = "/api/threads/{id}/tools", tag = "threads", request_body = ThreadTools,
    params(("id" = String, Path)),
    responses((status = 200, body = ThreadTools), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn set(
    State(app): State<Arc<AppState>>,
    user: RequestUser,
    Path(id): Path<String>,
    JsonBody(wanted): JsonBody<ThreadTools>,
) -> ApiResult<Json<ThreadTools>> {
    let thread = app.thread(&user, &id).await?;
    if wanted.tools.len() > MOST {
        return Err(ApiProblem::invalid("that is no table of tools"));
    }
    if let Some(name) = wanted.tools.keys().find(|name| !is_name(name)) {
        let message = format!("`{}` is no name of a tool", name.chars().take(100).collect::<String>());
        return Err(ApiProblem::invalid(message).with_hint("a name is whole, or ends in `*`"));
    }
    let mut table = ToolTable::new();
    for (name, text) in &wanted.tools {
        let verdict: ToolVerdict = serde_json::from_value(json!(text))
            .map_err(|_| ApiProblem::invalid(format!("`{name}` must be allow, ask or deny")))?;
        table.insert(name.clone(), verdict);
    }
    // Measured against the widest mode of a chat, without what the thread itself says.
    let mut bare = thread.clone();
    bare.tools = ToolTable::new();
    let profile = app.profile("build", &bare)?;
    if let Some((name, asked, now)) = profile.tools.first_wider(&table) {
        let message = format!("`{name}` is {now} in build mode, and a thread cannot make that {asked}");
        return Err(ApiProblem::new(StatusCode::UNPROCESSABLE_ENTITY, "wider", message)
            .with_hint("use a mode of your own that allows it"));
    }
    let detail = json!({"tools": wanted.tools});
    let change = ThreadUpdate { tools: Some(table.clone()), ..ThreadUpdate::of(thread.id.clone(), now()) };
    let audit = app.audit(&user.0, "tools_set", Some((&thread.id, 0)), detail);
    app.store.write(vec![StoreWrite::Thread(Box::new(change)), audit]).await?;
    let tools = table.iter().map(|(name, verdict)| (name.clone(), word(verdict))).collect();
    Ok(Json(ThreadTools { tools }))
}

/// Whether an entry can be about a tool at all: one that never is would only look like a rule.
fn is_name(name: &str) -> bool {
    let whole = name.strip_suffix('*').unwrap_or(name);
    !name.is_empty() && name.len() <= 100 && !whole.contains(|c: char| c == '*' || c.is_control())
}
