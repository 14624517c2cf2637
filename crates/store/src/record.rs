//! What is kept.

use holon_core::ids::ThreadId;
use holon_core::manifest::UsageTotals;
use holon_core::policy::ToolTable;
use serde::{Deserialize, Serialize};

/// A chat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredThread {
    /// Its name.
    pub id: ThreadId,
    /// Who may see it.
    pub user: String,
    /// The folder it is about.
    pub workspace: String,
    /// Who answers.
    pub agent: String,
    /// The wanted model.
    pub model: Option<String>,
    /// What it is called in lists.
    pub title: Option<String>,
    /// The mode of the last turn.
    pub mode: Option<String>,
    /// Verdicts for tools on top of the mode's.
    pub tools: ToolTable,
    /// What it is doing.
    pub state: ThreadState,
    /// When it was made, RFC 3339.
    pub created_at: String,
    /// When something last happened, RFC 3339.
    pub updated_at: String,
    /// Number of the last event; 0 before the first.
    pub last_seq: u64,
    /// How many turns it has had.
    pub turns: u64,
    /// What all its turns used.
    pub usage: UsageTotals,
    /// It stays at the top of lists.
    pub pinned: bool,
    /// It is in no list but that of archived threads.
    pub archived: bool,
    /// Where it comes from, when it goes on from the middle of another thread.
    pub branch: Option<BranchOrigin>,
    /// The thread that it and all its branches began as.
    pub family: ThreadId,
}

/// Where a branch begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchOrigin {
    /// The thread it goes on from, which may be gone.
    pub thread: ThreadId,
    /// Its first own turn.
    pub turn: u64,
}

/// Which threads of a user are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThreadFilter {
    /// Archived ones, or the others.
    pub archived: bool,
    /// Only pinned ones, or only others.
    pub pinned: Option<bool>,
    /// All branches, not only the one of each family in which something happened last.
    pub branches: bool,
}

/// A place where words were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundText {
    /// The thread.
    pub thread: ThreadId,
    /// What it is called.
    pub title: Option<String>,
    /// The turn; 0 where the title has it.
    pub turn: u64,
    /// Whether a person said it, and not the agent.
    pub said: bool,
    /// The whole text.
    pub text: String,
    /// When that turn began, or something happened last.
    pub at: String,
}

/// What a thread is doing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadState {
    /// Nothing.
    #[default]
    Idle,
    /// A turn is under way.
    Running,
    /// A turn waits for a person.
    Waiting,
}

/// One message of a person, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredTurn {
    /// The thread.
    pub thread: ThreadId,
    /// Counts from 1.
    pub number: u64,
    /// The mode it ran in, as it was asked for.
    pub mode: String,
    /// What was said.
    pub message: String,
    /// Ids of the uploads that came with it.
    pub files: Vec<String>,
    /// How far it is.
    pub state: TurnState,
    /// Why it did not simply end.
    pub code: Option<String>,
    /// Number of its first event.
    pub first_seq: u64,
    /// Number of its last event.
    pub last_seq: u64,
    /// When it began, RFC 3339.
    pub started_at: String,
    /// When it ended, RFC 3339.
    pub ended_at: Option<String>,
    /// Whether it changed files of the snapshot.
    pub changed: bool,
    /// Whether its changes have reached the workspace.
    pub applied: bool,
}

/// How far a turn is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnState {
    /// It is under way.
    Running,
    /// It waits for a person.
    Waiting,
    /// It ended by itself.
    Completed,
    /// A call was denied, which ended it.
    Denied,
    /// Something went wrong.
    Failed,
    /// Somebody stopped it.
    Cancelled,
    /// The server ended in the middle of it.
    Interrupted,
    /// What it did was taken back.
    Undone,
}

/// One event of a thread, as it goes over the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRow {
    /// The thread.
    pub thread: ThreadId,
    /// Counts from 1 within a thread, without gaps.
    pub seq: u64,
    /// The turn it belongs to; 0 for what happens between turns.
    pub turn: u64,
    /// Its name.
    pub kind: String,
    /// Its data, JSON.
    pub data: String,
    /// RFC 3339.
    pub at: String,
}

/// A piece of what a command printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutputPiece {
    /// The thread.
    pub thread: ThreadId,
    /// The turn of the call.
    pub turn: u64,
    /// The call.
    pub call: String,
    /// The byte of the whole output with which it begins.
    pub start: u64,
    /// What was printed, redacted.
    pub body: String,
}

/// A part of what a command printed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolOutputRange {
    /// The byte with which it begins: the one asked for, or the first of the character around it.
    pub from: u64,
    /// Whole characters.
    pub text: String,
    /// Bytes that are kept of this call.
    pub kept: u64,
}

/// Something that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterruptRow {
    /// The thread.
    pub thread: ThreadId,
    /// Its name within the thread.
    pub id: String,
    /// The turn that waits.
    pub turn: u64,
    /// What is asked, JSON as it was told.
    pub body: String,
    /// When it was answered.
    pub answered_at: Option<String>,
}

/// A thread went from one mode to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModeSwitch {
    /// The turn that came with the new mode.
    pub turn: u64,
    /// The mode before; none for the first turn.
    pub from: Option<String>,
    /// The mode since.
    pub to: String,
    /// RFC 3339.
    pub at: String,
}

/// Something that goes into the audit log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditNote {
    /// RFC 3339.
    pub at: String,
    /// Who did it: a user, `agent`, `policy`, `server`.
    pub actor: String,
    /// What was done.
    pub action: String,
    /// The thread it is about.
    pub thread: Option<String>,
    /// The turn it is about.
    pub turn: Option<u64>,
    /// Everything else, redacted.
    pub detail: serde_json::Value,
}

/// An entry of the audit log, with its place in the chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// Counts from 1, without gaps.
    pub seq: u64,
    /// What happened.
    #[serde(flatten)]
    pub note: AuditNote,
    /// Hash of the entry before; empty for the first.
    pub prev: String,
    /// Hash over this entry and `prev`.
    pub hash: String,
}

/// A file somebody sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredUpload {
    /// Its name in requests.
    pub id: String,
    /// Whose it is.
    pub user: String,
    /// Its name as given, made safe.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// Its digest.
    pub sha256: String,
    /// RFC 3339.
    pub at: String,
    /// The thread whose message named it first; none while it waits for one.
    pub thread: Option<ThreadId>,
}

/// Whose uploads are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UploadOwner {
    /// Everybody's.
    All,
    /// A user's.
    User(String),
    /// A thread's.
    Thread(ThreadId),
}
