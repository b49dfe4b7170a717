//! Files and directories of a cache. They are created for their user only, independent of the
//! umask, and only plain files are read.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, lchown};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::unistd::{Gid, Uid};
use sys::fs::plain_file;
use sys::fs::safe_path::SafeDir;

use crate::GuestError;

/// Maximum wait for the removal of files after an interrupt: Ctrl-C must end the program within two
/// seconds.
const REMOVE_TIMEOUT: Duration = Duration::from_millis(1500);

/// Maximum size of a file that is read into memory, in bytes. Kernels with all symbols are smaller.
const MAX_FILE_SIZE: u64 = 1 << 30;

/// Creates a directory and its missing parents.
pub fn create_directory(directory: &Path) -> Result<(), GuestError> {
    let mut builder = DirBuilder::new();
    let created = builder.recursive(true).mode(0o700).create(directory);
    created.map_err(GuestError::io("create", directory))
}

/// Creates a file that does not exist yet.
pub fn create(path: &Path) -> Result<File, GuestError> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600).open(path);
    file.map_err(GuestError::io("create", path))
}

/// Writes a new file, which must not exist yet.
pub fn write(path: &Path, content: &[u8]) -> Result<(), GuestError> {
    let written = create(path)?.write_all(content);
    written.map_err(GuestError::io("write", path))
}

/// Reads a plain file of the cache.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    plain_file::read_open(plain_file::open_unlinked(path)?, MAX_FILE_SIZE)
}

/// Reads a file of the user, such as a kernel or a program. Follows links.
pub fn read_of_user(path: &Path) -> Result<Vec<u8>, GuestError> {
    plain_file::read(path, MAX_FILE_SIZE).map_err(GuestError::io("read", path))
}

/// Removes the path recursively and returns true if it no longer exists. After an interrupt it
/// waits only a short time; the removal then continues in the background while the process lives.
pub fn remove(path: &Path, stop: &AtomicBool) -> bool {
    let whole = path.to_owned();
    let removal = thread::Builder::new().spawn(move || remove_whole(&whole));
    let mut asked = None;
    // If no thread can be started, the removal runs here and cannot be interrupted.
    let removal = removal.inspect_err(|_| remove_whole(path));
    while removal.as_ref().is_ok_and(|removal| !removal.is_finished()) {
        let is_asked = stop.load(Ordering::Relaxed);
        if is_asked && asked.get_or_insert_with(Instant::now).elapsed() > REMOVE_TIMEOUT {
            break;
        }
        thread::sleep(Duration::from_millis(1));
    }
    fs::symlink_metadata(path).is_err()
}

/// Removes a path recursively. The caller checks whether it still exists.
fn remove_whole(path: &Path) {
    let name = path.file_name().unwrap_or_default();
    let around = path.parent().unwrap_or(Path::new("/"));
    let _ = SafeDir::open(around).and_then(|around| around.remove_tree(name));
}

/// Removes the write permission of other users from the output of a program, and changes its owner
/// to the user for whom it was built.
pub fn close_to_others(path: &Path, owner: Option<(Uid, Gid)>) -> io::Result<()> {
    const OTHERS: u32 = 0o022;
    if let Some((owner, group)) = owner {
        lchown(path, Some(owner.as_raw()), Some(group.as_raw()))?;
    }
    let found = fs::symlink_metadata(path)?;
    if found.is_symlink() {
        return Ok(());
    }
    let mode = found.permissions().mode();
    if mode & OTHERS != 0 {
        fs::set_permissions(path, Permissions::from_mode(mode & !OTHERS))?;
    }
    if found.is_dir() {
        for entry in fs::read_dir(path)? {
            close_to_others(&entry?.path(), owner)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;
    use std::os::unix::fs::symlink;

    #[test]
    fn new_files_and_directories_are_private() {
        let directory = tempfile::tempdir().unwrap();
        let (deep, file) = (directory.path().join("a/b"), directory.path().join("a/c"));
        create_directory(&deep).unwrap();
        write(&file, b"content").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&deep), mode(&directory.path().join("a"))), (0o700, 0o700));
        assert_eq!((mode(&file), read(&file).unwrap()), (0o600, b"content".to_vec()));
        assert!(write(&file, b"again").is_err());
    }

    #[test]
    fn removes_write_permission_of_others_recursively() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::create_dir(path("a")).unwrap();
        fs::write(path("a/b"), "").unwrap();
        symlink("/dev/null", path("a/c")).unwrap();
        for (name, mode) in [("a", 0o2777), ("a/b", 0o664)] {
            fs::set_permissions(path(name), Permissions::from_mode(mode)).unwrap();
        }
        close_to_others(&path("a"), None).unwrap();
        let mode = |name| fs::metadata(path(name)).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode("a"), mode("a/b")), (0o2755, 0o644));
        assert_ne!(mode("a/c") & 0o022, 0, "the target of a link must not change");
    }

    #[test]
    fn reads_only_plain_files_and_never_blocks() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("file"), "content").unwrap();
        symlink("file", path("link")).unwrap();
        mkfifo(&path("pipe"), Mode::S_IRWXU).unwrap();
        for name in ["link", "pipe", "none", "."] {
            assert!(read(&path(name)).is_err(), "{name}");
        }
    }

    #[test]
    fn removes_files_links_and_directories() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("file"), "content").unwrap();
        fs::create_dir_all(path("directory/below")).unwrap();
        symlink("file", path("link")).unwrap();
        fs::write(path("directory/below/file"), "content").unwrap();
        for stop in [false, true].map(AtomicBool::new) {
            for name in ["link", "directory", "none"] {
                assert!(remove(&path(name), &stop), "{name}");
                assert!(fs::symlink_metadata(path(name)).is_err(), "{name}");
            }
        }
        assert_eq!(fs::read_to_string(path("file")).unwrap(), "content");
    }
}
