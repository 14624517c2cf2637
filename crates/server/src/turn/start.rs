//! Beginning, resuming and stopping turns: everything is checked and stored before anything is done.

use std::sync::Arc;

use holon_agent::{AgentConversation, PersonReply};
use holon_core::ids::ThreadId;
use holon_host::record::now;
use holon_model::ModelCancel;
use holon_store::{
    ModeSwitch, StoreWrite, StoredThread, StoredTurn, StoredUpload, ThreadState, ThreadUpdate, TurnState,
    TurnUpdate,
};
use serde_json::{Value, json};

use super::checkpointer::conversation;
use super::execution::{TurnBeginning, TurnExecution};
use crate::app::AppState;
use crate::caller;
use crate::event_log::EventDraft;
use crate::guard::RequestUser;
use crate::live_threads::{LiveThreadHandle, ThreadActivity, ThreadBusyGuard};
use crate::problem::{ApiProblem, ApiResult};
use crate::words::ReplyLanguage;

/// The modes of a chat.
pub(crate) const MODES: [&str; 2] = ["build", "plan"];
/// A message that is for the supervisor, not for the model.
const SUPERVISOR: &str = "~supervisor";
/// Turns before one that are looked at.
const LOOK_BACK: u64 = 50;

/// A message.
pub(crate) struct TurnRequest {
    pub(crate) message: String,
    pub(crate) files: Vec<StoredUpload>,
    pub(crate) mode: String,
    pub(crate) language: ReplyLanguage,
}

/// A person's answer to what a turn waits for.
pub(crate) struct ResumeRequest {
    pub(crate) interrupt: String,
    pub(crate) answers: Vec<String>,
    pub(crate) decisions: Vec<PersonReply>,
    pub(crate) language: ReplyLanguage,
}

/// Begins a turn; gives back the live thread and the number of the last event before it.
pub(crate) async fn start(
    app: &Arc<AppState>,
    user: &RequestUser,
    thread: StoredThread,
    ask: TurnRequest,
) -> ApiResult<(LiveThreadHandle, u64)> {
    let work = app.begin_work()?;
    let held = app.held(&thread.id).await?;
    let busy = held.live.begin(ThreadActivity::Turn).await.ok_or_else(running)?;
    let seat =
        app.turns.take(&user.0).ok_or_else(|| ApiProblem::too_many("too many turns are under way", 2))?;
    // Read again: what was true before nobody else could begin may not be any more.
    let thread = app.thread(user, thread.id.as_str()).await?;
    app.uploads.fit(&app.store, &thread.id, &ask.files).await?;
    let number = thread.turns + 1;
    let mut before = turns_before(app, &thread.id, number).await?;
    let after = held.feed.next_seq() - 1;
    let at = now();
    let turn = StoredTurn {
        thread: thread.id.clone(),
        number,
        mode: ask.mode.clone(),
        message: app.redactor.redact_str(&ask.message),
        files: ask.files.iter().map(|file| file.id.clone()).collect(),
        state: TurnState::Running,
        code: None,
        first_seq: after + 1,
        last_seq: after + 1,
        started_at: at.clone(),
        ended_at: None,
        changed: false,
        applied: false,
    };
    let files: Vec<Value> =
        ask.files.iter().map(|f| json!({"id": f.id, "name": f.name, "bytes": f.bytes})).collect();
    let told = json!({"turn": number, "mode": ask.mode, "message": turn.message, "files": files, "at": at});
    let mut writes = given_up(app, &thread).await?;
    // Nothing else is under way: a turn that seems to be has lost its end.
    let lost = before.iter_mut().filter(|turn| turn.state == TurnState::Running);
    writes.extend(lost.map(|turn| {
        turn.state = TurnState::Interrupted;
        cut_off(turn, &at)
    }));
    let own = |file: &&StoredUpload| file.thread.as_ref().is_none_or(|owner| *owner == thread.id);
    let brought = ask.files.iter().filter(own);
    writes.extend(brought.map(|file| StoreWrite::Bring(thread.id.clone(), file.id.clone())));
    writes.push(StoreWrite::NewTurn(Box::new(turn)));
    writes.push(StoreWrite::Thread(Box::new(ThreadUpdate {
        state: Some(ThreadState::Running),
        mode: Some(ask.mode.clone()),
        ..ThreadUpdate::of(thread.id.clone(), at.clone())
    })));
    if thread.mode.as_deref() != Some(&ask.mode) {
        let switch = ModeSwitch { turn: number, from: thread.mode.clone(), to: ask.mode.clone(), at };
        let detail = json!({"from": switch.from, "to": switch.to});
        writes.push(StoreWrite::Mode(thread.id.clone(), switch));
        writes.push(app.audit(&user.0, "mode_switched", Some((&thread.id, number)), detail));
    }
    let detail = json!({"mode": ask.mode, "files": ask.files.iter().map(|f| &f.sha256).collect::<Vec<_>>()});
    writes.push(app.audit(&user.0, "turn_started", Some((&thread.id, number)), detail));
    // Before anybody can see the turn: whoever sees it can stop it.
    let cancel = ModelCancel::default();
    held.live.set_cancel(Some(cancel.clone()));
    held.feed.set_running(true);
    let began = held.feed.tell(vec![EventDraft { turn: number, kind: "turn", data: told }], writes).await;
    if let Err(e) = began {
        held.feed.set_running(false);
        return Err(e.into());
    }
    let asked = ask.message.clone();
    let way = match ask.message.trim() {
        SUPERVISOR => TurnBeginning::Report,
        _ => TurnBeginning::Message { text: ask.message, files: ask.files },
    };
    let carry = TurnExecution {
        app: Arc::clone(app),
        held: held.clone(),
        first: thread.title.is_none() && !matches!(way, TurnBeginning::Report),
        thread,
        before,
        number,
        mode: ask.mode,
        language: ask.language,
        asked,
        cancel,
    };
    spawn(carry, way, busy, seat, work);
    Ok((held, after))
}

/// Goes on with a turn that waits; gives back the live thread and the number of the last event before.
pub(crate) async fn resume(
    app: &Arc<AppState>,
    user: &RequestUser,
    thread: StoredThread,
    resume: ResumeRequest,
) -> ApiResult<(LiveThreadHandle, u64)> {
    let work = app.begin_work()?;
    let held = app.held(&thread.id).await?;
    let busy = held.live.begin(ThreadActivity::Turn).await.ok_or_else(running)?;
    let seat =
        app.turns.take(&user.0).ok_or_else(|| ApiProblem::too_many("too many turns are under way", 2))?;
    let id = thread.id.clone();
    let open = app.store.read(move |backend| backend.open_interrupt(&id)).await?;
    let open = open.filter(|open| open.id == resume.interrupt).ok_or_else(|| {
        ApiProblem::conflict("not_waiting", "nothing waits for that answer")
            .with_hint("it may have been answered already, or a new message may have taken its place")
    })?;
    let turn = turn_of(app, &thread.id, open.turn).await?.ok_or_else(|| ApiProblem::not_found("turn"))?;
    let talk = conversation(app, &thread.id).await?;
    fits(&talk, &resume)?;
    let answers = sorted(&talk, &resume);
    let (number, mode, asked) = (turn.number, turn.mode, turn.message);
    let before = turns_before(app, &thread.id, number).await?;
    let after = held.feed.next_seq() - 1;
    let at = now();
    let told = json!({"turn": number, "mode": mode, "resumed": true, "at": at, "answers": resume.answers,
        "decisions": resume.decisions.iter().map(decision).collect::<Vec<_>>()});
    let detail = json!({"interrupt": resume.interrupt, "decisions": told["decisions"]});
    let writes = vec![
        StoreWrite::Answered(thread.id.clone(), resume.interrupt.clone(), at.clone()),
        StoreWrite::Turn(Box::new(TurnUpdate {
            thread: thread.id.clone(),
            number,
            state: TurnState::Running,
            code: None,
            ended_at: None,
            changed: None,
        })),
        StoreWrite::Thread(Box::new(ThreadUpdate {
            state: Some(ThreadState::Running),
            ..ThreadUpdate::of(thread.id.clone(), at)
        })),
        app.audit(&user.0, "answered", Some((&thread.id, number)), detail),
    ];
    let cancel = ModelCancel::default();
    held.live.set_cancel(Some(cancel.clone()));
    held.feed.set_running(true);
    let draft = EventDraft { turn: number, kind: "turn", data: app.clean(told) };
    if let Err(e) = held.feed.tell(vec![draft], writes).await {
        held.feed.set_running(false);
        return Err(e.into());
    }
    let carry = TurnExecution {
        app: Arc::clone(app),
        held: held.clone(),
        first: false,
        thread,
        before,
        number,
        mode,
        language: resume.language,
        asked,
        cancel,
    };
    spawn(carry, TurnBeginning::Answers(answers), busy, seat, work);
    Ok((held, after))
}

/// Stops a turn; says whether there was one.
pub(crate) async fn cancel(
    app: &Arc<AppState>,
    user: &RequestUser,
    thread: &StoredThread,
    language: ReplyLanguage,
) -> ApiResult<bool> {
    let held = app.held(&thread.id).await?;
    let audit = |turn| app.audit(&user.0, "cancelled", Some((&thread.id, turn)), json!({}));
    if held.live.cancel() {
        app.store.write(vec![audit(thread.turns)]).await?;
        return Ok(true);
    }
    let Some(_busy) = held.live.begin(ThreadActivity::Look).await else { return Ok(false) };
    let mut writes = given_up(app, thread).await?;
    if writes.is_empty() {
        return Ok(false);
    }
    writes.push(StoreWrite::Thread(Box::new(ThreadUpdate {
        state: Some(ThreadState::Idle),
        ..ThreadUpdate::of(thread.id.clone(), now())
    })));
    writes.push(audit(thread.turns));
    // Whoever reads the story later must not take the question for an open one.
    let told = json!({"message": language.cancelled(), "code": "cancelled"});
    held.feed.tell(vec![EventDraft { turn: thread.turns, kind: "error", data: told }], writes).await?;
    Ok(true)
}

fn spawn(
    carry: TurnExecution,
    way: TurnBeginning,
    busy: ThreadBusyGuard,
    seat: crate::guard::ConcurrencyPermit,
    work: crate::app::TrackedWork,
) {
    let held = carry.held.clone();
    let caller = caller::present();
    tokio::spawn(async move {
        caller::on_behalf(caller, carry.go(way)).await;
        // In this order: whoever sees the end of the stream may begin the next turn at once.
        drop(busy);
        held.feed.set_running(false);
        drop((held, seat, work));
    });
}

fn running() -> ApiProblem {
    ApiProblem::conflict("turn_running", "something is under way in this thread already")
        .with_hint("wait for its end, follow it at /events, or stop it with /cancel")
}

/// The turns right before one: as many as its notes can need, however long the thread is.
async fn turns_before(app: &AppState, thread: &ThreadId, number: u64) -> ApiResult<Vec<StoredTurn>> {
    let (id, from) = (thread.clone(), number.saturating_sub(LOOK_BACK).max(1));
    let mut turns = app.store.read(move |backend| backend.turns(&id, from)).await?;
    turns.retain(|turn| turn.number < number);
    Ok(turns)
}

async fn turn_of(app: &AppState, thread: &ThreadId, number: u64) -> ApiResult<Option<StoredTurn>> {
    let id = thread.clone();
    let turns = app.store.read(move |backend| backend.turns(&id, number)).await?;
    Ok(turns.into_iter().find(|turn| turn.number == number))
}

/// The end of a turn whose own end could not be stored.
fn cut_off(turn: &StoredTurn, at: &str) -> StoreWrite {
    StoreWrite::Turn(Box::new(TurnUpdate {
        thread: turn.thread.clone(),
        number: turn.number,
        state: TurnState::Interrupted,
        code: Some("interrupted".into()),
        ended_at: Some(at.to_owned()),
        changed: None,
    }))
}

/// What has to be written when a turn that waits for a person is not waited for any longer.
pub(crate) async fn given_up(app: &AppState, thread: &StoredThread) -> ApiResult<Vec<StoreWrite>> {
    let id = thread.id.clone();
    let Some(open) = app.store.read(move |backend| backend.open_interrupt(&id)).await? else {
        return Ok(Vec::new());
    };
    let at = now();
    let mut writes = vec![StoreWrite::Answered(thread.id.clone(), open.id, at.clone())];
    let waits =
        turn_of(app, &thread.id, open.turn).await?.is_some_and(|turn| turn.state == TurnState::Waiting);
    if waits {
        writes.push(StoreWrite::Turn(Box::new(TurnUpdate {
            thread: thread.id.clone(),
            number: open.turn,
            state: TurnState::Cancelled,
            code: Some("not_answered".into()),
            ended_at: Some(at),
            changed: None,
        })));
    }
    Ok(writes)
}

/// Whether there is something for everything that was given.
fn fits(conversation: &AgentConversation, resume: &ResumeRequest) -> ApiResult<()> {
    let asks = conversation.pending.iter().flat_map(|pending| &pending.interrupt.asks);
    let asked: Vec<usize> = asks.map(|ask| ask.questions.len()).collect();
    let questions: usize = asked.iter().sum();
    let calls = asked.iter().filter(|questions| **questions == 0).count();
    let too_many = resume.answers.len() > questions || resume.decisions.len() > calls;
    let answered =
        resume.answers.iter().any(|answer| !answer.trim().is_empty()) || !resume.decisions.is_empty();
    // What is given with nothing in it must not use the question up.
    if answered && !too_many {
        return Ok(());
    }
    let message = format!("there are {questions} questions to answer and {calls} calls to decide about");
    let hint = "give `answers` to questions and `decisions` about calls; to go on without, send a message";
    Err(ApiProblem::invalid(message).with_hint(hint))
}

/// One answer per ask, in the order of the asks.
fn sorted(conversation: &AgentConversation, resume: &ResumeRequest) -> Vec<PersonReply> {
    let Some(pending) = &conversation.pending else { return Vec::new() };
    let mut answers = resume.answers.iter().cloned();
    let mut decisions = resume.decisions.iter().cloned();
    let one = |ask: &holon_core::event::ApprovalRequest| match ask.questions.len() {
        0 => decisions.next().unwrap_or_else(|| PersonReply::Rejected("not answered".into())),
        n => PersonReply::Given(answers.by_ref().take(n).collect()),
    };
    pending.interrupt.asks.iter().map(one).collect()
}

fn decision(given: &PersonReply) -> Value {
    match given {
        PersonReply::Approved => json!({"type": "approve"}),
        PersonReply::Rejected(why) => json!({"type": "reject", "message": why}),
        PersonReply::Given(words) => json!({"type": "answer", "message": words}),
    }
}
