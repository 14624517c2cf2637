//! Talking: messages, answers, and the stream of what comes of them.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use holon_agent::PersonReply;
use holon_store::StoredUpload;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::extract::{JsonBody, QueryPart};
use crate::app::AppState;
use crate::guard::RequestUser;
use crate::live_threads::LiveThreadHandle;
use crate::problem::{ApiProblem, ApiResult};
use crate::stream::ThreadReader;
use crate::turn::{self, ResumeRequest, TurnRequest};
use crate::words::ReplyLanguage;

/// Uploads that may come with a message.
const MOST_FILES: usize = 50;

/// What a person says.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChatMessage {
    /// The words; `~supervisor` asks for the supervisor's report instead.
    message: String,
    /// Ids of uploads.
    files: Option<Vec<String>>,
    /// `build` (the default) or `plan`.
    mode: Option<String>,
}

/// What a stream is to hold besides.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct LiveQuery {
    /// Whether to send what calls print while they run: events `tool_output` without a number, which are not stored.
    live: Option<bool>,
}

/// Says something; the answer is the stream of the turn.
#[utoipa::path(post, path = "/api/chat/{thread_id}", tag = "chat", request_body = ChatMessage,
    params(("thread_id" = String, Path), LiveQuery),
    responses((status = 200, content_type = "text/event-stream", body = String), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn say(
    State(app): State<Arc<AppState>>,
    user: RequestUser,
    Path(id): Path<String>,
    QueryPart(LiveQuery { live }): QueryPart<LiveQuery>,
    headers: HeaderMap,
    JsonBody(said): JsonBody<ChatMessage>,
) -> ApiResult<Response> {
    let thread = app.thread(&user, &id).await?;
    let mode = said.mode.unwrap_or_else(|| "build".to_owned());
    if !turn::MODES.contains(&mode.as_str()) {
        let problem = ApiProblem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "invalid_mode",
            format!("`{}` is no mode of a chat: use {}", cut(&mode), turn::MODES.join(" or ")),
        );
        return Err(problem.with("modes", turn::MODES.to_vec()));
    }
    if said.message.trim().is_empty() {
        return Err(ApiProblem::invalid("`message` is empty"));
    }
    if said.message.len() > app.setup.limits.message {
        return Err(ApiProblem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", "the message is too long")
            .with_hint("send long texts as files"));
    }
    let mut files = Vec::new();
    let wanted = said.files.unwrap_or_default();
    if wanted.len() > MOST_FILES {
        return Err(ApiProblem::invalid(format!("at most {MOST_FILES} files can come with a message")));
    }
    for file in wanted {
        if files.iter().any(|known: &StoredUpload| known.id == file) {
            continue;
        }
        let name = user.0.clone();
        let found = app.store.read(move |backend| backend.upload(&name, &file)).await?;
        let found = found.filter(|file| file.thread.is_some() || app.uploads.has(&file.id));
        let file =
            found.ok_or_else(|| ApiProblem::invalid("`files` names something that was not uploaded"))?;
        let elsewhere = file.thread.as_ref().filter(|owner| **owner != thread.id);
        let related = match elsewhere.cloned() {
            Some(owner) => app.store.read(move |backend| backend.thread(&owner)).await?,
            None => None,
        };
        // A branch has the files of where it comes from.
        if elsewhere.is_some() && related.is_none_or(|owner| owner.family != thread.family) {
            return Err(ApiProblem::invalid(format!(
                "`{}` came with a message of another thread",
                file.name
            ))
            .with_hint("send it again: a file belongs to one thread, and goes with it"));
        }
        files.push(file);
    }
    let ask = TurnRequest { message: said.message, files, mode, language: ReplyLanguage::of(&headers) };
    let seat_first = seat(&app, &user)?;
    let (held, after) = turn::start(&app, &user, thread, ask).await?;
    let reader = reader(&app, held, &id, after, seat_first)?;
    Ok(ThreadReader { live: live == Some(true), ..reader }.answer())
}

/// A person's answer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct InterruptAnswers {
    /// What is answered.
    interrupt_id: String,
    /// One per question, in their order.
    answers: Option<Vec<String>>,
    /// One per action request, in their order.
    decisions: Option<Vec<PersonDecision>>,
}

/// What a person decides about a call.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum PersonDecision {
    /// It may be made.
    Approve {
        /// Not used.
        #[serde(default)]
        #[allow(dead_code, reason = "accepted so that both kinds have the same form")]
        message: Option<String>,
    },
    /// It must not be made.
    Reject {
        /// Why.
        #[serde(default)]
        message: Option<String>,
    },
}

/// Answers what a turn waits for; the answer is the stream of the rest of the turn.
#[utoipa::path(post, path = "/api/chat/{thread_id}/resume", tag = "chat", request_body = InterruptAnswers,
    params(("thread_id" = String, Path), LiveQuery),
    responses((status = 200, content_type = "text/event-stream", body = String), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn resume(
    State(app): State<Arc<AppState>>,
    user: RequestUser,
    Path(id): Path<String>,
    QueryPart(LiveQuery { live }): QueryPart<LiveQuery>,
    headers: HeaderMap,
    JsonBody(given): JsonBody<InterruptAnswers>,
) -> ApiResult<Response> {
    let thread = app.thread(&user, &id).await?;
    let decisions = given.decisions.unwrap_or_default().into_iter().map(|decision| match decision {
        PersonDecision::Approve { .. } => PersonReply::Approved,
        PersonDecision::Reject { message } => PersonReply::Rejected(message.unwrap_or_default()),
    });
    let resume = ResumeRequest {
        interrupt: given.interrupt_id,
        answers: given.answers.unwrap_or_default(),
        decisions: decisions.collect(),
        language: ReplyLanguage::of(&headers),
    };
    let seat_first = seat(&app, &user)?;
    let (held, after) = turn::resume(&app, &user, thread, resume).await?;
    let reader = reader(&app, held, &id, after, seat_first)?;
    Ok(ThreadReader { live: live == Some(true), ..reader }.answer())
}

/// Whether something was stopped.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CancelResult {
    cancelled: bool,
}

/// Stops the turn under way, or stops waiting for a person.
#[utoipa::path(post, path = "/api/chat/{thread_id}/cancel", tag = "chat", params(("thread_id" = String, Path)),
    responses((status = 202, body = CancelResult), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn cancel(
    State(app): State<Arc<AppState>>,
    user: RequestUser,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> ApiResult<(StatusCode, Json<CancelResult>)> {
    let thread = app.thread(&user, &id).await?;
    let cancelled = turn::cancel(&app, &user, &thread, ReplyLanguage::of(&headers)).await?;
    Ok((StatusCode::ACCEPTED, Json(CancelResult { cancelled })))
}

/// Where to begin.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ChatStreamQuery {
    /// The last event the reader has; 0 for everything. The header `Last-Event-ID` says the same.
    after: Option<u64>,
    /// Whether to send what calls print while they run: events `tool_output` without a number, which are not stored.
    live: Option<bool>,
}

/// Follows a thread: stored events, then what comes, until nothing is under way; then `done`.
#[utoipa::path(get, path = "/api/chat/{thread_id}/events", tag = "chat",
    params(("thread_id" = String, Path), ChatStreamQuery),
    responses((status = 200, content_type = "text/event-stream", body = String), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn events(
    State(app): State<Arc<AppState>>,
    user: RequestUser,
    Path(id): Path<String>,
    headers: HeaderMap,
    QueryPart(asked): QueryPart<ChatStreamQuery>,
) -> ApiResult<Response> {
    let thread = app.thread(&user, &id).await?;
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    // A browser that comes back by itself asks for the same address, so what it has counts more.
    let after = match last {
        Some(text) => {
            text.trim().parse().map_err(|_| ApiProblem::bad_request("Last-Event-ID must be a number"))?
        }
        None => asked.after.unwrap_or(0),
    };
    let held = app.held(&thread.id).await?;
    let seat = seat(&app, &user)?;
    let reader = reader(&app, held, &id, after, seat)?;
    Ok(ThreadReader { live: asked.live == Some(true), ..reader }.answer())
}

fn seat(app: &AppState, user: &RequestUser) -> ApiResult<crate::guard::ConcurrencyPermit> {
    app.streams.take(&user.0).ok_or_else(|| ApiProblem::too_many("too many streams are open", 2))
}

fn reader(
    app: &Arc<AppState>,
    held: LiveThreadHandle,
    id: &str,
    after: u64,
    seat: crate::guard::ConcurrencyPermit,
) -> ApiResult<ThreadReader> {
    let thread = id.parse().map_err(|_| ApiProblem::not_found("thread"))?;
    Ok(ThreadReader { store: Arc::clone(&app.store), held, thread, after, live: false, seat })
}

fn cut(text: &str) -> String {
    text.chars().take(40).collect()
}
