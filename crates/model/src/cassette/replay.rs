//! A provider that answers from a cassette.

use std::sync::{Mutex, PoisonError};

use super::difference::first_difference;
use super::normal::{Normaliser, digest};
use super::{Cassette, Expect, Step, Turn};
use crate::cancel::Cancel;
use crate::error::{ErrorKind, ModelError, excerpt};
use crate::message::{Message, Part};
use crate::provider::{Answer, Provider, Sink};
use crate::reply::Delta;
use crate::request::Request;

/// Answers each request with the next turn, if the request is the one the turn was recorded for.
#[derive(Debug)]
pub struct Replay {
    cassette: Cassette,
    normaliser: Normaliser,
    place: Mutex<Place>,
}

#[derive(Debug, Default)]
struct Place {
    next: usize,
    /// The text of the request the last turn was recorded for.
    previous: String,
}

impl Replay {
    /// Plays a cassette; the normaliser folds this run's paths as the recorder's did its own.
    pub fn new(cassette: Cassette, normaliser: Normaliser) -> Self {
        Self { cassette, normaliser, place: Mutex::default() }
    }

    /// How many turns were not asked for yet.
    pub fn left(&self) -> usize {
        let place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        self.cassette.turns.len() - place.next
    }

    /// The turn for a request and its number, if it fits.
    fn take(&self, request: &Request) -> Result<(usize, &Turn), ModelError> {
        let mut place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        let number = place.next + 1;
        let misfit =
            |problem: String| ModelError::new(ErrorKind::Replay, format!("request {number}: {problem}"));
        let Some(turn) = self.cassette.turns.get(place.next) else {
            let last = request.messages.last().map(words).unwrap_or_default();
            return Err(misfit(format!(
                "the cassette ends after {} turns; the request's last message is `{}`",
                self.cassette.turns.len(),
                excerpt(&last)
            )));
        };
        let text = self.normaliser.text(request);
        turn.expect.check(request, &text).map_err(misfit)?;
        if let Some(asked) = &turn.asked {
            let expected = asked.whole(&place.previous);
            if digest(&text) != asked.digest {
                return Err(misfit(if expected == text {
                    "its digest in the cassette was changed; remove it to match by order alone".to_owned()
                } else {
                    format!("it differs from the recorded one at {}", first_difference(&expected, &text))
                }));
            }
            place.previous = text;
        }
        place.next += 1;
        Ok((number, turn))
    }
}

impl Provider for Replay {
    fn name(&self) -> &str {
        "replay"
    }

    fn stream<'a>(&'a self, request: &'a Request, sink: &'a mut dyn Sink, cancel: &'a Cancel) -> Answer<'a> {
        Box::pin(async move {
            if cancel.is_cancelled() {
                return Err(ModelError::cancelled());
            }
            let (number, turn) = self.take(request)?;
            let mut calls = 0;
            for step in &turn.steps {
                match step {
                    Step::Text(text) if text.is_empty() => {}
                    Step::Text(text) => sink.delta(Delta::Text(text.clone())),
                    Step::Reasoning(reasoning) if reasoning.text.is_empty() => {}
                    Step::Reasoning(reasoning) => sink.delta(Delta::Reasoning(reasoning.text.clone())),
                    Step::Call(call) => {
                        sink.delta(Delta::CallStarted { index: calls, name: call.name.clone() });
                        sink.delta(Delta::CallArguments { index: calls, text: call.arguments.clone() });
                        calls += 1;
                    }
                    Step::Delay(pause) => cancel.race(tokio::time::sleep(*pause)).await?,
                    Step::Error(_) | Step::Cut => {}
                }
            }
            turn.outcome(number)
        })
    }
}

impl Expect {
    /// Says what of it does not hold; `text` is the normalised request.
    pub fn check(&self, request: &Request, text: &str) -> Result<(), String> {
        let last = request.messages.last().map(words).unwrap_or_default();
        for wanted in &self.contains {
            if !text.contains(wanted.as_str()) {
                return Err(format!("it should contain `{wanted}`; it is:\n{}", excerpt(text)));
            }
        }
        for wanted in &self.last {
            if !last.contains(wanted.as_str()) {
                return Err(format!(
                    "its last message should contain `{wanted}`; it is `{}`",
                    excerpt(&last)
                ));
            }
        }
        if let Some(unwanted) = self.lacks.iter().find(|unwanted| text.contains(unwanted.as_str())) {
            return Err(format!("it should not contain `{unwanted}`"));
        }
        if let Some(tools) = &self.tools {
            let mut wanted: Vec<&str> = tools.iter().map(String::as_str).collect();
            let mut offered: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
            wanted.sort_unstable();
            offered.sort_unstable();
            if wanted != offered {
                return Err(format!("it should offer the tools {wanted:?}, and offers {offered:?}"));
            }
        }
        match &self.model {
            Some(model) if *model != request.model => {
                Err(format!("it should be for the model `{model}`, and is for `{}`", request.model))
            }
            _ => Ok(()),
        }
    }
}

/// All that a message says, results included.
fn words(message: &Message) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        Part::Result(result) => Some(result.text.as_str()),
        Part::Reasoning(_) | Part::Call(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
