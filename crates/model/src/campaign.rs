//! A campaign: contenders, tests, rounds and the environment.

pub(crate) mod cell;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::wire::rank::HostRank;
use crate::{
    Bytes, CachedArchive, Contender, ContenderGroup, CopySource, DataKind, ExternalSource,
    GuestConfig, GuestDisk, Nanos, Phase, Suite, Test, WorkloadCategory,
};

/// Storage backend of the contenders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum BackendKind {
    /// A directory that is already mounted; needs no root.
    Dir,
    /// An image file or a device, mounted by the kernel of this machine; needs root.
    Loop,
    /// A temporary virtual machine with a separate kernel; needs no root.
    Vm,
    /// Not run here: results imported from another program.
    #[serde(rename = "elsewhere")]
    Imported,
}

impl fmt::Display for BackendKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Dir => "dir",
            Self::Loop => "loop",
            Self::Vm => "vm",
            Self::Imported => "elsewhere",
        })
    }
}

impl FromStr for BackendKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "dir" => Ok(Self::Dir),
            "loop" => Ok(Self::Loop),
            "vm" => Ok(Self::Vm),
            _ => Err(format!("`{text}` is not a backend: loop, dir or vm")),
        }
    }
}

crate::named_enum! {
    /// Size of the tests.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum SizeProfile {
        /// Seconds per contender: checks that it works.
        Smoke = "smoke",
        /// About a minute per contender.
        Quick = "quick",
        /// Large enough that caches do not determine the results.
        Standard = "standard",
        /// The parameters of the published runs.
        Study = "study",
        /// The sizes of `standard`, for the hours of the suite `soak`.
        Soak = "soak",
    }
}

impl SizeProfile {
    /// The profiles for which tests have sizes, smallest first.
    pub const SIZES: [Self; 4] = [Self::Smoke, Self::Quick, Self::Standard, Self::Study];

    /// Returns the profile whose sizes tests have.
    #[must_use]
    pub const fn sizes(self) -> Self {
        match self {
            Self::Soak => Self::Standard,
            other => other,
        }
    }

    /// Returns the default maximum duration of a phase. It is longer for an emulated guest. In
    /// other cases the quick profiles use a short limit, so that they do not wait for a contender
    /// that is a hundred times slower than the rest.
    pub const fn phase_limit(self, backend: BackendKind) -> Nanos {
        const MINUTE: u64 = 60;
        Nanos::from_secs(match (self, backend) {
            (
                Self::Smoke | Self::Quick,
                BackendKind::Loop | BackendKind::Dir | BackendKind::Imported,
            ) => 2 * MINUTE,
            (Self::Smoke, BackendKind::Vm) => 10 * MINUTE,
            (Self::Quick, BackendKind::Vm) => 30 * MINUTE,
            (Self::Standard, _) => 2 * 60 * MINUTE,
            (Self::Study | Self::Soak, _) => 12 * 60 * MINUTE,
        })
    }

    /// Returns the default maximum duration of a phase within a time budget: 3 % of the budget, but
    /// at least a twelfth of the usual maximum, which is three times as long as the longest phase of
    /// a kernel filesystem took on a busy machine.
    pub fn phase_limit_within(self, backend: BackendKind, budget: Nanos) -> Nanos {
        let usual = self.phase_limit(backend);
        Nanos((budget.0 / 100 * 3).max(usual.0 / 12)).min(usual)
    }
}

/// A requested suite that did not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SkippedSuite {
    /// Its name.
    pub suite: String,
    /// The reason, with the command that helps.
    pub reason: String,
}

/// The clock of a campaign's times. Times of different clocks are never compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// Time of the machine that ran the campaign. It is noisy, so rounds are repetitions.
    #[default]
    Real,
    /// Virtual time, in which only the seed changes results. Older databases call it `model`.
    #[serde(alias = "model")]
    Virtual,
}

impl Clock {
    /// Returns the name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Real => "real time",
            Self::Virtual => "virtual time",
        }
    }
}

impl FromStr for Clock {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "real" => Ok(Self::Real),
            "virtual" => Ok(Self::Virtual),
            _ => Err(format!("`{text}` is not a clock: real or virtual")),
        }
    }
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Rule for adding rounds until intervals are narrow enough or a limit is reached.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StoppingRule {
    /// Maximum distance between the ends of a 95 % interval and the median, as a share of the
    /// median.
    pub width: f64,
    /// Share of the primary results that must reach `width`, above 0 and at most 1.
    pub share: f64,
    /// Maximum number of rounds.
    pub max_rounds: u32,
    /// No further round starts after the cells have taken this long in total. Unlimited if absent.
    #[serde(default)]
    pub max_time: Option<Nanos>,
}

impl Campaign {
    /// Returns the place of [`Self::host`] among the hosts that run each cell together.
    pub fn rank(&self) -> Option<HostRank> {
        let host = self.host.as_ref()?;
        let number = self.together.iter().position(|one| one == host)?;
        Some(HostRank { number: number as u32, hosts: self.together.len() as u32 })
    }

    /// Returns the workload category of a phase.
    pub fn category(&self, suite: &str, test: &str, phase: &str) -> Option<WorkloadCategory> {
        let mut tests = self.suites.iter().flat_map(|suite| &suite.tests);
        let test = tests.find(|known| (&*known.suite, &*known.name) == (suite, test))?;
        let phase = test.phases.iter().find(|known| known.name == phase)?;
        WorkloadCategory::of_phase(test, phase)
    }

    /// Returns the different kinds of content that its tests write.
    pub fn data_kinds(&self) -> Vec<DataKind> {
        let tests = self.suites.iter().flat_map(|suite| &suite.tests);
        let mut kinds = Vec::new();
        // Files of a source have their own content.
        let is_foreign = |phase: &Phase| self.source.is_some() && phase.op.copies_from_source();
        let writes = |phase: &Phase| phase.op.writes_content() && !is_foreign(phase);
        for test in tests.filter(|test| test.phases.iter().any(writes)) {
            if !kinds.contains(&test.data) {
                kinds.push(test.data);
            }
        }
        kinds
    }

    /// Maximum number of rounds, including added ones. Protects against typing errors.
    pub const MAX_ROUNDS: u32 = 1000;
    /// Default readahead on images: the default of the kernel (`VM_READAHEAD_PAGES` of
    /// `include/linux/mm.h`).
    pub const READAHEAD: Bytes = Bytes::kib(128);
}

/// Contenders × suites × rounds on one backend with one environment; resolved and self-contained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Campaign {
    /// The display name.
    pub name: String,
    /// Who competes.
    pub contenders: Vec<Contender>,
    /// Groups of contenders named by the user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<ContenderGroup>,
    /// The test suites, resolved for the profile.
    pub suites: Vec<Suite>,
    /// Requested suites that did not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<SkippedSuite>,
    /// How large.
    pub profile: SizeProfile,
    /// Number of rounds; each round uses a fresh filesystem. In a stored campaign it includes the
    /// rounds added so far.
    pub rounds: u32,
    /// Rule for adding rounds. If absent, no rounds are added.
    #[serde(default)]
    #[serde(rename = "until")]
    pub stopping_rule: Option<StoppingRule>,
    /// Time budget: after one round of all cells, more cells run for undecided questions, while
    /// they fit into the budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Nanos>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Size of the image. Not used for a device.
    pub size: Bytes,
    /// Memory limit of a cell, including its page cache; unlimited if absent. For a guest, it
    /// includes the memory of the kernel and of simulated disks.
    pub memory: Option<Bytes>,
    /// Storage backend of the contenders.
    pub backend: BackendKind,
    /// The program or authors that measured an imported campaign. Imported campaigns cannot be run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_by: Option<ExternalSource>,
    /// The clock of the measured times.
    #[serde(default)]
    pub clock: Clock,
    /// The virtual machine of each cell (`vm` backend).
    #[serde(default)]
    pub guest: Option<GuestConfig>,
    /// Maximum readahead of the kernel on an image. Absent if it is not changed, which includes all
    /// backends without an image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readahead: Option<Bytes>,
    /// Limit for writes to disks of this machine, if set. Phases are repeated only within it, and
    /// no cell starts that would exceed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_written: Option<Bytes>,
    /// Source disk from which trees and files are copied. Absent if their content is generated in
    /// memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<CopySource>,
    /// The host that runs the cells, as named for ssh; this machine if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The hosts that run each cell together, in one directory that all of them see; the first one
    /// is `host`. Empty if a single machine runs each cell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub together: Vec<String>,
    /// Archives that its commands unpack, with their downloaded versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub archives: Vec<CachedArchive>,
    /// Whether aged states are kept as images and reused, also by later campaigns.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_aged: bool,
    /// The block device to use instead of an image (`loop` and `vm` backend).
    pub device: Option<PathBuf>,
    /// Directory for images and mount points. They are removed at the end.
    pub work_dir: PathBuf,
    /// Digest of the path of its database. It is part of the names of directories and devices, so
    /// that campaigns of two databases do not collide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<u64>,
    /// Time without progress after which a cell is `hung`.
    #[serde(alias = "patience")]
    pub stall_timeout: Nanos,
    /// Maximum duration of a phase or step. Afterwards it is `hung`, even if it makes progress; or
    /// `failed`, if it is the limit of a budget.
    #[serde(default = "longest_phase_limit")]
    pub phase_limit: Nanos,
}

impl Campaign {
    /// Returns the time after which a phase has failed, because it would take too much of the
    /// budget. `None` without a budget, in virtual time, and if the user set another limit.
    pub fn budget_phase_limit(&self) -> Option<Nanos> {
        let limit = self.budget.map(|all| self.profile.phase_limit_within(self.backend, all));
        limit.filter(|limit| self.clock == Clock::Real && *limit == self.phase_limit)
    }

    /// Returns the time after which a step of a cell is hung, even if it makes progress.
    pub fn step_limit(&self) -> Nanos {
        match self.budget_phase_limit() {
            Some(_) => self.profile.phase_limit(self.backend),
            None => self.phase_limit,
        }
    }

    /// Returns the memory limit of a contender's cells, or `None` if it is unlimited.
    pub fn memory_for(&self, contender: &Contender) -> Option<Bytes> {
        contender.own.memory.or(self.memory)
    }

    /// Returns the seed of ageing. It is constant if aged images are kept, because later campaigns
    /// can only reuse them if ageing does not depend on the campaign.
    pub const fn age_seed(&self) -> u64 {
        match self.keep_aged {
            true => 0,
            false => self.seed,
        }
    }

    /// Returns the number of disks of a cell: from the test (a point of a sweep), else from the
    /// contender, else from the guest.
    pub fn disk_count_for(&self, contender: &Contender, test: &Test) -> u32 {
        let guests = self.guest.as_ref().map_or(1, |guest| guest.disks);
        test.disks().or(contender.own.disks).unwrap_or(guests)
    }

    /// Returns the maximum number of disks of a cell; 1 if no cell uses disks.
    pub fn max_disks(&self) -> u32 {
        let tests = || self.suites.iter().flat_map(|suite| &suite.tests);
        let contenders = self.contenders.iter();
        let on_disks = contenders.filter(|c| c.filesystem.commands.need_device());
        let counts = on_disks.flat_map(|c| tests().map(move |test| self.disk_count_for(c, test)));
        counts.max().unwrap_or(1)
    }

    /// Returns the machine of a cell (`vm` backend): the machine of the campaign, overridden by the
    /// settings of the contender and of the test (a point of a sweep over disks).
    pub fn guest_for(&self, contender: &Contender, test: &Test) -> Option<GuestConfig> {
        let machine = self.guest.clone()?;
        let own = &contender.own;
        let disk = own.disk.clone().map(|model| GuestDisk::Model { model });
        Some(GuestConfig {
            memory: own.memory.unwrap_or(machine.memory),
            disks: self.disk_count_for(contender, test),
            disk: disk.unwrap_or(machine.disk),
            ..machine
        })
    }

    /// Returns the guest machine as text, with every disk that cells use. Returns `None` without
    /// guests.
    pub fn describe_guest(&self) -> Option<String> {
        let machine = self.guest.as_ref()?;
        let disks: Vec<String> = self.disks().iter().map(ToString::to_string).collect();
        match disks.is_empty() {
            true => Some(machine.to_string()),
            false => Some(machine.describe_with_disk(disks.join(", or "))),
        }
    }

    /// Returns the disks of all guests without duplicates, in the order of the cells.
    pub fn disks(&self) -> Vec<GuestDisk> {
        let mut disks = Vec::new();
        for machine in self.machines() {
            if !disks.contains(&machine.disk) {
                disks.push(machine.disk);
            }
        }
        disks
    }

    /// Returns the guest machines of all cells.
    pub fn machines(&self) -> impl Iterator<Item = GuestConfig> {
        let tests = || self.suites.iter().flat_map(|suite| &suite.tests);
        let of = move |contender| tests().filter_map(move |test| self.guest_for(contender, test));
        self.contenders.iter().flat_map(of)
    }
}

/// Default for stored campaigns that have no limit.
const fn longest_phase_limit() -> Nanos {
    SizeProfile::Study.phase_limit(BackendKind::Loop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_may_take_three_per_cent_of_a_budget_and_at_least_ten_seconds() {
        let limit = |profile: SizeProfile, minutes: u64| {
            let budget = Nanos::from_secs(60 * minutes);
            profile.phase_limit_within(BackendKind::Loop, budget)
        };
        let quick = [1, 10, 60, 600].map(|minutes| limit(SizeProfile::Quick, minutes));
        assert_eq!(quick, [10, 18, 108, 120].map(Nanos::from_secs));
        assert_eq!(
            limit(SizeProfile::Standard, 10),
            Nanos::from_secs(600),
            "its phases are longer"
        );
    }
}
