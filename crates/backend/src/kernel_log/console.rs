//! Converts the console output of a guest's kernel to lines of a kernel log. Pure.

use model::Nanos;
use model::result::kernel_log::LogLine;
use model::wire::CONSOLE_MARK;

use crate::kernel_log::hung_tasks;

/// Level of all console lines: messages below a warning are not printed.
const LEVEL: &str = "<4>";
/// Number of last lines that describe the end of a guest.
const LAST: usize = 3;

/// Messages about the guest itself, which are unrelated to filesystems: about its emulated clock, and,
/// since Linux 7, about its first process, which mounts in a private namespace.
const GUEST_MESSAGES: [&str; 5] = [
    "VFS: Pid 1 stopped sharing filesystem state",
    "clocksource: ",
    "hrtimer: interrupt took ",
    "perf: interrupt took too long",
    "tsc: ",
];

/// Last message of a guest that powers off normally, at the kernel's level.
const POWER_DOWN_MESSAGE: &str = "reboot: Power down";

/// Returns the lines about the cell, without messages about a guest that was stuck and continued.
/// Returns all lines if the guest did not start its cell.
pub fn lines(console: &[u8]) -> Vec<LogLine> {
    let text = hung_tasks::strip_hung_tasks(&String::from_utf8_lossy(console));
    let text = match text.split_once(CONSOLE_MARK) {
        Some((_, about_the_cell)) => about_the_cell,
        None => &text,
    };
    let of_guest = |line: &str| GUEST_MESSAGES.iter().any(|sign| line.starts_with(sign));
    let lines = text.lines().map(timed);
    let lines = lines
        .filter(|(_, line)| !line.is_empty() && *line != POWER_DOWN_MESSAGE && !of_guest(line));
    lines.map(|(at, line)| LogLine { at, text: format!("{LEVEL} {line}") }).collect()
}

/// Returns the last message as one line.
pub fn last_line(console: &[u8]) -> String {
    let text = String::from_utf8_lossy(console);
    let lines: Vec<&str> = text.lines().map(strip_timestamp).filter(|l| !l.is_empty()).collect();
    lines[lines.len().saturating_sub(LAST)..].join("; ")
}

/// Removes the time from a line: `[    3.846004] text` becomes `text`. Other lines are unchanged.
pub fn strip_timestamp(line: &str) -> &str {
    timed(line).1
}

/// Returns the time at the start of a line, if any, and the rest of the line.
fn timed(line: &str) -> (Option<Nanos>, &str) {
    let line = line.trim();
    let inner = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let parsed = inner.and_then(|(time, text)| Some((time.trim().parse::<f64>().ok()?, text)));
    match parsed {
        Some((seconds, text)) => (Some(Nanos((seconds * 1e9) as u64)), text.trim_start()),
        None => (None, line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONSOLE: &[u8] =
        b"[    0.1] boot\r\n[   12.345678] affs: (device vda): oh\r\n\r\n[x] y\r\n";

    fn texts(console: &[u8]) -> Vec<String> {
        lines(console).into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn lines_are_read_without_time_and_from_the_start_of_the_cell() {
        let all = ["<4> boot", "<4> affs: (device vda): oh", "<4> [x] y"];
        assert_eq!(texts(CONSOLE), all);
        assert_eq!(lines(CONSOLE)[1].at, Some(Nanos(12_345_678_000)));
        let marked = [b"[ 0.1] x86/fpu\r\nfsarena: the cell begins\r\n", CONSOLE].concat();
        assert_eq!(texts(&marked), all);
        assert!(lines(b"fsarena: the cell begins").is_empty());
    }

    #[test]
    fn messages_about_the_guest_are_ignored() {
        let said = b"[ 8.1] VFS: Pid 1 stopped sharing filesystem state\n\
            [ 9.1] clocksource: Marking 'tsc' as unstable\n[ 9.2] AFFS: clocksource: oh\n";
        assert_eq!(texts(said), ["<4> AFFS: clocksource: oh"]);
    }

    #[test]
    fn that_a_guest_has_ended_is_no_complaint() {
        let said = b"[ 9.1] minix: oh\n[ 9.2] reboot: Power down\n";
        assert_eq!(texts(said), ["<4> minix: oh"]);
        assert_eq!(last_line(said), "minix: oh; reboot: Power down");
    }

    #[test]
    fn the_last_words_are_one_line() {
        assert_eq!(last_line(CONSOLE), "boot; affs: (device vda): oh; [x] y");
        assert_eq!(last_line(b""), "");
    }
}
