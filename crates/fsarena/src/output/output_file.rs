//! Output files. They are written completely or not at all, and never through a symbolic link of
//! another user.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use nix::fcntl::OFlag;
use nix::sys::stat::makedev;
use sys::fs::safe_path::{self, SafeDir};

use crate::output::exit::{EnvironmentError, ExitReason, UsageError};
use crate::output::text::print_unwrapped;

/// Returns the requested format, or the format for the ending of the output file. The first of
/// `endings` is the default. Also checks that the directory of the file exists.
///
/// # Errors
/// Returns an error if the ending is unknown or the directory does not exist.
pub fn format<'a>(
    requested: Option<&'a str>,
    output: Option<&Path>,
    endings: &[(&str, &'a str)],
) -> Result<&'a str, UsageError> {
    if let Some(path) = output {
        require_directory(path)?;
    }
    let ending = output.and_then(Path::extension).map(OsStr::to_string_lossy);
    let (Some(path), Some(ending), None) = (output, ending, requested) else {
        return Ok(requested.unwrap_or(endings[0].1));
    };
    let known = endings.iter().find(|(known, _)| *known == ending);
    known.map(|(_, format)| *format).ok_or_else(|| {
        let known: Vec<String> = endings.iter().map(|(known, _)| format!(".{known}")).collect();
        UsageError(format!(
            "cannot write {}: no format has the ending .{ending}; use {}, or add --format",
            path.display(),
            known.join(", ")
        ))
    })
}

/// Error for a build without Parquet support, with the command that adds it.
#[cfg(not(feature = "parquet"))]
pub const NO_PARQUET: &str =
    "this fsarena was built without Parquet: cargo build --release --features parquet";

/// Writes Parquet, which is not text, to a file.
pub fn write_parquet(
    output: Option<&Path>,
    bytes: Result<Vec<u8>, String>,
) -> anyhow::Result<ExitCode> {
    let bytes = bytes.map_err(EnvironmentError)?;
    let none = || UsageError("cannot print Parquet: it is not text; name a file with -o".into());
    write(output.ok_or_else(none)?, &bytes)?;
    Ok(ExitReason::Success.into())
}

/// Writes a text to a file or to standard output.
pub fn write_or_print(output: Option<&Path>, text: &str) -> anyhow::Result<ExitCode> {
    match output {
        None => print_unwrapped(text)?,
        Some(path) => write(path, text.as_bytes())?,
    }
    Ok(ExitReason::Success.into())
}

/// Returns an error if the directory of an output file does not exist.
pub fn require_directory(path: &Path) -> Result<(), UsageError> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    match parent.filter(|parent| !parent.is_dir()) {
        None => Ok(()),
        Some(parent) => Err(UsageError(format!(
            "cannot write {}: there is no directory {}; create it, or name another file",
            path.display(),
            parent.display()
        ))),
    }
}

/// Writes a file in an existing directory, replacing an existing file. Character devices
/// (the terminal of this process, `/dev/null`) and open files of this process (`/dev/stdout`) are
/// written directly. Other special files are refused, because a write to a named pipe or a terminal
/// without a reader blocks forever.
///
/// # Errors
/// Returns an error if the file cannot be written; an existing file then remains unchanged.
pub fn write(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    require_directory(path)?;
    let cannot = || format!("cannot write {}", path.display());
    if path.is_dir() {
        return Err(
            EnvironmentError(format!("{}: it is a directory; name a file", cannot())).into()
        );
    }
    let name = path.file_name().with_context(cannot)?;
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    let directory = SafeDir::shared_or_new(parent.unwrap_or(Path::new(".")))?;
    let path = directory.path().join(name);
    refuse_database(&path)?;
    let kind = fs::metadata(&path).map(|metadata| metadata.file_type());
    match kind {
        Ok(kind) if kind.is_block_device() => {
            let path = path.display();
            Err(EnvironmentError(format!("{path} is a block device: name a file")).into())
        }
        Ok(kind) if !kind.is_file() => {
            safe_path::check_owner(&path)?;
            let is_open = ["/dev", "/proc"].iter().any(|place| path.starts_with(place));
            if (kind.is_fifo() || kind.is_socket()) && !is_open {
                let path = path.display();
                let why = format!("{path} is a pipe or a socket: name a file, or /dev/stdout");
                return Err(EnvironmentError(why).into());
            }
            if kind.is_char_device() && is_other_terminal(&path).with_context(cannot)? {
                let path = path.display();
                let why = format!("{path} is another terminal: name a file, or /dev/stdout");
                return Err(EnvironmentError(why).into());
            }
            pass_on(&path, content).with_context(cannot)
        }
        _ => Ok(directory.replace(name, safe_path::default_mode(), content)?),
    }
}

/// Refuses to replace a database or one of its SQLite side files.
fn refuse_database(path: &Path) -> Result<(), UsageError> {
    let is_database = |path: &Path| campaign::store::is_sqlite(path).unwrap_or(false);
    let text = path.to_string_lossy();
    let beside = ["-wal", "-shm", "-journal"];
    let of = beside.iter().find_map(|end| text.strip_suffix(end));
    match is_database(path) || of.is_some_and(|of| is_database(Path::new(of))) {
        true => {
            Err(UsageError(format!("{text} is a database, or belongs to one: name another file")))
        }
        false => Ok(()),
    }
}

/// Returns true if a character device is a terminal other than that of this process.
fn is_other_terminal(path: &Path) -> io::Result<bool> {
    /// Number of `/dev/tty`, the terminal of the process that opens it: devices.txt of the kernel.
    const OWN: u64 = makedev(5, 0);
    let number = fs::metadata(path)?.rdev();
    let streams = (0..3).filter_map(|fd| fs::metadata(format!("/proc/self/fd/{fd}")).ok());
    if number == OWN || streams.map(|stream| stream.rdev()).any(|stream| stream == number) {
        return Ok(false);
    }
    Ok(open(path, OFlag::O_NONBLOCK)?.is_terminal())
}

fn open(path: &Path, flags: OFlag) -> io::Result<File> {
    OpenOptions::new().write(true).custom_flags((flags | OFlag::O_NOCTTY).bits()).open(path)
}

fn pass_on(path: &Path, content: &[u8]) -> io::Result<()> {
    open(path, OFlag::empty())?.write_all(content)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, lchown, symlink};

    use super::*;

    #[test]
    fn missing_directory_or_unknown_ending_is_refused_and_not_created() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("none/report.html");
        let endings = [("txt", "table"), ("html", "html")];
        let refused = format(None, Some(&path), &endings).unwrap_err().0;
        assert!(refused.contains(": there is no directory "), "{refused}");
        assert_eq!(write(&path, b"one").unwrap_err().to_string(), refused);
        assert!(!place.path().join("none").exists());
        let refused = format(None, Some(Path::new("x.docx")), &endings).unwrap_err().0;
        assert_eq!(
            refused,
            "cannot write x.docx: no format has the ending .docx; use .txt, .html, or add --format"
        );
        let chosen = |requested, path| format(requested, Some(Path::new(path)), &endings).unwrap();
        assert_eq!(chosen(None, "x.html"), "html");
        assert_eq!(chosen(None, "/dev/stdout"), "table");
        assert_eq!(chosen(Some("html"), "x.docx"), "html");
    }

    #[test]
    fn an_error_names_the_file_of_the_user() {
        let refused = write(Path::new("/proc/report"), b"x").unwrap_err();
        let told = "cannot write /proc/report: No such file or directory (os error 2)";
        assert_eq!(crate::output::exit::error_chain(&refused), told);
    }

    #[test]
    fn a_file_is_replaced_whole() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("report");
        write(&path, b"one").unwrap();
        write(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            safe_path::default_mode()
        );
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn databases_and_their_side_files_are_not_replaced() {
        let place = tempfile::tempdir().unwrap();
        let database = place.path().join("a.db");
        fs::write(&database, b"SQLite format 3\0 and all results").unwrap();
        for end in ["", "-wal", "-shm", "-journal"] {
            let path = place.path().join(format!("a.db{end}"));
            let refused = write(&path, b"a report").unwrap_err().to_string();
            assert!(refused.contains("name another file"), "{refused}");
        }
        write(&place.path().join("b.db-wal"), b"a report").unwrap();
        assert!(fs::read(&database).unwrap().starts_with(b"SQLite"));
    }

    #[test]
    fn writers_of_one_file_at_the_same_time_leave_one_of_their_reports() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("report");
        let reports: Vec<Vec<u8>> = (b'a'..=b'h').map(|letter| vec![letter; 100_000]).collect();
        std::thread::scope(|scope| {
            for report in &reports {
                let path = &path;
                scope.spawn(move || (0..20).for_each(|_| write(path, report).unwrap()));
            }
        });
        assert!(reports.contains(&fs::read(&path).unwrap()));
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    }

    #[test]
    fn neither_a_link_on_the_way_nor_a_pipe_of_another_user_is_used() {
        let place = tempfile::tempdir().unwrap();
        let (victim, link) = (place.path().join("victim"), place.path().join("link"));
        fs::create_dir(&victim).unwrap();
        symlink(&victim, &link).unwrap();
        write(&link.join("report"), b"x").unwrap();
        lchown(&link, Some(65_534), None).unwrap();
        let pipe = victim.join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        lchown(&pipe, Some(65_534), None).unwrap();
        for path in [link.join("other"), pipe] {
            let refused = write(&path, b"x").unwrap_err();
            assert!(refused.to_string().contains("uid 65534"), "{refused}");
        }
        assert!(!victim.join("other").exists());
    }

    #[test]
    fn refuses_a_pipe_without_a_reader() {
        let place = tempfile::tempdir().unwrap();
        let pipe = place.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let refused = write(&pipe, b"x").unwrap_err().to_string();
        assert!(refused.ends_with("name a file, or /dev/stdout"), "{refused}");
        write(Path::new("/dev/null"), b"x").unwrap();
    }

    #[test]
    fn a_terminal_that_no_program_reads_is_refused() {
        let refused = write(Path::new("/dev/ptmx"), &[b'x'; 1 << 20]).unwrap_err().to_string();
        assert!(refused.ends_with("is another terminal: name a file, or /dev/stdout"), "{refused}");
    }

    #[test]
    fn special_files_are_not_written_through_links_of_other_users() {
        let place = tempfile::tempdir().unwrap();
        let link = place.path().join("null");
        symlink("/dev/null", &link).unwrap();
        write(&link, b"x").unwrap();
        lchown(&link, Some(65_534), None).unwrap();
        let refused = write(&link, b"x").unwrap_err();
        assert!(refused.to_string().contains("uid 65534"), "{refused}");
        for directory in [place.path(), Path::new("/"), Path::new("..")] {
            let refused = write(directory, b"x").unwrap_err();
            assert!(refused.is::<EnvironmentError>(), "{refused}");
            assert!(refused.to_string().ends_with(": it is a directory; name a file"), "{refused}");
        }
    }
}
