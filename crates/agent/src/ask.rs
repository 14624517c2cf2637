//! Asks the model, and makes room when the conversation gets too long for it.

use std::ops::ControlFlow::{Break, Continue};
use std::time::{Duration, Instant};

use holon_core::event::EventBody;
use holon_model::{
    BudgetIsSpent, BudgetShare, DeltaSink, ModelError, ModelErrorKind, ModelReply, ModelRequest, MostCost,
    ReplyDelta, ReplyStop, TokenUsage,
};

use crate::compact::compact;
use crate::context::request_bytes;
use crate::conversation::AgentConversation;
use crate::ended::{TurnEndReason, TurnLimit};
use crate::fit;
use crate::turn::{AgentTurn, TurnFlow};
use crate::watcher::AgentEventSink;

impl AgentTurn<'_> {
    /// Asks the model; `None` when room had to be made and it must be asked again.
    pub(crate) async fn reply(
        &mut self,
        conversation: &mut AgentConversation,
    ) -> TurnFlow<Option<ModelReply>> {
        let settings = self.agent.settings;
        let prompt = conversation.gauge.tokens(self.bytes(conversation));
        let request = ModelRequest {
            model: settings.model.clone(),
            system: settings.system.clone(),
            messages: conversation.for_request(),
            tools: self.told.clone(),
            max_output: settings.max_output.map(|most| fit::reply(most, settings.window, prompt)),
            effort: settings.effort,
            ..ModelRequest::default()
        };
        let bytes = request_bytes(&request.system, &request.tools, &request.messages);
        let share = self.share(bytes, request.max_output).await?;
        let (mut pieces, begun) = (ReplyForwarder(self.agent.watcher), Instant::now());
        let outcome = self.agent.model.stream(&request, &mut pieces, self.agent.cancel).await;
        self.tell_answer(begun, &outcome);
        if let Some(share) = share {
            let usage = outcome.as_ref().ok().and_then(|reply| reply.usage);
            share.settle(usage.and_then(|usage| self.priced(usage).cost_usd));
        }
        let reply = match outcome {
            Ok(reply) => reply,
            Err(error) => return self.failed(conversation, error, bytes),
        };
        if let Some(usage) = reply.usage {
            conversation.gauge.learn(bytes, usage.total_input());
            self.budget.spend(self.priced(usage));
            let mut total = self.before;
            total += self.budget.spent().1;
            // A checkpoint knows of it, too.
            conversation.usage = total;
            self.agent.watcher.tell(EventBody::Usage { total: total.into() });
        }
        if reply.stop == ReplyStop::ContextFull {
            let full = ModelError::new(
                ModelErrorKind::ContextOverflow,
                "the window was full before the answer ended",
            );
            return self.failed(conversation, full, bytes);
        }
        self.squeezed = false;
        Continue(Some(reply))
    }

    /// Waits until there is money for a request, where it is shared with other work.
    async fn share(&self, bytes: u64, max_output: Option<u32>) -> TurnFlow<Option<BudgetShare>> {
        let settings = self.agent.settings;
        let Some(shared) = &settings.shared else { return Continue(None) };
        // Who told nothing about money when it was asked before will not do so now.
        let used = self.budget.spent().1;
        let told = used.cost_usd.is_some() || used == TokenUsage::default();
        let longest = max_output.map_or(settings.window, u64::from);
        let most = MostCost::of(bytes, Some(longest), settings.prices.as_ref(), told);
        match self.agent.cancel.race(shared.admit(most)).await {
            Ok(Ok(share)) => Continue(Some(share)),
            Ok(Err(BudgetIsSpent)) => Break(TurnEndReason::Limit(TurnLimit::Cost)),
            Err(_) => Break(TurnEndReason::Cancelled),
        }
    }

    fn priced(&self, usage: TokenUsage) -> TokenUsage {
        self.agent.settings.prices.map_or(usage, |prices| usage.priced(&prices))
    }

    /// Says what became of a request, without a word of it.
    fn tell_answer(&self, begun: Instant, outcome: &Result<ModelReply, ModelError>) {
        let settings = self.agent.settings;
        let (reply, error) = (outcome.as_ref().ok(), outcome.as_ref().err());
        let usage = reply.and_then(|reply| reply.usage);
        self.agent.watcher.tell(EventBody::ModelAnswered {
            provider: self.agent.model.name().to_owned(),
            model: settings.model.clone(),
            response_model: reply.and_then(|reply| reply.model.clone()),
            duration_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            usage: usage.map(|usage| self.priced(usage).into()),
            finish: reply.map(|reply| reply.stop.name().to_owned()),
            error: error.map(|error| error.kind.name().to_owned()),
        });
    }

    /// An overflow is mended once by making room; every other failure ends the turn.
    fn failed(
        &mut self,
        conversation: &mut AgentConversation,
        error: ModelError,
        bytes: u64,
    ) -> TurnFlow<Option<ModelReply>> {
        match error.kind {
            ModelErrorKind::Cancelled => Break(TurnEndReason::Cancelled),
            ModelErrorKind::Refused => Break(TurnEndReason::Refused(error.message)),
            ModelErrorKind::ContextOverflow if !self.squeezed && self.make_room(conversation, bytes / 2) => {
                self.squeezed = true;
                Continue(None)
            }
            _ => Break(TurnEndReason::ModelFailed(error)),
        }
    }

    /// Brings the next request down to so many bytes; says whether that changed anything.
    pub(crate) fn make_room(&mut self, conversation: &mut AgentConversation, most: u64) -> bool {
        let before = conversation.gauge.tokens(self.bytes(conversation));
        let fixed = request_bytes(&self.agent.settings.system, &self.told, &[]);
        let changed = compact(conversation, &self.agent.settings.profile.name, most.saturating_sub(fixed));
        if changed {
            let after = conversation.gauge.tokens(self.bytes(conversation));
            self.agent.watcher.tell(EventBody::Compacted { before, after });
        }
        changed
    }

    pub(crate) fn bytes(&self, conversation: &AgentConversation) -> u64 {
        request_bytes(&self.agent.settings.system, &self.told, &conversation.messages)
    }
}

/// Passes the pieces of a reply on.
struct ReplyForwarder<'a>(&'a dyn AgentEventSink);

impl DeltaSink for ReplyForwarder<'_> {
    fn delta(&mut self, delta: ReplyDelta) {
        match delta {
            ReplyDelta::Text(text) => self.0.tell(EventBody::MessageDelta { text }),
            ReplyDelta::Reasoning(text) => self.0.tell(EventBody::ReasoningDelta { text }),
            ReplyDelta::Restart => self.0.tell(EventBody::MessageRestarted {}),
            // A call is told when it is whole.
            ReplyDelta::CallStarted { .. } | ReplyDelta::CallArguments { .. } => {}
        }
    }

    fn waiting(&mut self, pause: Duration, why: &ModelError) {
        let wait_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        self.0.tell(EventBody::ModelWaiting { wait_ms, reason: why.to_string() });
    }
}
