//! A provider that writes down what another one answers.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use holon_core::redact::Redactor;
use serde_json::Value;

use super::normal::Normaliser;
use super::write::HEADING;
use super::{Asked, Step, Turn};
use crate::cancel::Cancel;
use crate::error::ModelError;
use crate::message::{Reasoning, ToolCall};
use crate::provider::{Answer, Provider, Sink};
use crate::reply::{Delta, Reply};
use crate::request::Request;

type Save = Box<dyn FnMut(&str) -> io::Result<()> + Send>;

/// Records every turn as it ends, redacted, so that a run that is killed leaves what it had.
pub struct Recorder<P> {
    inner: P,
    normaliser: Normaliser,
    tape: Mutex<Tape>,
}

struct Tape {
    save: Save,
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
    waiting: BTreeMap<u64, Option<(String, Turn)>>,
}

impl Tape {
    /// Takes what became of a request and writes all that is ready.
    fn settle(&mut self, ticket: u64, turn: Option<(String, Turn)>) {
        self.waiting.entry(ticket).or_insert(turn);
        while let Some(next) = self.waiting.remove(&self.written) {
            self.written += 1;
            if let Some((text, turn)) = next {
                self.write(text, turn);
            }
        }
    }

    fn write(&mut self, text: String, turn: Turn) {
        let asked = Asked::after(&self.previous, &text);
        self.previous = text;
        let heading = if std::mem::replace(&mut self.begun, true) { "" } else { HEADING };
        let turn = Turn { asked: Some(asked), window: self.window.take(), ..turn };
        if let Err(error) = (self.save)(&format!("{heading}{}", turn.to_yaml())) {
            self.problem.get_or_insert(format!("the recording cannot be written: {error}"));
        }
    }
}

/// The place of a request on the tape; given back unused when the request is dropped.
struct Ticket<'a> {
    tape: &'a Mutex<Tape>,
    number: u64,
    used: bool,
}

impl<'a> Ticket<'a> {
    fn take(tape: &'a Mutex<Tape>) -> Self {
        let mut locked = tape.lock().unwrap_or_else(PoisonError::into_inner);
        let number = locked.tickets;
        locked.tickets += 1;
        drop(locked);
        Self { tape, number, used: false }
    }

    fn settle(mut self, text: String, turn: Turn) {
        self.used = true;
        let mut tape = self.tape.lock().unwrap_or_else(PoisonError::into_inner);
        tape.settle(self.number, Some((text, turn)));
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        if !self.used {
            self.tape.lock().unwrap_or_else(PoisonError::into_inner).settle(self.number, None);
        }
    }
}

impl<P: Provider> Recorder<P> {
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

impl<P: Provider> Provider for Recorder<P> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn stream<'a>(&'a self, request: &'a Request, sink: &'a mut dyn Sink, cancel: &'a Cancel) -> Answer<'a> {
        Box::pin(async move {
            let ticket = Ticket::take(&self.tape);
            let mut heard = Heard { sink, steps: Vec::new() };
            let outcome: Result<Reply, ModelError> = self.inner.stream(request, &mut heard, cancel).await;
            let turn = match &outcome {
                Ok(reply) => Turn::from_reply(reply),
                Err(error) => {
                    let mut steps = heard.steps;
                    steps.push(Step::Error(error.clone()));
                    Turn { steps, ..Turn::default() }
                }
            };
            let turn = redacted(turn, self.normaliser.redactor());
            ticket.settle(self.normaliser.text(request), turn);
            outcome
        })
    }
}

/// Passes pieces on and keeps the words, for the case that no reply comes of them.
struct Heard<'a> {
    sink: &'a mut dyn Sink,
    steps: Vec<Step>,
}

impl Sink for Heard<'_> {
    fn delta(&mut self, delta: Delta) {
        match (&delta, self.steps.last_mut()) {
            (Delta::Text(more), Some(Step::Text(text))) => text.push_str(more),
            (Delta::Text(text), _) => self.steps.push(Step::Text(text.clone())),
            (Delta::Reasoning(more), Some(Step::Reasoning(reasoning))) => reasoning.text.push_str(more),
            (Delta::Reasoning(text), _) => {
                self.steps.push(Step::Reasoning(Reasoning { text: text.clone(), seal: None }));
            }
            (Delta::Restart, _) => self.steps.clear(),
            // Half a call is worth nothing.
            (Delta::CallStarted { .. } | Delta::CallArguments { .. }, _) => {}
        }
        self.sink.delta(delta);
    }

    fn waiting(&mut self, pause: Duration, why: &ModelError) {
        self.sink.waiting(pause, why);
    }
}

fn redacted(turn: Turn, redactor: &Redactor) -> Turn {
    let clean = |text: &str| redactor.redact_str(text);
    let steps = turn.steps.into_iter().map(|step| match step {
        Step::Text(text) => Step::Text(clean(&text)),
        Step::Reasoning(mut reasoning) => {
            reasoning.text = clean(&reasoning.text);
            if let Some(seal) = &mut reasoning.seal {
                seal.value = redactor.redact_json(&seal.value);
            }
            Step::Reasoning(reasoning)
        }
        Step::Call(mut call) => {
            call.id = call.id.as_deref().map(clean);
            call.name = clean(&call.name);
            call.arguments = clean_arguments(&call.arguments, redactor);
            Step::Call(call)
        }
        Step::Error(mut error) => {
            error.message = clean(&error.message);
            error.request_id = error.request_id.as_deref().map(clean);
            Step::Error(error)
        }
        step @ (Step::Delay(_) | Step::Cut) => step,
    });
    let steps = steps.collect();
    Turn { steps, id: turn.id.as_deref().map(clean), model: turn.model.as_deref().map(clean), ..turn }
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
