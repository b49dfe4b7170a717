//! A campaign: what is compared, by which tests, how often, and where.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{
    Bytes, CachedArchive, Contender, ContenderGroup, CopySource, ExternalSource, GuestConfig,
    GuestDisk, Nanos, Suite, Test,
};

/// Where contenders live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum BackendKind {
    /// A directory that is mounted already; needs no root.
    Dir,
    /// An image file or a device, mounted by this machine's kernel; needs root.
    Loop,
    /// A throw-away virtual machine with a kernel of its own; needs no root.
    Vm,
    /// Nowhere here: somebody else measured it, with another program.
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

/// How large the tests are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SizeProfile {
    /// Seconds for each contender: does it work at all?
    Smoke,
    /// About a minute for each contender.
    Quick,
    /// Large enough that caches do not decide.
    Standard,
    /// The parameters of the published runs.
    Study,
}

impl SizeProfile {
    /// Every profile, from small to large.
    pub const ALL: [Self; 4] = [Self::Smoke, Self::Quick, Self::Standard, Self::Study];

    /// Time in which any phase ends that ends at all, unless the user says otherwise. An emulated guest takes longer;
    /// elsewhere the quick profiles are not to wait for who takes a hundred times as long as anybody else.
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
            (Self::Study, _) => 12 * 60 * MINUTE,
        })
    }

    /// The word in data files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Smoke => "smoke",
            Self::Quick => "quick",
            Self::Standard => "standard",
            Self::Study => "study",
        }
    }
}

impl fmt::Display for SizeProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for SizeProfile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|p| p.name() == text)
            .ok_or_else(|| format!("`{text}` is not a profile: smoke, quick, standard or study"))
    }
}

/// The clock that a campaign's times are in. Times of two clocks are never compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// The time of the machine that ran it: noisy, so that rounds are repetitions.
    #[default]
    Real,
    /// Virtual time, in which nothing varies but what the seed decides. Older databases call it `model`.
    #[serde(alias = "model")]
    Virtual,
}

impl Clock {
    /// The words of the reports.
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

/// When a campaign has rounds enough: they are added until intervals are narrow, or to a limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StoppingRule {
    /// The ends of a 95 % interval lie no farther from the median than this share of it.
    pub width: f64,
    /// Share of the primary results that must be so narrow, above 0 and at most 1.
    pub share: f64,
    /// Rounds at most.
    pub max_rounds: u32,
    /// No further round begins once the cells have taken so long together; absent where time does not matter.
    #[serde(default)]
    pub max_time: Option<Nanos>,
}

impl Campaign {
    /// Most rounds, those that are added among them: a slip of the finger shall not plan for years.
    pub const MAX_ROUNDS: u32 = 1000;
    /// Readahead on images where the user names none: the kernel's own default
    /// (`VM_READAHEAD_PAGES` of `include/linux/mm.h`).
    pub const READAHEAD: Bytes = Bytes::kib(128);
}

/// Contenders × suites × rounds on one backend with one environment; resolved and self-contained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Campaign {
    /// A name for people.
    pub name: String,
    /// Who competes.
    pub contenders: Vec<Contender>,
    /// Groups of contenders that the user has named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<ContenderGroup>,
    /// By which tests, resolved for the profile.
    pub suites: Vec<Suite>,
    /// How large.
    pub profile: SizeProfile,
    /// How often each test is repeated on a fresh filesystem. Of a stored campaign to which rounds were
    /// added, how many there are by now.
    pub rounds: u32,
    /// When rounds are added, and how many at most; never where absent.
    #[serde(default)]
    #[serde(rename = "until")]
    pub stopping_rule: Option<StoppingRule>,
    /// Time in which it answers what it can: after one round of everything, cells are added where an answer is open, as
    /// long as they fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Nanos>,
    /// From which every random choice comes.
    pub seed: u64,
    /// Size of the image; a device has its own.
    pub size: Bytes,
    /// Memory that a cell and its page cache may use; all of it where absent. In a guest all that it has, of
    /// which its kernel and a disk after a model take their share.
    pub memory: Option<Bytes>,
    /// Where contenders live.
    pub backend: BackendKind,
    /// Who measured it, where that was not fsarena; there is nothing to run then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_by: Option<ExternalSource>,
    /// The clock that its times are in.
    #[serde(default)]
    pub clock: Clock,
    /// The machine that each cell gets for itself (`vm` backend).
    #[serde(default)]
    pub guest: Option<GuestConfig>,
    /// How far ahead of a sequential reader the kernel reads on an image; absent where it is left as it is, as on
    /// all that is no image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readahead: Option<Bytes>,
    /// The most that the campaign may write to disks of this machine's, where the user says: phases are repeated only
    /// as far as that leaves room for, and no cell begins that would write more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_written: Option<Bytes>,
    /// Another disk that trees and files are copied from; absent where their content is made in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<CopySource>,
    /// The other machine on which cells run, as ssh knows it; this one where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Archives that its commands unpack, as they were brought.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub archives: Vec<CachedArchive>,
    /// Whether aged states are kept as images and used again, by later campaigns, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_aged: bool,
    /// The block device to use instead of an image (`loop` and `vm` backend).
    pub device: Option<PathBuf>,
    /// Where images and mount points are made; nothing is left there at the end.
    pub work_dir: PathBuf,
    /// Time without any sign of progress after which a cell is `hung`.
    #[serde(alias = "patience")]
    pub stall_timeout: Nanos,
    /// Time after which a phase or step is `hung` that has not ended, whatever moves.
    #[serde(default = "longest_phase_limit")]
    pub phase_limit: Nanos,
}

impl Campaign {
    /// Memory that a cell of a contender may use; all there is where absent.
    pub fn memory_for(&self, contender: &Contender) -> Option<Bytes> {
        contender.own.memory.or(self.memory)
    }

    /// The seed of ageing. Kept images are of use to later campaigns only where ageing depends on no campaign.
    pub const fn age_seed(&self) -> u64 {
        match self.keep_aged {
            true => 0,
            false => self.seed,
        }
    }

    /// How many disks a cell lies on: what its test says, as a point of a sweep, or else its contender, or its guest.
    pub fn disk_count_for(&self, contender: &Contender, test: &Test) -> u32 {
        let guests = self.guest.as_ref().map_or(1, |guest| guest.disks);
        test.disks().or(contender.own.disks).unwrap_or(guests)
    }

    /// The most disks that a cell lies on; 1 where none lies on any.
    pub fn max_disks(&self) -> u32 {
        let tests = || self.suites.iter().flat_map(|suite| &suite.tests);
        let contenders = self.contenders.iter();
        let on_disks = contenders.filter(|c| c.filesystem.commands.need_device());
        let counts = on_disks.flat_map(|c| tests().map(move |test| self.disk_count_for(c, test)));
        counts.max().unwrap_or(1)
    }

    /// The machine that a cell gets (`vm` backend): the campaign's, but for what is the contender's own, or the
    /// test's, as a point of a sweep over disks.
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

    /// The machine of its guests in words, with every disk that a cell has; nothing where cells run in none.
    pub fn describe_guest(&self) -> Option<String> {
        let machine = self.guest.as_ref()?;
        let disks: Vec<String> = self.disks().iter().map(ToString::to_string).collect();
        match disks.is_empty() {
            true => Some(machine.to_string()),
            false => Some(machine.describe_with_disk(disks.join(", or "))),
        }
    }

    /// The disks that guests have, each kind once, in the order of the cells.
    pub fn disks(&self) -> Vec<GuestDisk> {
        let mut disks = Vec::new();
        for machine in self.machines() {
            if !disks.contains(&machine.disk) {
                disks.push(machine.disk);
            }
        }
        disks
    }

    /// The machines of all cells.
    pub fn machines(&self) -> impl Iterator<Item = GuestConfig> {
        let tests = || self.suites.iter().flat_map(|suite| &suite.tests);
        let of = move |contender| tests().filter_map(move |test| self.guest_for(contender, test));
        self.contenders.iter().flat_map(of)
    }
}

/// What campaigns have that were stored before there was a limit.
const fn longest_phase_limit() -> Nanos {
    SizeProfile::Study.phase_limit(BackendKind::Loop)
}
