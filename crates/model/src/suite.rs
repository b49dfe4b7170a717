//! Suites, tests and phases, as resolved for one profile: no placeholder is left in them.

pub(crate) mod excluded_phase;
pub(crate) mod source;
pub(crate) mod source_archive;
pub(crate) mod sweep;
pub(crate) mod use_case;
pub(crate) mod workload_category;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Bytes, Mkfs, Nanos, Op, SourceArchive, SweepAxis, SweepPoint};

/// The suite of other programs that are run as they are (`-s fio:my.fio`); no catalog has it.
pub const PEERS: &str = "peers";

/// An ordered list of tests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Suite {
    /// The word that names it.
    pub name: String,
    /// A title in one line.
    pub title: String,
    /// The published comparison or program it follows.
    pub source: String,
    /// Programs required by its commands.
    #[serde(default, skip_serializing_if = "ProgramRequirements::is_empty")]
    pub requires: ProgramRequirements,
    /// Archives that its commands unpack; those that commands of this profile name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub archives: Vec<SourceArchive>,
    /// A filesystem that the suite is run on as well, to tell what the work costs without a disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// The tests, in the order in which they run.
    pub tests: Vec<Test>,
}

impl Suite {
    /// Returns the name of a test for the command line: `tree/tree`, `fio:my.fio`. The title of a
    /// test of another program is its command line.
    pub fn selector(&self, test: &Test) -> String {
        match self.name == PEERS {
            true => test.title.replacen(' ', ":", 1),
            false => format!("{}/{}", self.name, test.name),
        }
    }
}

/// Programs that the commands of a suite need.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProgramRequirements {
    /// Debian packages that contain them.
    pub packages: Vec<String>,
    /// The programs, by name.
    pub programs: Vec<String>,
    /// Files of the packages that the programs need in a guest, as paths without the first `/`. A
    /// path that ends with `*` is a prefix.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

impl ProgramRequirements {
    /// Returns true if no program or package is needed.
    pub const fn is_empty(&self) -> bool {
        self.packages.is_empty() && self.programs.is_empty()
    }
}

/// A sequence of phases on one freshly made filesystem: the unit that a cell runs.
///
/// mkfs and mount before the phases, unmount and check after them, are part of every test and are
/// recorded as steps; a test that measures them names them as phases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Test {
    /// The word that names it, unique over all suites.
    pub name: String,
    /// The suite it belongs to.
    pub suite: String,
    /// A title in one line.
    pub title: String,
    /// Explains why the results are meaningful, and their limitations.
    pub rationale: String,
    /// Space that must be free for it.
    pub space: Bytes,
    /// The position in a sweep, if it is a sweep point.
    #[serde(default)]
    pub sweep: Option<SweepPoint>,
    /// Its phases.
    pub phases: Vec<Phase>,
}

impl Suite {
    /// Returns the suite with only one of its tests, or all points of one of its sweeps, and the
    /// requirements of these. Returns `None` if it has no test or sweep of this name.
    pub fn select_test(&self, test: &str) -> Option<Self> {
        let mut part = self.clone();
        part.tests
            .retain(|t| t.name == test || t.sweep_name() == test);
        let phases = || part.tests.iter().flat_map(|test| &test.phases);
        part.archives.retain(|archive| {
            phases().any(|phase| phase.op.archives().any(|name| name == archive.name))
        });
        (!part.tests.is_empty()).then_some(part)
    }

    /// Adds other tests of the same suite. Returns false and adds none if one of them is a
    /// duplicate.
    #[must_use]
    pub fn merge(&mut self, other: Self) -> bool {
        let is_here = |new: &Test| self.tests.iter().any(|test| test.name == new.name);
        if other.tests.iter().any(is_here) {
            return false;
        }
        self.tests.extend(other.tests);
        for archive in other.archives {
            if !self.archives.contains(&archive) {
                self.archives.push(archive);
            }
        }
        true
    }
}

impl Test {
    /// Returns the name of its sweep if it is a sweep point, or its name otherwise.
    pub fn sweep_name(&self) -> &str {
        let sweep = self.sweep.as_ref();
        sweep.map_or(&self.name, |point| &point.sweep)
    }

    /// Returns true if phases of the test create and mount the filesystem.
    pub fn makes_filesystem(&self) -> bool {
        self.phases.iter().any(|p| p.op == Op::Mkfs(Mkfs))
    }

    /// Returns the number of disks, if the test is a point of a sweep over disks.
    pub fn disks(&self) -> Option<u32> {
        let disks = self.sweep.as_ref()?.at.get(&SweepAxis::Disks)?;
        u32::try_from(*disks).ok()
    }

    /// Returns the test as a point of a sweep over disks: a new sweep, or the existing one with an
    /// additional axis.
    #[must_use]
    pub fn with_disks(&self, disks: u32) -> Self {
        let (axis, value) = (SweepAxis::Disks, u64::from(disks));
        let sweep = self.sweep.clone();
        let sign = if sweep.is_some() { ',' } else { ':' };
        let mut point = sweep.unwrap_or_else(|| SweepPoint {
            sweep: self.name.clone(),
            at: BTreeMap::new(),
        });
        point.at.insert(axis, value);
        Self {
            name: format!("{}-{}", self.name, axis.format_short(value)),
            title: format!("{}{sign} {axis} {}", self.title, axis.format_long(value)),
            sweep: Some(point),
            ..self.clone()
        }
    }
}

/// One measured part of a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Phase {
    /// The word that names it, unique in its test.
    pub name: String,
    /// The cache state established before the phase starts.
    pub cache: CacheState,
    /// Where the phase ends.
    #[serde(rename = "ends")]
    pub sync_at_end: SyncAtEnd,
    /// No new operation begins after this time; the result is then a rate over what was done.
    pub at_most: Option<Nanos>,
    /// Rule for repeating a phase that ends too soon; absent if it runs once.
    #[serde(default)]
    pub scaling: Option<IterationPolicy>,
    /// The step of a longer job that contains the phase; absent if the phase is a separate step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Names of earlier phases that it depends on; absent if it depends on all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<Vec<String>>,
    /// The operation.
    pub op: Op,
}

/// The step whose phases only make what others need, and count in no total.
const PREPARATION: &str = "preparation";

impl Phase {
    /// The step that it is, or is a part of.
    pub fn step(&self) -> &str {
        self.step.as_deref().unwrap_or(&self.name)
    }

    /// Whether it only makes what later phases need, and counts in no total.
    pub fn is_preparation(&self) -> bool {
        self.step() == PREPARATION
    }
}

/// When a phase is repeated: it ends too soon to be timed once, or its passes differ too much.
///
/// Passes are added until all of them together took long enough and the 95 % interval of their mean
/// is narrow enough, or until a limit is reached; a single pass that took long enough is enough. They
/// are samples inside one round, never rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IterationPolicy {
    /// Timed part of all passes together, at least.
    pub at_least: Nanos,
    /// Half the width of the interval as a share of the mean, at most.
    pub width: f64,
    /// Passes, at most.
    pub passes: u32,
    /// No pass begins after this time since the first began, preparations and all.
    pub limit: Nanos,
}

/// Contents of the page cache during a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CacheState {
    /// Unmounted, caches dropped, mounted again.
    Cold,
    /// As the phase before left it.
    Warm,
    /// The page cache was passed by.
    Direct,
    /// The kernel was asked to forget the data (`posix_fadvise`); metadata may still be cached.
    #[serde(rename = "advised")]
    FadviseDontNeed,
    /// No file is read or written: mkfs, mount, fsck.
    None,
    /// Not stated by the source of an imported result.
    #[serde(rename = "unstated")]
    Unknown,
}

impl fmt::Display for CacheState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Cold => "cold",
            Self::Warm => "warm",
            Self::Direct => "direct",
            Self::FadviseDontNeed => "advised",
            Self::None => "none",
            Self::Unknown => "unstated",
        })
    }
}

/// Work included in the timed part at the end of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SyncAtEnd {
    /// The last system call returned; data may be in memory only.
    Call,
    /// `fsync` of the file returned.
    Fsync,
    /// `syncfs` of the filesystem returned.
    Syncfs,
    /// Not stated by the source of an imported result.
    #[serde(rename = "unstated")]
    Unknown,
}
