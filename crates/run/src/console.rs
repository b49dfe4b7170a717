//! What a guest's kernel writes to its console, as lines of a kernel log; pure.

/// Everything on the console is a warning or worse: less is kept off it.
const LEVEL: &str = "<4>";
/// A guest in trouble does not fill the store.
const KEPT: usize = 500;
/// How many lines tell how a guest ended.
const LAST: usize = 3;

/// The lines from a byte of the console on, each as `<level> text`, without the kernel's time.
pub fn lines(console: &[u8], from: usize) -> Vec<String> {
    let text = String::from_utf8_lossy(console.get(from..).unwrap_or_default());
    let lines = text.lines().map(without_time).filter(|l| !l.is_empty());
    lines.map(|l| format!("{LEVEL} {l}")).take(KEPT).collect()
}

/// The last words, in one line.
pub fn last_words(console: &[u8]) -> String {
    let text = String::from_utf8_lossy(console);
    let lines: Vec<&str> = text
        .lines()
        .map(without_time)
        .filter(|l| !l.is_empty())
        .collect();
    lines[lines.len().saturating_sub(LAST)..].join("; ")
}

/// `[    3.846004] text` as `text`; whatever else is there stays.
fn without_time(line: &str) -> &str {
    let line = line.trim();
    let inner = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    match inner {
        Some((time, text)) if time.trim().parse::<f64>().is_ok() => text.trim_start(),
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONSOLE: &[u8] =
        b"[    0.1] boot\r\n[   12.345678] affs: (device vda): oh\r\n\r\n[x] y\r\n";

    #[test]
    fn lines_lose_their_time_and_begin_where_asked() {
        let all = ["<4> boot", "<4> affs: (device vda): oh", "<4> [x] y"];
        assert_eq!(lines(CONSOLE, 0), all);
        let boot = CONSOLE.iter().position(|b| *b == b'\n').unwrap();
        assert_eq!(lines(CONSOLE, boot + 1), all[1..]);
        assert!(lines(CONSOLE, CONSOLE.len() + 7).is_empty());
    }

    #[test]
    fn the_last_words_are_one_line() {
        assert_eq!(last_words(CONSOLE), "boot; affs: (device vda): oh; [x] y");
        assert_eq!(last_words(b""), "");
    }
}
