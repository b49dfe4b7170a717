//! A filesystem with its options, as part of a campaign.

use serde::{Deserialize, Serialize};

use crate::{ContenderOverrides, Expectation, Filesystem, RecoveryMechanism};

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
    /// Returns true if its options or a layer compress files.
    pub fn compresses(&self) -> bool {
        if self.filesystem.layers.iter().any(|layer| layer.compresses) {
            return true;
        }
        let options = self.mkfs_options.iter().chain(&self.mount_options);
        options.flat_map(|option| option.split([',', ' '])).any(is_compression)
    }

    /// Returns the mechanism that keeps the contender consistent when the power fails, with its
    /// mkfs and mount options. `None` if it is unknown.
    pub fn crash_recovery(&self) -> Option<RecoveryMechanism> {
        let recovery = self.filesystem.facts.crash_recovery.as_ref()?;
        let is_lost = self.has_option(&recovery.lost_with);
        Some(if is_lost { RecoveryMechanism::None } else { recovery.by })
    }

    /// Returns the document that promises that this holds after a power cut, with its mkfs and
    /// mount options. `None` if no document does, or if an option withdraws the promise of syncs,
    /// on which all others depend.
    pub fn promise(&self, keeps: Expectation) -> Option<&str> {
        /// The document for all filesystems that state nothing else.
        const FSYNC: &str = "fsync(2)";
        if keeps != Expectation::Promise && self.promise(Expectation::Promise).is_none() {
            return None;
        }
        let all = &self.filesystem.facts.promises;
        let mut stated = all.iter().filter(|one| one.keeps == keeps).peekable();
        if stated.peek().is_none() {
            return (keeps == Expectation::Promise).then_some(FSYNC);
        }
        let mut valid = stated.filter(|one| {
            let is_complete = one.only_with.is_empty() || self.has_option(&one.only_with);
            is_complete && !self.has_option(&one.unless)
        });
        valid.next().map(|one| one.source.as_str())
    }

    /// Returns true if one of its mkfs and mount options is one of these words.
    fn has_option(&self, words: &[String]) -> bool {
        let options = self.mkfs_options.iter().chain(&self.mount_options);
        let mut own = options.flat_map(|option| option.split([',', ' ']));
        own.any(|word| words.iter().any(|one| one == word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Commands, DocumentedPromise, DriverKind, FilesystemFacts, Requirements};

    #[test]
    fn options_withdraw_promises_and_make_others() {
        let mut contender = Contender {
            name: "x".to_owned(),
            filesystem: Filesystem {
                name: "x".to_owned(),
                title: String::new(),
                aliases: Vec::new(),
                driver: DriverKind::Kernel,
                facts: FilesystemFacts::default(),
                source: String::new(),
                requires: Requirements::default(),
                commands: Commands::default(),
                quirks: Vec::new(),
                unavailable: None,
                only_in_guest: None,
                only_when_named: None,
                layers: Vec::new(),
            },
            mkfs_options: Vec::new(),
            mount_options: Vec::new(),
            directory: None,
            own: ContenderOverrides::default(),
        };
        let promise = |keeps, unless: &[&str], only_with: &[&str]| DocumentedPromise {
            keeps,
            unless: unless.iter().map(|&word| word.to_owned()).collect(),
            only_with: only_with.iter().map(|&word| word.to_owned()).collect(),
            source: "its manual".to_owned(),
        };
        use Expectation::{Acknowledged, Order, Promise, Replacement};
        assert_eq!(contender.promise(Promise), Some("fsync(2)"));
        assert_eq!(contender.promise(Replacement), None);
        contender.filesystem.facts.promises = vec![
            promise(Promise, &["nobarrier"], &[]),
            promise(Replacement, &[], &[]),
            promise(Order, &[], &["order=strict"]),
        ];
        let stated = |contender: &Contender| {
            [Promise, Acknowledged, Replacement, Order].map(|one| contender.promise(one).is_some())
        };
        assert_eq!(contender.promise(Promise), Some("its manual"));
        assert_eq!(stated(&contender), [true, false, true, false]);
        contender.mount_options = vec!["noatime,order=strict".to_owned()];
        assert_eq!(stated(&contender), [true, false, true, true]);
        contender.mount_options.push("nobarrier".to_owned());
        assert_eq!(stated(&contender), [false; 4]);
    }

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
