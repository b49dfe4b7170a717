//! Words of a POSIX shell.

/// Returns a word, in single quotes if a POSIX shell would interpret it otherwise (XCU §2.2).
#[must_use]
pub fn shell_quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_that_a_shell_would_change_are_quoted() {
        for (word, expected) in [
            ("/dev/sda1", "/dev/sda1"),
            ("ext4:data=journal,noatime", "ext4:data=journal,noatime"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("$(touch b)", "'$(touch b)'"),
        ] {
            assert_eq!(shell_quote(word), expected);
        }
    }
}
