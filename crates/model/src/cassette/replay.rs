//! A provider that answers from a cassette.

use std::sync::{Mutex, PoisonError};

use super::difference::first_difference;
use super::normal::{Normaliser, digest};
use super::{Cassette, CassetteStep, CassetteTurn, TurnExpectation};
use crate::cancel::ModelCancel;
use crate::error::{ModelError, ModelErrorKind, excerpt};
use crate::message::{MessagePart, ModelMessage};
use crate::provider::{DeltaSink, PendingReply, Provider};
use crate::reply::ReplyDelta;
use crate::request::ModelRequest;

/// Answers each request with the next turn, if the request is the one the turn was recorded for.
#[derive(Debug)]
pub struct ReplayProvider {
    cassette: Cassette,
    normaliser: Normaliser,
    /// The recorded text of each turn's request.
    texts: Vec<Option<String>>,
    /// Which turns were played.
    played: Mutex<Vec<bool>>,
}

/// How far ahead a turn is looked for when requests that ran side by side come in another order.
const AHEAD: usize = 16;

impl ReplayProvider {
    /// Plays a cassette; the normaliser folds this run's paths as the recorder's did its own.
    pub fn new(cassette: Cassette, normaliser: Normaliser) -> Self {
        let mut previous = String::new();
        let mut texts = Vec::new();
        for turn in &cassette.turns {
            let text = turn.asked.as_ref().map(|asked| asked.whole(&previous));
            if let Some(text) = &text {
                previous.clone_from(text);
            }
            texts.push(text);
        }
        let played = Mutex::new(vec![false; cassette.turns.len()]);
        Self { cassette, normaliser, texts, played }
    }

    /// How many turns were not asked for; none are left of a run that was replayed whole.
    pub fn left(&self) -> usize {
        let played = self.played.lock().unwrap_or_else(PoisonError::into_inner);
        played.iter().filter(|played| !**played).count()
    }

    /// The turn for a request and its number, if it fits.
    fn take(&self, request: &ModelRequest) -> Result<(usize, &CassetteTurn), ModelError> {
        let mut played = self.played.lock().unwrap_or_else(PoisonError::into_inner);
        let count = played.iter().filter(|played| **played).count() + 1;
        let misfit =
            |problem: String| ModelError::new(ModelErrorKind::Replay, format!("request {count}: {problem}"));
        let Some(next) = played.iter().position(|played| !played) else {
            let last = request.messages.last().map(words).unwrap_or_default();
            return Err(misfit(format!(
                "the cassette ends after {} turns; the request's last message is `{}`",
                played.len(),
                excerpt(&last)
            )));
        };
        let text = self.normaliser.text(request);
        let index = match &self.cassette.turns[next].asked {
            Some(_) => {
                let digest = digest(&text);
                let fits = |index: &usize| {
                    !played[*index] && self.asked_digest(*index).is_some_and(|asked| asked == digest)
                };
                let found = (next..played.len().min(next + AHEAD)).find(fits);
                found.ok_or_else(|| misfit(self.explain(next, &text)))?
            }
            None => next,
        };
        let turn = &self.cassette.turns[index];
        turn.expect.check(request, &text).map_err(misfit)?;
        played[index] = true;
        Ok((index + 1, turn))
    }

    fn asked_digest(&self, index: usize) -> Option<&str> {
        self.cassette.turns[index].asked.as_ref().map(|asked| asked.digest.as_str())
    }

    /// How a request differs from the one a turn was recorded for.
    fn explain(&self, index: usize, text: &str) -> String {
        let expected = self.texts[index].as_deref().unwrap_or_default();
        if expected == text {
            return "its digest in the cassette was changed; remove its `request` to match by order alone"
                .to_owned();
        }
        format!("it differs from the recorded one at {}", first_difference(expected, text))
    }
}

impl Provider for ReplayProvider {
    fn name(&self) -> &str {
        "replay"
    }

    fn stream<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a mut dyn DeltaSink,
        cancel: &'a ModelCancel,
    ) -> PendingReply<'a> {
        Box::pin(async move {
            if cancel.is_cancelled() {
                return Err(ModelError::cancelled());
            }
            let (number, turn) = self.take(request)?;
            let mut calls = 0;
            for step in &turn.steps {
                match step {
                    CassetteStep::Text(text) if text.is_empty() => {}
                    CassetteStep::Text(text) => sink.delta(ReplyDelta::Text(text.clone())),
                    CassetteStep::Reasoning(reasoning) if reasoning.text.is_empty() => {}
                    CassetteStep::Reasoning(reasoning) => {
                        sink.delta(ReplyDelta::Reasoning(reasoning.text.clone()))
                    }
                    CassetteStep::Call(call) => {
                        sink.delta(ReplyDelta::CallStarted { index: calls, name: call.name.clone() });
                        sink.delta(ReplyDelta::CallArguments { index: calls, text: call.arguments.clone() });
                        calls += 1;
                    }
                    // The time that was recorded.
                    CassetteStep::Delay(pause) => cancel.race(tokio::time::sleep(*pause)).await?,
                    CassetteStep::Error(_) | CassetteStep::Cut => {}
                }
            }
            turn.outcome(number)
        })
    }
}

impl TurnExpectation {
    /// Says what of it does not hold; `text` is the normalised request.
    pub fn check(&self, request: &ModelRequest, text: &str) -> Result<(), String> {
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
fn words(message: &ModelMessage) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        MessagePart::Text(text) => Some(text.as_str()),
        MessagePart::Result(result) => Some(result.text.as_str()),
        MessagePart::Reasoning(_) | MessagePart::Call(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
