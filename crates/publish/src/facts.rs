//! What is said about a run wherever something of it is published.

use holon_core::digest::sha256;
use holon_core::ids::TaskId;
use holon_core::manifest::VerificationReport;

use crate::folder::{PublishReadiness, VerifiedOutput};
use crate::marker::Marker;
use crate::text::{Cleaner, code};

/// The longest sentence about an override.
const LONGEST_OVERRIDE: usize = 600;
/// Most files with lines that no test ran.
const NOT_RUN: usize = 10;

/// A run, as its publications name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicationFacts {
    /// The run's id.
    pub run: String,
    /// The digest of its manifest.
    pub digest: String,
    /// What its publications belong to: one branch, one pull request, one comment of a kind per task.
    pub task: TaskId,
    /// Whether a person has to look at it.
    pub draft: bool,
    /// One line about how it was made.
    pub made: String,
    /// Who let pass what was held, a sentence each.
    pub overrides: Vec<String>,
    /// Changed lines that no test ran, a file each.
    pub not_run: Vec<String>,
}

/// Changed lines that no test ran, and how many files more have some.
fn not_run(known: Option<&VerificationReport>, clean: &Cleaner) -> Vec<String> {
    let files = known.and_then(|known| known.coverage.as_ref()).map(|found| found.not_run.as_slice());
    let files = files.unwrap_or_default();
    let mut told: Vec<String> =
        files.iter().take(NOT_RUN).map(|file| clean.line(&file.to_string(), LONGEST_OVERRIDE)).collect();
    let more = files.len().saturating_sub(told.len());
    if more > 0 {
        told.push(format!("and {more} more files"));
    }
    told
}

impl PublicationFacts {
    /// The facts of an output.
    pub fn of(output: &VerifiedOutput, task: TaskId, ready: PublishReadiness, clean: &Cleaner) -> Self {
        let manifest = output.manifest();
        let metadata = &manifest.metadata;
        let agent = match &metadata.agent.version {
            Some(version) => format!("{} {version}", metadata.agent.name),
            None => metadata.agent.name.clone(),
        };
        let mut made = format!("mode {}", code(&clean.redacted(&manifest.mode)));
        for (what, value) in [
            ("agent", Some(agent)),
            ("model", metadata.model.as_ref().map(|model| model.id.clone())),
            ("walls", Some(metadata.sandbox.backend.clone())),
        ] {
            if let Some(value) = value.filter(|value| !value.trim().is_empty()) {
                made.push_str(&format!(", {what} {}", code(&clean.redacted(&value))));
            }
        }
        Self {
            run: output.run().to_owned(),
            digest: output.digest().to_owned(),
            task,
            draft: ready == PublishReadiness::Draft,
            made,
            not_run: not_run(metadata.verification.as_ref(), clean),
            overrides: output.overrides().iter().map(|word| clean.line(word, LONGEST_OVERRIDE)).collect(),
        }
    }

    /// The closing lines of everything published.
    pub fn footer(&self) -> String {
        format!("\n<sub>Holon run {}: {}; manifest sha256 {}.</sub>\n", self.run, self.made, &self.digest)
    }

    /// The marker with task, run and digest.
    pub fn mark(&self, marker: Marker) -> Marker {
        marker.with("task", self.task.as_str()).with("run", &self.run).with("digest", &self.digest)
    }

    /// A short name for a text, to tell later whether it changed.
    pub fn text_digest(text: &str) -> String {
        sha256(text.as_bytes()).chars().take(16).collect()
    }
}
