//! Names derived from all inputs of an artifact (including the state of this machine's apt), and
//! digests that detect damaged files.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread::{self, ScopedJoinHandle};
use std::time::UNIX_EPOCH;

use sha2::{Digest, Sha256};

use sys::fs::plain_file;

/// Files that determine apt's answers: its settings and its lists.
const FILES: [&str; 2] = ["/etc/apt/sources.list", "/etc/apt/preferences"];
const DIRECTORIES: [&str; 3] =
    ["/etc/apt/sources.list.d", "/etc/apt/preferences.d", "/var/lib/apt/lists"];

/// Returns a name of 16 letters for this content (64-bit FNV-1a). The hash does not protect against
/// deliberate collisions.
pub fn name(content: &[u8]) -> String {
    let hash = content.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// Returns the SHA-256 digest of some bytes, in hexadecimal.
pub fn sha256_hex(content: &[u8]) -> String {
    in_hexadecimal(Sha256::digest(content).as_slice())
}

/// Returns the digest of a plain file.
pub fn sha256_file(path: &Path) -> io::Result<String> {
    let mut file = plain_file::open_unlinked(path)?;
    let mut digest = Sha256::new();
    let mut piece = vec![0; 128 << 10];
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(in_hexadecimal(digest.finalize().as_slice())),
            Ok(length) => digest.update(&piece[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns the digests of many files, computed on all processors.
pub fn sha256_files(paths: &[PathBuf]) -> Vec<io::Result<String>> {
    let mut left: Vec<usize> = (0..paths.len()).collect();
    // Starts with the largest file, which is last in this list, because its digest takes as long as
    // all others.
    let size = |&index: &usize| fs::metadata(&paths[index]).map_or(0, |file| file.len());
    left.sort_by_cached_key(size);
    let left = Mutex::new(left);
    let take = || left.lock().ok()?.pop();
    let work = || {
        let indices = std::iter::from_fn(take);
        indices.map(|index| (index, sha256_file(&paths[index]))).collect()
    };
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let mut digests: Vec<(usize, io::Result<String>)> = thread::scope(|scope| {
        // If no thread can be started, this thread does all the work.
        let start = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
        let workers: Vec<_> = (1..processors).filter_map(start).collect();
        let mut digests: Vec<_> = work();
        let done = workers.into_iter().map(ScopedJoinHandle::join);
        digests.extend(done.flat_map(|digests| digests.expect("no digest panics")));
        digests
    });
    digests.sort_by_key(|(index, _)| *index);
    digests.into_iter().map(|(_, digest)| digest).collect()
}

fn in_hexadecimal(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a hash that changes whenever apt's answers may change.
pub fn apt_state_hash() -> String {
    let mut text: String = FILES.iter().map(|file| state(Path::new(file))).collect();
    for directory in DIRECTORIES {
        text += &directory_hash(Path::new(directory));
    }
    name(text.as_bytes())
}

/// Lists the files of a directory with their sizes and modification times, one per line, sorted by
/// name.
pub fn directory_hash(directory: &Path) -> String {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut lines: Vec<String> = entries.map(|entry| state(&entry.path())).collect();
    lines.sort();
    lines.concat()
}

/// Returns the path, size and modification time of a plain file as one line, or an empty string for
/// all other paths.
fn state(path: &Path) -> String {
    let Ok(metadata) = fs::metadata(path) else {
        return String::new();
    };
    if !metadata.is_file() {
        return String::new();
    }
    let changed = metadata.modified().ok();
    let changed = changed.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let nanos = changed.map_or(0, |time| time.as_nanos());
    format!("{} {} {nanos}\n", path.display(), metadata.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_changes_the_state_of_its_directory() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("a"), "1").unwrap();
        let before = directory_hash(directory.path());
        assert_eq!(directory_hash(directory.path()), before);
        fs::write(directory.path().join("a"), "12").unwrap();
        assert_ne!(directory_hash(directory.path()), before);
    }

    #[test]
    fn file_digests_match_contents_and_order() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        // Example from FIPS 180-2.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256_hex(b"abc"), abc);
        fs::write(path("long"), vec![7; 300_000]).unwrap();
        fs::write(path("abc"), "abc").unwrap();
        let paths = ["long", "none", "abc"].map(path);
        let digests = sha256_files(&paths);
        assert_eq!(digests[0].as_ref().unwrap(), &sha256_hex(&vec![7; 300_000]));
        assert_eq!(digests[1].as_ref().unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(digests[2].as_ref().unwrap(), abc);
        assert_eq!(sha256_files(&[]).len(), 0);
    }

    #[test]
    fn different_contents_have_different_names() {
        assert_eq!(name(b""), "cbf29ce484222325");
        assert_ne!(name(b"a"), name(b"b"));
    }
}
