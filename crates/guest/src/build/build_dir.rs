//! Build directory for the contents of a cache. One process at a time builds in a temporary
//! directory that is removed in all cases; only complete files are moved to their final location.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use model::Bytes;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::statvfs::statvfs;
use nix::unistd::{Gid, Uid};
use sys::fs::safe_path::SafeDir;
use tempfile::TempDir;

use crate::process_runner::{NO_ROOM, ProcessRunner};
use crate::{GuestError, files};

/// Lock file of the cache, which the building process locks. It is never removed.
const LOCK: &str = "lock";
/// Prefix of the names of build directories.
const PARTIAL: &str = "partial-";
/// Infix of the names used by earlier versions.
const EARLIER_PARTIAL: &str = ".partial-";
/// Interval between attempts to acquire a lock that another process holds.
const PAUSE: Duration = Duration::from_millis(50);
/// A filesystem with less free space counts as full. The limit is not zero, because a program that
/// fails on a full disk removes its partial files.
const DISK_FULL_BELOW: Bytes = Bytes::mib(2);

/// A temporary build directory.
pub struct BuildDir<'a> {
    programs: ProcessRunner,
    place: TempDir,
    _lock: Flock<File>,
    cache: &'a Path,
    /// Owner of the files, if root builds them for another user.
    owner: Option<(Uid, Gid)>,
}

impl BuildDir<'_> {
    /// Runs `make`, which builds an entry of a cache and may `need` this much space. Waits for
    /// another building process, and first removes the files of killed ones. Files that are not
    /// moved out of the build directory are removed.
    ///
    /// # Errors
    /// Returns an error if `stop` becomes true, the disk is full, or `make` fails.
    pub fn open<T>(
        cache: &Path,
        need: Bytes,
        stop: &Arc<AtomicBool>,
        say: &mut dyn FnMut(&str),
        make: impl FnOnce(&BuildDir<'_>, &mut dyn FnMut(&str)) -> Result<T, GuestError>,
    ) -> Result<T, GuestError> {
        // Explains an error while the partial files still occupy their space.
        let explain = |error| explain(error, cache, need);
        let held = SafeDir::make(cache).map_err(|error| explain(error.into()))?;
        let lock = wait_for_lock(&held, stop, say).map_err(explain)?;
        remove_partial(cache, stop);
        let owner = held.owner_for_new_files();
        let owner = owner.map_err(|errno| GuestError::io("examine", cache)(errno.into()))?;
        let workshop = BuildDir::begin(cache, lock, owner, stop).map_err(explain)?;
        let made = make(&workshop, say).map_err(explain);
        let left = workshop.close(stop);
        match stop.load(Ordering::Relaxed) && made.is_err() {
            true => Err(GuestError::Interrupted { left }),
            false => made,
        }
    }
}

impl<'a> BuildDir<'a> {
    fn begin(
        cache: &'a Path,
        lock: Flock<File>,
        owner: Option<(Uid, Gid)>,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, GuestError> {
        let place = tempfile::Builder::new().prefix(PARTIAL).tempdir_in(cache);
        let place = place.map_err(GuestError::io("make a directory in", cache))?;
        let temporary = place.path().join("tmp");
        files::create_directory(&temporary)?;
        Ok(Self {
            programs: ProcessRunner::with_lock(stop, &lock, &temporary)?,
            place,
            _lock: lock,
            cache,
            owner,
        })
    }

    /// Removes the build directory. Returns its path if the removal takes too long after an
    /// interrupt.
    fn close(self, stop: &AtomicBool) -> Option<PathBuf> {
        drop(self.programs);
        let place = self.place.keep();
        (!files::remove(&place, stop)).then_some(place)
    }

    /// Returns the directory of the cache.
    pub const fn cache(&self) -> &'a Path {
        self.cache
    }

    /// Returns the runner for programs in this directory.
    pub const fn programs(&self) -> &ProcessRunner {
        &self.programs
    }

    /// Returns the path of a file in the build directory.
    pub fn place(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// Returns the names of all entries of the build directory, in order.
    pub fn names(&self) -> Result<Vec<String>, GuestError> {
        let entries = fs::read_dir(self.place.path());
        let entries = entries.map_err(GuestError::io("read", self.place.path()))?;
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        let mut names: Vec<String> = entries.flatten().map(name).collect();
        names.sort();
        Ok(names)
    }

    /// Moves complete files to their final location and replaces existing ones.
    pub fn install(&self, name: &str, to: &Path) -> Result<(), GuestError> {
        let made = self.place(name);
        files::close_to_others(&made, self.owner)
            .map_err(GuestError::io("change the mode of", &made))?;
        self.remove(to)?;
        fs::rename(&made, to).map_err(GuestError::io("rename", &made))
    }

    /// Removes a path atomically: renames it into the build directory instead of deleting each
    /// file.
    pub fn remove(&self, path: &Path) -> Result<(), GuestError> {
        let away = tempfile::Builder::new().tempdir_in(self.place.path());
        let away = away.map_err(GuestError::io("make a directory in", self.cache))?;
        match fs::rename(path, away.keep().join("taken-away")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(GuestError::io("take away", path)(error))
            }
            _ => Ok(()),
        }
    }
}

/// Removes files of killed processes, unless a process is building in this cache.
pub fn remove_stale(cache: &Path, stop: &AtomicBool) {
    // Without a lock file, no process has built in this cache.
    let file = File::open(cache.join(LOCK));
    let lock = file.map(|file| Flock::lock(file, FlockArg::LockExclusiveNonblock));
    if let Ok(Ok(_lock)) = lock {
        remove_partial(cache, stop);
    }
}

/// Returns true if this is the name of a build directory.
pub fn is_partial(name: &str) -> bool {
    name.starts_with(PARTIAL) || name.contains(EARLIER_PARTIAL)
}

/// Removes partial builds. The caller must hold the lock.
fn remove_partial(cache: &Path, stop: &AtomicBool) {
    for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
        let is_partial = is_partial(&entry.file_name().to_string_lossy());
        if is_partial && !stop.load(Ordering::Relaxed) {
            // Remaining files do no harm, and the next call tries again.
            files::remove(&entry.path(), stop);
        }
    }
}

fn wait_for_lock(
    cache: &SafeDir,
    stop: &AtomicBool,
    say: &mut dyn FnMut(&str),
) -> Result<Flock<File>, GuestError> {
    let mut file = cache.file_or_new(LOCK)?;
    let mut waits = false;
    while !stop.load(Ordering::Relaxed) {
        file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => return Ok(lock),
            Err((file, Errno::EWOULDBLOCK)) => file,
            Err((_, errno)) => {
                let path = cache.path().join(LOCK);
                return Err(GuestError::io("lock", &path)(errno.into()));
            }
        };
        if !waits {
            let cache = cache.path().display();
            say(&format!("waiting for another fsarena that makes a guest in {cache}"));
            waits = true;
        }
        thread::sleep(PAUSE);
    }
    Err(GuestError::Interrupted { left: None })
}

/// Replaces an error by its cause if the disk is full, for errors of any step or program.
fn explain(error: GuestError, cache: &Path, needed: Bytes) -> GuestError {
    let text = error.to_string();
    let has_room = !is_full(cache) && !NO_ROOM.iter().any(|words| text.contains(words));
    match error {
        GuestError::Interrupted { .. } => error,
        other if has_room => other,
        _ => GuestError::DiskFull { directory: cache.to_owned(), needed },
    }
}

/// Returns true if the filesystem has no space or no inodes for more files.
fn is_full(cache: &Path) -> bool {
    statvfs(cache).is_ok_and(|filesystem| {
        let free = filesystem.blocks_available() * filesystem.fragment_size();
        let no_files = filesystem.files() > 0 && filesystem.files_available() == 0;
        free < DISK_FULL_BELOW.0 || no_files
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    const NEED: Bytes = Bytes::mib(1);

    fn names(cache: &Path) -> Vec<String> {
        let entries = fs::read_dir(cache).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    fn open<T>(
        cache: &Path,
        make: impl FnOnce(&BuildDir<'_>) -> Result<T, GuestError>,
    ) -> Result<T, GuestError> {
        let stop = Arc::default();
        BuildDir::open(cache, NEED, &stop, &mut |_| {}, |workshop, _| make(workshop))
    }

    #[test]
    fn only_complete_files_remain() {
        let cache = tempfile::tempdir().unwrap();
        let cache = cache.path();
        open(cache, |workshop| {
            files::write(&workshop.place("half"), b"made")?;
            files::write(&workshop.place("made"), b"whole")?;
            workshop.install("made", &cache.join("thing"))
        })
        .unwrap();
        assert_eq!(names(cache), [LOCK, "thing"]);
        let failed = open(cache, |workshop| {
            files::create_directory(&workshop.place("half/made"))?;
            workshop.remove(&cache.join("thing"))?;
            Err::<(), _>(GuestError::UnexpectedOutput("no".into()))
        });
        assert_eq!(failed.unwrap_err().to_string(), "no");
        assert_eq!(names(cache), [LOCK]);
    }

    #[test]
    fn replaces_existing_files_and_directories() {
        let cache = tempfile::tempdir().unwrap();
        let thing = cache.path().join("thing");
        let keep = || {
            open(cache.path(), |workshop| {
                files::create_directory(&workshop.place("made"))?;
                workshop.install("made", &thing)
            })
        };
        keep().unwrap();
        fs::write(thing.join("file"), "").unwrap();
        keep().unwrap();
        assert_eq!(names(&thing), [""; 0]);
        fs::remove_dir(&thing).unwrap();
        fs::write(&thing, "").unwrap();
        keep().unwrap();
        assert_eq!(names(cache.path()), [LOCK, "thing"]);
    }

    #[test]
    fn removes_directories_of_killed_processes_but_not_active_ones() {
        let cache = tempfile::tempdir().unwrap();
        let cache = cache.path();
        let leave = || {
            for name in ["partial-x", "guest-1.partial-7"] {
                fs::create_dir_all(cache.join(name).join("below")).unwrap();
            }
        };
        leave();
        open(cache, |workshop| {
            leave();
            remove_stale(cache, &AtomicBool::new(false));
            assert_eq!(names(cache).len(), 4);
            files::write(&workshop.place("file"), b"")
        })
        .unwrap();
        assert_eq!(names(cache), ["guest-1.partial-7", LOCK, "partial-x"]);
        remove_stale(cache, &AtomicBool::new(false));
        assert_eq!(names(cache), [LOCK]);
    }

    #[test]
    fn two_are_never_at_work_at_once() {
        let cache = tempfile::tempdir().unwrap();
        let cache = cache.path();
        let (say, heard) = mpsc::channel();
        thread::scope(|scope| {
            open(cache, |_| {
                scope.spawn(move || {
                    let stop = Arc::default();
                    let mut say = |text: &str| say.send(text.to_owned()).unwrap();
                    let made = BuildDir::open(cache, NEED, &stop, &mut say, |_, _| Ok(()));
                    made.unwrap();
                });
                let waits = heard.recv().unwrap();
                assert!(waits.starts_with("waiting for another fsarena"), "{waits}");
                assert_eq!(names(cache).len(), 2);
                Ok(())
            })
            .unwrap();
        });
        assert_eq!(names(cache), [LOCK]);
    }

    #[test]
    fn interrupt_ends_the_wait_for_the_lock() {
        let cache = tempfile::tempdir().unwrap();
        let cache = cache.path();
        let stop = Arc::new(AtomicBool::new(false));
        let interrupted = open(cache, |_| {
            let mut say = |_: &str| stop.store(true, Ordering::Relaxed);
            BuildDir::open(cache, NEED, &stop, &mut say, |_, _| Ok(()))
        });
        assert!(matches!(interrupted, Err(GuestError::Interrupted { left: None })));
    }

    #[test]
    fn full_disk_is_reported_for_errors_of_any_program() {
        let cache = tempfile::tempdir().unwrap();
        for complaint in ["cc1: No space left on device", "Disk quota exceeded"] {
            let error = open(cache.path(), |_| {
                Err::<(), _>(GuestError::Failed {
                    command: "make".into(),
                    complaint: complaint.into(),
                })
            });
            let error = error.unwrap_err().to_string();
            let told = error.starts_with("the filesystem of ") && error.contains("about 1 MiB");
            assert!(told && error.contains("XDG_CACHE_HOME"), "{error}");
        }
    }
}
