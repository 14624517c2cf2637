//! Modes, profiles, policy, spec, artifacts, events, ids and redaction: what Holon decides, without I/O or clock.

pub mod access;
pub mod artifact;
pub mod claims;
pub mod config;
pub mod cost_estimate;
pub mod coverage;
pub mod digest;
pub mod duration;
pub mod event;
pub mod ids;
pub mod manifest;
pub mod mode;
pub mod mode_run;
pub mod outcome;
pub mod patch;
pub mod policy;
pub mod prompt;
pub mod redact;
pub mod release;
pub mod sandbox;
pub mod schema;
pub mod scope;
pub mod secrets;
pub mod sensitive;
pub mod spec;
pub mod suggest;
pub mod weakened;

pub use access::Access;
pub use duration::HumanDuration;
pub use event::RunEvent;
pub use ids::RunId;
pub use manifest::Manifest;
pub use mode::Profile;
pub use outcome::{RunOutcome, RunStatus};
pub use spec::Spec;
