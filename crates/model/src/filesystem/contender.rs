//! A filesystem with its options, as part of a campaign.

use serde::{Deserialize, Serialize};

use crate::{ContenderOverrides, Filesystem, RecoveryMechanism};

/// A filesystem of the catalog with its options and settings in a campaign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Contender {
    /// The name in tables: `ext4`, `ext4:data=journal`, or the name from a campaign file.
    pub name: String,
    /// The complete filesystem entry, so that a stored campaign is self-contained.
    pub filesystem: Filesystem,
    /// Words added to the mkfs command line.
    pub mkfs_options: Vec<String>,
    /// Options added to the mount command line.
    pub mount_options: Vec<String>,
    /// The directory to use instead of a device (`dir` backend).
    pub directory: Option<std::path::PathBuf>,
    /// Settings that override the settings of the campaign.
    #[serde(default, skip_serializing_if = "ContenderOverrides::is_empty")]
    pub own: ContenderOverrides,
}

/// Options that compress files: of btrfs (btrfs(5)), of bcachefs (bcachefs(8)) and ZFS
/// (zfsprops(7)), and of F2FS (Documentation/filesystems/f2fs.rst of the kernel).
const COMPRESSION: [&str; 5] =
    ["compress", "compress-force", "compression", "background_compression", "compress_algorithm"];

/// Returns true if an option of a mount or of mkfs compresses files. Features of mkfs.f2fs, such as
/// `compression`, only allow it.
pub fn is_compression(option: &str) -> bool {
    let option = option.trim_start_matches("--");
    match option.split_once('=') {
        Some((key, value)) => COMPRESSION.contains(&key) && !["no", "none", "off"].contains(&value),
        None => ["compress", "compress-force"].contains(&option),
    }
}

impl Contender {
    /// Returns true if its options compress files.
    pub fn compresses(&self) -> bool {
        let options = self.mkfs_options.iter().chain(&self.mount_options);
        options.flat_map(|option| option.split([',', ' '])).any(is_compression)
    }

    /// Returns the mechanism that keeps the contender consistent when the power fails, with its
    /// mkfs and mount options. `None` if it is unknown.
    pub fn crash_recovery(&self) -> Option<RecoveryMechanism> {
        let recovery = self.filesystem.facts.crash_recovery.as_ref()?;
        let options = self.mkfs_options.iter().chain(&self.mount_options);
        let mut words = options.flat_map(|option| option.split([',', ' ']));
        let is_lost = words.any(|word| recovery.lost_with.iter().any(|lost| lost == word));
        Some(if is_lost { RecoveryMechanism::None } else { recovery.by })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_options_that_compress_files_are_compression() {
        for option in [
            "compress",
            "compress=zstd:3",
            "compress-force=lzo",
            "compression=lz4",
            "--compression=lz4",
            "--background_compression=zstd",
            "compress_algorithm=lz4",
        ] {
            assert!(is_compression(option), "{option}");
        }
        for option in [
            "compress=no",
            "compression=off",
            "compression",
            "compress_mode=user",
            "compress_log_size=4",
            "compress_extension=txt",
            "noatime",
        ] {
            assert!(!is_compression(option), "{option}");
        }
    }
}
