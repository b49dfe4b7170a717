//! Storage of a cell cache: small named files in a directory or another store.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use model::Bytes;
use sys::fs::safe_path::{SafeDir, UntrustedPath, default_mode};

use crate::cache::cell_key::CellKey;

/// A store of small files by name. Any number of processes on any hosts may read and write the
/// files at the same time. Contents are never trusted without verification.
pub trait BlobStore: fmt::Debug + Send + Sync {
    /// Human-readable location.
    fn path_of(&self) -> String;

    /// Returns the entry with this name, or `None` if it does not exist.
    ///
    /// # Errors
    /// Returns an error if the entry cannot be read.
    fn read(&self, name: &str) -> io::Result<Option<String>>;

    /// Creates or replaces the entry atomically.
    ///
    /// # Errors
    /// Returns an error if the entry cannot be written.
    fn put(&self, name: &str, content: &str) -> io::Result<()>;

    /// Creates the entry atomically. Returns false if the name already exists. If several writers
    /// compete, exactly one gets true.
    ///
    /// # Errors
    /// Returns an error if the entry cannot be written.
    fn create(&self, name: &str, content: &str) -> io::Result<bool>;

    /// Replaces the entry if its content is still `seen`. Returns false if it has changed. If
    /// several writers compete, exactly one gets true.
    ///
    /// # Errors
    /// Returns an error if the entry cannot be written.
    fn compare_and_swap(&self, name: &str, seen: &str, content: &str) -> io::Result<bool>;

    /// Removes the entry. Succeeds if it does not exist.
    ///
    /// # Errors
    /// Returns an error if the entry cannot be removed.
    fn remove(&self, name: &str) -> io::Result<()>;
}

/// A directory.
#[derive(Debug)]
pub struct DirectoryStore {
    directory: SafeDir,
    /// Whether other hosts store results here, too.
    is_shared: bool,
    /// Limit of a private directory.
    limit: Option<SizeLimit>,
}

/// The limit of the entries of a directory.
#[derive(Debug)]
struct SizeLimit {
    limit: Bytes,
    /// Size of all entries as of the last scan, plus those that this process added since.
    used: Mutex<u64>,
}

const ONLY_THE_USER: u32 = 0o600;
/// Maximum size of an entry, in bytes. A result has at most half of that.
pub const MAX_SHELF_SIZE: u64 = 128 << 20;

impl DirectoryStore {
    /// Opens a private directory of this user and creates it unless it exists. If its entries
    /// exceed the limit, the least recently used ones are removed.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be created or is not safe from other users.
    pub fn open_private(path: &Path, limit: Bytes) -> Result<Self, UntrustedPath> {
        let directory = SafeDir::make(path)?;
        let used = entries(&directory).iter().map(|entry| entry.size).sum();
        let limit = Some(SizeLimit { limit, used: Mutex::new(used) });
        Ok(Self { directory, is_shared: false, limit })
    }

    /// Opens a directory shared by several users and creates it unless it exists.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be created or its path contains a symbolic link of
    /// another user.
    pub fn open_shared(path: &Path) -> Result<Self, UntrustedPath> {
        Ok(Self { directory: SafeDir::shared_or_new(path)?, is_shared: true, limit: None })
    }

    fn mode(&self) -> u32 {
        match self.is_shared {
            true => default_mode(),
            false => ONLY_THE_USER,
        }
    }

    /// Removes the least recently used entries, except `newest` and those that a process reads,
    /// until the others are within the limit.
    fn make_room(&self, newest: &str, size: u64) {
        let Some(SizeLimit { limit, used }) = &self.limit else { return };
        let mut used = used.lock().unwrap_or_else(PoisonError::into_inner);
        *used = used.saturating_add(size);
        if *used <= limit.0 {
            return;
        }
        // Other processes add and remove entries, too.
        let entries = entries(&self.directory);
        *used = entries.iter().map(|entry| entry.size).sum();
        for entry in entries {
            if *used <= limit.0 {
                break;
            }
            if entry.name != newest && self.remove_unused(&entry.name) {
                *used = used.saturating_sub(entry.size);
            }
        }
    }

    /// Removes an entry unless a process reads it. Returns true if it was removed.
    fn remove_unused(&self, name: &str) -> bool {
        let Ok(Some(file)) = self.directory.file(name) else { return false };
        file.try_lock().is_ok() && self.directory.remove(name).is_ok()
    }
}

/// Suffix of the entries that a limit applies to.
pub const ENTRY: &str = ".json";

/// An entry of a directory.
struct Entry {
    name: String,
    size: u64,
    used: SystemTime,
}

/// Returns the entries of a directory, the least recently used first. An unreadable directory has
/// none.
fn entries(directory: &SafeDir) -> Vec<Entry> {
    let found = fs::read_dir(directory.path()).into_iter().flatten().flatten();
    let entry = |found: fs::DirEntry| {
        let name = found.file_name().into_string().ok().filter(|name| name.ends_with(ENTRY))?;
        let metadata = found.metadata().ok()?;
        Some(Entry { name, size: metadata.len(), used: metadata.modified().ok()? })
    };
    let mut all: Vec<Entry> = found.filter_map(entry).collect();
    all.sort_by(|a, b| a.used.cmp(&b.used).then(a.name.cmp(&b.name)));
    all
}

/// Marks an entry as used now, and locks it until the file is closed.
fn hold(file: &File) {
    // Without a lock, the entry can be removed during the read, which reads it to its end.
    let _ = file.lock_shared();
    // An entry whose time cannot be set is only removed earlier.
    let _ = file.set_modified(SystemTime::now());
}

impl BlobStore for DirectoryStore {
    fn path_of(&self) -> String {
        self.directory.path().display().to_string()
    }

    /// Ignores entries that are not regular files.
    fn read(&self, name: &str) -> io::Result<Option<String>> {
        let bytes = match self.is_shared {
            false => {
                let Some(file) = self.directory.file(name).map_err(io::Error::other)? else {
                    return Ok(None);
                };
                if self.limit.is_some() {
                    hold(&file);
                }
                let mut bytes = Vec::new();
                file.take(MAX_SHELF_SIZE).read_to_end(&mut bytes)?;
                bytes
            }
            true => match self.directory.read(name, MAX_SHELF_SIZE) {
                Ok(Some(bytes)) => bytes,
                Ok(None) | Err(UntrustedPath::Other { .. }) => return Ok(None),
                Err(error) => return Err(io::Error::other(error)),
            },
        };
        // Bytes that are not text count as an entry without content, which no code fits.
        Ok(Some(String::from_utf8(bytes).unwrap_or_default()))
    }

    /// Renames the file to its final name only after its content is on the disk. A kill at any time
    /// therefore leaves no partial entry.
    fn put(&self, name: &str, content: &str) -> io::Result<()> {
        let put = self.directory.replace(name, self.mode(), content.as_bytes());
        put.map_err(io::Error::other)?;
        self.make_room(name, content.len() as u64);
        Ok(())
    }

    fn create(&self, name: &str, content: &str) -> io::Result<bool> {
        let placed = self.directory.create_exclusive(name, self.mode(), content.as_bytes());
        placed.map_err(io::Error::other)
    }

    /// Works without locks: renames the old entry, which only one process can do, and then verifies
    /// its content.
    fn compare_and_swap(&self, name: &str, seen: &str, content: &str) -> io::Result<bool> {
        if self.read(name)?.as_deref() != Some(seen) {
            return Ok(false);
        }
        let aside = format!(".aside-{}", CellKey::sha256(content.as_bytes()));
        let renamed = self.directory.rename(name, &aside);
        if !renamed.map_err(io::Error::other)? {
            return Ok(false);
        }
        let taken = self.read(&aside)?;
        if taken.as_deref() != Some(seen) {
            // The entry was replaced in the meantime. Restore its content unless a newer entry
            // exists.
            self.create(name, &taken.unwrap_or_default())?;
            self.remove(&aside)?;
            return Ok(false);
        }
        self.remove(&aside)?;
        self.create(name, content)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.directory.remove(name).map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    #[test]
    fn concurrent_create_or_exchange_succeeds_for_exactly_one() {
        const MANY: usize = 8;
        let directory = tempfile::tempdir().unwrap();
        let shelf = DirectoryStore::open_shared(directory.path()).unwrap();
        let together = Barrier::new(MANY);
        let at_once = |act: &(dyn Fn(&str) -> bool + Sync)| {
            let won = thread::scope(|scope| {
                let one = |number: usize| {
                    let (together, act) = (&together, &act);
                    scope.spawn(move || {
                        together.wait();
                        act(&number.to_string())
                    })
                };
                let all: Vec<_> = (0..MANY).map(one).collect();
                all.into_iter().map(|one| one.join().unwrap()).filter(|won| *won).count()
            });
            assert_eq!(won, 1);
        };
        for round in 0..20 {
            let name = round.to_string();
            at_once(&|content| shelf.create(&name, content).unwrap());
            let seen = shelf.read(&name).unwrap().unwrap();
            // A late process finds another content.
            at_once(&|content| {
                shelf.compare_and_swap(&name, &seen, &format!("{content}!")).unwrap()
            });
            assert!(shelf.read(&name).unwrap().unwrap().ends_with('!'));
        }
        assert_eq!(directory.path().read_dir().unwrap().count(), 20, "no other files remain");
    }
}
