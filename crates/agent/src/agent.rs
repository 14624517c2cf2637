//! The agent: what it thinks with, acts with and answers to, and the two ways to have it go on.

use std::future::Future;
use std::pin::Pin;

use holon_core::event::EventBody;
use holon_hands::ToolExecutor;
use holon_model::{ModelCancel, Provider};

use crate::artifacts::store_report;
use crate::budget::TurnBudget;
use crate::check::CheckRunner;
use crate::conversation::AgentConversation;
use crate::ended::{TurnEndReason, TurnResult};
use crate::mcp::McpServers;
use crate::person::{PersonPrompt, PersonReply};
use crate::settings::TurnSettings;
use crate::supervisor_hook::{NoSupervisor, SupervisorHook};
use crate::turn::AgentTurn;
use crate::watcher::{AgentEventSink, NoEventSink};

/// A turn on its way.
pub type PendingTurn<'a> = Pin<Box<dyn Future<Output = TurnResult> + Send + 'a>>;

/// The native agent, ready for turns of one conversation after another.
pub struct NativeAgent<'a> {
    pub(crate) model: &'a dyn Provider,
    pub(crate) hands: &'a dyn ToolExecutor,
    pub(crate) settings: &'a TurnSettings,
    pub(crate) cancel: &'a ModelCancel,
    pub(crate) watcher: &'a dyn AgentEventSink,
    pub(crate) steward: &'a dyn SupervisorHook,
    pub(crate) person: Option<&'a dyn PersonPrompt>,
    pub(crate) servers: Option<&'a McpServers>,
    pub(crate) checker: Option<&'a dyn CheckRunner>,
}

impl<'a> NativeAgent<'a> {
    /// An agent nobody watches, who can ask nobody.
    pub fn new(
        model: &'a dyn Provider,
        hands: &'a dyn ToolExecutor,
        settings: &'a TurnSettings,
        cancel: &'a ModelCancel,
    ) -> Self {
        Self {
            model,
            hands,
            settings,
            cancel,
            watcher: &NoEventSink,
            steward: &NoSupervisor,
            person: None,
            servers: None,
            checker: None,
        }
    }

    /// Tells everything that happens to this watcher.
    #[must_use]
    pub fn watched_by(self, watcher: &'a dyn AgentEventSink) -> Self {
        Self { watcher, ..self }
    }

    /// Puts the turn under a steward.
    #[must_use]
    pub fn under(self, steward: &'a dyn SupervisorHook) -> Self {
        Self { steward, ..self }
    }

    /// Says who can be asked; without anyone, what needs a person is denied.
    #[must_use]
    pub fn asking(self, person: &'a dyn PersonPrompt) -> Self {
        Self { person: Some(person), ..self }
    }

    /// Offers the tools of these servers too, as far as the mode allows them.
    #[must_use]
    pub fn served_by(self, servers: &'a McpServers) -> Self {
        Self { servers: Some(servers), ..self }
    }

    /// Runs checks that the model did not ask for with this; without one, the hands run those of the steward.
    #[must_use]
    pub fn checked_by(self, checker: &'a dyn CheckRunner) -> Self {
        Self { checker: Some(checker), ..self }
    }

    /// Takes a message and goes on until the turn ends. The first message of a conversation is its goal.
    ///
    /// Questions that are still open count as not answered.
    pub fn turn<'t>(&'t self, conversation: &'t mut AgentConversation, message: &'t str) -> PendingTurn<'t> {
        Box::pin(async move {
            conversation.give_up_waiting();
            // What was said about an earlier goal ends with it.
            conversation.correction = None;
            conversation.ask(message);
            self.go_on(conversation, None).await
        })
    }

    /// Goes on after [`TurnEndReason::Interrupted`], with an answer to each of its asks; too few count as not answered.
    ///
    /// The agent must be [`asking`](Self::asking) someone, as it was before: where nobody can be asked, what needs a person
    /// stays denied. Without anything to answer it simply goes on, as after a model that failed.
    pub fn resume<'t>(
        &'t self,
        conversation: &'t mut AgentConversation,
        answers: Vec<PersonReply>,
    ) -> PendingTurn<'t> {
        Box::pin(self.go_on(conversation, Some(answers)))
    }

    async fn go_on(
        &self,
        conversation: &mut AgentConversation,
        answers: Option<Vec<PersonReply>>,
    ) -> TurnResult {
        let budget = TurnBudget::new(self.settings.limits);
        let before = conversation.usage;
        let mut turn = AgentTurn::new(self, &budget, before);
        let reason = turn.run(conversation, answers).await;
        let (rounds, usage) = budget.spent();
        conversation.usage = before;
        conversation.usage += usage;
        if matches!(reason, TurnEndReason::Stopped(_))
            && let Some(report) = self.steward.report()
        {
            store_report(self, conversation, &turn.text, &report).await;
        }
        self.steward.keep(conversation);
        if let TurnEndReason::Limit(limit) = reason {
            let (limit, value) = (limit.name().to_owned(), budget.value(limit));
            self.watcher.tell(EventBody::LimitHit { limit, value });
        }
        TurnResult { reason, text: turn.text, usage, rounds }
    }
}
