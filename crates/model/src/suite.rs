//! Suites, tests and phases, as resolved for one profile: all placeholders are filled in.

pub(crate) mod data_kind;
pub(crate) mod excluded_phase;
pub(crate) mod source;
pub(crate) mod source_archive;
pub(crate) mod sweep;
pub(crate) mod use_case;
pub(crate) mod workload_category;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Bytes, DataKind, Nanos, Op, SourceArchive, SweepAxis, SweepPoint, WorkloadCategory};

/// The suite of other programs that run unchanged (`-s fio:my.fio`). No catalog contains it.
pub const PEERS: &str = "peers";

/// The suite of `fsarena trace replay`, whose source is the trace. No catalog contains it.
pub const RECORDING: &str = "trace";

/// An ordered list of tests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Suite {
    /// Unique name of the suite.
    pub name: String,
    /// A title in one line.
    pub title: String,
    /// The publication or program on which the suite is based.
    pub source: String,
    /// Programs required by its commands.
    #[serde(default, skip_serializing_if = "ProgramRequirements::is_empty")]
    pub requires: ProgramRequirements,
    /// Archives that its commands unpack; only those used in this profile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub archives: Vec<SourceArchive>,
    /// A filesystem on which the suite runs in addition, to measure the cost of the work without a
    /// disk.
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

    /// Returns the programs and the paths of files that a host must have. Prefixes of files are left
    /// out: their programs look for them.
    pub fn on_host(&self) -> impl Iterator<Item = String> {
        let files = self.files.iter().filter(|file| !file.ends_with('*'));
        self.programs.iter().cloned().chain(files.map(|file| format!("/{file}")))
    }
}

/// A sequence of phases on one newly created filesystem: the unit that a cell runs.
///
/// Every test includes mkfs and mount before the phases, and unmount and check after them. They are
/// recorded as steps. A test that measures them lists them as phases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Test {
    /// Name of the test, unique over all suites.
    pub name: String,
    /// Name of the suite that contains the test.
    pub suite: String,
    /// A title in one line.
    pub title: String,
    /// Explains why the results are meaningful, and their limitations.
    pub rationale: String,
    /// Free space required by the test.
    pub space: Bytes,
    /// Content of the files that it writes.
    #[serde(default, skip_serializing_if = "DataKind::is_default")]
    pub data: DataKind,
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
        part.tests.retain(|t| t.name == test || t.sweep_name() == test);
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

    /// Returns true if fsarena generates the content of files that the test writes.
    pub fn writes_content(&self) -> bool {
        self.phases.iter().any(|phase| phase.op.writes_content())
    }

    /// Returns true if phases of the test create and mount the filesystem.
    pub fn makes_filesystem(&self) -> bool {
        self.phases.iter().any(|phase| phase.op.creates_filesystem())
    }

    /// Returns the workload categories of its phases, with repetitions.
    pub fn categories(&self) -> impl Iterator<Item = WorkloadCategory> {
        self.phases.iter().filter_map(|phase| WorkloadCategory::of_phase(self, phase))
    }

    /// Returns true if a phase of the test needs a simulated disk that records writes.
    pub fn records_writes(&self) -> bool {
        let records =
            |op: &Op| matches!(op, Op::PowerCut(_) | Op::PowerCutSet(_) | Op::DiskFault(_));
        self.phases.iter().any(|phase| records(&phase.op))
    }

    /// Returns the test for several hosts that run it together: each does the work of this test.
    /// Phases that threads of several hosts cannot share stay as they are, and are unsupported there.
    #[must_use]
    pub fn on_hosts(&self, hosts: u32) -> Self {
        let phases = self.phases.iter().map(|phase| Phase {
            op: phase.op.info().on_hosts(hosts).unwrap_or_else(|| phase.op.clone()),
            // The hosts would have to agree on each repetition.
            scaling: None,
            ..phase.clone()
        });
        Self {
            space: Bytes(self.space.0.saturating_mul(hosts.into())),
            phases: phases.collect(),
            ..self.clone()
        }
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
        let mut point =
            sweep.unwrap_or_else(|| SweepPoint { sweep: self.name.clone(), at: BTreeMap::new() });
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
    /// Name of the phase, unique in its test.
    pub name: String,
    /// The cache state established before the phase starts.
    pub cache: CacheState,
    /// End of the phase.
    #[serde(rename = "ends")]
    pub sync_at_end: SyncAtEnd,
    /// Time limit after which no operation starts. The result is then the rate of the completed
    /// operations.
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
    /// Whether each host works on the files of the next host, if several hosts run the phase
    /// together.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_next_host: bool,
    /// The operation.
    pub op: Op,
}

/// The step of preparing phases, which are excluded from totals and categories.
const PREPARATION: &str = "preparation";

impl Phase {
    /// Returns the step that contains the phase: the phase itself if it is a separate step.
    pub fn step(&self) -> &str {
        self.step.as_deref().unwrap_or(&self.name)
    }

    /// Returns true if the phase only prepares for later phases.
    pub fn is_preparation(&self) -> bool {
        self.step() == PREPARATION
    }
}

/// Rule for repeating a phase that ends too soon to be timed once, or whose passes differ too much.
///
/// Passes are added until their total time is long enough and the 95 % interval of their mean is
/// narrow enough. They also end at a limit. A single pass is sufficient if it is long enough.
/// Passes are samples inside one round, never rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IterationPolicy {
    /// Minimum timed part of all passes together.
    pub at_least: Nanos,
    /// Maximum half width of the interval, as a share of the mean.
    pub width: f64,
    /// Maximum number of passes.
    pub passes: u32,
    /// Time since the start of the first pass, including preparations, after which no pass starts.
    pub limit: Nanos,
}

/// Contents of the page cache during a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CacheState {
    /// Unmounted, caches dropped, mounted again.
    Cold,
    /// As left by the previous phase.
    Warm,
    /// The page cache was bypassed.
    Direct,
    /// The kernel was asked to drop the data (`posix_fadvise`); metadata may still be cached.
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
