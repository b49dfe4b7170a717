//! The environment of a campaign.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{Bytes, DiskIdentity};

/// The machine and the tools at the start of a session of a campaign.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Environment {
    /// Version of fsarena.
    pub program: String,
    /// `uname`: system, release, version, machine.
    pub kernel: String,
    /// The distribution, from `/etc/os-release`.
    pub distribution: String,
    /// Model of the processor.
    pub cpu: String,
    /// Number of usable processors.
    pub cpus: u32,
    /// Main memory.
    pub memory: Bytes,
    /// Whether free memory is returned to the host of a virtual machine and must be requested
    /// again.
    #[serde(default)]
    pub memory_goes_back: bool,
    /// Caches of the first processor, nearest first; empty if not recorded.
    #[serde(default)]
    pub caches: Vec<CpuCache>,
    /// The image or device of the contenders, and the storage below it.
    pub device: String,
    /// Identity of the disk, if the user provided a block device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskIdentity>,
    /// Attachment of the image and its effect on caching.
    pub attachment: String,
    /// Other conditions that affect speed, such as readahead and I/O scheduler; empty if not
    /// recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<HostSetting>,
    /// The clock of the measured times: `real time`.
    pub clock: String,
    /// Versions of the filesystems' tools.
    pub tools: Vec<ToolVersion>,
    /// If the cells ran on other hosts from a plan, that plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<DistributedPlan>,
}

/// A plan whose cells run on other hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DistributedPlan {
    /// Directory of the plan.
    pub directory: PathBuf,
    /// The command that continues the plan.
    pub command: String,
}

impl Environment {
    /// Returns the value of a condition, `None` if it is not recorded.
    pub fn condition(&self, name: &str) -> Option<&str> {
        let found = self.conditions.iter().find(|condition| condition.name == name);
        found.map(|condition| condition.value.as_str())
    }

    /// Returns the filesystem, options and device of the directory of a contender.
    pub fn directory(&self, contender: &str) -> Option<&str> {
        self.condition(&format!("{} {contender}", HostSetting::DIRECTORY))
    }

    /// Returns the size of the largest processor cache for data. Data that fits into it may be
    /// served without reading memory.
    pub fn cpu_cache(&self) -> Option<Bytes> {
        let holds_data = |cache: &&CpuCache| cache.kind != "instruction";
        self.caches.iter().filter(holds_data).map(|c| c.size).max()
    }
}

/// A setting or circumstance of the machine that affects performance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostSetting {
    /// The name: `readahead`, `I/O scheduler`.
    #[serde(rename = "what")]
    pub name: String,
    /// The value, as the kernel shows it if possible.
    pub value: String,
}

impl HostSetting {
    /// Beginning of the name of a setting: filesystem, options and device of the directory of a
    /// contender.
    pub const DIRECTORY: &str = "directory";
    /// Name of a setting: the name of the machine.
    pub const HOST: &str = "host";
    /// Name of a setting: directories of contenders that are on one filesystem.
    pub const ONE_FILESYSTEM: &str = "one filesystem";
    /// Name of a setting: directories of contenders whose filesystems share a disk.
    pub const ONE_DEVICE: &str = "one device";
    /// Beginning of the name of a setting: layers below the directory of a contender that change
    /// what a test measures, such as compression.
    pub const LAYERS: &str = "layers below";

    /// Returns true if the setting is a reason for caution when contenders are compared.
    pub fn is_caution(&self) -> bool {
        let is_shared = [Self::ONE_FILESYSTEM, Self::ONE_DEVICE].contains(&self.name.as_str());
        is_shared || self.name.starts_with(Self::LAYERS)
    }

    /// A condition.
    pub fn new(what: &str, value: impl Into<String>) -> Self {
        Self { name: what.to_owned(), value: value.into() }
    }
}

/// A cache of a processor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuCache {
    /// Level of the cache; 1 is nearest to the processor.
    pub level: u32,
    /// The contents: `data`, `instruction` or `unified`.
    pub kind: String,
    /// Its size.
    pub size: Bytes,
}

/// A program of a filesystem and its version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolVersion {
    /// The program.
    pub program: String,
    /// The version output of the tool, one line.
    pub version: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_cache_of_data_counts() {
        let cache =
            |level, kind: &str, kib| CpuCache { level, kind: kind.into(), size: Bytes::kib(kib) };
        let mut environment = Environment::default();
        assert_eq!(environment.cpu_cache(), None);
        environment.caches =
            vec![cache(1, "data", 32), cache(1, "instruction", 4096), cache(2, "unified", 1024)];
        assert_eq!(environment.cpu_cache(), Some(Bytes::mib(1)));
    }

    #[test]
    fn environments_of_older_versions_lack_new_fields() {
        let environment = Environment {
            conditions: vec![HostSetting::new("readahead", "128 KiB")],
            ..Environment::default()
        };
        let mut older = serde_json::to_value(environment).unwrap();
        for field in ["caches", "conditions"] {
            older.as_object_mut().unwrap().remove(field).expect(field);
        }
        let read: Environment = serde_json::from_value(older).unwrap();
        assert_eq!(read, Environment::default());
    }
}
