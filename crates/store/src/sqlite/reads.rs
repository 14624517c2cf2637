//! Questions to the database.

use holon_core::ids::ThreadId;
use rusqlite::{OptionalExtension, Params, Row};

use super::{SqliteConnection, database, log_backlog, rows, tool_outputs, writes};
use crate::backend::{LogBacklog, StoreBackend};
use crate::chain::{ChainChecker, ChainHead, ChainVerdict};
use crate::error::StoreError;
use crate::record::{
    AuditEntry, EventRow, FoundText, InterruptRow, ModeSwitch, StoredThread, StoredTurn, StoredUpload,
    ThreadFilter, ToolOutputRange, UploadOwner,
};
use crate::write::StoreWrite;

/// Entries of the audit log that are in memory at once while it is checked.
const AUDIT_PAGE: usize = 1000;

type FromRow<T> = fn(&Row<'_>) -> rusqlite::Result<T>;

impl SqliteConnection {
    fn many<T>(&self, sql: &str, params: impl Params, read: FromRow<T>) -> Result<Vec<T>, StoreError> {
        let mut statement = self.connection.prepare_cached(sql).map_err(database)?;
        let rows = statement.query_map(params, read).map_err(database)?;
        rows.collect::<rusqlite::Result<_>>().map_err(database)
    }

    fn one<T>(&self, sql: &str, params: impl Params, read: FromRow<T>) -> Result<Option<T>, StoreError> {
        let mut statement = self.connection.prepare_cached(sql).map_err(database)?;
        statement.query_row(params, read).optional().map_err(database)
    }
}

impl StoreBackend for SqliteConnection {
    fn commit(&mut self, groups: &[Vec<StoreWrite>]) -> Result<Vec<Result<(), StoreError>>, StoreError> {
        writes::commit(self, groups)
    }

    fn ahead(&mut self) -> LogBacklog {
        self.log.ahead()
    }

    fn settle(&self) -> Result<(), StoreError> {
        log_backlog::bring_in(&self.connection)
    }

    fn thread(&self, id: &ThreadId) -> Result<Option<StoredThread>, StoreError> {
        let sql = format!("SELECT {} FROM threads WHERE id = ?1", rows::THREAD);
        self.one(&sql, [id.as_str()], rows::thread)
    }

    fn threads(
        &self,
        user: &str,
        filter: &ThreadFilter,
        before: Option<(&str, &str)>,
        limit: usize,
    ) -> Result<Vec<StoredThread>, StoreError> {
        let (at, id) = before.unwrap_or(("\u{10ffff}", ""));
        let sql = format!(
            "SELECT {} FROM threads t WHERE user = ?1 AND (updated_at, id) < (?2, ?3) AND archived = ?5
             AND (?6 IS NULL OR pinned = ?6)
             AND (?7 OR NOT EXISTS (SELECT 1 FROM threads o WHERE o.family = t.family AND o.user = t.user
                                    AND o.archived = t.archived AND (o.updated_at, o.id) > (t.updated_at, t.id)))
             ORDER BY updated_at DESC, id DESC LIMIT ?4",
            rows::THREAD
        );
        let ThreadFilter { archived, pinned, branches } = filter;
        self.many(&sql, (user, at, id, limit as i64, archived, pinned, branches), rows::thread)
    }

    fn family(&self, user: &str, family: &ThreadId) -> Result<Vec<StoredThread>, StoreError> {
        let sql = format!(
            "SELECT {} FROM threads WHERE family = ?1 AND user = ?2 ORDER BY created_at, id",
            rows::THREAD
        );
        self.many(&sql, (family.as_str(), user), rows::thread)
    }

    fn search(&self, user: &str, words: &str, limit: usize) -> Result<Vec<FoundText>, StoreError> {
        // Not LIKE, for which a text ends at a zero byte. What a branch has from where it comes from is found there, as long
        // as that is there.
        let wanted = words.to_ascii_lowercase();
        self.many(
            "SELECT t.id, t.title, 0, 0, t.title, t.updated_at AS at FROM threads t
             WHERE t.user = ?1 AND instr(lower(t.title), ?2) > 0
             UNION ALL
             SELECT t.id, t.title, m.number, 1, m.message, m.started_at FROM turns m JOIN threads t ON t.id = m.thread
             WHERE t.user = ?1 AND instr(lower(m.message), ?2) > 0 AND (m.number >= coalesce(t.branch_turn, 0) OR t.branch_of NOT IN (SELECT id FROM threads))
             UNION ALL
             SELECT t.id, t.title, a.turn, 0, a.body, m.started_at FROM answers a JOIN threads t ON t.id = a.thread
             JOIN turns m ON m.thread = a.thread AND m.number = a.turn
             WHERE t.user = ?1 AND instr(lower(a.body), ?2) > 0 AND (a.turn >= coalesce(t.branch_turn, 0) OR t.branch_of NOT IN (SELECT id FROM threads))
             ORDER BY at DESC LIMIT ?3",
            (user, wanted, limit as i64),
            rows::found,
        )
    }

    fn busy_threads(&self) -> Result<Vec<StoredThread>, StoreError> {
        let sql = format!("SELECT {} FROM threads WHERE state <> 'idle'", rows::THREAD);
        self.many(&sql, [], rows::thread)
    }

    fn turns(&self, thread: &ThreadId, from: u64) -> Result<Vec<StoredTurn>, StoreError> {
        let sql =
            format!("SELECT {} FROM turns WHERE thread = ?1 AND number >= ?2 ORDER BY number", rows::TURN);
        let from = i64::try_from(from).unwrap_or(i64::MAX);
        self.many(&sql, (thread.as_str(), from), rows::turn)
    }

    fn events(
        &self,
        thread: &ThreadId,
        after: u64,
        limit: usize,
        bytes: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        let sql = format!(
            "SELECT {} FROM events WHERE thread = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
            rows::EVENT
        );
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let mut statement = self.connection.prepare_cached(&sql).map_err(database)?;
        let mut found = statement.query((thread.as_str(), after, limit as i64)).map_err(database)?;
        let (mut events, mut size) = (Vec::new(), 0);
        // Row by row: what is more than somebody takes is not even read.
        while let Some(row) = found.next().map_err(database)? {
            let event = rows::event(row).map_err(database)?;
            size += event.data.len();
            if size > bytes && !events.is_empty() {
                break;
            }
            events.push(event);
        }
        Ok(events)
    }

    fn events_of_kind(
        &self,
        user: &str,
        thread: Option<&ThreadId>,
        kind: &str,
        since: &str,
        limit: usize,
    ) -> Result<Vec<EventRow>, StoreError> {
        let columns = rows::EVENT.split(", ").map(|c| format!("e.{c}")).collect::<Vec<_>>().join(", ");
        let sql = format!(
            "SELECT {columns} FROM events e JOIN threads t ON t.id = e.thread
             WHERE e.kind = ?1 AND e.at >= ?2 AND t.user = ?3 AND (?4 IS NULL OR e.thread = ?4)
             ORDER BY e.at DESC, e.seq DESC LIMIT ?5"
        );
        let thread = thread.map(ThreadId::as_str);
        self.many(&sql, (kind, since, user, thread, limit as i64), rows::event)
    }

    fn kept(&self, thread: &ThreadId, name: &str) -> Result<Option<String>, StoreError> {
        self.one("SELECT body FROM kept WHERE thread = ?1 AND name = ?2", (thread.as_str(), name), |row| {
            row.get(0)
        })
    }

    fn kept_list(&self, thread: &ThreadId, name: &str) -> Result<Vec<String>, StoreError> {
        self.many(
            "SELECT body FROM kept_items WHERE thread = ?1 AND name = ?2 ORDER BY place",
            (thread.as_str(), name),
            |row| row.get(0),
        )
    }

    fn tool_output(
        &self,
        thread: &ThreadId,
        turn: u64,
        call: &str,
        from: u64,
        bytes: usize,
    ) -> Result<ToolOutputRange, StoreError> {
        tool_outputs::range(&self.connection, (thread.as_str(), turn, call), from, bytes)
    }

    fn open_interrupt(&self, thread: &ThreadId) -> Result<Option<InterruptRow>, StoreError> {
        self.one(
            "SELECT thread, id, turn, body, answered_at FROM interrupts
             WHERE thread = ?1 AND answered_at IS NULL ORDER BY turn DESC LIMIT 1",
            [thread.as_str()],
            rows::interrupt,
        )
    }

    fn modes(&self, thread: &ThreadId) -> Result<Vec<ModeSwitch>, StoreError> {
        self.many(
            "SELECT turn, from_mode, to_mode, at FROM modes WHERE thread = ?1 ORDER BY turn",
            [thread.as_str()],
            rows::mode,
        )
    }

    fn audit(&self, after: u64, limit: usize, thread: Option<&str>) -> Result<Vec<AuditEntry>, StoreError> {
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        self.many(
            "SELECT seq, at, actor, action, thread, turn, detail, prev, hash FROM audit
             WHERE seq > ?1 AND (?2 IS NULL OR thread = ?2) ORDER BY seq LIMIT ?3",
            (after, thread, limit as i64),
            rows::audit,
        )
    }

    fn audit_head(&self) -> Result<Option<ChainHead>, StoreError> {
        self.one("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1", [], |row| {
            Ok(ChainHead { seq: row.get::<_, i64>(0)?.unsigned_abs(), hash: row.get(1)? })
        })
    }

    fn verify_audit(&self) -> Result<ChainVerdict, StoreError> {
        // Read first: what is added meanwhile is only more than it says.
        let mut checker = ChainChecker::new(self.anchor.read()?);
        let mut after = 0;
        loop {
            let page = self.audit(after, AUDIT_PAGE, None)?;
            let whole = page.iter().all(|entry| checker.take(entry));
            match page.last() {
                Some(last) if whole && page.len() == AUDIT_PAGE => after = last.seq,
                _ => return Ok(checker.finish()),
            }
        }
    }

    fn upload(&self, user: &str, id: &str) -> Result<Option<StoredUpload>, StoreError> {
        self.one(
            "SELECT id, user, name, bytes, sha256, at, thread FROM uploads WHERE id = ?1 AND user = ?2",
            (id, user),
            rows::upload,
        )
    }

    fn upload_bytes(&self, of: &UploadOwner) -> Result<u64, StoreError> {
        let (user, thread) = match of {
            UploadOwner::All => (None, None),
            UploadOwner::User(user) => (Some(user.as_str()), None),
            UploadOwner::Thread(thread) => (None, Some(thread.as_str())),
        };
        let sum: Option<i64> = self.one(
            "SELECT coalesce(sum(bytes), 0) FROM uploads
             WHERE (?1 IS NULL OR user = ?1) AND (?2 IS NULL OR thread = ?2)",
            (user, thread),
            |row| row.get(0),
        )?;
        Ok(sum.unwrap_or(0).unsigned_abs())
    }

    fn upload_ids(&self) -> Result<Vec<String>, StoreError> {
        self.many("SELECT id FROM uploads", [], |row| row.get(0))
    }

    fn counts(&self) -> Result<(u64, u64), StoreError> {
        let count = |sql| -> Result<u64, StoreError> {
            let found: i64 = self.connection.query_row(sql, [], |row| row.get(0)).map_err(database)?;
            Ok(found.unsigned_abs())
        };
        Ok((count("SELECT count(*) FROM threads")?, count("SELECT coalesce(sum(last_seq), 0) FROM threads")?))
    }
}
