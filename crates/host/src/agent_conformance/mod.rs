//! Rehearsals: an agent is made to act by a scripted model, to see what it and the walls around it do.
//!
//! [`conform`] looks whether it keeps the contract in each mode; [`breach()`] tries every known way around a mode through the agent's own tools, under Holon and without it.

mod attempts;
mod breach;
mod conformance;
mod page;
mod script;
mod stage;
mod suite;
mod table;
mod with_sandbox;
mod without_sandbox;

use crate::adapter::{self, Adapter};
use crate::error::HostError;
use crate::holon_folders::HolonFolders;

pub use attempts::{BreachAttempt, all as attempts};
pub use breach::{AttemptMark, BreachReport, BreachRow, HolonModeResult, OwnModeResult};
pub use conformance::{ConformanceResult, ConformanceRow, ConformanceTrial, conform};
pub use page::{BreachPageOrigin, markdown};
pub use suite::breach;

/// The agent of a name; one of a project's is not rehearsed, because parts of that happen outside of any walls.
fn described(name: &str, places: &HolonFolders) -> Result<Adapter, HostError> {
    let known = adapter::list(places, None)?;
    known.named(name).cloned().ok_or_else(|| {
        let names: Vec<&str> = known.adapters.iter().map(|(_, adapter)| adapter.name.as_str()).collect();
        let meant = holon_core::suggest::hint(name, names.iter().copied());
        let message = format!("unknown agent `{name}`{meant}");
        let own = places.config.join("agents");
        let hint = format!(
            "known: {}; an agent of a project is tried when its file lies in {}",
            names.join(", "),
            own.display()
        );
        HostError::usage(message, hint)
    })
}
