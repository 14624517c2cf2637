//! The steward that drives the supervisor: facts of the loop in, its decisions out.
//!
//! Everything it is told is redacted first and told on as it was decided on, so that a stored run replays to the same
//! decisions. It makes no decision of its own.

mod change_watch;
mod check;
mod checkpoint;
mod correction_note;
mod event_log;
mod lines;
mod report;
mod workspace_path;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use holon_core::digest::sha256;
use holon_core::redact::Redactor;
use holon_supervisor::event::{SupervisorEvent, SupervisorSetup};
use holon_supervisor::{Supervisor, SupervisorConfig, SupervisorConfigError, SupervisorFact};
use serde::{Deserialize, Serialize};

use self::change_watch::RememberedFiles;
pub use self::change_watch::{ChangeWatch, WatchedFile, WorkspaceObservation};
pub use self::checkpoint::RunCheckpoint;
use self::correction_note::CorrectionNote;
pub use self::lines::{changed_lines, lost_lines};
pub use self::report::{InterventionCounts, summary};
use crate::conversation::AgentConversation;
use crate::supervisor_hook::{SupervisorAdvice, SupervisorHook, TurnFact};
use crate::watcher::AgentEventSink;

/// A supervisor and what its steward remembers: lives as long as a run, over several turns.
#[derive(Debug, Default)]
pub struct SupervisionSession {
    pub(super) supervisor: Supervisor,
    pub(super) memory: SupervisionMemory,
    /// What the next fact is told with.
    start: Option<RecordingStart>,
    /// Facts to be told before anything else.
    first: Vec<SupervisorFact>,
}

/// How a recording begins.
#[derive(Debug)]
struct RecordingStart {
    settings: serde_json::Value,
    resumed: Option<serde_json::Value>,
}

/// Outputs that are remembered.
const PRINTED: usize = 256;

/// What is remembered beside the supervisor's own state.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct SupervisionMemory {
    files: RememberedFiles,
    standing: CorrectionNote,
    counts: InterventionCounts,
    printed: PrintedOutputs,
}

/// What commands printed, to the last digit.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct PrintedOutputs(VecDeque<String>);

impl PrintedOutputs {
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

impl SupervisionSession {
    /// For a new run; a contradiction in the settings is refused.
    pub fn new(config: SupervisorConfig, setup: SupervisorSetup) -> Result<Self, SupervisorConfigError> {
        let settings = serde_json::to_value(&config).unwrap_or_default();
        Ok(Self {
            supervisor: Supervisor::new(config)?,
            memory: SupervisionMemory::default(),
            start: Some(RecordingStart { settings, resumed: None }),
            first: vec![SupervisorFact::RunStarted(Box::new(setup))],
        })
    }

    /// The supervisor's state.
    pub fn state(&self) -> &holon_supervisor::SupervisorState {
        self.supervisor.state()
    }

    /// What it did, for the manifest.
    pub fn summary(&self) -> serde_json::Value {
        report::summary(&self.supervisor, &self.memory.counts)
    }
}

/// What a steward needs of its surroundings.
pub struct SupervisionContext {
    /// Milliseconds since 1970; only carried into the timeline.
    pub clock: Box<dyn Fn() -> u64 + Send + Sync>,
    /// Cleans every fact before it is decided on.
    pub redactor: Redactor,
    /// The workspace as the hands see it.
    pub workspace: String,
    /// Looks at the workspace.
    pub look: Option<Box<dyn ChangeWatch>>,
    /// Hears persons who want the supervisor to take over.
    pub takeovers: TakeoverRequests,
    /// Keeps what is needed to go on after the process is gone.
    pub keeper: Option<Box<Checkpointer>>,
}

/// Stores a checkpoint.
pub type Checkpointer = dyn Fn(RunCheckpoint) + Send + Sync;

/// Persons' wishes that the supervisor take over, from any thread.
#[derive(Debug, Clone, Default)]
pub struct TakeoverRequests(Arc<Mutex<Vec<String>>>);

impl TakeoverRequests {
    /// Somebody wants it; heard at the next beginning or end of a round.
    pub fn ask(&self, by: impl Into<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(by.into());
    }

    fn heard(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The steward of one turn.
pub struct SupervisedTurn<'a> {
    inner: Mutex<SupervisedTurnInner<'a>>,
}

pub(super) struct SupervisedTurnInner<'a> {
    supervision: SupervisionSession,
    around: SupervisionContext,
    watcher: &'a dyn AgentEventSink,
    wanted: PendingIntervention,
}

/// What was decided, until the loop can heed it.
#[derive(Debug, Default)]
pub(super) struct PendingIntervention {
    stop: Option<crate::supervisor_hook::StopOrder>,
    gate: crate::supervisor_hook::SupervisorRuling,
    check: Option<String>,
}

impl<'a> SupervisedTurn<'a> {
    /// A steward that tells what it is told and decides to this watcher.
    pub fn new(
        supervision: SupervisionSession,
        around: SupervisionContext,
        watcher: &'a dyn AgentEventSink,
    ) -> Self {
        let inner =
            SupervisedTurnInner { supervision, around, watcher, wanted: PendingIntervention::default() };
        Self { inner: Mutex::new(inner) }
    }

    /// What is to be kept until the next turn.
    pub fn finish(self) -> SupervisionSession {
        self.inner.into_inner().unwrap_or_else(PoisonError::into_inner).supervision
    }

    fn with<T>(&self, work: impl FnOnce(&mut SupervisedTurnInner<'a>) -> T) -> T {
        work(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl SupervisorHook for SupervisedTurn<'_> {
    fn notice(&self, fact: TurnFact<'_>) -> SupervisorAdvice {
        self.with(|inner| inner.notice(&fact))
    }

    fn keep(&self, conversation: &AgentConversation) {
        self.with(|inner| {
            if let Some(keeper) = &inner.around.keeper {
                keeper(RunCheckpoint::of(&inner.supervision, conversation));
            }
        });
    }

    fn report(&self) -> Option<String> {
        self.with(|inner| report::for_people(&inner.supervision.supervisor))
    }
}

impl SupervisedTurnInner<'_> {
    /// Tells a fact on, redacted; what was decided is told to the watcher and noted.
    fn tell(&mut self, fact: SupervisorFact) {
        let event = SupervisorEvent { ts: (self.around.clock)(), fact };
        let event = self.cleaned(event);
        let SupervisionSession { supervisor, memory, start, .. } = &mut self.supervision;
        let effects = supervisor.feed(&event);
        let start = start.take();
        let (settings, resumed) = start.map_or((None, None), |start| (Some(start.settings), start.resumed));
        event_log::tell(self.watcher, &event, &effects, settings, resumed);
        for effect in effects {
            memory.counts.count(&effect);
            event_log::apply(effect, &mut memory.standing, &mut self.wanted);
        }
    }

    /// The fact as it may be stored; one that cannot be cleaned is replaced by the news of that.
    fn cleaned(&self, event: SupervisorEvent) -> SupervisorEvent {
        let Ok(line) = serde_json::to_string(&event) else { return unclean(&event) };
        let clean = self.around.redactor.redact_str(&line);
        if clean == line {
            return event;
        }
        serde_json::from_str(&clean).unwrap_or_else(|_| unclean(&event))
    }
}

fn unclean(event: &SupervisorEvent) -> SupervisorEvent {
    SupervisorEvent {
        ts: event.ts,
        fact: SupervisorFact::EngineError { what: "a fact could not be redacted".to_owned() },
    }
}
