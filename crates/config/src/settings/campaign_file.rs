//! A campaign file of the user: contenders, tests, sizes and backend.

use std::path::{Path, PathBuf};

use model::{
    AgeingSpec, BackendKind, Bytes, Clock, Contender, ContenderGroup, ContenderOverrides,
    DiskCache, DiskModel, GuestConfig, Nanos, SizeProfile,
};

use crate::catalog::age_file;
use crate::catalog::defaults_file::rounds;
use crate::catalog::document::{TomlSource, TomlTable, TomlValue};
use crate::settings::contender::check_options;
use crate::{Catalog, CatalogError};

const KEYS: [&str; 27] = [
    "name",
    "contenders",
    "age",
    "groups",
    "directories",
    "suites",
    "profile",
    "rounds",
    "budget",
    "until_width",
    "until_share",
    "max_rounds",
    "max_time",
    "seed",
    "size",
    "memory",
    "readahead",
    "max_written",
    "keep_aged",
    "backend",
    "device",
    "source",
    "clock",
    "processors",
    "disk",
    "disks",
    "disk_cache",
];
/// Keys that describe the machine of a guest.
const MACHINE: [&str; 5] = ["clock", "processors", "disk", "disks", "disk_cache"];
const CONTENDER: [&str; 8] =
    ["name", "filesystem", "mkfs_options", "mount_options", "memory", "disk", "disks", "age"];
const DIRECTORY: [&str; 3] = ["name", "path", "memory"];
const BACKENDS: [(&str, BackendKind); 3] =
    [("loop", BackendKind::Loop), ("dir", BackendKind::Dir), ("vm", BackendKind::Vm)];
const CLOCKS: [(&str, Clock); 2] = [("real", Clock::Real), ("virtual", Clock::Virtual)];

/// The contents of a campaign file. The command line and the defaults fill in every `None` and
/// empty list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// The display name.
    pub name: Option<String>,
    /// The contenders, checked against the catalog.
    pub contenders: Vec<Contender>,
    /// Ages at which every contender competes, in addition to a fresh one.
    pub ages: Vec<AgeingSpec>,
    /// Groups of contenders. Their members are not yet validated, because the command line may add
    /// contenders.
    pub groups: Vec<ContenderGroup>,
    /// Mounted directories used as contenders.
    pub directories: Vec<DirectoryContender>,
    /// Names of suites, checked against the catalog, and other programs as `fio:my.fio`.
    pub suites: Vec<String>,
    /// How large.
    pub profile: Option<SizeProfile>,
    /// How often.
    pub rounds: Option<u32>,
    /// Rule for adding rounds.
    pub rule: RoundSettings,
    /// Seed of every random choice.
    pub seed: Option<u64>,
    /// Size of the image.
    pub size: Option<Bytes>,
    /// Memory limit of a cell.
    pub memory: Option<Bytes>,
    /// Maximum readahead of the kernel on an image.
    pub readahead: Option<Bytes>,
    /// Maximum number of bytes written to disks of this machine.
    pub max_written: Option<Bytes>,
    /// Whether aged states are kept and reused.
    pub keep_aged: Option<bool>,
    /// Storage backend of the contenders.
    pub backend: Option<BackendKind>,
    /// The block device to use instead of an image.
    pub device: Option<PathBuf>,
    /// Source disk for copies, or `image`. A relative path is relative to the directory of the
    /// campaign file.
    pub source: Option<PathBuf>,
    /// The machine of a guest.
    pub machine: GuestSection,
    /// Directory of the file. Relative paths are relative to it.
    pub base: PathBuf,
}

/// The guest machine settings of a campaign file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuestSection {
    /// The clock of the measured times.
    pub clock: Option<Clock>,
    /// Its processors.
    pub processors: Option<u32>,
    /// Disk models, checked against the catalog. With several models, each contender runs on each
    /// of them.
    pub disk: Vec<String>,
    /// Number of disks; with several numbers, each test runs on each of them.
    pub disks: Vec<u32>,
    /// Cache mode of this machine for the disks of a guest.
    pub disk_cache: Option<DiskCache>,
}

/// Rule for adding rounds. The command line and the defaults fill in every `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RoundSettings {
    /// Add rounds while the ends of an interval are farther from the median than this share of it.
    pub until_width: Option<f64>,
    /// Share of the results that must reach `until_width`.
    pub until_share: Option<f64>,
    /// Maximum number of rounds.
    pub max_rounds: Option<u32>,
    /// Total time of all cells after which no round is added.
    pub max_time: Option<Nanos>,
    /// Time budget for answering as many questions as possible. Excludes all other rules.
    pub budget: Option<Nanos>,
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

/// Reads a campaign from the text of a file. Resolves relative paths against the directory of the
/// file.
///
/// # Errors
/// Returns a one-line error with file and line if the text is invalid.
pub fn load(path: &Path, text: &str, catalog: &Catalog) -> Result<Settings, CatalogError> {
    let mut campaign = parse(text, &path.display().to_string(), catalog)?;
    if let Some(base) = path.parent() {
        base.clone_into(&mut campaign.base);
        for directory in &mut campaign.directories {
            directory.path = base.join(&directory.path);
        }
        if let Some(source) =
            campaign.source.as_mut().filter(|s| *s != Path::new(model::CopySource::IMAGE))
        {
            *source = base.join(&*source);
        }
    }
    Ok(campaign)
}

/// Reads a campaign from text. `file` is the file name for errors.
///
/// # Errors
/// Returns an error if the text is invalid.
pub fn parse(text: &str, file: &str, catalog: &Catalog) -> Result<Settings, CatalogError> {
    let source = TomlSource { file, text };
    let document = source.parse()?;
    let top = TomlTable::top(source, &document, &KEYS)?;
    let campaign = Settings {
        name: top.read("name", |v| v.text())?,
        contenders: contenders(&top, catalog)?,
        ages: top.read("age", |v| age_file::ages(&v, catalog))?.unwrap_or_default(),
        groups: groups(&top)?,
        directories: directories(&top)?,
        suites: suites(&top, catalog)?,
        profile: top.read("profile", |v| v.one_of(&SizeProfile::ALL.map(|p| (p.name(), p))))?,
        rounds: top.read("rounds", |v| rounds(&v))?,
        rule: rule(&top)?,
        seed: top.read("seed", |v| v.count(0..u64::MAX))?,
        size: top.read("size", |v| v.size())?,
        memory: top.read("memory", |v| v.size())?,
        readahead: top.read("readahead", |v| v.size())?,
        max_written: top.read("max_written", |v| v.size())?,
        keep_aged: top.read("keep_aged", |v| v.flag())?,
        backend: top.read("backend", |v| v.one_of(&BACKENDS))?,
        device: top.read("device", |v| v.text())?.map(PathBuf::from),
        source: top.read("source", |v| v.text())?.map(PathBuf::from),
        machine: machine(&top, catalog)?,
        base: PathBuf::new(),
    };
    check_together(&campaign, &top)?;
    check_machine(&campaign, &top)?;
    Ok(campaign)
}

/// Reads the rule for adding rounds. Its limits require `until_width`.
fn rule(top: &TomlTable<'_>) -> Result<RoundSettings, CatalogError> {
    let rule = RoundSettings {
        until_width: top.read("until_width", |v| v.percentage())?,
        until_share: top.read("until_share", |v| v.percentage())?,
        max_rounds: top.read("max_rounds", |v| rounds(&v))?,
        max_time: top.read("max_time", |v| v.limit())?,
        budget: top.read("budget", |v| v.limit())?,
    };
    if rule.budget.is_some() {
        for key in ["rounds", "until_width"] {
            if let Some(value) = top.get(key)? {
                return Err(value.error(format!("`{key}` and `budget` exclude each other")));
            }
        }
    }
    if rule.until_width.is_none() {
        for key in ["until_share", "max_rounds", "max_time"] {
            if let Some(value) = top.get(key)? {
                return Err(value.error(format!("`{key}` means nothing without `until_width`")));
            }
        }
    }
    Ok(rule)
}

/// Rejects keys of a guest machine if the backend is not `vm`.
fn check_machine(campaign: &Settings, top: &TomlTable<'_>) -> Result<(), CatalogError> {
    // If the file leaves the backend to the command line, these keys are checked there.
    if matches!(campaign.backend, None | Some(BackendKind::Vm)) {
        return Ok(());
    }
    for key in MACHINE {
        if let Some(value) = top.get(key)? {
            return Err(value.error(format!("`{key}` is for `backend = \"vm\"` alone")));
        }
    }
    Ok(())
}

/// Checks combinations of keys: a campaign has exactly one backend.
fn check_together(campaign: &Settings, top: &TomlTable<'_>) -> Result<(), CatalogError> {
    let in_directories = !campaign.directories.is_empty();
    if campaign.contenders.is_empty() && !in_directories {
        return Err(top.error("missing key `contenders` (or `directories`)".into()));
    }
    let (key, message) = match campaign.backend {
        _ if in_directories && !campaign.contenders.is_empty() => (
            "directories",
            "`directories` and `contenders` cannot be in one campaign: it has one backend",
        ),
        _ if in_directories && !campaign.ages.is_empty() => (
            "age",
            "`age` cannot be used with `directories`: fsarena does not modify their contents",
        ),
        _ if in_directories && campaign.device.is_some() => {
            ("device", "`device` cannot be used with `directories`; remove it")
        }
        Some(BackendKind::Loop) if in_directories => {
            ("backend", "`backend` is `loop`; expected dir, for there are `directories`")
        }
        Some(BackendKind::Vm) if in_directories => {
            ("backend", "`backend` is `vm`; expected dir, for there are `directories`")
        }
        Some(BackendKind::Dir) if !in_directories => {
            ("backend", "`backend` is `dir`; expected `directories` instead of `contenders`")
        }
        _ => return Ok(()),
    };
    Err(top.required(key)?.error(message.to_owned()))
}

fn machine(top: &TomlTable<'_>, catalog: &Catalog) -> Result<GuestSection, CatalogError> {
    let disk = |value: &TomlValue<'_>| Ok(self::disk(value, catalog)?.name);
    let caches = DiskCache::ALL.map(|mode| (mode.name(), mode));
    Ok(GuestSection {
        clock: top.read("clock", |v| v.one_of(&CLOCKS))?,
        processors: top.read("processors", |v| count(&v, GuestConfig::MAX_PROCESSORS))?,
        disk: one_or_several(top, "disk", disk)?,
        disks: one_or_several(top, "disks", disks)?,
        disk_cache: top.read("disk_cache", |v| v.one_of(&caches))?,
    })
}

/// Reads a value, or a non-empty list of values without duplicates.
fn one_or_several<'a, T: PartialEq>(
    top: &TomlTable<'a>,
    key: &'static str,
    read: impl Fn(&TomlValue<'a>) -> Result<T, CatalogError>,
) -> Result<Vec<T>, CatalogError> {
    let Some(value) = top.get(key)? else {
        return Ok(Vec::new());
    };
    if !value.is_list() {
        return Ok(vec![read(&value)?]);
    }
    let mut several = Vec::new();
    for value in value.list("values")? {
        let one = read(&value)?;
        if several.contains(&one) {
            return Err(value.error(format!("`{key}` names the same twice")));
        }
        several.push(one);
    }
    Ok(several)
}

fn disk(value: &TomlValue<'_>, catalog: &Catalog) -> Result<DiskModel, CatalogError> {
    let name = value.name()?;
    catalog.disk(&name).map_err(|e| value.error(e.to_string()))
}

fn disks(value: &TomlValue<'_>) -> Result<u32, CatalogError> {
    count(value, GuestConfig::MAX_DISKS)
}

fn count(value: &TomlValue<'_>, most: u32) -> Result<u32, CatalogError> {
    let number = value.count(1..u64::from(most) + 1)?;
    Ok(u32::try_from(number).unwrap_or(most))
}

fn contenders(top: &TomlTable<'_>, catalog: &Catalog) -> Result<Vec<Contender>, CatalogError> {
    let listed = top.read("contenders", |v| v.list("contenders"))?;
    let mut contenders: Vec<Contender> = Vec::new();
    for value in listed.unwrap_or_default() {
        let contender = contender(&value, catalog)?;
        if contenders.iter().any(|c| c.name == contender.name) {
            return Err(value.error(format!(
                "two contenders are named `{}`; rename one of them",
                contender.name
            )));
        }
        contenders.push(contender);
    }
    Ok(contenders)
}

fn contender(value: &TomlValue<'_>, catalog: &Catalog) -> Result<Contender, CatalogError> {
    if !value.is_table() {
        let spec = value.text().map_err(|_| value.expected_error("a list of contenders"))?;
        return catalog.contender(&spec).map_err(|e| value.error(e.to_string()));
    }
    let table = value.table(&CONTENDER)?;
    let filesystem = table.required("filesystem")?;
    let filesystem =
        catalog.filesystem(&filesystem.text()?).map_err(|e| filesystem.error(e.to_string()))?;
    let contender = Contender {
        name: table.required("name")?.name()?,
        filesystem: filesystem.clone(),
        mkfs_options: table.texts("mkfs_options")?,
        mount_options: table.texts("mount_options")?,
        directory: None,
        own: ContenderOverrides {
            memory: table.read("memory", |v| v.size())?,
            disk: table.read("disk", |v| disk(&v, catalog))?,
            disks: table.read("disks", |v| disks(&v))?,
            age: table.read("age", |v| age_file::contender_age(&v, catalog))?,
        },
    };
    check_options(&contender).map_err(|m| value.error(m))?;
    Ok(contender)
}

fn groups(top: &TomlTable<'_>) -> Result<Vec<ContenderGroup>, CatalogError> {
    let Some(table) = top.read("groups", |v| v.any_table())? else {
        return Ok(Vec::new());
    };
    let group = |(name, value): (&str, TomlValue<'_>)| {
        model::check_name(name).map_err(|e| value.error(format!("a group: {e}")))?;
        Ok(ContenderGroup { name: name.to_owned(), members: value.texts()? })
    };
    table.entries().map(group).collect()
}

fn directories(top: &TomlTable<'_>) -> Result<Vec<DirectoryContender>, CatalogError> {
    let listed = top.read("directories", |v| v.list("directories"))?;
    listed
        .unwrap_or_default()
        .iter()
        .map(|value| {
            if !value.is_table() {
                let path =
                    value.text().map_err(|_| value.expected_error("a list of directories"))?;
                return Ok(DirectoryContender { name: None, path: path.into(), memory: None });
            }
            let table = value.table(&DIRECTORY)?;
            Ok(DirectoryContender {
                name: table.read("name", |v| v.name())?,
                path: table.text("path")?.into(),
                memory: table.read("memory", |v| v.size())?,
            })
        })
        .collect()
}

fn suites(top: &TomlTable<'_>, catalog: &Catalog) -> Result<Vec<String>, CatalogError> {
    let Some(value) = top.get("suites")? else {
        return Ok(Vec::new());
    };
    let suites = value.texts()?;
    // A name with a colon is another program, which the command line reads.
    let of_catalog: Vec<String> = suites.iter().filter(|s| !s.contains(':')).cloned().collect();
    catalog
        .chosen_suites(&of_catalog, SizeProfile::Smoke)
        .map_err(|e| value.error(e.to_string()))?;
    Ok(suites)
}
