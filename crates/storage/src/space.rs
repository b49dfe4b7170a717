//! How much room a mounted filesystem has.

use std::io;
use std::path::Path;

use model::Bytes;
use nix::sys::statvfs::statvfs;

use crate::ProvisionError;

/// Part of what is needed that must stay free beside it: one in so many, that is 5 %.
const RESERVE: u64 = 20;

/// Bytes that an ordinary user may still fill on the filesystem of an existing path.
///
/// # Errors
/// What the kernel says.
pub fn available(path: &Path) -> io::Result<Bytes> {
    let space = statvfs(path)?;
    Ok(Bytes(
        space
            .blocks_available()
            .saturating_mul(space.fragment_size()),
    ))
}

/// Checks that the filesystem of an existing directory has room for so much and 5 % more.
///
/// # Errors
/// When it has not; the message ends with the advice, which names the options that help.
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
    Err(ProvisionError::NoSpace {
        path: directory.to_owned(),
        needed,
        available,
        advice,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_how_much_is_missing_and_what_helps() {
        let directory = tempfile::tempdir().unwrap();
        require_free_space(directory.path(), Bytes(1), "unused").unwrap();
        let error =
            require_free_space(directory.path(), Bytes(u64::MAX / 2), "use --size").unwrap_err();
        let line = error.to_string();
        assert!(
            line.contains("are missing; use --size") && line.lines().count() == 1,
            "{line}"
        );
    }

    #[test]
    fn the_reserve_is_part_of_what_is_needed() {
        let directory = tempfile::tempdir().unwrap();
        let most = available(directory.path()).unwrap();
        assert!(require_free_space(directory.path(), most, "").is_err());
    }
}
