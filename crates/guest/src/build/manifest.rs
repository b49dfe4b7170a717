//! Expected contents of a directory in the cache: a file in the directory lists the kind, size and
//! content of each entry, one per line. The digest of that file is stored elsewhere, so that every
//! change of the list or of a listed file is detected.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::{GuestError, files, hash};

/// Name of the manifest in its directory.
const MANIFEST: &str = "manifest";
const DIRECTORY: &str = "directory";
const FILE: &str = "file";
const LINK: &str = "link";
/// A pipe, a socket or a device, which a guest must not contain.
const OTHER: &str = "other";

/// List of a directory's contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    directory: PathBuf,
    /// Entries by path, relative to the directory.
    entries: BTreeMap<String, ManifestEntry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ManifestEntry {
    kind: String,
    size: u64,
    /// Digest of a file, or target of a symbolic link.
    content: String,
}

impl Manifest {
    /// Lists the current contents of a directory.
    pub fn of(directory: &Path) -> Result<Self, GuestError> {
        let mut entries = look(directory).map_err(GuestError::io("read", directory))?;
        for (name, digest) in digests(directory, &entries) {
            let content = digest.map_err(GuestError::io("read", &directory.join(&name)))?;
            entries.entry(name).and_modify(|entry| entry.content = content);
        }
        Ok(Self { directory: directory.to_owned(), entries })
    }

    /// Writes the manifest into its directory and returns its digest.
    pub fn write(&self) -> Result<String, GuestError> {
        files::write(&self.directory.join(MANIFEST), self.text().as_bytes())?;
        Ok(self.digest())
    }

    /// Its digest.
    pub fn digest(&self) -> String {
        hash::sha256_hex(self.text().as_bytes())
    }

    /// Reads the manifest of a directory and checks the contents of the directory.
    ///
    /// # Errors
    /// Returns an error if the manifest does not have this digest, or if the contents of the
    /// directory differ from the manifest.
    pub fn check(directory: &Path, digest: &str) -> Result<Self, GuestError> {
        let manifest = Self::read_listed(directory, digest)?;
        let checked = manifest.check_all();
        checked.map_err(|what| damaged(directory, what))?;
        Ok(manifest)
    }

    /// Reads the manifest of a directory without checking the listed files.
    ///
    /// # Errors
    /// Returns an error if the manifest has another digest.
    pub fn read_listed(directory: &Path, digest: &str) -> Result<Self, GuestError> {
        let damaged = |what: String| damaged(directory, what);
        // A link to a directory could point anywhere.
        if !fs::symlink_metadata(directory).is_ok_and(|found| found.is_dir()) {
            return Err(damaged("it is no directory".to_owned()));
        }
        let text = files::read(&directory.join(MANIFEST));
        let text = text.map_err(|error| damaged(unreadable(MANIFEST, &error)))?;
        let entries = parse(&text).filter(|_| hash::sha256_hex(&text) == digest);
        Ok(Self {
            directory: directory.to_owned(),
            entries: entries.ok_or_else(|| damaged(differs(MANIFEST)))?,
        })
    }

    /// Copies all listed files and the manifest into a new directory.
    ///
    /// # Errors
    /// Returns an error if a file has changed, or cannot be read or written.
    pub fn copy(&self, to: &Path) -> Result<(), GuestError> {
        files::create_directory(to)?;
        // Each directory precedes its entries.
        for (name, entry) in &self.entries {
            let (from, to) = (self.directory.join(name), to.join(name));
            match entry.kind.as_str() {
                DIRECTORY => files::create_directory(&to)?,
                LINK => symlink(&entry.content, &to).map_err(GuestError::io("create", &to))?,
                _ => files::write(&to, &self.read(&from)?)?,
            }
        }
        files::write(&to.join(MANIFEST), self.text().as_bytes())
    }

    /// Returns the first difference between the directory and the manifest, if any, as an error.
    fn check_all(&self) -> Result<(), String> {
        let found = look(&self.directory).map_err(|error| unreadable("it", &error))?;
        for (name, entry) in &self.entries {
            let found = found.get(name).ok_or_else(|| format!("{name} is missing"))?;
            if !entry.looks_like(found) {
                return Err(differs(name));
            }
        }
        let additional = found.keys().find(|name| !self.entries.contains_key(*name));
        if let Some(name) = additional {
            return Err(format!("{name} does not belong there"));
        }
        for (name, digest) in digests(&self.directory, &self.entries) {
            let digest = digest.map_err(|error| unreadable(&name, &error))?;
            if digest != self.entries[&name].content {
                return Err(differs(&name));
            }
        }
        Ok(())
    }

    /// Returns true if the manifest lists the file.
    pub fn has(&self, path: &Path) -> bool {
        let entry = self.entries.get(&self.name(path));
        entry.is_some_and(|entry| entry.kind == FILE)
    }

    /// Returns the names of files that a directory must contain.
    pub fn files_in(&self, directory: &Path) -> impl Iterator<Item = &str> {
        let within = format!("{}/", self.name(directory));
        let files = self.entries.iter().filter(|(_, entry)| entry.kind == FILE);
        let names = files.filter_map(move |(name, _)| name.strip_prefix(&within));
        names.filter(|name| !name.contains('/'))
    }

    /// Returns the names of subdirectories that a directory must contain.
    pub fn directories_in(&self, directory: &Path) -> Vec<String> {
        let within = format!("{}/", self.name(directory));
        let directories = self.entries.iter().filter(|(_, entry)| entry.kind == DIRECTORY);
        let names = directories.filter_map(|(name, _)| name.strip_prefix(&within));
        names.filter(|name| !name.contains('/')).map(str::to_owned).collect()
    }

    /// Returns the expected digest of a file.
    pub fn digest_of(&self, path: &Path) -> Option<&str> {
        let entry = self.entries.get(&self.name(path))?;
        Some(&entry.content)
    }

    /// Reads a file and checks its content.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or has changed.
    pub fn read(&self, path: &Path) -> Result<Vec<u8>, GuestError> {
        let name = self.name(path);
        let damaged = |what| damaged(&self.directory, what);
        let content = files::read(path).map_err(|error| damaged(unreadable(&name, &error)))?;
        match self.digest_of(path) == Some(&hash::sha256_hex(&content)) {
            true => Ok(content),
            false => Err(damaged(differs(&name))),
        }
    }

    fn name(&self, path: &Path) -> String {
        let within = path.strip_prefix(&self.directory).unwrap_or(path);
        within.to_string_lossy().into_owned()
    }

    fn text(&self) -> String {
        let line = |(name, entry): (&String, &ManifestEntry)| {
            let ManifestEntry { kind, size, content } = entry;
            format!("{kind}\t{size}\t{content}\t{name}\n")
        };
        self.entries.iter().map(line).collect()
    }
}

impl ManifestEntry {
    fn of(path: &Path, metadata: &Metadata) -> io::Result<Self> {
        let kind = metadata.file_type();
        let (kind, size, content) = if kind.is_dir() {
            (DIRECTORY, 0, String::new())
        } else if kind.is_file() {
            (FILE, metadata.len(), String::new())
        } else if kind.is_symlink() {
            let target = fs::read_link(path)?;
            let target = target.to_string_lossy().into_owned();
            (LINK, metadata.len(), target)
        } else {
            (OTHER, 0, String::new())
        };
        Ok(Self { kind: kind.to_owned(), size, content })
    }

    /// Returns true if this entry may equal one whose content has not been read yet.
    fn looks_like(&self, other: &Self) -> bool {
        (&self.kind, self.size) == (&other.kind, other.size)
            && (self.kind == FILE || self.content == other.content)
    }
}

/// Lists everything in a directory except the manifest, without the digests of files.
fn look(directory: &Path) -> io::Result<BTreeMap<String, ManifestEntry>> {
    let mut entries = BTreeMap::new();
    let mut left = vec![PathBuf::new()];
    while let Some(below) = left.pop() {
        for found in fs::read_dir(directory.join(&below))? {
            let found = found?;
            let name = below.join(found.file_name());
            let entry = ManifestEntry::of(&found.path(), &found.metadata()?)?;
            if entry.kind == DIRECTORY {
                left.push(name.clone());
            }
            entries.insert(name.to_string_lossy().into_owned(), entry);
        }
    }
    entries.remove(MANIFEST);
    Ok(entries)
}

/// Computes the current digests of the files, by name.
fn digests(
    directory: &Path,
    entries: &BTreeMap<String, ManifestEntry>,
) -> impl Iterator<Item = (String, io::Result<String>)> + use<> {
    let files = entries.iter().filter(|(_, entry)| entry.kind == FILE);
    let names: Vec<String> = files.map(|(name, _)| name.clone()).collect();
    let paths: Vec<PathBuf> = names.iter().map(|name| directory.join(name)).collect();
    names.into_iter().zip(hash::sha256_files(&paths))
}

fn parse(text: &[u8]) -> Option<BTreeMap<String, ManifestEntry>> {
    let lines = str::from_utf8(text).ok()?.lines();
    let entry = |line: &str| {
        let mut fields = line.splitn(4, '\t');
        let entry = ManifestEntry {
            kind: fields.next()?.to_owned(),
            size: fields.next()?.parse().ok()?,
            content: fields.next()?.to_owned(),
        };
        Some((fields.next()?.to_owned(), entry))
    };
    lines.map(entry).collect()
}

/// Returns an error about damage in a directory, for `map_err`.
pub fn damaged(directory: &Path, what: String) -> GuestError {
    GuestError::Damaged { directory: directory.to_owned(), what }
}

/// Describes a file with unexpected contents.
pub fn differs(name: &str) -> String {
    format!("{name} differs")
}

/// Describes a file that cannot be read.
pub fn unreadable(name: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => format!("{name} is missing"),
        _ => format!("{name} cannot be read: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;
    use std::os::unix::fs::symlink;
    use tempfile::TempDir;

    /// Creates a directory with its manifest, and returns both with the digest of the manifest.
    fn directory() -> (TempDir, String) {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::create_dir_all(path("modules/kernel")).unwrap();
        fs::create_dir(path("empty")).unwrap();
        fs::write(path("modules/kernel/ext4.ko"), "a module").unwrap();
        fs::write(path("modules/kernel/jfs.ko"), "another1").unwrap();
        fs::write(path("vmlinux"), vec![1; 200_000]).unwrap();
        symlink("vmlinux", path("kernel")).unwrap();
        let digest = Manifest::of(directory.path()).unwrap().write().unwrap();
        (directory, digest)
    }

    fn error((directory, digest): &(TempDir, String)) -> String {
        let error = Manifest::check(directory.path(), digest).unwrap_err();
        let text = error.to_string();
        let (_, rest) = text.split_once(" is damaged (").expect(&text);
        rest.split_once("): ").expect(&text).0.to_owned()
    }

    #[test]
    fn accepts_an_unchanged_directory() {
        let (directory, digest) = directory();
        let manifest = Manifest::check(directory.path(), &digest).unwrap();
        assert_eq!(manifest, Manifest::of(directory.path()).unwrap());
        assert_eq!(manifest.digest(), digest);
    }

    /// Damages an intact directory and returns the reported difference.
    fn after(damage: impl FnOnce(&dyn Fn(&str) -> PathBuf)) -> String {
        let made = directory();
        damage(&|name| made.0.path().join(name));
        error(&made)
    }

    #[test]
    fn each_damage_is_found_and_named() {
        const MODULE: &str = "modules/kernel/ext4.ko";
        let content = |text: &'static str| after(|path| fs::write(path(MODULE), text).unwrap());
        for text in ["a modulf", "a modul", "", "a module "] {
            assert_eq!(content(text), "modules/kernel/ext4.ko differs", "{text:?}");
        }
        let removed = after(|path| fs::remove_file(path(MODULE)).unwrap());
        assert_eq!(removed, "modules/kernel/ext4.ko is missing");
        let removed = after(|path| fs::remove_dir(path("empty")).unwrap());
        assert_eq!(removed, "empty is missing");
        let added = after(|path| fs::write(path("modules/x.ko"), "").unwrap());
        assert_eq!(added, "modules/x.ko does not belong there");
        let linked = after(|path| {
            fs::remove_file(path("kernel")).unwrap();
            symlink("vmlinuz", path("kernel")).unwrap();
        });
        assert_eq!(linked, "kernel differs");
        let swapped = after(|path| {
            fs::rename(path(MODULE), path("x")).unwrap();
            fs::rename(path("modules/kernel/jfs.ko"), path(MODULE)).unwrap();
            fs::rename(path("x"), path("modules/kernel/jfs.ko")).unwrap();
        });
        assert_eq!(swapped, "modules/kernel/ext4.ko differs");
    }

    /// A pipe is not opened, which would block without a writer.
    #[test]
    fn detects_a_changed_file_type() {
        let pipe = after(|path| {
            fs::remove_file(path("vmlinux")).unwrap();
            mkfifo(&path("vmlinux"), Mode::S_IRWXU).unwrap();
        });
        assert_eq!(pipe, "vmlinux differs");
        let link = after(|path| {
            fs::rename(path("vmlinux"), path("empty/vmlinux")).unwrap();
            symlink("empty/vmlinux", path("vmlinux")).unwrap();
        });
        assert_eq!(link, "vmlinux differs");
    }

    #[test]
    fn rejects_a_changed_or_forged_manifest() {
        let forged = after(|path| {
            fs::write(path("vmlinux"), "another kernel").unwrap();
            fs::remove_file(path(MANIFEST)).unwrap();
            Manifest::of(&path("")).unwrap().write().unwrap();
        });
        assert_eq!(forged, "manifest differs");
        let cut = after(|path| fs::write(path(MANIFEST), "").unwrap());
        assert_eq!(cut, "manifest differs");
        let removed = after(|path| fs::remove_file(path(MANIFEST)).unwrap());
        assert_eq!(removed, "manifest is missing");
        let all = after(|path| fs::remove_dir_all(path("")).unwrap());
        assert_eq!(all, "it is no directory");
    }

    #[test]
    fn reads_a_file_only_if_it_is_unchanged() {
        let (directory, digest) = directory();
        let manifest = Manifest::check(directory.path(), &digest).unwrap();
        let module = directory.path().join("modules/kernel/ext4.ko");
        assert_eq!(manifest.read(&module).unwrap(), b"a module");
        assert!(manifest.has(&module) && !manifest.has(&directory.path().join("x")));
        let modules: Vec<&str> = manifest.files_in(module.parent().unwrap()).collect();
        assert_eq!(modules, ["ext4.ko", "jfs.ko"]);
        fs::write(&module, "a modulf").unwrap();
        let error = manifest.read(&module).unwrap_err().to_string();
        assert!(error.contains("modules/kernel/ext4.ko differs"), "{error}");
        fs::remove_file(&module).unwrap();
        let error = manifest.read(&module).unwrap_err().to_string();
        assert!(error.contains("modules/kernel/ext4.ko is missing"), "{error}");
    }
}
