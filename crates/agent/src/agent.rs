//! The agent: what it thinks with, acts with and answers to, and the two ways to have it go on.

use std::future::Future;
use std::pin::Pin;

use holon_core::event::Body;
use holon_hands::Hands;
use holon_model::{Cancel, Provider};

use crate::artifacts::store_report;
use crate::budget::Budget;
use crate::check::Checker;
use crate::conversation::Conversation;
use crate::ended::{Ended, Reason};
use crate::mcp::Servers;
use crate::person::{Answer, Person};
use crate::settings::Settings;
use crate::steward::{Steward, Trusting};
use crate::turn::Turn;
use crate::watcher::{Nobody, Watcher};

/// A turn on its way.
pub type Going<'a> = Pin<Box<dyn Future<Output = Ended> + Send + 'a>>;

/// The native agent, ready for turns of one conversation after another.
pub struct Agent<'a> {
    pub(crate) model: &'a dyn Provider,
    pub(crate) hands: &'a dyn Hands,
    pub(crate) settings: &'a Settings,
    pub(crate) cancel: &'a Cancel,
    pub(crate) watcher: &'a dyn Watcher,
    pub(crate) steward: &'a dyn Steward,
    pub(crate) person: Option<&'a dyn Person>,
    pub(crate) servers: Option<&'a Servers>,
    pub(crate) checker: Option<&'a dyn Checker>,
}

impl<'a> Agent<'a> {
    /// An agent nobody watches, who can ask nobody.
    pub fn new(
        model: &'a dyn Provider,
        hands: &'a dyn Hands,
        settings: &'a Settings,
        cancel: &'a Cancel,
    ) -> Self {
        Self {
            model,
            hands,
            settings,
            cancel,
            watcher: &Nobody,
            steward: &Trusting,
            person: None,
            servers: None,
            checker: None,
        }
    }

    /// Tells everything that happens to this watcher.
    #[must_use]
    pub fn watched_by(self, watcher: &'a dyn Watcher) -> Self {
        Self { watcher, ..self }
    }

    /// Puts the turn under a steward.
    #[must_use]
    pub fn under(self, steward: &'a dyn Steward) -> Self {
        Self { steward, ..self }
    }

    /// Says who can be asked; without anyone, what needs a person is denied.
    #[must_use]
    pub fn asking(self, person: &'a dyn Person) -> Self {
        Self { person: Some(person), ..self }
    }

    /// Offers the tools of these servers too, as far as the mode allows them.
    #[must_use]
    pub fn served_by(self, servers: &'a Servers) -> Self {
        Self { servers: Some(servers), ..self }
    }

    /// Runs checks that the model did not ask for with this; without one, the hands run those of the steward.
    #[must_use]
    pub fn checked_by(self, checker: &'a dyn Checker) -> Self {
        Self { checker: Some(checker), ..self }
    }

    /// Takes a message and goes on until the turn ends. The first message of a conversation is its goal.
    ///
    /// Questions that are still open count as not answered.
    pub fn turn<'t>(&'t self, conversation: &'t mut Conversation, message: &'t str) -> Going<'t> {
        Box::pin(async move {
            conversation.give_up_waiting();
            // What was said about an earlier goal ends with it.
            conversation.correction = None;
            conversation.ask(message);
            self.go_on(conversation, None).await
        })
    }

    /// Goes on after [`Reason::Interrupted`], with an answer to each of its asks; too few count as not answered.
    ///
    /// The agent must be [`asking`](Self::asking) someone, as it was before: where nobody can be asked, what needs a person
    /// stays denied. Without anything to answer it simply goes on, as after a model that failed.
    pub fn resume<'t>(&'t self, conversation: &'t mut Conversation, answers: Vec<Answer>) -> Going<'t> {
        Box::pin(self.go_on(conversation, Some(answers)))
    }

    async fn go_on(&self, conversation: &mut Conversation, answers: Option<Vec<Answer>>) -> Ended {
        let budget = Budget::new(self.settings.limits);
        let before = conversation.usage;
        let mut turn = Turn::new(self, &budget, before);
        let reason = turn.run(conversation, answers).await;
        let (rounds, usage) = budget.spent();
        conversation.usage = before;
        conversation.usage += usage;
        if matches!(reason, Reason::Stopped(_))
            && let Some(report) = self.steward.report()
        {
            store_report(self, conversation, &turn.text, &report).await;
        }
        self.steward.keep(conversation);
        if let Reason::Limit(limit) = reason {
            let (limit, value) = (limit.name().to_owned(), budget.value(limit));
            self.watcher.tell(Body::LimitHit { limit, value });
        }
        Ended { reason, text: turn.text, usage, rounds }
    }
}
