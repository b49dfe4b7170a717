//! Command lines of filesystems: validates placeholders and fills them in.
//!
//! Pure: runs no programs.

use std::collections::BTreeMap;

use model::{Bytes, Commands, Contender, MaintenanceCommand, MaintenanceTask, RecoveryMechanism};

/// Options at the start of every mount, regardless of the catalog and the user.
pub(crate) const SAFE_OPTIONS: &str = "nosuid,nodev";

/// Values of the placeholders.
#[derive(Clone, Copy, Debug)]
pub struct Placeholders<'a> {
    /// The block devices; the first is `{device}`. Empty for a filesystem without a device; exactly
    /// one unless the filesystem supports pools.
    pub devices: &'a [&'a str],
    /// The directory to mount on.
    pub mountpoint: &'a str,
    /// Size of the device, or space limit of a filesystem without a device.
    pub size: Bytes,
    /// Path of the fsarena program, which creates filesystems that have no mkfs program.
    pub fsarena: &'a str,
}

/// Fills in all placeholders of the contender's command lines.
///
/// Options of the filesystem precede the options of the contender, so that the latter win in
/// programs that use the last of several. The option lists in the result contain both.
pub fn expand_commands(contender: &Contender, place: &Placeholders<'_>) -> Commands {
    let raw = &contender.filesystem.commands;
    let filled = |words: &[String]| -> Vec<String> {
        words.iter().flat_map(|word| fill_all(word, place)).collect()
    };
    let is_pool = place.devices.len() > 1;
    let of_pool = |words: &[String]| if is_pool { filled(words) } else { Vec::new() };
    let mkfs_options = [
        filled(&raw.mkfs_options),
        of_pool(&raw.pool_mkfs_options),
        filled(&contender.mkfs_options),
    ]
    .concat();
    let mount_options = [
        filled(&raw.mount_options),
        of_pool(&raw.pool_mount_options),
        filled(&contender.mount_options),
    ]
    .concat();
    let joined = [&[SAFE_OPTIONS.to_owned()], &mount_options[..]].concat().join(",");
    let with_mkfs_options = |words: &[String]| -> Vec<String> {
        let each = words.iter().flat_map(|word| match word.as_str() {
            OPTIONS => mkfs_options.clone(),
            word => fill_all(word, place),
        });
        each.collect()
    };
    let with_options = |word: &String| word.replace("{options}", &joined);
    let mount: Vec<String> = raw.mount.iter().map(with_options).collect();
    Commands {
        mkfs: with_mkfs_options(&raw.mkfs),
        mkfs_shares: raw.mkfs_shares,
        mkfs_writes: raw.mkfs_writes,
        mount: filled(&mount),
        umount: filled(&raw.umount),
        fsck: filled(&raw.fsck),
        fsck_clean: raw.fsck_clean.clone(),
        repair: filled(&raw.repair),
        repair_clean: raw.repair_clean.clone(),
        replays_at_mount: !raw.repair.is_empty()
            && contender.crash_recovery().is_some_and(|by| by != RecoveryMechanism::None),
        mkfs_options: mkfs_options.clone(),
        mount_options,
        pool_mkfs_options: Vec::new(),
        pool_mount_options: Vec::new(),
        version: raw.version.clone(),
        maintenance: maintenance(&raw.maintenance, is_pool, &with_mkfs_options),
    }
}

/// Fills in the tasks of an administrator. A filesystem on several devices is not resized.
fn maintenance(
    tasks: &BTreeMap<MaintenanceTask, MaintenanceCommand>,
    is_pool: bool,
    filled: &dyn Fn(&[String]) -> Vec<String>,
) -> BTreeMap<MaintenanceTask, MaintenanceCommand> {
    let possible = tasks.iter().filter(|(task, _)| !(is_pool && task.resizes()));
    let each = possible
        .map(|(&task, raw)| (task, MaintenanceCommand { command: filled(&raw.command), ..*raw }));
    each.collect()
}

/// Fills in the placeholders of a word. A word with `{devices}` is repeated for each device.
fn fill_all(word: &str, place: &Placeholders<'_>) -> Vec<String> {
    match word.contains(DEVICES) && !is_script(word) {
        true => place.devices.iter().map(|d| word.replace(DEVICES, d)).collect(),
        false => vec![fill(word, place)],
    }
}

/// Fills in all placeholders except `{devices}`.
fn fill(word: &str, place: &Placeholders<'_>) -> String {
    if is_script(word) {
        return word.to_owned();
    }
    word.replace(DEVICE, place.devices.first().unwrap_or(&"none"))
        .replace("{mountpoint}", place.mountpoint)
        .replace("{size}", &place.size.0.to_string())
        .replace(HALF_KIB, &half_kib(place.size).to_string())
        .replace(FSARENA, place.fsarena)
}

/// Returns half of a size in KiB: whole MiB.
const fn half_kib(size: Bytes) -> u64 {
    size.0 / 2 / (1 << 20) * (1 << 10)
}

/// Returns true if a word is a script for `sh -c`, because it contains white space. Braces in it
/// are shell syntax.
pub(crate) fn is_script(word: &str) -> bool {
    word.contains(char::is_whitespace)
}

pub(crate) const DEVICE: &str = Commands::DEVICE;
pub(crate) const DEVICES: &str = Commands::DEVICES;
pub(crate) const MOUNTPOINT: &str = "{mountpoint}";
pub(crate) const SIZE: &str = "{size}";
/// Half of the size, in KiB: whole MiB.
pub(crate) const HALF_KIB: &str = "{half_kib}";
pub(crate) const OPTIONS: &str = "{options}";
/// Placeholder for the path of fsarena, which can be the first word of a command line.
pub(crate) const FSARENA: &str = "{fsarena}";
pub(crate) const PLACEHOLDERS: [&str; 7] =
    [DEVICE, DEVICES, MOUNTPOINT, SIZE, HALF_KIB, OPTIONS, FSARENA];

/// A command line of the catalog and its constraints.
pub(crate) struct PlaceholderRule {
    /// The key in the filesystem file.
    pub key: &'static str,
    /// Placeholders that the command line may contain.
    allowed: &'static [&'static str],
    /// Required placeholders: at least one of each group.
    needed: &'static [&'static [&'static str]],
    /// Placeholders that must be whole words.
    alone: &'static [&'static str],
}

/// mkfs. Options are separate words, so `{options}` cannot be part of a word. A pool may need its
/// mount point.
pub(crate) const MKFS: PlaceholderRule = PlaceholderRule {
    key: "mkfs",
    allowed: &[DEVICE, DEVICES, MOUNTPOINT, SIZE, OPTIONS, FSARENA],
    needed: &[&[DEVICE, DEVICES]],
    alone: &[OPTIONS, DEVICES],
};
/// mount. `{options}` is required, because it contains nosuid,nodev.
pub(crate) const MOUNT: PlaceholderRule = PlaceholderRule {
    key: "mount",
    allowed: &[DEVICE, DEVICES, MOUNTPOINT, SIZE, OPTIONS],
    needed: &[&[MOUNTPOINT], &[OPTIONS]],
    alone: &[DEVICES],
};
/// umount.
pub(crate) const UMOUNT: PlaceholderRule = PlaceholderRule {
    key: "umount",
    allowed: &[DEVICE, MOUNTPOINT],
    needed: &[&[MOUNTPOINT]],
    alone: &[],
};
/// fsck.
pub(crate) const FSCK: PlaceholderRule = PlaceholderRule {
    key: "fsck",
    allowed: &[DEVICE, DEVICES],
    needed: &[&[DEVICE, DEVICES]],
    alone: &[DEVICES],
};
/// Repair after a power cut.
pub(crate) const REPAIR: PlaceholderRule = PlaceholderRule { key: "repair", ..FSCK };
/// A task of an administrator.
pub(crate) const MAINTENANCE: PlaceholderRule = PlaceholderRule {
    key: "maintenance",
    allowed: &[DEVICE, MOUNTPOINT, HALF_KIB],
    needed: &[],
    alone: &[],
};
/// The task that creates a filesystem has the options of mkfs.
pub(crate) const MKFS_HALF: PlaceholderRule = PlaceholderRule {
    key: "mkfs-half",
    allowed: &[DEVICE, HALF_KIB, OPTIONS],
    needed: &[&[DEVICE], &[HALF_KIB]],
    alone: &[OPTIONS],
};
/// Options of a pool. They may name each of its devices.
pub(crate) const POOL_OPTIONS: PlaceholderRule =
    PlaceholderRule { allowed: &[SIZE, DEVICES], ..DEFAULT_OPTIONS };
/// Command line that prints the version of the tools.
pub(crate) const VERSION: PlaceholderRule =
    PlaceholderRule { key: "version", allowed: &[], needed: &[], alone: &[] };
/// Default options. They may contain the size, for filesystems whose size is an option.
pub(crate) const DEFAULT_OPTIONS: PlaceholderRule =
    PlaceholderRule { key: "options", allowed: &[SIZE], needed: &[], alone: &[] };

impl PlaceholderRule {
    /// Checks the placeholders of all words of a command line.
    pub fn check(&self, words: &[String]) -> Result<(), String> {
        words.iter().try_for_each(|word| self.check_word(word))?;
        let says = |placeholder: &&str| words.iter().any(|word| word.contains(*placeholder));
        let mut needed = self.needed.iter();
        match needed.find(|either| !either.iter().any(says)) {
            Some(missing) => {
                let missing = crate::error::join_or(missing);
                Err(format!("`{}` does not say {missing}", self.key))
            }
            None => Ok(()),
        }
    }

    fn check_word(&self, word: &str) -> Result<(), String> {
        let holds = |p: &&str| word.contains(*p);
        if is_script(word) {
            return match PLACEHOLDERS.iter().find(|p| holds(p)) {
                None => Ok(()),
                Some(placeholder) => Err(format!(
                    "{placeholder} cannot be used inside a script; pass it as an argument after the script and use \"$1\""
                )),
            };
        }
        let mut rest = word;
        while let Some(at) = rest.find(['{', '}']) {
            rest = &rest[at..];
            let Some(known) = self.allowed.iter().find(|p| rest.starts_with(**p)) else {
                return Err(self.refuse(word));
            };
            rest = &rest[known.len()..];
        }
        let mut alone = self.alone.iter();
        match alone.find(|placeholder| holds(placeholder) && word != **placeholder) {
            Some(part) => Err(format!("`{word}`: {part} must be a separate word")),
            None => Ok(()),
        }
    }

    fn refuse(&self, word: &str) -> String {
        if self.allowed.is_empty() {
            return format!("`{word}`: no placeholder may stand in `{}`", self.key);
        }
        let allowed = crate::error::join_or(self.allowed);
        format!("`{word}` holds an unknown placeholder; expected {allowed}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{ContenderOverrides, DriverKind, Filesystem, FilesystemFacts, Requirements};

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    fn contender() -> Contender {
        Contender {
            name: "x".into(),
            filesystem: Filesystem {
                name: "x".into(),
                title: "X".into(),
                aliases: vec![],
                driver: DriverKind::Kernel,
                facts: FilesystemFacts::default(),
                source: "x(5)".into(),
                requires: Requirements::default(),
                commands: Commands {
                    mkfs_shares: false,
                    mkfs_writes: None,
                    mkfs: words("mkfs.x {options} {device}"),
                    mount: words("mount -o {options} {device} {mountpoint}"),
                    umount: words("umount {mountpoint}"),
                    fsck: words("fsck.x {device}"),
                    fsck_clean: vec![0],
                    repair: words("repair.x {device}"),
                    repair_clean: vec![0, 1],
                    replays_at_mount: false,
                    mkfs_options: words("-E lazy=0"),
                    mount_options: words("size={size}"),
                    pool_mkfs_options: words("-d raid0"),
                    pool_mount_options: words("device={devices}"),
                    version: words("mkfs.x -V"),
                    maintenance: BTreeMap::new(),
                },
                quirks: vec![],
                unavailable: None,
                only_in_guest: None,
                only_when_named: None,
                layers: Vec::new(),
            },
            mkfs_options: words("-b 1024"),
            mount_options: words("noatime"),
            directory: None,
            own: ContenderOverrides::default(),
        }
    }

    const PLACE: Placeholders<'_> = Placeholders {
        devices: &["/dev/loop7"],
        mountpoint: "/run/a b",
        size: Bytes(4096),
        fsarena: "/opt/fsarena",
    };

    #[test]
    fn options_are_words_for_mkfs_and_one_word_for_mount() {
        let commands = expand_commands(&contender(), &PLACE);
        assert_eq!(commands.mkfs, words("mkfs.x -E lazy=0 -b 1024 /dev/loop7"));
        assert_eq!(
            commands.mount,
            ["mount", "-o", "nosuid,nodev,size=4096,noatime", "/dev/loop7", "/run/a b"]
        );
        assert_eq!(commands.umount, ["umount", "/run/a b"]);
        assert_eq!(commands.mount_options, ["size=4096", "noatime"]);
    }

    #[test]
    fn tasks_of_an_administrator_have_half_of_the_size_and_the_options_of_mkfs() {
        let mut own = contender();
        let tasks = [
            (MaintenanceTask::MkfsHalf, "mkfs.x {options} {device} {half_kib}k"),
            (MaintenanceTask::Shrink, "resize.x {device} {half_kib}K"),
            (MaintenanceTask::Snapshot, "snapshot.x {mountpoint}"),
        ];
        let each = tasks.map(|(task, line)| {
            (task, MaintenanceCommand { command: words(line), ..MaintenanceCommand::default() })
        });
        own.filesystem.commands.maintenance = each.into();
        let place = Placeholders { size: Bytes::mib(301), ..PLACE };
        let tasks = expand_commands(&own, &place).maintenance;
        let line = |task| tasks[&task].command.join(" ");
        let half = "mkfs.x -E lazy=0 -b 1024 /dev/loop7 153600k";
        assert_eq!(line(MaintenanceTask::MkfsHalf), half);
        assert_eq!(line(MaintenanceTask::Shrink), "resize.x /dev/loop7 153600K");
        let several = Placeholders { devices: &["/dev/a", "/dev/b"], ..place };
        let tasks = expand_commands(&own, &several).maintenance;
        assert_eq!(tasks.into_keys().collect::<Vec<_>>(), [MaintenanceTask::Snapshot]);
    }

    #[test]
    fn a_filesystem_can_be_made_by_this_very_program() {
        let mut own = contender();
        own.filesystem.commands.mkfs = words("{fsarena} tool format x {options} {device}");
        let mkfs = expand_commands(&own, &PLACE).mkfs;
        assert_eq!(mkfs, words("/opt/fsarena tool format x -E lazy=0 -b 1024 /dev/loop7"));
    }

    #[test]
    fn a_mount_is_nosuid_and_nodev_without_any_option() {
        let mut bare = contender();
        bare.filesystem.commands.mount_options.clear();
        bare.mount_options.clear();
        assert_eq!(expand_commands(&bare, &PLACE).mount[2], "nosuid,nodev");
    }

    #[test]
    fn a_script_gets_its_values_as_words() {
        let mut scripted = contender();
        scripted.filesystem.commands.mount = vec![
            "sh".into(),
            "-c".into(),
            "x=${1}; mount -o \"$2\" \"$x\" \"$3\"".into(),
            "sh".into(),
            "{device}".into(),
            "{options}".into(),
            "{mountpoint}".into(),
        ];
        assert_eq!(MOUNT.check(&scripted.filesystem.commands.mount), Ok(()));
        let mount = expand_commands(&scripted, &PLACE).mount;
        assert_eq!(mount[2], "x=${1}; mount -o \"$2\" \"$x\" \"$3\"");
        assert_eq!(mount[4], "/dev/loop7");
    }

    #[test]
    fn a_pool_gets_all_devices_and_any_other_filesystem_the_first() {
        let place = Placeholders { devices: &["/dev/a", "/dev/b"], ..PLACE };
        let mut pool = contender();
        assert_eq!(expand_commands(&pool, &place).mkfs.last().unwrap(), "/dev/a");
        pool.filesystem.commands.mkfs = words("mkpool x {devices}");
        assert_eq!(expand_commands(&pool, &place).mkfs, words("mkpool x /dev/a /dev/b"));
        assert_eq!(expand_commands(&pool, &PLACE).mkfs, words("mkpool x /dev/loop7"));
    }

    #[test]
    fn options_for_several_devices_precede_options_of_the_contender() {
        let devices = &["/dev/a", "/dev/b"];
        let several = expand_commands(&contender(), &Placeholders { devices, ..PLACE });
        assert_eq!(several.mkfs_options, words("-E lazy=0 -d raid0 -b 1024"));
        assert_eq!(several.mount[2], "nosuid,nodev,size=4096,device=/dev/a,device=/dev/b,noatime");
        let one = expand_commands(&contender(), &PLACE);
        assert_eq!(one.mkfs_options, words("-E lazy=0 -b 1024"));
        assert!(!one.mount[2].contains("device="));
    }

    #[test]
    fn placeholders_are_refused_in_wrong_places() {
        let error = |rule: &PlaceholderRule, line: &str| rule.check(&words(line)).unwrap_err();
        assert!(error(&MKFS, "mkfs {disk}").contains(
            "expected {device}, {devices}, {mountpoint}, {size}, {options} or {fsarena}"
        ));
        assert!(error(&MKFS, "mkfs").contains("does not say {device} or {devices}"));
        assert!(error(&MKFS, "mkfs x{devices}").contains("must be a separate word"));
        assert!(error(&MKFS, "mkfs -o{options} {device}").contains("must be a separate word"));
        assert!(error(&MOUNT, "mount {device} {mountpoint}").contains("does not say {options}"));
        assert!(error(&FSCK, "fsck {mountpoint}").contains("unknown placeholder"));
        assert!(error(&VERSION, "x {device}").contains("no placeholder"));
        assert!(error(&UMOUNT, "umount {mountpoint}}").contains("unknown placeholder"));
        let script = ["sh".to_owned(), "-c".to_owned(), "mkfs {device}".to_owned()];
        assert!(MKFS.check(&script).unwrap_err().contains("inside a script"));
    }
}
