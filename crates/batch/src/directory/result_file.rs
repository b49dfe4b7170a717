//! A result as a file: complete, with a code, for one cell of one plan. The file name is never
//! reused.
//!
//! The first line is the code of the rest by the key of the plan. The rest is one JSON object, which
//! names plan, cell and host.

use std::ffi::OsStr;

use model::{Cell, CellResult};
use serde::{Deserialize, Serialize};
use sys::fs::safe_path::{SafeDir, UntrustedPath, default_mode};
use sys::secret_key::SecretKey;

use crate::directory::result_name;
use crate::{Batch, BatchEntry, Digest, RunKind};

/// Maximum size of a result, in bytes.
pub const MAX_RESULT_FILE_SIZE: u64 = 1 << 26;
/// Prefix of the names of incomplete files.
pub const PARTIAL: &str = ".partial-";
/// Name that the code of a result covers.
const KIND: &str = "result";

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
    /// The content is damaged or was written without the key.
    Damaged,
    /// The file cannot be read.
    Unreadable(UntrustedPath),
}

impl ResultFile {
    /// Reads the file at a path.
    pub fn read(
        shelf: &SafeDir,
        name: impl AsRef<OsStr>,
        key: &SecretKey,
    ) -> Result<Self, UnreadableResult> {
        match shelf.read(name, MAX_RESULT_FILE_SIZE) {
            Ok(Some(bytes)) => Self::parse(&bytes, key).ok_or(UnreadableResult::Damaged),
            Ok(None) => Err(UnreadableResult::NotFound),
            // A link, a directory or a pipe: not a result file.
            Err(UntrustedPath::Other { .. }) => Err(UnreadableResult::Damaged),
            Err(error) => Err(UnreadableResult::Unreadable(error)),
        }
    }

    /// Parses a result file. Returns `None` if its writer did not have the key.
    pub fn parse(bytes: &[u8], key: &SecretKey) -> Option<Self> {
        let (code, text) = bytes.split_at_checked(Digest::LENGTH)?;
        let text = text.strip_prefix(b"\n")?;
        let is_believed = key.code(KIND, text).as_bytes() == code;
        is_believed.then(|| serde_json::from_slice(text).ok())?
    }

    /// Returns the content of the file.
    pub fn text(&self, key: &SecretKey) -> String {
        let text = serde_json::to_string(self).expect("results hold only what JSON can say") + "\n";
        format!("{}\n{text}", key.code(KIND, text.as_bytes()))
    }

    /// Returns the result of an entry if its file exists and is valid.
    pub fn load(batch: &Batch, entry: &BatchEntry, half: RunKind) -> Option<Self> {
        let shelf = batch.shelf(&entry.name).ok()?;
        let file = Self::read(&shelf, result_name(&entry.name, half), batch.key()).ok()?;
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
    pub fn keep(&self, batch: &Batch, entry: &BatchEntry) -> Result<(), UntrustedPath> {
        let (shelf, name) = (batch.shelf(&entry.name)?, result_name(&entry.name, entry.half));
        let (mode, text) = (default_mode(), self.text(batch.key()));
        if shelf.create_exclusive(&name, mode, text.as_bytes())? || is_done(batch, entry) {
            return Ok(());
        }
        shelf.replace(&name, mode, text.as_bytes())
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

    const KEY: SecretKey = SecretKey::new([7; 32]);

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
        let text = file().text(&KEY);
        assert_eq!(ResultFile::parse(text.as_bytes(), &KEY), Some(file()));
        assert_eq!(ResultFile::parse(text.as_bytes(), &SecretKey::new([8; 32])), None);
    }

    proptest! {
        /// A truncated or changed file is rejected as damaged.
        #[test]
        fn rejects_a_changed_file(at in 0.0f64..1.0, byte in any::<u8>(), cut in any::<bool>()) {
            let whole = file().text(&KEY).into_bytes();
            let mut bytes = whole.clone();
            let at = (at * bytes.len() as f64) as usize;
            match cut {
                true => bytes.truncate(at),
                false => bytes[at] = byte,
            }
            prop_assert_eq!(ResultFile::parse(&bytes, &KEY).is_some(), bytes == whole);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(ResultFile::parse(&bytes, &KEY).is_none());
        }
    }
}
