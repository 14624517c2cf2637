//! Beginning, resuming and stopping turns: everything is checked and stored before anything is done.

use std::sync::Arc;

use holon_agent::{Answer as Given, Conversation};
use holon_core::ids::ThreadId;
use holon_host::record::now;
use holon_model::Cancel;
use holon_store::{ModeSwitch, Thread, ThreadChange, ThreadState, Turn, TurnEnd, TurnState, Upload, Write};
use serde_json::{Value, json};

use super::carry::{Carry, Way};
use super::keeper::conversation;
use crate::app::App;
use crate::caller;
use crate::feed::Draft;
use crate::guard::User;
use crate::live::{Busy, Doing, Held};
use crate::problem::{Answer, Problem};
use crate::words::Language;

/// The modes of a chat.
pub(crate) const MODES: [&str; 2] = ["build", "plan"];
/// A message that is for the supervisor, not for the model.
const SUPERVISOR: &str = "~supervisor";
/// Turns before one that are looked at.
const LOOK_BACK: u64 = 50;

/// A message.
pub(crate) struct Ask {
    pub(crate) message: String,
    pub(crate) files: Vec<Upload>,
    pub(crate) mode: String,
    pub(crate) language: Language,
}

/// A person's answer to what a turn waits for.
pub(crate) struct Resume {
    pub(crate) interrupt: String,
    pub(crate) answers: Vec<String>,
    pub(crate) decisions: Vec<Given>,
    pub(crate) language: Language,
}

/// Begins a turn; gives back the live thread and the number of the last event before it.
pub(crate) async fn start(app: &Arc<App>, user: &User, thread: Thread, ask: Ask) -> Answer<(Held, u64)> {
    let work = app.begin_work()?;
    let held = app.held(&thread.id).await?;
    let busy = held.live.begin(Doing::Turn).await.ok_or_else(running)?;
    let seat = app.turns.take(&user.0).ok_or_else(|| Problem::too_many("too many turns are under way", 2))?;
    // Read again: what was true before nobody else could begin may not be any more.
    let thread = app.thread(user, thread.id.as_str()).await?;
    app.uploads.fit(&app.store, &thread.id, &ask.files).await?;
    let number = thread.turns + 1;
    let mut before = turns_before(app, &thread.id, number).await?;
    let after = held.feed.next_seq() - 1;
    let at = now();
    let turn = Turn {
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
    writes.extend(ask.files.iter().map(|file| Write::Bring(thread.id.clone(), file.id.clone())));
    writes.push(Write::NewTurn(Box::new(turn)));
    writes.push(Write::Thread(Box::new(ThreadChange {
        state: Some(ThreadState::Running),
        mode: Some(ask.mode.clone()),
        ..ThreadChange::of(thread.id.clone(), at.clone())
    })));
    if thread.mode.as_deref() != Some(&ask.mode) {
        let switch = ModeSwitch { turn: number, from: thread.mode.clone(), to: ask.mode.clone(), at };
        let detail = json!({"from": switch.from, "to": switch.to});
        writes.push(Write::Mode(thread.id.clone(), switch));
        writes.push(app.audit(&user.0, "mode_switched", Some((&thread.id, number)), detail));
    }
    let detail = json!({"mode": ask.mode, "files": ask.files.iter().map(|f| &f.sha256).collect::<Vec<_>>()});
    writes.push(app.audit(&user.0, "turn_started", Some((&thread.id, number)), detail));
    // Before anybody can see the turn: whoever sees it can stop it.
    let cancel = Cancel::default();
    held.live.set_cancel(Some(cancel.clone()));
    held.feed.set_running(true);
    let began = held.feed.tell(vec![Draft { turn: number, kind: "turn", data: told }], writes).await;
    if let Err(e) = began {
        held.feed.set_running(false);
        return Err(e.into());
    }
    let asked = ask.message.clone();
    let way = match ask.message.trim() {
        SUPERVISOR => Way::Report,
        _ => Way::Message { text: ask.message, files: ask.files },
    };
    let carry = Carry {
        app: Arc::clone(app),
        held: held.clone(),
        first: thread.title.is_none() && !matches!(way, Way::Report),
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
    app: &Arc<App>,
    user: &User,
    thread: Thread,
    resume: Resume,
) -> Answer<(Held, u64)> {
    let work = app.begin_work()?;
    let held = app.held(&thread.id).await?;
    let busy = held.live.begin(Doing::Turn).await.ok_or_else(running)?;
    let seat = app.turns.take(&user.0).ok_or_else(|| Problem::too_many("too many turns are under way", 2))?;
    let id = thread.id.clone();
    let open = app.store.read(move |backend| backend.open_interrupt(&id)).await?;
    let open = open.filter(|open| open.id == resume.interrupt).ok_or_else(|| {
        Problem::conflict("not_waiting", "nothing waits for that answer")
            .with_hint("it may have been answered already, or a new message may have taken its place")
    })?;
    let turn = turn_of(app, &thread.id, open.turn).await?.ok_or_else(|| Problem::not_found("turn"))?;
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
        Write::Answered(thread.id.clone(), resume.interrupt.clone(), at.clone()),
        Write::Turn(Box::new(TurnEnd {
            thread: thread.id.clone(),
            number,
            state: TurnState::Running,
            code: None,
            ended_at: None,
            changed: None,
        })),
        Write::Thread(Box::new(ThreadChange {
            state: Some(ThreadState::Running),
            ..ThreadChange::of(thread.id.clone(), at)
        })),
        app.audit(&user.0, "answered", Some((&thread.id, number)), detail),
    ];
    let cancel = Cancel::default();
    held.live.set_cancel(Some(cancel.clone()));
    held.feed.set_running(true);
    let draft = Draft { turn: number, kind: "turn", data: app.clean(told) };
    if let Err(e) = held.feed.tell(vec![draft], writes).await {
        held.feed.set_running(false);
        return Err(e.into());
    }
    let carry = Carry {
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
    spawn(carry, Way::Answers(answers), busy, seat, work);
    Ok((held, after))
}

/// Stops a turn; says whether there was one.
pub(crate) async fn cancel(app: &Arc<App>, user: &User, thread: &Thread, language: Language) -> Answer<bool> {
    let held = app.held(&thread.id).await?;
    let audit = |turn| app.audit(&user.0, "cancelled", Some((&thread.id, turn)), json!({}));
    if held.live.cancel() {
        app.store.write(vec![audit(thread.turns)]).await?;
        return Ok(true);
    }
    let Some(_busy) = held.live.begin(Doing::Look).await else { return Ok(false) };
    let mut writes = given_up(app, thread).await?;
    if writes.is_empty() {
        return Ok(false);
    }
    writes.push(Write::Thread(Box::new(ThreadChange {
        state: Some(ThreadState::Idle),
        ..ThreadChange::of(thread.id.clone(), now())
    })));
    writes.push(audit(thread.turns));
    // Whoever reads the story later must not take the question for an open one.
    let told = json!({"message": language.cancelled(), "code": "cancelled"});
    held.feed.tell(vec![Draft { turn: thread.turns, kind: "error", data: told }], writes).await?;
    Ok(true)
}

fn spawn(carry: Carry, way: Way, busy: Busy, seat: crate::guard::Seat, work: crate::app::Work) {
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

fn running() -> Problem {
    Problem::conflict("turn_running", "something is under way in this thread already")
        .with_hint("wait for its end, follow it at /events, or stop it with /cancel")
}

/// The turns right before one: as many as its notes can need, however long the thread is.
async fn turns_before(app: &App, thread: &ThreadId, number: u64) -> Answer<Vec<Turn>> {
    let (id, from) = (thread.clone(), number.saturating_sub(LOOK_BACK).max(1));
    let mut turns = app.store.read(move |backend| backend.turns(&id, from)).await?;
    turns.retain(|turn| turn.number < number);
    Ok(turns)
}

async fn turn_of(app: &App, thread: &ThreadId, number: u64) -> Answer<Option<Turn>> {
    let id = thread.clone();
    let turns = app.store.read(move |backend| backend.turns(&id, number)).await?;
    Ok(turns.into_iter().find(|turn| turn.number == number))
}

/// The end of a turn whose own end could not be stored.
fn cut_off(turn: &Turn, at: &str) -> Write {
    Write::Turn(Box::new(TurnEnd {
        thread: turn.thread.clone(),
        number: turn.number,
        state: TurnState::Interrupted,
        code: Some("interrupted".into()),
        ended_at: Some(at.to_owned()),
        changed: None,
    }))
}

/// What has to be written when a turn that waits for a person is not waited for any longer.
pub(crate) async fn given_up(app: &App, thread: &Thread) -> Answer<Vec<Write>> {
    let id = thread.id.clone();
    let Some(open) = app.store.read(move |backend| backend.open_interrupt(&id)).await? else {
        return Ok(Vec::new());
    };
    let at = now();
    let mut writes = vec![Write::Answered(thread.id.clone(), open.id, at.clone())];
    let waits =
        turn_of(app, &thread.id, open.turn).await?.is_some_and(|turn| turn.state == TurnState::Waiting);
    if waits {
        writes.push(Write::Turn(Box::new(TurnEnd {
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
fn fits(conversation: &Conversation, resume: &Resume) -> Answer<()> {
    let asks = conversation.pending.iter().flat_map(|pending| &pending.interrupt.asks);
    let asked: Vec<usize> = asks.map(|ask| ask.questions.len()).collect();
    let questions: usize = asked.iter().sum();
    let calls = asked.iter().filter(|questions| **questions == 0).count();
    if resume.answers.len() <= questions && resume.decisions.len() <= calls {
        return Ok(());
    }
    let message = format!("there are {questions} questions to answer and {calls} calls to decide about");
    Err(Problem::invalid(message).with_hint("give `answers` to questions and `decisions` about calls"))
}

/// One answer per ask, in the order of the asks.
fn sorted(conversation: &Conversation, resume: &Resume) -> Vec<Given> {
    let Some(pending) = &conversation.pending else { return Vec::new() };
    let mut answers = resume.answers.iter().cloned();
    let mut decisions = resume.decisions.iter().cloned();
    let one = |ask: &holon_core::event::Ask| match ask.questions.len() {
        0 => decisions.next().unwrap_or_else(|| Given::Rejected("not answered".into())),
        n => Given::Given(answers.by_ref().take(n).collect()),
    };
    pending.interrupt.asks.iter().map(one).collect()
}

fn decision(given: &Given) -> Value {
    match given {
        Given::Approved => json!({"type": "approve"}),
        Given::Rejected(why) => json!({"type": "reject", "message": why}),
        Given::Given(words) => json!({"type": "answer", "message": words}),
    }
}
