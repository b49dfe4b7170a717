//! Disk models: parameters that describe a disk. The crate `disk` computes times from them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Bytes, Nanos};

/// A disk model. Other crates know simulated disks only through this type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiskModel {
    /// The word that names it: `hdd-2003-7200`.
    pub name: String,
    /// The name people write.
    pub title: String,
    /// The product that it stands for.
    pub product: String,
    /// Overhead of each command in the disk and its controller, in addition to the work itself.
    pub command: Nanos,
    /// Bytes a second between it and the host at most; any number where absent.
    pub link: Option<Bytes>,
    /// Commands among which it chooses itself.
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
    /// An arm over platters.
    Rotating(Rotating),
    /// Flash with a translation table in units of 4 KiB.
    Flash(Flash),
}

/// An arm over platters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rotating {
    /// One revolution.
    pub turn: Nanos,
    /// A seek to the next cylinder.
    pub seek_next: Nanos,
    /// A seek over a third of all cylinders, the average of random ones.
    pub seek_average: Nanos,
    /// A seek over all of them.
    pub seek_full: Nanos,
    /// From one head to another of the same cylinder.
    pub head_switch: Nanos,
    /// Additional seek time before a write.
    pub write_settle: Nanos,
    /// Heads.
    pub heads: u32,
    /// Amount that it reads ahead into its buffer.
    pub read_ahead: Bytes,
    /// Thousandths of the time that a request has waited, by which its positioning counts as shorter when the disk
    /// chooses the next; 0 is shortest positioning time first.
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
    /// To read a page.
    pub read: Nanos,
    /// To program a page.
    pub program: Nanos,
    /// To erase a block.
    pub erase: Nanos,
    /// A discard.
    pub unmap: Nanos,
    /// That part of each command's overhead which the controller spends on one command at a time: it serves no more
    /// commands in a second.
    #[serde(default)]
    pub controller: Nanos,
    /// Bytes a second over the bus of one channel.
    pub channel: Bytes,
    /// Channels.
    pub channels: u32,
    /// Dies of each channel.
    pub dies: u32,
    /// Unit of programming.
    pub page: Bytes,
    /// Pages that are erased at once.
    pub block: u32,
    /// Thousandths of flash beyond what the host sees.
    pub spare: u32,
    /// Whether its cache survives a loss of power, so that a flush waits for nothing.
    pub protected: bool,
    /// Preconditioning before the first request.
    pub state: FlashState,
}

/// Preconditioning of a flash disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FlashState {
    /// Nothing.
    Fresh,
    /// The first half was written once, in order.
    #[default]
    Half,
    /// Written once in order and then at random with twice its capacity: every write needs garbage
    /// collection.
    Steady,
}

impl FlashState {
    /// Every state, with its word.
    pub const ALL: [(&'static str, Self); 3] = [
        ("fresh", Self::Fresh),
        ("half", Self::Half),
        ("steady", Self::Steady),
    ];

    /// Per cent of the disk that were written: 100 is each sector once.
    pub const fn percent_written(self) -> u32 {
        match self {
            Self::Fresh => 0,
            Self::Half => 50,
            Self::Steady => 300,
        }
    }
}

impl DiskModel {
    /// A disk that takes no time at all.
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
            let word = FlashState::ALL.into_iter().find(|(_, s)| *s == state);
            disk.name = format!("{}-{}", self.name, word.map_or("", |(word, _)| word));
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
