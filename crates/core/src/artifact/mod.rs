//! Artifacts: what each must be, checked from its bytes alone.
//!
//! Messages are written for the agent that has to repair the file, so they say what is expected and where.

mod circle;
pub mod debug;
pub mod ethics;
mod ethics_page;
pub mod findings;
pub mod json_schema;
pub mod markdown;
pub mod orchestration;
pub mod plan;
pub mod review;

use std::fmt;

use serde::de::DeserializeOwned;

/// Names a spec may give as the schema of an artifact.
pub const SCHEMAS: [&str; 5] = ["plan", "review", "debug", "ethics", "tasks"];

const MB: usize = 1024 * 1024;

/// What is wrong with an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactProblem {
    /// Where in the file, e.g. `findings[2].line`; empty for the file as a whole.
    pub place: String,
    /// What is wrong and what is expected.
    pub message: String,
}

impl ArtifactProblem {
    pub(crate) fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into() }
    }
}

impl fmt::Display for ArtifactProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.place, self.message)
        }
    }
}

/// What an artifact's content must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ArtifactKind {
    /// A patch made by the host; empty is fine.
    Patch,
    /// Non-empty Markdown.
    Markdown,
    /// Markdown with the sections of a plan.
    PlanMarkdown,
    /// [`plan::PlanDocument`]
    Plan,
    /// [`review::ReviewReport`]
    Review,
    /// [`debug::DebugReport`]
    Debug,
    /// [`ethics::EthicsReport`]
    Ethics,
    /// [`orchestration::OrchestrationGraph`]
    Tasks,
    /// Any JSON object.
    Object,
    /// Any JSON.
    Json,
    /// Anything that is not empty.
    Other,
}

impl ArtifactKind {
    /// The kind an artifact has by its name.
    pub fn of(name: &str) -> Self {
        match name {
            "diff.patch" => Self::Patch,
            "plan.md" => Self::PlanMarkdown,
            "plan.json" => Self::Plan,
            "review.json" => Self::Review,
            "debug.json" => Self::Debug,
            "ethics.json" => Self::Ethics,
            "orchestration.json" => Self::Tasks,
            "manifest.json" => Self::Object,
            other if other.ends_with(".md") => Self::Markdown,
            other if other.ends_with(".json") => Self::Json,
            _ => Self::Other,
        }
    }

    /// The kind behind the name of a schema.
    pub fn of_schema(schema: &str) -> Option<Self> {
        Some(match schema {
            "plan" => Self::Plan,
            "review" => Self::Review,
            "debug" => Self::Debug,
            "ethics" => Self::Ethics,
            "tasks" => Self::Tasks,
            _ => return None,
        })
    }

    /// The schema that describes this kind.
    pub fn schema(self) -> Option<&'static str> {
        Some(match self {
            Self::Plan => "plan",
            Self::Review => "review",
            Self::Debug => "debug",
            Self::Ethics => "ethics",
            Self::Tasks => "tasks",
            _ => return None,
        })
    }

    /// The most bytes an artifact of this kind may have.
    pub fn max_bytes(self) -> usize {
        match self {
            Self::Markdown | Self::PlanMarkdown => MB,
            Self::Plan | Self::Review | Self::Debug | Self::Ethics | Self::Tasks => 4 * MB,
            Self::Object | Self::Json => 16 * MB,
            Self::Patch | Self::Other => 256 * MB,
        }
    }
}

/// Whether a name can be an artifact's: a plain path inside the output folder that belongs to the agent.
pub fn check_name(name: &str) -> Result<(), &'static str> {
    if name.is_empty() || name.len() > 200 {
        return Err("must have 1 to 200 characters");
    }
    if name.starts_with('/') || name.contains(['\\', '\0']) || name.chars().any(char::is_control) {
        return Err("must be a plain path relative to the output folder");
    }
    if name.split('/').any(|part| part.is_empty() || part == "." || part == ".." || part.trim() != part) {
        return Err("must be a plain path without `.`, `..` or empty parts");
    }
    let first = name.split('/').next().unwrap_or_default();
    if first.eq_ignore_ascii_case("manifest.json") {
        return Err("is always written by the host, so it cannot be asked for");
    }
    if first.eq_ignore_ascii_case("evidence") {
        return Err("is in evidence/, which belongs to the host");
    }
    Ok(())
}

/// Checks an artifact by its name.
pub fn validate(name: &str, bytes: &[u8]) -> Result<(), Vec<ArtifactProblem>> {
    validate_as(ArtifactKind::of(name), bytes)
}

/// Checks an artifact as a given kind.
pub fn validate_as(kind: ArtifactKind, bytes: &[u8]) -> Result<(), Vec<ArtifactProblem>> {
    if bytes.len() > kind.max_bytes() {
        let message = format!("it has {} bytes, at most {} are allowed", bytes.len(), kind.max_bytes());
        return Err(vec![ArtifactProblem::new("", message)]);
    }
    if kind == ArtifactKind::Patch {
        return Ok(());
    }
    if bytes.trim_ascii().is_empty() {
        return Err(vec![ArtifactProblem::new("", "it is empty")]);
    }
    let problems = match kind {
        ArtifactKind::Patch | ArtifactKind::Other => Vec::new(),
        ArtifactKind::Markdown => markdown::check(bytes),
        ArtifactKind::PlanMarkdown => plan::check_markdown(bytes),
        ArtifactKind::Plan => read::<plan::PlanDocument>(bytes).map_or_else(|p| p, |plan| plan.check()),
        ArtifactKind::Review => review::ParsedReview::parse(bytes).err().unwrap_or_default(),
        ArtifactKind::Debug => read::<debug::DebugReport>(bytes).map_or_else(|p| p, |debug| debug.check()),
        ArtifactKind::Ethics => {
            read::<ethics::EthicsReport>(bytes).map_or_else(|p| p, |ethics| ethics.check())
        }
        ArtifactKind::Tasks => {
            read::<orchestration::OrchestrationGraph>(bytes).map_or_else(|p| p, |graph| graph.check())
        }
        ArtifactKind::Object => {
            read::<serde_json::Map<String, serde_json::Value>>(bytes).err().unwrap_or_default()
        }
        ArtifactKind::Json => read::<serde_json::Value>(bytes).err().unwrap_or_default(),
    };
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// Reads JSON written by an agent; extra fields are fine, missing or mistyped ones are named.
pub fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Vec<ArtifactProblem>> {
    serde_json::from_slice(bytes).map_err(|error| {
        let place = format!("line {} column {}", error.line(), error.column());
        let text = error.to_string();
        let message = text.split(" at line ").next().unwrap_or(&text).to_owned();
        let fenced = bytes.trim_ascii_start().starts_with(b"```");
        let hint = if fenced { "; write bare JSON, without a Markdown fence around it" } else { "" };
        vec![ArtifactProblem::new(place, format!("{message}{hint}"))]
    })
}

/// Adds a problem when a text is blank.
pub(crate) fn need_text(text: &str, place: impl Into<String>, problems: &mut Vec<ArtifactProblem>) {
    if text.trim().is_empty() {
        problems.push(ArtifactProblem::new(place, "is empty"));
    }
}

#[cfg(test)]
mod tests;
