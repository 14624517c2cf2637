//! One turn: rounds of asking the model and answering its calls, until something ends it.

use std::ops::ControlFlow::{self, Break, Continue};

use holon_core::event::EventBody;
use holon_model::{MessagePart, ModelMessage, ReplyStop, TokenUsage, ToolSpec};

use crate::after_edit::QuickChecksAfterEdit;
use crate::agent::NativeAgent;
use crate::budget::TurnBudget;
use crate::conversation::AgentConversation;
use crate::ended::{FinishStatus, TurnEndReason, TurnLimit};
use crate::person::PersonReply;
use crate::reply::{self, ReplyReading};
use crate::supervisor_hook::{SupervisorAdvice, TurnFact};
use crate::tool::{self, AgentTool};

/// Whether the turn goes on.
pub(crate) type TurnFlow<T = ()> = ControlFlow<TurnEndReason, T>;

/// What is kept during one turn.
pub(crate) struct AgentTurn<'a> {
    pub(crate) agent: &'a NativeAgent<'a>,
    pub(crate) budget: &'a TurnBudget,
    pub(crate) tools: Vec<Box<dyn AgentTool + 'a>>,
    pub(crate) described: Vec<ToolSpec>,
    /// What the model is told of them.
    pub(crate) told: Vec<ToolSpec>,
    /// The summary, or the last words.
    pub(crate) text: String,
    /// Goes before the ids of calls, to tell delegated ones apart.
    pub(crate) prefix: String,
    /// What the model said when it called `finish`, until that is believed.
    pub(crate) finish: Option<(FinishStatus, String)>,
    /// Rounds this turn has for itself, within the budget it shares.
    rounds: u64,
    /// Usage of the conversation before this turn.
    pub(crate) before: TokenUsage,
    /// The model was told once what is missing.
    pub(crate) nudged: bool,
    /// Room was made since the last reply; doing it again would not help.
    pub(crate) squeezed: bool,
    /// What the checks say after edits.
    pub(crate) after_edit: QuickChecksAfterEdit,
}

impl<'a> AgentTurn<'a> {
    pub(crate) fn new(agent: &'a NativeAgent<'a>, budget: &'a TurnBudget, before: TokenUsage) -> Self {
        let tools = tool::offered(agent.settings, agent.person.is_some(), agent.servers);
        Self::with(agent, budget, tools, before, u64::MAX)
    }

    /// A turn that only looks, for at most so many rounds.
    pub(crate) fn looking(
        agent: &'a NativeAgent<'a>,
        budget: &'a TurnBudget,
        rounds: u64,
        prefix: String,
    ) -> Self {
        let turn = Self::with(agent, budget, tool::reading(), TokenUsage::default(), rounds);
        Self { prefix, ..turn }
    }

    fn with(
        agent: &'a NativeAgent<'a>,
        budget: &'a TurnBudget,
        tools: Vec<Box<dyn AgentTool + 'a>>,
        before: TokenUsage,
        rounds: u64,
    ) -> Self {
        let described: Vec<ToolSpec> = tools.iter().map(|tool| tool.describe(agent.settings)).collect();
        let commands = described.iter().any(|tool| tool.name == "execute");
        let is_told = |tool: &&ToolSpec| tool::is_told(agent.settings, &tool.name, commands);
        let told = described.iter().filter(is_told).cloned().collect();
        let (text, prefix) = (String::new(), String::new());
        Self {
            agent,
            budget,
            tools,
            described,
            told,
            text,
            prefix,
            finish: None,
            rounds,
            before,
            nudged: false,
            squeezed: false,
            after_edit: QuickChecksAfterEdit::new(&agent.settings.quick_checks),
        }
    }

    /// Goes on until the turn ends; with answers, first with the calls that waited for them.
    pub(crate) async fn run(
        &mut self,
        conversation: &mut AgentConversation,
        answers: Option<Vec<PersonReply>>,
    ) -> TurnEndReason {
        let resumed = match (answers, conversation.pending.take()) {
            (Some(answers), Some(pending)) => self.resume_calls(conversation, pending, answers).await,
            _ => Continue(()),
        };
        if let Break(reason) = resumed {
            return reason;
        }
        loop {
            if let Break(reason) = self.round(conversation).await {
                return reason;
            }
        }
    }

    async fn round(&mut self, conversation: &mut AgentConversation) -> TurnFlow {
        self.begin(conversation).await?;
        let used = self.budget.spent().1;
        let Some(reply) = self.reply(conversation).await? else { return Continue(()) };
        let reading = self.reading(conversation);
        let reply = reply::understand(reply, &self.described, reading, conversation.rounds);
        conversation.facts.said(&reply.text());
        self.text = reply.text();
        if reply.stop == ReplyStop::Refusal {
            // Calls of a reply that was broken off are not made, so they are not kept either.
            let words: Vec<MessagePart> =
                reply.parts.into_iter().filter(|part| matches!(part, MessagePart::Text(_))).collect();
            conversation.keep(&words);
            return Break(TurnEndReason::Refused(self.text.clone()));
        }
        conversation.keep(&reply.parts);
        let calls = reply.calls().count();
        tracing::debug!(round = conversation.rounds, calls, stop = ?reply.stop, "has a reply");
        let words = !self.text.trim().is_empty();
        let flow = match calls {
            0 => self.words_only(conversation, reply.stop).await,
            _ => self.answer_calls(conversation, reply.stop == ReplyStop::MaxTokens).await,
        };
        flow?;
        self.check_after_edit(conversation).await?;
        let usage = less(self.budget.spent().1, used);
        let fact = TurnFact::RoundEnded { round: conversation.rounds, calls, words, usage: &usage };
        let advice = self.agent.steward.notice(fact);
        let flow = self.heed_between(conversation, advice).await;
        self.agent.steward.keep(conversation);
        flow
    }

    /// What may be read into a reply: who calls tools as the wire wants it, and shows a file, means to show it.
    fn reading(&self, conversation: &AgentConversation) -> ReplyReading {
        let practised =
            conversation.messages.iter().flat_map(ModelMessage::calls).any(|call| !reply::was_read(call));
        match self.agent.settings.is_run() && !practised {
            true => ReplyReading::Everything,
            false => ReplyReading::Calls,
        }
    }

    /// Checks that there may be a round, and makes room for it.
    async fn begin(&mut self, conversation: &mut AgentConversation) -> TurnFlow {
        if self.agent.cancel.is_cancelled() {
            return Break(TurnEndReason::Cancelled);
        }
        if self.rounds == 0 {
            return Break(TurnEndReason::Limit(TurnLimit::Rounds));
        }
        if let Err(limit) = self.budget.take_round() {
            return Break(TurnEndReason::Limit(limit));
        }
        self.rounds -= 1;
        conversation.rounds += 1;
        let round = conversation.rounds;
        self.agent.watcher.tell(EventBody::RoundStarted { round });
        let advice = self.agent.steward.notice(TurnFact::RoundStarted { round });
        self.heed_between(conversation, advice).await?;
        let window = self.agent.settings.window;
        if conversation.gauge.tokens(self.bytes(conversation)) > window / 4 * 3 {
            self.make_room(conversation, conversation.gauge.bytes(window / 2));
        }
        Continue(())
    }

    /// Takes the steward's advice between rounds, where it may want to see a check first.
    async fn heed_between(&self, conversation: &mut AgentConversation, advice: SupervisorAdvice) -> TurnFlow {
        let wanted = advice.check.clone().filter(|_| advice.stop.is_none());
        self.heed(conversation, advice)?;
        match wanted {
            Some(command) => match self.check(&command).await {
                Some(advice) => self.heed(conversation, advice),
                None => Continue(()),
            },
            None => Continue(()),
        }
    }

    /// Takes the steward's advice.
    pub(crate) fn heed(&self, conversation: &mut AgentConversation, advice: SupervisorAdvice) -> TurnFlow {
        if let Some(text) = advice.correction {
            conversation.correction = Some(text).filter(|text| !text.is_empty());
        }
        advice.stop.map_or(Continue(()), |stop| Break(TurnEndReason::Stopped(stop)))
    }
}

fn less(now: TokenUsage, before: TokenUsage) -> TokenUsage {
    TokenUsage {
        input: now.input - before.input,
        cache_read: now.cache_read - before.cache_read,
        cache_write: now.cache_write - before.cache_write,
        output: now.output - before.output,
        reasoning: now.reasoning - before.reasoning,
        cost_usd: now.cost_usd.map(|cost| cost - before.cost_usd.unwrap_or_default()),
    }
}
