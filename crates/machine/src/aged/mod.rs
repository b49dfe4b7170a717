//! Aged states as compressed images in the cache, under the digest of all that they follow from.
//!
//! A file gets its name only when all of it is on the disk. Its digest is looked at each time that it is taken; what is
//! damaged is removed. Who has a file open goes on with it when another process removes or replaces it.

mod file;
mod key;
#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use model::{AgeingResult, Bytes, CellResult, Contender, Nanos, Status};
use nix::fcntl::{Flock, FlockArg};
use storage::{Image, ImageFill, ProvisionError};
use sys::clock;
use sys::safe_path::{SafeDir, UntrustedPath};
use wire::{AbortReason, AgedImageInfo, AgeingParams};

use crate::error;
use file::{AgedImageHeader, check_stop};

/// Where they lie in the cache.
const DIRECTORY: &str = "aged";
const SUFFIX: &str = ".zst";
/// What is not whole yet; of one process at a time, which has the lock.
const PARTIAL: &str = "partial";
const LOCK: &str = "lock";
/// All that is kept takes no more than this: the images go first that were not used for longest.
pub const MOST: Bytes = Bytes::mib(20 << 10);
/// How long the kernel may take to let go of an image.
const RELEASE: std::time::Duration = std::time::Duration::from_secs(10);

fn hexadecimal(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().map(|b| format!("{b:02x}")).collect()
}

/// The aged states that are kept.
#[derive(Debug)]
pub struct AgedImageCache {
    directory: SafeDir,
}

/// One of them, as it lies there.
#[derive(Clone, Debug)]
pub struct AgedImage {
    /// Its file.
    pub path: PathBuf,
    /// What it is, for people; nothing where that cannot be read.
    pub name: Option<String>,
    /// The size of the image that it is laid out on.
    pub image: Bytes,
    /// The layout score, where one was measured.
    pub layout: Option<model::PerMille>,
    /// What it takes on the disk.
    pub size: Bytes,
    /// When it was made or used last.
    pub used: SystemTime,
}

/// What is to be aged, or taken from what is kept.
pub struct AgedImageRequest<'a> {
    /// The contender, which has an age.
    pub contender: &'a Contender,
    /// How it is aged.
    pub ageing: AgeingParams,
    /// What it is laid out on.
    pub image: Image,
    /// Set by whoever wants the campaign to stop.
    pub stop: &'a AtomicBool,
}

/// How a cell begins.
#[derive(Debug)]
pub enum AgedStart {
    /// The aged state is on the image.
    FromImage {
        /// What is known of it.
        state: Box<AgedImageInfo>,
        /// The job that made it for this cell, where it was not kept.
        made: Option<Box<CellResult>>,
        /// What has to be known of how it came about.
        remarks: Vec<String>,
    },
    /// It could not be made: this is what becomes of the cell.
    Failed(Box<CellResult>),
    /// Nothing can be kept, for this reason: the cell ages by itself.
    WithoutCache(String),
}

impl AgedImageCache {
    /// Those in the user's cache directory, which is made where there is none.
    ///
    /// # Errors
    /// When there is no such directory, or anybody else could change what is in it.
    pub fn open() -> anyhow::Result<Self> {
        Ok(Self::at(&guest::cache_directory()?)?)
    }

    fn at(cache: &Path) -> Result<Self, UntrustedPath> {
        let directory = SafeDir::make(&cache.join(DIRECTORY))?;
        Ok(Self { directory })
    }

    /// Where they lie.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// How many there are, what they take, and how much they may take, for people.
    pub fn summary(&self) -> String {
        let all = self.all();
        let size = Bytes(all.iter().map(|image| image.size.0).sum());
        let (count, place) = (all.len(), self.path().display());
        format!("aged states are kept in {place}: {count} take {size}, and {MOST} at most")
    }

    /// All of them, those first that were used last.
    pub fn all(&self) -> Vec<AgedImage> {
        let entries = fs::read_dir(self.path()).into_iter().flatten().flatten();
        let mut all: Vec<_> = entries.filter_map(|entry| look(&entry.path())).collect();
        all.sort_by(|a, b| b.used.cmp(&a.used).then(a.path.cmp(&b.path)));
        all
    }

    /// Lays out the state that is wanted, or has it made by `make`, and keeps it.
    ///
    /// # Errors
    /// When the user asks to stop, or `make` gives no result.
    pub fn get_or_create(
        &self,
        wanted: &AgedImageRequest<'_>,
        make: &mut dyn FnMut() -> Result<CellResult, AbortReason>,
    ) -> Result<AgedStart, AbortReason> {
        let AgedImageRequest { image, stop, .. } = wanted;
        let key = match key::image_key(wanted.contender, image.size(), &wanted.ageing) {
            Ok(key) => key,
            Err(error) => {
                return Ok(AgedStart::WithoutCache(format!(
                    "it cannot be named: {error}"
                )));
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
        match image
            .rewrite(content, &mut |_| check_stop(stop))
            .map_err(AgedImageError::from)
        {
            Ok(()) => {}
            Err(AgedImageError::Interrupted) => return Err(AbortReason::Interrupted),
            Err(AgedImageError::Reported(why)) => return Ok(AgedStart::WithoutCache(why)),
        }
        let made = make()?;
        let Some(record) = made.age.clone().filter(|_| made.status == Status::Ok) else {
            return Ok(AgedStart::Failed(Box::new(made)));
        };
        if storage::is_loop_attached(image.path(), RELEASE) {
            return Ok(AgedStart::WithoutCache(
                "the kernel does not let go of the image".into(),
            ));
        }
        let state = AgedImageInfo {
            record,
            mounted: made.mounted,
        };
        match self.keep(&key, wanted, &state) {
            Ok(()) => {}
            Err(AgedImageError::Interrupted) => return Err(AbortReason::Interrupted),
            Err(AgedImageError::Reported(why)) => {
                remarks.push(format!("its aged state could not be kept: {why}"));
            }
        }
        Ok(AgedStart::FromImage {
            state: Box::new(state),
            made: Some(Box::new(made)),
            remarks,
        })
    }

    /// Lays out the state of this name, where it is kept; one that is damaged is removed, which is the trouble then.
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
                    "the kept image {short} was damaged ({why}): it was removed, and the filesystem aged anew"
                )));
            }
        };
        file::restore(&mut file, image, stop)?;
        // Only the order in which images go depends on it.
        let _ = file.set_modified(SystemTime::now());
        let mut state = note.state;
        state.record.image_hash = Some(key.to_owned());
        Ok(Some(state))
    }

    /// Keeps what is on the image.
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
        // Nobody waits for another campaign, which may be stopped: the state can be kept the next time.
        let _lock = Flock::lock(lock, FlockArg::LockExclusiveNonblock).map_err(|_| {
            AgedImageError::Reported("another campaign keeps one at this moment".into())
        })?;
        // What lies there is a killed process's.
        self.directory.remove(PARTIAL).map_err(said)?;
        let mut file = self.directory.create(PARTIAL).map_err(said)?;
        let note = AgedImageHeader {
            name: format!(
                "{} ({})",
                wanted.contender.filesystem.name, wanted.ageing.age
            ),
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

    /// Removes the images that were not used for longest while all of them take too much, but not this one.
    fn make_room(&self, but: &Path) {
        let mut taken = 0;
        for image in self.all() {
            taken += image.size.0;
            if taken > MOST.0 && image.path != but {
                // What cannot be removed stays; `list` shows it.
                let _ = fs::remove_file(&image.path);
            }
        }
    }
}

fn state_alone(state: AgedImageInfo) -> AgedStart {
    AgedStart::FromImage {
        state: Box::new(state),
        made: None,
        remarks: Vec::new(),
    }
}

/// The result of a cell with what was done before to make its aged state.
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

/// Why a state is not taken, or not kept.
enum AgedImageError {
    Interrupted,
    /// In one line.
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

/// A kept image as it lies there; nothing where it is something else.
fn look(path: &Path) -> Option<AgedImage> {
    path.to_str().filter(|name| name.ends_with(SUFFIX))?;
    let found = fs::symlink_metadata(path)
        .ok()
        .filter(fs::Metadata::is_file)?;
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
