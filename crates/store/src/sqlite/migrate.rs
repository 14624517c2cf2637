//! Brings a database up to the version this release knows; each step happens whole or not at all.

use rusqlite::{Connection, TransactionBehavior};

use super::database;
use crate::error::StoreError;

/// In order; a released one is never changed.
const STEPS: &[&str] = &[
    include_str!("migrations/0001_threads.sql"),
    include_str!("migrations/0002_open_interrupts.sql"),
    include_str!("migrations/0003_lists.sql"),
    include_str!("migrations/0004_tool_outputs.sql"),
    include_str!("migrations/0005_thread_list.sql"),
    include_str!("migrations/0006_branches.sql"),
];

pub(super) fn run(connection: &mut Connection) -> Result<(), StoreError> {
    let known = STEPS.len() as i64;
    // Taken before looking, so that two processes do not both find it old.
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(database)?;
    let found: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(database)?;
    if found > known || found < 0 {
        return Err(StoreError::Newer { found, known });
    }
    for step in STEPS.iter().skip(found as usize) {
        transaction.execute_batch(step).map_err(database)?;
    }
    transaction.pragma_update(None, "user_version", known).map_err(database)?;
    transaction.commit().map_err(database)
}
