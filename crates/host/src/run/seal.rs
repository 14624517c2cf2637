//! Seal: the manifest, the artifacts' digests, the copy for the user. This phase cannot fail the run silently.

use std::fs;
use std::time::Instant;

use holon_core::digest::sha256;
use holon_core::event::EventBody;
use holon_core::manifest::{ArtifactRecord, ErrorInfo, PhaseTiming, RunPhase};
use holon_core::outcome::RunOutcome;
use holon_core::redact::Redactor;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::apply::{AppliedRun, apply};
use super::verdict::RunVerdict;
use super::{ActiveRun, FinishedRun};
use crate::error::HostError;
use crate::release;
use crate::store::{copy_last_events, copy_out, write_durable};

impl ActiveRun<'_> {
    /// Writes the manifest whatever happened before, copies the artifacts out, and ends the run.
    pub(super) fn seal(mut self, mut verdict: RunVerdict) -> FinishedRun {
        let began = Instant::now();
        self.events.emit(EventBody::PhaseStarted { phase: RunPhase::Seal });
        self.beside = None;
        self.keep_left();
        if !self.plan.keep {
            // Before the manifest: on a full disk this is what makes room for it.
            self.folder.remove_layers();
        }
        self.settle_tape();
        self.note_supervision();
        self.settle_evidence();
        self.count_patch();
        let mut out = self.plan.out.clone();
        self.conclude(&verdict, began);
        let mut written = self.write_manifest();
        if let Some((dir, e)) =
            out.as_ref().and_then(|dir| Some((dir.clone(), copy_out(&self.folder, &[], dir).err()?)))
        {
            out = None;
            let message = format!("the artifacts could not be copied to {}: {e}", dir.display());
            let place = format!("they are in {}", self.folder.output().display());
            verdict.worsen(RunOutcome::Failure, ErrorInfo::new("out", message).with_hint(place));
            self.conclude(&verdict, began);
            written = self.write_manifest();
        }
        match written {
            Ok(()) => {
                self.record.finished = true;
                let _ = self.folder.save(&self.record);
                self.folder.release();
            }
            // Left unfinished, the next start finds the run and gives it the manifest it could not get now.
            Err(e) => {
                let error = ErrorInfo::new(e.kind(), format!("the manifest could not be written: {e}"));
                verdict.worsen(RunOutcome::Failure, ErrorInfo { hint: e.hint(), ..error });
                self.conclude(&verdict, began);
            }
        }
        let applied = self.apply_if_asked();
        let duration_ms = began.elapsed().as_millis() as u64;
        self.events.emit(EventBody::PhaseFinished {
            phase: RunPhase::Seal,
            duration_ms,
            ok: self.record.finished,
        });
        self.events.emit(EventBody::RunFinished {
            status: self.manifest.status,
            outcome: self.manifest.outcome,
            exit_code: self.manifest.exit_code,
            manifest_sha256: self.folder.manifest_sha256(),
        });
        if let Some(out) = &out {
            copy_last_events(&self.folder, out);
        }
        FinishedRun { folder: self.folder.path().to_owned(), manifest: self.manifest, out, applied }
    }

    fn conclude(&mut self, verdict: &RunVerdict, began: Instant) {
        let seal = PhaseTiming { duration_ms: began.elapsed().as_millis() as u64, ok: true };
        self.manifest.phases.insert(RunPhase::Seal, seal);
        self.manifest.duration_ms = self.began.elapsed().as_millis() as u64;
        self.manifest.conclude(verdict.status, verdict.outcome);
        self.manifest.error = verdict.error.clone();
        self.clean_manifest();
    }

    /// What comes from an agent: the name of a file can hold a credential as well as its content.
    fn clean_manifest(&mut self) {
        let redactor = self.events.redactor();
        let manifest = &mut self.manifest;
        clean(redactor, &mut manifest.artifacts);
        clean(redactor, &mut manifest.breaches);
        clean(redactor, &mut manifest.error);
        let metadata = &mut manifest.metadata;
        clean(redactor, &mut metadata.warnings);
        clean(redactor, &mut metadata.network);
        clean(redactor, &mut metadata.environment);
        clean(redactor, &mut metadata.verification);
        clean(redactor, &mut metadata.supervisor);
        if let Some(snapshot) = &mut metadata.snapshot {
            clean(redactor, &mut snapshot.touched);
        }
    }

    fn write_manifest(&self) -> Result<(), HostError> {
        let output = self.folder.output();
        fs::create_dir_all(&output).map_err(HostError::io("create", &output))?;
        write_durable(&output.join("manifest.json"), self.manifest.to_json().as_bytes())
    }

    /// The patch's row in the manifest.
    fn count_patch(&mut self) {
        let required = self.plan.profile.requires("diff.patch");
        let bytes = fs::read(self.folder.output().join("diff.patch")).ok();
        if !required && bytes.is_none() {
            return;
        }
        let problems = if bytes.is_none() { vec!["no patch was delivered".to_owned()] } else { Vec::new() };
        self.manifest.artifacts.push(ArtifactRecord {
            path: "diff.patch".into(),
            sha256: bytes.as_deref().map(sha256),
            bytes: bytes.as_ref().map_or(0, |b| b.len() as u64),
            required,
            valid: bytes.is_some(),
            problems,
        });
    }

    fn apply_if_asked(&mut self) -> Option<Result<AppliedRun, HostError>> {
        let asked = self.plan.apply && self.plan.profile.access.delivers();
        if !asked || !release::applies_by_itself(&self.folder) {
            return None;
        }
        let applied = apply(&self.folder, &self.host.places);
        if let Err(e) = &applied {
            self.warn(format!("the patch was not applied: {e}"));
        }
        Some(applied)
    }
}

/// Redacts every text in a part of the manifest.
fn clean<T: Serialize + DeserializeOwned>(redactor: &Redactor, part: &mut T) {
    let Ok(value) = serde_json::to_value(&*part) else { return };
    if let Ok(cleaned) = serde_json::from_value(redactor.redact_json(&value)) {
        *part = cleaned;
    }
}
