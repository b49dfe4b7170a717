//! The work directory of a campaign. Contains all its files, and is removed at the end.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use model::{Campaign, CampaignId, CellId, SeededRng};
use nix::fcntl::{Flock, FlockArg};
use storage::{DeviceRefusal, Raid0Array};
use sys::fs::safe_path::{SafeDir, UntrustedPath};
use sys::interruption;

use crate::archives;
use crate::error::{EnvironmentError, UserInterrupt};
use crate::host::lock_holder::LockHolder;

/// Returns the name of all resources of a campaign. Contains seed and database, so that campaigns
/// of two databases do not collide.
pub fn unique_name(campaign: &Campaign, id: CampaignId) -> String {
    format!("fsarena-{id}-{:x}", campaign.seed ^ campaign.database.unwrap_or(0))
}

/// Returns the digest of a database for [`Campaign::database`].
pub fn database_digest(database: &Path) -> u64 {
    SeededRng::substream(0, &database.to_string_lossy()).next_u64()
}

/// Name of the calibration directory. It is constant, so that the next calibration reuses a stale
/// directory.
pub const CALIBRATION: &str = "fsarena-calibrate";

/// Returns true if [`unique_name`] could have created this name.
pub fn is_campaign_name(name: &str) -> bool {
    let parts = name.strip_prefix("fsarena-");
    let parts = parts.and_then(|rest| rest.split_once('-'));
    parts.is_some_and(|(id, seed)| {
        id.parse::<i64>().is_ok() && u64::from_str_radix(seed, 16).is_ok()
    })
}

/// Name of the lock file of a directory.
const LOCK: &str = "lock";

/// Number of attempts to take a lock that another process holds, and the pause between them. The
/// agent of a killed orchestrator needs some time for cleanup.
const ATTEMPTS: u32 = 500;
const PAUSE: Duration = Duration::from_millis(20);

/// Time limit for the kernel to release images of a killed cell.
pub const RELEASE: Duration = Duration::from_secs(10);

/// Returns true for names that fsarena creates in such a directory.
fn is_own(name: &str) -> bool {
    let numbered = |prefix| {
        let number = name.strip_prefix(prefix);
        number.is_some_and(|rest: &str| {
            let number = rest.strip_suffix(PARTIAL).unwrap_or(rest);
            number.parse::<u64>().is_ok()
        })
    };
    let plain = name.strip_suffix(PARTIAL).unwrap_or(name);
    [LOCK, "mnt", "source", "source-image", archives::DIRECTORY].contains(&plain)
        || numbered("image-")
        || numbered("cell-")
}

/// Suffix of an image that is not completely written.
const PARTIAL: &str = ".partial";

/// Returns an entry that fsarena has not created, if any. In a directory without a lock file, every
/// entry is foreign.
fn foreign(directory: &Path) -> Option<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
    let locked = names.iter().any(|name| name == LOCK);
    let is_foreign = |name: &&OsString| !locked || !name.to_str().is_some_and(is_own);
    let found = names.iter().find(is_foreign);
    found.map(|name| name.to_string_lossy().into_owned())
}

/// Creates a directory unless it exists, and locks it. Returns `None` if another process holds or
/// has just removed it.
fn lock(around: &SafeDir, name: &str) -> anyhow::Result<Option<(SafeDir, Flock<File>)>> {
    let directory = around.subdirectory(name)?;
    if let Some(found) = foreign(directory.path()) {
        let shown = directory.path().display();
        return Err(EnvironmentError(format!(
            "{shown} holds {found}, which fsarena has not made: move it away, or name another --work-dir"
        ))
        .into());
    }
    let file = directory.file_or_new(LOCK)?;
    match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(lock) if lock.metadata()?.nlink() > 0 => Ok(Some((directory, lock))),
        _ => Ok(None),
    }
}

/// Holder of the directory of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockOwner {
    /// The directory does not exist.
    None,
    /// A running process holds the lock.
    Process,
    /// The process that created the directory was killed.
    Dead,
}

/// The campaign's directory for images and mount points. It is locked by one process and protected
/// from other users.
pub struct CampaignDir {
    around: SafeDir,
    directory: SafeDir,
    _lock: Flock<File>,
}

impl CampaignDir {
    /// Returns the path of the directory, which may not exist.
    pub fn directory(campaign: &Campaign, id: CampaignId) -> PathBuf {
        campaign.work_dir.join(unique_name(campaign, id))
    }

    /// Creates the directory unless it exists, and locks it for this process.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be created or another process holds it.
    pub fn acquire(campaign: &Campaign, id: CampaignId) -> anyhow::Result<Self> {
        let name = unique_name(campaign, id);
        Self::acquire_named(&campaign.work_dir, &name, &format!("run campaign {id}"))
    }

    /// Creates and locks a directory of any name for a purpose, such as `calibrate`.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be created, is not safe from other users, or
    /// another process holds it.
    pub fn acquire_named(work_dir: &Path, name: &str, purpose: &str) -> anyhow::Result<Self> {
        let around = SafeDir::make(work_dir)?;
        let mut lock = lock(&around, name);
        // A process that removes a stale directory holds it for a moment.
        for _ in 0..ATTEMPTS {
            if !matches!(lock, Ok(None)) {
                break;
            }
            if interruption::is_requested() {
                return Err(UserInterrupt.into());
            }
            thread::sleep(PAUSE);
            lock = self::lock(&around, name);
        }
        let taken = || {
            let directory = around.path().join(name);
            let mut holder = LockHolder::default();
            if let Ok(mut file) = File::open(directory.join(LOCK)) {
                holder = LockHolder::read(&mut file);
            }
            let LockHolder { process, age, .. } = holder;
            let directory = directory.display();
            EnvironmentError(format!(
                "cannot {purpose}: {process} has held {directory}{age}; wait for its end"
            ))
        };
        let (directory, mut lock) = lock?.ok_or_else(taken)?;
        // The lock holds even if the process ID cannot be written.
        let _ = LockHolder::sign(&mut lock, "");
        let place = Self { around, directory, _lock: lock };
        place.stop_stripes();
        Ok(place)
    }

    /// Stops stripes over images in this directory that a killed cell or process has left.
    pub fn stop_stripes(&self) {
        Raid0Array::stop_stale(self.directory.path(), RELEASE);
    }

    /// Returns the directory with the source archives.
    pub fn archives(&self) -> PathBuf {
        self.directory.path().join(archives::DIRECTORY)
    }

    /// Returns true if the directory is stale: it exists and no process holds it.
    pub fn is_stale(work_dir: &SafeDir, name: &OsStr) -> bool {
        let is_directory = |path: &Path| fs::symlink_metadata(path).is_ok_and(|m| m.is_dir());
        if !is_directory(&work_dir.path().join(name)) {
            return false;
        }
        if foreign(&work_dir.path().join(name)).is_some() {
            return false;
        }
        let directory = work_dir.subdirectory(name);
        let lock = directory.and_then(|directory| directory.file(LOCK));
        lock.is_ok_and(|lock| {
            lock.is_some_and(|file| Flock::lock(file, FlockArg::LockExclusiveNonblock).is_ok())
        })
    }

    /// Returns the holder of the directory of a campaign on this machine. Changes nothing.
    pub fn holder(campaign: &Campaign, id: CampaignId) -> LockOwner {
        let directory = Self::directory(campaign, id);
        if !directory.is_dir() {
            return LockOwner::None;
        }
        let lock = SafeDir::open(&directory).and_then(|directory| directory.open_to_read(LOCK));
        match lock {
            // Hold the lock only for a moment; a process that wants it waits.
            Ok(Some(file)) => match Flock::lock(file, FlockArg::LockSharedNonblock) {
                Ok(_) => LockOwner::Dead,
                Err(_) => LockOwner::Process,
            },
            // A directory of another user is not readable, and one being created or removed has no
            // lock.
            Ok(None) | Err(_) => LockOwner::Process,
        }
    }

    /// Returns the path of an image, which may not exist.
    pub fn image(&self, number: u32) -> PathBuf {
        self.directory.path().join(format!("image-{number}"))
    }

    /// Checks that the directory still exists.
    ///
    /// # Errors
    /// Returns an error if it does not.
    pub fn check_exists(&self) -> Result<(), DeviceRefusal> {
        match self.directory.still_exists() {
            true => Ok(()),
            false => Err(DeviceRefusal::Disappeared { path: self.directory.path().to_owned() }),
        }
    }

    /// Returns the path of the second image, which may not exist.
    pub fn source_image(&self) -> PathBuf {
        self.directory.path().join("source-image")
    }

    /// Creates the mount point of a source unless it exists.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be created.
    pub fn source_mountpoint(&self) -> Result<PathBuf, UntrustedPath> {
        Ok(self.directory.subdirectory("source")?.path().to_owned())
    }

    /// Creates the mount point of cells unless it exists.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be created.
    pub fn mountpoint(&self) -> Result<PathBuf, UntrustedPath> {
        Ok(self.directory.subdirectory("mnt")?.path().to_owned())
    }

    /// Creates an empty directory for one cell, which is removed on drop.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be created.
    pub fn of_cell(&self, cell: CellId) -> Result<CellDir, UntrustedPath> {
        let name = format!("cell-{}", cell.0);
        // Remove the remains of a killed run.
        self.directory.remove_tree(&name)?;
        let path = self.directory.subdirectory(&name)?.path().to_owned();
        Ok(CellDir(path))
    }

    /// Removes the directory and all files of the campaign. Foreign files stay. The lock is removed
    /// last, because it identifies the directory.
    ///
    /// # Errors
    /// Returns an error if a file cannot be removed.
    pub fn remove(&self) -> Result<(), UntrustedPath> {
        let entries = fs::read_dir(self.directory.path()).into_iter().flatten();
        let names = entries.flatten().map(|entry| entry.file_name());
        let own = |name: &OsString| name.to_str().is_some_and(is_own);
        let (own, foreign): (Vec<_>, Vec<_>) = names.partition(own);
        self.stop_stripes();
        for name in own.iter().filter(|name| *name != LOCK) {
            self.directory.remove_tree(name)?;
        }
        if !foreign.is_empty() {
            return self.directory.remove_tree(LOCK);
        }
        self.around.remove_tree(self.directory.path().file_name().unwrap_or_default())
    }
}

impl Drop for CampaignDir {
    fn drop(&mut self) {
        // Errors are ignored here. After a successful `remove` this does nothing.
        let _ = self.remove();
    }
}

/// The directory of one cell, removed on drop.
pub struct CellDir(PathBuf);

impl CellDir {
    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for CellDir {
    fn drop(&mut self) {
        let name = self.0.file_name().unwrap_or_default();
        let around = self.0.parent().unwrap_or(Path::new("/"));
        // Removing the campaign directory removes the rest or reports an error.
        let _ = SafeDir::open(around).and_then(|around| around.remove_tree(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::fixture;

    #[test]
    fn names_of_campaigns_are_known_again_and_no_others_are() {
        let name = unique_name(&fixture::campaign(), CampaignId(31));
        assert!(is_campaign_name(&name), "{name}");
        for other in
            ["fsarena-1", "fsarena-x-7", "fsarena-1-y", "fsarena-reports", "1-7", CALIBRATION]
        {
            assert!(!is_campaign_name(other), "{other}");
        }
    }

    #[test]
    fn campaigns_of_two_databases_have_different_names() {
        let of = |database: Option<&str>| {
            let database = database.map(|path| database_digest(Path::new(path)));
            unique_name(&Campaign { database, ..fixture::campaign() }, CampaignId(1))
        };
        let names = [of(None), of(Some("/a/x.db")), of(Some("/a/y.db")), of(Some("/b/x.db"))];
        assert_eq!(names.iter().collect::<std::collections::BTreeSet<_>>().len(), 4, "{names:?}");
        assert_eq!(names[1], of(Some("/a/x.db")), "a campaign keeps its name");
        assert!(names.iter().all(|name| is_campaign_name(name)), "{names:?}");
    }

    #[test]
    fn only_directories_of_killed_processes_are_stale() {
        let directory = tempfile::tempdir().unwrap();
        let around = SafeDir::open(directory.path()).unwrap();
        let is_left = |name: &str| CampaignDir::is_stale(&around, name.as_ref());
        let place = CampaignDir::acquire_named(directory.path(), "held", "run").unwrap();
        let taken = CampaignDir::acquire_named(directory.path(), "held", "calibrate");
        let taken = taken.err().expect("it is held").to_string();
        let process = format!("cannot calibrate: process {} (", std::process::id());
        assert!(taken.starts_with(&process), "{taken}");
        let held = format!(" has held {} for 1", directory.path().join("held").display());
        assert!(taken.contains(&held) && taken.ends_with(" s; wait for its end"), "{taken}");
        assert!(!is_left("held"));
        drop(place);
        fs::create_dir(directory.path().join("without-a-lock")).unwrap();
        assert!(!is_left("without-a-lock") && !is_left("not-there"));
        fs::write(directory.path().join("without-a-lock").join(LOCK), "").unwrap();
        assert!(is_left("without-a-lock"));
    }

    #[test]
    fn holder_of_a_campaign_directory_is_reported_without_changes() {
        let directory = tempfile::tempdir().unwrap();
        let campaign = Campaign { work_dir: directory.path().to_owned(), ..fixture::campaign() };
        let holder = || CampaignDir::holder(&campaign, CampaignId(7));
        assert_eq!(holder(), LockOwner::None);
        let place = CampaignDir::acquire(&campaign, CampaignId(7)).unwrap();
        assert_eq!(holder(), LockOwner::Process);
        drop(place);
        assert_eq!(holder(), LockOwner::None);
        let left = CampaignDir::directory(&campaign, CampaignId(7));
        fs::create_dir(&left).unwrap();
        fs::write(left.join(LOCK), "").unwrap();
        assert_eq!(holder(), LockOwner::Dead);
        assert!(left.join(LOCK).exists());
    }

    #[test]
    fn cell_directory_starts_empty_and_is_removed_at_the_end() {
        let directory = tempfile::tempdir().unwrap();
        let campaign = Campaign { work_dir: directory.path().to_owned(), ..fixture::campaign() };
        let place = CampaignDir::acquire(&campaign, CampaignId(7)).unwrap();
        let cell = place.of_cell(CellId(3)).unwrap();
        fs::write(cell.path().join("disk"), "old").unwrap();
        let path = cell.path().to_owned();
        std::mem::forget(cell);
        let again = place.of_cell(CellId(3)).unwrap();
        assert_eq!(again.path(), path);
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
        drop(again);
        assert!(!path.exists());
        place.remove().unwrap();
    }

    #[test]
    fn foreign_directory_with_a_matching_name_is_refused_and_kept() {
        let around = tempfile::tempdir().unwrap();
        let directory = around.path().join(CALIBRATION);
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("notes"), "precious").unwrap();
        let hold = || CampaignDir::acquire_named(around.path(), CALIBRATION, "calibrate");
        let left = || {
            let around = SafeDir::open(around.path()).unwrap();
            CampaignDir::is_stale(&around, CALIBRATION.as_ref())
        };
        // A directory is foreign without a lock, or if it contains names that fsarena never
        // creates.
        for with_lock in [false, true] {
            if with_lock {
                fs::write(directory.join(LOCK), "").unwrap();
            }
            let error = hold().err().expect("it is not fsarena's").to_string();
            assert!(error.contains("holds notes, which fsarena has not made"), "{error}");
            assert!(!left());
        }
        fs::remove_file(directory.join("notes")).unwrap();
        fs::write(directory.join("image-0.partial"), "").unwrap();
        assert!(left());
        let place = hold().unwrap();
        fs::write(directory.join("notes"), "precious").unwrap();
        drop(place);
        let there: Vec<_> = fs::read_dir(&directory).unwrap().flatten().collect();
        assert_eq!(there.len(), 1, "{there:?}");
        assert_eq!(there[0].file_name(), "notes");
    }
}
