//! The native agent: it thinks here, outside the walls, and acts through hands inside of them.
//!
//! [`Agent::turn`] takes a message and goes on in rounds: the model is asked, each call of its reply is decided on by the
//! mode's policy and carried out by the hands, the results go back, until something ends the turn. Runs, chats and
//! container adapters use the same turns; what differs is in [`Settings`].

mod after_edit;
mod agent;
mod artifacts;
mod ask;
mod budget;
mod calls;
mod check;
mod compact;
mod context;
mod conversation;
mod done;
pub mod edit;
mod ended;
mod facts;
pub mod fit;
mod judge;
pub mod mcp;
mod person;
pub mod prompt;
pub mod reply;
mod settings;
pub mod steward;
mod summary;
pub mod supervise;
mod text;
mod tool;
mod turn;
mod watcher;

pub use agent::{Agent, Going};
pub use check::{CheckRun, Checker, Checking};
pub use context::Gauge;
pub use conversation::{Conversation, Pending};
pub use edit::EditFormat;
pub use ended::{Ended, Finish, Limit, Reason};
pub use facts::{Change, Facts, Failure};
pub use person::{Answer, Answering, Interrupt, Later, Person};
pub use settings::{Limits, Settings};
pub use steward::{Advice, Evidence, Fact, Ruling, Steward, Stop, StopKind};
pub use supervise::{Supervised, Supervision};
pub use watcher::{Nobody, Watcher};
