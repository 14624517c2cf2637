//! Everything a finished run left behind, read once; what is decided about it is decided from here alone.

use std::collections::{BTreeMap, BTreeSet};

use holon_core::event::{EventBody, RunEvent};
use holon_core::manifest::{Manifest, ModelInfo};
use holon_core::mode::Profile;
use holon_core::spec::Spec;
use holon_git::TouchedPath;
use holon_host::store::RunRecord;
use holon_store::AuditEntry;
use serde_json::Value;

use crate::release::AMENDED;
use crate::sealed::{MANIFEST_SHA256, SealList, SealedContents};

/// A run's folder in the store, or the copy somebody was given with `--out`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvidenceLayout {
    /// With the record, the input and what `apply` needs.
    Store,
    /// The artifacts, the manifest and the evidence, nothing else.
    Copy,
}

/// What a finished run left behind. What could not be read, or is not kept there, is `None` and decides nothing.
#[derive(Debug, Clone)]
pub struct RunEvidence {
    /// Where it was read.
    pub layout: EvidenceLayout,
    /// The last part of the folder's path.
    pub folder_name: String,
    /// What is claimed.
    pub manifest: Manifest,
    /// Digest of the file that claims it.
    pub manifest_sha256: String,
    /// The same as it is written, with fields this version may not know.
    pub written: Value,
    /// `run.json`.
    pub record: Option<RunRecord>,
    /// Everything in the output folder but the manifest.
    pub output: BTreeMap<String, EvidenceFile>,
    /// Everything in the evidence folder.
    pub evidence: BTreeMap<String, EvidenceFile>,
    /// `events.jsonl`.
    pub events: Option<EventLog>,
    /// `touched.json`.
    pub touched: Option<Vec<TouchedPath>>,
    /// Digest over the prompts that are kept.
    pub prompts_sha256: Option<String>,
    /// Digest of each context file that is kept.
    pub context: Option<BTreeMap<String, String>>,
    /// `spec.yaml` as the agent saw it.
    pub spec: Option<Spec>,
    /// The profile of the mode, where it is one that nobody can change.
    pub profile: Option<Profile>,
    /// What is kept to run it again: the request and the model.
    pub asked: Option<RecordedRequestFacts>,
    /// The audit log, as far as it concerns this run.
    pub audit: Option<AuditEvidence>,
    /// What is still known of the files the patch was made against.
    pub base: BaseEvidence,
    /// For flows and orchestrations: the manifest as its state and its children's manifests make it.
    pub whole: Option<WholeEvidence>,
    /// What the supervisor's recorded decisions add up to.
    pub supervisor: Option<Value>,
    /// The list of its files that the audit log tells of, and the files; `None` when it tells of none.
    pub seal: Option<SealEvidence>,
    /// What a copy was made of, when it is in the store and as it was sealed.
    pub original: Option<OriginalEvidence>,
    /// `overrides.json`: what people let pass, as it is written; `null` when it cannot be read.
    pub overrides: Option<Value>,
}

/// The seal of a run, and the files that it is about.
#[derive(Debug, Clone)]
pub struct SealEvidence {
    /// Digest of the list that the audit log tells of.
    pub told: String,
    /// The list that is there, by its digest; without content when it cannot be understood.
    pub list: Option<(String, Option<SealList>)>,
    /// Digest of what `run.json` says was asked.
    pub asked_sha256: Option<String>,
    /// The files that are there.
    pub there: SealedContents,
}

/// The run in the store that a copy was made of, as it was sealed.
#[derive(Debug, Clone)]
pub struct OriginalEvidence {
    /// Its files.
    pub list: SealList,
    /// The runs inside it, by their ids.
    pub parts: BTreeMap<String, SealList>,
    /// Whether the run went on after the copy was made, so that they need not be alike.
    pub went_on: bool,
}

/// One thing in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceFile {
    /// What it is.
    pub kind: EvidenceFileKind,
    /// Its size.
    pub bytes: u64,
    /// Digest of its bytes, when it is a file.
    pub sha256: Option<String>,
    /// Its bytes, when it is a file of a size that is looked into.
    pub content: Option<Vec<u8>>,
}

/// What a thing in a folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvidenceFileKind {
    /// A plain file.
    File,
    /// A link.
    Link,
    /// A pipe, socket or device.
    Special,
}

/// The event log.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EventLog {
    /// What could be read, in order.
    pub events: Vec<RunEvent>,
    /// Lines of kinds this version does not know.
    pub unknown: u64,
    /// Lines that are no events, by number.
    pub broken: Vec<u64>,
}

/// What a run kept of its plan, or of its request before plans were kept, as far as it says something about the manifest.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RecordedRequestFacts {
    /// Whether it was written down which model was chosen, if any was.
    pub model_recorded: bool,
    /// The model that was chosen.
    pub model: Option<ModelInfo>,
    /// Checks asked for by flags.
    pub checks: Vec<String>,
    /// Whether it may be the recording of a run that was cut short, done once more.
    pub may_repeat_a_cut: bool,
    /// Whether a person was to work at the agent's own screen.
    pub interactive: bool,
}

/// The audit log, as far as it concerns a run.
#[derive(Debug, Clone, Default)]
pub struct AuditEvidence {
    /// How many entries there are.
    pub length: u64,
    /// The entry the manifest calls the last one.
    pub head: Option<AuditEntry>,
    /// Entries that name this run.
    pub about: Vec<AuditEntry>,
    /// Every word of a person against the release gate.
    pub overrides: Vec<AuditEntry>,
    /// What is wrong with the log itself, in a sentence.
    pub broken: Option<String>,
}

impl RunEvidence {
    /// What was held by the release gate and let pass by people, as it is written.
    pub fn release_overrides(&self) -> &[Value] {
        self.written["metadata"]["overrides"].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether it is a flow or an orchestration. Its state does not come along with a copy, so there its manifest says so.
    pub fn is_whole(&self) -> bool {
        self.whole.is_some() || (self.layout == EvidenceLayout::Copy && self.manifest.metadata.flow.is_some())
    }

    /// The digest of the manifest that the end of the run was told with.
    pub fn sealed_sha256(&self) -> Option<&str> {
        let events = self.events.iter().flat_map(|log| log.events.iter().rev());
        let mut ends = events.filter_map(|event| match &event.body {
            EventBody::RunFinished { manifest_sha256, .. } => Some(manifest_sha256.as_deref()),
            _ => None,
        });
        ends.next().flatten()
    }

    /// Whether the manifest is the one that was written when the run ended, as far as its own log knows.
    pub fn is_as_sealed(&self) -> bool {
        self.sealed_sha256() == Some(self.manifest_sha256.as_str())
    }

    /// The digests of manifests that were written anew for a person's override, as the audit log tells them.
    pub fn amended(&self) -> impl Iterator<Item = &str> {
        self.told_manifests().filter(|(entry, _)| entry.note.action == AMENDED).map(|(_, digest)| digest)
    }

    /// The digests of all manifests of this run that the audit log tells of.
    pub fn told_manifests(&self) -> impl Iterator<Item = (&AuditEntry, &str)> {
        let about = self.audit.iter().flat_map(|log| &log.about);
        about.filter_map(|entry| Some((entry, entry.note.detail.get(MANIFEST_SHA256)?.as_str()?)))
    }

    /// Whether the manifest is one that holon itself wrote, as far as the run's own log and the audit log know.
    pub fn is_as_told(&self) -> bool {
        self.is_as_sealed() || self.amended().any(|digest| digest == self.manifest_sha256)
    }
}

/// What is still known of the files a patch was made against.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BaseEvidence {
    /// Whether the repository has the base commit; `None` without a repository to ask.
    pub commit_is_there: Option<bool>,
    /// Touched files whose original content is found nowhere any more.
    pub lost: BTreeSet<String>,
    /// Touched files whose original was found under the id in the patch, and its digest.
    pub originals: BTreeMap<String, String>,
    /// What came of applying the patch to the originals.
    pub applied: Option<ReapplyOutcome>,
}

/// What came of applying a patch to the files it was made against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReapplyOutcome {
    /// It gave exactly the recorded result.
    Reproduced,
    /// It gave something else at these paths.
    Differs(Vec<String>),
    /// It does not apply.
    Refused(String),
}

/// A flow or orchestration, as its state and its children's manifests make it.
#[derive(Debug, Clone)]
pub struct WholeEvidence {
    /// What its manifest would have to say.
    pub expected: Manifest,
    /// Digests its state recorded of its children's manifests that are not those of the files: step and run.
    pub changed_children: Vec<String>,
    /// Whether the state says that it was sealed.
    pub sealed: bool,
}
