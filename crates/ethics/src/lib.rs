//! Ethical assessment of a goal and the change that was made for it.
//!
//! Two halves make one report. [`assess`] runs checks that need no model, over the goal, the patch and the manifests it
//! touches. A model weighs the purpose; [`prompt::section`] is what it is told. [`combine`] puts both into one
//! [`EthicsReport`] report and fails closed; [`gate`] says whether the change may go out; [`EthicsReport::to_markdown`] is for people.
//!
//! ```
//! use holon_ethics::{AssessmentInput, EthicsDecision, NoLicenceLookup, assess, combine, gate};
//!
//! let input = AssessmentInput { goal: "Fix a typo".into(), ..AssessmentInput::default() };
//! let assessment = assess(&input, &NoLicenceLookup);
//! // Without a model's report nothing goes out, unless the user has switched `strict` off.
//! assert!(matches!(gate(&combine(&assessment, None, true)), EthicsDecision::Blocked { .. }));
//! assert_eq!(gate(&combine(&assessment, None, false)), EthicsDecision::Approved);
//! ```
//!
//! Everything is a pure function of its input. Rules are data in `rules/ethics/`; only [`caches`] reads files, and only
//! to look licences up.

pub mod caches;
pub mod dependency;
pub mod licence;
pub mod prompt;
pub mod spdx;

mod allowed;
mod assess;
mod change;
mod check;
mod checksum;
mod combine;
mod decoding;
mod entropy;
mod file_role;
mod finding;
mod gate;
mod input;
mod pattern;
mod rules;
#[cfg(test)]
mod work;

pub use assess::{Assessment, assess};
pub use check::licences::{LicenceLookup, NoLicenceLookup};
pub use combine::{ModelReport, combine, left_open, read_model_report, unanswered};
pub use dependency::{Dependency, Ecosystem};
pub use finding::{EthicsCheckId, EthicsFinding};
pub use gate::{EthicsDecision, gate, gate_bytes};
pub use holon_core::artifact::ethics::{EthicsReport, RiskLevel};
pub use input::{AssessedFile, AssessmentInput};
pub use licence::project_licence;

use std::sync::LazyLock;

use holon_core::redact::Redactor;

/// Takes well-known shapes out of whatever is reported; made once.
fn redactor() -> &'static Redactor {
    static REDACTOR: LazyLock<Redactor> = LazyLock::new(Redactor::default);
    &REDACTOR
}
