//! A thread's side of the host: a snapshot that lives over turns, hands that are started only when there is something to
//! do, and the way of what was changed into the workspace.
//!
//! ```text
//! <state>/<workspace>/threads/<id>/
//!     layers.json    which layer counts, what each turn began with, what the originals were
//!     layers/<n>/    what all turns up to some moment left, never written to again
//!     turn-<n>/      the writes of the turn under way; a killed process leaves it, and the next use takes it in
//!     home/          the private home
//!     input/         what is seen as /holon/input: uploads
//! ```

mod changes;
mod folder;
mod hide;
mod job;
mod late_executor;
mod ledger;
mod model_session;
mod supervised;
mod watch;

pub use changes::{ThreadApplyOutcome, ThreadDelta, ThreadFileChange};
pub use folder::ThreadFolder;
pub use hide::hidden;
pub use late_executor::{HostVariables, LateToolExecutor, ThreadTurn, TurnSlots, TurnSurroundings};
pub use model_session::{ChatModelPreferences, ChatModelSession, from_cassette, over_network, would_ask};
pub use supervised::supervision;

/// What the project says to agents, cut to what a prompt takes; none when it says nothing that can be read.
pub fn project_notes(workspace: &std::path::Path) -> Option<String> {
    let mut text = crate::modes::read_bounded(&workspace.join("AGENTS.md")).ok()?;
    let most = text.len().min(holon_core::prompt::MAX_PROJECT);
    let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.truncate(end);
    Some(text)
}
