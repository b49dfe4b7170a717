//! Reads one file of `layers/`: TOML → a validated [`LayerEntry`].

use std::collections::BTreeMap;

use model::{DriverKind, HarmlessMessage, MaintenanceTask, Requirements};

use crate::CatalogError;
use crate::catalog::document::{NameRegistry, TomlSource, TomlTable};
use crate::catalog::filesystem_file::{self, DRIVERS};
use crate::settings::options::{check_mkfs_options, check_mount_option};

const KEYS: [&str; 11] = [
    "name",
    "title",
    "driver",
    "source",
    "quirks",
    "harmless",
    "compresses",
    "filesystems",
    "requires",
    "commands",
    "maintenance",
];
const FILESYSTEMS: [&str; 3] = ["mkfs_options", "mount_options", "create"];
const REQUIRES: [&str; 4] = ["modules", "packages", "programs", "smallest"];
const COMMANDS: [&str; 5] = ["device", "disks", "create", "open", "close"];
/// Tasks of the disks of a layer.
const MAINTENANCE: [MaintenanceTask; 4] = [
    MaintenanceTask::Degrade,
    MaintenanceTask::StartRebuild,
    MaintenanceTask::FinishRebuild,
    MaintenanceTask::Scrub,
];
const MAINTENANCE_KEYS: [&str; 4] = ["degrade", "start-rebuild", "finish-rebuild", "scrub"];

/// A layer below or above a filesystem, such as encryption, RAID or an overlay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerEntry {
    /// Unique name: `luks`.
    pub name: String,
    /// Title in reports: `LUKS2`.
    pub title: String,
    /// Source of the facts in this entry.
    pub source: String,
    /// Requirements in addition to those of the filesystem. `smallest` is the space that a layer
    /// below uses of the device.
    pub requires: Requirements,
    /// Kind of its implementation, if that decides the kind of the whole.
    pub driver: Option<DriverKind>,
    /// Whether it is below or above the filesystem.
    pub position: LayerPosition,
    /// Script that creates it.
    pub create: String,
    /// Script that opens it, before each mount and check.
    pub open: String,
    /// Script that closes it, after each unmount and check.
    pub close: String,
    /// Scripts of tasks of an administrator, for a layer below that has several disks.
    pub maintenance: BTreeMap<MaintenanceTask, String>,
    /// Notes for readers of the results.
    pub quirks: Vec<String>,
    /// Harmless warnings of the kernel.
    pub harmless: Vec<HarmlessMessage>,
    /// True if it compresses files.
    pub compresses: bool,
    /// The filesystems that can have it, by name, with the options for each. All if this is empty.
    pub filesystems: BTreeMap<String, LayerNeeds>,
}

/// Options of one filesystem for a layer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayerNeeds {
    /// Words added to the mkfs command line.
    pub mkfs_options: Vec<String>,
    /// Options added to the mount command line.
    pub mount_options: Vec<String>,
    /// Script that creates the layer, in place of the common one.
    pub create: Option<String>,
}

/// Position of a layer in a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LayerPosition {
    /// Between disk and filesystem: `ext4+luks`. The scripts find the disks in `$devices`.
    Below {
        /// The block device that an opened layer provides.
        device: String,
        /// Minimum number of disks.
        disks: u32,
    },
    /// On a mounted filesystem: `gocryptfs/ext4`. The scripts find its directory in `$lower`, and
    /// the directory to mount on in `$mountpoint`.
    Above,
}

impl LayerEntry {
    /// Returns the minimum number of disks.
    pub(crate) const fn disks(&self) -> u32 {
        match self.position {
            LayerPosition::Below { disks, .. } => disks,
            LayerPosition::Above => 1,
        }
    }

    /// Returns the layer on a filesystem in the syntax of the command line: `ext4+luks`,
    /// `gocryptfs/ext4`.
    pub fn spelled(&self, filesystem: &str) -> String {
        match self.position {
            LayerPosition::Below { .. } => format!("{filesystem}+{}", self.name),
            LayerPosition::Above => format!("{}/{filesystem}", self.name),
        }
    }
}

/// Reads a layer and its name.
pub(crate) fn read(source: TomlSource<'_>) -> Result<(LayerEntry, NameRegistry), CatalogError> {
    let document = source.parse()?;
    let top = TomlTable::top(source, &document, &KEYS)?;
    let name = top.required("name")?;
    let claims = vec![(name.name()?, name.line())];
    let requires = top.required("requires")?.table(&REQUIRES)?;
    let commands = top.required("commands")?.table(&COMMANDS)?;
    let disks = commands.read("disks", |v| v.count(1_u32..=16))?;
    let position = match commands.read("device", |v| v.text())? {
        Some(device) => LayerPosition::Below { device, disks: disks.unwrap_or(1) },
        None if disks.is_some() => {
            let why = "only a layer below a filesystem, which has a `device`, has `disks`";
            return Err(commands.error(why.into()));
        }
        None => LayerPosition::Above,
    };
    let mut maintenance = BTreeMap::new();
    if let Some(table) = top.get("maintenance")? {
        let table = table.table(&MAINTENANCE_KEYS)?;
        for task in MAINTENANCE {
            let script = table.read(task.name(), |v| v.text())?;
            maintenance.extend(script.map(|script| (task, script)));
        }
        let [start, finish] = [MaintenanceTask::StartRebuild, MaintenanceTask::FinishRebuild];
        if let (Some(start), Some(finish)) = (maintenance.get(&start), maintenance.get(&finish)) {
            let both = format!("{start}\n{finish}");
            maintenance.insert(MaintenanceTask::Rebuild, both);
        }
    }
    let mut filesystems = BTreeMap::new();
    if let Some(table) = top.get("filesystems")? {
        for (filesystem, value) in table.any_table()?.entries() {
            let table = value.table(&FILESYSTEMS)?;
            let mkfs_options = table.texts("mkfs_options")?;
            check_mkfs_options(&mkfs_options).map_err(|why| table.error(why))?;
            let mount_options = table.texts("mount_options")?;
            let mut checked = mount_options.iter();
            checked.try_for_each(|o| check_mount_option(o)).map_err(|why| table.error(why))?;
            let needs = LayerNeeds {
                mkfs_options,
                mount_options,
                create: table.read("create", |v| v.text())?,
            };
            filesystems.insert(filesystem.to_owned(), needs);
        }
    }
    let layer = LayerEntry {
        filesystems,
        compresses: top.read("compresses", |v| v.flag())?.unwrap_or_default(),
        maintenance,
        name: name.name()?,
        title: top.text("title")?,
        source: top.text("source")?,
        requires: Requirements {
            modules: requires.texts("modules")?,
            packages: requires.texts("packages")?,
            programs: requires.texts("programs")?,
            smallest: requires.read("smallest", |v| v.size())?.unwrap_or_default(),
            ..Requirements::default()
        },
        driver: top.read("driver", |v| v.one_of(&DRIVERS))?,
        position,
        create: commands.text("create")?,
        open: commands.text("open")?,
        close: commands.text("close")?,
        quirks: top.texts("quirks")?,
        harmless: filesystem_file::harmless(&top)?,
    };
    Ok((layer, claims))
}

/// Returns every key of a layer file.
#[cfg(test)]
pub(crate) fn all_keys() -> impl Iterator<Item = &'static str> {
    KEYS.into_iter().chain(FILESYSTEMS).chain(REQUIRES).chain(COMMANDS).chain(MAINTENANCE_KEYS)
}
