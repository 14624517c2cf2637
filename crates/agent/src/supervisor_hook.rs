//! The seam for a supervisor: it hears the facts of a turn and may block, note, correct or stop.
//!
//! The agent decides nothing by itself here. Each fact is told once, in order, when it is settled; the answer is applied
//! at once. A steward keeps its own state; calls come from one turn at a time, delegated ones are not told.

use holon_core::policy::ToolClass;
use holon_model::TokenUsage;
pub use holon_supervisor::{StopKind, StopOrder};

use crate::conversation::AgentConversation;

/// Something that happened in a turn.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum TurnFact<'a> {
    /// The model is about to be asked. Heeded: correction, stop.
    RoundStarted {
        /// Counts from 1 over the whole conversation.
        round: u64,
    },
    /// The policy allows a call that was not made yet. Heeded: gate.
    Proposed {
        /// The call's id in the events.
        call: &'a str,
        /// The tool.
        tool: &'a str,
        /// Its class.
        class: ToolClass,
        /// The file it is about or the command it runs, when it names one.
        target: Option<&'a str>,
        /// All files it names.
        targets: &'a [String],
        /// The shell line it would run.
        command: Option<&'a str>,
        /// Digest of its arguments; equal calls have equal ones.
        arguments_sha256: &'a str,
    },
    /// A call cannot be read, or names a tool that is not there: it is not made. Nothing is heeded.
    Malformed {
        /// The tool, as the model wrote it.
        tool: &'a str,
        /// What is wrong.
        why: &'a str,
    },
    /// A call came back. Heeded: correction, stop.
    Finished {
        /// The call's id in the events.
        call: &'a str,
        /// The tool.
        tool: &'a str,
        /// Its class.
        class: ToolClass,
        /// Whether it did what was asked.
        ok: bool,
        /// Exit code of a command.
        exit: Option<i32>,
        /// Its wall time.
        duration_ms: u64,
        /// What it proves.
        evidence: &'a [ToolCallEvidence],
        /// What the model is told, whole.
        text: &'a str,
    },
    /// All calls of a reply are answered, or it had none, and the turn goes on. Heeded: correction, stop.
    RoundEnded {
        /// The same number as at its start.
        round: u64,
        /// How many calls the reply made.
        calls: usize,
        /// Whether the reply had any words.
        words: bool,
        /// What this round used.
        usage: &'a TokenUsage,
    },
    /// The model says it is done. Heeded: stop, then gate; a block sends it back with the words.
    Done {
        /// Its summary, or its last words.
        text: &'a str,
        /// Whether it says that it could not do it.
        gave_up: bool,
    },
    /// A check that the steward asked for has run. Heeded: correction, stop.
    Checked {
        /// The command.
        command: &'a str,
        /// Its exit code; `None` when a signal or the clock ended it.
        exit: Option<i32>,
        /// What it printed.
        output: &'a str,
        /// Its wall time.
        duration_ms: u64,
    },
}

/// What a call proves, with digests instead of contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolCallEvidence {
    /// A file was read.
    Read {
        /// The file.
        path: String,
        /// Its digest, when known.
        sha256: Option<String>,
    },
    /// A file was made, changed or removed.
    Changed {
        /// The file.
        path: String,
        /// Digest before; `None` when there was no such file.
        before: Option<String>,
        /// Digest after; `None` when it is gone.
        after: Option<String>,
    },
    /// A search found something.
    Found {
        /// How many hits.
        results: usize,
    },
    /// A helper gave its result.
    Helped,
    /// A command ran to its end.
    Ran {
        /// The shell line.
        command: String,
        /// Its exit code; `None` when a signal or the clock ended it.
        exit: Option<i32>,
        /// Digest of what it printed.
        output_sha256: String,
    },
}

/// Whether a call is made, or being done is believed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SupervisorRuling {
    /// Yes.
    #[default]
    Allow,
    /// Yes, with a note for the model.
    Warn(String),
    /// No, and why.
    Block(String),
}

/// What a steward answers to a fact; the default lets everything be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SupervisorAdvice {
    /// Whether it may go on.
    pub gate: SupervisorRuling,
    /// The one text that stands at the end of every request from now on; an empty one takes it away.
    pub correction: Option<String>,
    /// Ends the turn.
    pub stop: Option<StopOrder>,
    /// A check to run now, between rounds or before being done is believed; what comes of it is told as
    /// [`TurnFact::Checked`], and whether the model is done is asked again.
    pub check: Option<String>,
}

/// Hears the facts and answers with advice.
pub trait SupervisorHook: Send + Sync {
    /// Takes a fact.
    fn notice(&self, fact: TurnFact<'_>) -> SupervisorAdvice;

    /// Sees the conversation whenever it could be gone on with later: after every round, and when the turn ends.
    fn keep(&self, _conversation: &AgentConversation) {}

    /// What is to be said to people about a turn it stopped.
    fn report(&self) -> Option<String> {
        None
    }
}

/// Lets everything be.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSupervisor;

impl SupervisorHook for NoSupervisor {
    fn notice(&self, _fact: TurnFact<'_>) -> SupervisorAdvice {
        SupervisorAdvice::default()
    }
}
