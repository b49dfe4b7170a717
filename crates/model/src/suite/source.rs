//! Source disk of a campaign, so that a copy reads one disk and writes another.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Bytes, Contender, CopyTreeIn, Op, Test, TreeSpec};

/// Source of trees and files that are copied to the contenders. fsarena never modifies user data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum CopySource {
    /// A user directory.
    Directory {
        /// The directory.
        path: PathBuf,
        /// Its contents.
        contents: SourceInventory,
    },
    /// A user's filesystem on a block device, or in an image file.
    Device {
        /// The device or file.
        path: PathBuf,
        /// Its contents.
        contents: SourceInventory,
    },
    /// A second image, filled with generated data for the suites.
    Image {
        /// Its size.
        size: Bytes,
        /// The filesystem on it.
        contender: Box<Contender>,
    },
}

/// Contents of a source: regular files and directories of one filesystem. Links are not followed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SourceInventory {
    /// Files.
    pub files: u64,
    /// Directories below its top.
    pub directories: u64,
    /// Total size of all files.
    pub bytes: Bytes,
    /// Size of the largest file.
    pub largest: Bytes,
    /// Number of entries that are never copied: links, device nodes, and other mounted filesystems.
    #[serde(rename = "left_out")]
    pub skipped_entries: u64,
    /// Hash of names, sizes and modification times; another hash indicates a modification.
    pub digest: String,
}

/// Estimated space of an entry on a filesystem, in addition to its bytes: a block of data and its
/// share of metadata.
const OF_AN_ENTRY: u64 = 8 << 10;

impl CopySource {
    /// Value of the source option that selects a second image, created by fsarena.
    pub const IMAGE: &'static str = "image";

    /// Returns the contents of a user source.
    pub const fn contents(&self) -> Option<&SourceInventory> {
        match self {
            Self::Directory { contents, .. } | Self::Device { contents, .. } => Some(contents),
            Self::Image { .. } => None,
        }
    }

    /// Returns the path of a user source.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Directory { path, .. } | Self::Device { path, .. } => Some(path),
            Self::Image { .. } => None,
        }
    }
}

impl SourceInventory {
    /// Changes the copy phases of a test to this source, and scales the required space of the test
    /// accordingly.
    pub fn resolve_in(&self, test: &mut Test) {
        let before = weight(test);
        for phase in &mut test.phases {
            match &mut phase.op {
                Op::CopyTreeIn(CopyTreeIn { spec, .. }) => {
                    let (files, directories, bytes) = (self.files, self.directories, self.bytes);
                    *spec = TreeSpec { files, directories, bytes, ..*spec };
                }
                Op::CopyFileIn(copy) => copy.size = self.largest,
                _ => {}
            }
        }
        let after = weight(test);
        if before > 0 && before != after {
            let space = test.space.0 as f64 * (after as f64 / before as f64);
            // A filesystem needs some space for itself, even for little data.
            test.space = Bytes(space as u64).max(test.space.min(MIN_SPACE));
        }
    }
}

/// Minimum space of a test that copies very little.
const MIN_SPACE: Bytes = Bytes::mib(16);

/// Estimates the space on a filesystem for the copy phases of a test.
fn weight(test: &Test) -> u64 {
    let of = |op: &Op| match op {
        Op::CopyTreeIn(CopyTreeIn { spec, .. }) => (spec.files)
            .saturating_add(spec.directories)
            .saturating_mul(OF_AN_ENTRY)
            .saturating_add(spec.bytes.0),
        Op::CopyFileIn(copy) => copy.size.0.saturating_add(OF_AN_ENTRY),
        _ => 0,
    };
    let phases = test.phases.iter();
    phases.map(|p| of(&p.op)).fold(0, u64::saturating_add)
}

/// Returns the size of a second image for these tests, with room for its filesystem.
pub fn source_image_size<'a>(tests: impl Iterator<Item = &'a Test>) -> Bytes {
    const BESIDE: u64 = 64 << 20;
    let content = tests.map(weight).fold(0, u64::saturating_add);
    let size = content.saturating_add(content / 8).saturating_add(BESIDE);
    Bytes(size.div_ceil(1 << 20) << 20)
}

impl fmt::Display for CopySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory { path, contents } => {
                write!(f, "directory {}: {contents}", path.display())
            }
            Self::Device { path, contents } => write!(f, "{}: {contents}", path.display()),
            Self::Image { size, contender } => {
                write!(f, "second image of {size} with {}", contender.name)
            }
        }
    }
}

impl fmt::Display for SourceInventory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { files, directories, bytes, skipped_entries: left_out, .. } = self;
        write!(f, "{files} files in {directories} directories, {bytes}")?;
        if *left_out > 0 {
            write!(f, "; {left_out} links and other entries are skipped")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CacheState, Capacity, CopyFileIn, Phase, SyncAtEnd};

    fn test(op: Op) -> Test {
        Test {
            name: "tree".into(),
            suite: "tree".into(),
            title: String::new(),
            rationale: String::new(),
            space: Bytes::mib(160),
            data: crate::DataKind::default(),
            sweep: None,
            phases: vec![Phase {
                name: "tree-in".into(),
                cache: CacheState::Cold,
                sync_at_end: SyncAtEnd::Syncfs,
                at_most: None,
                scaling: None,
                step: None,
                needs: None,
                from_next_host: false,
                op,
            }],
        }
    }

    fn tree() -> Op {
        Op::CopyTreeIn(CopyTreeIn {
            tree: "original".into(),
            spec: TreeSpec {
                files: 500,
                directories: 60,
                bytes: Bytes(50_000_000),
                smallest: Bytes(10_000),
                largest: Bytes(1_000_000),
            },
            block: Bytes::kib(64),
        })
    }

    fn contents(files: u64, bytes: u64) -> SourceInventory {
        SourceInventory {
            files,
            directories: files / 10,
            bytes: Bytes(bytes),
            largest: Bytes(bytes / 4),
            ..SourceInventory::default()
        }
    }

    #[test]
    fn user_source_sets_copy_size_and_space() {
        let mut larger = test(tree());
        contents(5_000, 500_000_000).resolve_in(&mut larger);
        let Op::CopyTreeIn(CopyTreeIn { spec: TreeSpec { files, bytes, .. }, .. }) =
            larger.phases[0].op
        else {
            panic!("{larger:?}");
        };
        assert_eq!((files, bytes), (5_000, Bytes(500_000_000)));
        assert!(larger.space > Bytes::mib(1500) && larger.space < Bytes::mib(1700));
        let mut tiny = test(tree());
        contents(3, 300).resolve_in(&mut tiny);
        assert_eq!(tiny.space, MIN_SPACE);
        let mut file = test(Op::CopyFileIn(CopyFileIn {
            file: "image".into(),
            size: Bytes(100),
            block: Bytes::kib(64),
        }));
        contents(10, 4_000).resolve_in(&mut file);
        assert!(matches!(file.phases[0].op, Op::CopyFileIn(CopyFileIn { size: Bytes(1_000), .. })));
    }

    #[test]
    fn tests_that_do_not_copy_are_unchanged() {
        let other = test(Op::Capacity(Capacity));
        let mut same = other.clone();
        contents(10, 10).resolve_in(&mut same);
        assert_eq!(same, other);
    }

    #[test]
    fn second_image_has_room_for_copied_data() {
        let one = test(tree());
        let size = source_image_size([&one].into_iter());
        assert!(size > Bytes(50_000_000 + (64 << 20)) && size < Bytes::mib(130));
        assert_eq!(size.0 % (1 << 20), 0);
    }
}
