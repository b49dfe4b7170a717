//! Direct I/O, which bypasses the page cache (`O_DIRECT`). Support is tested on each target and
//! never assumed. A refusal is reported as `unsupported`, with the error of the filesystem.

use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use sys::fs::aligned::{AlignedBuffer, direct_alignment};
use sys::mount::mounts;

use crate::error::{OpContext, OpError};
use crate::io::target::{IoFile, OpenMode};

/// Alignments to try if the kernel does not report the required one: common sector sizes.
const FALLBACK_ALIGNMENTS: [usize; 2] = [512, 4096];

/// Name in reasons.
const NAME: &str = "O_DIRECT";

/// Name of the file for the write test.
const TRIAL: &str = "direct-trial";

/// Returns the required alignment of offsets, lengths and sizes for direct I/O on a file. Writing
/// is tested on a temporary file in the same directory. `first` is the first thread of this host.
///
/// # Errors
/// Returns [`OpError::Unsupported`] if the filesystem refuses direct I/O.
pub fn alignment(file: &Path, writes: bool, first: u32) -> Result<u64, OpError> {
    if !writes {
        return try_on(file, OpenMode::ReadOnly);
    }
    on_trial_file(&trial_path(file, TRIAL, first), |trial| try_on(trial, OpenMode::CreateNew))
}

/// Returns the path of a trial file next to a file. Hosts that work in the same directory have different
/// first threads.
pub fn trial_path(file: &Path, name: &str, first: u32) -> PathBuf {
    match first {
        0 => file.with_file_name(name),
        first => file.with_file_name(format!("{name}.{first}")),
    }
}

/// Tries something on a file that it creates, and removes the file.
///
/// # Errors
/// Returns the error of the trial, or an error if the file cannot be removed.
pub fn on_trial_file<T>(
    trial: &Path,
    test: impl FnOnce(&Path) -> Result<T, OpError>,
) -> Result<T, OpError> {
    let found = test(trial);
    match fs::remove_file(trial) {
        // If the file could not be created, the error of the trial applies.
        Err(e) if e.kind() == io::ErrorKind::NotFound => found,
        other => found.and_then(|found| other.with_call("unlink", trial).map(|()| found)),
    }
}

fn try_on(path: &Path, how: OpenMode) -> Result<u64, OpError> {
    let opened = IoFile::open(path, 0, how, OFlag::O_DIRECT);
    let target = opened.map_err(|error| refusal(path, NAME, error))?;
    match direct_alignment(&target.file) {
        Some(0) => Err(unsupported(path, NAME, "refused by this file")),
        Some(alignment) => Ok(alignment),
        None => try_requests(&target, how == OpenMode::CreateNew),
    }
}

/// Returns the smallest alignment at which a request succeeds.
fn try_requests(target: &IoFile, writes: bool) -> Result<u64, OpError> {
    let mut refused = None;
    for length in FALLBACK_ALIGNMENTS {
        let mut buffer = AlignedBuffer::new(length, FALLBACK_ALIGNMENTS[1]);
        let written = if writes {
            target.file.write_all_at(&buffer, 0).at("pwrite", &target.path, 0)
        } else {
            Ok(())
        };
        let mut read = || target.file.read_at(&mut buffer, 0).at("pread", &target.path, 0);
        match written.and_then(|()| read()) {
            Ok(_) => return Ok(length as u64),
            Err(error) => refused = Some(error),
        }
    }
    Err(refusal(&target.path, NAME, refused.expect("something was tried")))
}

/// Converts an error to `Unsupported` if it is a refusal of something with this name.
pub fn refusal(path: &Path, name: &str, error: OpError) -> OpError {
    let refuses = [Errno::EINVAL, Errno::EOPNOTSUPP, Errno::ENOSYS];
    match error.errno().map(Errno::from_raw) {
        Some(errno) if refuses.contains(&errno) => {
            unsupported(path, name, &format!("refused: {errno:?}"))
        }
        _ => error,
    }
}

fn unsupported(path: &Path, name: &str, why: &str) -> OpError {
    let place = path.parent().unwrap_or(path);
    let kind = mounts::fs_type_of(place).unwrap_or_else(|| "the filesystem".into());
    OpError::Unsupported { reason: format!("{kind}: {name} {why}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_is_unsupported_with_its_errno() {
        let error = alignment(Path::new("/proc/self/mounts"), false, 0).unwrap_err();
        assert!(matches!(error, OpError::Unsupported { .. }), "{error}");
        assert_eq!(error.to_string(), "proc: O_DIRECT refused: EINVAL");
    }

    #[test]
    fn a_missing_file_is_no_refusal() {
        let place = tempfile::tempdir().unwrap();
        let error = alignment(&place.path().join("f"), false, 0).unwrap_err();
        assert!(matches!(error, OpError::System { .. }), "{error}");
    }

    #[test]
    fn trial_removes_its_file() {
        let place = tempfile::tempdir().unwrap();
        if let Ok(alignment) = alignment(&place.path().join("f"), true, 0) {
            assert!(alignment.is_power_of_two());
        }
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }
}
