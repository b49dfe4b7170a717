//! Text of a log of strace: its clock, messages of strace itself, and lines without a call.

use super::line::{ParsedCall, RecordingLine};
use super::lines;

/// Meaning of the printed times.
#[derive(Debug, Default)]
pub struct RecordingClock {
    /// Whether each time is one since the line before (`-r`).
    pub is_relative: bool,
    /// Sum of the times, or of the days that have ended.
    passed: u64,
    latest: u64,
}

impl RecordingClock {
    /// Returns true if the times since the line before are printed: they begin with 0, or decrease
    /// although they are none since 1970.
    pub fn is_relative(text: &[u8]) -> bool {
        const YEAR_2001: u64 = 1_000_000_000_000_000_000;
        let read = lines(text).filter_map(|(_, line)| RecordingLine::read(line).ok());
        let times: Vec<u64> = read.take_while(|line| !line.is_of_day).map(|line| line.at).collect();
        let is_sum = times.first() == Some(&0) || !times.is_sorted();
        is_sum && times.iter().all(|time| *time < YEAR_2001)
    }

    pub fn absolute(&mut self, line: &RecordingLine<'_>) -> u64 {
        const DAY: u64 = 86_400_000_000_000;
        if self.is_relative {
            self.passed = self.passed.saturating_add(line.at);
            return self.passed;
        }
        if line.is_of_day {
            if line.at.saturating_add(DAY / 2) < self.latest {
                self.passed = self.passed.saturating_add(DAY);
            }
            self.latest = line.at;
        }
        line.at.saturating_add(self.passed)
    }
}

/// Returns true for a line of blkparse, `8,0 3 1 0.000000000 697 G W 223490 + 8 [a]`.
pub fn is_blktrace(line: &[u8]) -> bool {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let device = words.next().unwrap_or_default();
    let is_number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    device.len() < 10
        && device.contains(&b',')
        && device.split(|byte| *byte == b',').all(is_number)
        && words.take(2).filter(|word| is_number(word)).count() == 2
}

/// Begin of a message in the middle of a line.
pub const MESSAGE: &[u8] = b"strace: Process ";

/// Returns true for a line that strace prints about itself.
pub fn is_message(line: &[u8]) -> bool {
    let begins = [&b"strace: "[..], b"Process ", b"[ Process "];
    begins.iter().any(|begin| line.starts_with(begin))
}

/// Returns true if the last line ends within a call.
pub fn is_cut(text: &[u8]) -> bool {
    let Some((_, last)) = lines(text).last().filter(|_| !text.ends_with(b"\n")) else {
        return false;
    };
    let is_part = |rest: &[u8]| {
        let is_other = [&b"+++"[..], b"---", b"<...", b"exit"].iter().any(|b| rest.starts_with(b));
        !is_other && !rest.ends_with(b"<unfinished ...>") && ParsedCall::read(rest).is_none()
    };
    RecordingLine::read(last).map_or(!is_message(last), |line| is_part(line.rest))
}
