//! Parser for one line of strace: thread, time, call, arguments and result.

use super::MAX_PATH;

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingLine<'a> {
    /// Kernel number of the thread; 0 if the line has none.
    pub task: u32,
    /// Nanoseconds since 1970, since midnight or since the line before, as printed.
    pub at: u64,
    /// Whether `at` is a time of day.
    pub is_of_day: bool,
    /// The rest.
    pub rest: &'a [u8],
}

impl<'a> RecordingLine<'a> {
    /// Parses the beginning of a line, before the call: `[pid 7] 12.34 ` or `7 12.34 `. The time may
    /// be one of the day, `10:20:30.5`.
    pub fn read(line: &'a [u8]) -> Result<Self, &'static str> {
        let mut rest = line;
        let mut task = 0;
        if let Some(behind) = line.strip_prefix(b"[pid") {
            let end = behind.iter().position(|byte| *byte == b']').ok_or("`[pid` without `]`")?;
            task = number(behind[..end].trim_ascii()).ok_or("`[pid` without a number")?;
            rest = behind[end + 1..].trim_ascii();
        }
        let (mut word, mut behind) = word(rest);
        let is_time = |word: &[u8]| word.iter().any(|byte| b".,:".contains(byte));
        if !is_time(word) {
            task = number(word).ok_or("no process and no time")?;
            (word, behind) = self::word(behind);
        }
        let (hours, seconds) = match word.iter().rposition(|byte| *byte == b':') {
            Some(colon) => (time_of_day(&word[..colon]), &word[colon + 1..]),
            None => (Some(0), word),
        };
        let is_of_day = seconds.len() < word.len();
        if is_of_day && hours.is_some() && number::<u8>(seconds).is_some() {
            return Err("times in whole seconds (strace -t)");
        }
        let at = hours.zip(nanoseconds(seconds)).and_then(|(at, rest)| at.checked_add(rest));
        let at = at.ok_or("no time in seconds")?;
        // `-r` with `-ttt` adds the time since the line before.
        if behind.starts_with(b"(+") {
            let end = behind.iter().position(|byte| *byte == b')').unwrap_or(1);
            behind = behind[end + 1..].trim_ascii_start();
        }
        Ok(Self { task, at, is_of_day, rest: behind })
    }
}

fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii_start();
    let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
    (&text[..end], text[end..].trim_ascii_start())
}

/// Parses a decimal number.
pub fn number<N: std::str::FromStr>(text: &[u8]) -> Option<N> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Converts hours and minutes, `10:20`, to nanoseconds.
fn time_of_day(text: &[u8]) -> Option<u64> {
    let (hours, minutes) = std::str::from_utf8(text).ok()?.split_once(':')?;
    let (hours, minutes): (u64, u64) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours < 24 && minutes < 60).then_some((hours * 60 + minutes) * 60_000_000_000)
}

/// Converts seconds such as `12.345678` to nanoseconds. Some languages have a decimal comma.
fn nanoseconds(text: &[u8]) -> Option<u64> {
    let (whole, part) = std::str::from_utf8(text).ok()?.split_once(['.', ','])?;
    let digits = part.get(..part.len().min(9))?;
    let scale = 10_u64.checked_pow(u32::try_from(9 - digits.len()).ok()?)?;
    let part: u64 = digits.parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(part * scale)
}

/// A call with all its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParsedCall<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// Arguments, unparsed.
    pub arguments: Vec<&'a [u8]>,
    /// Return value; `None` if strace does not know it.
    pub returned: Option<u64>,
    /// Name of the error, if the call failed.
    pub error: Option<&'a str>,
    /// Duration in nanoseconds.
    pub duration: Option<u64>,
}

impl<'a> ParsedCall<'a> {
    /// Parses `name(arguments) = value ERROR (text) <seconds>`.
    pub fn read(text: &'a [u8]) -> Option<Self> {
        let open = text.iter().position(|byte| *byte == b'(')?;
        let (arguments, behind) = arguments(&text[open + 1..])?;
        let behind = behind.trim_ascii_start().strip_prefix(b"=")?.trim_ascii();
        let (value, rest) = word(behind);
        let value = value.split(|byte| *byte == b'<').next()?;
        let (error, _) = word(rest);
        let failed = value == b"-1";
        let seconds = rest.iter().rposition(|byte| *byte == b'<').map(|at| &rest[at + 1..]);
        let seconds = seconds.or_else(|| behind.rsplit(|byte| *byte == b'<').next());
        Some(Self {
            name: &text[..open],
            arguments,
            returned: match value.strip_prefix(b"0x") {
                Some(digits) => u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok(),
                None => number(value),
            },
            error: failed.then(|| std::str::from_utf8(error).unwrap_or_default()),
            duration: seconds.and_then(|text| nanoseconds(text.strip_suffix(b">")?)),
        })
    }

    /// Returns an argument, or an empty slice if it does not exist.
    pub fn argument(&self, at: usize) -> &'a [u8] {
        self.arguments.get(at).copied().unwrap_or_default()
    }

    /// Returns an argument as a number.
    pub fn number(&self, at: usize) -> Option<u64> {
        number(self.argument(at))
    }

    /// Returns true if an argument contains this word.
    pub fn has_flag(&self, at: usize, word: &str) -> bool {
        has(self.argument(at), word)
    }
}

/// Returns true if the text contains this word, separated by `|` or other punctuation.
pub fn has(text: &[u8], word: &str) -> bool {
    let mut words = text.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
    words.any(|found| found == word.as_bytes())
}

/// Splits the arguments up to their closing bracket. Also returns the rest of the line.
fn arguments(text: &[u8]) -> Option<(Vec<&[u8]>, &[u8])> {
    let (mut depth, mut quoted, mut escaped, mut named) = (0_usize, false, false, false);
    let (mut begin, mut found) = (0, Vec::new());
    for (at, byte) in text.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted || named => escaped = true,
            b'"' if !named => quoted = !quoted,
            _ if quoted => {}
            // Path of a descriptor: `3</tmp/a>`.
            b'<' if at > 0 && is_of_descriptor(text[at - 1]) => named = true,
            // Not the arrow in a socket's name: `4<UNIX-STREAM:[12->34]>`.
            b'>' if named => named = is_arrow(text, at),
            _ if named => {}
            b'(' | b'[' | b'{' => depth += 1,
            b')' if depth == 0 => {
                if at > begin || !found.is_empty() {
                    found.push(text[begin..at].trim_ascii());
                }
                return Some((found, &text[at + 1..]));
            }
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                found.push(text[begin..at].trim_ascii());
                begin = at + 1;
            }
            _ => {}
        }
    }
    None
}

fn is_arrow(text: &[u8], at: usize) -> bool {
    let next = text.get(at + 1).is_some_and(|next| next.is_ascii_digit() || *next == b'[');
    next && text[at - 1] == b'-'
}

/// Returns true for the last byte of a descriptor: a digit, or the last letter of `AT_FDCWD`.
const fn is_of_descriptor(byte: u8) -> bool {
    byte.is_ascii_digit() || byte == b'D'
}

/// Parses a descriptor and its path.
pub fn descriptor(text: &[u8]) -> Option<(i32, Option<Vec<u8>>)> {
    let mut parts = text.splitn(2, |byte| *byte == b'<');
    let number = match parts.next()? {
        b"AT_FDCWD" => -100,
        digits => self::number(digits)?,
    };
    let path = parts.next().and_then(|path| {
        let end = path.iter().rposition(|byte| *byte == b'>')?;
        name_of(&path[..end])
    });
    Some((number, path))
}

/// Returns the bytes of a quoted string. Returns `None` if it is truncated, not a string, longer
/// than a path, or contains a zero byte, which names never do.
pub fn string(text: &[u8]) -> Option<Vec<u8>> {
    let inside = text.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    name_of(inside)
}

fn name_of(text: &[u8]) -> Option<Vec<u8>> {
    Some(unescaped(text)).filter(|bytes| bytes.len() <= MAX_PATH && !bytes.contains(&0))
}

fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let Some((letter, behind)) = rest.split_first() else {
            break;
        };
        let (radix, digits, skipped) = match letter {
            b'x' => (16, 2, 1),
            b'0'..=b'7' => (8, 3, 0),
            _ => {
                rest = behind;
                bytes.push(match letter {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'v' => 11,
                    b'f' => 12,
                    other => *other,
                });
                continue;
            }
        };
        let number = &rest[skipped..];
        let is_digit = |byte: &&u8| char::from(**byte).is_digit(radix);
        let length = number.iter().take(digits).take_while(is_digit).count();
        let value = std::str::from_utf8(&number[..length]).unwrap_or_default();
        bytes.push(u32::from_str_radix(value, radix).unwrap_or(0) as u8);
        rest = &number[length..];
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_all_parts_of_a_line() {
        let text = br#"77  12.000345 openat(AT_FDCWD</a, (b>, "x\",\x41\101 y", O_RDONLY|O_CREAT, 0644) = 3</a, (b/x> <0.000012>"#;
        let line = RecordingLine::read(text).unwrap();
        assert_eq!((line.task, line.at), (77, 12_000_345_000));
        let said = ParsedCall::read(line.rest).unwrap();
        assert_eq!(
            (said.name, said.returned, said.duration),
            (&b"openat"[..], Some(3), Some(12_000))
        );
        assert_eq!(descriptor(said.argument(0)), Some((-100, Some(b"/a, (b".to_vec()))));
        assert_eq!(string(said.argument(1)).unwrap(), b"x\",AA y");
        assert!(said.has_flag(2, "O_CREAT") && !said.has_flag(2, "O_CREA"));
        assert_eq!(said.arguments.len(), 4);
        let text = br#"read(4<UNIX-STREAM:[12->34,"/a, b"]>, "", 1) = 0"#;
        let said = ParsedCall::read(text).unwrap();
        assert_eq!(said.arguments[1..], [&b"\"\""[..], b"1"]);
        let path = br#"UNIX-STREAM:[12->34,"/a, b"]"#.to_vec();
        assert_eq!(descriptor(said.argument(0)), Some((4, Some(path))));
    }

    #[test]
    fn errors_and_other_forms_are_read() {
        let line = RecordingLine::read(
            b"[pid 9] 1.5 stat(\"a\", 0x7ffe) = -1 ENOENT (No such file) <0.1>",
        )
        .unwrap();
        assert_eq!((line.task, line.at), (9, 1_500_000_000));
        let said = ParsedCall::read(line.rest).unwrap();
        assert_eq!(
            (said.error, said.returned, said.duration),
            (Some("ENOENT"), None, Some(100_000_000))
        );
        let said = ParsedCall::read(b"mmap(NULL, 1) = 0x7f00 <0.1>").unwrap();
        assert_eq!(said.returned, Some(0x7f00));
        assert_eq!(ParsedCall::read(b"sync() = 0").unwrap().arguments.len(), 0);
        assert!(RecordingLine::read(b"sync() = 0").is_err());
        assert_eq!(ParsedCall::read(b"exit_group(0"), None);
    }
}
