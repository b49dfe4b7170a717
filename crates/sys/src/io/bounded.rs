//! Reads input of other processes, hosts and guests, which may be endless, in bounded memory.

use std::fs::File;
use std::io::{self, BufRead, Read, Seek, SeekFrom, Write};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use model::Bytes;

/// Reads a line without its end. Returns `None` at the end of the input.
///
/// # Errors
/// Returns the error of the input, or [`io::ErrorKind::InvalidData`] if the line has more than
/// `most` bytes.
pub fn read_line(from: &mut impl BufRead, most: Bytes) -> io::Result<Option<Vec<u8>>> {
    Ok(read_to_end_of_line(from, most)?.map(|(line, _)| line))
}

/// Reads a line, and returns whether it had an end.
fn read_to_end_of_line(
    from: &mut impl BufRead,
    most: Bytes,
) -> io::Result<Option<(Vec<u8>, bool)>> {
    let mut line = Vec::new();
    from.by_ref().take(most.0 + 1).read_until(b'\n', &mut line)?;
    match line.last() {
        None => Ok(None),
        Some(b'\n') => {
            line.pop();
            Ok(Some((line, true)))
        }
        Some(_) if line.len() as u64 > most.0 => {
            Err(too_large(format!("a line is longer than {most}")))
        }
        Some(_) => Ok(Some((line, false))),
    }
}

/// Limits of a stream of lines.
#[derive(Clone, Copy, Debug)]
pub struct StreamLimits {
    /// Maximum length of a line.
    pub line: Bytes,
    /// Maximum size of all lines since the start, or since [`Allowance::renew`].
    pub total: Bytes,
    /// Maximum number of lines per second, after a first [`BURST`].
    pub lines_per_second: Option<u32>,
}

/// Number of lines that may arrive at once, because their reader was held up.
pub const BURST: u32 = 10_000;

/// Lines as [`read_line`] returns them, within limits. Beyond a limit, the last item is an error
/// ([`io::ErrorKind::InvalidData`]).
pub struct BoundedLines<R> {
    from: R,
    limits: StreamLimits,
    allowance: Allowance,
    rate: LineRate,
    is_over: bool,
    is_complete: bool,
}

/// Number of bytes that a stream may still send.
#[derive(Clone, Debug)]
pub struct Allowance {
    left: Arc<AtomicU64>,
    total: Bytes,
}

impl Allowance {
    /// Lets the stream send as much as at its start.
    pub fn renew(&self) {
        self.left.store(self.total.0, Ordering::Relaxed);
    }

    fn take(&self, bytes: u64) -> io::Result<()> {
        let left = |left: u64| left.checked_sub(bytes);
        let taken = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
        taken.map(drop).map_err(|_| too_large(format!("all of it is longer than {}", self.total)))
    }
}

/// Counts lines per second.
struct LineRate {
    left: f64,
    counted: Instant,
}

impl LineRate {
    fn take(&mut self, per_second: u32, now: Instant) -> io::Result<()> {
        let passed = now.saturating_duration_since(self.counted).as_secs_f64();
        self.left = (self.left + passed * f64::from(per_second)).min(f64::from(BURST)) - 1.0;
        self.counted = now;
        match self.left >= 0.0 {
            true => Ok(()),
            false => Err(too_large(format!("it has more than {per_second} lines per second"))),
        }
    }
}

/// Iterates over the lines of a stream within limits.
pub fn lines<R: BufRead>(from: R, limits: StreamLimits) -> BoundedLines<R> {
    let left = Arc::new(AtomicU64::new(limits.total.0));
    BoundedLines {
        from,
        limits,
        allowance: Allowance { left, total: limits.total },
        rate: LineRate { left: f64::from(BURST), counted: Instant::now() },
        is_over: false,
        is_complete: true,
    }
}

impl<R: BufRead> BoundedLines<R> {
    /// Returns the allowance of the stream, which another thread may renew.
    pub fn allowance(&self) -> Allowance {
        self.allowance.clone()
    }

    /// Returns true if all lines so far had an end.
    pub const fn is_complete(&self) -> bool {
        self.is_complete
    }

    fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some((line, is_complete)) = read_to_end_of_line(&mut self.from, self.limits.line)?
        else {
            return Ok(None);
        };
        self.is_complete = is_complete;
        self.allowance.take(line.len() as u64 + 1)?;
        if let Some(per_second) = self.limits.lines_per_second {
            self.rate.take(per_second, Instant::now())?;
        }
        Ok(Some(line))
    }
}

impl<R: BufRead> Iterator for BoundedLines<R> {
    type Item = io::Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let line = self.line().transpose();
        self.is_over = !matches!(line, Some(Ok(_)));
        line
    }
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

/// Copies the input to its end.
///
/// # Errors
/// Returns the error of either side, or [`io::ErrorKind::InvalidData`] if the input has more than
/// `most` bytes. The first `most` bytes are copied then.
pub fn copy(from: impl Read, to: &mut impl Write, most: Bytes) -> io::Result<()> {
    let mut from = from.take(most.0);
    io::copy(&mut from, to)?;
    match from.into_inner().read(&mut [0])? {
        0 => Ok(()),
        _ => Err(too_large(format!("it is longer than {most}"))),
    }
}

/// Returns the last `most` bytes of a file as text.
///
/// # Errors
/// Returns an error if the file cannot be read.
pub fn read_end(mut file: &File, most: Bytes) -> io::Result<String> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(most.0)))?;
    let mut bytes = Vec::new();
    file.take(most.0).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Interval between checks whether to give up waiting for a command.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// Runs a command to its end and returns its output.
///
/// # Errors
/// Returns an error if the command cannot be started, [`io::ErrorKind::InvalidData`] if it prints
/// more than `most` bytes, or [`io::ErrorKind::Interrupted`] when `gives_up` is true. The command
/// is then killed.
pub fn output(
    command: &mut Command,
    most: Bytes,
    gives_up: &dyn Fn() -> bool,
) -> io::Result<Output> {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    output_of(child, most, gives_up)
}

/// Waits for a command with piped output like [`output`].
///
/// # Errors
/// Returns the errors of [`output`].
pub fn output_of(mut child: Child, most: Bytes, gives_up: &dyn Fn() -> bool) -> io::Result<Output> {
    let outputs = outputs(&mut child, most, gives_up);
    if outputs.is_err() {
        // An error means that it has ended.
        let _ = child.kill();
    }
    let status = wait(&mut child, gives_up);
    let [stdout, stderr] = outputs?;
    Ok(Output { status: status?, stdout, stderr })
}

/// Reads both outputs to their ends. The threads that read them may outlive the call, because a
/// descendant of a killed command can keep its output open.
fn outputs(
    child: &mut Child,
    most: Bytes,
    gives_up: &dyn Fn() -> bool,
) -> io::Result<[Vec<u8>; 2]> {
    let (say, heard) = mpsc::channel();
    let streams: [Option<Box<dyn Read + Send>>; 2] = [
        child.stdout.take().map(|stream| Box::new(stream) as _),
        child.stderr.take().map(|stream| Box::new(stream) as _),
    ];
    let mut left = 0;
    for (number, stream) in streams.into_iter().enumerate() {
        let (Some(stream), say) = (stream, say.clone()) else { continue };
        let read = move || drop(say.send((number, read_all(stream, most))));
        thread::Builder::new().spawn(read)?;
        left += 1;
    }
    let mut outputs = [Vec::new(), Vec::new()];
    while left > 0 {
        match heard.recv_timeout(CHECK_INTERVAL) {
            Ok((number, output)) => {
                outputs[number] = output?;
                left -= 1;
            }
            Err(_) if gives_up() => return Err(io::ErrorKind::Interrupted.into()),
            Err(_) => {}
        }
    }
    Ok(outputs)
}

/// Waits for the end of a command.
///
/// # Errors
/// Returns [`io::ErrorKind::Interrupted`] when `gives_up` is true. The command is then killed.
pub fn wait(child: &mut Child, gives_up: &dyn Fn() -> bool) -> io::Result<ExitStatus> {
    /// Pause between the first checks, because most commands end soon.
    const FIRST: Duration = Duration::from_millis(1);
    let mut pause = FIRST;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if gives_up() {
            child.kill()?;
            child.wait()?;
            return Err(io::ErrorKind::Interrupted.into());
        }
        thread::sleep(pause);
        pause = (pause * 2).min(CHECK_INTERVAL);
    }
}

fn too_large(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: Bytes = Bytes::kib(4);

    const LIMITS: StreamLimits = StreamLimits { line: MOST, total: MOST, lines_per_second: None };

    #[test]
    fn lines_are_read_without_their_ends() {
        let mut lines = lines(&b"a\n\nlast"[..], LIMITS);
        for (line, is_complete) in [(&b"a"[..], true), (b"", true), (b"last", false)] {
            assert_eq!(
                (lines.next().unwrap().unwrap().as_slice(), lines.is_complete()),
                (line, is_complete)
            );
        }
        assert!(lines.next().is_none());
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
    fn a_flood_of_lines_is_an_error_unless_its_allowance_is_renewed() {
        let flood = || io::BufReader::new(io::repeat(b'\n'));
        let read = lines(flood(), LIMITS).find_map(Result::err).unwrap();
        assert_eq!(read.to_string(), "all of it is longer than 4 KiB");
        let mut renewed = lines(flood(), LIMITS);
        let allowance = renewed.allowance();
        for _ in 0..3 {
            allowance.renew();
            assert!(renewed.by_ref().take(4096).all(|line| line.is_ok()));
        }
        assert!(renewed.next().unwrap().is_err() && renewed.next().is_none());
    }

    #[test]
    fn lines_beyond_the_rate_are_an_error_after_a_burst() {
        let start = Instant::now();
        let mut rate = LineRate { left: f64::from(BURST), counted: start };
        let mut take = |seconds| rate.take(100, start + Duration::from_secs(seconds)).is_ok();
        assert!((0..BURST).all(|_| take(0)) && !take(0));
        // The refused line counts, too.
        assert!((0..99).all(|_| take(1)) && !take(1));
        assert!((0..BURST).all(|_| take(1000)) && !take(1000));
    }

    #[test]
    fn a_copy_ends_at_the_limit() {
        let mut copied = Vec::new();
        copy(&[7; 4096][..], &mut copied, MOST).unwrap();
        assert!(copy(io::repeat(7), &mut copied, MOST).is_err());
        assert_eq!(copied.len(), 2 * 4096);
    }

    #[test]
    fn the_beginning_and_the_end_of_long_input_are_kept() {
        let long = [&[b'a'; 4096][..], &[b'b'; 4096]].concat();
        assert_eq!(read_beginning(&long[..], MOST).unwrap(), &long[..4096]);
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&long).unwrap();
        assert_eq!(read_end(&file, MOST).unwrap().as_bytes(), &long[4096..]);
    }

    #[test]
    fn a_command_that_prints_without_end_is_killed() {
        let shell = |script: &str| output(Command::new("sh").args(["-c", script]), MOST, &|| false);
        let done = shell("echo out; echo err >&2; exit 3").unwrap();
        assert_eq!((&done.stdout[..], &done.stderr[..]), (&b"out\n"[..], &b"err\n"[..]));
        assert_eq!(done.status.code(), Some(3));
        for script in ["exec yes", "exec yes >&2"] {
            let error = shell(script).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{script}");
        }
    }

    /// A descendant that keeps the output open does not hold up the caller.
    #[test]
    fn a_command_that_never_ends_is_killed_when_the_caller_gives_up() {
        for script in ["exec sleep 1000", "exec sleep 1000 >&- 2>&-"] {
            let mut command = Command::new("sh");
            let error = output(command.args(["-c", script]), MOST, &|| true).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::Interrupted, "{script}");
        }
    }
}
