//! Between rows and records.

use rusqlite::Row;
use rusqlite::types::Type;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::record::{
    AuditEntry, AuditNote, BranchOrigin, EventRow, FoundText, InterruptRow, ModeSwitch, StoredThread,
    StoredTurn, StoredUpload,
};

pub(super) const THREAD: &str = "id, user, workspace, agent, model, title, mode, tools, state, created_at, updated_at, \
                                 last_seq, turns, usage, pinned, archived, branch_of, branch_turn, family";
pub(super) const TURN: &str = "thread, number, mode, message, files, state, code, first_seq, last_seq, started_at, \
                               ended_at, changed, applied";
pub(super) const EVENT: &str = "thread, seq, turn, kind, data, at";

type RowResult<T> = rusqlite::Result<T>;

/// A value as JSON text.
pub(super) fn json<T: Serialize>(value: &T) -> String {
    // Plain data with string keys always serialises.
    serde_json::to_string(value).unwrap_or_default()
}

/// One of a few words, as stored.
pub(super) fn word<T: Serialize>(value: &T) -> String {
    json(value).trim_matches('"').to_owned()
}

fn parsed<T: DeserializeOwned>(row: &Row<'_>, index: usize) -> RowResult<T> {
    let text: String = row.get(index)?;
    serde_json::from_str(&text).map_err(|e| wrong(index, e))
}

fn named<T: DeserializeOwned>(row: &Row<'_>, index: usize) -> RowResult<T> {
    let text: String = row.get(index)?;
    serde_json::from_value(text.into()).map_err(|e| wrong(index, e))
}

fn optional<T: DeserializeOwned>(row: &Row<'_>, index: usize) -> RowResult<Option<T>> {
    let text: Option<String> = row.get(index)?;
    text.map(|text| serde_json::from_value(text.into()).map_err(|e| wrong(index, e))).transpose()
}

fn number(row: &Row<'_>, index: usize) -> RowResult<u64> {
    let value: i64 = row.get(index)?;
    u64::try_from(value).map_err(|e| wrong(index, e))
}

fn wrong(index: usize, e: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(index, Type::Text, Box::new(e))
}

pub(super) fn thread(row: &Row<'_>) -> RowResult<StoredThread> {
    Ok(StoredThread {
        id: named(row, 0)?,
        user: row.get(1)?,
        workspace: row.get(2)?,
        agent: row.get(3)?,
        model: row.get(4)?,
        title: row.get(5)?,
        mode: row.get(6)?,
        tools: parsed(row, 7)?,
        state: named(row, 8)?,
        created_at: row.get(9)?,
        updated_at: row.get(10)?,
        last_seq: number(row, 11)?,
        turns: number(row, 12)?,
        usage: parsed(row, 13)?,
        pinned: row.get(14)?,
        archived: row.get(15)?,
        branch: match optional(row, 16)? {
            Some(thread) => Some(BranchOrigin { thread, turn: number(row, 17)? }),
            None => None,
        },
        family: named(row, 18)?,
    })
}

pub(super) fn turn(row: &Row<'_>) -> RowResult<StoredTurn> {
    Ok(StoredTurn {
        thread: named(row, 0)?,
        number: number(row, 1)?,
        mode: row.get(2)?,
        message: row.get(3)?,
        files: parsed(row, 4)?,
        state: named(row, 5)?,
        code: row.get(6)?,
        first_seq: number(row, 7)?,
        last_seq: number(row, 8)?,
        started_at: row.get(9)?,
        ended_at: row.get(10)?,
        changed: row.get(11)?,
        applied: row.get(12)?,
    })
}

pub(super) fn event(row: &Row<'_>) -> RowResult<EventRow> {
    Ok(EventRow {
        thread: named(row, 0)?,
        seq: number(row, 1)?,
        turn: number(row, 2)?,
        kind: row.get(3)?,
        data: row.get(4)?,
        at: row.get(5)?,
    })
}

pub(super) fn interrupt(row: &Row<'_>) -> RowResult<InterruptRow> {
    Ok(InterruptRow {
        thread: named(row, 0)?,
        id: row.get(1)?,
        turn: number(row, 2)?,
        body: row.get(3)?,
        answered_at: row.get(4)?,
    })
}

pub(super) fn mode(row: &Row<'_>) -> RowResult<ModeSwitch> {
    Ok(ModeSwitch { turn: number(row, 0)?, from: row.get(1)?, to: row.get(2)?, at: row.get(3)? })
}

pub(super) fn audit(row: &Row<'_>) -> RowResult<AuditEntry> {
    let turn: Option<i64> = row.get(5)?;
    Ok(AuditEntry {
        seq: number(row, 0)?,
        note: AuditNote {
            at: row.get(1)?,
            actor: row.get(2)?,
            action: row.get(3)?,
            thread: row.get(4)?,
            turn: turn.map(|turn| u64::try_from(turn).map_err(|e| wrong(5, e))).transpose()?,
            detail: parsed(row, 6)?,
        },
        prev: row.get(7)?,
        hash: row.get(8)?,
    })
}

pub(super) fn upload(row: &Row<'_>) -> RowResult<StoredUpload> {
    Ok(StoredUpload {
        id: row.get(0)?,
        user: row.get(1)?,
        name: row.get(2)?,
        bytes: number(row, 3)?,
        sha256: row.get(4)?,
        at: row.get(5)?,
        thread: optional(row, 6)?,
    })
}

pub(super) fn found(row: &Row<'_>) -> RowResult<FoundText> {
    Ok(FoundText {
        thread: named(row, 0)?,
        title: row.get(1)?,
        turn: number(row, 2)?,
        said: row.get(3)?,
        text: row.get(4)?,
        at: row.get(5)?,
    })
}
