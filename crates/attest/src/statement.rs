//! The statement: what a manifest knows about a change, as an in-toto Statement v1, and nothing it does not know.

use std::collections::BTreeMap;

use holon_core::digest::sha256;
use holon_core::manifest::{
    CaseCounts, CheckOrigin, CheckRecord, CheckVerdict, ComparisonRun, DecidedBy, DirtyState, EthicsOverride,
    GateDecision, Manifest, VerificationState,
};
use holon_core::outcome::{RunOutcome, RunStatus};
use holon_core::sandbox::{EnforcementRecord, IsolationLevel};
use holon_core::weakened::Weakening;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::AttestError;

/// What kind of statement it is.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// What the predicate is.
pub const PREDICATE_TYPE: &str = "https://github.com/holon-run/holon/attestation/run/v1";

/// An in-toto statement about a run's artifacts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunStatement {
    /// Always [`STATEMENT_TYPE`].
    #[serde(rename = "_type")]
    pub statement_type: String,
    /// What it is about: every valid artifact, the patch first.
    pub subject: Vec<StatementSubject>,
    /// Always [`PREDICATE_TYPE`].
    pub predicate_type: String,
    /// What is said.
    pub predicate: Predicate,
}

/// One artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatementSubject {
    /// Its path in the output folder.
    pub name: String,
    /// Its digests by algorithm.
    pub digest: BTreeMap<String, String>,
}

/// What is said about a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Predicate {
    /// The run.
    pub run: String,
    /// Digest of its manifest, which says more.
    pub manifest_sha256: String,
    /// The mode.
    pub mode: String,
    /// What the mode may do to the workspace.
    pub access: String,
    /// When it began.
    pub started_at: String,
    /// What happened to the execution.
    pub status: RunStatus,
    /// What the result is worth.
    pub outcome: RunOutcome,
    /// What the change was made against.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub base: Option<AttestedBase>,
    /// How large the change is.
    pub change: AttestedChange,
    /// Who did it.
    pub agent: AttestedAgent,
    /// The model, when the host chose one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub model: Option<AttestedModel>,
    /// What was enforced.
    pub sandbox: AttestedSandbox,
    /// The host's own checks.
    pub checks: AttestedVerification,
    /// Steps of a flow, with what was decided before each.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub steps: Vec<AttestedStep>,
    /// Rights taken by explicit flags, in words.
    pub accepted: Vec<String>,
    /// Who let the result out although its assessment blocked it.
    #[serde(rename = "override", skip_serializing_if = "Option::is_none", default)]
    pub overridden: Option<EthicsOverride>,
    /// What the release gate held and people let pass: what, where to, who and why.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub release_overrides: Vec<Value>,
    /// The end of the audit log.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub audit_head: Option<String>,
}

/// What a change was made against.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttestedBase {
    /// The commit the working tree was at.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub commit: Option<String>,
    /// Whether there was uncommitted work.
    pub dirty: DirtyState,
    /// Digest of each touched file as it was before; null where there was none.
    pub touched: BTreeMap<String, Option<String>>,
}

/// How large a change is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttestedChange {
    /// Files.
    pub files: u64,
    /// Lines added.
    pub insertions: u64,
    /// Lines removed.
    pub deletions: u64,
}

/// Who did it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttestedAgent {
    /// The agent.
    pub name: String,
    /// Its version, when it told.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub version: Option<String>,
    /// How it was driven.
    pub adapter: String,
}

/// The model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttestedModel {
    /// Who serves it.
    pub provider: String,
    /// Its name there.
    pub id: String,
}

/// What was enforced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttestedSandbox {
    /// What the walls were made of.
    pub backend: String,
    /// The rung.
    pub level: IsolationLevel,
    /// Layer by layer.
    pub enforced: EnforcementRecord,
}

/// The host's own checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttestedVerification {
    /// What they come to.
    pub state: VerificationState,
    /// Each of them.
    pub ran: Vec<AttestedCheck>,
    /// Tests the change takes away or makes weaker.
    pub weakened: Vec<Weakening>,
    /// Names of the variables that a spec gave to them; the values are not stated.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub variables: Vec<String>,
    /// Whether they had the host's network.
    #[serde(rename = "hostNetwork", skip_serializing_if = "std::ops::Not::not", default)]
    pub host_network: bool,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttestedCheck {
    /// The command.
    pub command: String,
    /// Who wanted it.
    pub origin: CheckOrigin,
    /// Its exit code; absent when it was ended.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub exit_code: Option<i32>,
    /// What it means; absent in statements of versions that did not compare.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub verdict: Option<CheckVerdict>,
    /// Its cases, where the runner is understood.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cases: Option<CaseCounts>,
    /// The same check on the tree before the change, when that had to be known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub baseline: Option<AttestedComparison>,
    /// The same check with its definitions from before the change, when the change touches some.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub as_it_was: Option<AttestedComparison>,
}

/// A check on another tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttestedComparison {
    /// Its exit code; absent when it was ended.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub exit_code: Option<i32>,
    /// Its cases, where the runner is understood.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cases: Option<CaseCounts>,
}

impl From<&ComparisonRun> for AttestedComparison {
    fn from(run: &ComparisonRun) -> Self {
        Self { exit_code: run.exit_code, cases: run.cases }
    }
}

/// One step of a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttestedStep {
    /// Its name.
    pub name: String,
    /// The mode it ran in.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mode: Option<String>,
    /// What it was worth.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub outcome: Option<RunOutcome>,
    /// What was decided before it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub gate: Option<AttestedGate>,
}

/// A decision before a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttestedGate {
    /// What was decided.
    pub decision: GateDecision,
    /// By whom.
    pub by: DecidedBy,
    /// What they had seen, by digest.
    pub seen: BTreeMap<String, String>,
}

impl RunStatement {
    /// What a manifest knows, from the bytes of its file.
    pub fn about(bytes: &[u8]) -> Result<Self, AttestError> {
        let broken = |e: serde_json::Error| AttestError::Manifest(e.to_string());
        let manifest: Manifest = serde_json::from_slice(bytes).map_err(broken)?;
        let written: Value = serde_json::from_slice(bytes).map_err(broken)?;
        let manifest = &manifest;
        let subject = subjects(manifest);
        if subject.is_empty() {
            return Err(AttestError::NoSubject { run: manifest.run_id.to_string() });
        }
        Ok(Self {
            statement_type: STATEMENT_TYPE.to_owned(),
            subject,
            predicate_type: PREDICATE_TYPE.to_owned(),
            predicate: predicate(manifest, &written, &sha256(bytes)),
        })
    }

    /// As it is signed: compact, fields always in the same order.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

fn subjects(manifest: &Manifest) -> Vec<StatementSubject> {
    let mut rows: Vec<_> =
        manifest.artifacts.iter().filter(|row| row.valid && row.sha256.is_some()).collect();
    rows.sort_by_key(|row| (row.path != "diff.patch", row.path.clone()));
    let subject = |row: &&holon_core::manifest::ArtifactRecord| {
        let digest = BTreeMap::from([("sha256".to_owned(), row.sha256.clone()?)]);
        Some(StatementSubject { name: row.path.clone(), digest })
    };
    rows.iter().filter_map(subject).collect()
}

fn predicate(manifest: &Manifest, written: &Value, manifest_sha256: &str) -> Predicate {
    let metadata = &manifest.metadata;
    let known = metadata.verification.clone().unwrap_or_default();
    let check = |check: &CheckRecord| AttestedCheck {
        command: check.command.clone(),
        origin: check.origin,
        exit_code: check.exit_code,
        verdict: check.verdict,
        cases: check.cases,
        baseline: check.baseline.as_ref().map(AttestedComparison::from),
        as_it_was: check.as_it_was.as_ref().map(AttestedComparison::from),
    };
    Predicate {
        run: manifest.run_id.to_string(),
        manifest_sha256: manifest_sha256.to_owned(),
        mode: manifest.mode.clone(),
        access: metadata.workspace_access.clone(),
        started_at: manifest.started_at.clone(),
        status: manifest.status,
        outcome: manifest.outcome,
        base: metadata.snapshot.as_ref().map(|snapshot| AttestedBase {
            commit: snapshot.base_commit.clone(),
            dirty: snapshot.dirty,
            touched: snapshot.touched.clone(),
        }),
        change: AttestedChange {
            files: metadata.changes.files,
            insertions: metadata.changes.insertions,
            deletions: metadata.changes.deletions,
        },
        agent: AttestedAgent {
            name: metadata.agent.name.clone(),
            version: metadata.agent.version.clone(),
            adapter: metadata.adapter.clone(),
        },
        model: metadata
            .model
            .as_ref()
            .map(|model| AttestedModel { provider: model.provider.clone(), id: model.id.clone() }),
        sandbox: AttestedSandbox {
            backend: metadata.sandbox.backend.clone(),
            level: metadata.sandbox.level,
            enforced: metadata.sandbox.enforced.clone(),
        },
        checks: AttestedVerification {
            state: known.state,
            ran: known.checks.iter().map(check).collect(),
            weakened: known.weakened,
            variables: known.variables,
            host_network: known.host_network,
        },
        steps: steps(manifest),
        accepted: metadata.accepted.clone(),
        overridden: metadata.ethics_override.clone(),
        release_overrides: written["metadata"]["overrides"].as_array().cloned().unwrap_or_default(),
        audit_head: metadata.audit.as_ref().map(|audit| audit.head.clone()),
    }
}

fn steps(manifest: &Manifest) -> Vec<AttestedStep> {
    let steps = manifest.metadata.flow.iter().flat_map(|flow| &flow.steps);
    steps
        .map(|step| AttestedStep {
            name: step.name.clone(),
            mode: step.mode.clone(),
            outcome: step.outcome,
            gate: step.gate.as_ref().map(|gate| AttestedGate {
                decision: gate.decision,
                by: gate.by,
                seen: gate.seen.clone(),
            }),
        })
        .collect()
}
