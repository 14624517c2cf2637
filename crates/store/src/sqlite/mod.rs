//! Everything in one SQLite file: write-ahead log, one writer, readers that never wait for it.

mod anchor;
mod branches;
mod log_backlog;
mod migrate;
mod reads;
mod rows;
mod tool_outputs;
mod writes;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;

use crate::backend::{StoreBackend, StoreConnector};
use crate::error::StoreError;

/// The database of a folder.
#[derive(Debug, Clone)]
pub struct Sqlite {
    folder: PathBuf,
}

impl Sqlite {
    /// The database in this folder, which must exist and be private; made when there is none, brought up to date when it
    /// is older.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let sqlite = Self { folder: folder.to_owned() };
        tracing::debug!(folder = %folder.display(), "opens the database");
        migrate::run(&mut sqlite.raw()?)?;
        Ok(sqlite)
    }

    fn file(&self) -> PathBuf {
        self.folder.join("holon.db")
    }

    fn raw(&self) -> Result<Connection, StoreError> {
        let path = self.file();
        let connection = Connection::open(&path).map_err(|e| StoreError::Io {
            doing: "open",
            path,
            why: e.to_string(),
        })?;
        connection.busy_timeout(Duration::from_secs(10)).map_err(database)?;
        // Commits survive a killed process; a power cut may take the last ones, never the consistency.
        for (name, value) in [
            ("journal_mode", "WAL"),
            ("synchronous", "NORMAL"),
            ("foreign_keys", "ON"),
            ("cache_size", "-4000"),
        ] {
            connection.pragma_update(None, name, value).map_err(database)?;
        }
        connection.set_prepared_statement_cache_capacity(64);
        Ok(connection)
    }
}

impl StoreConnector for Sqlite {
    fn connect(&self) -> Result<Box<dyn StoreBackend>, StoreError> {
        let mut connection = self.raw()?;
        let log = log_backlog::WalWatch::of(&mut connection)?;
        Ok(Box::new(SqliteConnection { connection, log, anchor: anchor::ChainAnchor::of(&self.folder) }))
    }
}

/// One open connection.
struct SqliteConnection {
    connection: Connection,
    log: log_backlog::WalWatch,
    anchor: anchor::ChainAnchor,
}

fn database(error: rusqlite::Error) -> StoreError {
    use rusqlite::ErrorCode::ConstraintViolation;
    match &error {
        rusqlite::Error::SqliteFailure(failure, _) if failure.code == ConstraintViolation => {
            StoreError::Conflict(error.to_string())
        }
        _ => StoreError::Database(error.to_string()),
    }
}
