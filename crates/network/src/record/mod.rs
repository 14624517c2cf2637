//! What is written down: one event for each thing that was allowed or refused, and their sum.

mod event;
mod reason;
mod recorder;
mod summary;

pub use event::{ConnectionManner, NetworkEvent, NetworkWatch};
pub use reason::RefusalReason;
pub use summary::{HostTraffic, NetworkSummary};

pub(crate) use recorder::Recorder;
