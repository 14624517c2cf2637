//! A finished output folder, read only after every digest was checked.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use holon_core::artifact::ethics::blocks;
use holon_core::artifact::{ArtifactKind, read};
use holon_core::digest::sha256;
use holon_core::manifest::{EthicsOverride, SCHEMA_VERSION};
use holon_core::mode_run::ModeDecision;
use holon_core::patch::named_paths;
use holon_core::release::{ReleaseDecision, ReleaseOverride, ReleaseRecord, ReleaseTarget, decide_release};
use holon_core::{Manifest, RunOutcome, sensitive};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, fstat, openat, openat2};

use crate::error::PublishError;
use crate::whole;

const LARGEST_MANIFEST: u64 = 16 << 20;

/// An output folder whose files are the ones its manifest vouches for.
#[derive(Debug)]
pub struct VerifiedOutput {
    dir: PathBuf,
    manifest: Manifest,
    digest: String,
    files: BTreeMap<String, Vec<u8>>,
    overrides: Vec<ReleaseOverride>,
}

impl VerifiedOutput {
    /// Reads and verifies a folder; `expected` is the digest the manifest must have, when the caller knows it.
    pub fn open(dir: &Path, expected: Option<&str>) -> Result<Self, PublishError> {
        let folder = openat(CWD, dir, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|e| PublishError::folder(dir, format!("the folder cannot be opened: {e}")))?;
        let text = bytes(&folder, "manifest.json", LARGEST_MANIFEST)
            .map_err(|why| PublishError::folder(dir.join("manifest.json"), why))?;
        let digest = sha256(&text);
        let wanted = expected.map(|e| e.trim().trim_start_matches("sha256:").to_ascii_lowercase());
        if let Some(expected) = wanted.filter(|e| *e != digest) {
            return Err(PublishError::Tampered { path: "manifest.json".into(), expected, found: digest });
        }
        let manifest: Manifest = serde_json::from_slice(&text)
            .map_err(|e| PublishError::folder(dir.join("manifest.json"), format!("not a manifest: {e}")))?;
        if manifest.schema_version != SCHEMA_VERSION {
            let why = format!("version {} of the manifest is not known", manifest.schema_version);
            return Err(PublishError::folder(dir.join("manifest.json"), why));
        }
        let mut files = BTreeMap::new();
        for artifact in &manifest.artifacts {
            let Some(expected) = &artifact.sha256 else { continue };
            // Files an agent left besides may be as large as the run allowed; the manifest says how large this one is.
            let limit = artifact.bytes.max(ArtifactKind::of(&artifact.path).max_bytes() as u64);
            let content = bytes(&folder, &artifact.path, limit)
                .map_err(|why| PublishError::folder(dir.join(&artifact.path), why))?;
            let found = sha256(&content);
            if found != *expected {
                return Err(PublishError::Tampered {
                    path: artifact.path.clone(),
                    expected: expected.clone(),
                    found,
                });
            }
            if artifact.valid {
                files.insert(artifact.path.clone(), content);
            }
        }
        Ok(Self { dir: dir.to_owned(), manifest, digest, files, overrides: Vec::new() })
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What the host said about the run.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The digest of the manifest, which names this output as a whole.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The run's id as text.
    pub fn run(&self) -> &str {
        self.manifest.run_id.as_str()
    }

    /// A valid artifact's bytes.
    pub fn bytes(&self, name: &str) -> Option<&[u8]> {
        self.files.get(name).map(Vec::as_slice)
    }

    /// A valid artifact's text.
    pub fn text(&self, name: &str) -> Option<String> {
        self.bytes(name).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    /// A valid artifact's JSON as a type.
    pub fn json<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<Option<T>, PublishError> {
        let Some(bytes) = self.bytes(name) else { return Ok(None) };
        read(bytes).map(Some).map_err(|problems| {
            let why = problems.first().map(ToString::to_string).unwrap_or_default();
            PublishError::folder(self.dir.join(name), why)
        })
    }

    /// The same with a word of a person, who lets something pass that is held.
    pub fn overruled_by(mut self, word: ReleaseOverride) -> Self {
        self.overrides.push(word);
        self
    }

    /// What people let pass, in sentences.
    pub fn overrides(&self) -> Vec<String> {
        let metadata = &self.manifest.metadata;
        let ethics = metadata.ethics_override.iter().map(EthicsOverride::told);
        let words = metadata.overrides.iter().chain(&self.overrides).map(ReleaseOverride::told);
        ethics.chain(words).collect()
    }

    /// Whether it may go out, and why not; `as_draft` marks it as something a person has to look at.
    pub fn release(&self, as_draft: bool) -> ReleaseDecision {
        let needs_human = self.manifest.outcome == RunOutcome::NeedsHuman;
        let target = match as_draft && needs_human {
            true => ReleaseTarget::PublishDraft,
            false => ReleaseTarget::Publish,
        };
        decide_release(&self.record(), target)
    }

    fn record(&self) -> ReleaseRecord {
        let mut record = ReleaseRecord::of_manifest(&self.manifest);
        let patch = self.bytes("diff.patch").filter(|patch| !patch.is_empty());
        let overruled = self.manifest.metadata.ethics_override.is_some();
        if patch.is_some()
            && !overruled
            && self.bytes("ethics.json").is_some_and(|report| blocks(Some(report)))
        {
            let reason = "its ethics report does not approve the change".to_owned();
            record.assessment = record.assessment.or(Some(ModeDecision::Block { reason }));
        }
        let touched =
            self.manifest.metadata.snapshot.iter().flat_map(|snapshot| snapshot.touched.keys().cloned());
        let mut paths: BTreeSet<String> = named_paths(patch.unwrap_or_default());
        paths.extend(touched.filter(|_| patch.is_some()));
        record.sensitive =
            paths.into_iter().filter(|path| sensitive::matches(path.as_bytes()).is_some()).collect();
        record.whole = whole::of(&self.dir, self.manifest.metadata.part_of.as_ref()).map(Box::new);
        record.overrides.extend(self.overrides.iter().cloned());
        record
    }

    /// How it may go out: success always, `needs_human` only where the caller accepts a draft.
    pub fn gate(&self, draft_needs_human: bool) -> Result<PublishReadiness, PublishError> {
        let decision = self.release(draft_needs_human);
        match decision.target {
            _ if !decision.is_released() => Err(PublishError::Held(Box::new(decision))),
            ReleaseTarget::PublishDraft => Ok(PublishReadiness::Draft),
            _ => Ok(PublishReadiness::Final),
        }
    }
}

/// How something may go out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublishReadiness {
    /// As it is.
    Final,
    /// Marked as something a person has to look at.
    Draft,
}

/// A regular file below a folder, no link followed on the way, of at most `limit` bytes.
fn bytes(folder: &impl AsFd, name: &str, limit: u64) -> Result<Vec<u8>, String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let fd =
        openat2(folder, name, flags, Mode::empty(), resolve).map_err(|e| format!("cannot be opened: {e}"))?;
    let kind = fstat(&fd).map_err(|e| format!("cannot be looked at: {e}"))?;
    if !rustix::fs::FileType::from_raw_mode(kind.st_mode).is_file() {
        return Err("is not a regular file".into());
    }
    let mut content = Vec::new();
    File::from(fd).take(limit + 1).read_to_end(&mut content).map_err(|e| format!("cannot be read: {e}"))?;
    if content.len() as u64 > limit {
        return Err(format!("has more than {limit} bytes"));
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;

    use holon_core::manifest::{ArtifactRecord, SandboxBreach};
    use holon_core::{RunId, RunStatus};

    use super::*;

    fn folder(outcome: RunOutcome, files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let mut manifest = Manifest::begun(RunId::from_parts(0, [0; 4]), "plan", "1970-01-01T00:00:00Z");
        for (path, text) in files {
            fs::write(dir.path().join(path), text).unwrap();
            manifest.artifacts.push(ArtifactRecord {
                path: path.to_string(),
                sha256: Some(sha256(text.as_bytes())),
                bytes: text.len() as u64,
                required: true,
                valid: true,
                problems: Vec::new(),
            });
        }
        manifest.conclude(RunStatus::Completed, outcome);
        fs::write(dir.path().join("manifest.json"), manifest.to_json()).unwrap();
        dir
    }

    #[test]
    fn a_changed_file_is_refused() {
        let dir = folder(RunOutcome::Success, &[("plan.md", "# Plan")]);
        assert_eq!(
            VerifiedOutput::open(dir.path(), None).unwrap().text("plan.md").as_deref(),
            Some("# Plan")
        );
        fs::write(dir.path().join("plan.md"), "# Plam").unwrap();
        assert!(
            matches!(VerifiedOutput::open(dir.path(), None), Err(PublishError::Tampered { path, .. }) if path == "plan.md")
        );
    }

    #[test]
    fn a_link_or_a_missing_file_is_refused() {
        let dir = folder(RunOutcome::Success, &[("plan.md", "# Plan")]);
        let other = dir.path().join("other");
        fs::rename(dir.path().join("plan.md"), &other).unwrap();
        assert!(matches!(VerifiedOutput::open(dir.path(), None), Err(PublishError::Folder { .. })));
        std::os::unix::fs::symlink(&other, dir.path().join("plan.md")).unwrap();
        assert!(matches!(VerifiedOutput::open(dir.path(), None), Err(PublishError::Folder { .. })));
    }

    #[test]
    fn a_manifest_that_was_exchanged_is_refused_when_its_digest_is_known() {
        let dir = folder(RunOutcome::Success, &[]);
        let digest = VerifiedOutput::open(dir.path(), None).unwrap().digest().to_owned();
        assert!(VerifiedOutput::open(dir.path(), Some(&format!("sha256:{digest}"))).is_ok());
        let other = folder(RunOutcome::Failure, &[]);
        assert!(matches!(
            VerifiedOutput::open(other.path(), Some(&digest)),
            Err(PublishError::Tampered { .. })
        ));
    }

    #[test]
    fn only_success_goes_out_as_it_is() {
        let check = |outcome, draft, expect: Option<PublishReadiness>| {
            let dir = folder(outcome, &[]);
            assert_eq!(
                VerifiedOutput::open(dir.path(), None).unwrap().gate(draft).ok(),
                expect,
                "{outcome} {draft}"
            );
        };
        check(RunOutcome::Success, false, Some(PublishReadiness::Final));
        check(RunOutcome::Success, true, Some(PublishReadiness::Final));
        check(RunOutcome::NeedsHuman, false, None);
        check(RunOutcome::NeedsHuman, true, Some(PublishReadiness::Draft));
        check(RunOutcome::Failure, true, None);
        let dir = folder(RunOutcome::Success, &[]);
        let mut output = VerifiedOutput::open(dir.path(), None).unwrap();
        output.manifest.breaches.push(SandboxBreach {
            kind: "x".into(),
            detail: String::new(),
            paths: Vec::new(),
        });
        assert!(output.gate(true).is_err());
    }
}
