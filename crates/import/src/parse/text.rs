//! Splits an untrusted text into lines.

use std::borrow::Cow;

use crate::ImportError;

/// Returns the text of an input: without a byte order mark, without the marks of quoted mail, and
/// with U+FFFD for bytes that are not text.
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let text = match bytes {
        [0xff, 0xfe, rest @ ..] => Cow::Owned(utf16(rest, u16::from_le_bytes)),
        [0xfe, 0xff, rest @ ..] => Cow::Owned(utf16(rest, u16::from_be_bytes)),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest),
        _ => String::from_utf8_lossy(bytes),
    };
    match text.lines().any(|line| line.starts_with('>')) && !text.trim_start().starts_with('<') {
        true => Cow::Owned(text.split_inclusive('\n').map(without_quotes).collect()),
        false => text,
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units).map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// Returns a line of a mail without the marks of its quotation.
fn without_quotes(line: &str) -> &str {
    let mut rest = line;
    while let Some(quoted) = rest.strip_prefix('>') {
        rest = quoted.strip_prefix(' ').unwrap_or(quoted);
    }
    rest
}

/// Returns the lines with their numbers, from 1.
///
/// # Errors
/// Returns an error if a line is not UTF-8.
pub fn lines(bytes: &[u8]) -> Result<Vec<(usize, &str)>, ImportError> {
    let text = as_utf8(bytes)?;
    Ok((1..).zip(text.lines()).collect())
}

/// Returns the text without a byte order mark.
pub fn as_utf8(bytes: &[u8]) -> Result<&str, ImportError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        ImportError::at_line(line, "it is not UTF-8: the file is damaged or of another format")
    })?;
    Ok(text.trim_start_matches('\u{feff}'))
}

/// Returns true if the last line is terminated. A number at the end of an unterminated line may be
/// incomplete.
pub fn is_ended(bytes: &[u8]) -> bool {
    bytes.ends_with(b"\n")
}

/// Shortens a text that is stored for many results, because a line may be as long as the file.
pub fn shortened(text: &str) -> String {
    text.chars().take(300).collect()
}

/// Splits a line into words.
pub fn split_words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// Returns the command line of a program in a line of its output, or after the prompt of a shell.
pub fn command_of<'a, 'b>(words: &'a [&'b str], program: &str) -> Option<&'a [&'b str]> {
    match words {
        ["Command", "line", ":" | "used:", command @ ..] => Some(command),
        _ => {
            let is_program = |word: &&str| word.rsplit('/').next() == Some(program);
            let at = words.iter().position(is_program)?;
            words.get(at + 1).is_some_and(|next| next.starts_with('-')).then(|| &words[at..])
        }
    }
}

/// Returns the value of an option of a command line: `-d DIR` or `-dDIR`.
pub fn option<'a>(words: &[&'a str], option: &str) -> Option<&'a str> {
    let at = words.iter().position(|word| word.starts_with(option))?;
    match words[at].strip_prefix(option) {
        Some("") => words.get(at + 1).copied(),
        attached => attached,
    }
}

/// Returns the option letters of a command line, including those combined in one word (`-CT`), each
/// with its value. Letters in `with_value` take the rest of their word or the next word as their
/// value.
pub fn flags<'a>(words: &[&'a str], with_value: &str) -> Vec<(char, &'a str)> {
    let mut letters = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let given = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        let given = given.unwrap_or_default();
        for (at, letter) in given.char_indices() {
            if !with_value.contains(letter) {
                letters.push((letter, ""));
                continue;
            }
            let value = match &given[at + letter.len_utf8()..] {
                "" => words.next().copied().unwrap_or_default(),
                attached => attached,
            };
            letters.push((letter, value));
            break;
        }
    }
    letters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combined_options_and_values_are_separated() {
        let given = ["-CT", "-n", "-5", "-rn5F", "--posix", "-d", "-D"];
        let [none, five] = ["", "-5"];
        assert_eq!(
            flags(&given, "nd"),
            [('C', none), ('T', none), ('n', five), ('r', none), ('n', "5F"), ('d', "-D")]
        );
        assert_eq!(flags(&["-n"], "n"), [('n', "")]);
    }

    #[test]
    fn marks_of_mails_and_encodings_are_no_text() {
        assert_eq!(decode(b"\xef\xbb\xbfa\n> b\n>> c\n> > d\n"), "a\nb\nc\nd\n");
        assert_eq!(decode(b"\xff\xfea\0\n\0"), "a\n");
        assert_eq!(decode(b"\xfe\xff\0a"), "a");
        assert_eq!(decode(b"<a\n> b"), "<a\n> b");
        assert_eq!(decode(b"a\xffb"), "a\u{fffd}b");
    }

    #[test]
    fn the_line_that_is_not_utf8_is_named() {
        let error = lines(b"a\nb\n\xff\n").unwrap_err();
        assert_eq!(error.line, Some(3));
    }
}
