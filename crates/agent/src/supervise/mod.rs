//! The steward that drives the supervisor: facts of the loop in, its decisions out.
//!
//! Everything it is told is redacted first and told on as it was decided on, so that a stored run replays to the same
//! decisions. It makes no decision of its own.

mod check;
mod checkpoint;
mod feed;
mod lines;
mod look;
mod place;
mod report;
mod standing;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use holon_core::digest::sha256;
use holon_core::redact::Redactor;
use holon_supervisor::event::{Event, Setup};
use holon_supervisor::{Config, ConfigError, Fact as Told, Supervisor};
use serde::{Deserialize, Serialize};

pub use self::checkpoint::Checkpoint;
pub use self::lines::{changed_lines, lost_lines};
use self::look::Remembered;
pub use self::look::{Look, Seen, Sight};
pub use self::report::{Counts, summary};
use self::standing::Standing;
use crate::conversation::Conversation;
use crate::steward::{Advice, Fact, Steward};
use crate::watcher::Watcher;

/// A supervisor and what its steward remembers: lives as long as a run, over several turns.
#[derive(Debug, Default)]
pub struct Supervision {
    pub(super) supervisor: Supervisor,
    pub(super) memory: Memory,
    /// What the next fact is told with.
    start: Option<Start>,
    /// Facts to be told before anything else.
    first: Vec<Told>,
}

/// How a recording begins.
#[derive(Debug)]
struct Start {
    settings: serde_json::Value,
    resumed: Option<serde_json::Value>,
}

/// Outputs that are remembered.
const PRINTED: usize = 256;

/// What is remembered beside the supervisor's own state.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Memory {
    files: Remembered,
    standing: Standing,
    counts: Counts,
    printed: Printed,
}

/// What commands printed, to the last digit.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Printed(VecDeque<String>);

impl Printed {
    /// Whether nothing printed it before; the oldest is forgotten.
    fn is_new(&mut self, output: &str) -> bool {
        let digest: String = sha256(output.as_bytes()).chars().take(16).collect();
        let new = !self.0.contains(&digest);
        if new && self.0.len() >= PRINTED {
            self.0.pop_front();
        }
        if new {
            self.0.push_back(digest);
        }
        new
    }
}

impl Supervision {
    /// For a new run; a contradiction in the settings is refused.
    pub fn new(config: Config, setup: Setup) -> Result<Self, ConfigError> {
        let settings = serde_json::to_value(&config).unwrap_or_default();
        Ok(Self {
            supervisor: Supervisor::new(config)?,
            memory: Memory::default(),
            start: Some(Start { settings, resumed: None }),
            first: vec![Told::RunStarted(Box::new(setup))],
        })
    }

    /// The supervisor's state.
    pub fn state(&self) -> &holon_supervisor::State {
        self.supervisor.state()
    }

    /// What it did, for the manifest.
    pub fn summary(&self) -> serde_json::Value {
        report::summary(&self.supervisor, &self.memory.counts)
    }
}

/// What a steward needs of its surroundings.
pub struct Surroundings {
    /// Milliseconds since 1970; only carried into the timeline.
    pub clock: Box<dyn Fn() -> u64 + Send + Sync>,
    /// Cleans every fact before it is decided on.
    pub redactor: Redactor,
    /// The workspace as the hands see it.
    pub workspace: String,
    /// Looks at the workspace.
    pub look: Option<Box<dyn Look>>,
    /// Hears persons who want the supervisor to take over.
    pub takeovers: Takeovers,
    /// Keeps what is needed to go on after the process is gone.
    pub keeper: Option<Box<Keeper>>,
}

/// Stores a checkpoint.
pub type Keeper = dyn Fn(Checkpoint) + Send + Sync;

/// Persons' wishes that the supervisor take over, from any thread.
#[derive(Debug, Clone, Default)]
pub struct Takeovers(Arc<Mutex<Vec<String>>>);

impl Takeovers {
    /// Somebody wants it; heard at the next beginning or end of a round.
    pub fn ask(&self, by: impl Into<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(by.into());
    }

    fn heard(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The steward of one turn.
pub struct Supervised<'a> {
    inner: Mutex<Inner<'a>>,
}

pub(super) struct Inner<'a> {
    supervision: Supervision,
    around: Surroundings,
    watcher: &'a dyn Watcher,
    wanted: Wanted,
}

/// What was decided, until the loop can heed it.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    stop: Option<crate::steward::Stop>,
    gate: crate::steward::Ruling,
    check: Option<String>,
}

impl<'a> Supervised<'a> {
    /// A steward that tells what it is told and decides to this watcher.
    pub fn new(supervision: Supervision, around: Surroundings, watcher: &'a dyn Watcher) -> Self {
        let inner = Inner { supervision, around, watcher, wanted: Wanted::default() };
        Self { inner: Mutex::new(inner) }
    }

    /// What is to be kept until the next turn.
    pub fn finish(self) -> Supervision {
        self.inner.into_inner().unwrap_or_else(PoisonError::into_inner).supervision
    }

    fn with<T>(&self, work: impl FnOnce(&mut Inner<'a>) -> T) -> T {
        work(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Steward for Supervised<'_> {
    fn notice(&self, fact: Fact<'_>) -> Advice {
        self.with(|inner| inner.notice(&fact))
    }

    fn keep(&self, conversation: &Conversation) {
        self.with(|inner| {
            if let Some(keeper) = &inner.around.keeper {
                keeper(Checkpoint::of(&inner.supervision, conversation));
            }
        });
    }

    fn report(&self) -> Option<String> {
        self.with(|inner| report::for_people(&inner.supervision.supervisor))
    }
}

impl Inner<'_> {
    /// Tells a fact on, redacted; what was decided is told to the watcher and noted.
    fn tell(&mut self, fact: Told) {
        let event = Event { ts: (self.around.clock)(), fact };
        let event = self.cleaned(event);
        let Supervision { supervisor, memory, start, .. } = &mut self.supervision;
        let effects = supervisor.feed(&event);
        let start = start.take();
        let (settings, resumed) = start.map_or((None, None), |start| (Some(start.settings), start.resumed));
        feed::tell(self.watcher, &event, &effects, settings, resumed);
        for effect in effects {
            memory.counts.count(&effect);
            feed::apply(effect, &mut memory.standing, &mut self.wanted);
        }
    }

    /// The fact as it may be stored; one that cannot be cleaned is replaced by the news of that.
    fn cleaned(&self, event: Event) -> Event {
        let Ok(line) = serde_json::to_string(&event) else { return unclean(&event) };
        let clean = self.around.redactor.redact_str(&line);
        if clean == line {
            return event;
        }
        serde_json::from_str(&clean).unwrap_or_else(|_| unclean(&event))
    }
}

fn unclean(event: &Event) -> Event {
    Event { ts: event.ts, fact: Told::EngineError { what: "a fact could not be redacted".to_owned() } }
}
