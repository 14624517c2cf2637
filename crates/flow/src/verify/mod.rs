//! Whether what a manifest says is true: everything it claims is computed again from what the run left behind.
//!
//! [`gather`] reads a run's folder (or the copy made by `--out`), [`verify_manifest`] decides, purely, which claims are
//! false. What cannot be looked at any more is no falsehood: [`unproven`] says it.

mod artifacts;
mod base;
mod change;
mod checks;
mod copied;
mod discrepancy;
mod evidence;
mod identity;
mod inputs;
mod patch_file;
mod read;
mod reapplied;
mod reported;
mod sandbox;
mod seal;
mod verdict;
mod whole;

pub use discrepancy::{Discrepancy, DiscrepancyKind};
pub use evidence::{
    AuditEvidence, BaseEvidence, EventLog, EvidenceFile, EvidenceFileKind, EvidenceLayout, ReapplyOutcome,
    RecordedRequestFacts, RunEvidence, SealEvidence, WholeEvidence,
};
pub use read::{AuditLog, gather, gather_with};
pub use reapplied::children;

use discrepancy::Discrepancies;

/// Every claim of a run's manifest that is false.
pub fn verify_manifest(run: &RunEvidence) -> Vec<Discrepancy> {
    let mut found = Discrepancies::default();
    for check in [
        identity::check,
        verdict::check,
        reported::check,
        artifacts::check,
        change::check,
        sandbox::check,
        checks::check,
        inputs::check,
        whole::check,
        seal::check,
        copied::check,
    ] {
        check(run, &mut found);
    }
    found.0
}

/// Claims that nobody can look at any more, in sentences.
pub fn unproven(run: &RunEvidence) -> Vec<String> {
    let mut told = Vec::new();
    if !run.base.lost.is_empty() {
        let names: Vec<&str> = run.base.lost.iter().map(String::as_str).take(5).collect();
        told.push(format!(
            "the originals of {} files are nowhere any more ({}), so the patch was not tried on them",
            run.base.lost.len(),
            names.join(", ")
        ));
    }
    if run.base.commit_is_there == Some(false) && run.is_as_told() {
        told.push(
            "the commit it was made from is not in the repository any more, so only what the run itself wrote vouches for it"
                .to_owned(),
        );
    }
    if run.audit.is_none() && run.manifest.metadata.audit.is_some() {
        told.push("the audit log is not here, so its head was not looked for".to_owned());
    }
    if run.layout == EvidenceLayout::Store && run.seal.is_none() {
        told.push(
            "the audit log holds no seal of its files, so only what the manifest says about them was compared".to_owned(),
        );
    }
    if run.layout == EvidenceLayout::Copy && run.original.is_none() {
        told.push(
            "the run it was copied from is not in this store as it was sealed, so its evidence was not compared with it"
                .to_owned(),
        );
    }
    if run.layout == EvidenceLayout::Copy {
        told.push(
            "this is a copy: what only the run store keeps (record, input, originals) was not looked at"
                .to_owned(),
        );
    }
    told
}
