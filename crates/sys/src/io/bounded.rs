//! Reads input of other processes, hosts and guests, which may be endless, in bounded memory.

use std::fs::File;
use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::iter;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;

use model::Bytes;

/// Reads a line without its end. Returns `None` at the end of the input.
///
/// # Errors
/// Returns the error of the input, or [`io::ErrorKind::InvalidData`] if the line has more than
/// `most` bytes.
pub fn read_line(from: &mut impl BufRead, most: Bytes) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    from.by_ref().take(most.0 + 1).read_until(b'\n', &mut line)?;
    match line.last() {
        None => Ok(None),
        Some(b'\n') => {
            line.pop();
            Ok(Some(line))
        }
        Some(_) if line.len() as u64 > most.0 => {
            Err(too_large(format!("a line is longer than {most}")))
        }
        Some(_) => Ok(Some(line)),
    }
}

/// Iterates over lines as [`read_line`] returns them.
pub fn lines(mut from: impl BufRead, most: Bytes) -> impl Iterator<Item = io::Result<Vec<u8>>> {
    iter::from_fn(move || read_line(&mut from, most).transpose())
}

/// Reads the input to its end.
///
/// # Errors
/// Returns the error of the input, or [`io::ErrorKind::InvalidData`] if it has more than `most`
/// bytes.
pub fn read_all(from: impl Read, most: Bytes) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most.0 + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 <= most.0 {
        true => Ok(bytes),
        false => Err(too_large(format!("it is longer than {most}"))),
    }
}

/// Reads the input to its end and returns the first `most` bytes.
///
/// # Errors
/// Returns the error of the input.
pub fn read_beginning(mut from: impl Read, most: Bytes) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.by_ref().take(most.0).read_to_end(&mut bytes)?;
    io::copy(&mut from, &mut io::sink())?;
    Ok(bytes)
}

/// Returns the last `most` bytes of a file as text.
///
/// # Errors
/// Returns an error if the file cannot be read.
pub fn read_end(path: &Path, most: Bytes) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(most.0)))?;
    let mut bytes = Vec::new();
    file.take(most.0).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Runs a command to its end and returns its output.
///
/// # Errors
/// Returns an error if the command cannot be started, or [`io::ErrorKind::InvalidData`] if it
/// prints more than `most` bytes. The command is then killed.
pub fn output(command: &mut Command, most: Bytes) -> io::Result<Output> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (stdout, stderr) = thread::scope(|scope| {
        let stderr = scope.spawn(|| stderr.map(|stream| read_all(stream, most)).transpose());
        let stdout = stdout.map(|stream| read_all(stream, most)).transpose();
        if stdout.is_err() {
            // An error means that it has ended.
            let _ = child.kill();
        }
        (stdout, stderr.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked"))))
    });
    if stderr.is_err() {
        let _ = child.kill();
    }
    let status = child.wait()?;
    let (stdout, stderr) = (stdout?.unwrap_or_default(), stderr?.unwrap_or_default());
    Ok(Output { status, stdout, stderr })
}

fn too_large(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: Bytes = Bytes::kib(4);

    #[test]
    fn lines_are_read_without_their_ends() {
        let read: Vec<_> = lines(&b"a\n\nlast"[..], MOST).map(Result::unwrap).collect();
        assert_eq!(read, [&b"a"[..], b"", b"last"]);
        let longest = [&[b'x'; 4096][..], b"\n"].concat();
        assert_eq!(read_line(&mut &longest[..], MOST).unwrap().unwrap().len(), 4096);
    }

    #[test]
    fn endless_input_is_an_error() {
        let mut endless = io::BufReader::new(io::repeat(b'x'));
        let error = read_line(&mut endless, MOST).unwrap_err();
        assert_eq!(error.to_string(), "a line is longer than 4 KiB");
        let error = read_all(io::repeat(b'x'), MOST).unwrap_err();
        assert_eq!(error.to_string(), "it is longer than 4 KiB");
    }

    #[test]
    fn the_beginning_and_the_end_of_long_input_are_kept() {
        let long = [&[b'a'; 4096][..], &[b'b'; 4096]].concat();
        assert_eq!(read_beginning(&long[..], MOST).unwrap(), &long[..4096]);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, &long).unwrap();
        assert_eq!(read_end(file.path(), MOST).unwrap().as_bytes(), &long[4096..]);
    }

    #[test]
    fn a_command_that_prints_without_end_is_killed() {
        let shell = |script: &str| output(Command::new("sh").args(["-c", script]), MOST);
        let done = shell("echo out; echo err >&2; exit 3").unwrap();
        assert_eq!((&done.stdout[..], &done.stderr[..]), (&b"out\n"[..], &b"err\n"[..]));
        assert_eq!(done.status.code(), Some(3));
        for script in ["exec yes", "exec yes >&2"] {
            let error = shell(script).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{script}");
        }
    }
}
