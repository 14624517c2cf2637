//! Seal: the manifest, the artifacts' digests, the copy for the user. This phase cannot fail the run silently.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use holon_core::digest::sha256;
use holon_core::event::Body;
use holon_core::manifest::{Artifact, ErrorInfo, Phase, PhaseTiming};
use holon_core::outcome::Outcome;

use super::apply::{Applied, apply};
use super::verdict::Verdict;
use super::{Finished, Run};
use crate::error::HostError;
use crate::store::{copy_tree, write_durable};

impl Run<'_> {
    /// Writes the manifest whatever happened before, copies the artifacts out, and ends the run.
    pub(super) fn seal(mut self, mut verdict: Verdict) -> Finished {
        let began = Instant::now();
        self.events.emit(Body::PhaseStarted { phase: Phase::Seal });
        if !self.plan.keep {
            // First of all: on a full disk this is what makes room for the manifest.
            self.folder.remove_layers();
        }
        self.count_output();
        let out = self.plan.out.clone();
        self.conclude(&verdict, began);
        let mut written = self.write_manifest();
        if let Some(out) = &out
            && let Err(e) = self.copy_out(out)
        {
            let message = format!("the artifacts could not be copied to {}: {e}", out.display());
            let place = format!("they are in {}", self.folder.output().display());
            verdict.worsen(Outcome::Failure, ErrorInfo::new("out", message).with_hint(place));
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
                verdict.worsen(Outcome::Failure, ErrorInfo { hint: e.hint(), ..error });
                self.conclude(&verdict, began);
            }
        }
        let applied = self.apply_if_asked(&verdict);
        let duration_ms = began.elapsed().as_millis() as u64;
        self.events.emit(Body::PhaseFinished { phase: Phase::Seal, duration_ms, ok: self.record.finished });
        self.events.emit(Body::RunFinished {
            status: self.manifest.status,
            outcome: self.manifest.outcome,
            exit_code: self.manifest.exit_code,
        });
        Finished { folder: self.folder.path().to_owned(), manifest: self.manifest, out, applied }
    }

    fn conclude(&mut self, verdict: &Verdict, began: Instant) {
        let seal = PhaseTiming { duration_ms: began.elapsed().as_millis() as u64, ok: true };
        self.manifest.phases.insert(Phase::Seal, seal);
        self.manifest.duration_ms = self.began.elapsed().as_millis() as u64;
        self.manifest.conclude(verdict.status, verdict.outcome);
        self.manifest.error = verdict.error.clone().map(|mut e| {
            e.message = self.events.redactor().redact_str(&e.message);
            e
        });
    }

    fn write_manifest(&self) -> Result<(), HostError> {
        let output = self.folder.output();
        fs::create_dir_all(&output).map_err(HostError::io("create", &output))?;
        write_durable(&output.join("manifest.json"), self.manifest.to_json().as_bytes())
    }

    /// Digests of the patch and of whatever else lies in the output folder.
    fn count_output(&mut self) {
        let output = self.folder.output();
        let patch = output.join("diff.patch");
        let required = self.plan.profile.requires("diff.patch");
        let bytes = fs::read(&patch).ok();
        if required || bytes.is_some() {
            let problems =
                if bytes.is_none() { vec!["no patch was delivered".to_owned()] } else { Vec::new() };
            self.manifest.artifacts.push(Artifact {
                path: "diff.patch".into(),
                sha256: bytes.as_deref().map(sha256),
                bytes: bytes.as_ref().map_or(0, |b| b.len() as u64),
                required,
                valid: bytes.is_some(),
                problems,
            });
        }
        let known: Vec<String> = self.manifest.artifacts.iter().map(|a| a.path.clone()).collect();
        for (name, bytes) in other_files(&output) {
            if !known.contains(&name) && name != "manifest.json" {
                let row = Artifact {
                    path: name,
                    sha256: Some(sha256(&bytes)),
                    bytes: bytes.len() as u64,
                    required: false,
                    valid: true,
                    problems: Vec::new(),
                };
                self.manifest.artifacts.push(row);
            }
        }
    }

    /// Replaces `--out` in one step: a full new folder takes the place of the old one.
    fn copy_out(&self, out: &Path) -> Result<(), HostError> {
        let parent = out.parent().unwrap_or(Path::new("."));
        let fresh = tempfile::Builder::new()
            .prefix(".holon-out-")
            .tempdir_in(parent)
            .map_err(HostError::io("create", parent))?;
        copy_tree(&self.folder.output(), fresh.path())?;
        let evidence = fresh.path().join("evidence");
        if evidence.exists() {
            let own = fresh.path().join("evidence-of-agent");
            fs::rename(&evidence, &own).map_err(HostError::io("rename", &evidence))?;
        }
        copy_tree(&self.folder.evidence(), &evidence)?;
        let fresh = fresh.keep();
        use std::os::unix::fs::PermissionsExt;
        let _ = fs::set_permissions(&fresh, fs::Permissions::from_mode(0o755));
        let old: Option<PathBuf> =
            out.exists().then(|| parent.join(format!(".holon-old-{}", self.record.id)));
        if let Some(old) = &old {
            fs::rename(out, old).map_err(HostError::io("rename", out))?;
        }
        fs::rename(&fresh, out).map_err(HostError::io("create", out))?;
        if let Some(old) = old {
            fs::remove_dir_all(&old).map_err(HostError::io("remove", &old))?;
        }
        Ok(())
    }

    fn apply_if_asked(&mut self, verdict: &Verdict) -> Option<Applied> {
        if !self.plan.apply || verdict.outcome != Outcome::Success || !self.plan.profile.access.delivers() {
            return None;
        }
        match apply(&self.folder) {
            Ok(applied) => Some(applied),
            Err(e) => {
                self.warn(format!("the patch was not applied: {e}"));
                None
            }
        }
    }
}

/// Small regular files an agent left besides the asked ones; folders are walked, links are not.
fn other_files(output: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut todo = vec![output.to_owned()];
    while let Some(folder) = todo.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
            if kind.is_dir() {
                todo.push(path);
            } else if kind.is_file()
                && let (Ok(name), Ok(bytes)) = (path.strip_prefix(output), fs::read(&path))
            {
                files.push((name.to_string_lossy().into_owned(), bytes));
            }
            if files.len() >= 1000 {
                return files;
            }
        }
    }
    files.sort();
    files
}
