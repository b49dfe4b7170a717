//! Errors of the results database, each one line with a hint.

use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use model::CellId;
use nix::sys::statvfs::{FsFlags, statvfs};
use rusqlite::{ErrorCode, ffi};
use sys::process;

use crate::store::CampaignId;

/// An error of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The directory of the file could not be created.
    #[error("cannot create the directory {}: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file could not be accessed.
    #[error("cannot open the database {}: {source}", path.display())]
    Unreachable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file could not be opened or created.
    #[error(
        "cannot open the database {}: {error}; make its directory writable, or give another --db",
        path.display()
    )]
    CannotOpen {
        /// The file.
        path: PathBuf,
        /// Error of SQLite. Not a `source`, because the text of SQLite errors already contains
        /// their causes.
        error: rusqlite::Error,
    },
    /// The path is a directory, pipe or device.
    #[error("cannot read {} as a database: it is no file; name another one", path.display())]
    NotAFile {
        /// The given path.
        path: PathBuf,
    },
    /// The file was written by a newer version of fsarena.
    #[error(
        "{} was written by a newer fsarena (schema {found}, this one knows {known}): use that version, or another --db",
        path.display()
    )]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: u32,
        /// The newest schema that this version supports.
        known: u32,
    },
    /// The file is a database of another program, or not a database.
    #[error("cannot read {}: it is not a database of fsarena, or it is damaged; name another file", path.display())]
    NotAnFsarenaDatabase {
        /// The file.
        path: PathBuf,
    },
    /// The content of the database was changed or damaged.
    #[error(
        "the {}{} is damaged ({why}): put a sound copy of that file in its place, or name another database with --db",
        what.as_ref().map_or_else(|| "database ".to_owned(), |what| format!("{what} in ")),
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The damaged part, or `None` if the file as a whole is damaged.
        what: Option<String>,
        /// Evidence of the damage.
        why: String,
    },
    /// The file or its directory may be read but not written.
    #[error(
        "cannot write to the database {}: it or its directory is read-only; make it writable, or give another --db",
        path.display()
    )]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// The file is locked by another program for longer than the timeout.
    #[error("cannot use the database {}: {holder} has locked it; wait for its end", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
        /// The process that locked it.
        holder: String,
    },
    /// The disk is full.
    #[error(
        "the disk of the database {} is full: free some space, then run the command again; a stored campaign continues with `fsarena resume`",
        path.display()
    )]
    DiskFull {
        /// The file.
        path: PathBuf,
    },
    /// The disk failed, or a limit of the process prevents the write.
    #[error(
        "cannot {access} the database {}: {cause}; see whether its disk fails or is full, and the limit of file sizes \
         (ulimit -f); a stored campaign continues with `fsarena resume`",
        path.display()
    )]
    IoError {
        /// The file.
        path: PathBuf,
        /// The failed access: `read` or `write`.
        access: &'static str,
        /// Why.
        cause: String,
    },
    /// SQLite could not allocate memory.
    #[error("no memory to read the database {}: see the limits of the process (ulimit -v)", path.display())]
    NoMemory {
        /// The file.
        path: PathBuf,
    },
    /// The store contains no campaign with this number.
    #[error("no campaign {0}: `fsarena list campaigns` lists the stored campaigns")]
    NoCampaign(CampaignId),
    /// A result was recorded before a session started.
    #[error("campaign {0} has no session: a session begins before its first cell")]
    NoSession(CampaignId),
    /// The cell is not part of the campaign's plan.
    #[error("cell {} is not in the plan of campaign {campaign}", cell.0)]
    NotPlanned {
        /// The campaign.
        campaign: CampaignId,
        /// The cell.
        cell: CellId,
    },
    /// The cell already has a result; results are never replaced.
    #[error(
        "cell {} of campaign {campaign} has a result already: another fsarena runs or collects it; wait for that, and start \
         this again", cell.0
    )]
    AlreadyRecorded {
        /// The campaign.
        campaign: CampaignId,
        /// The cell.
        cell: CellId,
    },
    /// New cells do not continue the plan, because another program has extended it.
    #[error(
        "campaign {campaign} already has {planned} planned cells, which the new cells do not continue"
    )]
    NonContiguousPlan {
        /// The campaign.
        campaign: CampaignId,
        /// Number of planned cells.
        planned: u32,
    },
    /// A value cannot be converted to JSON.
    #[error("cannot store the {what}: {source}")]
    InvalidJson {
        /// The kind of value.
        what: &'static str,
        /// Why.
        source: serde_json::Error,
    },
    /// SQLite refused because of a bug in fsarena.
    #[error("the database {}: {error}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// The error of SQLite.
        error: rusqlite::Error,
    },
}

/// An error before it is attributed to a file.
#[derive(Debug)]
pub enum RowError {
    /// A complete error that already names its file.
    Known(StoreError),
    /// An error of SQLite.
    Sqlite(rusqlite::Error),
    /// Stored data is invalid.
    Damaged(String),
    /// A named part of the stored data is invalid.
    DamagedPart { what: String, why: String },
}

impl From<StoreError> for RowError {
    fn from(error: StoreError) -> Self {
        Self::Known(error)
    }
}

impl From<rusqlite::Error> for RowError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl RowError {
    /// Adds the name of the affected row, if the error is about one. The keys of the row may
    /// themselves be damaged.
    pub fn with_row(self, row: &rusqlite::Result<String>) -> Self {
        let why = match self {
            Self::Damaged(why) => why,
            Self::Sqlite(error) if is_of_a_value(&error) => error.to_string(),
            other => return other,
        };
        match row {
            Ok(row) => Self::DamagedPart { what: format!("stored {row}"), why },
            Err(_) => Self::Damaged(why),
        }
    }

    /// Adds the file and a hint.
    pub fn with_path(self, path: &Path) -> StoreError {
        let path = path.to_owned();
        let error = match self {
            Self::Known(error) => return error,
            Self::DamagedPart { what, why } => {
                let what = Some(what);
                return StoreError::Damaged { path, what, why };
            }
            Self::Damaged(why) => return damaged(path, why),
            Self::Sqlite(error) => error,
        };
        if is_of_a_value(&error) {
            return damaged(path, error.to_string());
        }
        let (code, text) = match &error {
            // All statements of fsarena are correct, so this error means that tables are missing.
            rusqlite::Error::SqlInputError { msg, .. } => (Some(ErrorCode::Unknown), msg.clone()),
            other => (other.sqlite_error_code(), other.to_string()),
        };
        match code {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::Unknown) => damaged(path, text),
            Some(ErrorCode::NotADatabase) => StoreError::NotAnFsarenaDatabase { path },
            Some(ErrorCode::ReadOnly) => StoreError::ReadOnly { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                let holder = lock_holder(&path);
                StoreError::Busy { path, holder }
            }
            Some(ErrorCode::DiskFull) => StoreError::DiskFull { path },
            Some(ErrorCode::SystemIoFailure) => io_failure(path, &error),
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                StoreError::CannotOpen { path, error }
            }
            Some(ErrorCode::OutOfMemory) => StoreError::NoMemory { path },
            _ => StoreError::Sqlite { path, error },
        }
    }
}

/// Describes the process that locked a database, for messages. Writers lock its index (`-shm`).
fn lock_holder(path: &Path) -> String {
    let mut index = path.as_os_str().to_owned();
    index.push("-shm");
    let locked = [path, Path::new(&index)].into_iter();
    let holder = locked.filter_map(process::write_lock_holder).next();
    holder.map_or_else(|| "another program".to_owned(), process::describe)
}

/// Creates the error for a disk that failed. SQLite returns which access failed, but not the error
/// of the system.
fn io_failure(path: PathBuf, error: &rusqlite::Error) -> StoreError {
    let code = error.sqlite_error().map_or(0, |error| error.extended_code);
    let is_of_disk = matches!(code, ffi::SQLITE_IOERR_CORRUPTFS | ffi::SQLITE_IOERR_FSYNC);
    let cause = match is_of_disk {
        true => io::Error::from_raw_os_error(nix::libc::EIO).to_string(),
        false => error.to_string(),
    };
    let access = match code {
        ffi::SQLITE_IOERR_READ
        | ffi::SQLITE_IOERR_SHORT_READ
        | ffi::SQLITE_IOERR_CORRUPTFS
        | ffi::SQLITE_IOERR_FSTAT => "read",
        _ => "write",
    };
    // Not opened: closing the file would drop the locks of other connections of this process.
    match statvfs(&path) {
        Ok(disk) if access == "write" && disk.flags().contains(FsFlags::ST_RDONLY) => {
            return StoreError::ReadOnly { path };
        }
        Ok(disk) if access == "write" && disk.blocks_available() == 0 => {
            return StoreError::DiskFull { path };
        }
        _ => {}
    }
    StoreError::IoError { path, access, cause }
}

/// Reads a database and its log. The files stay open: closing them would drop the locks of other
/// connections of this process.
fn read_all(path: &Path) -> io::Result<()> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    for path in [path, Path::new(&log)] {
        let Ok(file) = File::open(path) else { continue };
        let file = ManuallyDrop::new(file);
        let (mut part, mut at) = (vec![0; 1 << 20], 0);
        while let length @ 1.. = file.read_at(&mut part, at)? {
            at += length as u64;
        }
    }
    Ok(())
}

/// Creates the error for a file that is damaged as a whole, or that the disk does not return: SQLite
/// calls both damaged. Shortens the text, because SQLite may quote content of any length.
fn damaged(path: PathBuf, why: String) -> StoreError {
    if let Err(error) = read_all(&path) {
        return StoreError::IoError { path, access: "read", cause: error.to_string() };
    }
    const MAX_ERROR_SIZE: usize = 120;
    let first = why.lines().next().unwrap_or_default();
    StoreError::Damaged { path, what: None, why: first.chars().take(MAX_ERROR_SIZE).collect() }
}

/// Returns true if the value of a column has an invalid type or range.
const fn is_of_a_value(error: &rusqlite::Error) -> bool {
    matches!(
        error,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::Utf8Error(..)
    )
}
