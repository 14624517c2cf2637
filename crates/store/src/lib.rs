//! What a chat server keeps: threads, turns, numbered events, questions to people, mode switches and the audit chain.
//!
//! [`ChatStore`] is what callers hold: writes go to one thread that commits whatever waits in one transaction, reads to a few
//! others. Behind it stands a [`StoreBackend`]; the one there is keeps everything in one SQLite file, and whatever comes later
//! has to pass the same suite (`tests/conformance`).

pub mod backend;
pub mod chain;
pub mod error;
pub mod front;
pub mod record;
pub mod sqlite;
pub mod write;

pub use backend::{LogBacklog, StoreBackend, StoreConnector};
pub use chain::{ChainHead, ChainVerdict};
pub use error::StoreError;
pub use front::ChatStore;
pub use record::{
    AuditEntry, AuditNote, BranchOrigin, EventRow, FoundText, InterruptRow, ModeSwitch, StoredThread,
    StoredTurn, StoredUpload, ThreadFilter, ThreadState, ToolOutputPiece, ToolOutputRange, TurnState,
    UploadOwner,
};
pub use write::{ListTail, StoreWrite, ThreadBranching, ThreadMarks, ThreadUpdate, TurnUpdate};
