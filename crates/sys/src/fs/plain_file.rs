//! Opens and reads the files that a user names, and files in directories that other users may
//! change: never waits for a pipe, never opens a device, never reads more than a given size.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use model::Bytes;
use nix::fcntl::OFlag;

/// Opens a regular file for reading, and follows links.
///
/// # Errors
/// Returns an error if the file cannot be opened, or is not a regular file
/// ([`io::ErrorKind::InvalidInput`]).
pub fn open(path: &Path) -> io::Result<File> {
    open_with(path, OFlag::empty())
}

/// Opens a regular file for reading like [`open`], but not a link.
///
/// # Errors
/// Returns the errors of [`open`], and an error if the path is a link.
pub fn open_unlinked(path: &Path) -> io::Result<File> {
    open_with(path, OFlag::O_NOFOLLOW)
}

fn open_with(path: &Path, flags: OFlag) -> io::Result<File> {
    // Opening a device can have effects, such as starting a watchdog.
    require_plain(&fs::metadata(path).map_err(without_loop)?)?;
    let mut options = OpenOptions::new();
    let flags = flags | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let file = options.read(true).custom_flags(flags.bits()).open(path).map_err(without_loop)?;
    require_plain(&file.metadata()?)?;
    Ok(file)
}

fn require_plain(found: &fs::Metadata) -> io::Result<()> {
    let kind = found.file_type();
    let kind = match () {
        () if kind.is_file() => return Ok(()),
        () if kind.is_dir() => "directory",
        () if kind.is_fifo() => "pipe",
        () if kind.is_socket() => "socket",
        () => "device",
    };
    Err(refused(format!("it is a {kind}; name a regular file")))
}

fn without_loop(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::ELOOP) => {
            refused("it is a link that leads to itself; name a regular file".to_owned())
        }
        _ => error,
    }
}

/// Returns the content of a plain file of at most `most` bytes.
///
/// # Errors
/// Returns the errors of [`open`], and an error if it is larger ([`io::ErrorKind::InvalidInput`])
/// or cannot be read.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_open(open(path)?, most)
}

/// Returns the content of an open plain file from its position on.
///
/// # Errors
/// Returns an error if the file is larger than `most` ([`io::ErrorKind::InvalidInput`]) or cannot
/// be read.
pub fn read_open(file: File, most: u64) -> io::Result<Vec<u8>> {
    let found = file.metadata()?;
    require_plain(&found)?;
    match found.len() <= most {
        true => read_stream(file, most),
        false => Err(too_large(most)),
    }
}

/// Returns the content of a plain file like [`read`], or of an unnamed pipe, such as the `<(command)`
/// of a shell. A named pipe is refused, because no writer may come.
///
/// # Errors
/// Returns the errors of [`read`].
pub fn read_or_wait(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let is_pipe = fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo());
    // The link of an unnamed pipe in /proc leads to no name.
    match is_pipe && fs::canonicalize(path).is_err() {
        true => read_stream(File::open(path)?, most),
        false => read(path, most),
    }
}

/// Reads a stream to its end, such as standard input.
///
/// # Errors
/// Returns an error if it has more than `most` bytes ([`io::ErrorKind::InvalidInput`]) or cannot
/// be read.
pub fn read_stream(stream: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = stream.take(most + 1).read_to_end(&mut bytes);
    read.map_err(|error| match error.kind() {
        // A file of the kernel that delivers events, such as /proc/kmsg.
        io::ErrorKind::WouldBlock => refused("it has no end; name a regular file".to_owned()),
        _ => error,
    })?;
    match bytes.len() as u64 <= most {
        true => Ok(bytes),
        false => Err(too_large(most)),
    }
}

fn too_large(most: u64) -> io::Error {
    refused(format!("it is larger than {}", Bytes(most)))
}

fn refused(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use nix::sys::stat::Mode;

    use super::*;

    const MOST: u64 = 4;

    #[test]
    fn only_plain_files_that_are_small_enough_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        symlink(path("around"), path("around")).unwrap();
        symlink("file", path("link")).unwrap();
        symlink("/proc/kmsg", path("kernel")).unwrap();
        fs::write(path("file"), "1234").unwrap();
        fs::write(path("long"), "12345").unwrap();
        File::create(path("sparse")).unwrap().set_len(1 << 40).unwrap();
        nix::unistd::mkfifo(&path("pipe"), Mode::S_IRWXU).unwrap();
        let _socket = UnixListener::bind(path("socket")).unwrap();
        for name in ["file", "link"] {
            assert_eq!(read(&path(name), MOST).unwrap(), b"1234");
        }
        assert!(open_unlinked(&path("file")).is_ok());
        assert!(open_unlinked(&path("link")).is_err());
        let names = ["long", "sparse", "around", "pipe", "socket", "."].map(path);
        let devices = ["/dev/zero", "/dev/null", "/dev/tty"].map(|path| path.into());
        for path in names.into_iter().chain(devices) {
            let error = read(&path, MOST).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{path:?}: {error}");
        }
        assert_eq!(read(&path("long"), MOST).unwrap_err().to_string(), "it is larger than 4 B");
        // An ordinary user cannot open it, and root gets all messages and then no end.
        assert!(read(&path("kernel"), 1 << 30).is_err());
    }

    #[test]
    fn each_kind_of_file_is_named() {
        for (path, kind) in [("/", "directory"), ("/dev/null", "device")] {
            let error = read(Path::new(path), MOST).unwrap_err().to_string();
            assert_eq!(error, format!("it is a {kind}; name a regular file"));
        }
    }

    #[test]
    fn unnamed_pipes_are_read_if_it_is_allowed_and_named_ones_are_refused() {
        for (text, expected) in [("1234", Some("1234")), ("12345", None)] {
            let (reader, mut writer) = io::pipe().unwrap();
            writer.write_all(text.as_bytes()).unwrap();
            drop(writer);
            let path = format!("/dev/fd/{}", reader.as_raw_fd());
            assert!(read(Path::new(&path), MOST).is_err(), "it is allowed");
            let read = read_or_wait(Path::new(&path), MOST);
            assert_eq!(read.ok().as_deref(), expected.map(str::as_bytes));
        }
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        nix::unistd::mkfifo(&pipe, Mode::S_IRWXU).unwrap();
        let error = read_or_wait(&pipe, MOST).unwrap_err().to_string();
        assert_eq!(error, "it is a pipe; name a regular file");
    }
}
