//! Opening the file: where it is, how durable it is, and whether it is ours.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};

use crate::{StoreError, schema};

/// How long a writer waits for another one before it gives up.
const BUSY: Duration = Duration::from_secs(10);

/// The results database.
#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Connection,
}

impl Store {
    /// Opens the database, and makes it and its directory where they do not exist.
    ///
    /// # Errors
    /// When the directory or file cannot be made, or the file is another program's or of a newer
    /// fsarena.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|source| StoreError::Directory {
                path: parent.to_owned(),
                source,
            })?;
        }
        let connection = Connection::open(path).map_err(|source| StoreError::CannotOpen {
            path: path.to_owned(),
            source,
        })?;
        let mut store = Self { connection };
        store.prepare(path).map_err(|error| not_ours(error, path))?;
        Ok(store)
    }

    /// Opens a database that must exist already, for commands that only look.
    ///
    /// # Errors
    /// As for [`Store::open`], and when there is no such file.
    pub fn open_existing(path: &Path) -> Result<Self, StoreError> {
        if !path.exists() {
            return Err(StoreError::Absent {
                path: path.to_owned(),
            });
        }
        Self::open(path)
    }

    fn prepare(&mut self, path: &Path) -> Result<(), StoreError> {
        self.connection.busy_timeout(BUSY)?;
        schema::check(&self.connection, path)?;
        // A write-ahead log lets a report be made while a campaign writes; FULL flushes it at every
        // commit, so that a cell that was recorded outlives a power failure too.
        self.connection.pragma_update(None, "journal_mode", "WAL")?;
        self.connection.pragma_update(None, "synchronous", "FULL")?;
        self.connection.pragma_update(None, "foreign_keys", true)?;
        // Otherwise INSERT OR REPLACE would pass the triggers by.
        self.connection
            .pragma_update(None, "recursive_triggers", true)?;
        schema::migrate(&mut self.connection, path)
    }
}

/// SQLite notices only when it first reads that a file is no database at all.
fn not_ours(error: StoreError, path: &Path) -> StoreError {
    match error {
        StoreError::Sqlite(inner) if inner.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
            StoreError::NotOurs {
                path: path.to_owned(),
            }
        }
        other => other,
    }
}
