//! Free space of a mounted filesystem.

use std::io;
use std::path::Path;

use model::Bytes;
use nix::sys::statvfs::statvfs;

use crate::ProvisionError;

/// Divisor of the required size that gives the reserve: 20, that is 5 %.
const RESERVE: u64 = 20;

/// Returns the bytes available to an unprivileged user on the filesystem of an existing path.
///
/// # Errors
/// Returns the error of statvfs(3).
pub fn available(path: &Path) -> io::Result<Bytes> {
    let space = statvfs(path)?;
    Ok(Bytes(space.blocks_available().saturating_mul(space.fragment_size())))
}

/// Checks that the filesystem of an existing directory has room for `needed` bytes and 5 % more.
///
/// # Errors
/// Returns an error if it does not; the message ends with `advice`, which names the options that
/// help.
pub fn require_free_space(
    directory: &Path,
    needed: Bytes,
    advice: &'static str,
) -> Result<(), ProvisionError> {
    let available =
        available(directory).map_err(ProvisionError::io("ask for the free space of", directory))?;
    let needed = Bytes(needed.0.saturating_add(needed.0 / RESERVE));
    if available >= needed {
        return Ok(());
    }
    Err(ProvisionError::NoSpace { path: directory.to_owned(), needed, available, advice })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_the_missing_space_and_the_option_to_use() {
        let directory = tempfile::tempdir().unwrap();
        require_free_space(directory.path(), Bytes(1), "unused").unwrap();
        let error =
            require_free_space(directory.path(), Bytes(u64::MAX / 2), "use --size").unwrap_err();
        let line = error.to_string();
        assert!(line.contains("are missing; use --size") && line.lines().count() == 1, "{line}");
    }

    #[test]
    fn the_reserve_is_part_of_the_needed_space() {
        let directory = tempfile::tempdir().unwrap();
        let most = available(directory.path()).unwrap();
        assert!(require_free_space(directory.path(), most, "").is_err());
    }
}
