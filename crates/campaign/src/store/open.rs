//! Opens the database: checks its path, its format and its integrity, and sets its durability.

use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use nix::fcntl::AT_FDCWD;
use nix::sys::stat::{UtimensatFlags, utimensat};
use nix::sys::time::TimeSpec;
use nix::unistd::geteuid;
use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags, Transaction, TransactionBehavior};
use sys::fs::plain_file;
use sys::interruption;

use crate::store::error::RowError;
use crate::store::row::ReadView;
use crate::store::{StoreError, schema};

/// Timeout while another program holds the database.
pub const BUSY: Duration = Duration::from_secs(10);
const BUSY_POLL_INTERVAL: Duration = Duration::from_millis(10);
/// First bytes of every SQLite database. Source: Database File Format, section 1.3.
const SQLITE: &[u8] = b"SQLite format 3\0";
/// Disables SQLite's mutexes: Rust ensures that only one thread at a time uses the database.
const NO_MUTEX: OpenFlags = OpenFlags::SQLITE_OPEN_NO_MUTEX;

/// The results database.
#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Connection,
    /// Marks the file on closing, if it is open for writing. Dropped after the connection.
    mark: Option<CleanMark>,
    path: PathBuf,
    /// Whether the rows have digests.
    digests: bool,
}

impl Store {
    /// Opens the database for writing. Creates it and its directory if they do not exist, and
    /// migrates it to the current schema. Checks the content first unless the last writer closed
    /// the file, so that no data is added to a damaged database.
    ///
    /// # Errors
    /// Returns an error if the directory or file cannot be created or written, if the file belongs
    /// to another program or a newer fsarena, or if it is damaged.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let path = absolute(path)?;
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)
                .map_err(|source| StoreError::Directory { path: parent.to_owned(), source })?;
        }
        is_there(&path)?;
        let (connection, mark) = writer(&path).map_err(|trouble| trouble.with_path(&path))?;
        Ok(Self { connection, mark: Some(mark), path, digests: true })
    }

    /// Opens a database for reading. It may belong to another user, as after `sudo fsarena run`.
    /// Returns `None` without creating a file if there is no database yet.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or belongs to another program or a newer
    /// fsarena.
    pub fn open_read_only(path: &Path) -> Result<Option<Self>, StoreError> {
        let path = absolute(path)?;
        if !is_there(&path)? {
            return Ok(None);
        }
        let reader = reader(&path).map_err(|trouble| trouble.with_path(&path))?;
        Self::of_reader(reader, path)
    }

    /// Opens a database of another user for reading without creating any files next to it. Data
    /// that a killed writer left in the write-ahead log is therefore not visible.
    ///
    /// # Errors
    /// Returns the errors of [`Store::open_read_only`].
    pub fn open_immutable(path: &Path) -> Result<Option<Self>, StoreError> {
        let path = absolute(path)?;
        if !is_there(&path)? {
            return Ok(None);
        }
        // SQLite opens or creates a log next to the file, and gives it to the owner of the file. As
        // root, the owner could so get a file of root.
        let address = match geteuid().is_root() {
            true => immutable(&path),
            false => read_only(&path),
        };
        let reader = read_from(&address, &path).map_err(|trouble| trouble.with_path(&path))?;
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
        let mut store = Self { connection, mark: None, path, digests: false };
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
            let value = read(ReadView { connection: &snapshot, digests: self.digests })?;
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
        let Self { connection, path, .. } = self;
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

impl Drop for Store {
    fn drop(&mut self) {
        if let Some(mark) = &mut self.mark {
            mark.store(&self.connection);
        }
    }
}

/// The mark of a file that its last writer closed: a row with the modification time that the file
/// gets on closing. A writer that is killed leaves a log or another time; other programs that
/// change the file leave another time.
#[derive(Debug)]
struct CleanMark {
    path: PathBuf,
    /// Whether the file had the mark when it was opened.
    was_set: bool,
    /// The stored time, in seconds since 1970.
    time: Option<i64>,
}

impl CleanMark {
    /// Reads the mark. Call this before the first change of the file.
    fn read(connection: &Connection, path: &Path, has_log: bool) -> Result<Self, RowError> {
        let stored: Option<i64> = match schema::has_table(connection, "upkeep")? {
            true => connection.query_row(
                "SELECT max(value) FROM upkeep WHERE name = 'closed'",
                [],
                |row| row.get(0),
            )?,
            false => None,
        };
        let found = fs::metadata(path).ok().map(|file| (file.mtime(), file.mtime_nsec()));
        let was_set = !has_log && stored.is_some() && found == stored.map(|time| (time, 0));
        Ok(Self { path: path.to_owned(), was_set, time: None })
    }

    /// Stores the mark unless it is still valid. Without a mark, the next writer checks the file.
    fn store(&mut self, connection: &Connection) {
        if self.was_set && connection.total_changes() == 0 {
            return;
        }
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        // Even seconds, because FAT stores no others.
        let time = i64::try_from(now.as_secs() / 2 * 2).unwrap_or_default();
        let sql = "INSERT OR REPLACE INTO upkeep (name, value) VALUES ('closed', ?1)";
        let stored = connection.busy_timeout(Duration::ZERO);
        self.time = stored.and_then(|()| connection.execute(sql, [time])).is_ok().then_some(time);
    }
}

impl Drop for CleanMark {
    /// Sets the time by the path: closing a file descriptor would drop the locks that other
    /// connections of this process have on the file.
    fn drop(&mut self) {
        if let Some(time) = self.time {
            let time = TimeSpec::new(time, 0);
            let _ = utimensat(AT_FDCWD, &self.path, &time, &time, UtimensatFlags::FollowSymlink);
        }
    }
}

/// Makes the path absolute, so that SQLite does not interpret special names such as `:memory:`.
fn absolute(path: &Path) -> Result<PathBuf, StoreError> {
    std::path::absolute(path)
        .map_err(|source| StoreError::Unreachable { path: path.to_owned(), source })
}

/// Returns true if the file exists and is not empty. Refuses a directory, a pipe or a file of
/// another program, because SQLite would treat a file of one byte as a new database.
fn is_there(path: &Path) -> Result<bool, StoreError> {
    let path = path.to_owned();
    match fs::metadata(&path) {
        Ok(metadata) if !metadata.is_file() => return Err(StoreError::NotAFile { path }),
        Ok(metadata) if metadata.len() == 0 => return Ok(false),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(source) => return Err(StoreError::Unreachable { path, source }),
    }
    match is_sqlite(&path) {
        Ok(true) => Ok(true),
        Ok(false) => Err(StoreError::NotAnFsarenaDatabase { path }),
        Err(source) => Err(StoreError::Unreachable { path, source }),
    }
}

/// Returns true if a plain file is a database of SQLite.
///
/// # Errors
/// Returns an error if it is no plain file or cannot be read.
pub fn is_sqlite(path: &Path) -> io::Result<bool> {
    let length = SQLITE.len() as u64;
    Ok(plain_file::read_stream(plain_file::open(path)?.take(length), length)? == SQLITE)
}

fn connect(address: impl AsRef<Path>, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_with_flags(address, flags | NO_MUTEX)?;
    wait_for_others(&mut connection)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    Ok(connection)
}

/// Returns true if the file has a log: a writer uses the database or was killed.
fn has_log(path: &Path) -> bool {
    ["-wal", "-journal"].iter().any(|suffix| {
        let mut log = path.as_os_str().to_owned();
        log.push(suffix);
        fs::metadata(log).is_ok_and(|log| log.len() > 0)
    })
}

fn writer(path: &Path) -> Result<(Connection, CleanMark), RowError> {
    let has_log = has_log(path);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let mut connection = connect(path, flags)?;
    if connection.is_readonly(MAIN_DB)? {
        let path = path.to_owned();
        return Err(StoreError::ReadOnly { path }.into());
    }
    // Checked first, because it refuses foreign files before they are changed.
    let is_new = schema::check(&connection, path)? == 0;
    let mark = CleanMark::read(&connection, path, has_log)?;
    if is_new {
        // Allows a deletion to shrink the file without rewriting it.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    } else if !mark.was_set {
        require_sound(&connection)?;
    }
    schema::migrate(&mut connection, path)?;
    // A write-ahead log allows reports while a campaign writes. FULL flushes the log at every
    // commit, so that a recorded cell survives a power failure.
    write_ahead(&connection)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    Ok((connection, mark))
}

/// Checks the whole file: pages, rows and foreign keys.
fn require_sound(connection: &Connection) -> Result<(), RowError> {
    let said: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if said != "ok" {
        // The preceding lines name the affected part of the database.
        let why = said.lines().last().unwrap_or_default();
        return Err(RowError::Damaged(why.to_owned()));
    }
    // Old files have tables of phases and measurements, which are never read.
    for table in ["session", "planned_cell", "cell"] {
        let mut stray =
            connection.prepare(&format!("SELECT 1 FROM pragma_foreign_key_check('{table}')"))?;
        if stray.exists([])? {
            let why = format!("rows of its table {table} belong to nothing");
            return Err(RowError::Damaged(why));
        }
    }
    Ok(())
}

/// Lets calls wait for other users of the database, until the user asks to stop.
fn wait_for_others(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.busy_handler(Some(|tries: i32| {
        thread::sleep(BUSY_POLL_INTERVAL);
        let waited = BUSY_POLL_INTERVAL * tries.unsigned_abs();
        waited < BUSY && !interruption::is_requested()
    }))
}

/// Enables the write-ahead log. SQLite ignores its timeout here, so this function retries.
pub fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let start = Instant::now();
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && start.elapsed() < BUSY
                    && !interruption::is_requested() =>
            {
                thread::sleep(Duration::from_millis(1));
            }
            other => return other,
        }
    }
}

/// Opens a read-only connection. Returns it with the schema of the database.
fn reader(path: &Path) -> Result<(Connection, u32), RowError> {
    match that_could_write(path) {
        Ok(Some(found)) => Ok(found),
        Ok(None) => that_may_only_read(path),
        Err(RowError::Sqlite(error)) if lacks_a_log(&error) => that_may_only_read(path),
        Err(trouble) => Err(trouble),
    }
}

/// Returns true if the file is writable but its log is not, because its directory lacks permission
/// or space.
fn lacks_a_log(error: &rusqlite::Error) -> bool {
    use ErrorCode::{CannotOpen, DiskFull, SystemIoFailure};
    let code = error.sqlite_error_code();
    matches!(code, Some(CannotOpen | DiskFull | SystemIoFailure))
}

/// Opens a database so that the log of a killed writer can be read, which requires write
/// permission. Returns `None` if the file is not writable.
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
    read_from(&read_only(path), path)
}

fn read_from(address: &str, path: &Path) -> Result<(Connection, u32), RowError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let connection = connect(address, flags)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    require_tables(&connection, path)?;
    let found = schema::check(&connection, path)?;
    Ok((connection, found))
}

/// Refuses a foreign database that would run code when it is read: a view may never end.
fn require_tables(connection: &Connection, path: &Path) -> Result<(), RowError> {
    // No command reads the views of fsarena.
    // Hidden columns of kind 2 and 3 are computed from an expression (PRAGMA table_xinfo).
    let others = "SELECT count(*) FROM sqlite_schema AS item \
                  WHERE type = 'view' AND name NOT IN ('phase', 'measurement') OR type = 'table' AND (sql LIKE '%virtual%' \
                  OR EXISTS (SELECT 1 FROM pragma_table_xinfo(item.name) WHERE hidden IN (2, 3)))";
    let others: u32 = connection.query_row(others, [], |row| row.get(0))?;
    match others {
        0 => Ok(()),
        _ => {
            let path = path.to_owned();
            Err(StoreError::NotAnFsarenaDatabase { path }.into())
        }
    }
}

/// Returns the SQLite URI of a file that must not be written.
fn read_only(path: &Path) -> String {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    // With an empty log there is no writer; SQLite would nevertheless try to write to the log,
    // which it may not.
    match fs::metadata(&log) {
        Ok(log) if log.len() > 0 => format!("file:{}?mode=ro", escaped(path)),
        _ => immutable(path),
    }
}

/// Returns the SQLite URI of a file that is read without its log.
fn immutable(path: &Path) -> String {
    format!("file:{}?immutable=1", escaped(path))
}

/// Escapes a path for a URI. Source: RFC 3986, section 2.1.
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
    fn reads_read_only_databases_with_any_name() {
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
    fn a_reader_cannot_write() {
        let (_directory, path) = made();
        let store = Store::open_read_only(&path).unwrap().unwrap();
        let sql = "INSERT INTO session (campaign, started, environment) VALUES (1, 1, '{}')";
        let refused = store.connection.execute(sql, []).unwrap_err();
        assert_eq!(refused.sqlite_error_code(), Some(ErrorCode::ReadOnly));
    }

    #[test]
    fn reports_a_database_locked_by_another_program() {
        let (_directory, path) = made();
        let mut store = Store::open(&path).unwrap();
        let other = Connection::open(&path).unwrap();
        other.execute_batch("BEGIN EXCLUSIVE").unwrap();
        store.connection.busy_timeout(Duration::ZERO).unwrap();
        let error = store.write_transaction(|_| Ok(())).unwrap_err();
        assert!(matches!(error, StoreError::Busy { .. }), "{error}");
        let holder = format!(": process {} (", std::process::id());
        assert!(error.to_string().contains(&holder), "{error}");
        // The log allows reading at the same time.
        assert_eq!(store.latest().unwrap(), None);
    }

    #[test]
    fn a_full_disk_leaves_no_partial_data() {
        let (_directory, path) = made();
        let mut store = Store::open(&path).unwrap();
        let pages: u32 =
            store.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
        store.connection.pragma_update(None, "max_page_count", pages).unwrap();
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

    #[test]
    fn a_foreign_database_with_computed_columns_is_refused() {
        for column in ["x AS (1 + 1)", "x TEXT GENERATED ALWAYS AS ('a') STORED"] {
            let (_directory, path) = made();
            let connection = Connection::open(&path).unwrap();
            connection.execute_batch(&format!("CREATE TABLE more (y, {column})")).unwrap();
            drop(connection);
            let refused = Store::open_immutable(&path).unwrap_err();
            assert!(matches!(refused, StoreError::NotAnFsarenaDatabase { .. }), "{refused}");
        }
    }

    #[test]
    fn a_file_that_is_read_without_its_log_leaves_the_log_alone() {
        let (directory, path) = made();
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        fs::write(&log, vec![7; 100]).unwrap();
        assert!(read_from(&immutable(&path), &path).unwrap().1 > 0);
        assert_eq!(fs::read(&log).unwrap(), vec![7; 100]);
        let names = fs::read_dir(directory.path()).unwrap().count();
        assert_eq!(names, 2, "the database and its log");
    }
}
