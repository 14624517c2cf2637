//! Findings and results in forms that other places understand.

mod junit;
mod page;
mod sarif;
mod step_summary;

pub use junit::junit;
pub use page::page;
pub use sarif::sarif;
pub use step_summary::{STEP_SUMMARY_LIMIT, append_step_summary};
