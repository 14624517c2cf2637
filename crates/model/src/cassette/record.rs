//! A provider that writes down what another one answers.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use holon_core::redact::Redactor;
use serde_json::Value;

use super::normal::Normaliser;
use super::write::HEADING;
use super::{CassetteStep, CassetteTurn, RecordedRequest};
use crate::cancel::ModelCancel;
use crate::error::ModelError;
use crate::message::{Reasoning, ToolCall};
use crate::provider::{DeltaSink, PendingReply, Provider};
use crate::reply::{ModelReply, ReplyDelta};
use crate::request::ModelRequest;

type TapeSave = Box<dyn FnMut(&str) -> io::Result<()> + Send>;

/// Records every turn as it ends, redacted, so that a run that is killed leaves what it had.
pub struct RecordingProvider<P> {
    inner: P,
    normaliser: Normaliser,
    tape: Mutex<Tape>,
}

struct Tape {
    save: TapeSave,
    /// The text of the request before.
    previous: String,
    begun: bool,
    /// For the first turn.
    window: Option<u64>,
    problem: Option<String>,
    /// Requests that began.
    tickets: u64,
    /// Requests that are written, or will never be.
    written: u64,
    /// Turns that wait for earlier ones: a replay asks in the order in which requests began.
    waiting: BTreeMap<u64, Option<(String, CassetteTurn)>>,
}

impl Tape {
    /// Takes what became of a request and writes all that is ready.
    fn settle(&mut self, ticket: u64, turn: Option<(String, CassetteTurn)>) {
        self.waiting.entry(ticket).or_insert(turn);
        while let Some(next) = self.waiting.remove(&self.written) {
            self.written += 1;
            if let Some((text, turn)) = next {
                self.write(text, turn);
            }
        }
    }

    fn write(&mut self, text: String, turn: CassetteTurn) {
        let asked = RecordedRequest::after(&self.previous, &text);
        self.previous = text;
        let heading = if std::mem::replace(&mut self.begun, true) { "" } else { HEADING };
        let turn = CassetteTurn { asked: Some(asked), window: self.window.take(), ..turn };
        if let Err(error) = (self.save)(&format!("{heading}{}", turn.to_yaml())) {
            self.problem.get_or_insert(format!("the recording cannot be written: {error}"));
        }
    }
}

/// The place of a request on the tape; given back unused when the request is dropped.
struct TapeTicket<'a> {
    tape: &'a Mutex<Tape>,
    number: u64,
    used: bool,
}

impl<'a> TapeTicket<'a> {
    fn take(tape: &'a Mutex<Tape>) -> Self {
        let mut locked = tape.lock().unwrap_or_else(PoisonError::into_inner);
        let number = locked.tickets;
        locked.tickets += 1;
        drop(locked);
        Self { tape, number, used: false }
    }

    fn settle(mut self, text: String, turn: CassetteTurn) {
        self.used = true;
        let mut tape = self.tape.lock().unwrap_or_else(PoisonError::into_inner);
        tape.settle(self.number, Some((text, turn)));
    }
}

impl Drop for TapeTicket<'_> {
    fn drop(&mut self) {
        if !self.used {
            self.tape.lock().unwrap_or_else(PoisonError::into_inner).settle(self.number, None);
        }
    }
}

impl<P: Provider> RecordingProvider<P> {
    /// Records what `inner` answers; `save` appends a piece of text to the cassette.
    pub fn new(
        inner: P,
        normaliser: Normaliser,
        save: impl FnMut(&str) -> io::Result<()> + Send + 'static,
    ) -> Self {
        let tape = Tape {
            save: Box::new(save),
            previous: String::new(),
            begun: false,
            window: None,
            problem: None,
            tickets: 0,
            written: 0,
            waiting: BTreeMap::new(),
        };
        Self { inner, normaliser, tape: Mutex::new(tape) }
    }

    /// Writes the model's window down, too.
    #[must_use]
    pub fn with_window(self, window: u64) -> Self {
        self.tape.lock().unwrap_or_else(PoisonError::into_inner).window = Some(window);
        self
    }

    /// Why the recording is incomplete, if it is; the run itself goes on.
    pub fn problem(&self) -> Option<String> {
        self.tape.lock().unwrap_or_else(PoisonError::into_inner).problem.clone()
    }
}

impl<P: Provider> Provider for RecordingProvider<P> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn stream<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a mut dyn DeltaSink,
        cancel: &'a ModelCancel,
    ) -> PendingReply<'a> {
        Box::pin(async move {
            let ticket = TapeTicket::take(&self.tape);
            let mut heard = TapingSink { sink, steps: Vec::new() };
            let outcome: Result<ModelReply, ModelError> =
                self.inner.stream(request, &mut heard, cancel).await;
            let turn = match &outcome {
                Ok(reply) => CassetteTurn::from_reply(reply),
                Err(error) => {
                    let mut steps = heard.steps;
                    steps.push(CassetteStep::Error(error.clone()));
                    CassetteTurn { steps, ..CassetteTurn::default() }
                }
            };
            let turn = redacted(turn, self.normaliser.redactor());
            ticket.settle(self.normaliser.text(request), turn);
            outcome
        })
    }
}

/// Passes pieces on and keeps the words, for the case that no reply comes of them.
struct TapingSink<'a> {
    sink: &'a mut dyn DeltaSink,
    steps: Vec<CassetteStep>,
}

impl DeltaSink for TapingSink<'_> {
    fn delta(&mut self, delta: ReplyDelta) {
        match (&delta, self.steps.last_mut()) {
            (ReplyDelta::Text(more), Some(CassetteStep::Text(text))) => text.push_str(more),
            (ReplyDelta::Text(text), _) => self.steps.push(CassetteStep::Text(text.clone())),
            (ReplyDelta::Reasoning(more), Some(CassetteStep::Reasoning(reasoning))) => {
                reasoning.text.push_str(more)
            }
            (ReplyDelta::Reasoning(text), _) => {
                self.steps.push(CassetteStep::Reasoning(Reasoning { text: text.clone(), seal: None }));
            }
            (ReplyDelta::Restart, _) => self.steps.clear(),
            // Half a call is worth nothing.
            (ReplyDelta::CallStarted { .. } | ReplyDelta::CallArguments { .. }, _) => {}
        }
        self.sink.delta(delta);
    }

    fn waiting(&mut self, pause: Duration, why: &ModelError) {
        self.sink.waiting(pause, why);
    }
}

fn redacted(turn: CassetteTurn, redactor: &Redactor) -> CassetteTurn {
    let clean = |text: &str| redactor.redact_str(text);
    let steps = turn.steps.into_iter().map(|step| match step {
        CassetteStep::Text(text) => CassetteStep::Text(clean(&text)),
        CassetteStep::Reasoning(mut reasoning) => {
            reasoning.text = clean(&reasoning.text);
            if let Some(seal) = &mut reasoning.seal {
                seal.value = redactor.redact_json(&seal.value);
            }
            CassetteStep::Reasoning(reasoning)
        }
        CassetteStep::Call(mut call) => {
            call.id = call.id.as_deref().map(clean);
            call.name = clean(&call.name);
            call.arguments = clean_arguments(&call.arguments, redactor);
            CassetteStep::Call(call)
        }
        CassetteStep::Error(mut error) => {
            error.message = clean(&error.message);
            error.request_id = error.request_id.as_deref().map(clean);
            CassetteStep::Error(error)
        }
        step @ (CassetteStep::Delay(_) | CassetteStep::Cut) => step,
    });
    let steps = steps.collect();
    CassetteTurn { steps, id: turn.id.as_deref().map(clean), model: turn.model.as_deref().map(clean), ..turn }
}

/// Cleans the values first, so that what is left is still JSON, and then the text as a whole.
fn clean_arguments(arguments: &str, redactor: &Redactor) -> String {
    let parsed = ToolCall::new("", "", arguments).object();
    let text = match parsed.map(Value::Object) {
        Ok(value) => {
            let clean = redactor.redact_json(&value);
            if clean == value { arguments.to_owned() } else { clean.to_string() }
        }
        Err(_) => arguments.to_owned(),
    };
    redactor.redact_str(&text)
}
