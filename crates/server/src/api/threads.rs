//! Threads: made, listed, shown, taken away.

use std::path::{Component, Path as FsPath, PathBuf};
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use holon_core::ids::ThreadId;
use holon_host::record::now;
use holon_store as store;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::{IntoParams, ToSchema};

use super::changes::alone;
use super::extract::{JsonBody, QueryPart};
use super::shapes::ChatThread;
use crate::app::{AppState, fresh};
use crate::event_log::EventDraft;
use crate::guard::RequestUser;
use crate::problem::{ApiProblem, ApiResult};

/// A thread to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewThread {
    /// The folder it is about: absolute, below one of the server's roots.
    workspace: String,
    /// Who answers; `native` for now.
    agent: Option<String>,
    /// The wanted model.
    model: Option<String>,
}

/// Makes a thread.
#[utoipa::path(post, path = "/api/threads", tag = "threads", request_body = NewThread,
    responses((status = 201, body = ChatThread), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn create(
    State(app): State<Arc<AppState>>,
    user: RequestUser,
    JsonBody(wanted): JsonBody<NewThread>,
) -> ApiResult<(StatusCode, Json<ChatThread>)> {
    let workspace = checked_workspace(&app, &wanted.workspace)?;
    let agent = wanted.agent.unwrap_or_else(|| "native".to_owned());
    if agent != "native" {
        return Err(ApiProblem::invalid(format!("`{agent}` cannot chat yet"))
            .with_hint("leave `agent` out, or start a run with it"));
    }
    if wanted.model.as_ref().is_some_and(|model| model.len() > 200 || model.contains(char::is_control)) {
        return Err(ApiProblem::invalid("that is no name of a model"));
    }
    let at = now();
    let id: ThreadId = fresh("t").parse().map_err(|_| ApiProblem::internal("an id could not be made"))?;
    let thread = store::StoredThread {
        family: id.clone(),
        id,
        user: user.0.clone(),
        workspace: workspace.to_string_lossy().into_owned(),
        agent,
        model: wanted.model,
        title: None,
        mode: None,
        tools: Default::default(),
        state: store::ThreadState::Idle,
        created_at: at.clone(),
        updated_at: at,
        last_seq: 0,
        turns: 0,
        usage: Default::default(),
        pinned: false,
        archived: false,
        branch: None,
    };
    let audit =
        app.audit(&user.0, "thread_created", Some((&thread.id, 0)), json!({"workspace": thread.workspace}));
    app.store.write(vec![store::StoreWrite::NewThread(Box::new(thread.clone())), audit]).await?;
    Ok((StatusCode::CREATED, Json(ChatThread::new(thread, None, None))))
}

/// A folder that may be worked on: it exists, and lies below one of the roots.
pub(crate) fn checked_workspace(app: &AppState, given: &str) -> ApiResult<PathBuf> {
    let path = FsPath::new(given);
    if !path.is_absolute() || given.contains('\0') {
        return Err(ApiProblem::invalid("`workspace` must be an absolute path"));
    }
    let path = path.canonicalize().map_err(|_| {
        // Whether a folder exists elsewhere is nobody's business, also when a link leads there.
        let above = path.ancestors().find_map(|above| above.canonicalize().ok());
        let plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        match plain && above.is_some_and(|above| app.is_below_a_root(&above)) {
            true => ApiProblem::invalid(format!("there is no folder {given}"))
                .with_hint("make it first, or choose another one"),
            false => ApiProblem::outside(),
        }
    })?;
    if !app.is_below_a_root(&path) || path.to_str().is_none() {
        return Err(ApiProblem::outside());
    }
    if !path.is_dir() {
        return Err(ApiProblem::invalid("`workspace` must be a folder"));
    }
    if app.setup.places.state.starts_with(&path) {
        return Err(ApiProblem::invalid("Holon keeps its own files below that folder")
            .with_hint("choose a folder below it, or set XDG_STATE_HOME to one outside of it"));
    }
    Ok(path)
}

/// Which threads to list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ThreadsQuery {
    /// At most so many, 50 unless told.
    limit: Option<u32>,
    /// The `next` of the page before.
    before: Option<String>,
    /// Archived threads instead of the others.
    archived: Option<bool>,
    /// Only pinned threads, or only others.
    pinned: Option<bool>,
    /// All branches, not only the one of each conversation in which something happened last.
    branches: Option<bool>,
}

/// A page of threads.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ThreadList {
    threads: Vec<ChatThread>,
    /// Where the next page begins.
    next: Option<String>,
}

/// Lists threads, those with the latest activity first.
#[utoipa::path(get, path = "/api/threads", tag = "threads", params(ThreadsQuery),
    responses((status = 200, body = ThreadList), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn list(
    State(app): State<Arc<AppState>>,
    user: RequestUser,
    QueryPart(page): QueryPart<ThreadsQuery>,
) -> ApiResult<Json<ThreadList>> {
    let limit = page.limit.unwrap_or(50).clamp(1, 200) as usize;
    let cursor = match page.before.as_deref() {
        None => None,
        Some(text) => {
            let (at, id) =
                text.split_once('_').ok_or_else(|| ApiProblem::bad_request("`before` is not a cursor"))?;
            Some((at.to_owned(), id.to_owned()))
        }
    };
    let filter = store::ThreadFilter {
        archived: page.archived.unwrap_or(false),
        pinned: page.pinned,
        branches: page.branches.unwrap_or(false),
    };
    let found = app
        .store
        .read(move |backend| {
            let before = cursor.as_ref().map(|(at, id)| (at.as_str(), id.as_str()));
            backend.threads(&user.0, &filter, before, limit)
        })
        .await?;
    let next = (found.len() == limit)
        .then(|| found.last().map(|last| format!("{}_{}", last.updated_at, last.id)))
        .flatten();
    let threads = found.into_iter().map(|thread| ChatThread::new(thread, None, None)).collect();
    Ok(Json(ThreadList { threads, next }))
}

/// Which turns to show.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct TurnsQuery {
    /// From this number on, 1 unless told: whoever knows the earlier ones need not read them again.
    since: Option<u64>,
}

/// Shows a thread with its turns.
#[utoipa::path(get, path = "/api/threads/{id}", tag = "threads", params(("id" = String, Path), TurnsQuery),
    responses((status = 200, body = ChatThread), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn show(
    State(app): State<Arc<AppState>>,
    user: RequestUser,
    Path(id): Path<String>,
    QueryPart(TurnsQuery { since }): QueryPart<TurnsQuery>,
) -> ApiResult<Json<ChatThread>> {
    let thread = app.thread(&user, &id).await?;
    let (name, from) = (thread.id.clone(), since.unwrap_or(1));
    let (open, turns) = app
        .store
        .read(move |backend| Ok((backend.open_interrupt(&name)?, backend.turns(&name, from)?)))
        .await?;
    Ok(Json(ChatThread::new(thread, open, Some(turns))))
}

/// Takes a thread away, with its snapshot and everything that was not applied.
#[utoipa::path(delete, path = "/api/threads/{id}", tag = "threads", params(("id" = String, Path)),
    responses((status = 204), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn delete(
    State(app): State<Arc<AppState>>,
    user: RequestUser,
    Path(id): Path<String>,
) -> ApiResult<StatusCode> {
    let thread = app.thread(&user, &id).await?;
    let _alone = alone(&app, &thread).await?;
    let audit = app.audit(&user.0, "thread_deleted", Some((&thread.id, 0)), json!({}));
    app.store.write(vec![store::StoreWrite::DeleteThread(thread.id.clone()), audit]).await?;
    // Where there can be no folder, there is nothing to remove.
    if let Ok(folder) = app.folder(&thread) {
        tokio::task::spawn_blocking(move || folder.remove())
            .await
            .map_err(|e| ApiProblem::internal(e.to_string()))??;
    }
    Ok(StatusCode::NO_CONTENT)
}

/// What a person thinks of a thread.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ThreadChange {
    /// What it is called.
    title: Option<String>,
    /// Whether it stays at the top of lists.
    pinned: Option<bool>,
    /// Whether it is only in the list of archived threads.
    archived: Option<bool>,
}

/// Most characters of a title.
const MOST_TITLE: usize = 120;

/// Renames a thread, pins or archives it; its place among the others stays.
#[utoipa::path(patch, path = "/api/threads/{id}", tag = "threads", request_body = ThreadChange,
    params(("id" = String, Path)),
    responses((status = 200, body = ChatThread), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn change(
    State(app): State<Arc<AppState>>,
    user: RequestUser,
    Path(id): Path<String>,
    JsonBody(wanted): JsonBody<ThreadChange>,
) -> ApiResult<Json<ChatThread>> {
    let thread = app.thread(&user, &id).await?;
    let title = match wanted.title.as_deref().map(str::trim) {
        Some("") => return Err(ApiProblem::invalid("`title` is empty")),
        Some(title) if title.chars().count() > MOST_TITLE || title.contains(char::is_control) => {
            let words = format!("a title is one line of at most {MOST_TITLE} characters");
            return Err(ApiProblem::invalid(words));
        }
        title => title.map(|title| app.redactor.redact_str(title)),
    };
    let held = app.held(&thread.id).await?;
    let drafts =
        title.iter().map(|title| EventDraft { turn: 0, kind: "title", data: json!({"title": title}) });
    let (pinned, archived) = (wanted.pinned, wanted.archived);
    let marks = store::ThreadMarks { id: thread.id.clone(), title: title.clone(), pinned, archived };
    held.feed.tell(drafts.collect(), vec![store::StoreWrite::Marks(marks)]).await?;
    let thread = app.thread(&user, &id).await?;
    Ok(Json(ChatThread::new(thread, None, None)))
}

/// The mode switches of a thread.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModeHistory {
    history: Vec<ModeHistoryEntry>,
}

/// One mode switch.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModeHistoryEntry {
    turn: u64,
    from: Option<String>,
    to: String,
    at: String,
}

/// Shows when a thread changed its mode.
#[utoipa::path(get, path = "/api/threads/{id}/modes", tag = "threads", params(("id" = String, Path)),
    responses((status = 200, body = ModeHistory), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn history(
    State(app): State<Arc<AppState>>,
    user: RequestUser,
    Path(id): Path<String>,
) -> ApiResult<Json<ModeHistory>> {
    let thread = app.thread(&user, &id).await?;
    let switches = app.store.read(move |backend| backend.modes(&thread.id)).await?;
    let history = switches
        .into_iter()
        .map(|switch| ModeHistoryEntry { turn: switch.turn, from: switch.from, to: switch.to, at: switch.at })
        .collect();
    Ok(Json(ModeHistory { history }))
}
