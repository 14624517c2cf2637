//! Elastic trust as a pure state machine: facts in, decisions out. No clock, no I/O, no randomness, no logging.
//!
//! The loop tells what happens as [`SupervisorEvent`]s, in order, and does what the [`SupervisorEffect`]s say:
//!
//! ```
//! # use holon_supervisor::*;
//! # use holon_supervisor::event::*;
//! # use holon_core::{ids::RunId, policy::ToolClass};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let config = SupervisorConfig::from_toml("[supervisor]\nlevel = \"adaptive\"\n")?;
//! let mut supervisor = Supervisor::new(config)?;
//! let mut now = 0; // the caller's clock
//! let mut tell = |fact| {
//!     now += 1;
//!     supervisor.feed(&SupervisorEvent { ts: now, fact })
//! };
//! tell(SupervisorFact::RunStarted(Box::new(SupervisorSetup {
//!     run: RunId::from_parts(0, [0; 4]),
//!     mode: "execute".into(),
//!     goal: "Fix the parser in src/parse.rs".into(),
//!     plan_files: vec![], plan_steps: 0,
//!     checks: vec![CheckCommand { command: "cargo test".into(), asked: true }],
//!     monorepo: false, token_limit: 200_000, round_limit: 50, foreign: false,
//! })));
//! tell(SupervisorFact::RoundStarted { round: 1 }); // then ask the model; SupervisorEffect::Correct goes into the request
//! let answer = tell(SupervisorFact::ToolProposed(CallProposal {
//!     call: "call-1".parse()?, tool: "read_file".into(), class: ToolClass::Read,
//!     targets: vec!["src/parse.rs".into()], arguments: "digest of the arguments".into(), command: None,
//! }));
//! for effect in answer {
//!     if let SupervisorEffect::Gate(gate) = effect {
//!         match gate.permit() {
//!             Some(permit) => assert_eq!(permit.call().as_str(), "call-1"), // execute it, with `gate.why` as a note
//!             None => unreachable!("blocked: `gate.why` is the tool's result, nothing is executed"),
//!         }
//!     }
//! }
//! let read = vec![FileHash { path: "src/parse.rs".into(), hash: "sha256 of its content".into() }];
//! tell(SupervisorFact::ToolFinished(FinishedCall {
//!     call: "call-1".parse()?, ok: true, exit: None, check: false, error: None, duration_ms: 3, varies: false,
//!     result: Some("digest of the result".into()),
//!     evidence: ProvenEffects { read, ..ProvenEffects::default() },
//! }));
//! // A command that `checks::recognise` knows: ToolFinished { check: true, .. }, then CheckRan with its counts.
//! tell(SupervisorFact::RoundEnded(RoundEnd { tokens: 900, text: true, ..RoundEnd::default() }));
//! // When the model stops asking for tools: SupervisorFact::ModelDone, answered by a gate too; SupervisorEffect::Stop ends the run.
//! let checkpoint = serde_json::to_string(supervisor.state())?; // survives kill -9; resume with `Supervisor::resume`
//! # assert!(checkpoint.len() < 64 * 1024);
//! # Ok(()) }
//! ```
//!
//! [`step`] is the whole of it; [`Supervisor`] adds the ledger and, when asked for, a shadow.

pub mod checks;
pub mod config;
pub mod correction;
pub mod deviation;
pub mod domain;
pub mod effect;
pub mod event;
pub mod gate;
pub mod goal;
pub mod graph;
mod key;
pub mod known;
pub mod ledger;
pub mod level;
pub mod phase;
mod reducer;
pub mod replay;
mod retrospective;
#[cfg(test)]
mod scene;
mod session;
pub mod shadow;
pub mod shape;
mod signal;
mod signature;
mod state;
#[cfg(test)]
mod tests;
pub mod timeline;
pub mod verification;
mod wording;
mod words;

pub use config::{SupervisorConfig, SupervisorConfigError};
pub use correction::{Correction, CorrectionKind};
pub use effect::{
    GateRule, GateRuling, GateSubject, GateVerdict, Permit, StopKind, StopOrder, SupervisorEffect,
};
pub use event::{SupervisorEvent, SupervisorFact};
pub use ledger::{EvidenceId, EvidenceLedger};
pub use level::SupervisorLevel;
pub use phase::{EscalationStage, TakeoverPhase};
pub use reducer::step;
pub use session::Supervisor;
pub use signature::{result_digest, signature, telling_line};
pub use state::SupervisorState;
pub use timeline::{ContractForce, TimelineRecord};
pub use wording::{GRAPH_TAG, RECOVERY_TAG};
