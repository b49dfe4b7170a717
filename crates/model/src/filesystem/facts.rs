//! Facts about a filesystem that cannot be found by testing on one machine: its origin, the systems
//! that support it, boot support, and maximum sizes of files and volumes. Each fact has a source.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Expectation;

/// An operating system that may read a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum OperatingSystem {
    /// Linux.
    Linux,
    /// Windows.
    Windows,
    /// macOS.
    MacOs,
    /// FreeBSD.
    FreeBsd,
    /// NetBSD.
    NetBsd,
    /// OpenBSD.
    OpenBsd,
    /// illumos, and its predecessor Solaris.
    Illumos,
    /// Haiku.
    Haiku,
    /// OS/2 and its successors.
    Os2,
    /// AmigaOS.
    AmigaOs,
    /// MINIX 3.
    Minix,
}

/// Origin of a filesystem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FilesystemOrigin {
    /// The system or standard in which it first appeared.
    pub system: String,
    /// The year of its first version, if the source contains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub year: Option<u16>,
    /// The source of the fact.
    pub source: String,
}

/// A system that reads a filesystem without additional programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NativeReader {
    /// The system.
    pub system: OperatingSystem,
    /// Whether the system can also write.
    pub writes: bool,
    /// The source of the fact.
    pub source: String,
}

/// A boot loader that loads a kernel from a filesystem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootLoader {
    /// The name of the boot loader.
    pub name: String,
    /// The source of the fact.
    pub source: String,
}

/// Maximum size of a file or volume of a format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FormatLimit {
    /// The limit as text: it may exceed 64 bits or depend on the block size.
    pub size: String,
    /// The source of the fact.
    pub source: String,
}

/// The means by which a filesystem becomes consistent again after a crash, without a repair program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RecoveryMechanism {
    /// It has none: a repair program must read the whole volume, and names may be lost.
    None,
    /// It replays a journal.
    Journal,
    /// It never overwrites what is in use.
    CopyOnWrite,
    /// It returns to the last checkpoint of a log.
    Log,
}

/// Mechanism that keeps a filesystem consistent when the power fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CrashRecovery {
    /// The mechanism.
    pub by: RecoveryMechanism,
    /// Words of mkfs and mount options that disable it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_with: Vec<String>,
    /// The source of the fact.
    pub source: String,
}

/// Means by which the driver keeps the state of one moment while the filesystem changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SnapshotSupport {
    /// The command that takes a snapshot, or `none`.
    pub by: String,
    /// The source of the fact.
    pub source: String,
}

impl SnapshotSupport {
    /// Returns true if the driver takes snapshots.
    pub fn is_some(&self) -> bool {
        self.by != "none"
    }
}

/// Licence and price of a driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct License {
    /// SPDX identifier, or `proprietary`.
    pub name: String,
    /// Price of the driver; empty if it is free.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub price: String,
    /// The source of the fact.
    pub source: String,
}

/// A promise about power cuts in the documentation of a filesystem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DocumentedPromise {
    /// The state of files after a power cut.
    pub keeps: Expectation,
    /// Words of mkfs and mount options that withdraw it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unless: Vec<String>,
    /// Words of mkfs and mount options. The promise needs one of them, unless the list is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only_with: Vec<String>,
    /// The document.
    pub source: String,
}

/// Losses of synced files in power cuts, as measured with the suite `survival` and default options.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PowerCutEvidence {
    /// Number of cuts.
    pub cuts: u32,
    /// Cuts that lost data or names of a completed sync.
    pub lost: u32,
    /// An example of a loss; empty without losses.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub worst: String,
    /// Kernel, disk and date of the measurement.
    pub source: String,
}

/// The facts of a filesystem. Unknown facts are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FilesystemFacts {
    /// Its origin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<FilesystemOrigin>,
    /// Systems that read it; empty if unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read_by: Vec<NativeReader>,
    /// Boot loaders that load from it; empty if unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub booted_by: Vec<BootLoader>,
    /// Maximum size of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_file: Option<FormatLimit>,
    /// Maximum size of a volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_volume: Option<FormatLimit>,
    /// Price and licence of the driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub license: Option<License>,
    /// Mechanism that keeps it consistent when the power fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crash_recovery: Option<CrashRecovery>,
    /// Snapshots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshots: Option<SnapshotSupport>,
    /// Promises about power cuts. Without one about syncs, fsync(2) applies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub promises: Vec<DocumentedPromise>,
    /// Losses in power cuts, if measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_cuts: Option<PowerCutEvidence>,
    /// Harmless warnings of the kernel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub harmless: Vec<HarmlessMessage>,
}

/// A harmless warning of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HarmlessMessage {
    /// A part of its text.
    pub text: String,
    /// Why it is harmless.
    pub why: String,
}

impl RecoveryMechanism {
    /// Every mechanism.
    pub const ALL: [Self; 4] = [Self::None, Self::Journal, Self::CopyOnWrite, Self::Log];

    /// Returns the name in data files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Journal => "journal",
            Self::CopyOnWrite => "copy-on-write",
            Self::Log => "log",
        }
    }

    /// Returns what a filesystem with this mechanism does.
    pub const fn description(self) -> &'static str {
        match self {
            Self::None => "has a driver without a journal or copy on write",
            Self::Journal => "has a journal",
            Self::CopyOnWrite => "copies on write",
            Self::Log => "writes a log with checkpoints",
        }
    }
}

impl OperatingSystem {
    /// Every system.
    pub const ALL: [Self; 11] = [
        Self::Linux,
        Self::Windows,
        Self::MacOs,
        Self::FreeBsd,
        Self::NetBsd,
        Self::OpenBsd,
        Self::Illumos,
        Self::Haiku,
        Self::Os2,
        Self::AmigaOs,
        Self::Minix,
    ];

    /// Returns the name in data files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Windows => "windows",
            Self::MacOs => "macos",
            Self::FreeBsd => "freebsd",
            Self::NetBsd => "netbsd",
            Self::OpenBsd => "openbsd",
            Self::Illumos => "illumos",
            Self::Haiku => "haiku",
            Self::Os2 => "os2",
            Self::AmigaOs => "amigaos",
            Self::Minix => "minix",
        }
    }
}

/// Formats the usual name of the system.
impl fmt::Display for OperatingSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Linux => "Linux",
            Self::Windows => "Windows",
            Self::MacOs => "macOS",
            Self::FreeBsd => "FreeBSD",
            Self::NetBsd => "NetBSD",
            Self::OpenBsd => "OpenBSD",
            Self::Illumos => "illumos",
            Self::Haiku => "Haiku",
            Self::Os2 => "OS/2",
            Self::AmigaOs => "AmigaOS",
            Self::Minix => "MINIX",
        })
    }
}

/// Example: `OS/2 Warp Server for e-business (1999)`.
impl fmt::Display for FilesystemOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.year {
            Some(year) => write!(f, "{} ({year})", self.system),
            None => f.write_str(&self.system),
        }
    }
}

/// Example: `NetBSD (read only)`.
impl fmt::Display for NativeReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.writes {
            true => write!(f, "{}", self.system),
            false => write!(f, "{} (read only)", self.system),
        }
    }
}

/// Examples: `GPL-2.0-only (free)`, `proprietary (costs extra)`.
impl fmt::Display for License {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let price = if self.price.is_empty() { "free" } else { &self.price };
        write!(f, "{} ({price})", self.name)
    }
}

/// Example: `synced files lost in 3 of 60 (simulated)`.
impl fmt::Display for PowerCutEvidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lost {
            0 => write!(f, "no synced file lost in {} (simulated)", self.cuts),
            lost => write!(f, "synced files lost in {lost} of {} (simulated)", self.cuts),
        }
    }
}

/// Names of the facts in tables.
pub const FACT_TITLES: [&str; 9] = [
    "Comes from",
    "Read by",
    "Boots with",
    "Largest file",
    "Largest volume",
    "Licence",
    "After a crash",
    "Snapshots",
    "Power cuts",
];

impl FilesystemFacts {
    /// Returns each fact as one line, in the order of [`FACT_TITLES`]; empty if unknown.
    pub fn to_lines(&self) -> [String; FACT_TITLES.len()] {
        let readers: Vec<String> = self.read_by.iter().map(NativeReader::to_string).collect();
        let loaders: Vec<&str> = self.booted_by.iter().map(|l| l.name.as_str()).collect();
        let limit = |limit: &Option<FormatLimit>| limit.as_ref().map(|l| l.size.clone());
        [
            self.origin.as_ref().map(FilesystemOrigin::to_string),
            Some(readers.join(", ")),
            Some(loaders.join(", ")),
            limit(&self.largest_file),
            limit(&self.largest_volume),
            self.license.as_ref().map(License::to_string),
            self.crash_recovery.as_ref().map(|recovery| recovery.by.description().to_owned()),
            self.snapshots.as_ref().map(|snapshots| snapshots.by.clone()),
            self.power_cuts.as_ref().map(PowerCutEvidence::to_string),
        ]
        .map(Option::unwrap_or_default)
    }

    /// Returns the sources of each fact without duplicates, in the order of [`FACT_TITLES`].
    pub fn sources(&self) -> [Vec<&str>; FACT_TITLES.len()] {
        let mut sources: [Vec<&str>; FACT_TITLES.len()] = [
            self.origin.iter().map(|o| o.source.as_str()).collect(),
            self.read_by.iter().map(|r| r.source.as_str()).collect(),
            self.booted_by.iter().map(|l| l.source.as_str()).collect(),
            self.largest_file.iter().map(|l| l.source.as_str()).collect(),
            self.largest_volume.iter().map(|l| l.source.as_str()).collect(),
            self.license.iter().map(|l| l.source.as_str()).collect(),
            self.crash_recovery.iter().map(|r| r.source.as_str()).collect(),
            self.snapshots.iter().map(|s| s.source.as_str()).collect(),
            self.power_cuts.iter().map(|cuts| cuts.source.as_str()).collect(),
        ];
        sources.iter_mut().for_each(Vec::dedup);
        sources
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_data_files() {
        for system in OperatingSystem::ALL {
            let json = serde_json::to_string(&system).unwrap();
            assert_eq!(json, format!("\"{}\"", system.name()));
        }
        for mechanism in RecoveryMechanism::ALL {
            let json = serde_json::to_string(&mechanism).unwrap();
            assert_eq!(json, format!("\"{}\"", mechanism.name()));
        }
    }

    #[test]
    fn facts_are_one_line_each_and_unknown_ones_are_empty() {
        let source = "a manual".to_owned();
        let facts = FilesystemFacts {
            origin: Some(FilesystemOrigin {
                system: "OS/2".to_owned(),
                year: Some(1999),
                source: source.clone(),
            }),
            read_by: [(OperatingSystem::Os2, true), (OperatingSystem::NetBsd, false)]
                .map(|(system, writes)| NativeReader { system, writes, source: source.clone() })
                .into(),
            license: Some(License {
                name: "proprietary".to_owned(),
                price: "costs extra".to_owned(),
                source: source.clone(),
            }),
            power_cuts: Some(PowerCutEvidence {
                cuts: 60,
                lost: 3,
                worst: "a is missing".to_owned(),
                source,
            }),
            ..FilesystemFacts::default()
        };
        let cuts = "synced files lost in 3 of 60 (simulated)";
        let license = "proprietary (costs extra)";
        let wanted = ["OS/2 (1999)", "OS/2, NetBSD (read only)", "", "", "", license, "", "", cuts];
        assert_eq!(facts.to_lines(), wanted);
        assert_eq!(facts.sources()[1], ["a manual"]);
        assert_eq!(facts.sources()[8], ["a manual"]);
        assert_eq!(FilesystemFacts::default().to_lines(), [""; FACT_TITLES.len()]);
    }
}
