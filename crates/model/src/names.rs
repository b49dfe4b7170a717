//! Validation of names that users and data files define.

use std::fmt;

/// Maximum length of a name, in characters.
const MAX_NAMES_SIZE: usize = 64;

/// An invalid name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidName(String);

impl fmt::Display for InvalidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not a name: use up to {MAX_NAMES_SIZE} lower-case letters, digits, `.`, `_`, `+` and `-`, beginning with a \
             letter or digit",
            self.0
        )
    }
}

impl std::error::Error for InvalidName {}

/// Checks a name that is used as a file name, a column and a command-line word.
///
/// # Errors
/// Returns an error if the name is empty, longer than 64 characters, or contains an invalid
/// character.
pub fn check_name(name: &str) -> Result<(), InvalidName> {
    let allowed = |c: char| {
        c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | '+' | '-')
    };
    let begins_well = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    if begins_well && name.len() <= MAX_NAMES_SIZE && name.chars().all(allowed) {
        Ok(())
    } else {
        let mut shown: String = name.chars().take(MAX_NAMES_SIZE).collect();
        if shown.len() < name.len() {
            shown.push('…');
        }
        Err(InvalidName(shown))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_plain_word() {
        for good in ["ext4", "hfs+", "reiserfs-3.6", "bonnie", "1st"] {
            assert_eq!(check_name(good), Ok(()), "{good}");
        }
        for bad in ["", "Ext4", "a b", "../x", "-rf", "a/b", "é", &"x".repeat(65)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
        let told = check_name(&"x".repeat(4096)).unwrap_err().to_string();
        assert!(told.starts_with(&format!("`{}…`", "x".repeat(64))), "{told}");
    }
}
