//! Versions of Linux that have a filesystem.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A version of Linux without its last number: `6.12`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
pub struct LinuxVersion {
    major: u32,
    minor: u32,
}

impl FromStr for LinuxVersion {
    type Err = String;

    /// Reads a version, or the version of a release: `6.12`, `6.1.0-50-amd64`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a version of Linux; write 6.12");
        let mut numbers = text.splitn(3, '.');
        let mut number = || {
            let digits = numbers.next()?;
            let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse().ok().filter(|_| is_number)
        };
        let (major, minor) = (number().ok_or_else(wrong)?, number().ok_or_else(wrong)?);
        Ok(Self { major, minor })
    }
}

impl TryFrom<String> for LinuxVersion {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<LinuxVersion> for String {
    fn from(version: LinuxVersion) -> Self {
        version.to_string()
    }
}

impl fmt::Display for LinuxVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Versions of Linux, by default all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinuxRange {
    /// The first version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<LinuxVersion>,
    /// The first version after the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<LinuxVersion>,
}

impl LinuxRange {
    /// Returns true if this is not limited.
    pub const fn is_all(&self) -> bool {
        self.from.is_none() && self.before.is_none()
    }

    /// Returns true if a version is in it.
    pub fn contains(&self, version: LinuxVersion) -> bool {
        self.from.is_none_or(|from| version >= from)
            && self.before.is_none_or(|before| version < before)
    }
}

impl fmt::Display for LinuxRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.from, self.before) {
            (None, None) => f.write_str("Linux"),
            (Some(from), None) => write!(f, "Linux {from} or later"),
            (None, Some(before)) => write!(f, "Linux before {before}"),
            (Some(from), Some(before)) => write!(f, "Linux from {from} to before {before}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn releases_are_in_the_range_of_their_version() {
        let version = |text: &str| text.parse::<LinuxVersion>().unwrap();
        let range = LinuxRange { from: Some(version("6.7")), before: Some(version("6.18")) };
        for (release, is_in) in [("6.1.0-50-amd64", false), ("6.7", true), ("6.17.3", true)] {
            assert_eq!(range.contains(version(release)), is_in, "{release}");
        }
        assert!(!range.contains(version("6.18")) && !range.contains(version("7.3")));
        assert_eq!(range.to_string(), "Linux from 6.7 to before 6.18");
        assert!(LinuxRange::default().is_all() && !range.is_all());
        for wrong in ["", "6", "6.", "six.1", "+6.1", "6.1x"] {
            assert!(wrong.parse::<LinuxVersion>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "[0-9.+x]{0,14}") {
            let _ = text.parse::<LinuxVersion>();
        }

        #[test]
        fn a_version_is_read_as_it_is_written(major: u32, minor: u32) {
            let version = LinuxVersion { major, minor };
            prop_assert_eq!(version.to_string().parse(), Ok(version));
        }
    }
}
