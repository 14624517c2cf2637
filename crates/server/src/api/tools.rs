//! Verdicts for single tools of one thread: on top of the mode, and never wider than it.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use holon_core::policy::{ToolTable, Verdict};
use holon_host::record::now;
use holon_store::{ThreadChange, Write};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::extract::Body;
use super::shapes::word;
use crate::app::App;
use crate::guard::User;
use crate::problem::{Answer, Problem};

/// Entries in a table.
const MOST: usize = 200;

/// What a thread says about tools.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tools {
    /// `allow`, `ask` or `deny` by tool; a name may end in `*`.
    tools: BTreeMap<String, String>,
}

/// Replaces the table of a thread.
#[utoipa::path(put, path = "/api/threads/{id}/tools", tag = "threads", request_body = Tools,
    params(("id" = String, Path)),
    responses((status = 200, body = Tools), (status = "4XX", body = Problem)))]
pub(crate) async fn set(
    State(app): State<Arc<App>>,
    user: User,
    Path(id): Path<String>,
    Body(wanted): Body<Tools>,
) -> Answer<Json<Tools>> {
    let thread = app.thread(&user, &id).await?;
    if wanted.tools.len() > MOST {
        return Err(Problem::invalid("that is no table of tools"));
    }
    if let Some(name) = wanted.tools.keys().find(|name| !is_name(name)) {
        let message = format!("`{}` is no name of a tool", name.chars().take(100).collect::<String>());
        return Err(Problem::invalid(message).with_hint("a name is whole, or ends in `*`"));
    }
    let mut table = ToolTable::new();
    for (name, text) in &wanted.tools {
        let verdict: Verdict = serde_json::from_value(json!(text))
            .map_err(|_| Problem::invalid(format!("`{name}` must be allow, ask or deny")))?;
        table.insert(name.clone(), verdict);
    }
    // Measured against the widest mode of a chat, without what the thread itself says.
    let mut bare = thread.clone();
    bare.tools = ToolTable::new();
    let profile = app.profile("build", &bare)?;
    if let Some((name, asked, now)) = profile.tools.first_wider(&table) {
        let message = format!("`{name}` is {now} in build mode, and a thread cannot make that {asked}");
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "wider", message)
            .with_hint("use a mode of your own that allows it"));
    }
    let detail = json!({"tools": wanted.tools});
    let change = ThreadChange { tools: Some(table.clone()), ..ThreadChange::of(thread.id.clone(), now()) };
    let audit = app.audit(&user.0, "tools_set", Some((&thread.id, 0)), detail);
    app.store.write(vec![Write::Thread(Box::new(change)), audit]).await?;
    let tools = table.iter().map(|(name, verdict)| (name.clone(), word(verdict))).collect();
    Ok(Json(Tools { tools }))
}

/// Whether an entry can be about a tool at all: one that never is would only look like a rule.
fn is_name(name: &str) -> bool {
    let whole = name.strip_suffix('*').unwrap_or(name);
    !name.is_empty() && name.len() <= 100 && !whole.contains(|c: char| c == '*' || c.is_control())
}
