//! Checks whether the owner of a file can be relied upon, and whether others may write to it.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use nix::unistd::geteuid;

use super::UntrustedPath;

/// Write permission of the group.
pub const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;

/// Refuses a path whose last component is a link or a pipe made by another user.
///
/// # Errors
/// Returns an error if it is one.
pub fn check_owner(path: &Path) -> Result<(), UntrustedPath> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_char_device() && !is_trusted(found.uid()) => {
            Err(UntrustedPath::NotOwned { path: path.to_owned(), owner: found.uid() })
        }
        _ => Ok(()),
    }
}

/// Returns the default permissions of a file: read and write for all users, minus umask(2).
pub fn default_mode() -> u32 {
    const RW_ALL_MODE: u32 = 0o666;
    const RESTRICTIVE_UMASK: u32 = 0o077;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    let mask = mask.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok());
    RW_ALL_MODE & !mask.unwrap_or(RESTRICTIVE_UMASK)
}

/// Whether users other than the owner and root may write. Group permissions count only if this
/// process is root. Even so, root's group does not count, nor does a group with the owner's number:
/// Debian creates one for each user, with that user as its only member.
pub fn is_writable_by_others(mode: u32, owner: u32, group: u32) -> bool {
    let group_is_else = group != 0 && group != owner && geteuid().is_root();
    mode & OTHERS_WRITE != 0 || (mode & GROUP_WRITES != 0 && group_is_else)
}

/// Returns true for an owner who can be trusted: root, the current user, or the user who called
/// sudo.
#[must_use]
pub fn is_trusted(owner: u32) -> bool {
    owner == 0 || owner == geteuid().as_raw() || Some(owner) == sudo_uid()
}

/// Returns the user who became root by sudo(8), or `None` if sudo was not used.
pub fn sudo_uid() -> Option<u32> {
    let is_root = geteuid().is_root();
    let caller = std::env::var("SUDO_UID").ok().filter(|_| is_root)?;
    caller.parse().ok().filter(|uid| *uid != 0)
}
