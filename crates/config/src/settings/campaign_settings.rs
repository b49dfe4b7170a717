//! Options of a campaign, for the command line and for campaign files. Each is declared once, here.

use std::path::PathBuf;

use clap::ValueHint;
use clap::builder::{TypedValueParser, ValueParser};
use model::{
    AgeingSpec, BackendKind, Bytes, Campaign, Clock, Contender, ContenderGroup, DataKind,
    DiskCache, GuestConfig, Nanos, PerMille, SizeProfile, check_name,
};

use crate::settings::campaign_file::{ages, contenders, directories, disk_name, groups, suites};
use crate::settings::declare::{DeclaredOptions as _, GivenOption, settings};
use crate::settings::values::{
    Kind, a_flag, a_number, a_path, a_percentage, a_size, a_text, a_time, one_of, path, text, up_to,
};
use crate::{Catalog, CatalogError};

/// Options that most people need. Short help shows only these.
pub const MAIN: Option<&str> = None;
/// Heading of options of contenders.
pub const CONTENDERS: Option<&str> = Some("Contenders");
/// Heading of options of rounds.
pub const ROUNDS: Option<&str> = Some("Rounds");
/// Heading of options of disks, devices and images.
pub const STORAGE: Option<&str> = Some("Storage");
/// Heading of options of guests, which need the vm backend.
pub const GUESTS: Option<&str> = Some("Guests (--backend vm)");

/// Default size of the tests.
pub const DEFAULT_PROFILE: SizeProfile = SizeProfile::Quick;
/// Default maximum of rounds if rounds are added.
pub const DEFAULT_MAX_ROUNDS: u32 = 20;

settings! {
    /// Device or directory of images, for all commands that use one.
    pub struct StorageSettings [] {
        MAIN => {
            /// Use a block device instead of an image; refused if it holds anything.
            #[arg(value_hint = ValueHint::FilePath)]
            device: Option<PathBuf> = a_path("DEV");
        }
        STORAGE => {
            /// Create the image in this directory [default: the directory of the database].
            #[arg(value_hint = ValueHint::DirPath)]
            work_dir: Option<PathBuf> = a_path("DIR").flag_only();
        }
    }
}

settings! {
    /// Limit of writes, which `resume` can change.
    pub struct WriteLimit [] {
        STORAGE => {
            /// Limit the bytes written to this machine's disks [default: twice the estimate, 1.5 TB
            /// at most; for `resume`, the first limit].
            max_written: Option<Bytes> = a_size();
        }
    }
}

settings! {
    /// Settings of a campaign. Those of the command line override those of the campaign file.
    pub struct Settings [storage: StorageSettings, limit: WriteLimit] {
        MAIN => {
            /// Add a contender, such as ext4:noatime [default: all that run here].
            ///
            /// A filesystem, `:` with mount options, `@` with its disk, memory or age
            /// (`ext4:noatime`, `ext4@sata-ssd`, `zfs@disks=4`, `jfs@memory=64MiB`,
            /// `xfs@age=agrawal,fill=80%`), in guests with layers (`ext4+luks`, `gocryptfs/ext4`; see
            /// `fsarena list layers`); `NAME=` sets its name.
            #[arg(short, long = "contender")]
            contenders: Vec<ContenderEntry> = Kind::new("SPEC", ValueParser::new(ContenderEntry::parse), contenders);
            /// Run this suite, or one of its tests [default: those of the profile].
            ///
            /// A test is traces/mail; another program is given with its options (fio:my.fio,
            /// bonnie++:'-s 64M'). Repeatable.
            #[arg(short, long = "suite")]
            suites: Vec<String> = Kind::new("NAME", ValueParser::string(), suites);
            /// Set the size of the tests [default: quick].
            profile: Option<SizeProfile> = one_of("PROFILE", SizeProfile::WORDS);
            /// Repeat each test this many times [default: by profile].
            ///
            /// Each time on a fresh filesystem.
            rounds: Option<u32> = up_to(Campaign::MAX_ROUNDS);
            /// Limit the total time (10min), and run what decides most.
            ///
            /// `fsarena run` takes 10min if neither suites, profile, rounds nor storage are given.
            /// Run one round of everything, then the tests that narrow the answers most, without
            /// contenders far behind. Cut phases that take more than 3 % of it.
            #[arg(conflicts_with_all = ["rounds", "until_width", "until_share", "max_rounds", "max_time"])]
            budget: Option<Nanos> = a_time();
            /// Set the size of the image (512M, 1G) [default: by profile].
            ///
            /// 512M or 512MiB, 1G, 4k (powers of 1024), 700MB (of 1000), as every SIZE here.
            size: Option<Bytes> = a_size();
            /// Limit memory per cell [default: no limit; 768 MiB in guests].
            ///
            /// Includes the page cache. For guests, set their memory without the disks.
            memory: Option<Bytes> = a_size();
            /// Test on images or devices, in directories or in guests.
            ///
            /// On images or devices of this machine (loop), in mounted directories (dir), or in
            /// guests (vm, needs no root) [default: dir with --dir, else loop].
            backend: Option<BackendKind> = one_of("BACKEND", [
                ("loop", BackendKind::Loop), ("dir", BackendKind::Dir), ("vm", BackendKind::Vm),
            ]);
            /// Test in this mounted directory (DIR or NAME=DIR); repeatable.
            ///
            /// NAME is its name in tables [default: from the path].
            #[arg(long = "dir", value_hint = ValueHint::DirPath)]
            directories: Vec<DirectoryContender> = Kind::new("DIR", ValueParser::new(path().map(DirectoryContender::parse)), directories);
            /// Name the campaign.
            name: Option<String> = a_text();
        }
        CONTENDERS => {
            /// Run every contender twice: fresh, and aged with this profile (see `fsarena list
            /// ages`).
            age: Option<AgeEntry> = Kind::new("PROFILE", ValueParser::new(AgeEntry::parse), ages);
            /// Fill aged filesystems to this share before a test; with several (50%,80%), age each
            /// contender to each [default: 80%].
            #[arg(value_delimiter = ',')]
            fill: Vec<PerMille> = Kind::new("PERCENT", ValueParser::new(AgeingSpec::parse_fill), |_, _| Ok(Vec::new())).flag_only();
            /// Store aged states as compressed images in the cache and reuse equal ones, also in
            /// later campaigns; random choices of ageing then depend only on the round (`fsarena
            /// list aged`).
            keep_aged: bool = a_flag();
            /// Report this group of contenders together (journaling=ext4,xfs); repeatable.
            #[arg(long = "group")]
            groups: Vec<ContenderGroup> = Kind::new("NAME=CONTENDER,...", ValueParser::new(group), groups);
        }
        ROUNDS => {
            /// Set the seed of all random choices [default: random, and printed; 1 in virtual
            /// time].
            seed: Option<u64> = a_number();
            /// Add rounds until 95 % intervals are within this share of their medians (5%).
            until_width: Option<f64> = a_percentage();
            /// Stop adding rounds when this share of results has such intervals [default: 100%].
            until_share: Option<f64> = a_percentage();
            /// Limit the number of rounds after adding [default: 20].
            max_rounds: Option<u32> = up_to(Campaign::MAX_ROUNDS);
            /// Add no further round after this time (2h) [default: no limit].
            max_time: Option<Nanos> = a_time();
        }
        STORAGE => {
            /// Copy trees and large files from another disk, opened read-only: a directory, a
            /// device or image file with a filesystem, or `image` for a second image [default:
            /// content generated in memory].
            #[arg(value_hint = ValueHint::AnyPath)]
            source: Option<PathBuf> = a_path("SOURCE");
            /// Write files with this content [default: random, or by suite].
            ///
            /// A filesystem can compress text, database and zero, but neither random nor photos.
            data: Option<DataKind> = one_of("KIND", DataKind::WORDS);
            /// Set the kernel's readahead for an image [default: 128 KiB].
            readahead: Option<Bytes> = a_size();
            /// Use this number of disks, 1 to 8, each of --size, in guests or as images: a pool for
            /// btrfs and ZFS, RAID-0 with 64 KiB chunks for others; a comma-separated list runs
            /// each test with each number [default: 1].
            #[arg(value_delimiter = ',')]
            disks: Vec<u32> = up_to(GuestConfig::MAX_DISKS).or_several();
        }
        GUESTS => {
            /// Measure virtual time, which is the same on every machine, or real time [default:
            /// virtual, unless KVM works].
            clock: Option<Clock> = one_of("CLOCK", [("real", Clock::Real), ("virtual", Clock::Virtual)]);
            /// Use this simulated disk (see `fsarena list disks`); a comma-separated list tests
            /// each contender on each [default: nvme-consumer in virtual time, else an image].
            #[arg(value_delimiter = ',')]
            disk: Vec<String> = Kind::new("NAME", ValueParser::string(), disk_name).or_several();
            /// Give the guest this many processors [default: this machine's, 4 at most; 1 in
            /// virtual time].
            processors: Option<u32> = up_to(GuestConfig::MAX_PROCESSORS);
            /// Set QEMU's cache mode for images and devices [default: writeback; none for a
            /// device].
            disk_cache: Option<DiskCache> = one_of("MODE", DiskCache::WORDS);
        }
    }
}

impl Settings {
    /// Returns these settings, completed by those of lower precedence.
    #[must_use]
    pub fn over(mut self, mut below: Self) -> Self {
        // A number of rounds or a rule replaces the budget of a file.
        if self.rounds.is_some() || self.until_width.is_some() {
            below.budget = None;
        }
        for contender in &mut self.contenders {
            let defined =
                below.contenders.iter().find(|defined| defined.name() == contender.name());
            if let Some(defined) = defined {
                *contender = defined.clone();
            }
        }
        self.or(below)
    }

    /// Returns the options that have a value.
    pub fn given(&self) -> Vec<GivenOption> {
        crate::settings::declare::DeclaredOptions::given(self)
    }
}

/// A contender of the user.
#[derive(Clone, Debug, PartialEq)]
pub enum ContenderEntry {
    /// A specification of the command line.
    Spec(String),
    /// A contender of a campaign file, checked against the catalog.
    Defined(Box<Contender>),
}

impl ContenderEntry {
    fn parse(spec: &str) -> Result<Self, CatalogError> {
        Ok(Self::Spec(spec.to_owned()))
    }

    /// Returns the name or the specification.
    pub fn name(&self) -> &str {
        match self {
            Self::Spec(spec) => spec,
            Self::Defined(contender) => &contender.name,
        }
    }

    /// Returns the contender.
    ///
    /// # Errors
    /// Returns an error if the specification is invalid.
    pub fn contender(&self, catalog: &Catalog) -> Result<Contender, CatalogError> {
        match self {
            Self::Spec(spec) => catalog.contender(spec),
            Self::Defined(contender) => Ok(Contender::clone(contender)),
        }
    }
}

/// Ages at which every contender competes, in addition to a fresh one.
#[derive(Clone, Debug, PartialEq)]
pub enum AgeEntry {
    /// Name of a profile.
    Profile(String),
    /// Ages of a campaign file, checked against the catalog.
    Defined(Vec<AgeingSpec>),
}

impl AgeEntry {
    fn parse(name: &str) -> Result<Self, String> {
        text(name).map(Self::Profile)
    }
}

/// A mounted directory used as a contender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryContender {
    /// The name in tables [default: derived from the path].
    pub name: Option<String>,
    /// Path of the directory. A relative path is relative to the directory of the campaign file.
    pub path: PathBuf,
    /// Memory limit of its cells [default: the limit of the campaign].
    pub memory: Option<Bytes>,
}

impl DirectoryContender {
    /// Parses `DIR`, or `NAME=DIR` if that whole text is not an existing path.
    pub fn parse(text: PathBuf) -> Self {
        let named = text.to_str().and_then(|text| text.split_once('='));
        match named {
            Some((name, path)) if check_name(name).is_ok() && !text.exists() => {
                Self { name: Some(name.to_owned()), path: path.into(), memory: None }
            }
            _ => Self { name: None, path: text, memory: None },
        }
    }
}

/// Parses `NAME=CONTENDER,CONTENDER`. Names of contenders may contain commas, so the members are
/// not separated yet.
fn group(text: &str) -> Result<ContenderGroup, String> {
    let expected = || "expected NAME=CONTENDER,CONTENDER, such as journaling=ext4,xfs".to_owned();
    let (name, members) = text.split_once('=').ok_or_else(expected)?;
    check_name(name).map_err(|error| error.to_string())?;
    if members.is_empty() {
        return Err(expected());
    }
    Ok(ContenderGroup { name: name.to_owned(), members: vec![members.to_owned()] })
}
