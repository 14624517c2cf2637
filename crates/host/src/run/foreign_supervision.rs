//! The supervisor of an agent that thinks inside: what passes the gateway becomes the same facts that the native agent tells,
//! and what is decided becomes a text at the end of a request, or a refusal.
//!
//! A thread of its own hears and decides, in the order in which things pass; the gateway waits for it before it passes a
//! request of the conversation on, and for nothing else. When the client is over, its word that it is done is asked about as
//! that of the native agent is; what is not believed is told to it in a second start.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use holon_agent::supervise::{SupervisionContext, TakeoverRequests};
use holon_agent::{
    StopOrder, SupervisedTurn, SupervisionSession, SupervisorAdvice, SupervisorHook, SupervisorRuling,
    ToolCallEvidence, TurnFact,
};
use holon_core::digest::sha256;
use holon_core::event::{AdviceOutcome, EventBody};
use holon_core::ids::CallId;
use holon_core::policy::ToolClass;
use holon_gateway::{
    AttendanceSetup, Attendant, AttendantFuture, AttendantVerdict, ConversationStep, ConversationWords,
    InsertionEvent,
};
use holon_model::{ModelCancel, ModelReply, TokenUsage, ToolCall, ToolResult};
use tokio::sync::oneshot;

use super::ActiveRun;
use super::probe::{CheckProbe, LIMIT};
use super::snapshot::RunStage;
use crate::adapter::events::call_id;
use crate::adapter::{Adapter, AdapterCalls, ToolCallEnding};
use crate::error::HostError;

/// How long it is waited for what only the client's events tell.
const EVENT: Duration = Duration::from_secs(1);
/// How long a client has to end by itself after it was refused.
const LEAVE: Duration = Duration::from_secs(10);

/// What the thread is told.
enum SupervisionMessage {
    /// A request waits for its word.
    Asked(ConversationStep, oneshot::Sender<AttendantVerdict>),
    Answered(Box<ModelReply>),
    Inserted(InsertionEvent),
    /// The client's events tell how a call ended.
    Ended(CallId, ToolCallEnding),
    /// The client is over; whether it ended by itself, saying that it is done.
    Over {
        done: bool,
    },
}

/// How a client's end is taken.
#[derive(Debug, Default)]
pub(crate) struct ClientEnd {
    /// The supervisor ended it.
    pub stop: Option<StopOrder>,
    /// What is to be said about that to people.
    pub report: Option<String>,
    /// It says that it is done, and this is why it is not.
    pub not_yet: Option<String>,
}

/// The supervisor at work.
pub(crate) struct ForeignSupervision {
    line: Arc<SupervisionLine>,
    bodies: Receiver<EventBody>,
    takeovers: TakeoverRequests,
    stopped: Arc<Mutex<Option<Instant>>>,
    /// Whether a check is being run.
    busy: Arc<AtomicBool>,
    /// Ends a check that nobody needs any more.
    abort: ModelCancel,
    thread: Option<JoinHandle<(SupervisionSession, ClientEnd)>>,
    words: ConversationWords,
}

/// The way to the thread.
struct SupervisionLine(Mutex<Sender<SupervisionMessage>>);

impl SupervisionLine {
    fn tell(&self, told: SupervisionMessage) {
        // The thread is gone only when the run is being torn down.
        let _ = self.0.lock().unwrap_or_else(PoisonError::into_inner).send(told);
    }
}

impl Attendant for SupervisionLine {
    fn asked(&self, step: ConversationStep) -> AttendantFuture {
        let (sender, word) = oneshot::channel();
        self.tell(SupervisionMessage::Asked(step, sender));
        Box::pin(async move { word.await.unwrap_or(AttendantVerdict::Pass) })
    }

    fn answered(&self, reply: &ModelReply) {
        self.tell(SupervisionMessage::Answered(Box::new(reply.clone())));
    }

    fn inserted(&self, what: InsertionEvent) {
        self.tell(SupervisionMessage::Inserted(what));
    }
}

impl ActiveRun<'_> {
    /// Sets the supervisor up for an agent that thinks inside; nothing without a gateway, or in a rehearsal.
    pub(super) fn watch(&mut self, stage: &mut RunStage) -> Result<(), HostError> {
        if self.is_native() || self.foreign.door.is_none() || self.host.script.is_some() {
            return Ok(());
        }
        let supervision = self.foreign_supervision()?;
        let takeovers = TakeoverRequests::default();
        let around = SupervisionContext { keeper: None, ..self.surroundings(stage, takeovers.clone()) };
        let abort = ModelCancel::default();
        let probe = self.probe(stage, false, &abort);
        let adapter = self.plan.agent.adapter.clone();
        let watched = ForeignSupervision::start(supervision, around, takeovers, probe, &adapter);
        self.foreign.watched = Some(ForeignSupervision { abort, ..watched });
        Ok(())
    }

    /// How the gateway is attended.
    pub(super) fn attendance(&self) -> Option<AttendanceSetup> {
        let watched = self.foreign.watched.as_ref()?;
        Some(AttendanceSetup {
            attendant: Arc::clone(&watched.line) as Arc<dyn Attendant>,
            words: watched.words.clone(),
        })
    }

    /// What the supervisor was told and decided since the last look.
    pub(super) fn watched_news(&mut self) -> Vec<EventBody> {
        let news: Vec<EventBody> =
            self.foreign.watched.iter().flat_map(|watched| watched.bodies.try_iter()).collect();
        for body in &news {
            self.foreign.insertions.hear(body);
        }
        news
    }

    /// The client told how a call ended.
    pub(super) fn watched_hears(&self, body: &EventBody) {
        if let (Some(watched), EventBody::ToolFinished { call, ok, exit_code, .. }) =
            (&self.foreign.watched, body)
        {
            watched
                .line
                .tell(SupervisionMessage::Ended(call.clone(), ToolCallEnding { ok: *ok, exit: *exit_code }));
        }
    }

    /// A person wants the supervisor to take over.
    pub(super) fn watched_takes_over(&self, by: String) {
        if let Some(watched) = &self.foreign.watched {
            watched.takeovers.ask(by);
        }
    }

    /// Whether it runs a check, for which the client waits.
    pub(super) fn watch_is_busy(&self) -> bool {
        self.foreign.watched.as_ref().is_some_and(|watched| watched.busy.load(Ordering::Relaxed))
    }

    /// Whether the client was refused by the supervisor and did not leave.
    pub(super) fn overstays(&self) -> bool {
        let stopped = self.foreign.watched.as_ref().and_then(|watched| *lock(&watched.stopped));
        stopped.is_some_and(|since| since.elapsed() >= LEAVE)
    }

    /// The client is over: the supervisor's last word about it.
    pub(super) fn end_watch(&mut self, done: bool) {
        let Some(mut watched) = self.foreign.watched.take() else { return };
        if !done {
            watched.abort.cancel();
        }
        watched.line.tell(SupervisionMessage::Over { done });
        let ended = watched.thread.take().and_then(|thread| thread.join().ok());
        let rest: Vec<EventBody> = watched.bodies.try_iter().collect();
        for body in rest {
            self.foreign.insertions.hear(&body);
            self.events.emit(body);
        }
        if let Some((supervision, over)) = ended {
            (self.supervision, self.foreign.over) = (Some(supervision), over);
        }
    }
}

fn lock<T>(what: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ForeignSupervision {
    fn start(
        supervision: SupervisionSession,
        around: SupervisionContext,
        takeovers: TakeoverRequests,
        probe: Option<CheckProbe>,
        adapter: &Adapter,
    ) -> Self {
        let (line, told) = channel();
        let (sender, bodies) = channel();
        let stopped: Arc<Mutex<Option<Instant>>> = Arc::default();
        let calls = adapter.calls.clone().unwrap_or_default();
        let delegates = adapter.tools.get(&ToolClass::Delegate).cloned().unwrap_or_default();
        let words = ConversationWords { about: calls.about.clone(), delegates };
        let tools =
            adapter.tools.iter().flat_map(|(class, names)| names.iter().map(|name| (name.clone(), *class)));
        let classes: HashMap<String, ToolClass> = tools.collect();
        let since = Arc::clone(&stopped);
        let busy: Arc<AtomicBool> = Arc::default();
        let at_work = Arc::clone(&busy);
        let span = tracing::Span::current();
        let thread = std::thread::spawn(move || {
            let _run = span.entered();
            let watcher = |body: EventBody| drop(sender.send(body));
            let round = u64::from(supervision.state().round());
            let steward = SupervisedTurn::new(supervision, around, &watcher);
            let mut watching = SupervisionThread {
                steward: &steward,
                tell: &watcher,
                told,
                later: VecDeque::new(),
                calls,
                classes,
                probe,
                round,
                last: None,
                offered: Vec::new(),
                standing: String::new(),
                said: String::new(),
                notes: Vec::new(),
                ends: BTreeMap::new(),
                left_alone: false,
                over: ClientEnd::default(),
                stopped: since,
                busy: at_work,
            };
            watching.work();
            let over = watching.over;
            (steward.finish(), over)
        });
        let (line, abort) = (Arc::new(SupervisionLine(Mutex::new(line))), ModelCancel::default());
        Self { line, bodies, takeovers, stopped, busy, abort, thread: Some(thread), words }
    }
}

/// The thread's own.
struct SupervisionThread<'a> {
    steward: &'a dyn SupervisorHook,
    tell: &'a (dyn Fn(EventBody) + Send + Sync),
    told: Receiver<SupervisionMessage>,
    /// What was told while something else was waited for.
    later: VecDeque<SupervisionMessage>,
    calls: AdapterCalls,
    classes: HashMap<String, ToolClass>,
    probe: Option<CheckProbe>,
    round: u64,
    /// The reply that was not gone on from yet.
    last: Option<LastReply>,
    /// Tools the model is offered.
    offered: Vec<String>,
    /// What stands to be said, and what was said last.
    standing: String,
    said: String,
    /// What is to be said once.
    notes: Vec<String>,
    /// How calls ended, by the client's events.
    ends: BTreeMap<CallId, ToolCallEnding>,
    /// A text broke something: nothing is said or stopped any more.
    left_alone: bool,
    over: ClientEnd,
    stopped: Arc<Mutex<Option<Instant>>>,
    busy: Arc<AtomicBool>,
}

/// A reply and when it came.
struct LastReply {
    calls: Vec<ToolCall>,
    /// How many it made, with those that cannot be read.
    made: usize,
    text: String,
    usage: TokenUsage,
    at: Instant,
}

impl SupervisionThread<'_> {
    fn work(&mut self) {
        while let Some(told) = self.later.pop_front().or_else(|| self.told.recv().ok()) {
            match told {
                SupervisionMessage::Asked(step, answer) => {
                    let word = self.asked(step);
                    // A client that is gone needs no word.
                    let _ = answer.send(word);
                }
                SupervisionMessage::Answered(reply) => self.answered(&reply),
                SupervisionMessage::Inserted(what) => self.inserted(what),
                SupervisionMessage::Ended(call, how) => self.note_end(call, how),
                SupervisionMessage::Over { done } => return self.client_over(done),
            }
        }
    }

    fn asked(&mut self, step: ConversationStep) -> AttendantVerdict {
        self.end_round(&step.results);
        self.offered = step.tools;
        self.round += 1;
        let advice = self.steward.notice(TurnFact::RoundStarted { round: self.round });
        self.heed(advice);
        self.word()
    }

    /// What the request is told to carry.
    fn word(&mut self) -> AttendantVerdict {
        if self.left_alone {
            return AttendantVerdict::Pass;
        }
        if let Some(stop) = &self.over.stop {
            lock(&self.stopped).get_or_insert_with(Instant::now);
            return AttendantVerdict::Stop(format!(
                "the supervisor of this run has stopped it for a person to look ({}); do not try again",
                stop.reason
            ));
        }
        let mut texts = Vec::new();
        if self.standing != self.said && !self.standing.is_empty() {
            texts.push(self.standing.clone());
        }
        self.said.clone_from(&self.standing);
        texts.append(&mut self.notes);
        if texts.is_empty() { AttendantVerdict::Pass } else { AttendantVerdict::Say(texts.join("\n")) }
    }

    fn heed(&mut self, advice: SupervisorAdvice) {
        if let Some(text) = advice.correction {
            self.standing = text;
        }
        if let Some(stop) = advice.stop {
            self.over.stop.get_or_insert(stop);
        }
        if let (Some(command), None) = (advice.check, &self.over.stop)
            && let Some(advice) = self.check(&command)
        {
            self.heed(advice);
        }
    }

    /// Runs a check that was asked for; nothing where none can be run.
    fn check(&mut self, command: &str) -> Option<SupervisorAdvice> {
        self.busy.store(true, Ordering::Relaxed);
        let ran = self.probe.as_mut().and_then(|probe| probe.run(command, LIMIT));
        self.busy.store(false, Ordering::Relaxed);
        let ran = ran?;
        let fact =
            TurnFact::Checked { command, exit: ran.exit, output: &ran.output, duration_ms: ran.duration_ms };
        Some(self.steward.notice(fact))
    }

    fn answered(&mut self, reply: &ModelReply) {
        let mut calls = Vec::new();
        for call in reply.calls() {
            if let Some(why) = self.malformed(call) {
                let advice = self.steward.notice(TurnFact::Malformed { tool: &call.name, why: &why });
                self.heed(advice);
                continue;
            }
            let Some(id) = call_id(&call.id) else { continue };
            let about = self.calls.about(call);
            let advice = self.steward.notice(TurnFact::Proposed {
                call: id.as_str(),
                tool: &call.name,
                class: self.class(&call.name),
                target: about.command.as_deref().or(about.paths.first().map(String::as_str)),
                targets: &about.paths,
                command: about.command.as_deref(),
                arguments_sha256: &sha256(call.arguments.as_bytes()),
            });
            // It is carried out whatever is decided; what would be denied is told with the next request.
            if let SupervisorRuling::Warn(why) | SupervisorRuling::Block(why) = advice.gate {
                self.notes.push(why);
            }
            calls.push(call.clone());
        }
        let usage = reply.usage.unwrap_or_default();
        let (made, text) = (reply.calls().count(), reply.text());
        self.last = Some(LastReply { calls, made, text, usage, at: Instant::now() });
    }

    fn malformed(&self, call: &ToolCall) -> Option<String> {
        if !self.offered.contains(&call.name) {
            return Some("there is no such tool".to_owned());
        }
        call.object().err().filter(|_| !call.custom)
    }

    fn class(&self, tool: &str) -> ToolClass {
        self.classes.get(tool).copied().unwrap_or(ToolClass::Unknown)
    }

    /// The round is over: its calls were answered, and the conversation goes on.
    fn end_round(&mut self, results: &[ToolResult]) {
        let Some(last) = self.last.take() else { return };
        let took = u64::try_from(last.at.elapsed().as_millis()).unwrap_or(u64::MAX);
        // Calls of one reply may have run side by side: nobody knows how long each took.
        let took = if last.calls.len() == 1 { took } else { 0 };
        for result in results {
            if let Some(call) = last.calls.iter().find(|call| call.id == result.call_id) {
                self.finished(call, result, took);
            }
        }
        let words = !last.text.trim().is_empty();
        let (round, calls, usage) = (self.round, last.made, &last.usage);
        let advice = self.steward.notice(TurnFact::RoundEnded { round, calls, words, usage });
        self.heed(advice);
    }

    fn finished(&mut self, call: &ToolCall, result: &ToolResult, duration_ms: u64) {
        let Some(id) = call_id(&call.id) else { return };
        let told = self.end_of(&id);
        let (about, class) = (self.calls.about(call), self.class(&call.name));
        let read = self.calls.read(&call.name, result, told);
        let (ok, exit) = (read.ok, read.exit);
        let path = about.paths.first();
        let mut evidence = Vec::new();
        match (class, path, &about.command) {
            (_, _, Some(command)) => evidence.extend(exit.map(|_| ToolCallEvidence::Ran {
                command: command.clone(),
                exit,
                output_sha256: sha256(read.output.as_bytes()),
            })),
            (ToolClass::Read, Some(path), _) if ok => evidence.push(ToolCallEvidence::Read {
                path: path.clone(),
                sha256: Some(sha256(result.text.as_bytes())),
            }),
            (ToolClass::Search, ..) if ok => match self.calls.found(&result.text) {
                0 => {}
                results => evidence.push(ToolCallEvidence::Found { results }),
            },
            (ToolClass::Delegate, ..) if ok => evidence.push(ToolCallEvidence::Helped),
            _ => {}
        }
        // The form in which the native agent's commands tell their end.
        let text = match exit {
            Some(code) => format!("exit code {code}\n{}", read.output),
            None => result.text.clone(),
        };
        let advice = self.steward.notice(TurnFact::Finished {
            call: id.as_str(),
            tool: &call.name,
            class,
            ok,
            exit,
            duration_ms,
            evidence: &evidence,
            text: &text,
        });
        self.heed(advice);
    }

    fn note_end(&mut self, call: CallId, how: ToolCallEnding) {
        if self.calls.ends_in_events {
            self.ends.insert(call, how);
        }
    }

    /// How a call ended, where only the client's events tell; they may be on their way.
    fn end_of(&mut self, call: &CallId) -> Option<ToolCallEnding> {
        if !self.calls.ends_in_events {
            return None;
        }
        let deadline = Instant::now() + EVENT;
        while !self.ends.contains_key(call) {
            // A deadline: a client may never tell how the call ended.
            match self.told.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(SupervisionMessage::Ended(call, how)) => self.note_end(call, how),
                Ok(other) => self.later.push_back(other),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        self.ends.remove(call)
    }

    fn inserted(&mut self, what: InsertionEvent) {
        let after = |number, what, why| EventBody::SupervisorFollowed { number, what, why };
        (self.tell)(match what {
            InsertionEvent::Put { number, place, text } => {
                EventBody::SupervisorInserted { number, round: self.round, place: place.to_owned(), text }
            }
            InsertionEvent::WentOn { number } => after(number, AdviceOutcome::WentOn, None),
            InsertionEvent::Ended { number } => after(number, AdviceOutcome::Ended, None),
            InsertionEvent::Broke { number, why } => {
                self.left_alone = true;
                after(number, AdviceOutcome::Broke, Some(why))
            }
        });
    }

    /// Whether its word that it is done is believed.
    fn client_over(&mut self, done: bool) {
        if let Some(last) = self.last.take().filter(|last| done && last.made == 0 && self.over.stop.is_none())
        {
            let fact = || TurnFact::Done { text: &last.text, gave_up: false };
            let mut advice = self.steward.notice(fact());
            if let Some(command) = advice.check.take() {
                self.check(&command);
                advice = self.steward.notice(fact());
            }
            match (advice.stop, advice.gate) {
                (Some(stop), _) => self.over.stop = Some(stop),
                (None, SupervisorRuling::Block(why)) => {
                    self.over.not_yet = Some(why);
                    self.last = Some(last);
                    self.end_round(&[]);
                }
                (None, SupervisorRuling::Allow | SupervisorRuling::Warn(_)) => {}
            }
        }
        if self.left_alone {
            self.over = ClientEnd::default();
        }
        self.over.report = self.over.stop.as_ref().and_then(|_| self.steward.report());
    }
}
