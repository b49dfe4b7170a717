//! What is known of a filesystem and cannot be found by trying it on one machine: where it comes from, which systems
//! read it, what boots from it, how large files and volumes may be. Each fact has its source.

use std::fmt;

use serde::{Deserialize, Serialize};

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
    /// illumos, and Solaris before it.
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

/// Where a filesystem comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FilesystemOrigin {
    /// The system or the standard that had it first.
    pub system: String,
    /// The year of that, where the source says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub year: Option<u16>,
    /// Who says so.
    pub source: String,
}

/// A system that reads a filesystem as it comes, without programs from elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NativeReader {
    /// The system.
    pub system: OperatingSystem,
    /// Whether it also writes.
    pub writes: bool,
    /// Who says so.
    pub source: String,
}

/// A boot loader that loads a kernel from a filesystem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootLoader {
    /// What it is called.
    pub name: String,
    /// Who says so.
    pub source: String,
}

/// The largest file or volume of a format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FormatLimit {
    /// How large, in words: it may be more than 64 bits count, and depend on the size of blocks.
    pub size: String,
    /// Who says so.
    pub source: String,
}

/// The facts of a filesystem; what nobody said is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FilesystemFacts {
    /// Where it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<FilesystemOrigin>,
    /// Which systems read it; empty where nobody said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read_by: Vec<NativeReader>,
    /// What boots from it; empty where nobody said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub booted_by: Vec<BootLoader>,
    /// The largest file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_file: Option<FormatLimit>,
    /// The largest volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_volume: Option<FormatLimit>,
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

    /// The word in data files.
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

/// As people write it.
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

/// `OS/2 Warp Server for e-business (1999)`
impl fmt::Display for FilesystemOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.year {
            Some(year) => write!(f, "{} ({year})", self.system),
            None => f.write_str(&self.system),
        }
    }
}

/// `NetBSD (read only)`
impl fmt::Display for NativeReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.writes {
            true => write!(f, "{}", self.system),
            false => write!(f, "{} (read only)", self.system),
        }
    }
}

/// What tables call each fact.
pub const FACT_TITLES: [&str; 5] = [
    "Comes from",
    "Read by",
    "Boots with",
    "Largest file",
    "Largest volume",
];

impl FilesystemFacts {
    /// Every fact in one line each, in the order of [`FACTS`]; empty where nobody said.
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
        ]
        .map(Option::unwrap_or_default)
    }

    /// The sources of every fact, each once, in the order of [`FACTS`].
    pub fn sources(&self) -> [Vec<&str>; FACT_TITLES.len()] {
        let mut sources: [Vec<&str>; FACT_TITLES.len()] = [
            self.origin.iter().map(|o| o.source.as_str()).collect(),
            self.read_by.iter().map(|r| r.source.as_str()).collect(),
            self.booted_by.iter().map(|l| l.source.as_str()).collect(),
            self.largest_file
                .iter()
                .map(|l| l.source.as_str())
                .collect(),
            self.largest_volume
                .iter()
                .map(|l| l.source.as_str())
                .collect(),
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
    }

    #[test]
    fn each_fact_is_one_line_and_what_nobody_said_is_empty() {
        let source = "a manual".to_owned();
        let facts = FilesystemFacts {
            origin: Some(FilesystemOrigin {
                system: "OS/2".to_owned(),
                year: Some(1999),
                source: source.clone(),
            }),
            read_by: [
                (OperatingSystem::Os2, true),
                (OperatingSystem::NetBsd, false),
            ]
            .map(|(system, writes)| NativeReader {
                system,
                writes,
                source: source.clone(),
            })
            .into(),
            ..FilesystemFacts::default()
        };
        let wanted = ["OS/2 (1999)", "OS/2, NetBSD (read only)", "", "", ""];
        assert_eq!(facts.to_lines(), wanted);
        assert_eq!(facts.sources()[1], ["a manual"]);
        assert_eq!(
            FilesystemFacts::default().to_lines(),
            [""; FACT_TITLES.len()]
        );
    }
}
