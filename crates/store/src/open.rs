//! Opening the file: where it is, how durable it is, and whether it is ours.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags};

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
        store.prepare(path).map_err(|error| unusable(error, path))?;
        Ok(store)
    }

    /// Opens a database that must exist already, for commands that only look; it may be another
    /// user's, as after `sudo fsarena run`.
    ///
    /// # Errors
    /// As for [`Store::open`], and when there is no such file.
    pub fn open_existing(path: &Path) -> Result<Self, StoreError> {
        if !path.exists() {
            return Err(StoreError::Absent {
                path: path.to_owned(),
            });
        }
        match Self::open(path) {
            Err(StoreError::CannotOpen { source, .. })
                if source.sqlite_error_code() == Some(ErrorCode::ReadOnly) =>
            {
                Self::open_for_reading(path)
            }
            other => other,
        }
    }

    /// Opens a database such that nothing is written to it, nor made beside it.
    ///
    /// # Errors
    /// As for [`Store::open`].
    pub fn open_for_reading(path: &Path) -> Result<Self, StoreError> {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        // Without a log nobody writes; SQLite would want to make one all the same, which it may not.
        let mode = if Path::new(&log).exists() {
            "mode=ro"
        } else {
            "immutable=1"
        };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let address = format!("file:{}?{mode}", escaped(path));
        let connection = Connection::open_with_flags(address, flags)?;
        connection.busy_timeout(BUSY)?;
        schema::check(&connection, path)?;
        Ok(Self { connection })
    }

    fn prepare(&mut self, path: &Path) -> Result<(), StoreError> {
        self.connection.busy_timeout(BUSY)?;
        // First of all, as it refuses what is not ours before anything is changed.
        schema::migrate(&mut self.connection, path)?;
        // A write-ahead log lets a report be made while a campaign writes; FULL flushes it at every
        // commit, so that a cell that was recorded outlives a power failure too.
        self.write_ahead()?;
        self.connection.pragma_update(None, "synchronous", "FULL")?;
        self.connection.pragma_update(None, "foreign_keys", true)?;
        // Otherwise INSERT OR REPLACE would pass the triggers by.
        self.connection
            .pragma_update(None, "recursive_triggers", true)?;
        Ok(())
    }

    /// Turns the write-ahead log on. SQLite does not wait for others here, whatever its timeout is.
    fn write_ahead(&self) -> rusqlite::Result<()> {
        let start = Instant::now();
        loop {
            match self.connection.pragma_update(None, "journal_mode", "WAL") {
                Err(error)
                    if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                        && start.elapsed() < BUSY =>
                {
                    thread::sleep(Duration::from_millis(1));
                }
                other => return other,
            }
        }
    }
}

/// SQLite notices only later that a file is no database at all, or may not be written.
fn unusable(error: StoreError, path: &Path) -> StoreError {
    let path = path.to_owned();
    match error {
        StoreError::Sqlite(source) => match source.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => StoreError::NotOurs { path },
            Some(ErrorCode::ReadOnly) => StoreError::CannotOpen { path, source },
            _ => StoreError::Sqlite(source),
        },
        other => other,
    }
}

/// A path as part of an address. Source: RFC 3986, section 2.1.
fn escaped(path: &Path) -> String {
    let mut text = String::new();
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => text.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => text.push(char::from(byte)),
            _ => text += &format!("%{byte:02X}"),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CampaignId;

    #[test]
    fn what_may_only_be_read_is_read_whatever_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("50 % ünï?.db#1");
        for writer_is_alive in [true, false] {
            let writer = Store::open(&path).unwrap();
            let writer = writer_is_alive.then_some(writer);
            let reader = Store::open_for_reading(&path).unwrap();
            assert_eq!(reader.campaigns().unwrap(), []);
            let refused = reader.connection.execute("DELETE FROM campaign", []);
            let code = refused.unwrap_err().sqlite_error_code();
            assert_eq!(code, Some(ErrorCode::ReadOnly));
            drop(writer);
        }
    }

    #[test]
    fn an_older_database_that_may_only_be_read_has_no_calibrations() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("old.db");
        let store = Store::open(&path).unwrap();
        store
            .connection
            .execute_batch("DROP TABLE calibration; PRAGMA user_version = 1;")
            .unwrap();
        let reader = Store::open_for_reading(&path).unwrap();
        assert_eq!(reader.calibration(CampaignId(1)).unwrap(), None);
        assert_eq!(reader.campaigns().unwrap(), []);
    }
}
