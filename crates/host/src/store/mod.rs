//! The run store: one private folder per run, safe after a kill at any moment.
//!
//! ```text
//! <state>/<workspace>/runs/<id>/
//!     run.json      what was asked, and whether it is over
//!     lock          held while the run lives; a free lock on an unfinished run means it was interrupted
//!     input/        what the agent saw as /holon/input
//!     output/       what it left in /holon/output, then the checked artifacts and the manifest
//!     evidence/     events, logs, check outputs
//!     layers/       the snapshot and the private home; removed at the end
//! ```

mod files;
mod folder;
mod index;

pub use files::{copy_tree, write_atomic, write_durable};
pub use folder::{RunFolder, RunRecord};
pub use index::{GcReport, Store, Summary};
