//! A plan directory: the campaign, its cells as files, and everything a worker needs.
//!
//! ```text
//! plan.json               the campaign and its environment; written last, so that it vouches for the other files
//! index                   one line per entry: the name of its cell; cells in plan order, followed by checks
//! cells/ab/NAME.json      a cell; its name is the digest of the plan and of the cell
//! results/ab/NAME.json    the result of a cell; NAME.check.json is the result of its second run, on another host
//! guest/, traces/         the guest and the traces of the campaign
//! fsarena                 the program that wrote the plan, which is also the worker
//! secret                  the key of the results, for their writers and readers only
//! log/                    output of workers, if it is kept
//! ```

pub(crate) mod collected;
pub(crate) mod ranges;
pub mod result_diff;
pub(crate) mod result_file;
pub(crate) mod results;
pub(crate) mod share;

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use guest::{Guest, GuestCopy, GuestError};
use model::{Campaign, Cell, CellId, DistributedPlan, Environment, Nanos, json_error_cause};
use serde::{Deserialize, Serialize};
use sys::fs::safe_path::{SafeDir, UntrustedPath, default_mode};
use sys::secret_key::SecretKey;

use crate::{BatchError, Digest};

/// Version of the directory format.
const FORMAT: u32 = 2;
const PLAN: &str = "plan.json";
const INDEX: &str = "index";
const CELLS: &str = "cells";
const RESULTS: &str = "results";
const GUEST: &str = "guest";
const TRACES: &str = "traces";
const LOG: &str = "log";
const SECRET: &str = "secret";
/// Maximum size of a plan or cell file, in bytes.
const MAX_DIRECTORY_SIZE: u64 = 1 << 26;
/// Name of the program file in the directory.
pub const PROGRAM: &str = "fsarena";

/// A program, identified so that a different one is detected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanProgram {
    /// Its version.
    pub version: String,
    /// Digest of the program file.
    pub digest: Digest,
}

/// The content of `plan.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchPlan {
    format: u32,
    /// Time of planning, in nanoseconds since 1970. Makes every plan unique.
    pub planned: Nanos,
    /// The program that wrote the plan, which is also the worker.
    pub program: PlanProgram,
    /// The guest in which cells run.
    pub guest: GuestCopy,
    /// The environment in which cells run, for the record.
    pub environment: Environment,
    /// Number of cells.
    pub cells: u32,
    /// Number of cells that run on two hosts.
    pub checks: u32,
    /// The campaign.
    pub campaign: Campaign,
}

/// Inputs for creating a plan directory.
pub struct PlanInput<'a> {
    /// The campaign, of a fixed number of rounds.
    pub campaign: &'a Campaign,
    /// The cells of the campaign, numbered from 0.
    pub cells: &'a [Cell],
    /// The environment in which cells run, for the record.
    pub environment: Environment,
    /// Copies the guest for the cells into a directory.
    pub guest: &'a CopyGuest<'a>,
    /// The program for workers.
    pub program: &'a Path,
    /// Its version.
    pub version: &'a str,
    /// Traces of the campaign, as files.
    pub traces: &'a [PathBuf],
    /// Cells per thousand that run on two hosts; rounded up, so at least one cell does unless this
    /// is 0.
    pub checked: u32,
    /// The current time, in nanoseconds since 1970.
    pub planned_at: Nanos,
}

/// Copies a guest into a directory.
pub type CopyGuest<'a> = dyn Fn(&Path) -> Result<GuestCopy, GuestError> + 'a;

/// Kind of an entry's run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunKind {
    /// The run whose result counts.
    First,
    /// A second run on another host, which must give the same result.
    #[serde(rename = "check")]
    Verification,
}

/// A cell to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchEntry {
    /// Index of the entry in the directory.
    pub index: u32,
    /// The cell.
    pub cell: Cell,
    /// Its name.
    pub name: Digest,
    /// Kind of the run.
    pub half: RunKind,
}

/// Consecutive entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryRange {
    /// The first.
    pub first: u32,
    /// Maximum number of entries.
    pub count: u32,
}

/// A directory with a plan.
#[derive(Clone, Debug)]
pub struct Batch {
    directory: Arc<SafeDir>,
    name: Digest,
    plan: BatchPlan,
    /// The key of the results.
    key: SecretKey,
}

impl Batch {
    /// Checks that a directory for a new plan is empty or does not exist. Creates nothing.
    ///
    /// # Errors
    /// Returns an error if the directory is not empty or cannot be read.
    pub fn require_empty(path: &Path) -> Result<(), BatchError> {
        match fs::read_dir(path).map(|mut entries| entries.next().is_none()) {
            Ok(true) => Ok(()),
            Ok(false) => Err(BatchError::NotEmpty(path.to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(BatchError::io("read", path)(error)),
        }
    }

    /// Plans a campaign in a directory, which must be empty or not exist.
    ///
    /// # Errors
    /// Returns an error if the directory is not empty, or if a file cannot be read or written.
    pub fn create(path: &Path, planned: &PlanInput<'_>) -> Result<Self, BatchError> {
        let directory = SafeDir::make(path)?;
        let path = directory.path();
        Self::require_empty(path)?;
        let program = path.join(PROGRAM);
        // In a directory of several users, a link of another one must not be followed.
        let mut copy = directory.create(PROGRAM)?;
        let source = File::open(planned.program);
        source
            .and_then(|mut source| io::copy(&mut source, &mut copy))
            .and_then(|_| copy.set_permissions(Permissions::from_mode(0o755)))
            .map_err(BatchError::io("write", &program))?;
        let checks = checks(planned.cells.len(), planned.checked);
        let plan = BatchPlan {
            format: FORMAT,
            planned: planned.planned_at,
            program: PlanProgram {
                version: planned.version.to_owned(),
                digest: Digest::of_file(&program).map_err(BatchError::io("read", &program))?,
            },
            guest: (planned.guest)(directory.subdirectory(GUEST)?.path())?,
            environment: planned.environment.clone(),
            cells: number(planned.cells.len()),
            checks: number(checks),
            campaign: planned.campaign.clone(),
        };
        let traces = directory.subdirectory(TRACES)?;
        for trace in planned.traces {
            let to = traces.path().join(trace.file_name().unwrap_or_default());
            fs::copy(trace, &to).map_err(BatchError::io("write", &to))?;
        }
        directory.subdirectory(LOG)?;
        shelves(&directory.subdirectory(RESULTS)?)?;
        let text = json(&plan);
        let name = Digest::sha256(text.as_bytes());
        let key = SecretKey::read_or_create(&directory, SECRET)?;
        let batch = Self { directory: Arc::new(directory), name, plan, key };
        batch.write_cells(planned.cells, checks)?;
        batch.directory.replace(PLAN, default_mode(), text.as_bytes())?;
        Ok(batch)
    }

    fn write_cells(&self, cells: &[Cell], checks: usize) -> Result<(), BatchError> {
        let shelves = shelves(&self.directory.subdirectory(CELLS)?)?;
        let names: Vec<Digest> = cells.iter().map(|cell| self.name_of(cell)).collect();
        for (cell, name) in cells.iter().zip(&names) {
            // Not flushed individually: the plan file does not exist yet, so the campaign is
            // planned again after a crash.
            let path = shelves.join(name.prefix()).join(format!("{name}.json"));
            fs::write(&path, json(cell)).map_err(BatchError::io("write", &path))?;
        }
        let checked = checked(&names, checks);
        let lines = names.iter().chain(checked);
        let lines: String = lines.map(|name| format!("{name}\n")).collect();
        Ok(self.directory.replace(INDEX, default_mode(), lines.as_bytes())?)
    }

    /// Opens a plan directory.
    ///
    /// # Errors
    /// Returns an error if the directory has no plan, if the plan has an unknown format, or if
    /// other users could modify it.
    pub fn open(path: &Path) -> Result<Self, BatchError> {
        let file = path.join(PLAN);
        match fs::symlink_metadata(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(BatchError::NoPlan(path.to_owned()));
            }
            Err(error) => return Err(BatchError::io("read", &file)(error)),
            // Reading a pipe or the target of a link might block forever.
            Ok(metadata) if !metadata.is_file() => {
                return Err(BatchError::Damaged {
                    path: path.to_owned(),
                    what: format!("{PLAN} is no file"),
                });
            }
            Ok(_) => {}
        }
        // The directory contains a program to run, so its owner is checked before any file is read.
        // The plan vouches for all other files.
        let directory = SafeDir::open(path)?;
        let no_plan = || BatchError::NoPlan(path.to_owned());
        let text = directory.read_own(PLAN, MAX_DIRECTORY_SIZE)?.ok_or_else(no_plan)?;
        directory.require_file(PROGRAM)?;
        let path = directory.path().to_owned();
        let damaged = |what: String| BatchError::Damaged { path: path.clone(), what };
        let plan = serde_json::from_slice(&text);
        let plan: BatchPlan = plan.map_err(|error| {
            // The message quotes unknown text.
            let error = json_error_cause(&error).replace(char::is_control, "?");
            damaged(format!("{PLAN}: {error}"))
        })?;
        if plan.format != FORMAT {
            let what = format!("{PLAN} is of format {}, and this is {FORMAT}", plan.format);
            return Err(damaged(what));
        }
        // Checked before planning, because a damaged plan could have more cells than fit into
        // memory.
        let cells = campaign::plan::max_cells(&plan.campaign);
        let is_sound = cells == Some(u64::from(plan.cells)) && plan.checks <= plan.cells;
        if !is_sound || u64::from(plan.cells) > campaign::plan::MAX_CELLS {
            let what = format!("{PLAN} has not the cells of its campaign");
            return Err(damaged(what));
        }
        let key = SecretKey::read(&directory, SECRET)?;
        let key = key.ok_or_else(|| damaged(format!("it has no file {SECRET}")))?;
        let batch = Self { name: Digest::sha256(&text), directory: Arc::new(directory), plan, key };
        // Other programs open files in these by their paths.
        [GUEST, TRACES].iter().try_for_each(|name| batch.subdirectory(name).map(drop))?;
        Ok(batch)
    }

    /// Returns the environment for the record; `go_on` is the command that resumes the campaign.
    pub fn environment(&self, go_on: &str) -> Environment {
        Environment {
            spread: Some(DistributedPlan {
                directory: self.path().to_owned(),
                command: go_on.to_owned(),
            }),
            ..self.plan.environment.clone()
        }
    }

    /// Returns the plan.
    pub const fn plan(&self) -> &BatchPlan {
        &self.plan
    }

    /// Returns the unique identifier of the plan.
    pub const fn plan_id(&self) -> &Digest {
        &self.name
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the key of the results.
    pub(crate) const fn key(&self) -> &SecretKey {
        &self.key
    }

    /// Opens a directory of the plan, in which other users cannot create files.
    fn subdirectory(&self, name: &str) -> Result<SafeDir, UntrustedPath> {
        self.directory.private_subdirectory(name)
    }

    /// Returns the path of the program in the directory.
    pub fn program(&self) -> PathBuf {
        self.path().join(PROGRAM)
    }

    /// Opens the directory for the output of workers.
    ///
    /// # Errors
    /// Returns an error if another user could create files in it.
    pub fn log(&self) -> Result<SafeDir, UntrustedPath> {
        self.subdirectory(LOG)
    }

    /// Returns the directory of the campaign's traces.
    pub fn traces(&self) -> PathBuf {
        self.path().join(TRACES)
    }

    /// Opens the directory of results.
    pub(crate) fn results(&self) -> Result<SafeDir, UntrustedPath> {
        self.subdirectory(RESULTS)
    }

    /// Opens the directory of a cell's result.
    pub(crate) fn shelf(&self, name: &Digest) -> Result<SafeDir, UntrustedPath> {
        self.results()?.private_subdirectory(name.prefix())
    }

    /// Returns the path of a cell's result, which may not exist.
    pub(crate) fn result(&self, name: &Digest, half: RunKind) -> PathBuf {
        self.path().join(RESULTS).join(name.prefix()).join(result_name(name, half))
    }

    /// Opens the guest of the campaign.
    ///
    /// # Errors
    /// Returns an error if the guest differs from the planned one.
    pub fn guest(&self) -> Result<Guest, BatchError> {
        let guest = Guest::open_copy(&self.path().join(GUEST), &self.plan.guest);
        guest.map_err(|error| self.damaged(error.to_string()))
    }

    /// Checks that this program is the one that wrote the plan.
    ///
    /// # Errors
    /// Returns an error if the programs differ.
    pub fn require_program(&self, version: &str, file: &Path) -> Result<(), BatchError> {
        self.require_version(version)?;
        let digest = Digest::of_file(file).map_err(BatchError::io("read", file))?;
        if digest == self.plan.program.digest {
            return Ok(());
        }
        Err(BatchError::ProgramMismatch {
            path: self.path().to_owned(),
            planned: format!("another build ({})", self.plan.program.digest.short()),
            this: digest.short().to_owned(),
        })
    }

    /// Checks that this program has the version that wrote the plan.
    ///
    /// # Errors
    /// Returns an error if the versions differ.
    pub fn require_version(&self, version: &str) -> Result<(), BatchError> {
        let planned = &self.plan.program.version;
        if planned == version {
            return Ok(());
        }
        Err(BatchError::ProgramMismatch {
            path: self.path().to_owned(),
            planned: format!("fsarena {planned}"),
            this: format!("fsarena {version}"),
        })
    }

    /// Returns the number of entries: cells followed by checks.
    pub const fn entries(&self) -> u32 {
        self.plan.cells + self.plan.checks
    }

    /// Reads one entry from its file.
    ///
    /// # Errors
    /// Returns an error if the index is out of range or the entry is damaged.
    pub fn entry(&self, index: u32) -> Result<BatchEntry, BatchError> {
        self.require_index(index)?;
        let name = self.listed(index, 1)?.remove(0);
        let shelf = self.subdirectory(CELLS)?.private_subdirectory(name.prefix())?;
        let text = shelf.read_own(format!("{name}.json"), MAX_DIRECTORY_SIZE)?;
        let cell = text.and_then(|text| serde_json::from_slice::<Cell>(&text).ok());
        let cell = cell.filter(|cell| self.name_of(cell) == name);
        let cell = cell.ok_or_else(|| {
            let path = shelf.path().join(format!("{name}.json"));
            self.damaged(format!("{} is not the cell of its name", path.display()))
        })?;
        Ok(BatchEntry { half: self.half(index), index, cell, name })
    }

    /// Reads consecutive entries of the same kind: only cells or only checks, depending on the
    /// first entry.
    ///
    /// # Errors
    /// Returns the errors of [`Batch::entry`].
    pub fn entries_in(&self, part: EntryRange) -> Result<Vec<BatchEntry>, BatchError> {
        self.require_index(part.first)?;
        let end = match self.half(part.first) {
            RunKind::First => self.plan.cells,
            RunKind::Verification => self.entries(),
        };
        let end = part.first.saturating_add(part.count).min(end);
        (part.first..end).map(|index| self.entry(index)).collect()
    }

    /// Returns all entries, computed from the campaign's plan.
    ///
    /// # Errors
    /// Returns an error if the index does not match the campaign.
    pub fn all(&self) -> Result<Vec<BatchEntry>, BatchError> {
        let cells = campaign::plan::plan(&self.plan.campaign);
        let names: Vec<Digest> = cells.iter().map(|cell| self.name_of(cell)).collect();
        let is_it = number(cells.len()) == self.plan.cells;
        let checked: Vec<&Digest> = checked(&names, self.plan.checks as usize).collect();
        let listed = self.listed(0, self.entries())?;
        if !is_it || !names.iter().chain(checked.iter().copied()).eq(&listed) {
            return Err(self.damaged("its index is not that of its campaign".to_owned()));
        }
        let places: BTreeMap<&Digest, usize> = names.iter().zip(0..).collect();
        let behind = checked.into_iter().map(|name| places[name]);
        let entry = |(index, place): (usize, usize)| BatchEntry {
            index: number(index),
            half: self.half(number(index)),
            cell: cells[place].clone(),
            name: names[place].clone(),
        };
        Ok((0..cells.len()).chain(behind).enumerate().map(entry).collect())
    }

    fn require_index(&self, index: u32) -> Result<(), BatchError> {
        if index < self.entries() {
            return Ok(());
        }
        Err(BatchError::OutOfRange {
            path: self.path().to_owned(),
            index,
            last: self.entries().saturating_sub(1),
        })
    }

    const fn half(&self, index: u32) -> RunKind {
        match index < self.plan.cells {
            true => RunKind::First,
            false => RunKind::Verification,
        }
    }

    /// Reads names from the index.
    fn listed(&self, first: u32, count: u32) -> Result<Vec<Digest>, BatchError> {
        const LINE: u64 = Digest::LENGTH as u64 + 1;
        let file = self.directory.open_to_read(INDEX)?;
        let mut file = file.ok_or_else(|| self.damaged(format!("it has no file {INDEX}")))?;
        let mut read = || {
            file.seek(SeekFrom::Start(u64::from(first) * LINE))?;
            let mut text = String::new();
            (&mut file).take(u64::from(count) * LINE).read_to_string(&mut text)?;
            Ok(text)
        };
        let path = self.path().join(INDEX);
        let text = read().map_err(BatchError::io("read", &path))?;
        let names: Option<Vec<Digest>> = text.lines().map(Digest::read).collect();
        let names = names.filter(|names| names.len() == count as usize);
        names.ok_or_else(|| self.damaged(format!("{INDEX} has no such line")))
    }

    /// Returns the name of a cell: a digest of all inputs of its result.
    fn name_of(&self, cell: &Cell) -> Digest {
        Digest::sha256(format!("{}\n{}", self.name, json(cell)).as_bytes())
    }

    fn damaged(&self, what: String) -> BatchError {
        BatchError::Damaged { path: self.path().to_owned(), what }
    }
}

/// Returns the name of the file of a cell's result.
pub(crate) fn result_name(name: &Digest, half: RunKind) -> String {
    let check = match half {
        RunKind::First => "",
        RunKind::Verification => ".check",
    };
    format!("{name}{check}.json")
}

impl BatchEntry {
    /// Returns the number of the cell.
    pub const fn id(&self) -> CellId {
        self.cell.id
    }
}

/// Returns the number of cells that run on two hosts.
fn checks(cells: usize, of_a_thousand: u32) -> usize {
    (cells * of_a_thousand as usize).div_ceil(1000).min(cells)
}

/// Selects the cells that run on two hosts. The choice is effectively random because names are
/// digests.
fn checked(names: &[Digest], count: usize) -> impl Iterator<Item = &Digest> {
    let mut sorted: Vec<&Digest> = names.iter().collect();
    sorted.sort();
    sorted.into_iter().take(count)
}

/// Creates the subdirectories that files are distributed over.
fn shelves(directory: &SafeDir) -> Result<PathBuf, BatchError> {
    for shelf in 0..=u8::MAX {
        directory.subdirectory(format!("{shelf:02x}"))?;
    }
    Ok(directory.path().to_owned())
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plans hold only what JSON can say")
}

/// Converts a count. Larger counts are refused much earlier.
fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
