//! Words about single tasks of an orchestration: heard while it goes on, else kept for whoever goes on with it.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use holon_core::ids::RunId;
use holon_flow::FlowError;
use holon_flow::orchestrate::{TaskAnswer, TaskMessage, TaskWord, tell_task};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::extract::JsonBody;
use super::runs::{blocking, folder};
use crate::app::AppState;
use crate::guard::{LOCAL, RequestUser};
use crate::problem::{ApiProblem, ApiResult};

/// A word about a task.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SentTaskWord {
    /// `stop`, `skip`, `retry` or `say`.
    word: String,
    /// What is said, or why.
    text: Option<String>,
}

/// What becomes of the task.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HeardTaskWord {
    /// Whether it was heard; else it is as soon as the step that is under way is over.
    heard: bool,
    /// Whether the run is not going on, and the word is kept for whoever goes on with it.
    kept: bool,
    /// In a sentence.
    says: String,
}

/// Says something about one task: at once while the others go on, or kept until somebody goes on with the run.
#[utoipa::path(post, path = "/api/runs/{id}/tasks/{task}", tag = "runs", request_body = SentTaskWord,
    params(("id" = String, Path), ("task" = String, Path)),
    responses((status = 200, body = HeardTaskWord), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn say(
    State(app): State<Arc<AppState>>,
    user: RequestUser,
    Path((id, task)): Path<(String, String)>,
    JsonBody(sent): JsonBody<SentTaskWord>,
) -> ApiResult<Json<HeardTaskWord>> {
    let id: RunId = id.parse().map_err(|_| ApiProblem::not_found("run"))?;
    let (folder, _) = folder(&app, id.as_str()).await?;
    match app.runs.find(&id) {
        Some(going) if going.user == user.0 => {}
        // What was begun at a terminal, or is over, is the owner's.
        None if user.0 == LOCAL => {}
        _ => return Err(ApiProblem::conflict("not_running", "that run is not under way here")),
    }
    let message = TaskMessage { task, word: word(sent)?, person: format!("user {}", user.0) };
    match blocking(move || tell_task(&folder, &message)).await? {
        Ok(TaskAnswer::Taken { says }) => Ok(Json(HeardTaskWord { heard: true, kept: false, says })),
        Ok(TaskAnswer::Kept { says }) => Ok(Json(HeardTaskWord { heard: false, kept: true, says })),
        Ok(TaskAnswer::Left) => {
            let says = "it is heard as soon as the step that is under way is over".to_owned();
            Ok(Json(HeardTaskWord { heard: false, kept: false, says }))
        }
        Ok(TaskAnswer::Refused { problem }) => Err(ApiProblem::conflict("not_taken", problem)),
        Err(FlowError::Refused { message, hint }) => {
            Err(ApiProblem::conflict("not_taken", message).with_hint(hint))
        }
        Err(error) => Err(ApiProblem::internal(error.to_string())),
    }
}

fn word(sent: SentTaskWord) -> ApiResult<TaskWord> {
    let text = sent.text.filter(|text| !text.trim().is_empty());
    match (sent.word.as_str(), text) {
        ("stop", reason) => Ok(TaskWord::Stop { reason }),
        ("skip", reason) => Ok(TaskWord::Skip { reason }),
        ("retry", None) => Ok(TaskWord::Retry),
        ("say", Some(text)) => Ok(TaskWord::Say { text }),
        ("say", None) => Err(ApiProblem::invalid("`text` is missing: what is to be said")),
        ("retry", Some(_)) => Err(ApiProblem::invalid("`retry` takes no text")),
        _ => Err(ApiProblem::invalid("`word` must be stop, skip, retry or say")),
    }
}
