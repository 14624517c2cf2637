//! What a thread changed: shown, taken back by turn, brought into the workspace.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use holon_core::release::{ReleaseOverride, ReleaseTarget, SHORTEST_REASON, is_a_reason};
use holon_host::HostError;
use holon_host::record::now;
use holon_host::thread::{ThreadApplyOutcome, ThreadFolder};
use holon_store::{StoreWrite, StoredThread, ThreadState, ThreadUpdate, TurnState};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::extract::JsonBody;
use crate::app::{AppState, TrackedWork};
use crate::event_log::EventDraft;
use crate::guard::RequestUser;
use crate::live_threads::{LiveThreadHandle, ThreadActivity, ThreadBusyGuard};
use crate::problem::{ApiProblem, ApiResult};
use crate::turn;

/// Everything a thread changed and did not apply yet.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ThreadDiff {
    /// The patch, as `git apply` takes it; bytes that are no text are shown as such.
    patch: String,
    files: Vec<DiffFile>,
    insertions: u64,
    deletions: u64,
    /// Ignored paths with changes, which are left out.
    ignored: u64,
    /// Paths whose original somebody else changed since.
    moved: Vec<String>,
    /// Paths that need a second word to be applied.
    sensitive: Vec<String>,
}

/// One changed path.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DiffFile {
    path: String,
    /// `added`, `modified` or `deleted`.
    status: String,
}

/// Shows what a thread changed.
#[utoipa::path(get, path = "/api/threads/{id}/diff", tag = "changes", params(("id" = String, Path)),
    responses((status = 200, body = ThreadDiff), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn diff(
    State(app): State<Arc<AppState>>,
    user: RequestUser,
    Path(id): Path<String>,
) -> ApiResult<Json<ThreadDiff>> {
    let thread = app.thread(&user, &id).await?;
    let _alone = alone(&app, &thread).await?;
    app.check_workspace(&thread)?;
    let delta = with_folder(&app, &thread, |folder, hide| folder.delta(hide)).await?;
    let status = |was, is| match (was, is) {
        (false, _) => "added",
        (true, true) => "modified",
        (true, false) => "deleted",
    };
    let files = delta
        .files
        .iter()
        .map(|file| DiffFile { path: text(&file.path), status: status(file.was, file.is).to_owned() })
        .collect();
    Ok(Json(ThreadDiff {
        patch: app.redactor.redact_str(&String::from_utf8_lossy(&delta.patch)),
        files,
        insertions: delta.insertions,
        deletions: delta.deletions,
        ignored: delta.ignored,
        moved: delta.moved.iter().map(text).collect(),
        sensitive: delta.sensitive.iter().map(text).collect(),
    }))
}

/// How to apply.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ApplyOrder {
    /// Whether files that steer tools (CI, hooks, agents) may change, too: the second word of a person, which is in the
    /// audit log before anything is applied.
    allow_sensitive: bool,
    /// Why they may, for the audit log.
    reason: Option<String>,
}

/// What was applied.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ApplyResult {
    applied: bool,
    files: Vec<String>,
}

/// Brings everything so far into the workspace, or nothing.
#[utoipa::path(post, path = "/api/threads/{id}/apply", tag = "changes", request_body = ApplyOrder,
    params(("id" = String, Path)),
    responses((status = 200, body = ApplyResult), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn apply(
    State(app): State<Arc<AppState>>,
    user: RequestUser,
    Path(id): Path<String>,
    JsonBody(order): JsonBody<ApplyOrder>,
) -> ApiResult<Json<ApplyResult>> {
    let thread = app.thread(&user, &id).await?;
    let alone = alone(&app, &thread).await?;
    app.check_workspace(&thread)?;
    let words = match order.allow_sensitive {
        true => second_word(&app, &user, &thread, order.reason.as_deref()).await?,
        false => Vec::new(),
    };
    let redactor = app.redactor.clone();
    let delivered =
        with_folder(&app, &thread, move |folder, hide| folder.apply(hide, &redactor, &words)).await?;
    let refused = |code: &str, words: &str, paths: Vec<String>| {
        Err(ApiProblem::conflict(code, format!("nothing was applied: {words}")).with("paths", paths))
    };
    let names = |paths: &[PathBuf]| paths.iter().map(text).collect::<Vec<_>>();
    match delivered {
        ThreadApplyOutcome::Nothing => Ok(Json(ApplyResult { applied: false, files: Vec::new() })),
        ThreadApplyOutcome::Moved(paths) => refused(
            "conflict",
            "these files changed in the workspace since the agent touched them",
            names(&paths),
        )
        .map_err(|problem| {
            problem.with_hint(
                "undo the turns and ask again, then the agent sees them as they are now; or put yours aside, apply, and \
                 put them back",
            )
        }),
        ThreadApplyOutcome::Sensitive(paths) => {
            refused("sensitive", "these files steer tools; apply again with allow_sensitive", names(&paths))
        }
        ThreadApplyOutcome::Secrets(places) => {
            refused("secret", "these places hold what looks like a credential", places)
        }
        ThreadApplyOutcome::Applied(paths) => {
            let files = names(&paths);
            let at = now();
            let writes = vec![
                StoreWrite::Applied(thread.id.clone()),
                StoreWrite::Thread(Box::new(ThreadUpdate::of(thread.id.clone(), at))),
                app.audit(&user.0, "applied", Some((&thread.id, thread.turns)), json!({"files": files})),
            ];
            let note = json!({"kind": "applied", "text": files.join("\n")});
            alone
                .held
                .feed
                .tell(vec![EventDraft { turn: 0, kind: "note", data: app.clean(note) }], writes)
                .await?;
            Ok(Json(ApplyResult { applied: true, files }))
        }
    }
}

/// What a person says against the release gate, written to the audit log before it counts; nothing where nothing is held.
async fn second_word(
    app: &AppState,
    user: &RequestUser,
    thread: &StoredThread,
    reason: Option<&str>,
) -> ApiResult<Vec<ReleaseOverride>> {
    let redactor = app.redactor.clone();
    let decision = with_folder(app, thread, move |folder, hide| folder.release(hide, &redactor)).await?;
    // What holds it besides is told by applying, and no word helps against it.
    if !decision.can_be_overridden() {
        return Ok(Vec::new());
    }
    let given = reason.map(str::trim).filter(|reason| !reason.is_empty());
    if given.is_some_and(|reason| !is_a_reason(reason)) {
        let words = format!("a reason has at least {SHORTEST_REASON} characters");
        return Err(ApiProblem::invalid(words).with_hint("say in a sentence why, or leave it out"));
    }
    let word = ReleaseOverride {
        of: decision.held.iter().map(|reason| reason.code().to_owned()).collect(),
        to: ReleaseTarget::ChatApply,
        // A chat has no run; the entry of the audit log names the thread.
        run: decision.run.clone(),
        person: user.0.clone(),
        uid: None,
        terminal: None,
        reason: app.redactor.redact_str(given.unwrap_or("agreed to when asked again")),
        at: now(),
        audit: None,
    };
    let detail = json!({"of": word.of, "to": word.to, "reason": word.reason, "what": decision.message()});
    let entry = app.audit(&user.0, "release_overridden", Some((&thread.id, thread.turns)), detail);
    app.store.write(vec![entry]).await?;
    Ok(vec![word])
}

/// How far to go back.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct UndoOrder {
    /// To before this turn; the last one that was not taken back yet, unless told.
    turn: Option<u64>,
}

/// What was taken back.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UndoResult {
    turns: Vec<u64>,
}

/// Takes back what turns did to the snapshot.
#[utoipa::path(post, path = "/api/threads/{id}/undo", tag = "changes", request_body = UndoOrder,
    params(("id" = String, Path)),
    responses((status = 200, body = UndoResult), (status = "4XX", body = ApiProblem)))]
pub(crate) async fn undo(
    State(app): State<Arc<AppState>>,
    user: RequestUser,
    Path(id): Path<String>,
    JsonBody(order): JsonBody<UndoOrder>,
) -> ApiResult<Json<UndoResult>> {
    let thread = app.thread(&user, &id).await?;
    let alone = alone(&app, &thread).await?;
    let name = thread.id.clone();
    let turns = app.store.read(move |backend| backend.turns(&name, 1)).await?;
    let left: Vec<u64> = turns.iter().filter(|t| t.state != TurnState::Undone).map(|t| t.number).collect();
    let nothing = || ApiProblem::conflict("nothing_to_undo", "there is no turn to take back");
    let first = match order.turn {
        Some(turn) => turn,
        None => *left.last().ok_or_else(nothing)?,
    };
    let undone: Vec<u64> = left.into_iter().filter(|number| *number >= first).collect();
    if undone.is_empty() || first == 0 {
        return Err(nothing());
    }
    with_folder(&app, &thread, move |folder, _| folder.undo(first)).await.map_err(|e| match e {
        ChangesTrouble::Host(HostError::Run { message, hint }) => {
            let problem = ApiProblem::conflict("applied", message);
            hint.map_or(problem.clone(), |hint| problem.with_hint(hint))
        }
        other => other.into(),
    })?;
    // A turn that is taken back waits for nobody.
    let mut writes = turn::given_up(&app, &thread).await?;
    let state = (!writes.is_empty()).then_some(ThreadState::Idle);
    writes.extend([
        StoreWrite::Undone(thread.id.clone(), first),
        StoreWrite::Thread(Box::new(ThreadUpdate { state, ..ThreadUpdate::of(thread.id.clone(), now()) })),
        app.audit(&user.0, "undone", Some((&thread.id, first)), json!({"turns": undone})),
    ]);
    let words = undone.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let note = json!({"kind": "undone", "text": words, "turns": undone});
    alone.held.feed.tell(vec![EventDraft { turn: 0, kind: "note", data: note }], writes).await?;
    Ok(Json(UndoResult { turns: undone }))
}

/// Nothing else happens in a thread as long as this is held, and the end of the server waits for it.
pub(super) struct ExclusiveThread {
    // Dropped in this order: the thread is free before it is forgotten.
    _busy: ThreadBusyGuard,
    held: LiveThreadHandle,
    _work: TrackedWork,
}

pub(super) async fn alone(app: &Arc<AppState>, thread: &StoredThread) -> ApiResult<ExclusiveThread> {
    let work = app.begin_work()?;
    let held = app.held(&thread.id).await?;
    let busy = held.live.begin(ThreadActivity::Look).await.ok_or_else(|| {
        ApiProblem::conflict("turn_running", "a turn is under way in this thread")
            .with_hint("wait for its end")
    })?;
    Ok(ExclusiveThread { _busy: busy, held, _work: work })
}

enum ChangesTrouble {
    Host(HostError),
    Lost(String),
}

impl From<ChangesTrouble> for ApiProblem {
    fn from(trouble: ChangesTrouble) -> Self {
        match trouble {
            ChangesTrouble::Host(e) if e.fits_no_patch() => Self::invalid(e.to_string())
                .with_hint("ask the agent to remove those files or to have them ignored, or undo the turn"),
            ChangesTrouble::Host(e) => e.into(),
            ChangesTrouble::Lost(words) => Self::internal(words),
        }
    }
}

/// Does something with the thread's files, where it may block.
async fn with_folder<T: Send + 'static>(
    app: &AppState,
    thread: &StoredThread,
    work: impl FnOnce(&ThreadFolder, &[PathBuf]) -> Result<T, HostError> + Send + 'static,
) -> Result<T, ChangesTrouble> {
    let folder = app.folder(thread).map_err(ChangesTrouble::Host)?;
    let profile = app.profile("build", thread).map_err(ChangesTrouble::Host)?;
    let (places, env) = (app.setup.places.clone(), Arc::clone(&app.setup.around.env));
    let done = tokio::task::spawn_blocking(move || {
        let hide = holon_host::thread::hidden(&places, &*env, &profile, folder.workspace())?;
        work(&folder, &hide)
    });
    done.await.map_err(|e| ChangesTrouble::Lost(e.to_string()))?.map_err(ChangesTrouble::Host)
}

fn text(path: impl AsRef<std::path::Path>) -> String {
    path.as_ref().to_string_lossy().into_owned()
}
