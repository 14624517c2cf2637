//! Gates: where a flow waits for a word before its next step.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// `--gate`: how gates are decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateMode {
    /// Somebody in front of a terminal is asked.
    Ask,
    /// Open when the step before succeeded, else closed.
    Auto,
    /// Closed: the flow stops there, and resuming it opens the gate.
    Stop,
}

impl GateMode {
    /// The word on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Auto => "auto",
            Self::Stop => "stop",
        }
    }
}

impl fmt::Display for GateMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for GateMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::Ask, Self::Auto, Self::Stop];
        all.into_iter()
            .find(|mode| mode.name() == text)
            .ok_or_else(|| format!("`{text}` is not ask, auto or stop"))
    }
}

/// What is to be decided at a gate.
#[derive(Debug, Clone)]
pub struct GateQuestion {
    /// The flow.
    pub flow: String,
    /// The step behind the gate.
    pub step: String,
    /// The files the decision is about, each with its `step/file` name; their digests have been checked.
    pub files: Vec<(String, PathBuf)>,
    /// Why the step before did not simply succeed.
    pub concern: Option<String>,
}

/// What was answered at a gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateAnswer {
    /// Go on, and tell the next step this.
    Go {
        /// What the next agent shall know.
        comment: Option<String>,
    },
    /// Stop here; the flow can be resumed.
    Stop,
    /// Nobody answered: the flow was asked to end.
    Cancelled,
}

/// Somebody who can be asked at a gate.
pub trait Gatekeeper {
    /// Shows what it is about and waits for an answer.
    fn ask(&mut self, question: &GateQuestion) -> GateAnswer;
}

/// For flows that nobody watches: every gate stays closed.
#[derive(Debug, Clone, Copy, Default)]
pub struct UnattendedGates;

impl Gatekeeper for UnattendedGates {
    fn ask(&mut self, _question: &GateQuestion) -> GateAnswer {
        GateAnswer::Stop
    }
}
