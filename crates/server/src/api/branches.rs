//! Branches: threads that go on from the middle of another one, so that a message can be said differently and nothing of
//! what came of it before is lost.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use holon_core::ids::ThreadId;
use holon_host::record::now;
use holon_store::{BranchOrigin, StoreWrite, StoredThread, ThreadBranching, ThreadState};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::changes::alone;
use super::extract::JsonBody;
use super::shapes::ChatThread;
use crate::app::{AppState, fresh};
use crate::guard::RequestUser;
use crate::problem::{ApiProblem, ApiResult};

/// Where to begin.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BranchOrder {
    /// The turn that is to be said differently: everything before it is taken along.
    turn: u64,
}

/// Makes a thread that goes on from before a turn, with the files as they were then.
#[utoipa::path(post, path = "/api/threads/{id}/branches", tag = "threads", request_body = BranchOrder,
    params(("id" = String, Path)),
    responses((status = 201, body = ChatThread), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn create(
    State(app): State<Arc<AppState>>,
    user: RequestUser,
    Path(id): Path<String>,
    JsonBody(BranchOrder { turn }): JsonBody<BranchOrder>,
) -> ApiResult<(StatusCode, Json<ChatThread>)> {
    let thread = app.thread(&user, &id).await?;
    let _alone = alone(&app, &thread).await?;
    app.check_workspace(&thread)?;
    // Read again: a turn may have ended while this waited.
    let thread = app.thread(&user, &id).await?;
    let (name, from) = (thread.id.clone(), turn.saturating_sub(1).max(1));
    let turns = app.store.read(move |backend| backend.turns(&name, from)).await?;
    let Some(first) = turns.iter().find(|known| known.number == turn) else {
        return Err(ApiProblem::invalid(format!("this thread has no turn {turn}")));
    };
    let new: ThreadId = fresh("t").parse().map_err(|_| ApiProblem::internal("an id could not be made"))?;
    let at = now();
    let branch = StoredThread {
        id: new.clone(),
        mode: turns.iter().find(|known| known.number + 1 == turn).map(|before| before.mode.clone()),
        state: ThreadState::Idle,
        created_at: at.clone(),
        updated_at: at,
        last_seq: first.first_seq.saturating_sub(1),
        turns: turn - 1,
        usage: Default::default(),
        pinned: false,
        archived: false,
        branch: Some(BranchOrigin { thread: thread.id.clone(), turn }),
        // The first message makes the title.
        title: thread.title.clone().filter(|_| turn > 1),
        ..thread.clone()
    };
    let (to, other) = (app.folder(&branch)?, app.folder(&thread)?);
    let filled =
        tokio::task::spawn_blocking(move || to.branch_from(&other, turn).inspect_err(|_| drop(to.remove())));
    filled.await.map_err(|e| ApiProblem::internal(e.to_string()))??;
    let order = ThreadBranching { thread: branch.clone(), from: thread.id.clone(), turn };
    let detail = json!({"of": thread.id, "turn": turn});
    let audit = app.audit(&user.0, "thread_branched", Some((&new, 0)), detail);
    if let Err(e) = app.store.write(vec![StoreWrite::Branch(Box::new(order)), audit]).await {
        let left = app.folder(&branch)?;
        let _ = tokio::task::spawn_blocking(move || left.remove()).await;
        return Err(match e.is_conflict() {
            true => ApiProblem::conflict("too_old", "that turn is from before branches were known")
                .with_hint("say the message again at the end of the thread"),
            false => e.into(),
        });
    }
    Ok((StatusCode::CREATED, Json(ChatThread::new(branch, None, None))))
}

/// A thread and all its branches.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BranchList {
    /// The oldest first.
    threads: Vec<ChatThread>,
}

/// Lists a thread with all its branches.
#[utoipa::path(get, path = "/api/threads/{id}/branches", tag = "threads", params(("id" = String, Path)),
    responses((status = 200, body = BranchList), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn list(
    State(app): State<Arc<AppState>>,
    user: RequestUser,
    Path(id): Path<String>,
) -> ApiResult<Json<BranchList>> {
    let thread = app.thread(&user, &id).await?;
    let found = app.store.read(move |backend| backend.family(&user.0, &thread.family)).await?;
    let threads = found.into_iter().map(|thread| ChatThread::new(thread, None, None)).collect();
    Ok(Json(BranchList { threads }))
}
