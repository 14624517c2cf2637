//! The hands: the process inside the walls that carries out what the native agent decides outside of them.
//!
//! The agent only sees [`Hands`]. Behind it is [`deed::Deed`] by [`deed::Deed`] either the far end of a channel into the walls, or,
//! in a container that is itself the wall, this very process.

pub mod deed;
pub mod error;

pub use deed::{
    Deed, Done, Entry, EntryKind, Expectation, FileBytes, FileText, Found, Hit, JobId, Listing, Look,
    Outcome, Program, Ran, Run, Search, State, Stored,
};
pub use error::{HandsError, Trouble};

use std::future::Future;
use std::pin::Pin;

/// A deed on its way.
pub type Doing<'a> = Pin<Box<dyn Future<Output = Result<Done, HandsError>> + Send + 'a>>;

/// A piece of a running command's output, for whoever watches; never needed for the result.
pub type Watch<'a> = &'a mut (dyn FnMut(&str) + Send);

/// Carries deeds out. Several may be under way at the same time.
pub trait Hands: Send + Sync {
    /// Carries out one deed; `watch` hears the output of a command as it comes.
    fn carry_out<'a>(&'a self, deed: Deed, watch: Option<Watch<'a>>) -> Doing<'a>;
}
