//! Rehearsals: an agent is made to act by a scripted model, to see what it and the walls around it do.
//!
//! [`conform`] looks whether it hands over what each mode asks for; [`breach()`] tries every known way around a mode through the agent's own tools, under Holon and without it.

mod alone;
mod attempts;
mod breach;
mod conformance;
mod script;
mod suite;
mod table;
mod theatre;
mod under;

pub use attempts::{Attempt, all as attempts};
pub use breach::{Breach, Mark, Row, Tried};
pub use conformance::{Scene, conform};
pub use suite::breach;
pub use table::markdown;
