//! Whether a change may go out.

use holon_core::artifact;
use holon_core::artifact::ethics::EthicsReport;

/// The decision about a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EthicsDecision {
    /// It may go out.
    Approved,
    /// It may not, unless a person overrides it.
    Blocked {
        /// One sentence for people.
        why: String,
    },
}

/// Decides: blocked when it is not approved, or the risk is high, critical or unknown.
pub fn gate(report: &EthicsReport) -> EthicsDecision {
    if report.blocks() {
        let risk = report.risk_level.name();
        return EthicsDecision::Blocked {
            why: format!("risk {risk}: {}", report.approval_justification.trim()),
        };
    }
    match report.check().first() {
        Some(problem) => {
            EthicsDecision::Blocked { why: format!("the ethics report does not hold: {problem}") }
        }
        None => EthicsDecision::Approved,
    }
}

/// The same for a report that may be missing or unreadable, which blocks.
pub fn gate_bytes(report: Option<&[u8]>) -> EthicsDecision {
    let Some(bytes) = report else {
        return EthicsDecision::Blocked { why: "there is no ethics report".into() };
    };
    match artifact::read::<EthicsReport>(bytes) {
        Ok(report) => gate(&report),
        Err(problems) => {
            let why = problems.first().map(ToString::to_string).unwrap_or_default();
            EthicsDecision::Blocked { why: format!("the ethics report cannot be read: {why}") }
        }
    }
}
