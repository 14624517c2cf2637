//! The end of a turn: what it means, and that it is stored.

use std::time::Duration;

use holon_agent::{StopKind, TurnEndReason, TurnLimit, TurnResult};
use holon_core::manifest::UsageTotals;
use holon_host::record::now;
use holon_store::{StoreError, StoreWrite, ThreadState, ThreadUpdate, TurnState, TurnUpdate};
use serde_json::{Value, json};

use super::execution::TurnExecution;
use super::report::REPORT;
use crate::event_log::EventDraft;
use crate::problem::ApiProblem;

/// How often it is tried to store the end of a turn, and the pause between.
const TRIES: usize = 40;
const PAUSE: Duration = Duration::from_millis(250);

/// How a turn ended, before it is stored.
pub(crate) struct TurnEnding {
    how: TurnEndCause,
    changed: bool,
    /// Something to be told besides.
    trouble: Option<String>,
    /// What is kept of the supervisor.
    supervisor: Option<Value>,
    /// Its words, when it stopped the turn.
    words: Option<String>,
}

enum TurnEndCause {
    Ended(Box<TurnResult>, Option<String>),
    Failed(String, String),
    /// What happened could not be written down.
    Unwritten(String, String),
    Report(String),
}

impl TurnEnding {
    /// The loop came to an end; `stopped` says which limit ended its hands.
    pub(crate) fn of(ended: TurnResult, stopped: Option<String>, changed: Result<bool, String>) -> Self {
        let (changed, trouble) = match changed {
            Ok(changed) => (changed, None),
            Err(words) => (false, Some(words)),
        };
        let how = TurnEndCause::Ended(Box::new(ended), stopped);
        Self { changed, trouble, ..Self::plain(how) }
    }

    /// Adds what the supervisor came to.
    pub(crate) fn supervised(self, kept: Value, words: Option<String>) -> Self {
        Self { supervisor: Some(kept), words, ..self }
    }

    fn plain(how: TurnEndCause) -> Self {
        Self { how, changed: false, trouble: None, supervisor: None, words: None }
    }

    /// Nothing could be begun.
    pub(crate) fn failed_before(code: &str, message: String) -> Self {
        Self::plain(TurnEndCause::Failed(code.to_owned(), message))
    }

    /// The same, with a part of the story that could not be stored.
    pub(crate) fn unwritten(self, why: ApiProblem) -> Self {
        let hint = why.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
        let words = format!("the turn was stopped because it could not be stored: {}{hint}", why.message);
        Self { how: TurnEndCause::Unwritten(why.code, words), ..self }
    }

    /// The supervisor's words.
    pub(crate) fn report(text: String) -> Self {
        Self::plain(TurnEndCause::Report(text))
    }

    /// Whether something went wrong, as opposed to ending or being stopped.
    pub(crate) fn failed(&self) -> bool {
        match &self.how {
            TurnEndCause::Failed(..) | TurnEndCause::Unwritten(..) => true,
            TurnEndCause::Report(_) => false,
            TurnEndCause::Ended(ended, _) => {
                matches!(
                    ended.reason,
                    TurnEndReason::ModelFailed(_) | TurnEndReason::HandsGone(_) | TurnEndReason::Limit(_)
                )
            }
        }
    }
}

/// What a turn became, and the error it is told with.
struct TurnEndState {
    state: TurnState,
    error: Option<(String, String)>,
}

fn told(carry: &TurnExecution, how: &TurnEndCause) -> TurnEndState {
    let language = carry.language;
    let error = |code: &str, words: String| Some((code.to_owned(), words));
    let (state, error) = match how {
        TurnEndCause::Report(_) => (TurnState::Completed, None),
        TurnEndCause::Failed(code, words) => (TurnState::Failed, error(code, words.clone())),
        TurnEndCause::Unwritten(code, words) => (TurnState::Interrupted, error(code, words.clone())),
        TurnEndCause::Ended(ended, stopped) => match &ended.reason {
            TurnEndReason::Finished(_) | TurnEndReason::TextOnly => (TurnState::Completed, None),
            TurnEndReason::Interrupted(_) => (TurnState::Waiting, None),
            TurnEndReason::Denied { .. } => (TurnState::Denied, error("plan_mode", language.plan_mode())),
            TurnEndReason::Limit(TurnLimit::Rounds) => {
                let most = carry.app.setup.limits.iterations;
                (TurnState::Failed, error("max_iterations", language.max_iterations(most)))
            }
            TurnEndReason::Limit(limit) => {
                (TurnState::Failed, error("limit", format!("{} is used up", limit.name())))
            }
            TurnEndReason::Refused(words) => (TurnState::Failed, error("refused", words.clone())),
            // Nothing vouches for the work, which is for the person to judge.
            TurnEndReason::Stopped(stop) if stop.kind == StopKind::Unverified => (TurnState::Completed, None),
            TurnEndReason::Stopped(stop) => (TurnState::Failed, error("stopped", stop.reason.clone())),
            TurnEndReason::Cancelled if carry.app.is_ending() => {
                (TurnState::Interrupted, error("interrupted", language.interrupted()))
            }
            TurnEndReason::Cancelled => (TurnState::Cancelled, error("cancelled", language.cancelled())),
            TurnEndReason::ModelFailed(e) => (TurnState::Failed, error("model", e.to_string())),
            TurnEndReason::HandsGone(words) => {
                let words = stopped.clone().unwrap_or_else(|| words.clone());
                (TurnState::Failed, error("walls", words))
            }
        },
    };
    TurnEndState { state, error }
}

/// Stores the end of a turn in one step; streams end after it. The conversation was kept by then, as after every round.
pub(crate) async fn conclude(carry: &TurnExecution, ending: TurnEnding, usage: Option<UsageTotals>) {
    let TurnEndState { state, error } = told(carry, &ending.how);
    let (app, id, turn) = (&carry.app, &carry.thread.id, carry.number);
    let mut drafts = Vec::new();
    let mut draft = |kind, data| drafts.push(EventDraft { turn, kind, data: app.clean(data) });
    if let TurnEndCause::Report(text) = &ending.how {
        draft("message", json!({"text": text}));
    }
    if let TurnEndCause::Ended(ended, _) = &ending.how
        && let TurnEndReason::Stopped(stop) = &ended.reason
    {
        match (&ending.words, stop.kind) {
            (_, StopKind::Unverified) => draft("note", json!({"kind": "warning", "text": stop.reason})),
            (Some(words), _) => draft("message", json!({"text": words})),
            (None, _) => {}
        }
    }
    if let Some(words) = &ending.trouble {
        draft("note", json!({"kind": "warning", "text": words}));
    }
    if let Some((code, message)) = &error {
        draft("error", json!({"message": message, "code": code}));
    }
    let at = now();
    let waits = state == TurnState::Waiting;
    let code = error.map(|(code, _)| code);
    let mut writes = Vec::new();
    if let Some(kept) = &ending.supervisor {
        writes.push(StoreWrite::Keep(id.clone(), REPORT, app.clean(kept.clone()).to_string()));
    }
    writes.push(StoreWrite::Turn(Box::new(TurnUpdate {
        thread: id.clone(),
        number: turn,
        state,
        code: code.clone(),
        ended_at: (!waits).then(|| at.clone()),
        changed: ending.changed.then_some(true),
    })));
    writes.push(StoreWrite::Thread(Box::new(ThreadUpdate {
        state: Some(if waits { ThreadState::Waiting } else { ThreadState::Idle }),
        usage,
        ..ThreadUpdate::of(id.clone(), at)
    })));
    let detail = json!({"state": state, "code": code, "changed": ending.changed});
    writes.push(app.audit("server", "turn_ended", Some((id, turn)), detail));
    // A disk may have room again soon. An end that cannot be stored at all leaves the turn running; the next message or
    // the next start of the server marks it.
    for _ in 0..TRIES {
        match carry.held.feed.tell(drafts.clone(), writes.clone()).await {
            Ok(()) | Err(StoreError::Closed | StoreError::Conflict(_)) => return,
            Err(_) if app.is_ending() => return,
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
    carry.held.feed.lose_the_end();
}
