//! A result as a file: complete, with a checksum, for one cell of one plan. The file name is never
//! reused.
//!
//! The first line is the digest of the rest, which is one JSON object.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use model::{Cell, CellResult};
use serde::{Deserialize, Serialize};
use sys::fs::plain_file;
use sys::fs::safe_path::default_mode;

use crate::{Batch, BatchEntry, Digest, RunKind};

/// Maximum size of a result, in bytes.
pub const MAX_RESULT_FILE_SIZE: u64 = 1 << 26;
/// Prefix of the names of incomplete files.
pub const PARTIAL: &str = ".partial-";

/// The result of a cell and the host that ran it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResultFile {
    /// The plan.
    pub plan: Digest,
    /// The cell.
    pub cell: Digest,
    /// Kind of the run.
    pub half: RunKind,
    /// The host that ran it.
    pub host: String,
    /// The result.
    pub result: CellResult,
}

/// Reason that a file contains no result.
#[derive(Debug)]
pub enum UnreadableResult {
    /// The file does not exist.
    NotFound,
    /// The content does not match its checksum.
    Damaged,
    /// The file cannot be read.
    Io(io::Error),
}

impl ResultFile {
    /// Reads the file at a path.
    pub fn read(path: &Path) -> Result<Self, UnreadableResult> {
        let bytes = match plain_file::read(path, MAX_RESULT_FILE_SIZE) {
            Ok(bytes) => bytes,
            Err(error) => {
                return Err(match error.kind() {
                    io::ErrorKind::NotFound => UnreadableResult::NotFound,
                    // A directory, a pipe or a link loop: not a result file.
                    io::ErrorKind::InvalidInput => UnreadableResult::Damaged,
                    _ => UnreadableResult::Io(error),
                });
            }
        };
        Self::parse(&bytes).ok_or(UnreadableResult::Damaged)
    }

    /// Parses a result file. Returns `None` if the checksum does not match.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (digest, text) = bytes.split_at_checked(Digest::LENGTH)?;
        let text = text.strip_prefix(b"\n")?;
        let is_whole = Digest::sha256(text).to_string().as_bytes() == digest;
        is_whole.then(|| serde_json::from_slice(text).ok())?
    }

    /// Returns the content of the file.
    pub fn text(&self) -> String {
        let text = serde_json::to_string(self).expect("results hold only what JSON can say") + "\n";
        format!("{}\n{text}", Digest::sha256(text.as_bytes()))
    }

    /// Returns the result of an entry if its file exists and is valid.
    pub fn load(batch: &Batch, entry: &BatchEntry, half: RunKind) -> Option<Self> {
        let file = Self::read(&batch.result(&entry.name, half)).ok()?;
        let is_it = file.plan == *batch.plan_id() && file.cell == entry.name && file.half == half;
        (is_it && file.matches(batch, &entry.cell)).then_some(file)
    }

    /// Returns true if the result contains exactly the phases of the cell's test, in order.
    pub fn matches(&self, batch: &Batch, cell: &Cell) -> bool {
        let suites = &batch.plan().campaign.suites;
        let mut suites = suites.iter().filter(|suite| suite.name == cell.suite);
        let test = suites.find_map(|suite| suite.tests.iter().find(|test| test.name == cell.test));
        let phases = self.result.phases.iter().map(|phase| &phase.phase);
        test.is_some_and(|test| phases.eq(test.phases.iter().map(|phase| &phase.name)))
    }

    /// Writes the result file, unless a valid result of the same cell already exists.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written; no partial file remains.
    pub fn keep(&self, batch: &Batch, entry: &BatchEntry) -> io::Result<()> {
        let path = batch.result(&entry.name, entry.half);
        let shelf = path.parent().unwrap_or(Path::new("/"));
        let mut file = tempfile::Builder::new()
            .prefix(PARTIAL)
            .permissions(Permissions::from_mode(default_mode()))
            .tempfile_in(shelf)?;
        file.write_all(self.text().as_bytes())?;
        file.as_file().sync_all()?;
        // link(2) creates the name atomically and only if it does not exist, also on NFS.
        if let Err(error) = file.persist_noclobber(&path) {
            if error.error.kind() != io::ErrorKind::AlreadyExists {
                return Err(error.error);
            }
            if is_done(batch, entry) {
                return Ok(());
            }
            error.file.persist(&path)?;
        }
        File::open(shelf)?.sync_all()
    }
}

/// Returns true if an entry need not run: its result exists and its other run was on a different
/// host.
pub fn is_done(batch: &Batch, entry: &BatchEntry) -> bool {
    let Some(own) = ResultFile::load(batch, entry, entry.half) else {
        return false;
    };
    match entry.half {
        RunKind::First => true,
        RunKind::Verification => {
            let first = ResultFile::load(batch, entry, RunKind::First);
            first.is_none_or(|first| first.host != own.host)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fixture;

    fn file() -> ResultFile {
        ResultFile {
            plan: Digest::sha256(b"plan"),
            cell: Digest::sha256(b"cell"),
            half: RunKind::First,
            host: "n1".into(),
            result: fixture::result(),
        }
    }

    #[test]
    fn round_trips_through_text() {
        assert_eq!(ResultFile::parse(file().text().as_bytes()), Some(file()));
    }

    proptest! {
        /// A truncated or changed file is rejected as damaged.
        #[test]
        fn rejects_a_changed_file(at in 0.0f64..1.0, byte in any::<u8>(), cut in any::<bool>()) {
            let whole = file().text().into_bytes();
            let mut bytes = whole.clone();
            let at = (at * bytes.len() as f64) as usize;
            match cut {
                true => bytes.truncate(at),
                false => bytes[at] = byte,
            }
            prop_assert_eq!(ResultFile::parse(&bytes).is_some(), bytes == whole);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(ResultFile::parse(&bytes).is_none());
        }
    }
}
