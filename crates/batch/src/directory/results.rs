//! The results in a directory: which cells have results, and which files do not belong to the
//! campaign.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use model::{CellId, CellResult};
use sys::fs::safe_path::{FileVersion, SafeDir};

use crate::directory::result_diff;
use crate::directory::result_file::{PARTIAL, ResultFile, UnreadableResult};
use crate::directory::{result_name, share};
use crate::{Batch, BatchEntry, BatchError, Digest, RunKind};

/// A rejected file and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RejectedFile {
    /// The content is damaged or was written without the key of the plan.
    Damaged(PathBuf),
    /// The file belongs to another campaign or has an unexpected name.
    OtherPlan(PathBuf),
    /// The cell already has a result.
    Duplicate(PathBuf),
    /// A second result of a cell from the same host.
    SameHost(PathBuf),
}

/// Formats the reason as one line.
impl std::fmt::Display for RejectedFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (path, why) = match self {
            Self::Damaged(path) => (
                path,
                "is damaged, or was written without the key of the plan, and ignored; its cell will run again",
            ),
            Self::OtherPlan(path) => (path, "is not a result of this campaign and is ignored"),
            Self::Duplicate(path) => (path, "is a second result of its cell and not taken"),
            Self::SameHost(path) => (
                path,
                "is a check by the host that ran the cell and is ignored; the check will run on another host",
            ),
        };
        write!(f, "{} {why}", path.display())
    }
}

/// Progress of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultState {
    /// At least one entry of the cell has no valid result: the first run or the check.
    Missing {
        /// Whether the result of the first run is missing.
        first: bool,
        /// Whether the result of the check is missing.
        check: bool,
    },
    /// All required results exist.
    Ready,
}

/// Two hosts that obtained different results for the same cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostMismatch {
    /// The cell, as readable text.
    pub cell: String,
    /// The hosts.
    pub hosts: [String; 2],
    /// Name of the first value that differs, and the value on each host.
    pub first: (String, String, String),
    /// Number of values that differ.
    pub results: usize,
}

impl std::fmt::Display for HostMismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { cell, hosts: [one, other], first, results } = self;
        let (name, a, b) = first;
        let more = match results {
            1 => String::new(),
            results => format!(", and {} more values differ", results - 1),
        };
        write!(
            f,
            "{cell}: results in virtual time differ between two hosts: {name} is {a} on {one} and {b} on {other}{more}; find the faulty host with `fsarena guest selftest` before using any result"
        )
    }
}

/// The results in a directory, as of the last scan.
pub struct ResultDirectory<'a> {
    batch: &'a Batch,
    entries: Vec<BatchEntry>,
    /// The entries of each cell, by cell name: the first run and the check, if any.
    places: BTreeMap<Digest, (u32, Option<u32>)>,
    cells: BTreeMap<CellId, Digest>,
    /// The host of each entry that has a result.
    hosts: BTreeMap<u32, String>,
    /// Identity of each file at its last inspection.
    seen: BTreeMap<PathBuf, FileVersion>,
    untaken: BTreeMap<PathBuf, RejectedFile>,
}

impl<'a> ResultDirectory<'a> {
    /// Scans a directory.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be read or is damaged.
    pub fn of(batch: &'a Batch) -> Result<Self, BatchError> {
        let entries = batch.all()?;
        let mut places = BTreeMap::new();
        for entry in &entries {
            let place: &mut (u32, Option<u32>) =
                places.entry(entry.name.clone()).or_insert((entry.index, None));
            if entry.half == RunKind::Verification {
                place.1 = Some(entry.index);
            }
        }
        let cells = entries.iter().map(|entry| (entry.id(), entry.name.clone()));
        let mut results = Self {
            batch,
            cells: cells.collect(),
            places,
            hosts: BTreeMap::new(),
            seen: BTreeMap::new(),
            untaken: BTreeMap::new(),
            entries,
        };
        results.refresh()?;
        Ok(results)
    }

    /// Scans for new or changed result files.
    ///
    /// # Errors
    /// Returns an error if a directory cannot be read.
    pub fn refresh(&mut self) -> Result<(), BatchError> {
        let around = self.batch.results()?;
        for name in around.names()? {
            // A link could point anywhere, so it is not a result directory of this plan.
            match around.examine(&name).is_some_and(|found| found.is_directory) {
                true => {
                    let shelf = around.private_subdirectory(&name)?;
                    let mut files = shelf.names()?;
                    // Short names first: a check is compared with the host of the first run.
                    files.sort_by_key(|name| name.len());
                    for file in files {
                        self.look_at(&shelf, &file)?;
                    }
                }
                false => self.look_at(&around, &name)?,
            }
        }
        Ok(())
    }

    fn look_at(&mut self, shelf: &SafeDir, name: &OsStr) -> Result<(), BatchError> {
        if name.to_string_lossy().starts_with(PARTIAL) {
            return Ok(());
        }
        let Some(found) = shelf.examine(name) else {
            return Ok(());
        };
        let path = shelf.path().join(name);
        if self.seen.get(&path) == Some(&found) {
            return Ok(());
        }
        // Before the file is placed, which may mark it to be read again.
        self.seen.insert(path.clone(), found);
        let untaken = match ResultFile::read(shelf, name, self.batch.key()) {
            Ok(file) => self.place(&path, &file),
            Err(UnreadableResult::NotFound) => return Ok(()),
            Err(UnreadableResult::Damaged) => Some(self.damaged(&path)),
            Err(UnreadableResult::Unreadable(error)) => {
                self.seen.remove(&path);
                return Err(error.into());
            }
        };
        match untaken {
            Some(untaken) => self.untaken.insert(path, untaken),
            None => self.untaken.remove(&path),
        };
        Ok(())
    }

    fn damaged(&mut self, path: &Path) -> RejectedFile {
        // The file may have been valid at the last scan.
        let entry = self.entries.iter();
        let mut entry = entry.filter(|e| self.batch.result(&e.name, e.half) == path);
        if let Some(entry) = entry.next() {
            self.hosts.remove(&entry.index);
        }
        RejectedFile::Damaged(path.to_owned())
    }

    /// Registers a complete file. Returns the reason if the file is rejected.
    fn place(&mut self, path: &Path, file: &ResultFile) -> Option<RejectedFile> {
        let foreign = Some(RejectedFile::OtherPlan(path.to_owned()));
        if file.plan != *self.batch.plan_id() {
            return foreign;
        }
        let Some((first, check)) = self.places.get(&file.cell).copied() else {
            return foreign;
        };
        let index = match file.half {
            RunKind::First => first,
            RunKind::Verification => match check {
                Some(check) => check,
                None => return foreign,
            },
        };
        if !file.matches(self.batch, &self.entries[index as usize].cell) {
            return Some(self.damaged(path));
        }
        let own = self.batch.result(&file.cell, file.half);
        if own != path {
            let doubled = own.exists();
            return match doubled {
                true => Some(RejectedFile::Duplicate(path.to_owned())),
                false => foreign,
            };
        }
        self.hosts.insert(index, file.host.clone());
        let check = check?;
        let hosts = (self.hosts.get(&first), self.hosts.get(&check));
        let (Some(one), Some(other)) = hosts else {
            return None;
        };
        if one != other {
            return None;
        }
        // The check runs again, regardless of the order in which the two files were read.
        self.hosts.remove(&check);
        let check = self.batch.result(&file.cell, RunKind::Verification);
        self.seen.remove(&check);
        let untaken = RejectedFile::SameHost(check.clone());
        if check == path {
            return Some(untaken);
        }
        self.untaken.insert(check, untaken);
        None
    }

    /// Stores the text of a result sent by a worker and returns the index of its entry. Returns
    /// `None` if the text is not a valid result of this host, or if it is a check of a cell that
    /// this host ran.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn store(&mut self, text: &[u8], host: &str) -> Result<Option<u32>, BatchError> {
        let file = ResultFile::parse(text, self.batch.key());
        let file = file.filter(|file| file.plan == *self.batch.plan_id() && file.host == host);
        let Some(file) = file else { return Ok(None) };
        let place = self.places.get(&file.cell).copied();
        let index = place.and_then(|(first, check)| match file.half {
            RunKind::First => Some(first),
            RunKind::Verification => check,
        });
        let Some(entry) = index.and_then(|index| self.entries.get(index as usize)) else {
            return Ok(None);
        };
        let (index, name) = (entry.index, result_name(&entry.name, entry.half));
        file.keep(self.batch, entry)?;
        self.look_at(&self.batch.shelf(&file.cell)?, name.as_ref())?;
        Ok(self.has(index).then_some(index))
    }

    /// Returns the rejected files.
    pub fn rejected(&self) -> impl Iterator<Item = &RejectedFile> {
        self.untaken.values()
    }

    /// Returns all entries of the directory.
    pub fn entries(&self) -> &[BatchEntry] {
        &self.entries
    }

    /// Returns true if an entry has a valid result.
    pub fn has(&self, index: u32) -> bool {
        self.hosts.contains_key(&index)
    }

    /// Returns the entries without a result.
    pub fn missing(&self) -> BTreeSet<u32> {
        let indices = self.entries.iter().map(|entry| entry.index);
        indices.filter(|index| !self.has(*index)).collect()
    }

    /// Returns the host that ran the first run of the cell that this check belongs to.
    pub fn first_run_host(&self, check: u32) -> Option<&str> {
        let name = &self.entries.get(check as usize)?.name;
        let (first, _) = self.places.get(name)?;
        self.hosts.get(first).map(String::as_str)
    }

    /// Returns the progress of a cell.
    pub fn state(&self, cell: CellId) -> ResultState {
        let place = self.cells.get(&cell).and_then(|name| self.places.get(name));
        let Some((first, check)) = place else {
            return ResultState::Missing { first: true, check: false };
        };
        let first = !self.has(*first);
        let check = check.is_some_and(|check| !self.has(check));
        match first || check {
            true => ResultState::Missing { first, check },
            false => ResultState::Ready,
        }
    }

    /// Returns the entry of a cell's first run.
    pub fn entry_for(&self, cell: CellId) -> Option<&BatchEntry> {
        let (first, _) = self.places.get(self.cells.get(&cell)?)?;
        self.entries.get(*first as usize)
    }

    /// Returns the result of a ready cell, or `None` if its file has been removed.
    ///
    /// # Errors
    /// Returns an error if two hosts obtained different results.
    pub fn load(&self, cell: CellId) -> Result<Option<CellResult>, Box<HostMismatch>> {
        let Some(entry) = self.entry_for(cell) else {
            return Ok(None);
        };
        let Some(first) = ResultFile::load(self.batch, entry, RunKind::First) else {
            return Ok(None);
        };
        let is_checked = self.places.get(&entry.name).is_some_and(|place| place.1.is_some());
        if !is_checked {
            return Ok(Some(first.result));
        }
        let Some(check) = ResultFile::load(self.batch, entry, RunKind::Verification) else {
            return Ok(None);
        };
        let of = |file: &ResultFile| result_diff::values(&file.result);
        match result_diff::difference(&of(&first), &of(&check)) {
            None => Ok(Some(first.result)),
            Some(difference) => Err(Box::new(HostMismatch {
                cell: share::name(&entry.cell),
                hosts: [first.host, check.host],
                first: difference.first,
                results: difference.results,
            })),
        }
    }
}
