//! The seam for a supervisor: it hears the facts of a turn and may block, note, correct or stop.
//!
//! The agent decides nothing by itself here. Each fact is told once, in order, when it is settled; the answer is applied
//! at once. A steward keeps its own state; calls come from one turn at a time, delegated ones are not told.

use holon_core::policy::ToolClass;
use holon_model::Usage;

/// Something that happened in a turn.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Fact<'a> {
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
        /// Digest of its arguments; equal calls have equal ones.
        arguments_sha256: &'a str,
    },
    /// A call came back. Heeded: correction.
    Finished {
        /// The call's id in the events.
        call: &'a str,
        /// The tool.
        tool: &'a str,
        /// Whether it did what was asked.
        ok: bool,
        /// What it proves.
        evidence: &'a [Evidence],
        /// What the model is told, whole.
        text: &'a str,
    },
    /// All calls of a reply are answered, or it had none, and the turn goes on. Heeded: correction, stop.
    RoundEnded {
        /// The same number as at its start.
        round: u64,
        /// How many calls the reply made.
        calls: usize,
        /// What this round used.
        usage: &'a Usage,
    },
    /// The model says it is done. Heeded: gate; a block sends it back with the words.
    Done {
        /// Its summary, or its last words.
        text: &'a str,
    },
}

/// What a call proves, with digests instead of contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Evidence {
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
pub enum Ruling {
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
pub struct Advice {
    /// Whether it may go on.
    pub gate: Ruling,
    /// The one text that stands at the end of every request from now on; an empty one takes it away.
    pub correction: Option<String>,
    /// Ends the turn, for this reason, to be decided by a person.
    pub stop: Option<String>,
}

/// Hears the facts and answers with advice.
pub trait Steward: Send + Sync {
    /// Takes a fact.
    fn notice(&self, fact: Fact<'_>) -> Advice;
}

/// Lets everything be.
#[derive(Debug, Clone, Copy, Default)]
pub struct Trusting;

impl Steward for Trusting {
    fn notice(&self, _fact: Fact<'_>) -> Advice {
        Advice::default()
    }
}
