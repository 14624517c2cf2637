//! A flow as data: its steps, what each gets from those before it, where the gates are, and what is gone through again.

use holon_core::mode::ModeSource;
use serde::{Deserialize, Serialize};

mod among;
mod loops;
mod read;

pub use among::FlowSurroundings;
pub use loops::{LoopGoal, MOST_ROUNDS, StepLoop};

/// A flow, read and checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowDefinition {
    /// The name `--mode` takes.
    pub name: String,
    /// One sentence.
    pub description: String,
    /// The steps, in order.
    pub steps: Vec<StepDefinition>,
    /// The file it was read from; nothing for a flow that comes with Holon.
    pub written: Option<FlowFile>,
}

/// The file of a flow that somebody wrote, as it was when it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowFile {
    /// Whose file it is, and so how far it is trusted.
    pub source: ModeSource,
    /// Its path.
    pub file: String,
    /// What it said: a flow that was started goes on by this, whatever the file says later.
    pub text: String,
}

/// One step of a flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepDefinition {
    /// Its name in the flow.
    pub name: String,
    /// What it does.
    pub work: StepWork,
    /// Whether a gate stands before it.
    pub gate: bool,
    /// What must be so for the step to be needed.
    pub when: Option<StepCondition>,
    /// Whether the flow goes back from here.
    pub repeat: Option<StepLoop>,
    /// What it hands over as the flow's own artifacts; later steps win.
    pub deliver: Vec<ArtifactFileName>,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepWork {
    /// A run in a mode, with walls of its own.
    Run(StepRunWork),
    /// The host looks whether the findings of a review are gone from the result.
    Findings {
        /// The step that found them.
        of: String,
        /// The step whose result is looked at.
        result: String,
    },
}

/// A run in a mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRunWork {
    /// The mode, by its canonical name.
    pub mode: String,
    /// What earlier steps hand to it.
    pub context: Vec<HandedFile>,
    /// What the agent is told besides the goal.
    pub brief: Option<String>,
    /// Whether `--check` and the spec's checks are for this step.
    pub checks: bool,
    /// Whether tests are meant to change in this step, whoever started the flow.
    pub tests_may_change: bool,
}

/// A file of an earlier step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandedFile {
    /// The step.
    pub step: String,
    /// The file.
    pub file: ArtifactFileName,
}

impl HandedFile {
    /// `step/file`, the way manifests and messages name it.
    pub fn label(&self) -> String {
        format!("{}/{}", self.step, self.file.name)
    }
}

/// An artifact's name; `?` after it says that it may be missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactFileName {
    /// The name in the output folder.
    pub name: String,
    /// Whether it may be missing.
    pub optional: bool,
}

/// What must be so for a step to be needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepCondition {
    /// The last review before it found something.
    Findings,
}

impl FlowDefinition {
    /// The place of a step.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.steps.iter().position(|step| step.name == name)
    }

    /// Who wrote it.
    pub fn source(&self) -> ModeSource {
        self.written.as_ref().map_or(ModeSource::Builtin, |written| written.source)
    }

    /// The loop that begins at a place: where it ends, and its terms.
    pub fn loop_from(&self, first: usize) -> Option<(usize, &StepLoop)> {
        self.loops().find(|(from, _, _)| *from == first).map(|(_, end, terms)| (end, terms))
    }

    /// Every loop: the places of its first and last step, and its terms.
    pub fn loops(&self) -> impl Iterator<Item = (usize, usize, &StepLoop)> {
        self.steps.iter().enumerate().filter_map(|(end, step)| {
            let terms = step.repeat.as_ref()?;
            Some((self.position(&terms.from)?, end, terms))
        })
    }
}

#[cfg(test)]
mod tests;
