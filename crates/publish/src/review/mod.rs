//! A review on its way to a pull request: what goes where, what is already there, what is gone.

mod event;
mod place;
mod plan;
mod posted;
mod render;

pub use event::{ReviewEvent, VerdictReach};
pub use place::{DiffSpot, FindingPlace, NotInlineReason, PullFile, place};
pub use plan::{FindingCounts, InlineComment, ReviewInput, ReviewPlan, plan};
pub use posted::{PostedComment, PostedEdit, PostedItems, PostedReview};
pub(crate) use render::{severity, tally};
