//! The artifacts an agent left: read without trust, redacted, checked against their form.

use std::fs;
use std::io::Read;
use std::path::Path;

use holon_core::artifact::{self, review::ParsedReview};
use holon_core::digest::sha256;
use holon_core::event::EventBody;
use holon_core::manifest::{ArtifactRecord, ErrorInfo};
use holon_core::outcome::RunOutcome;
use holon_core::spec::RequestedSchema;

use super::ActiveRun;
use super::leftovers::{MISSING, open_below};
use super::verdict::RunVerdict;
use crate::error::HostError;
use crate::store::write_atomic;

impl ActiveRun<'_> {
    /// Every file the mode and the spec ask for, and every other one that was left; `again` says whether the agent can still
    /// mend them.
    pub(super) fn judge_artifacts(&mut self, verdict: &mut RunVerdict, again: bool) -> Result<(), HostError> {
        let wanted = self.plan.profile.artifacts.clone();
        let mut names: Vec<(String, bool)> = wanted.required.iter().map(|n| (n.clone(), true)).collect();
        names.extend(
            wanted.optional.iter().filter(|n| !wanted.required.contains(n)).map(|n| (n.clone(), false)),
        );
        for (name, required) in names {
            if name == "diff.patch" || name == "manifest.json" {
                continue;
            }
            let row = self.judge_artifact(&name, required, again)?;
            if !row.valid && (required || row.sha256.is_some()) {
                self.events
                    .emit(EventBody::ArtifactRejected { path: name.clone(), problems: row.problems.clone() });
                let missing = row.problems.iter().any(|problem| problem == MISSING);
                let kind = if missing { "artifact_missing" } else { "artifact_invalid" };
                let what = if missing {
                    format!("required artifact {name} is missing")
                } else {
                    format!("artifact {name} is not valid: {}", row.problems.join("; "))
                };
                // Where a person has to look, what is missing is no surprise.
                let excused = verdict.is_checkpoint() || (missing && verdict.asks_person);
                if required && !excused {
                    verdict.worsen(
                        RunOutcome::Failure,
                        ErrorInfo::new(kind, what).with_hint(format!(
                            "the agent must write /holon/output/{name}; `holon schema` shows the forms"
                        )),
                    );
                    verdict.repairs.push((name, row.problems.clone()));
                }
            } else if let (true, Some(sha)) = (row.valid, &row.sha256) {
                self.events.emit(EventBody::ArtifactAccepted {
                    path: name,
                    sha256: sha.clone(),
                    bytes: row.bytes,
                });
            }
            if required || row.sha256.is_some() {
                self.manifest.artifacts.push(row);
            }
        }
        Ok(())
    }

    fn judge_artifact(
        &mut self,
        name: &str,
        required: bool,
        again: bool,
    ) -> Result<ArtifactRecord, HostError> {
        let mut row = ArtifactRecord {
            path: name.to_owned(),
            sha256: None,
            bytes: 0,
            required,
            valid: false,
            problems: Vec::new(),
        };
        let limit = self.plan.profile.limits.output_mb << 20;
        let bytes = match self.read_left(name, limit) {
            Ok(bytes) => bytes,
            Err(problem) => {
                row.problems.push(problem);
                return Ok(row);
            }
        };
        let mut clean = self.events.redactor().redact(&bytes);
        let own = artifact::validate(name, &clean).err().unwrap_or_default();
        let asked = self.wanted_schema(name).map(|schema| schema.problems(&clean)).unwrap_or_default();
        row.problems = own.iter().chain(&asked).map(ToString::to_string).collect();
        row.problems.dedup();
        if row.problems.is_empty() && name == "review.json" {
            (clean, row.problems) = self.verify_review(&clean, required && again);
        }
        row.valid = row.problems.is_empty();
        let path = self.folder.output().join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(HostError::io("create", parent))?;
        }
        write_atomic(&path, &clean)?;
        row.sha256 = Some(sha256(&clean));
        row.bytes = clean.len() as u64;
        Ok(row)
    }

    /// What the spec says an artifact must satisfy.
    fn wanted_schema(&self, name: &str) -> Option<&RequestedSchema> {
        let wanted = self.plan.spec.output.artifacts.iter();
        wanted.filter(|artifact| artifact.path == name).find_map(|artifact| artifact.schema.as_ref())
    }

    /// Checks every finding's place against the files the agent saw, and fills in what the review leaves out. Findings in files
    /// that are not there go back to the agent once, and are left out after that.
    fn verify_review(&mut self, bytes: &[u8], again: bool) -> (Vec<u8>, Vec<String>) {
        let Ok(read) = ParsedReview::parse(bytes) else { return (bytes.to_vec(), Vec::new()) };
        let workspace = self.plan.workspace.clone();
        let mut review = read.verified(|path, _side| {
            let normal = holon_core::scope::normalise(path.as_bytes()).ok()?;
            let relative = String::from_utf8(normal).ok()?;
            read_below(&workspace, Path::new(&relative), 16 << 20)
        });
        let nowhere = review.nowhere();
        if again && !nowhere.is_empty() {
            return (bytes.to_vec(), nowhere);
        }
        if review.drop_nowhere() > 0 {
            self.warn_once(format!(
                "{} of the review's findings name files that are not there, and are left out",
                review.dropped
            ));
        }
        // What an agent says about commits is not what the host saw.
        review.base = None;
        review.head = self.manifest.metadata.snapshot.as_ref().and_then(|s| s.base_commit.clone());
        (serde_json::to_vec_pretty(&review).unwrap_or_else(|_| bytes.to_vec()), Vec::new())
    }
}

/// A file of the workspace, never through a link.
fn read_below(workspace: &Path, relative: &Path, limit: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    open_below(workspace, relative).ok()?.take(limit).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
