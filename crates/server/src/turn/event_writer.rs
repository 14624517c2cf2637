//! Writes down what a turn tells: the loop's events become the thread's, numbered and stored.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use holon_agent::AgentEventSink;
use holon_core::event::{ApprovalRequest, EventBody};
use holon_core::ids::{CallId, ThreadId};
use holon_core::manifest::UsageTotals;
use holon_core::policy::class_of;
use holon_core::redact::RedactStream;
use holon_store::{InterruptRow, StoreError, StoreWrite};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::call_output::{CallOutput, MOST_OF_A_TURN};
use super::plan::SupervisorPlan;
use crate::app::AppState;
use crate::event_log::{EventDraft, RunningOutput};
use crate::live_threads::LiveThreadHandle;

/// Pause between two commits that hold nothing but pieces of text, so that pieces become lines.
const BREATH: Duration = Duration::from_millis(25);
/// Words that become one event, however many there are to store at once.
const MOST_WORDS: usize = 16 << 10;
/// Most of a call's changes that is shown with its event.
const MOST_DIFF: usize = 96 << 10;

/// Hears the agent; never waits.
pub(crate) struct TurnEventSender(pub(crate) UnboundedSender<EventWriterInput>);

/// What a scribe is told.
pub(crate) enum EventWriterInput {
    /// By the loop.
    Body(Box<EventBody>),
    /// What a call made of a file.
    Edited(CallId, String),
    /// To be written with what was told before.
    Writes(Vec<StoreWrite>),
    /// Calls that were proposed before the turn waited for a person.
    Waited(Vec<ApprovalRequest>),
}

impl AgentEventSink for TurnEventSender {
    fn tell(&self, body: EventBody) {
        // Whoever listens is there until the turn is over.
        let _ = self.0.send(EventWriterInput::Body(Box::new(body)));
    }

    fn edited(&self, call: &CallId, diff: String) {
        let _ = self.0.send(EventWriterInput::Edited(call.clone(), diff));
    }
}

/// Writes one turn down.
pub(crate) struct TurnEventWriter {
    pub(crate) app: Arc<AppState>,
    pub(crate) held: LiveThreadHandle,
    pub(crate) thread: ThreadId,
    pub(crate) turn: u64,
    pub(crate) mode: String,
    calls: HashMap<String, OpenCallRecord>,
    text: RedactStream,
    thoughts: RedactStream,
    plan: SupervisorPlan,
    drafts: Vec<EventDraft>,
    writes: Vec<StoreWrite>,
    /// What the thread used so far, as told last.
    usage: Option<UsageTotals>,
    /// What of this turn's outputs may still be kept.
    room: u64,
    /// A running call has printed something that nobody was shown.
    printed: bool,
}

#[derive(Default)]
struct OpenCallRecord {
    tool: String,
    class: String,
    summary: Option<String>,
    digest: String,
    output: Option<CallOutput>,
    diff: String,
}

impl TurnEventWriter {
    pub(crate) fn new(
        app: Arc<AppState>,
        held: LiveThreadHandle,
        thread: ThreadId,
        turn: u64,
        mode: String,
    ) -> Self {
        let (text, thoughts) = (app.redactor.stream(), app.redactor.stream());
        let (calls, plan, drafts, writes) = Default::default();
        let (usage, room, printed) = (None, MOST_OF_A_TURN, false);
        Self {
            app,
            held,
            thread,
            turn,
            mode,
            calls,
            text,
            thoughts,
            plan,
            drafts,
            writes,
            usage,
            room,
            printed,
        }
    }

    /// Writes until everybody who could tell something is gone; gives back what the thread used.
    pub(crate) async fn write_all(
        mut self,
        mut told: UnboundedReceiver<EventWriterInput>,
    ) -> Result<Option<UsageTotals>, StoreError> {
        while let Some(first) = told.recv().await {
            self.take(first);
            while let Ok(more) = told.try_recv() {
                self.take(more);
            }
            let pause = self.only_words() || self.only_output();
            self.commit().await?;
            if pause {
                // A limit on how often is written: pieces of text that come meanwhile are stored together.
                tokio::time::sleep(BREATH).await;
            }
        }
        self.flush();
        self.commit().await?;
        Ok(self.usage)
    }

    /// Whether there is something to store, and nothing of it but pieces of text.
    fn only_words(&self) -> bool {
        let words = |draft: &EventDraft| matches!(draft.kind, "message" | "reasoning");
        self.writes.is_empty() && !self.drafts.is_empty() && self.drafts.iter().all(words)
    }

    /// Whether there is nothing to be told but what running calls print.
    fn only_output(&self) -> bool {
        self.printed && self.drafts.is_empty()
    }

    async fn commit(&mut self) -> Result<(), StoreError> {
        let (drafts, writes) = (std::mem::take(&mut self.drafts), std::mem::take(&mut self.writes));
        self.held.feed.tell(drafts, writes).await?;
        // After the calls themselves: whoever hears what one prints knows of it.
        if std::mem::take(&mut self.printed) {
            self.held.feed.show_running(self.running());
        }
        Ok(())
    }

    /// What is shown of the calls that run.
    fn running(&self) -> Vec<RunningOutput> {
        let shown = self.calls.iter().filter_map(|(call, record)| {
            let (bytes, end) = record.output.as_ref()?.now();
            Some(RunningOutput { call: call.clone(), bytes, end })
        });
        shown.collect()
    }

    fn take(&mut self, told: EventWriterInput) {
        match told {
            EventWriterInput::Writes(writes) => writes.into_iter().for_each(|write| self.add(write)),
            EventWriterInput::Body(body) => self.hear(*body),
            EventWriterInput::Edited(call, diff) => {
                let known = self.calls.entry(call.as_str().to_owned()).or_default();
                if known.diff.len() + diff.len() <= MOST_DIFF {
                    known.diff.push_str(&diff);
                }
            }
            EventWriterInput::Waited(asks) => {
                for ask in asks {
                    let class = class_of(&ask.tool, false).to_string();
                    let call = OpenCallRecord {
                        tool: ask.tool,
                        class,
                        summary: ask.summary,
                        ..OpenCallRecord::default()
                    };
                    self.calls.insert(ask.call.as_str().to_owned(), call);
                }
            }
        }
    }

    /// Of what is kept under a name, only the last counts.
    fn add(&mut self, write: StoreWrite) {
        if let StoreWrite::Keep(_, name, _) = &write {
            self.writes.retain(|other| !matches!(other, StoreWrite::Keep(_, known, _) if known == name));
        }
        self.writes.push(write);
    }

    fn hear(&mut self, body: EventBody) {
        match body {
            EventBody::MessageDelta { text } => {
                self.flush_thoughts();
                let mut clean = Vec::new();
                self.text.push(text.as_bytes(), &mut clean);
                self.words("message", &clean);
                return;
            }
            EventBody::ReasoningDelta { text } => {
                self.flush_text();
                let mut clean = Vec::new();
                self.thoughts.push(text.as_bytes(), &mut clean);
                self.words("reasoning", &clean);
                return;
            }
            EventBody::ToolOutput { call, text } => {
                let known = self.calls.entry(call.as_str().to_owned()).or_default();
                let output = known.output.get_or_insert_with(|| CallOutput::new(&self.app.redactor));
                output.push(&text);
                let whose = (&self.thread, self.turn, call.as_str());
                self.writes.extend(output.pieces(whose, &mut self.room));
                self.printed = true;
                return;
            }

            // Tells nobody anything by itself: words before and after it belong together.
            EventBody::Supervised { .. } => {}
            _ => self.flush(),
        }
        self.event(body);
    }

    fn event(&mut self, body: EventBody) {
        match body {
            EventBody::RoundStarted { round } => self.draft("round", json!({"round": round})),
            EventBody::MessageRestarted {} => self.draft("message", json!({"text": "", "restart": true})),
            EventBody::ToolProposed { call, tool, class, arguments_sha256, summary } => {
                let call = self.calls.entry(call.as_str().to_owned()).or_default();
                (call.tool, call.class, call.summary) = (tool, class.to_string(), summary);
                call.digest = arguments_sha256;
            }
            EventBody::ToolDecided { call, verdict, rule, reason } => {
                self.decided(call.as_str(), &verdict.to_string(), &rule, &reason);
            }
            EventBody::ToolFinished { call, ok, duration_ms, exit_code, summary } => {
                let known = self.calls.remove(call.as_str()).unwrap_or_default();
                let detail = json!({"call": call, "tool": known.tool, "command": known.summary,
                    "outcome": if ok { "success" } else { "failure" }, "exit_code": exit_code, "mode": self.mode});
                let audit = self.app.audit("agent", "tool_ended", Some((&self.thread, self.turn)), detail);
                self.writes.push(audit);
                let mut told = json!({"call": call, "tool": known.tool, "ok": ok, "exit_code": exit_code,
                    "duration_ms": duration_ms, "summary": summary, "output": ""});
                if let Some(output) = known.output {
                    let (said, last) = output.end((&self.thread, self.turn, call.as_str()), &mut self.room);
                    self.writes.extend(last);
                    self.printed = true;
                    if let (Some(told), Value::Object(said)) = (told.as_object_mut(), said) {
                        told.extend(said);
                    }
                }
                if !known.diff.is_empty() {
                    told["diff"] = known.diff.into();
                }
                self.draft("tool_end", told);
            }
            EventBody::TodosChanged { todos } => self.draft("graph", json!({"todos": todos})),
            EventBody::Interrupted { id, asks } => self.interrupted(&id, &asks),
            EventBody::Usage { total } => {
                self.usage = Some(total.clone());
                self.draft("usage", json!(total));
            }
            EventBody::ModelWaiting { wait_ms, reason } => {
                self.draft("note", json!({"kind": "waiting", "text": reason, "wait_ms": wait_ms}));
            }
            EventBody::Compacted { before, after } => {
                self.draft("note", json!({"kind": "compacted", "text": format!("{before} → {after}")}));
            }
            EventBody::Warning { message } => self.draft("note", json!({"kind": "warning", "text": message})),
            EventBody::Supervised { decisions, .. } => {
                if let Some(graph) = self.plan.take(&decisions) {
                    let data = json!({"graph": graph});
                    self.draft("graph", data);
                }
            }
            EventBody::Supervisor { record } => self.draft("supervisor", json!({"record": record})),
            // The rest is told by how the turn ends, or is for replaying runs only.
            _ => {}
        }
    }

    fn decided(&mut self, id: &str, verdict: &str, rule: &str, reason: &str) {
        let call = self.calls.entry(id.to_owned()).or_default();
        let data = json!({"call": id, "tool": call.tool, "class": call.class, "summary": call.summary,
            "decision": verdict, "rule": rule, "reason": reason});
        let detail = json!({"call": id, "tool": call.tool, "command": call.summary, "verdict": verdict, "rule": rule, "mode": self.mode,
            "arguments_sha256": call.digest});
        let actor = if rule == "person" { "person" } else { "policy" };
        let tool = call.tool.clone();
        self.draft("tool_start", data);
        if verdict == "deny" {
            // Nothing else comes of it.
            self.calls.remove(id);
            let told = json!({"call": id, "tool": tool, "ok": false, "denied": true, "exit_code": null,
                "duration_ms": 0, "summary": reason, "output": ""});
            self.draft("tool_end", told);
        }
        let audit = self.app.audit(actor, "tool_decided", Some((&self.thread, self.turn)), detail);
        self.writes.push(audit);
    }

    fn interrupted(&mut self, id: &str, asks: &[ApprovalRequest]) {
        let data = self.app.clean(interrupt(id, asks));
        self.writes.push(StoreWrite::Interrupt(InterruptRow {
            thread: self.thread.clone(),
            id: id.to_owned(),
            turn: self.turn,
            body: data.to_string(),
            answered_at: None,
        }));
        self.draft("interrupt", data);
    }

    fn draft(&mut self, kind: &'static str, data: Value) {
        let data = self.app.clean(data);
        self.drafts.push(EventDraft { turn: self.turn, kind, data });
    }

    /// Words join the ones before them that are not stored yet.
    fn words(&mut self, kind: &'static str, clean: &[u8]) {
        if clean.is_empty() {
            return;
        }
        let text = String::from_utf8_lossy(clean);
        // A model that does not stream says everything at once, and whoever reads slowly must not hold all of it.
        for piece in pieces(&text) {
            let last = self.drafts.last_mut().filter(|d| d.kind == kind && d.data.get("restart").is_none());
            match last.and_then(|last| last.data.get_mut("text")) {
                Some(Value::String(before)) if before.len() + piece.len() <= MOST_WORDS => {
                    before.push_str(piece)
                }
                _ => self.drafts.push(EventDraft { turn: self.turn, kind, data: json!({"text": piece}) }),
            }
        }
    }

    fn flush(&mut self) {
        self.flush_thoughts();
        self.flush_text();
    }

    fn flush_text(&mut self) {
        let mut clean = Vec::new();
        self.text.flush(&mut clean);
        self.words("message", &clean);
    }

    fn flush_thoughts(&mut self) {
        let mut clean = Vec::new();
        self.thoughts.flush(&mut clean);
        self.words("reasoning", &clean);
    }
}

/// What a person is asked, in the form of the API: questions to answer, calls to approve.
fn interrupt(id: &str, asks: &[ApprovalRequest]) -> Value {
    let mut data = json!({"id": id});
    let questions: Vec<Value> = asks
        .iter()
        .flat_map(|ask| ask.questions.iter().map(move |q| (ask, q)))
        .map(|(ask, q)| json!({"call": ask.call, "question": q.text, "options": q.options}))
        .collect();
    let actions: Vec<Value> = asks
        .iter()
        .filter(|ask| ask.questions.is_empty())
        .map(|ask| json!({"call": ask.call, "name": ask.tool, "summary": ask.summary, "reason": ask.reason}))
        .collect();
    if !questions.is_empty() {
        data["questions"] = questions.into();
    }
    if !actions.is_empty() {
        data["action_requests"] = actions.into();
    }
    data
}

/// A text in parts, none of them larger than one event.
fn pieces(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let (piece, rest) = text.split_at(boundary(text, MOST_WORDS));
        text = rest;
        Some(piece).filter(|piece| !piece.is_empty())
    })
}

/// The last place up to `most` at which a text can be cut.
fn boundary(text: &str, most: usize) -> usize {
    (0..=text.len().min(most)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_event_is_larger_than_it_may_be() {
        let check = |text: &str, expect: usize| {
            let parts: Vec<&str> = pieces(text).collect();
            assert_eq!((parts.concat(), parts.len()), (text.to_owned(), expect));
            assert!(parts.iter().all(|part| part.len() <= MOST_WORDS));
        };
        check("", 0);
        check("a", 1);
        check(&"a".repeat(MOST_WORDS), 1);
        check(&"a".repeat(MOST_WORDS + 1), 2);
        check(&"好".repeat(MOST_WORDS), 4);
    }
}
