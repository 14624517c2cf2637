//! Changes of the database.

use holon_core::ids::ThreadId;
use rusqlite::{Connection, Params, TransactionBehavior};

use super::rows::{json, word};
use super::{SqliteConnection, branches, database};
use crate::chain::{self, ChainHead};
use crate::error::StoreError;
use crate::record::{AuditNote, EventRow, StoredThread, StoredTurn};
use crate::write::{ListTail, StoreWrite, ThreadUpdate, TurnUpdate};

pub(super) fn commit(
    open: &mut SqliteConnection,
    groups: &[Vec<StoreWrite>],
) -> Result<Vec<Result<(), StoreError>>, StoreError> {
    let mut transaction =
        open.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(database)?;
    let mut results = Vec::with_capacity(groups.len());
    for group in groups {
        let point = transaction.savepoint().map_err(database)?;
        let done = group.iter().try_for_each(|write| carry_out(&point, write));
        // Dropped without a commit it is rolled back, and the others stay.
        if done.is_ok() {
            point.commit().map_err(database)?;
        }
        results.push(done);
    }
    let audited = groups.iter().flatten().any(|write| matches!(write, StoreWrite::Audit(_)));
    let head = if audited { head(&transaction)? } else { None };
    transaction.commit().map_err(database)?;
    if let Some(head) = head {
        open.anchor.write(&head)?;
    }
    Ok(results)
}

fn carry_out(at: &Connection, write: &StoreWrite) -> Result<(), StoreError> {
    match write {
        StoreWrite::NewThread(thread) => new_thread(at, thread),
        StoreWrite::Thread(change) => change_thread(at, change),
        StoreWrite::Marks(marks) => must(
            at,
            "UPDATE threads SET title = coalesce(?2, title), pinned = coalesce(?3, pinned),
             archived = coalesce(?4, archived) WHERE id = ?1",
            (marks.id.as_str(), &marks.title, marks.pinned, marks.archived),
        ),
        StoreWrite::Branch(wanted) => branches::branch(at, wanted),
        StoreWrite::DeleteThread(id) => must(at, "DELETE FROM threads WHERE id = ?1", [id.as_str()]),
        StoreWrite::NewTurn(turn) => new_turn(at, turn),
        StoreWrite::Turn(end) => end_turn(at, end),
        StoreWrite::Undone(thread, from) => run(
            at,
            "UPDATE turns SET state = 'undone' WHERE thread = ?1 AND number >= ?2",
            (thread.as_str(), signed(*from)),
        ),
        StoreWrite::Applied(thread) => run(
            at,
            "UPDATE turns SET applied = 1 WHERE thread = ?1 AND changed = 1 AND state <> 'undone'",
            [thread.as_str()],
        ),
        StoreWrite::Event(event) => add_event(at, event),
        StoreWrite::Keep(thread, name, body) => run(
            at,
            "INSERT INTO kept (thread, name, body) VALUES (?1, ?2, ?3)
             ON CONFLICT (thread, name) DO UPDATE SET body = excluded.body",
            (thread.as_str(), name, body),
        ),
        StoreWrite::KeepFrom(end) => new_end(at, end),
        StoreWrite::ToolOutput(piece) => run(
            at,
            "INSERT INTO tool_outputs (thread, turn, call, start, body) VALUES (?1, ?2, ?3, ?4, ?5)",
            (piece.thread.as_str(), signed(piece.turn), &piece.call, signed(piece.start), &piece.body),
        ),
        StoreWrite::Interrupt(row) => run(
            at,
            "INSERT INTO interrupts (thread, id, turn, body, answered_at) VALUES (?1, ?2, ?3, ?4, ?5)",
            (row.thread.as_str(), &row.id, signed(row.turn), &row.body, &row.answered_at),
        ),
        StoreWrite::Answered(thread, id, when) => must(
            at,
            "UPDATE interrupts SET answered_at = ?3 WHERE thread = ?1 AND id = ?2 AND answered_at IS NULL",
            (thread.as_str(), id, when),
        ),
        StoreWrite::Mode(thread, switch) => run(
            at,
            "INSERT INTO modes (thread, turn, from_mode, to_mode, at) VALUES (?1, ?2, ?3, ?4, ?5)",
            (thread.as_str(), signed(switch.turn), &switch.from, &switch.to, &switch.at),
        ),
        StoreWrite::Audit(note) => add_audit(at, note),
        StoreWrite::Upload(file) => run(
            at,
            "INSERT INTO uploads (id, user, name, bytes, sha256, at, thread) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            (
                &file.id,
                &file.user,
                &file.name,
                signed(file.bytes),
                &file.sha256,
                &file.at,
                file.thread.as_ref().map(ThreadId::as_str),
            ),
        ),
        StoreWrite::Bring(thread, upload) => must(
            at,
            "UPDATE uploads SET thread = ?1 WHERE id = ?2 AND (thread IS NULL OR thread = ?1)",
            (thread.as_str(), upload),
        ),
        StoreWrite::ForgetUploads(before) => {
            run(at, "DELETE FROM uploads WHERE thread IS NULL AND at < ?1", [before])
        }
    }
}

pub(super) fn new_thread(at: &Connection, thread: &StoredThread) -> Result<(), StoreError> {
    let origin = thread.branch.as_ref();
    let params: [&dyn rusqlite::ToSql; 19] = [
        &thread.id.as_str(),
        &thread.user,
        &thread.workspace,
        &thread.agent,
        &thread.model,
        &thread.title,
        &thread.mode,
        &json(&thread.tools),
        &word(&thread.state),
        &thread.created_at,
        &thread.updated_at,
        &signed(thread.last_seq),
        &signed(thread.turns),
        &json(&thread.usage),
        &thread.pinned,
        &thread.archived,
        &origin.map(|origin| origin.thread.as_str()),
        &origin.map(|origin| signed(origin.turn)),
        &thread.family.as_str(),
    ];
    run(
        at,
        "INSERT INTO threads (id, user, workspace, agent, model, title, mode, tools, state, created_at, updated_at,
         last_seq, turns, usage, pinned, archived, branch_of, branch_turn, family)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)",
        params,
    )
}

fn change_thread(at: &Connection, change: &ThreadUpdate) -> Result<(), StoreError> {
    must(
        at,
        "UPDATE threads SET updated_at = ?2, title = coalesce(?3, title), mode = coalesce(?4, mode),
         tools = coalesce(?5, tools), state = coalesce(?6, state), usage = coalesce(?7, usage) WHERE id = ?1",
        (
            change.id.as_str(),
            &change.at,
            &change.title,
            &change.mode,
            change.tools.as_ref().map(json),
            change.state.as_ref().map(word),
            change.usage.as_ref().map(json),
        ),
    )
}

fn new_end(at: &Connection, end: &ListTail) -> Result<(), StoreError> {
    let (thread, name, stay) = (end.thread.as_str(), end.name, signed(end.stay));
    // What a turn before this one said stays known, so that a branch can go on from there.
    run(
        at,
        "INSERT INTO former_items (thread, name, place, since, until, body)
         SELECT i.thread, i.name, i.place, i.since, t.turns, i.body FROM kept_items i JOIN threads t ON t.id = i.thread
         WHERE i.thread = ?1 AND i.name = ?2 AND i.place >= ?3 AND i.since < t.turns
         ON CONFLICT DO NOTHING",
        (thread, name, stay),
    )?;
    run(at, "DELETE FROM kept_items WHERE thread = ?1 AND name = ?2 AND place >= ?3", (thread, name, stay))?;
    // A gap would be a part of a conversation that nobody notices to be missing.
    let there: i64 = at
        .prepare_cached("SELECT coalesce(max(place) + 1, 0) FROM kept_items WHERE thread = ?1 AND name = ?2")
        .and_then(|mut statement| statement.query_row((thread, name), |row| row.get(0)))
        .map_err(database)?;
    if there != stay {
        return Err(StoreError::Conflict(format!("of `{name}`, {there} are there and {stay} were to stay")));
    }
    for (place, text) in (stay..).zip(&end.then) {
        run(
            at,
            "INSERT INTO kept_items (thread, name, place, body, since)
             VALUES (?1, ?2, ?3, ?4, coalesce((SELECT turns FROM threads WHERE id = ?1), 0))",
            (thread, name, place, text),
        )?;
    }
    Ok(())
}

fn new_turn(at: &Connection, turn: &StoredTurn) -> Result<(), StoreError> {
    let params: [&dyn rusqlite::ToSql; 13] = [
        &turn.thread.as_str(),
        &signed(turn.number),
        &turn.mode,
        &turn.message,
        &json(&turn.files),
        &word(&turn.state),
        &turn.code,
        &signed(turn.first_seq),
        &signed(turn.last_seq),
        &turn.started_at,
        &turn.ended_at,
        &turn.changed,
        &turn.applied,
    ];
    run(
        at,
        "INSERT INTO turns (thread, number, mode, message, files, state, code, first_seq, last_seq, started_at, ended_at,
         changed, applied) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        params,
    )?;
    run(
        at,
        "INSERT INTO turn_starts (thread, turn, rest)
         VALUES (?1, ?2, (SELECT body FROM kept WHERE thread = ?1 AND name = 'conversation'))",
        (turn.thread.as_str(), signed(turn.number)),
    )?;
    must(
        at,
        "UPDATE threads SET turns = ?2, updated_at = ?3 WHERE id = ?1",
        (turn.thread.as_str(), signed(turn.number), &turn.started_at),
    )
}

fn end_turn(at: &Connection, end: &TurnUpdate) -> Result<(), StoreError> {
    must(
        at,
        "UPDATE turns SET state = ?3, code = ?4, ended_at = ?5, changed = coalesce(?6, changed)
         WHERE thread = ?1 AND number = ?2",
        (end.thread.as_str(), signed(end.number), word(&end.state), &end.code, &end.ended_at, end.changed),
    )?;
    // In one piece, for searches: it came in many.
    run(
        at,
        "INSERT INTO answers (thread, turn, body)
         SELECT thread, turn, group_concat(json_extract(data, '$.text'), '' ORDER BY seq) FROM events
         WHERE thread = ?1 AND turn = ?2 AND kind = 'message'
         AND seq >= (SELECT first_seq FROM turns WHERE thread = ?1 AND number = ?2)
         GROUP BY thread, turn
         ON CONFLICT (thread, turn) DO UPDATE SET body = excluded.body",
        (end.thread.as_str(), signed(end.number)),
    )
}

fn add_event(at: &Connection, event: &EventRow) -> Result<(), StoreError> {
    let (thread, seq, turn) = (event.thread.as_str(), signed(event.seq), signed(event.turn));
    // A gap would break the promise to whoever comes back, so the number must be the next.
    must(at, "UPDATE threads SET last_seq = ?2 WHERE id = ?1 AND last_seq = ?2 - 1", (thread, seq))?;
    run(
        at,
        "INSERT INTO events (thread, seq, turn, kind, data, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        (thread, seq, turn, &event.kind, &event.data, &event.at),
    )?;
    run(at, "UPDATE turns SET last_seq = ?3 WHERE thread = ?1 AND number = ?2", (thread, turn, seq))
}

fn add_audit(at: &Connection, note: &AuditNote) -> Result<(), StoreError> {
    let entry = chain::link(head(at)?.as_ref(), note.clone());
    run(
        at,
        "INSERT INTO audit (seq, at, actor, action, thread, turn, detail, prev, hash)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        (
            signed(entry.seq),
            &entry.note.at,
            &entry.note.actor,
            &entry.note.action,
            &entry.note.thread,
            entry.note.turn.map(signed),
            json(&entry.note.detail),
            &entry.prev,
            &entry.hash,
        ),
    )
}

fn head(at: &Connection) -> Result<Option<ChainHead>, StoreError> {
    use rusqlite::OptionalExtension;
    at.prepare_cached("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1")
        .and_then(|mut statement| {
            statement
                .query_row([], |row| {
                    Ok(ChainHead { seq: row.get::<_, i64>(0)?.unsigned_abs(), hash: row.get(1)? })
                })
                .optional()
        })
        .map_err(database)
}

pub(super) fn run(at: &Connection, sql: &str, params: impl Params) -> Result<(), StoreError> {
    at.prepare_cached(sql).and_then(|mut statement| statement.execute(params)).map(drop).map_err(database)
}

/// The same for what must be there.
fn must(at: &Connection, sql: &str, params: impl Params) -> Result<(), StoreError> {
    match at.prepare_cached(sql).and_then(|mut statement| statement.execute(params)).map_err(database)? {
        0 => Err(StoreError::Conflict("what was to be changed is not there, or not as expected".into())),
        _ => Ok(()),
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
