//! Opening the file: where it is, how durable it is, whether it is ours, and whether it is sound.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags, Transaction, TransactionBehavior};

use crate::error::RowError;
use crate::row::ReadView;
use crate::{StoreError, schema};

/// How long one waits for another program before one gives up.
const BUSY: Duration = Duration::from_secs(10);
/// How every database of SQLite begins. Source: Database File Format, section 1.3.
const SQLITE: &[u8] = b"SQLite format 3\0";
/// The database is one thread's at a time, which Rust sees to.
const NO_MUTEX: OpenFlags = OpenFlags::SQLITE_OPEN_NO_MUTEX;

/// The results database.
#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Connection,
    path: PathBuf,
    /// Whether its rows have digests.
    digests: bool,
}

impl Store {
    /// Opens the database to write to it, makes it and its directory where they do not exist, and
    /// brings it up to date. What is stored is looked through first: nothing is added to what is damaged.
    ///
    /// # Errors
    /// When the directory or file cannot be made or written, the file is another program's or of a
    /// newer fsarena, or it is damaged.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let path = absolute(path)?;
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|source| StoreError::Directory {
                path: parent.to_owned(),
                source,
            })?;
        }
        is_there(&path)?;
        let connection = writer(&path).map_err(|trouble| trouble.with_path(&path))?;
        Ok(Self {
            connection,
            path,
            digests: true,
        })
    }

    /// Opens a database for commands that only look; it may be another user's, as after
    /// `sudo fsarena run`. `None` where nothing is stored yet, and nothing is made then.
    ///
    /// # Errors
    /// When the file cannot be read, or is another program's or of a newer fsarena.
    pub fn open_read_only(path: &Path) -> Result<Option<Self>, StoreError> {
        let path = absolute(path)?;
        if !is_there(&path)? {
            return Ok(None);
        }
        let reader = reader(&path).map_err(|trouble| trouble.with_path(&path))?;
        Self::of_reader(reader, path)
    }

    /// The same for a database of somebody else's: nothing is made beside it, so that what a killed writer left in
    /// its log is not seen.
    ///
    /// # Errors
    /// As for [`Store::open_to_read`].
    pub fn open_immutable(path: &Path) -> Result<Option<Self>, StoreError> {
        let path = absolute(path)?;
        if !is_there(&path)? {
            return Ok(None);
        }
        let reader = that_may_only_read(&path).map_err(|trouble| trouble.with_path(&path))?;
        Self::of_reader(reader, path)
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn of_reader(
        (connection, found): (Connection, u32),
        path: PathBuf,
    ) -> Result<Option<Self>, StoreError> {
        if found == 0 {
            return Ok(None);
        }
        let mut store = Self {
            connection,
            path,
            digests: false,
        };
        store.digests = store.read_transaction(|view| schema::has_digests(view.connection))?;
        Ok(Some(store))
    }

    /// Reads one state of the database, even while another program records cells.
    pub(crate) fn read_transaction<T>(
        &self,
        read: impl FnOnce(ReadView<'_>) -> Result<T, RowError>,
    ) -> Result<T, StoreError> {
        let read = || {
            let snapshot = self.connection.unchecked_transaction()?;
            let value = read(ReadView {
                connection: &snapshot,
                digests: self.digests,
            })?;
            snapshot.finish()?;
            Ok(value)
        };
        read().map_err(|trouble: RowError| trouble.with_path(&self.path))
    }

    /// Writes all or nothing, in a transaction that locks out other writers from its beginning, so
    /// that what was checked still holds when it is written.
    pub(crate) fn write_transaction<T>(
        &mut self,
        write: impl FnOnce(&Transaction<'_>) -> Result<T, RowError>,
    ) -> Result<T, StoreError> {
        let Self {
            connection, path, ..
        } = self;
        let write = || {
            let behaviour = TransactionBehavior::Immediate;
            let transaction = connection.transaction_with_behavior(behaviour)?;
            let value = write(&transaction)?;
            transaction.commit()?;
            Ok(value)
        };
        write().map_err(|trouble: RowError| trouble.with_path(path))
    }
}

/// So that SQLite takes no name for one of its own, such as `:memory:`.
fn absolute(path: &Path) -> Result<PathBuf, StoreError> {
    std::path::absolute(path).map_err(|source| StoreError::Unreachable {
        path: path.to_owned(),
        source,
    })
}

/// Whether there is a file with something in it. What is no database (a directory, a pipe, another program's
/// file) is refused: SQLite would take a file of one byte for a new one.
fn is_there(path: &Path) -> Result<bool, StoreError> {
    let path = path.to_owned();
    match fs::metadata(&path) {
        Ok(metadata) if !metadata.is_file() => return Err(StoreError::NotAFile { path }),
        Ok(metadata) if metadata.len() == 0 => return Ok(false),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(source) => return Err(StoreError::Unreachable { path, source }),
    }
    let mut begin = Vec::new();
    let read = File::open(&path).and_then(|file| {
        let mut file = file.take(SQLITE.len() as u64);
        file.read_to_end(&mut begin)
    });
    match read {
        Ok(_) if begin == SQLITE => Ok(true),
        Ok(_) => Err(StoreError::NotAnFsarenaDatabase { path }),
        Err(source) => Err(StoreError::Unreachable { path, source }),
    }
}

fn connect(address: impl AsRef<Path>, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(address, flags | NO_MUTEX)?;
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    Ok(connection)
}

fn writer(path: &Path) -> Result<Connection, RowError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let mut connection = connect(path, flags)?;
    if connection.is_readonly(MAIN_DB)? {
        let path = path.to_owned();
        return Err(StoreError::ReadOnly { path }.into());
    }
    // First of all, as it refuses what is not ours before anything is changed.
    if schema::check(&connection, path)? > 0 {
        require_sound(&connection)?;
    }
    schema::migrate(&mut connection, path)?;
    // A write-ahead log lets a report be made while a campaign writes; FULL flushes it at every
    // commit, so that a cell that was recorded outlives a power failure too.
    write_ahead(&connection)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    Ok(connection)
}

/// Looks the whole file through: its pages, its indices, its rows, and whether they belong together.
fn require_sound(connection: &Connection) -> Result<(), RowError> {
    let said: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if said != "ok" {
        // Before it stands which part of the database it is about.
        let why = said.lines().last().unwrap_or_default();
        return Err(RowError::Damaged(why.to_owned()));
    }
    // Of phases and measurements there are many; they are derived, and never read back.
    for table in ["session", "planned_cell", "cell"] {
        let mut stray = connection.prepare(&format!(
            "SELECT 1 FROM pragma_foreign_key_check('{table}')"
        ))?;
        if stray.exists([])? {
            let why = format!("rows of its table {table} belong to nothing");
            return Err(RowError::Damaged(why));
        }
    }
    Ok(())
}

/// Turns the write-ahead log on. SQLite does not wait for others here, whatever its timeout is.
fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let start = Instant::now();
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
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

/// A connection that does not write, with the database's schema.
fn reader(path: &Path) -> Result<(Connection, u32), RowError> {
    match that_could_write(path) {
        Ok(Some(found)) => Ok(found),
        Ok(None) => that_may_only_read(path),
        Err(RowError::Sqlite(error)) if lacks_a_log(&error) => that_may_only_read(path),
        Err(trouble) => Err(trouble),
    }
}

/// Whether the file may be written but not its log, for want of permission or room in its directory.
fn lacks_a_log(error: &rusqlite::Error) -> bool {
    use ErrorCode::{CannotOpen, DiskFull, SystemIoFailure};
    let code = error.sqlite_error_code();
    matches!(code, Some(CannotOpen | DiskFull | SystemIoFailure))
}

/// What a killed writer has left in the log can only be read by one who may write it back. `None` where
/// the file may not be written.
fn that_could_write(path: &Path) -> Result<Option<(Connection, u32)>, RowError> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    if connection.is_readonly(MAIN_DB)? {
        return Ok(None);
    }
    connection.pragma_update(None, "query_only", true)?;
    let found = schema::check(&connection, path)?;
    Ok(Some((connection, found)))
}

fn that_may_only_read(path: &Path) -> Result<(Connection, u32), RowError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let connection = connect(read_only(path), flags)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    require_tables(&connection, path)?;
    let found = schema::check(&connection, path)?;
    Ok((connection, found))
}

/// Refuses a database of somebody else's in which something runs when it is read: a view may never end.
fn require_tables(connection: &Connection, path: &Path) -> Result<(), RowError> {
    let others = "SELECT count(*) FROM sqlite_schema \
                  WHERE type = 'view' OR type = 'table' AND (sql LIKE '%virtual%' OR sql LIKE '%generated%')";
    let others: u32 = connection.query_row(others, [], |row| row.get(0))?;
    match others {
        0 => Ok(()),
        _ => {
            let path = path.to_owned();
            Err(StoreError::NotAnFsarenaDatabase { path }.into())
        }
    }
}

/// The address of a file that may not be written.
fn read_only(path: &Path) -> String {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    // Without anything in the log nobody writes; SQLite would want to write to it all the same, which it cannot.
    let mode = match fs::metadata(&log) {
        Ok(log) if log.len() > 0 => "mode=ro",
        _ => "immutable=1",
    };
    format!("file:{}?{mode}", escaped(path))
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

    fn made() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("50 % ünï?.db#1");
        Store::open(&path).unwrap();
        (directory, path)
    }

    #[test]
    fn what_may_only_be_read_is_read_whatever_its_name() {
        let (_directory, path) = made();
        for writer_is_alive in [true, false] {
            let writer = Store::open(&path).unwrap();
            let writer = writer_is_alive.then_some(writer);
            let (connection, found) = that_may_only_read(&path).unwrap();
            assert!(found > 0);
            let refused = connection.execute("DELETE FROM campaign", []);
            let code = refused.unwrap_err().sqlite_error_code();
            assert_eq!(code, Some(ErrorCode::ReadOnly));
            drop(writer);
        }
    }

    #[test]
    fn who_looks_does_not_write() {
        let (_directory, path) = made();
        let store = Store::open_read_only(&path).unwrap().unwrap();
        let sql = "INSERT INTO session (campaign, started, environment) VALUES (1, 1, '{}')";
        let refused = store.connection.execute(sql, []).unwrap_err();
        assert_eq!(refused.sqlite_error_code(), Some(ErrorCode::ReadOnly));
    }

    #[test]
    fn a_database_that_another_program_holds_is_told_as_that() {
        let (_directory, path) = made();
        let mut store = Store::open(&path).unwrap();
        let other = Connection::open(&path).unwrap();
        other.execute_batch("BEGIN EXCLUSIVE").unwrap();
        store.connection.busy_timeout(Duration::ZERO).unwrap();
        let error = store.write_transaction(|_| Ok(())).unwrap_err();
        assert!(matches!(error, StoreError::Busy { .. }), "{error}");
        // A log lets one read meanwhile.
        assert_eq!(store.latest().unwrap(), None);
    }

    #[test]
    fn where_there_is_no_room_nothing_is_half_stored() {
        let (_directory, path) = made();
        let mut store = Store::open(&path).unwrap();
        let pages: u32 = store
            .connection
            .pragma_query_value(None, "page_count", |row| row.get(0))
            .unwrap();
        store
            .connection
            .pragma_update(None, "max_page_count", pages)
            .unwrap();
        let error = store
            .write_transaction(|transaction| {
                let large = "CREATE TABLE large (x); INSERT INTO large VALUES (zeroblob(1000000))";
                Ok(transaction.execute_batch(large)?)
            })
            .unwrap_err();
        assert!(matches!(error, StoreError::DiskFull { .. }), "{error}");
        assert!(error.to_string().contains("free some"), "{error}");
        drop(store);
        assert_eq!(Store::open(&path).unwrap().campaigns().unwrap(), []);
    }
}
