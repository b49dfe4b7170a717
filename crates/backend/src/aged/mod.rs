//! Cache of aged states: compressed images, named by the digest of their inputs.
//!
//! A file gets its final name only after it is completely on disk. Its digest is verified on each
//! use, and damaged files are removed. A process can continue to read an open file after another
//! process removes or replaces it.

mod file;
mod key;
#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use model::wire::{AbortReason, AgedImageInfo, AgeingParams};
use model::{AgeingResult, Bytes, CellResult, Contender, Nanos, Status};
use nix::fcntl::{Flock, FlockArg};
use storage::{Image, ImageFill, ProvisionError};
use sys::fs::safe_path::{SafeDir, UntrustedPath};
use sys::io::clock;

use crate::error;
use file::{AgedImageHeader, check_stop};

/// Subdirectory of the cache.
const DIRECTORY: &str = "aged";
const SUFFIX: &str = ".zst";
/// Name of an incomplete file. Only the process with the lock writes it.
const PARTIAL: &str = "partial";
const LOCK: &str = "lock";
/// Maximum total size. The least recently used images are removed first.
pub const MAX_AGED_BYTES: Bytes = Bytes::mib(20 << 10);
/// Time limit for the kernel to release an image.
const RELEASE: std::time::Duration = std::time::Duration::from_secs(10);

fn hexadecimal(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().map(|b| format!("{b:02x}")).collect()
}

/// The cache of aged states.
#[derive(Debug)]
pub struct AgedImageCache {
    directory: SafeDir,
}

/// An image in the cache.
#[derive(Clone, Debug)]
pub struct AgedImage {
    /// Its file.
    pub path: PathBuf,
    /// Human-readable name, or `None` if the header cannot be read.
    pub name: Option<String>,
    /// Size of the image that the state belongs to.
    pub image: Bytes,
    /// Layout score, if measured.
    pub layout: Option<model::PerMille>,
    /// Disk usage of the file.
    pub size: Bytes,
    /// Time of creation or last use.
    pub used: SystemTime,
}

/// Request for an aged state.
pub struct AgedImageRequest<'a> {
    /// The contender, which must have an age.
    pub contender: &'a Contender,
    /// Parameters of ageing.
    pub ageing: AgeingParams,
    /// Target image.
    pub image: Image,
    /// Stop flag.
    pub stop: &'a AtomicBool,
}

/// Initial state of a cell of an aged contender.
#[derive(Debug)]
pub enum AgedStart {
    /// The image contains the aged state.
    FromImage {
        /// Properties of the state.
        state: Box<AgedImageInfo>,
        /// Job that created the state for this cell, if it was not in the cache.
        made: Option<Box<CellResult>>,
        /// Remarks on how the state was created.
        remarks: Vec<String>,
    },
    /// The state could not be created; this is the result of the cell.
    Failed(Box<CellResult>),
    /// The state cannot be cached, for this reason: the cell runs the ageing itself.
    WithoutCache(String),
}

impl AgedImageCache {
    /// Opens the cache in the user's cache directory. Creates the directory unless it exists.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be created or other users could change its
    /// contents.
    pub fn open() -> anyhow::Result<Self> {
        Ok(Self::at(&guest::cache_directory()?)?)
    }

    fn at(cache: &Path) -> Result<Self, UntrustedPath> {
        let directory = SafeDir::make(&cache.join(DIRECTORY))?;
        Ok(Self { directory })
    }

    /// Returns the path of the cache.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the number of states, their total size and the maximum size as text.
    pub fn summary(&self) -> String {
        let all = self.all();
        let size = Bytes(all.iter().map(|image| image.size.0).sum());
        let (count, place) = (all.len(), self.path().display());
        let take = if count == 1 { "takes" } else { "take" };
        format!(
            "aged states are kept in {place}: {count} {take} {size}, and {MAX_AGED_BYTES} at most"
        )
    }

    /// Returns all images, the most recently used first.
    pub fn all(&self) -> Vec<AgedImage> {
        let entries = fs::read_dir(self.path()).into_iter().flatten().flatten();
        let mut all: Vec<_> = entries.filter_map(|entry| look(&entry.path())).collect();
        all.sort_by(|a, b| b.used.cmp(&a.used).then(a.path.cmp(&b.path)));
        all
    }

    /// Restores the requested state from the cache. If the cache does not contain the state,
    /// creates it with `make` and stores it.
    ///
    /// # Errors
    /// Returns an error if the user asks to stop, or if `make` returns no result.
    pub fn get_or_create(
        &self,
        wanted: &AgedImageRequest<'_>,
        make: &mut dyn FnMut() -> Result<CellResult, AbortReason>,
    ) -> Result<AgedStart, AbortReason> {
        let AgedImageRequest { image, stop, .. } = wanted;
        let key = match key::image_key(wanted.contender, image.size(), &wanted.ageing) {
            Ok(key) => key,
            Err(error) => {
                return Ok(AgedStart::WithoutCache(format!("it cannot be named: {error}")));
            }
        };
        let mut remarks = Vec::new();
        match self.take(&key, image, stop) {
            Ok(Some(state)) => return Ok(state_alone(state)),
            Ok(None) => {}
            Err(AgedImageError::Interrupted) => return Err(AbortReason::Interrupted),
            Err(AgedImageError::Reported(why)) => remarks.push(why),
        }
        let mut blank = ImageFill::for_size(image.size());
        let content = &mut |chunk: &mut [u8]| {
            blank.fill(chunk);
            Ok(())
        };
        match image.rewrite(content, &mut |_| check_stop(stop)).map_err(AgedImageError::from) {
            Ok(()) => {}
            Err(AgedImageError::Interrupted) => return Err(AbortReason::Interrupted),
            Err(AgedImageError::Reported(why)) => return Ok(AgedStart::WithoutCache(why)),
        }
        let made = make()?;
        let Some(record) = made.age.clone().filter(|_| made.status == Status::Ok) else {
            return Ok(AgedStart::Failed(Box::new(made)));
        };
        if storage::is_loop_attached(image.path(), RELEASE) {
            return Ok(AgedStart::WithoutCache("the kernel does not release the image".into()));
        }
        let state = AgedImageInfo { record, mounted: made.mounted };
        match self.keep(&key, wanted, &state) {
            Ok(()) => {}
            Err(AgedImageError::Interrupted) => return Err(AbortReason::Interrupted),
            Err(AgedImageError::Reported(why)) => {
                remarks.push(format!("its aged state could not be kept: {why}"));
            }
        }
        Ok(AgedStart::FromImage { state: Box::new(state), made: Some(Box::new(made)), remarks })
    }

    /// Restores the state with this key. Returns `None` if the cache does not contain it. A damaged
    /// image is removed and reported as an error.
    fn take(
        &self,
        key: &str,
        image: &Image,
        stop: &AtomicBool,
    ) -> Result<Option<AgedImageInfo>, AgedImageError> {
        let name = name(key);
        let Some(mut file) = self.directory.file(&name).map_err(said)? else {
            return Ok(None);
        };
        let short = short(key);
        let note = match file::read(&mut file) {
            Ok(note) if note.size == image.size() => note,
            other => {
                let why = other.map_or_else(|e| e.to_string(), |_| "its size is wrong".into());
                self.directory.remove(&name).map_err(said)?;
                return Err(AgedImageError::Reported(format!(
                    "cached image {short} was damaged ({why}): removed it and aged the filesystem again"
                )));
            }
        };
        file::restore(&mut file, image, stop)?;
        // Ignore errors: the time only determines which images are removed first.
        let _ = file.set_modified(SystemTime::now());
        let mut state = note.state;
        state.record.image_hash = Some(key.to_owned());
        Ok(Some(state))
    }

    /// Stores the content of the image in the cache.
    fn keep(
        &self,
        key: &str,
        wanted: &AgedImageRequest<'_>,
        state: &AgedImageInfo,
    ) -> Result<(), AgedImageError> {
        let image = &wanted.image;
        let advice = "remove kept images (`fsarena list aged`), or leave --keep-aged out";
        storage::require_free_space(self.path(), image.size(), advice)?;
        let lock = self.directory.file_or_new(LOCK).map_err(said)?;
        // Do not wait for another campaign, which may be stopped; the state can be cached next
        // time.
        let _lock = Flock::lock(lock, FlockArg::LockExclusiveNonblock).map_err(|_| {
            AgedImageError::Reported("another campaign keeps one at this moment".into())
        })?;
        // A partial file here comes from a killed process.
        self.directory.remove(PARTIAL).map_err(said)?;
        let mut file = self.directory.create(PARTIAL).map_err(said)?;
        let note = AgedImageHeader {
            name: format!("{} ({})", wanted.contender.filesystem.name, wanted.ageing.age),
            size: image.size(),
            created_at: clock::realtime(),
            state: state.clone(),
        };
        let written = file::write(&mut file, image, &note, wanted.stop);
        if let Err(error) = written {
            self.directory.remove(PARTIAL).map_err(said)?;
            return Err(error.into());
        }
        let [partial, whole] = [PARTIAL, &name(key)].map(|name| self.path().join(name));
        fs::rename(partial, &whole).map_err(said)?;
        self.directory.flush().map_err(said)?;
        self.make_room(&whole);
        Ok(())
    }

    /// Removes the least recently used images, except `but`, until the cache is within its size
    /// limit.
    fn make_room(&self, but: &Path) {
        let mut taken = 0;
        for image in self.all() {
            taken += image.size.0;
            if taken > MAX_AGED_BYTES.0 && image.path != but {
                // Files that cannot be removed stay and appear in `list`.
                let _ = fs::remove_file(&image.path);
            }
        }
    }
}

fn state_alone(state: AgedImageInfo) -> AgedStart {
    AgedStart::FromImage { state: Box::new(state), made: None, remarks: Vec::new() }
}

/// Adds the job that created the aged state to the result of the cell.
pub fn merge_results(
    made: Option<CellResult>,
    remarks: Vec<String>,
    result: CellResult,
) -> CellResult {
    let Some(made) = made else {
        return result;
    };
    CellResult {
        steps: [made.steps, result.steps].concat(),
        kernel_log: [made.kernel_log, result.kernel_log].concat(),
        kernel_log_readable: made.kernel_log_readable && result.kernel_log_readable,
        remarks: [remarks, result.remarks].concat(),
        started: made.started,
        elapsed: Nanos(made.elapsed.0 + result.elapsed.0),
        ..result
    }
}

/// Reason that a state cannot be restored or stored.
enum AgedImageError {
    Interrupted,
    /// An error, as one line.
    Reported(String),
}

impl From<ProvisionError> for AgedImageError {
    fn from(error: ProvisionError) -> Self {
        match error {
            ProvisionError::Interrupted => Self::Interrupted,
            error => Self::Reported(error::error_chain(&error.into())),
        }
    }
}

fn said(error: impl Into<anyhow::Error>) -> AgedImageError {
    AgedImageError::Reported(error::error_chain(&error.into()))
}

fn name(key: &str) -> String {
    format!("{key}{SUFFIX}")
}

fn short(key: &str) -> &str {
    key.get(..AgeingResult::SHORT_HASH).unwrap_or(key)
}

/// Returns the image at this path, or `None` if the file is not an image.
fn look(path: &Path) -> Option<AgedImage> {
    path.to_str().filter(|name| name.ends_with(SUFFIX))?;
    let found = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    let note = File::open(path).and_then(|file| file::head(&file));
    let note = note.ok().map(|(_, note)| note);
    Some(AgedImage {
        path: path.to_owned(),
        image: note.as_ref().map_or(Bytes(0), |note| note.size),
        layout: note.as_ref().and_then(|n| n.state.record.layout_aged),
        name: note.map(|note| note.name),
        size: Bytes(found.len()),
        used: found.modified().unwrap_or(SystemTime::UNIX_EPOCH),
    })
}
