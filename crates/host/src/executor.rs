//! Who carries plans out.

use std::sync::Arc;

use holon_agent::PersonPrompt;
use holon_core::event::EventSink;
use holon_telemetry::Observer;

use crate::error::HostError;
use crate::person_terminal::PersonTerminal;
use crate::plan::RunPlan;
use crate::run::{FinishedRun, Host, TextListener};
use holon_model::{ModelCancel, SharedBudget};

/// Carries plans out, here or elsewhere. Whoever asks for work knows no more of it than this.
pub trait Executor {
    /// Carries a plan out. An error means that nothing was started; everything later is in the manifest.
    fn execute(&self, plan: RunPlan, context: RunContext<'_>) -> Result<FinishedRun, HostError>;

    /// Values that must never be written anywhere, each with the name that stands for it.
    fn secrets(&self) -> &[(String, String)];

    /// Who hears of the work: log lines, counts, spans.
    fn observer(&self) -> Option<Arc<dyn Observer>>;
}

/// What a run needs besides its plan, because it only holds in this process.
pub struct RunContext<'a> {
    /// Receives the events as they come.
    pub sink: &'a mut dyn EventSink,
    /// Ends the run.
    pub cancel: &'a ModelCancel,
    /// Someone the native agent can ask; nobody in a headless run.
    pub person: Option<Arc<dyn PersonPrompt>>,
    /// Hears the native agent's words as they come, redacted; events tell them line by line.
    pub words: Option<Arc<TextListener>>,
    /// Money that it shares with other runs; without, it has its own.
    pub budget: Option<SharedBudget>,
    /// The terminal of a person, for an agent that shows its own screen.
    pub terminal: Option<Box<dyn PersonTerminal>>,
}

impl<'a> RunContext<'a> {
    /// A headless run.
    pub fn new(sink: &'a mut dyn EventSink, cancel: &'a ModelCancel) -> Self {
        Self { sink, cancel, person: None, words: None, budget: None, terminal: None }
    }
}

/// The host is the executor on this machine.
impl Executor for Host {
    fn execute(&self, plan: RunPlan, context: RunContext<'_>) -> Result<FinishedRun, HostError> {
        self.run(plan, context)
    }

    fn secrets(&self) -> &[(String, String)] {
        &self.secrets
    }

    fn observer(&self) -> Option<Arc<dyn Observer>> {
        self.observer.clone()
    }
}
