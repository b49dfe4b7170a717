//! The machine of a guest and its disks. They are part of every result.

pub(crate) mod calibration;
pub(crate) mod disk_identity;
pub(crate) mod disk_model;
pub(crate) mod environment;
pub(crate) mod host_noise;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Bytes, DiskModel};

crate::named_enum! {
    /// Accelerator that executes a guest's instructions.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum Accelerator {
        /// Hardware virtualization by the kernel.
        Kvm = "kvm",
        /// QEMU's translator, which emulates every instruction.
        #[default]
        Tcg = "tcg",
    }
}

crate::named_enum! {
    /// Cache mode of this machine for a guest's disk, with QEMU's names (`cache=` of qemu(1)).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum DiskCache {
        /// Bypasses the page cache.
        None = "none",
        /// Uses the page cache; flushes of the guest are executed.
        #[default]
        Writeback = "writeback",
        /// Uses the page cache, but each write also goes to the disk.
        Writethrough = "writethrough",
        /// Bypasses the page cache, and each write goes to the disk.
        Directsync = "directsync",
        /// Uses the page cache, without flushes.
        Unsafe = "unsafe",
    }
}

/// Kind of disks of a guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum GuestDisk {
    /// Simulated disk in the guest's memory.
    Model {
        /// The model.
        model: DiskModel,
    },
    /// Images that are created for each cell.
    Image {
        /// Cache mode of this machine for the images.
        cache: DiskCache,
    },
    /// A real device of this machine, through io_uring.
    Device {
        /// Cache mode of this machine for the device.
        cache: DiskCache,
    },
}

impl fmt::Display for GuestDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model { model } => write!(f, "{model} in its memory"),
            Self::Image { cache } => write!(f, "an image, cache {}", cache.name()),
            Self::Device { cache } => {
                write!(f, "a real device through io_uring, cache {}", cache.name())
            }
        }
    }
}

/// Machine model for virtual time: processor speed, memory and disks of a machine in a study.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VirtualTimeMachine {
    /// Name of the machine: `vanninen-2003`.
    pub name: String,
    /// Title in reports.
    pub title: String,
    /// Source of its numbers.
    pub source: String,
    /// Duration of an instruction: two to the power of `shift`, in nanoseconds.
    pub shift: u32,
    /// Memory [default: the default of a guest].
    pub memory: Option<Bytes>,
    /// The name of its disk.
    pub disk: String,
    /// Number of disks.
    pub disks: u32,
}

/// The virtual machine that runs one cell (`vm` backend). It has no network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GuestConfig {
    /// Size of memory, including simulated disks.
    pub memory: Bytes,
    /// Number of processors; always 1 in virtual time.
    pub processors: u32,
    /// Accelerator that executes its instructions.
    pub accelerator: Accelerator,
    /// Processor model and features, in the format of `-cpu` of qemu(1).
    pub cpu: String,
    /// Duration of an instruction in virtual time: two to the power of `shift`, in nanoseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shift: u32,
    /// Number of disks, 1 to 8. A filesystem is created on the first.
    pub disks: u32,
    /// Kind of its disks.
    pub disk: GuestDisk,
    /// Release of its kernel.
    pub kernel: String,
    /// Name of its build inputs: equal names mean equal kernel, modules and programs.
    #[serde(rename = "made")]
    pub guest_name: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
pub(crate) const fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl GuestConfig {
    /// Maximum number of disks of a guest.
    pub const MAX_DISKS: u32 = 8;
    /// Maximum number of processors of a guest.
    pub const MAX_PROCESSORS: u32 = 64;

    /// Returns the model of its disks, or `None` if they are located on this machine.
    pub const fn model(&self) -> Option<&DiskModel> {
        match &self.disk {
            GuestDisk::Model { model } => Some(model),
            GuestDisk::Image { .. } | GuestDisk::Device { .. } => None,
        }
    }
}

impl GuestConfig {
    /// Returns the duration of an instruction in virtual time, in nanoseconds.
    pub const fn instruction(&self) -> u64 {
        1 << self.shift
    }

    /// Returns the machine as text, with this description for each of its disks.
    pub fn describe_with_disk(&self, disk: impl fmt::Display) -> String {
        let processors = match self.processors {
            1 => "1 processor".to_owned(),
            count => format!("{count} processors"),
        };
        let disks = match self.disks {
            1 => "1 disk".to_owned(),
            count => format!("{count} disks"),
        };
        let speed = match self.instruction() {
            1 => String::new(),
            time => format!(", {time} ns an instruction"),
        };
        format!(
            "{} of memory, {processors} ({}, {}{speed}), {disks}: {disk}; Linux {}",
            self.memory,
            self.accelerator.name(),
            self.cpu,
            self.kernel
        )
    }
}

impl fmt::Display for GuestConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.describe_with_disk(&self.disk))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(disk: GuestDisk) -> GuestConfig {
        GuestConfig {
            memory: Bytes::mib(1024),
            processors: 1,
            accelerator: Accelerator::Tcg,
            cpu: "max".into(),
            shift: 0,
            disks: 1,
            disk,
            kernel: "6.1.0-9-amd64".into(),
            guest_name: "guest-1".into(),
        }
    }

    #[test]
    fn machine_text_contains_all_parts() {
        let one = machine(GuestDisk::Model { model: DiskModel::ideal() });
        assert_eq!(
            one.to_string(),
            "1 GiB of memory, 1 processor (tcg, max), 1 disk: ideal (no mechanism) in its memory; Linux 6.1.0-9-amd64"
        );
        let two = GuestConfig {
            processors: 2,
            disks: 8,
            ..machine(GuestDisk::Device { cache: DiskCache::None })
        };
        let words = two.to_string();
        assert!(words.contains("2 processors (tcg, max), 8 disks: a real device through io_uring"));
        assert!(words.contains("cache none"));
    }

    #[test]
    fn machine_survives_a_round_trip() {
        for disk in [
            GuestDisk::Model { model: DiskModel::ideal() },
            GuestDisk::Image { cache: DiskCache::Writeback },
            GuestDisk::Device { cache: DiskCache::Directsync },
        ] {
            let written = machine(disk);
            let text = serde_json::to_string(&written).unwrap();
            assert_eq!(serde_json::from_str::<GuestConfig>(&text).unwrap(), written);
        }
    }

    #[test]
    fn every_cache_mode_is_read_by_its_name() {
        for mode in DiskCache::ALL {
            assert_eq!(mode.name().parse(), Ok(mode));
        }
        assert!("write-back".parse::<DiskCache>().is_err());
    }
}
