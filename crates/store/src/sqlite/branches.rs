//! A thread that goes on from the middle of another one: everything before that turn, copied row by row.

use rusqlite::Connection;

use super::database;
use super::writes::{new_thread, run};
use crate::error::StoreError;
use crate::write::ThreadBranching;

/// What is copied; `?1` is the new thread, `?2` the one it comes from, `?3` the turn from which on nothing is copied.
const COPIES: &[&str] = &[
    "INSERT INTO turns (thread, number, mode, message, files, state, code, first_seq, last_seq, started_at, ended_at,
     changed, applied) SELECT ?1, number, mode, message, files, state, code, first_seq, last_seq, started_at, ended_at,
     changed, applied FROM turns WHERE thread = ?2 AND number < ?3",
    "INSERT INTO events (thread, seq, turn, kind, data, at) SELECT ?1, seq, turn, kind, data, at FROM events
     WHERE thread = ?2 AND seq < (SELECT first_seq FROM turns WHERE thread = ?2 AND number = ?3)",
    "INSERT INTO modes (thread, turn, from_mode, to_mode, at) SELECT ?1, turn, from_mode, to_mode, at FROM modes
     WHERE thread = ?2 AND turn < ?3",
    "INSERT INTO answers (thread, turn, body) SELECT ?1, turn, body FROM answers WHERE thread = ?2 AND turn < ?3",
    "INSERT INTO tool_outputs (thread, turn, call, start, body) SELECT ?1, turn, call, start, body FROM tool_outputs
     WHERE thread = ?2 AND turn < ?3",
    "INSERT INTO turn_starts (thread, turn, rest) SELECT ?1, turn, rest FROM turn_starts
     WHERE thread = ?2 AND turn < ?3",
    "INSERT INTO kept (thread, name, body) SELECT ?1, 'conversation', rest FROM turn_starts
     WHERE thread = ?2 AND turn = ?3 AND rest IS NOT NULL",
    "INSERT INTO kept_items (thread, name, place, body, since) SELECT ?1, name, place, body, since FROM kept_items
     WHERE thread = ?2 AND since < ?3",
    // What a later turn said differently is as it was.
    "INSERT INTO kept_items (thread, name, place, body, since) SELECT ?1, name, place, body, since FROM former_items
     WHERE thread = ?2 AND since < ?3 AND until >= ?3",
    "INSERT INTO former_items (thread, name, place, since, until, body)
     SELECT ?1, name, place, since, until, body FROM former_items WHERE thread = ?2 AND until < ?3",
];

pub(super) fn branch(at: &Connection, wanted: &ThreadBranching) -> Result<(), StoreError> {
    let (from, turn) = (wanted.from.as_str(), i64::try_from(wanted.turn).unwrap_or(i64::MAX));
    let known: bool = at
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM turn_starts WHERE thread = ?1 AND turn = ?2)")
        .and_then(|mut statement| statement.query_row((from, turn), |row| row.get(0)))
        .map_err(database)?;
    if !known {
        return Err(StoreError::Conflict("how the conversation stood before that turn is not known".into()));
    }
    new_thread(at, &wanted.thread)?;
    for copy in COPIES {
        run(at, copy, (wanted.thread.id.as_str(), from, turn))?;
    }
    Ok(())
}
