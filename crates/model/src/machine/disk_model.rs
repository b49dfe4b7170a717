//! Disk models: parameters that describe a disk. The crate `simdisk` computes times from them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Bytes, Nanos};

/// A disk model. Other crates know simulated disks only through this type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiskModel {
    /// Name of the model: `hdd-2003-7200`.
    pub name: String,
    /// Title in reports.
    pub title: String,
    /// The modelled product.
    pub product: String,
    /// Overhead of each command in the disk and its controller, in addition to the work itself.
    pub command: Nanos,
    /// Maximum rate between disk and host, in bytes per second; unlimited if absent.
    pub link: Option<Bytes>,
    /// Maximum number of commands that the disk can reorder.
    pub queue: u32,
    /// Size of the write cache; zero if it has none.
    pub cache: Bytes,
    /// Whether the disk supports writes that bypass the cache (forced unit access). Otherwise such
    /// a write is followed by a flush.
    pub forced: bool,
    /// The storage mechanism.
    pub mechanism: Mechanism,
}

/// The storage mechanism of a disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Mechanism {
    /// Ideal storage: data is available immediately.
    Ideal,
    /// A rotating disk.
    Rotating(Rotating),
    /// Flash with a translation table in units of 4 KiB.
    Flash(Flash),
}

/// A rotating disk: an arm over platters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rotating {
    /// One revolution.
    pub turn: Nanos,
    /// Seek time to the next cylinder.
    pub seek_next: Nanos,
    /// Seek time over a third of all cylinders, the average of random seeks.
    pub seek_average: Nanos,
    /// Seek time over all cylinders.
    pub seek_full: Nanos,
    /// Time to switch between heads of a cylinder.
    pub head_switch: Nanos,
    /// Additional seek time before a write.
    pub write_settle: Nanos,
    /// Heads.
    pub heads: u32,
    /// Amount that it reads ahead into its buffer.
    pub read_ahead: Bytes,
    /// Weight of the waiting time, in thousandths. When the disk chooses the next request, it
    /// subtracts the weighted waiting time from the positioning time. 0 means shortest positioning
    /// time first.
    #[serde(default)]
    pub age_weight: u32,
    /// The zones, starting with the outermost, which has the lowest addresses.
    pub zones: Vec<Zone>,
}

/// A band of cylinders with equally long tracks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Zone {
    /// Number of cylinders.
    pub cylinders: u32,
    /// Sectors of 512 bytes in each track.
    pub sectors: u32,
}

/// Flash with a translation table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Flash {
    /// Time to read a page.
    pub read: Nanos,
    /// Time to program a page.
    pub program: Nanos,
    /// Time to erase a block.
    pub erase: Nanos,
    /// A discard.
    pub unmap: Nanos,
    /// Part of each command's overhead during which the controller serves no other command. It
    /// limits the number of commands per second.
    #[serde(default)]
    pub controller: Nanos,
    /// Rate of the bus of one channel, in bytes per second.
    pub channel: Bytes,
    /// Channels.
    pub channels: u32,
    /// Dies per channel.
    pub dies: u32,
    /// Unit of programming.
    pub page: Bytes,
    /// Number of pages per erase block.
    pub block: u32,
    /// Spare flash that the host cannot see, in thousandths.
    pub spare: u32,
    /// Whether its cache survives a power loss, so that flushes need no time.
    pub protected: bool,
    /// Preconditioning before the first request.
    pub state: FlashState,
}

crate::named_enum! {
    /// Preconditioning of a flash disk.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum FlashState {
        /// Nothing.
        Fresh = "fresh",
        /// The first half was written once, in order.
        #[default]
        Half = "half",
        /// Written once in order and then at random with twice its capacity: every write needs
        /// garbage collection.
        Steady = "steady",
    }
}

impl FlashState {
    /// Returns the percentage of the disk that was written; 100 means each sector once.
    pub const fn percent_written(self) -> u32 {
        match self {
            Self::Fresh => 0,
            Self::Half => 50,
            Self::Steady => 300,
        }
    }
}

impl DiskModel {
    /// Returns a disk without any delay.
    pub fn ideal() -> Self {
        Self {
            name: "ideal".to_owned(),
            title: "No disk at all".to_owned(),
            product: "none".to_owned(),
            command: Nanos(0),
            link: None,
            queue: 64,
            cache: Bytes(0),
            forced: false,
            mechanism: Mechanism::Ideal,
        }
    }

    /// Returns the capacity of the real disk. Returns `None` if the model has no size limit.
    pub fn capacity(&self) -> Option<Bytes> {
        let Mechanism::Rotating(disk) = &self.mechanism else {
            return None;
        };
        let sectors = |zone: &Zone| u64::from(zone.cylinders) * u64::from(zone.sectors);
        let of_one_head: u64 = disk.zones.iter().map(sectors).sum();
        Some(Bytes(of_one_head * u64::from(disk.heads) * 512))
    }

    /// Returns the disk with another preconditioning, or `None` if it is not a flash disk.
    #[must_use]
    pub fn with_state(&self, state: FlashState) -> Option<Self> {
        let mut disk = self.clone();
        let Mechanism::Flash(flash) = &mut disk.mechanism else {
            return None;
        };
        flash.state = state;
        if state != FlashState::default() {
            disk.name = format!("{}-{state}", self.name);
        }
        Some(disk)
    }
}

impl fmt::Display for DiskModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cache = match self.cache {
            Bytes(0) => "no write cache".to_owned(),
            cache => format!("a write cache of {cache}"),
        };
        match &self.mechanism {
            Mechanism::Ideal => write!(f, "{} (no mechanism)", self.name),
            Mechanism::Rotating(disk) => write!(
                f,
                "{} (an arm, {} turns a minute, {cache})",
                self.name,
                60_000_000_000 / disk.turn.0.max(1)
            ),
            Mechanism::Flash(disk) => write!(
                f,
                "{} (flash, {}, {cache}{})",
                self.name,
                match disk.channels * disk.dies {
                    1 => "1 die".to_owned(),
                    dies => format!("{dies} dies"),
                },
                if disk.protected { ", protected" } else { "" }
            ),
        }
    }
}
