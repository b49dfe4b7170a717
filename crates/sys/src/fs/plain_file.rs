//! Reads plain files in directories that other users may change: never waits for a pipe, never
//! reads a device, and never reads more than a given size.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a regular file for reading, and follows links.
///
/// # Errors
/// Returns an error if the file cannot be opened, or is not a regular file
/// ([`io::ErrorKind::InvalidInput`]).
pub fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(libc::O_NONBLOCK).open(path);
    let file = file.map_err(|error| match error.raw_os_error() {
        Some(libc::ELOOP) => refused("it is a link that leads to itself"),
        _ => error,
    })?;
    require_plain(&file)?;
    Ok(file)
}

/// Returns the content of a plain file of at most `most` bytes.
///
/// # Errors
/// Returns the errors of [`open`], and an error if it is larger ([`io::ErrorKind::InvalidInput`])
/// or cannot be read.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    content(open(path)?, most)
}

pub(super) fn content(file: File, most: u64) -> io::Result<Vec<u8>> {
    require_plain(&file)?;
    let mut bytes = Vec::new();
    if file.metadata()?.len() <= most {
        file.take(most + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 <= most {
            return Ok(bytes);
        }
    }
    Err(refused("it is larger than it can be"))
}

fn require_plain(file: &File) -> io::Result<()> {
    match file.metadata()?.is_file() {
        true => Ok(()),
        false => Err(refused("it is no plain file")),
    }
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

#[cfg(test)]
mod tests {
    use nix::sys::stat::Mode;

    use super::*;

    #[test]
    fn only_plain_files_that_are_small_enough_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let [file, pipe] = ["file", "pipe"].map(|name| directory.path().join(name));
        let around = directory.path().join("around");
        std::os::unix::fs::symlink(&around, &around).unwrap();
        std::fs::write(&file, "1234").unwrap();
        nix::unistd::mkfifo(&pipe, Mode::S_IRWXU).unwrap();
        assert_eq!(read(&file, 4).unwrap(), b"1234");
        for (path, most) in [
            (file.as_path(), 3),
            (&pipe, 3),
            (&around, 3),
            (directory.path(), 3),
            (Path::new("/dev/zero"), 3),
        ] {
            let error = read(path, most).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{path:?}");
        }
    }
}
