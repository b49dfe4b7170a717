//! Key of a cell in virtual time: the digest of all inputs that determine its results.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use model::Bytes;
use sha2::{Digest, Sha256};
use sys::io::bounded;

/// Version of the key. Change it if a new run could give results other than the stored ones, for a
/// reason that no part of the key covers.
const VERSION: &[u8] = b"cell 1";
/// Maximum size of the version output of a program, and the time that it may take.
const MAX_VERSION_SIZE: Bytes = Bytes::kib(64);
const VERSION_LIMIT: Duration = Duration::from_secs(30);

/// A digest (SHA-256), usually of all inputs of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CellKey([u8; 32]);

/// In hexadecimal.
impl fmt::Display for CellKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Digest of the inputs of a cell, added part by part.
pub struct KeyBuilder(Sha256);

impl KeyBuilder {
    /// Nothing yet.
    pub fn new() -> Self {
        let mut parts = Self(Sha256::new());
        parts.add("version", VERSION);
        parts
    }

    /// Adds a part. Its lengths are included, so that different parts cannot give the same input.
    pub fn add(&mut self, name: &str, content: &[u8]) {
        for bytes in [name.as_bytes(), content] {
            self.0.update((bytes.len() as u64).to_le_bytes());
            self.0.update(bytes);
        }
    }

    /// Returns the key of all added parts.
    pub fn key(self) -> CellKey {
        CellKey(self.0.finalize().into())
    }
}

impl CellKey {
    /// Returns the digest of a byte string.
    pub fn sha256(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Returns the first 64 bits, which are uniformly distributed.
    pub fn number(&self) -> u64 {
        self.0.iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
    }
}

/// Returns the digest of a file.
pub fn digest(path: &Path) -> io::Result<[u8; 32]> {
    Ok(CellKey::sha256(&fs::read(path)?).0)
}

/// Returns the digest of a large file that many cells share. Computes it once, until length, times
/// or inode number of the file change.
pub fn cached_digest(path: &Path) -> io::Result<[u8; 32]> {
    type Identity = (PathBuf, [u64; 2], [i64; 4]);
    static KNOWN: Mutex<BTreeMap<Identity, [u8; 32]>> = Mutex::new(BTreeMap::new());
    let file = File::open(path)?.metadata()?;
    let times = [file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec()];
    let identity = (path.to_owned(), [file.ino(), file.len()], times);
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(digest) = known().get(&identity) {
        return Ok(*digest);
    }
    let digest = digest(path)?;
    known().insert(identity, digest);
    Ok(digest)
}

/// Returns the version output of a program, cached per process. Gives up if `stop` becomes true, or
/// after [`VERSION_LIMIT`].
pub fn version(program: &OsStr, stop: &AtomicBool) -> io::Result<String> {
    static KNOWN: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(version) = known.get(Path::new(program)) {
        return Ok(version.clone());
    }
    let since = Instant::now();
    let gives_up = || stop.load(Ordering::Relaxed) || since.elapsed() > VERSION_LIMIT;
    let mut asked = Command::new(program);
    let output = bounded::output(asked.arg("--version"), MAX_VERSION_SIZE, &gives_up)?;
    if !output.status.success() || output.stdout.is_empty() {
        let program = program.to_string_lossy();
        return Err(io::Error::other(format!("{program} does not report a version")));
    }
    let version = String::from_utf8_lossy(&output.stdout).into_owned();
    known.insert(program.into(), version.clone());
    Ok(version)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn key(parts: &[(&str, &str)]) -> CellKey {
        let mut all = KeyBuilder::new();
        for (name, content) in parts {
            all.add(name, content.as_bytes());
        }
        all.key()
    }

    #[test]
    fn each_part_and_each_border_between_parts_counts() {
        let keys = [
            key(&[]),
            key(&[("a", "b")]),
            key(&[("a", "c")]),
            key(&[("ab", "")]),
            key(&[("a", "b"), ("", "")]),
            key(&[("a", ""), ("b", "")]),
        ];
        for (index, one) in keys.iter().enumerate() {
            assert!(!keys[..index].contains(one), "{index}");
        }
        assert_eq!(keys[1], key(&[("a", "b")]));
        assert_eq!(keys[0].to_string().len(), 64);
    }

    #[test]
    fn a_file_that_changes_has_another_digest() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "one").unwrap();
        let first = cached_digest(&path).unwrap();
        assert_eq!(cached_digest(&path).unwrap(), first);
        fs::write(&path, "three").unwrap();
        let second = cached_digest(&path).unwrap();
        assert_ne!(first, second);
        assert_eq!(digest(&path).unwrap(), second);
        assert!(cached_digest(&directory.path().join("none")).is_err());
    }

    #[test]
    fn version_of_a_program_is_read_or_an_error_if_missing() {
        let version = |program: &Path, stop| version(program.as_os_str(), &AtomicBool::new(stop));
        assert!(version(Path::new("env"), false).unwrap().contains("env"));
        assert!(version(Path::new("no-such-program"), false).is_err());
        assert!(version(Path::new("false"), false).is_err());
        // A program without an end, one that prints too much, and one whose child keeps its output.
        let directory = tempfile::tempdir().unwrap();
        let script = |name: &str, text: &str| {
            let path = directory.path().join(name);
            fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let silent = version(&script("silent", "sleep 600 & exit 0"), true).unwrap_err();
        assert_eq!(silent.kind(), io::ErrorKind::Interrupted);
        let endless = version(&script("endless", "exec cat /dev/zero"), false).unwrap_err();
        assert_eq!(endless.kind(), io::ErrorKind::InvalidData);
    }
}
