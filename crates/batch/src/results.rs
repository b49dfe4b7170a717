//! The results in a directory: which cells have theirs, and which files are none of the campaign's.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use model::{CellId, CellResult};

use crate::result_file::{PARTIAL, ResultFile, UnreadableResult};
use crate::share;
use crate::{Batch, BatchEntry, BatchError, Digest, RunKind, result_diff};

/// A file that is not taken, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RejectedFile {
    /// It is not as it was written.
    Damaged(PathBuf),
    /// It is of another campaign, or lies where no result of this one does.
    OtherPlan(PathBuf),
    /// Its cell has a result.
    Duplicate(PathBuf),
    /// It is the second result of a cell by the same host.
    SameHost(PathBuf),
}

/// One line that says what becomes of it.
impl std::fmt::Display for RejectedFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (path, why) = match self {
            Self::Damaged(path) => (
                path,
                "is damaged and not taken: its cell is to be run again",
            ),
            Self::OtherPlan(path) => (path, "is no result of this campaign and not taken"),
            Self::Duplicate(path) => (path, "is a second result of its cell and not taken"),
            Self::SameHost(path) => (
                path,
                "is a check by the host that ran the cell and not taken: it is to be run on another",
            ),
        };
        write!(f, "{} {why}", path.display())
    }
}

/// How far a cell is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultState {
    /// Entries of it that have no valid result: the first run, and the check where there is to be one.
    Missing {
        /// Whether its first run is.
        first: bool,
        /// Whether its check is.
        check: bool,
    },
    /// All that it needs is there.
    Ready,
}

/// Two hosts that came to something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostMismatch {
    /// The cell, for people.
    pub cell: String,
    /// The hosts.
    pub hosts: [String; 2],
    /// The first value that differs, by name, with what each host came to.
    pub first: (String, String, String),
    /// How many do.
    pub results: usize,
}

impl std::fmt::Display for HostMismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            cell,
            hosts: [one, other],
            first,
            results,
        } = self;
        let (name, a, b) = first;
        let more = match results {
            1 => String::new(),
            results => format!(", and {} more values differ", results - 1),
        };
        write!(
            f,
            "{cell}: two hosts come to different results in virtual time: {name} is {a} on {one} and {b} on {other}{more}; \
             find out which host is wrong (`fsarena guest selftest`) before any result is believed"
        )
    }
}

/// The results in a directory, as far as they were looked at.
pub struct ResultDirectory<'a> {
    batch: &'a Batch,
    entries: Vec<BatchEntry>,
    /// The entries of each cell, by its name: the first, and the check where there is one.
    places: BTreeMap<Digest, (u32, Option<u32>)>,
    cells: BTreeMap<CellId, Digest>,
    /// The host of each entry that has a result.
    hosts: BTreeMap<u32, String>,
    /// What was looked at, as it was then.
    seen: BTreeMap<PathBuf, [i64; 4]>,
    untaken: BTreeMap<PathBuf, RejectedFile>,
}

impl<'a> ResultDirectory<'a> {
    /// Looks through a directory.
    ///
    /// # Errors
    /// When it cannot be read, or is damaged.
    pub fn of(batch: &'a Batch) -> Result<Self, BatchError> {
        let entries = batch.all()?;
        let mut places = BTreeMap::new();
        for entry in &entries {
            let place: &mut (u32, Option<u32>) = places
                .entry(entry.name.clone())
                .or_insert((entry.index, None));
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

    /// Looks for what is new.
    ///
    /// # Errors
    /// When a directory cannot be read.
    pub fn refresh(&mut self) -> Result<(), BatchError> {
        let around = self.batch.results();
        for shelf in listed(&around)? {
            // A link may lead anywhere: it is no directory of this plan's.
            let is_shelf = fs::symlink_metadata(&shelf).is_ok_and(|found| found.is_dir());
            match is_shelf {
                true => {
                    for file in listed(&shelf)? {
                        self.look_at(&file)?;
                    }
                }
                false => self.look_at(&shelf)?,
            }
        }
        Ok(())
    }

    fn look_at(&mut self, path: &Path) -> Result<(), BatchError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(PARTIAL) {
            return Ok(());
        }
        let Ok(found) = fs::symlink_metadata(path) else {
            return Ok(());
        };
        let identity = identity(&found);
        if self.seen.get(path) == Some(&identity) {
            return Ok(());
        }
        let untaken = match ResultFile::read(path) {
            Ok(file) => self.place(path, &file),
            Err(UnreadableResult::NotFound) => return Ok(()),
            Err(UnreadableResult::Damaged) => Some(self.damaged(path)),
            Err(UnreadableResult::Io(error)) => return Err(BatchError::io("read", path)(error)),
        };
        self.seen.insert(path.to_owned(), identity);
        match untaken {
            Some(untaken) => self.untaken.insert(path.to_owned(), untaken),
            None => self.untaken.remove(path),
        };
        Ok(())
    }

    fn damaged(&mut self, path: &Path) -> RejectedFile {
        // It may have been whole before.
        let entry = self.entries.iter();
        let mut entry = entry.filter(|e| self.batch.result(&e.name, e.half) == path);
        if let Some(entry) = entry.next() {
            self.hosts.remove(&entry.index);
        }
        RejectedFile::Damaged(path.to_owned())
    }

    /// Takes in a file that is whole; why not, where it is not.
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
        // Whichever was looked at first, the check is the one that is to be run again.
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

    /// Keeps what a worker has sent, as it wrote it; gives the number of its entry, and nothing where it is no result of
    /// this host's, or a check of its own.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn store(&mut self, text: &[u8], host: &str) -> Result<Option<u32>, BatchError> {
        let file = ResultFile::parse(text);
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
        let (index, path) = (entry.index, self.batch.result(&entry.name, entry.half));
        let kept = file.keep(self.batch, entry);
        kept.map_err(BatchError::io("write", &path))?;
        self.look_at(&path)?;
        Ok(self.has(index).then_some(index))
    }

    /// Files that are not taken.
    pub fn rejected(&self) -> impl Iterator<Item = &RejectedFile> {
        self.untaken.values()
    }

    /// All entries of the directory.
    pub fn entries(&self) -> &[BatchEntry] {
        &self.entries
    }

    /// Whether an entry has a valid result.
    pub fn has(&self, index: u32) -> bool {
        self.hosts.contains_key(&index)
    }

    /// Entries that are to be run.
    pub fn missing(&self) -> BTreeSet<u32> {
        let indices = self.entries.iter().map(|entry| entry.index);
        indices.filter(|index| !self.has(*index)).collect()
    }

    /// The host that ran the first half of a cell whose check this entry is.
    pub fn first_run_host(&self, check: u32) -> Option<&str> {
        let name = &self.entries.get(check as usize)?.name;
        let (first, _) = self.places.get(name)?;
        self.hosts.get(first).map(String::as_str)
    }

    /// How far a cell is.
    pub fn state(&self, cell: CellId) -> ResultState {
        let place = self.cells.get(&cell).and_then(|name| self.places.get(name));
        let Some((first, check)) = place else {
            return ResultState::Missing {
                first: true,
                check: false,
            };
        };
        let first = !self.has(*first);
        let check = check.is_some_and(|check| !self.has(check));
        match first || check {
            true => ResultState::Missing { first, check },
            false => ResultState::Ready,
        }
    }

    /// The entry of a cell's first run.
    pub fn entry_for(&self, cell: CellId) -> Option<&BatchEntry> {
        let (first, _) = self.places.get(self.cells.get(&cell)?)?;
        self.entries.get(*first as usize)
    }

    /// The result of a cell that is ready; nothing where its file is not there any more.
    ///
    /// # Errors
    /// When two hosts came to something else.
    pub fn load(&self, cell: CellId) -> Result<Option<CellResult>, Box<HostMismatch>> {
        let Some(entry) = self.entry_for(cell) else {
            return Ok(None);
        };
        let Some(first) = ResultFile::load(self.batch, entry, RunKind::First) else {
            return Ok(None);
        };
        let is_checked = self
            .places
            .get(&entry.name)
            .is_some_and(|place| place.1.is_some());
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

/// What is in a directory, in the order of names.
fn listed(directory: &Path) -> Result<Vec<PathBuf>, BatchError> {
    let read = || {
        let entries = fs::read_dir(directory)?;
        let paths: std::io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
        paths
    };
    let mut paths = read().map_err(BatchError::io("read", directory))?;
    paths.sort();
    Ok(paths)
}

fn identity(found: &Metadata) -> [i64; 4] {
    [
        found.ino() as i64,
        found.len() as i64,
        found.mtime(),
        found.mtime_nsec(),
    ]
}
