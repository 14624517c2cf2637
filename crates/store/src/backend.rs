//! What a database must be able to do.

use holon_core::ids::ThreadId;

use crate::chain::{ChainHead, ChainVerdict};
use crate::error::StoreError;
use crate::record::{
    AuditEntry, EventRow, FoundText, InterruptRow, ModeSwitch, StoredThread, StoredTurn, StoredUpload,
    ThreadFilter, ToolOutputRange, UploadOwner,
};
use crate::write::StoreWrite;

/// Opens connections to one database.
pub trait StoreConnector: Send + Sync {
    /// A connection of its own.
    fn connect(&self) -> Result<Box<dyn StoreBackend>, StoreError>;
}

/// How much was committed that is not where it will stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogBacklog {
    /// Nothing needs to be done.
    Little,
    /// Somebody should settle it, beside the writes.
    Much,
    /// Whoever writes should settle it before anything else.
    TooMuch,
}

/// One connection; calls block.
pub trait StoreBackend: Send {
    /// Carries out groups of writes in one transaction; a group that cannot be carried out is left out as a whole and
    /// told. The outer error means that nothing was written.
    fn commit(&mut self, groups: &[Vec<StoreWrite>]) -> Result<Vec<Result<(), StoreError>>, StoreError>;

    /// What should be done about what was committed here, asked after a commit.
    fn ahead(&mut self) -> LogBacklog {
        LogBacklog::Little
    }
    /// Brings what was committed to where it stays. It may take long when the disk is busy, and nobody else waits for it.
    fn settle(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// A thread.
    fn thread(&self, id: &ThreadId) -> Result<Option<StoredThread>, StoreError>;
    /// Threads of a user, those with the latest activity first; `before` is the cursor of the last one seen.
    fn threads(
        &self,
        user: &str,
        filter: &ThreadFilter,
        before: Option<(&str, &str)>,
        limit: usize,
    ) -> Result<Vec<StoredThread>, StoreError>;
    /// All threads of a family that a user has, the oldest first.
    fn family(&self, user: &str, family: &ThreadId) -> Result<Vec<StoredThread>, StoreError>;
    /// Where a user's threads have these words, in titles, messages and answers, whatever the case of their letters; the
    /// latest first.
    fn search(&self, user: &str, words: &str, limit: usize) -> Result<Vec<FoundText>, StoreError>;
    /// Threads of everybody that are not idle.
    fn busy_threads(&self) -> Result<Vec<StoredThread>, StoreError>;
    /// The turns of a thread from this number on, in order; they count from 1.
    fn turns(&self, thread: &ThreadId, from: u64) -> Result<Vec<StoredTurn>, StoreError>;
    /// Events of a thread after a number, in order: not more than `limit`, and no more than have `bytes` of data together,
    /// but for a first one that is larger by itself.
    fn events(
        &self,
        thread: &ThreadId,
        after: u64,
        limit: usize,
        bytes: usize,
    ) -> Result<Vec<EventRow>, StoreError>;
    /// Latest events of one kind, newest first, of one thread or of all threads of a user.
    fn events_of_kind(
        &self,
        user: &str,
        thread: Option<&ThreadId>,
        kind: &str,
        since: &str,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError>;
    /// A kept text.
    fn kept(&self, thread: &ThreadId, name: &str) -> Result<Option<String>, StoreError>;
    /// A kept list of texts, in order; an empty one where there is none.
    fn kept_list(&self, thread: &ThreadId, name: &str) -> Result<Vec<String>, StoreError>;
    /// What a command printed, from this byte on: as many whole characters as fit into so many bytes, and at least one.
    fn tool_output(
        &self,
        thread: &ThreadId,
        turn: u64,
        call: &str,
        from: u64,
        bytes: usize,
    ) -> Result<ToolOutputRange, StoreError>;
    /// What waits for a person and was not answered.
    fn open_interrupt(&self, thread: &ThreadId) -> Result<Option<InterruptRow>, StoreError>;
    /// All mode switches of a thread, in order.
    fn modes(&self, thread: &ThreadId) -> Result<Vec<ModeSwitch>, StoreError>;
    /// Entries of the audit log after a number, in order, of one thread or of all.
    fn audit(&self, after: u64, limit: usize, thread: Option<&str>) -> Result<Vec<AuditEntry>, StoreError>;
    /// The last entry of the audit log.
    fn audit_head(&self) -> Result<Option<ChainHead>, StoreError>;
    /// Reads the whole audit log and checks it, also against what was written down of it elsewhere.
    fn verify_audit(&self) -> Result<ChainVerdict, StoreError>;
    /// An upload.
    fn upload(&self, user: &str, id: &str) -> Result<Option<StoredUpload>, StoreError>;
    /// Bytes of uploads together.
    fn upload_bytes(&self, of: &UploadOwner) -> Result<u64, StoreError>;
    /// Ids of all uploads.
    fn upload_ids(&self) -> Result<Vec<String>, StoreError>;
    /// How many threads there are, and how many events.
    fn counts(&self) -> Result<(u64, u64), StoreError>;
}
