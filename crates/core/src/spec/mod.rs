//! `spec.yaml`: what a run is asked to do.

mod check;
mod parse;

pub use parse::{MAX_BYTES, SpecError, SpecWarning, parse};

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::artifact::json_schema::ArtifactSchema;
use crate::artifact::{self, ArtifactKind, ArtifactProblem};
use crate::duration::HumanDuration;
use crate::mode::NetworkReach;

/// A run as asked for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spec {
    /// Always `v1`.
    #[serde(default = "v1")]
    #[schemars(extend("const" = "v1"))]
    pub version: String,
    /// Always `Holon`.
    #[serde(default = "holon")]
    #[schemars(extend("const" = "Holon"))]
    pub kind: String,
    /// Names for people and programs.
    #[serde(default)]
    pub metadata: SpecMetadata,
    /// What is wanted.
    #[serde(deserialize_with = "parse::goal")]
    #[schemars(with = "GoalForm")]
    pub goal: SpecGoal,
    /// What it is about.
    #[serde(default)]
    pub context: SpecContext,
    /// What must come out, beyond what the mode demands.
    #[serde(default)]
    pub output: SpecOutput,
    /// How far it may go.
    #[serde(default)]
    pub constraints: SpecConstraints,
    /// Who does it.
    #[serde(default)]
    pub agent: SpecAgent,
}

fn v1() -> String {
    "v1".to_owned()
}

fn holon() -> String {
    "Holon".to_owned()
}

impl Spec {
    /// The spec behind `--goal TEXT`.
    pub fn for_goal(description: impl Into<String>) -> Self {
        Self {
            version: v1(),
            kind: holon(),
            goal: SpecGoal { description: description.into(), issue_id: None },
            ..Self::default()
        }
    }
}

/// Names for people and programs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SpecMetadata {
    /// A short title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The caller's own id for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Free labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// What is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpecGoal {
    /// In words.
    pub description: String,
    /// The issue it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue_id: Option<String>,
}

/// A goal may be written as a bare string.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes the accepted forms in the schema only")]
enum GoalForm {
    /// Only the description.
    Text(String),
    /// All of it.
    Full(SpecGoal),
}

/// What the run is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SpecContext {
    /// The folder to work on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Files to hand to the agent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Variables for the agent; never secrets.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

/// What must come out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SpecOutput {
    /// Further artifacts; an optional one of the mode can be made required here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<RequestedArtifact>,
}

/// One further artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestedArtifact {
    /// Path in the output folder.
    pub path: String,
    /// Whether the run fails without it.
    #[serde(default = "yes")]
    pub required: bool,
    /// What it must satisfy: a known schema's name such as `review`, the path of a JSON Schema beside the spec, or the
    /// JSON Schema itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<RequestedSchema>,
}

/// What an artifact must satisfy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RequestedSchema {
    /// A known schema's name, or the path of a file, which ends in `.json`.
    Named(String),
    /// The schema itself.
    Inline(serde_json::Map<String, serde_json::Value>),
}

impl RequestedSchema {
    /// What is wrong with an artifact; nothing when it satisfies the schema. One in a file that was not read satisfies none.
    pub fn problems(&self, bytes: &[u8]) -> Vec<ArtifactProblem> {
        match self {
            Self::Named(name) => match ArtifactKind::of_schema(name) {
                Some(kind) => artifact::validate_as(kind, bytes).err().unwrap_or_default(),
                None => vec![ArtifactProblem::new("", format!("its schema `{name}` was not read"))],
            },
            Self::Inline(keywords) => match (
                ArtifactSchema::new(serde_json::Value::Object(keywords.clone())),
                artifact::read::<serde_json::Value>(bytes),
            ) {
                (Ok(schema), Ok(value)) => schema.problems(&value),
                (Err(error), _) => {
                    vec![ArtifactProblem::new("", format!("its schema cannot be used: {error}"))]
                }
                (_, Err(problems)) => problems,
            },
        }
    }

    /// The path of the file that holds it, if it is in one.
    pub fn file(&self) -> Option<&str> {
        match self {
            Self::Named(name) if name.ends_with(".json") => Some(name),
            _ => None,
        }
    }
}

fn yes() -> bool {
    true
}

/// How far a run may go; all of these can only narrow the mode.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SpecConstraints {
    /// The mode, by name or alias.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Wall time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<HumanDuration>,
    /// Turns of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u64>,
    /// Money.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
    /// What tools can reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkReach>,
    /// How closely the agent is watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supervisor: Option<SpecSupervision>,
    /// Commands the host runs on the result; each must succeed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// Patterns for files in which the checks' runners write down what they did, relative to the workspace.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub check_reports: Vec<String>,
    /// Tests and what else defines checks are meant to change.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tests_may_change: bool,
}

/// How closely the agent is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SpecSupervision {
    /// Not at all.
    Off,
    /// By words alone.
    Advise,
    /// When it gets lost.
    Adaptive,
    /// All the time.
    Strict,
}

/// Who does it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SpecAgent {
    /// A known agent or the path of a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The model to use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// A container image that follows the contract.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}
