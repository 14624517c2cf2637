//! Asks the model, and makes room when the conversation gets too long for it.

use std::ops::ControlFlow::{Break, Continue};
use std::time::{Duration, Instant};

use holon_core::event::Body;
use holon_model::{Delta, ErrorKind, ModelError, Reply, Request, Sink, Stop, Usage};

use crate::compact::compact;
use crate::context::request_bytes;
use crate::conversation::Conversation;
use crate::ended::Reason;
use crate::fit;
use crate::turn::{Flow, Turn};
use crate::watcher::Watcher;

impl Turn<'_> {
    /// Asks the model; `None` when room had to be made and it must be asked again.
    pub(crate) async fn reply(&mut self, conversation: &mut Conversation) -> Flow<Option<Reply>> {
        let settings = self.agent.settings;
        let prompt = conversation.gauge.tokens(self.bytes(conversation));
        let request = Request {
            model: settings.model.clone(),
            system: settings.system.clone(),
            messages: conversation.for_request(),
            tools: self.told.clone(),
            max_output: settings.max_output.map(|most| fit::reply(most, settings.window, prompt)),
            effort: settings.effort,
            ..Request::default()
        };
        let bytes = request_bytes(&request.system, &request.tools, &request.messages);
        let (mut pieces, begun) = (Pieces(self.agent.watcher), Instant::now());
        let outcome = self.agent.model.stream(&request, &mut pieces, self.agent.cancel).await;
        self.tell_answer(begun, &outcome);
        let reply = match outcome {
            Ok(reply) => reply,
            Err(error) => return self.failed(conversation, error, bytes),
        };
        if let Some(usage) = reply.usage {
            conversation.gauge.learn(bytes, usage.total_input());
            self.budget.spend(settings.prices.map_or(usage, |prices| usage.priced(&prices)));
            let mut total = self.before;
            total += self.budget.spent().1;
            self.agent.watcher.tell(Body::Usage { total: total.into() });
        }
        if reply.stop == Stop::ContextFull {
            let full =
                ModelError::new(ErrorKind::ContextOverflow, "the window was full before the answer ended");
            return self.failed(conversation, full, bytes);
        }
        self.squeezed = false;
        Continue(Some(reply))
    }

    /// Says what became of a request, without a word of it.
    fn tell_answer(&self, begun: Instant, outcome: &Result<Reply, ModelError>) {
        let settings = self.agent.settings;
        let (reply, error) = (outcome.as_ref().ok(), outcome.as_ref().err());
        let usage = reply.and_then(|reply| reply.usage);
        let priced = |usage: Usage| settings.prices.map_or(usage, |prices| usage.priced(&prices));
        self.agent.watcher.tell(Body::ModelAnswered {
            provider: self.agent.model.name().to_owned(),
            model: settings.model.clone(),
            response_model: reply.and_then(|reply| reply.model.clone()),
            duration_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            usage: usage.map(|usage| priced(usage).into()),
            finish: reply.map(|reply| reply.stop.name().to_owned()),
            error: error.map(|error| error.kind.name().to_owned()),
        });
    }

    /// An overflow is mended once by making room; every other failure ends the turn.
    fn failed(
        &mut self,
        conversation: &mut Conversation,
        error: ModelError,
        bytes: u64,
    ) -> Flow<Option<Reply>> {
        match error.kind {
            ErrorKind::Cancelled => Break(Reason::Cancelled),
            ErrorKind::Refused => Break(Reason::Refused(error.message)),
            ErrorKind::ContextOverflow if !self.squeezed && self.make_room(conversation, bytes / 2) => {
                self.squeezed = true;
                Continue(None)
            }
            _ => Break(Reason::ModelFailed(error)),
        }
    }

    /// Brings the next request down to so many bytes; says whether that changed anything.
    pub(crate) fn make_room(&mut self, conversation: &mut Conversation, most: u64) -> bool {
        let before = conversation.gauge.tokens(self.bytes(conversation));
        let fixed = request_bytes(&self.agent.settings.system, &self.told, &[]);
        let changed = compact(conversation, &self.agent.settings.profile.name, most.saturating_sub(fixed));
        if changed {
            let after = conversation.gauge.tokens(self.bytes(conversation));
            self.agent.watcher.tell(Body::Compacted { before, after });
        }
        changed
    }

    pub(crate) fn bytes(&self, conversation: &Conversation) -> u64 {
        request_bytes(&self.agent.settings.system, &self.told, &conversation.messages)
    }
}

/// Passes the pieces of a reply on.
struct Pieces<'a>(&'a dyn Watcher);

impl Sink for Pieces<'_> {
    fn delta(&mut self, delta: Delta) {
        match delta {
            Delta::Text(text) => self.0.tell(Body::MessageDelta { text }),
            Delta::Reasoning(text) => self.0.tell(Body::ReasoningDelta { text }),
            Delta::Restart => self.0.tell(Body::MessageRestarted {}),
            // A call is told when it is whole.
            Delta::CallStarted { .. } | Delta::CallArguments { .. } => {}
        }
    }

    fn waiting(&mut self, pause: Duration, why: &ModelError) {
        let wait_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        self.0.tell(Body::ModelWaiting { wait_ms, reason: why.to_string() });
    }
}
