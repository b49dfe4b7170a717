//! Reader for the kernel log.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

use model::Nanos;
use model::result::kernel_log::LogLine;

/// A position in the kernel log (`/dev/kmsg`). A read returns the messages logged since.
#[derive(Debug)]
pub struct KernelLog(File);

/// Maximum size of a record (`CONSOLE_EXT_LOG_MAX` of the kernel).
const RECORD: usize = 8192;

impl KernelLog {
    /// Creates a reader that starts at the end of the log.
    ///
    /// # Errors
    /// Returns an error if the log cannot be read (no root and `dmesg_restrict`).
    pub fn from_now() -> io::Result<Self> {
        let mut file =
            OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open("/dev/kmsg")?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self(file))
    }

    /// Returns the lines that the kernel has logged since the last call, without those that
    /// programs wrote to the log.
    pub fn read_new(&mut self) -> Vec<LogLine> {
        let mut lines = Vec::new();
        let mut record = [0; RECORD];
        loop {
            match self.0.read(&mut record) {
                Ok(0) => return lines,
                Ok(n) => lines.extend(parse_record(&String::from_utf8_lossy(&record[..n]))),
                // The oldest records were overwritten before they were read. Later ones follow.
                Err(e) if e.raw_os_error() == Some(libc::EPIPE) => {}
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => return lines,
            }
        }
    }
}

/// Parses a record, `6,339,5140900,-;text`, into the line `<6> text`. Returns `None` if it is
/// invalid or if a program wrote it. The first number contains the level and, from the fourth bit
/// on, the facility: 0 is the kernel, and the kernel changes it to 1 if a program claims it. The
/// third is the time, in microseconds. Source: Documentation/ABI/testing/dev-kmsg of the kernel.
pub fn parse_record(record: &str) -> Option<LogLine> {
    let (prefix, text) = record.split_once(';')?;
    let mut fields = prefix.split(',');
    let priority: u32 = fields.next()?.parse().ok()?;
    if priority >> 3 != 0 {
        return None;
    }
    let time = fields.nth(1).and_then(|time| time.parse::<u64>().ok());
    let text = text.lines().next().unwrap_or_default();
    Some(LogLine {
        at: time.map(|microseconds| Nanos(microseconds.saturating_mul(1000))),
        text: format!("<{}> {text}", priority & 7),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_level_time_and_first_line() {
        let record = "4,339,5140900,-;EXT4-fs error (device loop0)\n SUBSYSTEM=block\n";
        let line = LogLine {
            at: Some(Nanos(5_140_900_000)),
            text: "<4> EXT4-fs error (device loop0)".into(),
        };
        assert_eq!(parse_record(record), Some(line));
        assert_eq!(parse_record("nonsense"), None);
    }

    #[test]
    fn lines_written_by_programs_are_ignored() {
        let said =
            |priority: u32| parse_record(&format!("{priority},1,1,-;kernel BUG at fs/x.c:1!\n"));
        assert!(said(2).is_some());
        // A program that claims `<2>`, and one without a facility; a daemon.
        assert_eq!((said((1 << 3) | 2), said((3 << 3) | 2)), (None, None));
    }

    /// Needs root. Checks on the real log how the kernel changes a line that claims to come from
    /// it.
    #[test]
    fn a_line_written_to_the_log_is_not_read_back() {
        let mark = format!("a test of fsarena, process {}", std::process::id());
        let mut log = KernelLog::from_now().expect("this test needs root");
        std::fs::write("/dev/kmsg", format!("<2>{mark}\n")).expect("this test needs root");
        let raw = std::process::Command::new("dmesg").output().unwrap().stdout;
        assert!(String::from_utf8_lossy(&raw).contains(&mark), "it was logged");
        let news = log.read_new();
        assert!(!news.iter().any(|line| line.text.contains(&mark)), "{news:?}");
    }
}
