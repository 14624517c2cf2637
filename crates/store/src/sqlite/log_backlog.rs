//! How far the write-ahead log is ahead of the database.
//!
//! Bringing the two together waits for the disk, which may be busy with something else for long. So it is not done by a
//! commit, as SQLite would, but beside the commits; only a log that has become far too long is dealt with by the writer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rusqlite::Connection;

use super::database;
use crate::backend::LogBacklog;
use crate::error::StoreError;

/// Pages after which the log should be brought in: 16 MB. A log that begins anew waits for the disk once, so not more often.
const STEP: u32 = 4000;
/// Pages after which the writer itself does it: 128 MB, which 1,000 streams at once fill in about eight seconds. Streams
/// wait meanwhile, so it must be rare; and the log keeps its length on the disk, so it must not be endless.
const TOO_MANY: u32 = 8 * STEP;
/// Tries to bring in what was added meanwhile too; only when nothing is left can the log begin anew.
const TRIES: usize = 3;

/// Watches the log of one connection.
pub(super) struct WalWatch {
    pages: Arc<AtomicU32>,
    /// Its length when it was told last that it should be brought in.
    told: u32,
}

impl WalWatch {
    /// Begins to watch; from now on no commit of this connection brings anything in.
    pub(super) fn of(connection: &mut Connection) -> Result<Self, StoreError> {
        let pages = Arc::new(AtomicU32::new(0));
        let seen = Arc::clone(&pages);
        let hook = move |_: &mut rusqlite::hooks::Wal, length: std::ffi::c_int| {
            seen.store(length.unsigned_abs(), Ordering::Relaxed);
            Ok(())
        };
        connection.wal_hook(Some(hook)).map_err(database)?;
        Ok(Self { pages, told: 0 })
    }

    /// What should be done after the last commit.
    pub(super) fn ahead(&mut self) -> LogBacklog {
        let (ahead, told) = weigh(self.pages.load(Ordering::Relaxed), self.told);
        self.told = told;
        ahead
    }
}

/// What a log of this length needs, and the length that was told last.
fn weigh(pages: u32, told: u32) -> (LogBacklog, u32) {
    // Shorter than before: it has begun anew.
    let told = if pages < told { 0 } else { told };
    match pages {
        TOO_MANY.. => (LogBacklog::TooMuch, pages),
        _ if pages - told >= STEP => (LogBacklog::Much, pages),
        _ => (LogBacklog::Little, told),
    }
}

/// Brings the log in, as far as nobody reads or writes there.
pub(super) fn bring_in(connection: &Connection) -> Result<(), StoreError> {
    for _ in 0..TRIES {
        let (length, done): (i64, i64) = connection
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| Ok((row.get(1)?, row.get(2)?)))
            .map_err(database)?;
        if done >= length {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_once_for_every_step() {
        let mut told = 0;
        let mut look = |pages| {
            let (ahead, next) = weigh(pages, told);
            told = next;
            ahead
        };
        for (pages, expect) in [
            (1, LogBacklog::Little),
            (3999, LogBacklog::Little),
            (4000, LogBacklog::Much),
            (4001, LogBacklog::Little),
            (7999, LogBacklog::Little),
            (8100, LogBacklog::Much),
            (12_099, LogBacklog::Little),
            // Begun anew.
            (5, LogBacklog::Little),
            (4000, LogBacklog::Much),
            (31_999, LogBacklog::Much),
            (32_000, LogBacklog::TooMuch),
            (32_001, LogBacklog::TooMuch),
            (3, LogBacklog::Little),
            (4500, LogBacklog::Much),
        ] {
            assert_eq!(look(pages), expect, "{pages}");
        }
    }
}
