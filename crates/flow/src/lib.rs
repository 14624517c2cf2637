//! A flow: runs in order, each in its own sandbox, because what an agent may do never changes inside one.
//!
//! [`planner::next`] decides, from the flow's definition (data) and its state (a file), what comes next; [`Conductor`]
//! carries that out, one `Host::run` per step, and writes the state down before and after each. So a flow that was
//! stopped, cancelled or killed goes on where it was, and no finished step is ever run again.

pub mod audit;
pub mod builtin;
mod carried;
pub mod catalog;
mod conductor;
pub mod definition;
mod deliver;
pub mod dispatch;
mod driver;
pub mod error;
pub mod fate;
pub mod file_error;
mod folder;
pub mod gate;
mod journal;
mod live;
pub mod orchestrate;
pub mod planner;
mod raised;
pub mod release;
mod rerun;
mod rounds;
pub mod sealed;
pub mod state;
mod step;
mod summary;
pub mod verify;

pub use catalog::FlowCatalog;
pub use conductor::{Conductor, FlowOrder, MakeHost};
pub use definition::FlowDefinition;
pub use dispatch::{DispatchCall, DispatchResult, Dispatcher};
pub use error::FlowError;
pub use file_error::FlowFileError;
pub use folder::{find_step, load, resume_command};
pub use gate::{GateAnswer, GateMode, GateQuestion, Gatekeeper};
pub use raised::RaisedLimits;
pub use rerun::{RerunRequest, RerunResult};
pub use state::FlowState;
