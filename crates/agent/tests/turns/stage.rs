//! Plays a turn and keeps what happened.

use std::sync::Mutex;

use holon_agent::{
    AgentConversation, NativeAgent, PersonPrompt, PersonReply, SupervisorHook, TurnResult, TurnSettings,
};
use holon_core::Profile;
use holon_core::event::EventBody;
use holon_core::mode::{ModeCatalog, ModeSource};
use holon_core::policy::ToolVerdict;
use holon_hands::ToolExecutor;
use holon_model::{Cassette, MessagePart, ModelCancel, ModelMessage, Normaliser, Provider, ReplayProvider};

/// A built-in profile.
pub(crate) fn profile(mode: &str) -> Profile {
    ModeCatalog::builtin().unwrap().resolve(mode).unwrap()
}

/// A profile of the user's own.
pub(crate) fn own_profile(text: &str) -> Profile {
    let mut catalog = ModeCatalog::builtin().unwrap();
    catalog.add(ModeSource::User, "own.toml", text).unwrap();
    catalog.resolve("own").unwrap()
}

pub(crate) fn settings(mode: &str) -> TurnSettings {
    TurnSettings::for_run(profile(mode), "Work.", "some-model")
}

pub(crate) fn chat(mode: &str) -> TurnSettings {
    TurnSettings::for_chat(profile(mode), "Talk.", "some-model")
}

/// What a turn is played with.
pub(crate) struct TurnStage<'a> {
    pub(crate) settings: TurnSettings,
    pub(crate) hands: &'a dyn ToolExecutor,
    pub(crate) person: Option<&'a dyn PersonPrompt>,
    pub(crate) steward: Option<&'a dyn SupervisorHook>,
    pub(crate) cancel: ModelCancel,
}

/// What came of it.
pub(crate) struct PlayedTurn {
    pub(crate) ended: TurnResult,
    pub(crate) conversation: AgentConversation,
    pub(crate) events: Vec<EventBody>,
}

impl<'a> TurnStage<'a> {
    pub(crate) fn new(settings: TurnSettings, hands: &'a dyn ToolExecutor) -> Self {
        Self { settings, hands, person: None, steward: None, cancel: ModelCancel::default() }
    }

    /// Plays a whole cassette for one message.
    pub(crate) fn play(&self, cassette: &str) -> PlayedTurn {
        self.go_on(cassette, AgentConversation::default(), Some("Do the work."), Vec::new())
    }

    /// Plays a cassette for a further message, or for answers.
    pub(crate) fn go_on(
        &self,
        cassette: &str,
        conversation: AgentConversation,
        message: Option<&str>,
        answers: Vec<PersonReply>,
    ) -> PlayedTurn {
        let replay = ReplayProvider::new(cassette.parse::<Cassette>().unwrap(), Normaliser::default());
        let played = self.with(&replay, conversation, message, answers);
        assert_eq!(
            replay.left(),
            0,
            "the whole cassette is played; the turn ended {:?}",
            played.ended.reason
        );
        played
    }

    /// Plays against any provider.
    pub(crate) fn with(
        &self,
        model: &dyn Provider,
        mut conversation: AgentConversation,
        message: Option<&str>,
        answers: Vec<PersonReply>,
    ) -> PlayedTurn {
        let events = Mutex::new(Vec::new());
        let watcher = |body: EventBody| events.lock().unwrap().push(body);
        let mut agent =
            NativeAgent::new(model, self.hands, &self.settings, &self.cancel).watched_by(&watcher);
        if let Some(person) = self.person {
            agent = agent.asking(person);
        }
        if let Some(steward) = self.steward {
            agent = agent.under(steward);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let ended = runtime.block_on(async {
            match message {
                Some(message) => agent.turn(&mut conversation, message).await,
                None => agent.resume(&mut conversation, answers).await,
            }
        });
        if conversation.pending.is_none() {
            assert_answered(&conversation.messages);
        }
        let events = std::mem::take(&mut *events.lock().unwrap());
        PlayedTurn { ended, conversation, events }
    }
}

/// Every call has its result in the next message.
fn assert_answered(messages: &[ModelMessage]) {
    for (at, message) in messages.iter().enumerate() {
        let calls: Vec<&str> = message.calls().map(|call| call.id.as_str()).collect();
        if !calls.is_empty() {
            let next = messages.get(at + 1).expect("results follow calls");
            assert_eq!(results(next).iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), calls);
        }
    }
}

fn results(message: &ModelMessage) -> Vec<(String, String)> {
    let results = message.parts.iter().filter_map(|part| match part {
        MessagePart::Result(result) => Some((result.call_id.clone(), result.text.clone())),
        _ => None,
    });
    results.collect()
}

impl PlayedTurn {
    /// The texts of all results, in order.
    pub(crate) fn results(&self) -> Vec<String> {
        self.conversation.messages.iter().flat_map(results).map(|(_, text)| text).collect()
    }

    /// Every decision, in order.
    pub(crate) fn verdicts(&self) -> Vec<ToolVerdict> {
        let verdicts = self.events.iter().filter_map(|body| match body {
            EventBody::ToolDecided { verdict, .. } => Some(*verdict),
            _ => None,
        });
        verdicts.collect()
    }

    /// Tools that came back.
    pub(crate) fn finished(&self) -> usize {
        self.events.iter().filter(|body| matches!(body, EventBody::ToolFinished { .. })).count()
    }
}
