//! `plan.md` and `plan.json`: what is to be done, in an order that can be followed.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::circle::waits_for_itself;
use super::markdown::{self, sections};
use super::{ArtifactProblem, need_text};

/// The sections every plan has.
pub const HEADINGS: [&str; 5] = ["Goal", "Context", "Steps", "Risks", "Verification"];

/// A plan that programs can follow.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanDocument {
    /// What is done, in an order that respects `depends_on`.
    #[schemars(length(min = 1))]
    pub steps: Vec<PlanStep>,
    /// What can go wrong.
    #[serde(default)]
    pub risks: Vec<String>,
    /// How one can tell that it is done.
    #[serde(default)]
    pub acceptance: Vec<String>,
}

/// One step of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanStep {
    /// A short name other steps refer to, e.g. `1` or `parser`.
    pub id: String,
    /// What is done.
    pub title: String,
    /// Workspace-relative files it touches.
    #[serde(default)]
    pub files: Vec<String>,
    /// Commands that show it worked.
    #[serde(default)]
    pub checks: Vec<String>,
    /// Ids of steps that come first.
    #[serde(default)]
    pub depends_on: Vec<String>,
}

impl PlanDocument {
    /// Problems that the types alone do not show.
    pub fn check(&self) -> Vec<ArtifactProblem> {
        let mut problems = Vec::new();
        if self.steps.is_empty() {
            problems.push(ArtifactProblem::new("steps", "is empty; a plan has at least one step"));
        }
        let mut ids = BTreeSet::new();
        for (i, step) in self.steps.iter().enumerate() {
            need_text(&step.id, format!("steps[{i}].id"), &mut problems);
            need_text(&step.title, format!("steps[{i}].title"), &mut problems);
            if !ids.insert(step.id.as_str()) {
                problems.push(ArtifactProblem::new(
                    format!("steps[{i}].id"),
                    format!("`{}` is used twice", step.id),
                ));
            }
        }
        for (i, step) in self.steps.iter().enumerate() {
            for id in step.depends_on.iter().filter(|id| !ids.contains(id.as_str())) {
                let message = format!("`{id}` is not the id of a step");
                problems.push(ArtifactProblem::new(format!("steps[{i}].depends_on"), message));
            }
        }
        if problems.is_empty()
            && let Some(id) =
                waits_for_itself(self.steps.iter().map(|s| (s.id.as_str(), s.depends_on.as_slice())))
        {
            problems.push(ArtifactProblem::new(
                "steps",
                format!("`{id}` depends on itself through `depends_on`"),
            ));
        }
        problems
    }
}

/// Problems of `plan.md`: each of the five sections must be there, in any order, with something in it.
pub fn check_markdown(bytes: &[u8]) -> Vec<ArtifactProblem> {
    let mut problems = markdown::check(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else { return problems };
    let sections = sections(text);
    for heading in HEADINGS {
        let mut named = sections.iter().filter(|s| names(&s.title, heading)).peekable();
        if named.peek().is_none() {
            problems.push(ArtifactProblem::new("", format!("the heading `## {heading}` is missing")));
        } else if !named.any(|s| s.filled) {
            problems.push(ArtifactProblem::new(format!("## {heading}"), "has nothing below it"));
        }
    }
    problems
}

/// Whether a heading such as `2. **Steps** to take` is the section `Steps`.
fn names(title: &str, heading: &str) -> bool {
    let mut words = title.split(|c: char| !c.is_alphabetic()).filter(|w| !w.is_empty());
    words.next().is_some_and(|word| word.eq_ignore_ascii_case(heading))
}
