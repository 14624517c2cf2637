//! A person lets something leave that the release gate holds: first the audit log, then everything else.

mod overriding;
mod reports;

use holon_core::release::{ReleaseDecision, ReleaseOverride};
use serde_json::json;

use crate::audit::AuditTrail;
use crate::error::FlowError;

pub use overriding::{finish_override, overrule};
pub(crate) use reports::AMENDED;

/// What the audit log calls a person's word against the release gate.
pub(crate) const OVERRIDDEN: &str = "release_overridden";

/// Writes a person's word to the audit log, and into it where that is.
pub fn note_override(audit: &AuditTrail, word: ReleaseOverride) -> Result<ReleaseOverride, FlowError> {
    let detail = json!({
        "run_id": word.run, "of": word.of, "to": word.to, "reason": word.reason, "uid": word.uid,
        "terminal": word.terminal,
    });
    let head = audit.append(&word.person, OVERRIDDEN, detail, true)?;
    Ok(ReleaseOverride { audit: Some(head), ..word })
}

/// Writes down that the gate held something back. Nothing follows from it, so a log that cannot be written is no reason
/// to say something else than why it was held.
pub fn note_refusal(audit: &AuditTrail, person: &str, decision: &ReleaseDecision) {
    let because: Vec<&str> = decision.held.iter().map(|reason| reason.code()).collect();
    let detail = json!({
        "run_id": decision.run, "to": decision.target, "decision": "block", "because": because,
        "reason": decision.message(),
    });
    let _ = audit.append(person, "release_refused", detail, false);
}

/// Writes down that something left: where to, and what of it a person had let pass.
pub fn note_release(
    audit: &AuditTrail,
    person: &str,
    decision: &ReleaseDecision,
    outcome: &str,
) -> Result<(), FlowError> {
    let overridden: Vec<&str> = decision.overridden.iter().map(|(reason, _)| reason.code()).collect();
    let detail = json!({
        "run_id": decision.run, "to": decision.target, "decision": "approve", "outcome": outcome,
        "overridden": overridden,
    });
    audit.append(person, "released", detail, false)?;
    Ok(())
}
