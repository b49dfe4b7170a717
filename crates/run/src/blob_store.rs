//! Where a cache of cells keeps its entries: small files by name, in a directory or wherever else.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::fcntl::OFlag;
use sys::safe_path::{SafeDir, UntrustedPath, default_mode};

use crate::cell_key::CellKey;

/// Small files by name, which any number of processes on any hosts read and write at once. Nothing that is there is
/// believed for being there.
pub trait BlobStore: fmt::Debug + Send + Sync {
    /// Where it is, for people.
    fn path_of(&self) -> String;

    /// What has this name; nothing where nothing has.
    ///
    /// # Errors
    /// When it cannot be read.
    fn read(&self, name: &str) -> io::Result<Option<String>>;

    /// Puts this in the place of whatever has the name: whole or not at all.
    ///
    /// # Errors
    /// When it cannot be written.
    fn put(&self, name: &str, content: &str) -> io::Result<()>;

    /// Puts this where nothing has the name; false where something has. Of several who do so at once, it is true for one.
    ///
    /// # Errors
    /// When it cannot be written.
    fn create(&self, name: &str, content: &str) -> io::Result<bool>;

    /// Puts this in the place of what was seen there; false where something else is there now. Of several who saw the
    /// same, it is true for one.
    ///
    /// # Errors
    /// When it cannot be written.
    fn compare_and_swap(&self, name: &str, seen: &str, content: &str) -> io::Result<bool>;

    /// Removes what has the name; that there is none is no error.
    ///
    /// # Errors
    /// When it cannot be removed.
    fn remove(&self, name: &str) -> io::Result<()>;
}

/// A directory.
#[derive(Debug)]
pub struct DirectoryStore {
    directory: SafeDir,
    /// Whether others keep results there, too.
    is_shared: bool,
}

const ONLY_THE_USER: u32 = 0o600;
/// No entry is larger, in bytes.
pub const MAX_SHELF_SIZE: u64 = 1 << 30;

impl DirectoryStore {
    /// A directory of this user's own, which is made where there is none.
    ///
    /// # Errors
    /// When it cannot be made, or others could tamper with it.
    pub fn open_private(path: &Path) -> Result<Self, UntrustedPath> {
        Ok(Self {
            directory: SafeDir::make(path)?,
            is_shared: false,
        })
    }

    /// A directory that several people have, which is made where there is none.
    ///
    /// # Errors
    /// When it cannot be made, or somebody else's link is on the way.
    pub fn open_shared(path: &Path) -> Result<Self, UntrustedPath> {
        Ok(Self {
            directory: SafeDir::shared_or_new(path)?,
            is_shared: true,
        })
    }

    fn mode(&self) -> u32 {
        match self.is_shared {
            true => default_mode(),
            false => ONLY_THE_USER,
        }
    }
}

impl BlobStore for DirectoryStore {
    fn path_of(&self) -> String {
        self.directory.path().display().to_string()
    }

    /// What is no plain file is as good as nothing.
    fn read(&self, name: &str) -> io::Result<Option<String>> {
        let file = match self.is_shared {
            false => match self.directory.file(name).map_err(io::Error::other)? {
                Some(file) => file,
                None => return Ok(None),
            },
            true => {
                // No link is followed, and nobody is waited for who would write into a pipe.
                let mut options = OpenOptions::new();
                let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
                options.read(true).custom_flags(flags.bits());
                let file = match options.open(self.directory.path().join(name)) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                    file => file?,
                };
                let found = file.metadata()?;
                if !found.is_file() || found.len() > MAX_SHELF_SIZE {
                    return Ok(None);
                }
                file
            }
        };
        let mut bytes = Vec::new();
        file.take(MAX_SHELF_SIZE).read_to_end(&mut bytes)?;
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// The file has its name only when all of it is on the disk, so that a kill at any moment leaves none that is half
    /// written.
    fn put(&self, name: &str, content: &str) -> io::Result<()> {
        let put = self
            .directory
            .replace(name, self.mode(), content.as_bytes());
        put.map_err(io::Error::other)
    }

    fn create(&self, name: &str, content: &str) -> io::Result<bool> {
        let placed = self
            .directory
            .create_exclusive(name, self.mode(), content.as_bytes());
        placed.map_err(io::Error::other)
    }

    /// No file is locked: what was seen is renamed, which it is by one alone, and looked at again.
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
            // Somebody was quicker: what is his goes back, unless a third has come meanwhile.
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
    fn of_many_who_create_or_exchange_at_once_it_is_true_for_one() {
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
                all.into_iter()
                    .map(|one| one.join().unwrap())
                    .filter(|won| *won)
                    .count()
            });
            assert_eq!(won, 1);
        };
        for round in 0..20 {
            let name = round.to_string();
            at_once(&|content| shelf.create(&name, content).unwrap());
            let seen = shelf.read(&name).unwrap().unwrap();
            // Whoever comes late sees that it is another.
            at_once(&|content| {
                shelf
                    .compare_and_swap(&name, &seen, &format!("{content}!"))
                    .unwrap()
            });
            assert!(shelf.read(&name).unwrap().unwrap().ends_with('!'));
        }
        assert_eq!(
            directory.path().read_dir().unwrap().count(),
            20,
            "nothing is left beside them"
        );
    }
}
