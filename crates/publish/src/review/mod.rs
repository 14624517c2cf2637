//! A review on its way to a pull request: what goes where, what is already there, what is gone.

mod event;
mod place;
mod plan;
mod posted;
mod render;

pub use event::{Event, Verdicts};
pub use place::{Changed, Place, Spot, Why, place};
pub use plan::{Asked, Comment, Counts, ReviewPlan, plan};
pub use posted::{Mark, Posted, PostedComment, PostedReview};
pub(crate) use render::{severity, tally};
