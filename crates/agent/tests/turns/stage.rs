//! Plays a turn and keeps what happened.

use std::sync::Mutex;

use holon_agent::{Agent, Answer, Conversation, Ended, Person, Settings, Steward};
use holon_core::Profile;
use holon_core::event::Body;
use holon_core::mode::{Catalog, Source};
use holon_core::policy::Verdict;
use holon_hands::Hands;
use holon_model::{Cancel, Cassette, Message, Normaliser, Part, Provider, Replay};

/// A built-in profile.
pub(crate) fn profile(mode: &str) -> Profile {
    Catalog::builtin().unwrap().resolve(mode).unwrap()
}

/// A profile of the user's own.
pub(crate) fn own_profile(text: &str) -> Profile {
    let mut catalog = Catalog::builtin().unwrap();
    catalog.add(Source::User, "own.toml", text).unwrap();
    catalog.resolve("own").unwrap()
}

pub(crate) fn settings(mode: &str) -> Settings {
    Settings::for_run(profile(mode), "Work.", "some-model")
}

pub(crate) fn chat(mode: &str) -> Settings {
    Settings::for_chat(profile(mode), "Talk.", "some-model")
}

/// What a turn is played with.
pub(crate) struct Stage<'a> {
    pub(crate) settings: Settings,
    pub(crate) hands: &'a dyn Hands,
    pub(crate) person: Option<&'a dyn Person>,
    pub(crate) steward: Option<&'a dyn Steward>,
    pub(crate) cancel: Cancel,
}

/// What came of it.
pub(crate) struct Played {
    pub(crate) ended: Ended,
    pub(crate) conversation: Conversation,
    pub(crate) events: Vec<Body>,
}

impl<'a> Stage<'a> {
    pub(crate) fn new(settings: Settings, hands: &'a dyn Hands) -> Self {
        Self { settings, hands, person: None, steward: None, cancel: Cancel::default() }
    }

    /// Plays a whole cassette for one message.
    pub(crate) fn play(&self, cassette: &str) -> Played {
        self.go_on(cassette, Conversation::default(), Some("Do the work."), Vec::new())
    }

    /// Plays a cassette for a further message, or for answers.
    pub(crate) fn go_on(
        &self,
        cassette: &str,
        conversation: Conversation,
        message: Option<&str>,
        answers: Vec<Answer>,
    ) -> Played {
        let replay = Replay::new(cassette.parse::<Cassette>().unwrap(), Normaliser::default());
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
        mut conversation: Conversation,
        message: Option<&str>,
        answers: Vec<Answer>,
    ) -> Played {
        let events = Mutex::new(Vec::new());
        let watcher = |body: Body| events.lock().unwrap().push(body);
        let mut agent = Agent::new(model, self.hands, &self.settings, &self.cancel).watched_by(&watcher);
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
        Played { ended, conversation, events }
    }
}

/// Every call has its result in the next message.
fn assert_answered(messages: &[Message]) {
    for (at, message) in messages.iter().enumerate() {
        let calls: Vec<&str> = message.calls().map(|call| call.id.as_str()).collect();
        if !calls.is_empty() {
            let next = messages.get(at + 1).expect("results follow calls");
            assert_eq!(results(next).iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), calls);
        }
    }
}

fn results(message: &Message) -> Vec<(String, String)> {
    let results = message.parts.iter().filter_map(|part| match part {
        Part::Result(result) => Some((result.call_id.clone(), result.text.clone())),
        _ => None,
    });
    results.collect()
}

impl Played {
    /// The texts of all results, in order.
    pub(crate) fn results(&self) -> Vec<String> {
        self.conversation.messages.iter().flat_map(results).map(|(_, text)| text).collect()
    }

    /// Every decision, in order.
    pub(crate) fn verdicts(&self) -> Vec<Verdict> {
        let verdicts = self.events.iter().filter_map(|body| match body {
            Body::ToolDecided { verdict, .. } => Some(*verdict),
            _ => None,
        });
        verdicts.collect()
    }

    /// Tools that came back.
    pub(crate) fn finished(&self) -> usize {
        self.events.iter().filter(|body| matches!(body, Body::ToolFinished { .. })).count()
    }
}
