//! Cuts the power of a simulated disk at every point of a short sequence of file operations, and
//! judges what is left.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::keys::{choice, flag, keyed, op_name};
use super::{FsState, KeyError, KeySource, OpExecutor, OpInfo, OpName, OpUnit, WorkEstimate};
use crate::{CacheState, Metric, SyncAtEnd, WorkloadCategory};

/// Maximum length of a path and of a name in it, in bytes. Linux allows 4095 and 255; the path of
/// the mount comes before.
const MAX_PATH: usize = 1024;
const MAX_NAME: usize = 255;
/// Maximum number of operations of a generated sequence.
const MAX_OPERATIONS: u32 = 3;
/// Maximum number of cuts or faults of a phase.
const MAX_TRIALS: u32 = 1 << 20;

/// A file operation of a sequence. Paths are relative to the root of the filesystem. Contents have
/// whole blocks of 4 KiB.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "String"))]
pub enum FileStep {
    /// Creates a directory.
    Mkdir(String),
    /// Creates a file with this number of blocks.
    Write(String, u32),
    /// Overwrites all blocks of a file in place.
    Overwrite(String),
    /// Writes to a file from this block on this number of blocks. The file grows if it is smaller;
    /// blocks before the first read as zeros.
    WriteAt(String, u32, u32),
    /// Writes this number of blocks at the end of a file.
    Append(String, u32),
    /// Sets the size of a file to this number of blocks.
    Truncate(String, u32),
    /// Gives a file or directory another name, replacing a file of that name.
    Rename(String, String),
    /// Gives a file an additional name.
    Link(String, String),
    /// Creates a symbolic link: its target, and its name.
    Symlink(String, String),
    /// Overwrites all blocks of a file in place, through a memory mapping.
    MapWrite(String),
    /// Allocates this number of blocks at the end of a file, which read as zeros.
    Allocate(String, u32),
    /// Makes the first block of a file a hole, which reads as zeros.
    Punch(String),
    /// Sets an extended attribute of a file to the number of the step.
    SetAttribute(String),
    /// Removes the name of a file.
    Unlink(String),
    /// Removes an empty directory.
    Rmdir(String),
    /// Calls `fsync` on a file or directory.
    Fsync(String),
    /// Calls `fdatasync` on a file.
    Fdatasync(String),
    /// Calls `sync_file_range` for a whole file, which promises nothing.
    SyncRange(String),
    /// Calls `syncfs`.
    Sync,
}

impl FileStep {
    /// Bytes of a block.
    pub const BLOCK: u64 = 4096;
    /// Maximum number of steps of a sequence.
    pub const MAX_STEPS: usize = 1024;
    /// Maximum number of blocks of a file of a sequence.
    pub const MAX_BLOCKS: u32 = 1024;

    /// Returns true if the step changes nothing, and may make earlier steps durable.
    pub const fn is_sync(&self) -> bool {
        matches!(self, Self::Fsync(_) | Self::Fdatasync(_) | Self::SyncRange(_) | Self::Sync)
    }

    /// Returns the paths that the step names.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let (first, second) = match self {
            Self::Mkdir(path)
            | Self::Write(path, _)
            | Self::Overwrite(path)
            | Self::WriteAt(path, ..)
            | Self::MapWrite(path)
            | Self::Append(path, _)
            | Self::Truncate(path, _)
            | Self::Allocate(path, _)
            | Self::Punch(path)
            | Self::SetAttribute(path)
            | Self::Unlink(path)
            | Self::Rmdir(path)
            | Self::Fsync(path)
            | Self::Fdatasync(path)
            | Self::SyncRange(path) => (Some(path), None),
            Self::Rename(from, to) | Self::Link(from, to) | Self::Symlink(from, to) => {
                (Some(from), Some(to))
            }
            Self::Sync => (None, None),
        };
        first.into_iter().chain(second).map(String::as_str)
    }
}

impl fmt::Display for FileStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mkdir(path) => write!(f, "mkdir {path}"),
            Self::Write(path, blocks) => write!(f, "write {path} {blocks}"),
            Self::Overwrite(path) => write!(f, "overwrite {path}"),
            Self::WriteAt(path, first, blocks) => write!(f, "write-at {path} {first} {blocks}"),
            Self::Append(path, blocks) => write!(f, "append {path} {blocks}"),
            Self::Truncate(path, blocks) => write!(f, "truncate {path} {blocks}"),
            Self::Rename(from, to) => write!(f, "rename {from} {to}"),
            Self::Link(from, to) => write!(f, "link {from} {to}"),
            Self::Symlink(target, name) => write!(f, "symlink {target} {name}"),
            Self::MapWrite(path) => write!(f, "map-write {path}"),
            Self::Allocate(path, blocks) => write!(f, "allocate {path} {blocks}"),
            Self::Punch(path) => write!(f, "punch {path}"),
            Self::SetAttribute(path) => write!(f, "setxattr {path}"),
            Self::Unlink(path) => write!(f, "unlink {path}"),
            Self::Rmdir(path) => write!(f, "rmdir {path}"),
            Self::Fsync(path) => write!(f, "fsync {path}"),
            Self::Fdatasync(path) => write!(f, "fdatasync {path}"),
            Self::SyncRange(path) => write!(f, "sync-file-range {path}"),
            Self::Sync => f.write_str("sync"),
        }
    }
}

impl From<FileStep> for String {
    fn from(step: FileStep) -> Self {
        step.to_string()
    }
}

impl TryFrom<String> for FileStep {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for FileStep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let blocks = |word: &str| {
            let most = Self::MAX_BLOCKS;
            let number = word.parse().ok().filter(|blocks| *blocks <= most);
            number.ok_or_else(|| format!("expected a number of blocks up to {most}, not `{word}`"))
        };
        let step = match words[..] {
            ["mkdir", path] => Self::Mkdir(path.into()),
            ["write", path, count] => Self::Write(path.into(), blocks(count)?),
            ["overwrite", path] => Self::Overwrite(path.into()),
            ["write-at", path, first, count] => {
                Self::WriteAt(path.into(), blocks(first)?, blocks(count)?)
            }
            ["append", path, count] => Self::Append(path.into(), blocks(count)?),
            ["truncate", path, count] => Self::Truncate(path.into(), blocks(count)?),
            ["rename", from, to] => Self::Rename(from.into(), to.into()),
            ["link", from, to] => Self::Link(from.into(), to.into()),
            ["symlink", target, name] => Self::Symlink(target.into(), name.into()),
            ["map-write", path] => Self::MapWrite(path.into()),
            ["allocate", path, count] => Self::Allocate(path.into(), blocks(count)?),
            ["punch", path] => Self::Punch(path.into()),
            ["setxattr", path] => Self::SetAttribute(path.into()),
            ["unlink", path] => Self::Unlink(path.into()),
            ["rmdir", path] => Self::Rmdir(path.into()),
            ["fsync", path] => Self::Fsync(path.into()),
            ["fdatasync", path] => Self::Fdatasync(path.into()),
            ["sync-file-range", path] => Self::SyncRange(path.into()),
            ["sync"] => Self::Sync,
            _ => {
                return Err(format!(
                    "`{text}` is no step: one of `mkdir D`, `write F BLOCKS`, `overwrite F`, `write-at F BLOCK BLOCKS`, `map-write F`, \
                     `append F BLOCKS`, `truncate F BLOCKS`, `allocate F BLOCKS`, `punch F`, `setxattr F`, \
                     `rename A B`, `link A B`, `symlink TARGET NAME`, `unlink F`, `rmdir D`, `fsync F`, \
                     `fdatasync F`, `sync-file-range F`, `sync`"
                ));
            }
        };
        if let Self::WriteAt(_, first, count) = &step
            && first + count > Self::MAX_BLOCKS
        {
            return Err(format!("`{text}` ends after block {}", Self::MAX_BLOCKS));
        }
        let is_name = |part: &str| {
            (1..=MAX_NAME).contains(&part.len())
                && !part.starts_with('.')
                && !part.contains(char::is_control)
        };
        let is_plain =
            |path: &str| path.len() <= MAX_PATH && (path == "." || path.split('/').all(is_name));
        if let Some(path) = step.paths().find(|path| !is_plain(path)) {
            return Err(format!(
                "cannot use the path `{}`: it needs names of 1 to {MAX_NAME} bytes without a dot at \
                 their begin, separated by `/`, at most {MAX_PATH} bytes",
                path.escape_debug()
            ));
        }
        Ok(step)
    }
}

/// Expectation by which the state after a power cut is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Expectation {
    /// Files and names of a completed sync exist, according to fsync(2) and sync(2).
    Promise,
    /// In addition, the result of the last step survives. A program that then reports success relies
    /// on it, also if no sync promises it.
    Acknowledged,
    /// In addition, a file that a rename replaces is the old one or the new one, whole. Editors and
    /// package managers rely on it, no standard promises it, and some filesystems do.
    Replacement,
    /// In addition, all files are in a state that existed at one moment since the last sync. Many
    /// programs assume this, and no standard promises it.
    Order,
}

impl PowerCut {
    /// Maximum number of parts of a sequence that are tried to shorten it.
    pub const MAX_PARTS: usize = 40;
}

impl Expectation {
    /// Every expectation with its name in suites, facts and options.
    pub const WORDS: [(&'static str, Self); 4] = [
        ("promise", Self::Promise),
        ("acknowledged", Self::Acknowledged),
        ("replacement", Self::Replacement),
        ("order", Self::Order),
    ];

    /// Returns the name of the expectation.
    pub fn name(self) -> &'static str {
        let mut words = Self::WORDS.into_iter();
        words.find(|(_, one)| *one == self).map_or("", |(word, _)| word)
    }
}

keyed! {
    /// Records a sequence of file operations on a simulated disk. Then cuts the power at each
    /// position of its writes: repairs, mounts, compares.
    pub struct PowerCut {
        /// Steps before the recording; the filesystem is unmounted after them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        prepare: Vec<FileStep> = optional_steps,
        /// Recorded steps.
        steps: Vec<FileStep> = steps,
        /// The expectation.
        expect: Expectation = |keys, key| choice(keys, key, &Expectation::WORDS),
        /// Maximum number of cuts.
        cuts: u32 = trials,
        /// Whether the disk ignores flushes and forced writes. A loss is then no broken promise of
        /// the filesystem.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ignores_flushes: bool = flag,
        /// Whether to search the shortest part of a sequence with a loss.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        shorten: bool = flag,
    }
}

keyed! {
    /// Cuts the power, as [`PowerCut`], in each of a set of short sequences of operations and
    /// syncs, or in a random sample of them. What fsync(2) promises is expected.
    pub struct PowerCutSet {
        /// Number of operations of a sequence.
        operations: u32 = |keys, key| count(keys, key, MAX_OPERATIONS),
        /// Maximum number of sequences.
        sequences: u32 = |keys, key| count(keys, key, MAX_TRIALS),
        /// Maximum number of cuts of a sequence.
        cuts: u32 = trials,
    }
}

/// Reads the steps of an optional key.
pub(super) fn optional_steps(
    keys: &dyn KeySource,
    key: &'static str,
) -> Result<Vec<FileStep>, KeyError> {
    if keys.has(key) { steps(keys, key) } else { Ok(Vec::new()) }
}

/// Reads steps.
pub(super) fn steps(keys: &dyn KeySource, key: &'static str) -> Result<Vec<FileStep>, KeyError> {
    let mut steps = Vec::new();
    keys.texts(key, &mut |text| {
        if steps.len() == FileStep::MAX_STEPS {
            return Err(format!("a sequence has at most {} steps", FileStep::MAX_STEPS));
        }
        steps.push(text.parse()?);
        Ok(())
    })?;
    Ok(steps)
}

/// Reads a maximum number of cuts or faults.
pub(super) fn trials(keys: &dyn KeySource, key: &'static str) -> Result<u32, KeyError> {
    count(keys, key, MAX_TRIALS)
}

fn count(keys: &dyn KeySource, key: &'static str, most: u32) -> Result<u32, KeyError> {
    let number = keys.count(key, 1..u64::from(most) + 1)?;
    Ok(u32::try_from(number).unwrap_or(most))
}

/// Implements an operation that tries cuts or faults of a recorded disk.
macro_rules! disk_trials {
    ($operation:ident, $name:literal, |$op:ident| $trials:expr) => {
        impl OpInfo for $operation {
            fn op_names() -> &'static [OpName] {
                const { &[op_name::<Self>($name)] }
            }

            fn apply(&self, _: &mut FsState) -> WorkEstimate {
                let $op = self;
                WorkEstimate::new(0, 0, $trials)
            }

            fn perform<S: OpExecutor>(&self, executor: &mut S) -> Result<(), S::Error> {
                Err(executor.unsupported("it is no operation on files"))
            }

            /// Survival is not speed, so no use weighs it.
            fn group(&self) -> Option<WorkloadCategory> {
                None
            }

            fn primary_metric(&self) -> Metric {
                Metric::Survived
            }

            fn each(&self) -> OpUnit {
                OpUnit::Nothing
            }

            fn allowed_caches(&self) -> &'static [CacheState] {
                &[]
            }

            fn allowed_ends(&self) -> &'static [SyncAtEnd] {
                &[]
            }
        }
    };
}

pub(super) use disk_trials;

disk_trials!(PowerCut, "power-cut", |op| u64::from(op.cuts));
disk_trials!(PowerCutSet, "power-cut-set", |op| u64::from(op.sequences) * u64::from(op.cuts));

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_step_reads_back_from_its_text(
            kind in 0..16_usize, a in "[a-z]{1,8}(/[a-z]{1,8})?", b in "[a-z]{1,8}", n in 0..=FileStep::MAX_BLOCKS,
        ) {
            let step = match kind {
                0 => FileStep::Mkdir(a),
                1 => FileStep::Write(a, n),
                2 => FileStep::Overwrite(a),
                3 => FileStep::Append(a, n),
                4 => FileStep::Truncate(a, n),
                5 => FileStep::Rename(a, b),
                6 => FileStep::Link(a, b),
                7 => FileStep::Unlink(a),
                8 => FileStep::Rmdir(a),
                9 => FileStep::Fsync(a),
                10 => FileStep::Fdatasync(a),
                11 => FileStep::Symlink(a, b),
                12 => FileStep::MapWrite(a),
                13 => FileStep::Allocate(a, n),
                14 => FileStep::WriteAt(a, n, FileStep::MAX_BLOCKS - n),
                _ => FileStep::Sync,
            };
            prop_assert_eq!(step.to_string().parse::<FileStep>(), Ok(step));
        }
    }

    #[test]
    fn steps_outside_the_filesystem_are_refused() {
        for text in [
            "write ../a 1",
            "fsync /etc",
            "unlink a/../b",
            "mkdir .hidden",
            "write a",
            "write a 1025",
            "write-at a 1",
            "write-at a 1000 25",
        ] {
            assert!(text.parse::<FileStep>().is_err(), "{text}");
        }
        assert!("fsync .".parse::<FileStep>().is_ok());
        let longest = "n".repeat(255);
        assert!(format!("write {longest} 1").parse::<FileStep>().is_ok());
        for path in ["a\0b".to_owned(), "a\u{1b}[2J".to_owned(), format!("{longest}n")] {
            assert!(format!("write {path} 1").parse::<FileStep>().is_err(), "{path:?}");
        }
        assert!(format!("mkdir {}d", "d/".repeat(512)).parse::<FileStep>().is_err());
    }
}
