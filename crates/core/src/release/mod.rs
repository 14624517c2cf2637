//! The release gate: whether something that was made may leave, where to, and why not.
//!
//! Everything that leaves asks [`decide_release`]: `holon runs apply`, `--apply`, `apply --commit`, `publish`,
//! `improve --pr`, the end of flows and orchestrations, the page, the terminal chat and editors. What they ask with is a
//! [`ReleaseRecord`]; how it is gathered is theirs, what follows from it is decided here and nowhere else.

mod gate;
mod overruled;
mod reason;
mod record;

pub use gate::{ReleaseDecision, decide_release};
pub use overruled::{ReleaseOverride, SHORTEST_REASON, is_a_reason};
pub use reason::ReleaseReason;
pub use record::{PatchState, ReleaseRecord, ReleaseTarget, RunEnding, WholeRecord};
