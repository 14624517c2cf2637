//! The hands: the process inside the walls that carries out what the native agent decides outside of them.
//!
//! The agent only sees [`Hands`]. Behind it is [`deed::Deed`] by [`deed::Deed`] either the far end of a channel into the walls
//! ([`Remote`], which talks to [`serve`]), or, in a container that is itself the wall, this very process ([`Local`]).

mod as_process;
pub mod deed;
mod digest;
mod doing;
pub mod error;
mod file;
mod find;
mod local;
mod perform;
mod place;
mod run;
mod stop;
mod wire;
mod words;

pub use as_process::{HANDS_NAME, become_hands_if_asked};
pub use deed::{
    Deed, Done, Entry, EntryKind, Expectation, FileBytes, FileText, Found, Hit, JobId, Listing, Look,
    Outcome, Program, Ran, Run, Search, State, Stored,
};
pub use error::{HandsError, Trouble};
pub use local::Local;
pub use wire::remote::Remote;
pub use wire::serve::serve;

use std::future::Future;
use std::pin::Pin;

/// A deed on its way. It begins when it is first polled; dropping it before its end ends the command it runs.
pub type Doing<'a> = Pin<Box<dyn Future<Output = Result<Done, HandsError>> + Send + 'a>>;

/// A piece of a running command's output, for whoever watches; never needed for the result. Carriage returns are still in it,
/// and a flood is cut off.
pub type Watch<'a> = &'a mut (dyn FnMut(&str) + Send);

/// Carries deeds out. Several may be under way at the same time.
pub trait Hands: Send + Sync {
    /// Carries out one deed; `watch` hears the output of a command as it comes.
    fn carry_out<'a>(&'a self, deed: Deed, watch: Option<Watch<'a>>) -> Doing<'a>;
}
