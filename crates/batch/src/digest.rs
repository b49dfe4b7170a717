//! Content-derived names of plans and cells.

use std::fmt::{self, Write};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Size of a read, in bytes.
const PART: usize = 1 << 20;

/// A digest (SHA-256), in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(String);

impl Digest {
    /// Length of a digest, in hexadecimal digits.
    pub const LENGTH: usize = 64;

    /// Returns the digest of a byte string.
    pub fn sha256(bytes: &[u8]) -> Self {
        Self::written(Sha256::digest(bytes).as_ref())
    }

    /// Returns the digest of a file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn of_file(path: &Path) -> io::Result<Self> {
        let (mut file, mut part) = (File::open(path)?, vec![0; PART]);
        let mut digest = Sha256::new();
        loop {
            match file.read(&mut part)? {
                0 => return Ok(Self::written(digest.finalize().as_ref())),
                length => digest.update(&part[..length]),
            }
        }
    }

    /// Parses a digest. Returns `None` if the text is not 64 lower-case hexadecimal digits.
    pub fn read(text: &str) -> Option<Self> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let is_one = text.len() == Self::LENGTH && text.bytes().all(is_digit);
        is_one.then(|| Self(text.to_owned()))
    }

    /// Returns the first two digits, which name the subdirectory of a file and keep directories
    /// small.
    pub fn prefix(&self) -> &str {
        &self.0[..2]
    }

    /// Returns the first twelve digits, for display.
    pub fn short(&self) -> &str {
        &self.0[..12]
    }

    fn written(bytes: &[u8]) -> Self {
        let mut text = String::with_capacity(Self::LENGTH);
        for byte in bytes {
            write!(text, "{byte:02x}").expect("a string takes everything");
        }
        Self(text)
    }
}

impl TryFrom<String> for Digest {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::read(&text).ok_or_else(|| format!("`{}` is no digest", text.escape_debug()))
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_only_complete_lower_case_digests() {
        let digest = Digest::sha256(b"abc");
        assert!(digest.to_string().starts_with("ba7816bf8f01cfea"));
        assert_eq!(Digest::read(&digest.to_string()), Some(digest.clone()));
        for other in [&digest.to_string()[1..], "", &"G".repeat(64), &"A".repeat(64)] {
            assert_eq!(Digest::read(other), None, "{other}");
            assert!(serde_json::from_value::<Digest>(other.into()).is_err());
        }
    }

    #[test]
    fn a_file_has_the_digest_of_its_bytes() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let bytes = vec![7; PART + 1];
        std::fs::write(file.path(), &bytes).unwrap();
        assert_eq!(Digest::of_file(file.path()).unwrap(), Digest::sha256(&bytes));
    }
}
