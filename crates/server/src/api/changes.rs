//! What a thread changed: shown, taken back by turn, brought into the workspace.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use holon_core::release::{ReleaseOverride, ReleaseTarget, SHORTEST_REASON, is_a_reason};
use holon_host::HostError;
use holon_host::record::now;
use holon_host::thread::{Delivered, ThreadFolder};
use holon_store::{Thread, ThreadChange, ThreadState, TurnState, Write};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::extract::Body;
use crate::app::{App, Work};
use crate::feed::Draft;
use crate::guard::User;
use crate::live::{Busy, Doing, Held};
use crate::problem::{Answer, Problem};
use crate::turn;

/// Everything a thread changed and did not apply yet.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Diff {
    /// The patch, as `git apply` takes it; bytes that are no text are shown as such.
    patch: String,
    files: Vec<File>,
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
pub(crate) struct File {
    path: String,
    /// `added`, `modified` or `deleted`.
    status: String,
}

/// Shows what a thread changed.
#[utoipa::path(get, path = "/api/threads/{id}/diff", tag = "changes", params(("id" = String, Path)),
    responses((status = 200, body = Diff), (status = "4XX", body = Problem)))]
pub(crate) async fn diff(
    State(app): State<Arc<App>>,
    user: User,
    Path(id): Path<String>,
) -> Answer<Json<Diff>> {
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
        .map(|file| File { path: text(&file.path), status: status(file.was, file.is).to_owned() })
        .collect();
    Ok(Json(Diff {
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
pub(crate) struct Applied {
    applied: bool,
    files: Vec<String>,
}

/// Brings everything so far into the workspace, or nothing.
#[utoipa::path(post, path = "/api/threads/{id}/apply", tag = "changes", request_body = ApplyOrder,
    params(("id" = String, Path)),
    responses((status = 200, body = Applied), (status = "4XX", body = Problem)))]
pub(crate) async fn apply(
    State(app): State<Arc<App>>,
    user: User,
    Path(id): Path<String>,
    Body(order): Body<ApplyOrder>,
) -> Answer<Json<Applied>> {
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
        Err(Problem::conflict(code, format!("nothing was applied: {words}")).with("paths", paths))
    };
    let names = |paths: &[PathBuf]| paths.iter().map(text).collect::<Vec<_>>();
    match delivered {
        Delivered::Nothing => Ok(Json(Applied { applied: false, files: Vec::new() })),
        Delivered::Moved(paths) => refused(
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
        Delivered::Sensitive(paths) => {
            refused("sensitive", "these files steer tools; apply again with allow_sensitive", names(&paths))
        }
        Delivered::Secrets(places) => {
            refused("secret", "these places hold what looks like a credential", places)
        }
        Delivered::Applied(paths) => {
            let files = names(&paths);
            let at = now();
            let writes = vec![
                Write::Applied(thread.id.clone()),
                Write::Thread(Box::new(ThreadChange::of(thread.id.clone(), at))),
                app.audit(&user.0, "applied", Some((&thread.id, thread.turns)), json!({"files": files})),
            ];
            let note = json!({"kind": "applied", "text": files.join("\n")});
            alone
                .held
                .feed
                .tell(vec![Draft { turn: 0, kind: "note", data: app.clean(note) }], writes)
                .await?;
            Ok(Json(Applied { applied: true, files }))
        }
    }
}

/// What a person says against the release gate, written to the audit log before it counts; nothing where nothing is held.
async fn second_word(
    app: &App,
    user: &User,
    thread: &Thread,
    reason: Option<&str>,
) -> Answer<Vec<ReleaseOverride>> {
    let redactor = app.redactor.clone();
    let decision = with_folder(app, thread, move |folder, hide| folder.release(hide, &redactor)).await?;
    // What holds it besides is told by applying, and no word helps against it.
    if !decision.can_be_overridden() {
        return Ok(Vec::new());
    }
    let given = reason.map(str::trim).filter(|reason| !reason.is_empty());
    if given.is_some_and(|reason| !is_a_reason(reason)) {
        let words = format!("a reason has at least {SHORTEST_REASON} characters");
        return Err(Problem::invalid(words).with_hint("say in a sentence why, or leave it out"));
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
pub(crate) struct Undone {
    turns: Vec<u64>,
}

/// Takes back what turns did to the snapshot.
#[utoipa::path(post, path = "/api/threads/{id}/undo", tag = "changes", request_body = UndoOrder,
    params(("id" = String, Path)),
    responses((status = 200, body = Undone), (status = "4XX", body = Problem)))]
pub(crate) async fn undo(
    State(app): State<Arc<App>>,
    user: User,
    Path(id): Path<String>,
    Body(order): Body<UndoOrder>,
) -> Answer<Json<Undone>> {
    let thread = app.thread(&user, &id).await?;
    let alone = alone(&app, &thread).await?;
    let name = thread.id.clone();
    let turns = app.store.read(move |backend| backend.turns(&name, 1)).await?;
    let left: Vec<u64> = turns.iter().filter(|t| t.state != TurnState::Undone).map(|t| t.number).collect();
    let nothing = || Problem::conflict("nothing_to_undo", "there is no turn to take back");
    let first = match order.turn {
        Some(turn) => turn,
        None => *left.last().ok_or_else(nothing)?,
    };
    let undone: Vec<u64> = left.into_iter().filter(|number| *number >= first).collect();
    if undone.is_empty() || first == 0 {
        return Err(nothing());
    }
    with_folder(&app, &thread, move |folder, _| folder.undo(first)).await.map_err(|e| match e {
        Trouble::Host(HostError::Run { message, hint }) => {
            let problem = Problem::conflict("applied", message);
            hint.map_or(problem.clone(), |hint| problem.with_hint(hint))
        }
        other => other.into(),
    })?;
    // A turn that is taken back waits for nobody.
    let mut writes = turn::given_up(&app, &thread).await?;
    let state = (!writes.is_empty()).then_some(ThreadState::Idle);
    writes.extend([
        Write::Undone(thread.id.clone(), first),
        Write::Thread(Box::new(ThreadChange { state, ..ThreadChange::of(thread.id.clone(), now()) })),
        app.audit(&user.0, "undone", Some((&thread.id, first)), json!({"turns": undone})),
    ]);
    let words = undone.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let note = json!({"kind": "undone", "text": words, "turns": undone});
    alone.held.feed.tell(vec![Draft { turn: 0, kind: "note", data: note }], writes).await?;
    Ok(Json(Undone { turns: undone }))
}

/// Nothing else happens in a thread as long as this is held, and the end of the server waits for it.
pub(super) struct Alone {
    // Dropped in this order: the thread is free before it is forgotten.
    _busy: Busy,
    held: Held,
    _work: Work,
}

pub(super) async fn alone(app: &Arc<App>, thread: &Thread) -> Answer<Alone> {
    let work = app.begin_work()?;
    let held = app.held(&thread.id).await?;
    let busy = held.live.begin(Doing::Look).await.ok_or_else(|| {
        Problem::conflict("turn_running", "a turn is under way in this thread").with_hint("wait for its end")
    })?;
    Ok(Alone { _busy: busy, held, _work: work })
}

enum Trouble {
    Host(HostError),
    Lost(String),
}

impl From<Trouble> for Problem {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Host(e) if e.fits_no_patch() => Self::invalid(e.to_string())
                .with_hint("ask the agent to remove those files or to have them ignored, or undo the turn"),
            Trouble::Host(e) => e.into(),
            Trouble::Lost(words) => Self::internal(words),
        }
    }
}

/// Does something with the thread's files, where it may block.
async fn with_folder<T: Send + 'static>(
    app: &App,
    thread: &Thread,
    work: impl FnOnce(&ThreadFolder, &[PathBuf]) -> Result<T, HostError> + Send + 'static,
) -> Result<T, Trouble> {
    let folder = app.folder(thread).map_err(Trouble::Host)?;
    let profile = app.profile("build", thread).map_err(Trouble::Host)?;
    let (places, env) = (app.setup.places.clone(), Arc::clone(&app.setup.around.env));
    let done = tokio::task::spawn_blocking(move || {
        let hide = holon_host::thread::hidden(&places, &*env, &profile, folder.workspace())?;
        work(&folder, &hide)
    });
    done.await.map_err(|e| Trouble::Lost(e.to_string()))?.map_err(Trouble::Host)
}

fn text(path: impl AsRef<std::path::Path>) -> String {
    path.as_ref().to_string_lossy().into_owned()
}
