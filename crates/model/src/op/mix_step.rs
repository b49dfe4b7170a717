//! One step of a role's cycle, and its syntax in a suite: `create`, `append 16 KiB`, `think 2 ms`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::WorkEstimate;
use super::keys::MAX_BLOCK;
use crate::{Bytes, Nanos};

/// A step of a thread. Files of a set are chosen at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MixStep {
    /// Create a file in the set and keep it open.
    Create,
    /// Write the whole new file, with a size from the set.
    Write,
    /// Write this many bytes at the end of the open file.
    Append(Bytes),
    /// Open a file of the set.
    Open,
    /// Read all of the open file.
    Read,
    /// Close it.
    Close,
    /// Read the attributes of a file of the set.
    Stat,
    /// Remove a file of the set.
    Delete,
    /// `fsync` the file that was used last.
    Fsync,
    /// `fdatasync` it.
    Fdatasync,
    /// Read this many bytes at a random, aligned offset of the file.
    RandomRead(Bytes),
    /// Write this many bytes at a random, aligned offset of the file.
    RandomWrite(Bytes),
    /// Read the next bytes of the file from the device, front to back and again from the front. The
    /// data is dropped from the page cache. Each thread has its own part of the file.
    Stream(Bytes),
    /// Append to the log of the role, which its threads share (`O_APPEND`).
    Log(Bytes),
    /// Wait.
    #[serde(rename = "think")]
    Sleep(Nanos),
}

impl MixStep {
    /// The names of the steps in suites, in the order of the documentation.
    pub const WORDS: [&'static str; 15] = [
        "create",
        "write",
        "append",
        "open",
        "read",
        "close",
        "stat",
        "delete",
        "fsync",
        "fdatasync",
        "random-read",
        "random-write",
        "stream",
        "log",
        "think",
    ];

    /// Returns the name in suites.
    pub const fn name(&self) -> &'static str {
        Self::WORDS[match self {
            Self::Create => 0,
            Self::Write => 1,
            Self::Append(_) => 2,
            Self::Open => 3,
            Self::Read => 4,
            Self::Close => 5,
            Self::Stat => 6,
            Self::Delete => 7,
            Self::Fsync => 8,
            Self::Fdatasync => 9,
            Self::RandomRead(_) => 10,
            Self::RandomWrite(_) => 11,
            Self::Stream(_) => 12,
            Self::Log(_) => 13,
            Self::Sleep(_) => 14,
        }]
    }

    /// Returns the bytes of the request, if the step has a size.
    pub const fn size(&self) -> Option<Bytes> {
        match self {
            Self::Append(size)
            | Self::RandomRead(size)
            | Self::RandomWrite(size)
            | Self::Stream(size)
            | Self::Log(size) => Some(*size),
            _ => None,
        }
    }

    /// Returns true if the step changes the filesystem.
    pub const fn writes(&self) -> bool {
        self.changes_files() || matches!(self, Self::RandomWrite(_) | Self::Log(_))
    }

    /// Returns true if the step creates, removes or modifies a file of the set.
    pub const fn changes_files(&self) -> bool {
        matches!(self, Self::Create | Self::Write | Self::Append(_) | Self::Delete)
    }

    /// Returns true if the step waits until a file is on the device.
    pub const fn syncs(&self) -> bool {
        matches!(self, Self::Fsync | Self::Fdatasync)
    }

    /// Returns the change of the number of files.
    pub(super) const fn net_files(&self) -> i64 {
        match self {
            Self::Create => 1,
            Self::Delete => -1,
            _ => 0,
        }
    }

    /// Returns its bytes and syncs for a given mean file size.
    pub(super) const fn work(&self, mean: u64) -> WorkEstimate {
        match self {
            Self::Write => WorkEstimate::new(0, mean, 0),
            Self::Read => WorkEstimate::new(mean, 0, 0),
            Self::Append(size) | Self::RandomWrite(size) | Self::Log(size) => {
                WorkEstimate::new(0, size.0, 0)
            }
            Self::RandomRead(size) | Self::Stream(size) => WorkEstimate::new(size.0, 0, 0),
            Self::Fsync | Self::Fdatasync => WorkEstimate::new(0, 0, 0).with_syncs(1),
            _ => WorkEstimate::new(0, 0, 0),
        }
    }
}

impl FromStr for MixStep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        let rest = rest.trim();
        let size = || -> Result<Bytes, String> {
            let size = rest.parse::<Bytes>().ok();
            size.filter(|size| (1..=MAX_BLOCK.0).contains(&size.0))
                .ok_or_else(|| format!("step `{text}`: expected a size such as `{word} 16 KiB`"))
        };
        let step = match word {
            "create" => Self::Create,
            "write" => Self::Write,
            "append" => return Ok(Self::Append(size()?)),
            "open" => Self::Open,
            "read" => Self::Read,
            "close" => Self::Close,
            "stat" => Self::Stat,
            "delete" => Self::Delete,
            "fsync" => Self::Fsync,
            "fdatasync" => Self::Fdatasync,
            "random-read" => return Ok(Self::RandomRead(size()?)),
            "random-write" => return Ok(Self::RandomWrite(size()?)),
            "stream" => return Ok(Self::Stream(size()?)),
            "log" => return Ok(Self::Log(size()?)),
            "think" => {
                let time = rest.parse::<Nanos>().ok().filter(|time| time.0 > 0);
                let time = time.ok_or_else(|| {
                    format!("step `{text}`: expected a time such as `think 2 ms`")
                })?;
                return Ok(Self::Sleep(time));
            }
            _ => {
                let words = Self::WORDS.join(", ");
                return Err(format!("`{text}` is no step; expected one of: {words}"));
            }
        };
        match rest.is_empty() {
            true => Ok(step),
            false => Err(format!("step `{text}`: `{word}` stands alone")),
        }
    }
}

impl fmt::Display for MixStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match (self.size(), self) {
            (Some(size), _) => write!(f, " {size}"),
            (None, Self::Sleep(time)) => write!(f, " {time}"),
            (None, _) => Ok(()),
        }
    }
}
