//! What can be written, as data: several writes are one step that happens or does not.

use holon_core::ids::ThreadId;
use holon_core::manifest::UsageTotals;
use holon_core::policy::ToolTable;

use crate::record::{
    AuditNote, EventRow, InterruptRow, ModeSwitch, StoredThread, StoredTurn, StoredUpload, ThreadState,
    ToolOutputPiece, TurnState,
};

/// One write.
#[derive(Debug, Clone, PartialEq)]
pub enum StoreWrite {
    /// A new thread.
    NewThread(Box<StoredThread>),
    /// Changes of a thread.
    Thread(Box<ThreadUpdate>),
    /// What a person thinks of a thread; nothing has happened in it by that.
    Marks(ThreadMarks),
    /// A thread that goes on from the middle of another one, with everything before.
    Branch(Box<ThreadBranching>),
    /// Takes a thread away with everything of it but its audit entries.
    DeleteThread(ThreadId),
    /// A new turn; its thread counts it.
    NewTurn(Box<StoredTurn>),
    /// A turn got on.
    Turn(Box<TurnUpdate>),
    /// Turns from this number on were taken back.
    Undone(ThreadId, u64),
    /// Everything so far has reached the workspace.
    Applied(ThreadId),
    /// An event; the thread's and the turn's last number follow it.
    Event(EventRow),
    /// Keeps a text of a thread under a name, in place of the one before.
    Keep(ThreadId, &'static str, String),
    /// Gives a list of texts of a thread, kept under a name, another end.
    KeepFrom(Box<ListTail>),
    /// A piece of what a command printed.
    ToolOutput(ToolOutputPiece),
    /// Something waits for a person.
    Interrupt(InterruptRow),
    /// A person answered: thread, interrupt, when.
    Answered(ThreadId, String, String),
    /// A thread changed its mode.
    Mode(ThreadId, ModeSwitch),
    /// An entry of the audit log.
    Audit(Box<AuditNote>),
    /// A file somebody sent.
    Upload(StoredUpload),
    /// An upload belongs to this thread from now on; one of another thread does not.
    Bring(ThreadId, String),
    /// Forgets uploads that no thread has and that came before this time.
    ForgetUploads(String),
}

/// What a person thinks of a thread; what is `None` stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadMarks {
    /// Which one.
    pub id: ThreadId,
    /// What it is called.
    pub title: Option<String>,
    /// It stays at the top of lists.
    pub pinned: Option<bool>,
    /// It is in no list but that of archived threads.
    pub archived: Option<bool>,
}

/// A thread to be made out of another one.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadBranching {
    /// The new one; its counts say how much is copied.
    pub thread: StoredThread,
    /// The one it comes from.
    pub from: ThreadId,
    /// The first turn that is not copied.
    pub turn: u64,
}

/// Another end of a kept list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListTail {
    /// The thread.
    pub thread: ThreadId,
    /// The list.
    pub name: &'static str,
    /// How many texts stay; there must be so many.
    pub stay: u64,
    /// What comes after them.
    pub then: Vec<String>,
}

/// Changes of a thread; what is `None` stays.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadUpdate {
    /// Which one.
    pub id: ThreadId,
    /// RFC 3339.
    pub at: String,
    /// Its title.
    pub title: Option<String>,
    /// Its mode.
    pub mode: Option<String>,
    /// Its verdicts for tools.
    pub tools: Option<ToolTable>,
    /// What it is doing.
    pub state: Option<ThreadState>,
    /// What it used.
    pub usage: Option<UsageTotals>,
}

impl ThreadUpdate {
    /// No change but of the time.
    pub fn of(id: ThreadId, at: impl Into<String>) -> Self {
        Self { id, at: at.into(), title: None, mode: None, tools: None, state: None, usage: None }
    }
}

/// How far a turn got.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnUpdate {
    /// The thread.
    pub thread: ThreadId,
    /// Which turn.
    pub number: u64,
    /// How far it is.
    pub state: TurnState,
    /// Why it did not simply end.
    pub code: Option<String>,
    /// When it ended; none while it only waits or goes on.
    pub ended_at: Option<String>,
    /// Whether it changed files; `None` leaves that as it is.
    pub changed: Option<bool>,
}
