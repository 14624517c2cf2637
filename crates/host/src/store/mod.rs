//! The run store: one private folder per run, safe after a kill at any moment.
//!
//! ```text
//! <state>/<workspace>/runs/<id>/
//!     run.json      what was asked, and whether it is over
//!     lock          held while the run lives; a free lock on an unfinished run means it was interrupted
//!     input/        what the agent saw as /holon/input
//!     output/       the checked artifacts and the manifest; only the host writes here
//!     evidence/     events, logs, check outputs
//!     sealed.json   every final file with its digest, written when the run is over
//!     layers/       the snapshot, the private home and what the agent leaves in /holon/output; removed at the end
//! ```

mod costs;
mod day;
mod files;
mod folder;
mod index;
mod out;

pub use costs::past_costs;
pub use day::{DaySpending, usage_so_far};
pub use files::{copy_tree, write_atomic, write_durable};
pub use folder::{RunFolder, RunRecord};
pub use index::{RunStore, RunsGcReport, StoredRunSummary};
pub use out::{copy_last_events, copy_out};
