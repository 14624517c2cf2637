//! The hands: the process inside the walls that carries out what the native agent decides outside of them.
//!
//! The agent only sees [`ToolExecutor`]. Behind it is [`tool_request::ToolRequest`] by [`tool_request::ToolRequest`] either the far end of a channel into the walls
//! ([`RemoteExecutor`], which talks to [`serve`]), or, in a container that is itself the wall, this very process ([`LocalExecutor`]).

mod as_process;
mod digest;
pub mod error;
mod file;
mod find;
mod in_flight;
mod local;
mod perform;
mod run;
mod stop;
pub mod tool_request;
mod wire;
mod words;
mod workspace_paths;

pub use as_process::{HANDS_NAME, become_hands_if_asked};
pub use error::{ExecutorError, ExecutorErrorKind};
pub use local::LocalExecutor;
pub use tool_request::{
    CommandOutcome, CommandRequest, CommandResult, EntryKind, FileBytes, FileExpectation, FileText,
    FolderEntry, FolderListing, JobId, JobReport, JobState, ProgramRequest, SearchHit, SearchMatches,
    SearchRequest, StoredFile, ToolRequest, ToolResponse,
};
pub use wire::remote::RemoteExecutor;
pub use wire::serve::serve;

use std::future::Future;
use std::pin::Pin;

/// A deed on its way. It begins when it is first polled; dropping it before its end ends the command it runs.
pub type InFlightRequest<'a> = Pin<Box<dyn Future<Output = Result<ToolResponse, ExecutorError>> + Send + 'a>>;

/// A piece of a running command's output, for whoever watches; never needed for the result. Carriage returns are still in it,
/// and a flood is cut off.
pub type OutputWatch<'a> = &'a mut (dyn FnMut(&str) + Send);

/// Carries deeds out. Several may be under way at the same time.
pub trait ToolExecutor: Send + Sync {
    /// Carries out one deed; `watch` hears the output of a command as it comes.
    fn carry_out<'a>(&'a self, deed: ToolRequest, watch: Option<OutputWatch<'a>>) -> InFlightRequest<'a>;
}
