//! Puts a filesystem on a layer, or a layer on a filesystem: `ext4+luks`, `gocryptfs/ext4`.
//!
//! The result is a filesystem whose commands are scripts for `sh -c`, so everything else treats it
//! like any other. Layers can be combined: `overlay/ext4+luks+md-raid1`.

use std::collections::BTreeMap;

use model::{
    Bytes, Commands, DriverKind, Filesystem, FilesystemLayer, MaintenanceCommand, MaintenanceTask,
    shell_quote,
};

use crate::catalog::layer_file::{LayerEntry, LayerNeeds, LayerPosition};
use crate::command_line::{
    DEVICE, DEVICES, FSARENA, MOUNTPOINT, OPTIONS, PLACEHOLDERS, SAFE_OPTIONS, SIZE, is_script,
};
use crate::{Catalog, CatalogError};

/// Reason why a filesystem with a layer runs only in a guest.
const ONLY_IN_GUEST: &str = "its layer makes devices and mounts, which end with a guest";

impl Catalog {
    /// Finds a filesystem, with layers if the name has some: `ext4`, `ext4+luks`, `gocryptfs/ext4`.
    /// Layers below it follow the filesystem, from the highest to the lowest; layers above it
    /// precede it.
    ///
    /// # Errors
    /// Returns an error if a name is unknown, or if a layer does not suit.
    pub fn layered_filesystem(&self, name: &str) -> Result<Filesystem, CatalogError> {
        let is_path = name.starts_with(['/', '.']);
        let (above, stack) = match name.rsplit_once('/') {
            Some(parts) if !is_path => parts,
            _ => ("", name),
        };
        // The name of a filesystem may have a `+`, too.
        let ends = stack.match_indices('+').map(|(at, _)| at).chain([stack.len()]);
        let is_known = |end: &usize| self.filesystem(&stack[..*end]).is_ok();
        let first = stack.split('+').next().unwrap_or_default();
        let end = ends.filter(is_known).max().unwrap_or(first.len());
        let mut filesystem = self.filesystem(&stack[..end])?.clone();
        let below = stack[end..].split('+').skip(1);
        let above = above.split('/').rev().filter(|layer| !layer.is_empty());
        for (layer, is_above) in
            below.map(|layer| (layer, false)).chain(above.map(|layer| (layer, true)))
        {
            let bad = |reason| CatalogError::BadContender { spec: name.to_owned(), reason };
            let layer = self.layer(layer)?;
            if is_above != (layer.position == LayerPosition::Above) {
                let spelled = layer.spelled(&filesystem.name);
                let (kind, name) = (if is_above { "below" } else { "above" }, &layer.name);
                return Err(bad(format!("`{name}` is a layer {kind} filesystems: `{spelled}`")));
            }
            filesystem = with_layer(&filesystem, layer).map_err(bad)?;
        }
        Ok(filesystem)
    }
}

/// Returns the filesystem with a layer.
///
/// # Errors
/// Returns the reason if the filesystem cannot have the layer.
pub(crate) fn with_layer(below: &Filesystem, layer: &LayerEntry) -> Result<Filesystem, String> {
    if below.layers.iter().any(|known| known.name == layer.name) {
        return Err(format!("`{}` has the layer `{}` already", below.name, layer.name));
    }
    if below.commands.mkfs.is_empty() || !below.commands.need_device() {
        return Err(format!("`{}` is on no device and takes no layer", below.name));
    }
    let several = below.layers.iter().find(|known| known.disks > 1);
    match (&layer.position, several) {
        (LayerPosition::Below { .. }, Some(raid)) => {
            let (raid, name) = (&raid.name, &layer.name);
            return Err(format!("`{raid}` is on several disks, so `{name}` cannot be below it"));
        }
        (LayerPosition::Above, _) if below.driver == DriverKind::Fuse => {
            let name = &below.name;
            return Err(format!(
                "the driver of `{name}` is in user space and takes no layer above"
            ));
        }
        _ => {}
    }
    let mut filesystem = below.clone();
    let mut layer = layer.clone();
    let base = below.name_without_layers();
    match layer.filesystems.remove(base) {
        Some(LayerNeeds { mkfs_options, mount_options, create }) => {
            filesystem.commands.mkfs_options.extend(mkfs_options);
            filesystem.commands.mount_options.extend(mount_options);
            layer.create = create.unwrap_or(layer.create);
        }
        None if layer.filesystems.is_empty() => {}
        None => {
            let others: Vec<&str> = layer.filesystems.keys().map(String::as_str).collect();
            let (name, others) = (&layer.name, others.join(", "));
            return Err(format!(
                "`{base}` cannot have the layer `{name}`, only these can: {others}"
            ));
        }
    }
    filesystem.name = layer.spelled(&below.name);
    filesystem.aliases.clear();
    filesystem.title = match layer.position {
        LayerPosition::Below { .. } => format!("{} on {}", below.title, layer.title),
        LayerPosition::Above => format!("{} on {}", layer.title, below.title),
    };
    filesystem.source = format!("{}; {}", below.source, layer.source);
    filesystem.quirks.extend(layer.quirks.iter().cloned());
    filesystem.facts.harmless.extend(layer.harmless.iter().cloned());
    filesystem.only_in_guest = Some(ONLY_IN_GUEST.to_owned());
    filesystem.driver = layer.driver.unwrap_or(below.driver);
    filesystem.layers.push(FilesystemLayer {
        name: layer.name.clone(),
        on: below.name.clone(),
        disks: layer.disks(),
        compresses: layer.compresses,
    });
    // These facts hold without the layer.
    filesystem.facts.power_cuts = None;
    filesystem.facts.read_by.clear();
    filesystem.facts.booted_by.clear();
    let requires = &mut filesystem.requires;
    for (all, more) in [
        (&mut requires.modules, &layer.requires.modules),
        (&mut requires.packages, &layer.requires.packages),
        (&mut requires.programs, &layer.requires.programs),
    ] {
        for name in more {
            if !all.contains(name) {
                all.push(name.clone());
            }
        }
    }
    requires.smallest = Bytes(requires.smallest.0.saturating_add(layer.requires.smallest.0));
    filesystem.commands = match &layer.position {
        LayerPosition::Below { device, disks } => {
            on_device(&filesystem.commands, &layer, device, *disks)
        }
        LayerPosition::Above => on_directory(&filesystem.commands, &layer),
    };
    Ok(filesystem)
}

/// Returns the commands of a filesystem on the device of a layer. The filesystem's commands run
/// while the layer is open.
fn on_device(own: &Commands, layer: &LayerEntry, device: &str, disks: u32) -> Commands {
    let on_layer = [(DEVICES, device), (DEVICE, device)];
    let text = |words: &[String], options| shell_text(words, options, &on_layer);
    let (mkfs, mount, umount) = (
        text(&own.mkfs, ALL_ARGUMENTS),
        text(&own.mount, OPTION_ARGUMENT),
        text(&own.umount, OPTION_ARGUMENT),
    );
    let script = |first: &[&str], rest: &[&str], body: &str| {
        let disks = if disks > 1 { DEVICES } else { DEVICE };
        script(layer, &[first, &[disks, END_OF_DISKS], rest].concat(), body)
    };
    let check = |words: &[String]| match words.is_empty() {
        true => Vec::new(),
        false => {
            let check = text(words, OPTION_ARGUMENT);
            let body = format!("not_open={NOT_OPEN}\ntrap leave EXIT\nopen\nis_open=1\n{check}\n");
            script(&[], &[], &body)
        }
    };
    let tasks = layer.maintenance.iter().map(|(task, body)| {
        let command = script(&[], &[], &format!("{body}\n"));
        (*task, MaintenanceCommand { command, ..MaintenanceCommand::default() })
    });
    // The layer takes some of the disk.
    let size = match own.mkfs.iter().any(|word| word.contains(SIZE)) {
        true => format!("size=$(blockdev --getsize64 {device})\n"),
        false => String::new(),
    };
    Commands {
        mkfs: script(
            &[FSARENA, SIZE, MOUNTPOINT],
            &[OPTIONS],
            &format!("create\ntrap leave EXIT\nopen\n{size}{mkfs}\ntrap - EXIT\nclose\n"),
        ),
        mount: script(
            &[OPTIONS, MOUNTPOINT, SIZE],
            &[],
            &format!("trap leave EXIT\nopen\n{mount}\ntrap - EXIT\n"),
        ),
        // The driver of a filesystem in user space has the device open for a moment after its unmount.
        umount: script(&[MOUNTPOINT], &[], &format!("{umount}\npatiently close\n")),
        fsck: check(&own.fsck),
        repair: check(&own.repair),
        // Nothing can open the disk while the layer has it.
        mkfs_shares: false,
        // The filesystem has one device, even if the layer has several.
        pool_mkfs_options: Vec::new(),
        pool_mount_options: Vec::new(),
        // Commands that name the device would reach below the layer.
        maintenance: mounted_tasks(own).into_iter().chain(tasks).collect(),
        ..own.clone()
    }
}

/// Returns the commands of a filesystem with a layer on its directory. Checks and repairs of the
/// filesystem need no layer.
fn on_directory(own: &Commands, layer: &LayerEntry) -> Commands {
    let lower = [(DEVICES, "$devices"), (DEVICE, "\"$device\""), (MOUNTPOINT, "$lower")];
    let text = |words: &[String], options| shell_text(words, options, &lower);
    // The options of mkfs do not belong to the first mount.
    let safe = [&[SAFE_OPTIONS.to_owned()], &own.mount_options[..]].concat().join(",");
    let safe = shell_quote(&safe);
    let (mkfs, first_mount) = (text(&own.mkfs, ALL_ARGUMENTS), text(&own.mount, &safe));
    let (mount, umount) = (text(&own.mount, OPTION_ARGUMENT), text(&own.umount, OPTION_ARGUMENT));
    let script = |first: &[&str], rest: &[&str], body: &str| {
        let disks = if own.support_pools() { DEVICES } else { DEVICE };
        let name = &layer.name;
        let body = format!(
            "lower=/run/fsarena-{name}\nmkdir -p $lower\n\
             unmount_lower() {{\n{umount}\n}}\n\
             is_mounted() {{\ngrep -qF \" $lower \" /proc/mounts\n}}\n{body}"
        );
        script(layer, &[first, &[disks, END_OF_DISKS], rest].concat(), &body)
    };
    Commands {
        mkfs: script(
            &[FSARENA, SIZE],
            &[OPTIONS],
            &format!(
                "{mkfs}\n{first_mount}\ntrap unmount_lower EXIT\npatiently is_mounted\ncreate\n\
                 trap - EXIT\nunmount_lower\n"
            ),
        ),
        mount: script(
            &[OPTIONS, MOUNTPOINT, SIZE],
            &[],
            &format!("{mount}\ntrap unmount_lower EXIT\npatiently is_mounted\nopen\ntrap - EXIT\n"),
        ),
        // The program of a layer in user space ends after its unmount, and has files open until then.
        umount: script(&[MOUNTPOINT], &[], "close\npatiently unmount_lower\n"),
        maintenance: BTreeMap::new(),
        ..own.clone()
    }
}

/// Returns the tasks of an administrator that need the mount point only.
fn mounted_tasks(own: &Commands) -> BTreeMap<MaintenanceTask, MaintenanceCommand> {
    let mut tasks = own.maintenance.clone();
    tasks.retain(|_, task| {
        let names_device = |word: &String| word.contains(DEVICE) || word.contains(DEVICES);
        let names_device = task.command.iter().any(names_device);
        !task.unmounted && !names_device
    });
    tasks
}

/// Exit code of a check if its layer does not open. No catalog entry uses it for a clean check.
const NOT_OPEN: u32 = 125;

/// Functions of each script: to close the layer after a failure, and to repeat a command that fails
/// while a driver in user space ends.
const COMMON_FUNCTIONS: &str = r#"leave() {
status=$?
set +e
close > /dev/null 2>&1
[ -n "$is_open" ] || status=${not_open-$status}
exit $status
}
patiently() {
tries=500
until "$@" 2> /dev/null; do
tries=$((tries - 1))
[ $tries -gt 0 ] || { "$@"; return; }
sleep 0.01
done
}
"#;

/// Argument after the last disk.
const END_OF_DISKS: &str = "--";
/// The options of `mkfs`, which are separate words, in a script.
const ALL_ARGUMENTS: &str = "\"$@\"";
/// The options of `mount`, which are one word.
const OPTION_ARGUMENT: &str = "\"$options\"";

/// Returns the command line for a script with the functions of a layer. Each placeholder before the
/// disks becomes a variable of its name, the disks become `$device` and `$devices`, and the
/// arguments after the disks remain.
fn script(layer: &LayerEntry, arguments: &[&str], body: &str) -> Vec<String> {
    let mut text = "set -e\n".to_owned();
    for argument in arguments.iter().take_while(|argument| ![DEVICE, DEVICES].contains(argument)) {
        text += &format!("{}=$1\nshift\n", argument.trim_matches(['{', '}']));
    }
    text += "device=$1 devices=\n";
    text += "while [ \"$1\" != -- ]; do devices=\"$devices $1\"; shift; done\nshift\n";
    text += COMMON_FUNCTIONS;
    let LayerEntry { create, open, close, .. } = layer;
    for (name, commands) in [("create", create), ("open", open), ("close", close)] {
        text += &format!("{name}() {{\n{}\n}}\n", commands.trim_matches('\n'));
    }
    text += body;
    let words = [&["sh", "-c", &text, "sh"], arguments].concat();
    words.into_iter().map(str::to_owned).collect()
}

/// Programs that the shell of a guest, busybox, may run itself. It would do so with others, too:
/// its own `mke2fs` is not that of e2fsprogs.
const SHELL_RUNS_ITSELF: [&str; 3] = ["sh", "mount", "umount"];

/// Returns a command line as text for a shell. `values` are texts for placeholders, and `options`
/// is the one for the options.
fn shell_text(words: &[String], options: &str, values: &[(&str, &str)]) -> String {
    let variables = [
        (OPTIONS, options),
        (MOUNTPOINT, "\"$mountpoint\""),
        (SIZE, "\"$size\""),
        (FSARENA, "\"$fsarena\""),
    ];
    let value = |placeholder: &str| {
        let mut known = values.iter().chain(&variables);
        known.find(|(name, _)| *name == placeholder).map_or("", |(_, text)| text)
    };
    let word = |word: &String| {
        let (mut text, mut rest) = (String::new(), word.as_str());
        let next = |rest: &str| {
            let found = PLACEHOLDERS.iter().filter_map(|p| Some((rest.find(p)?, *p)));
            found.min().filter(|_| !is_script(word))
        };
        while let Some((at, placeholder)) = next(rest) {
            if at > 0 {
                text += &shell_quote(&rest[..at]);
            }
            text += value(placeholder);
            rest = &rest[at + placeholder.len()..];
        }
        if !rest.is_empty() || text.is_empty() {
            text += &shell_quote(rest);
        }
        text
    };
    let Some((program, arguments)) = words.split_first() else {
        return String::new();
    };
    let is_as_it_is = SHELL_RUNS_ITSELF.contains(&program.as_str()) || program == FSARENA;
    let program = match is_as_it_is {
        true => word(program),
        false => format!("\"$(which {})\"", shell_quote(program)),
    };
    std::iter::once(program).chain(arguments.iter().map(word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::process::Command;

    use super::*;
    use crate::{Placeholders, expand_commands};

    /// Runs a command line with programs that write their arguments to a log instead.
    fn run(words: &[String], programs: &Path, failing: &str) -> (bool, String) {
        for name in [
            "cryptsetup",
            "mke2fs",
            "e2fsck",
            "mount",
            "umount",
            "gocryptfs",
            "mdadm",
            "blockdev",
            "mkdir",
            "grep",
        ] {
            let file = programs.join(name);
            let text = format!(
                "#!/bin/sh\necho {name} \"$@\" >> {0}/log\ncase \"{name} $*\" in {failing}) exit 7;; esac\n",
                programs.display()
            );
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::write(programs.join("log"), "").unwrap();
        let path = format!("{}:/usr/bin:/bin", programs.display());
        let mut command = Command::new(&words[0]);
        let ended = command.args(&words[1..]).env("PATH", path).output().unwrap();
        (ended.status.success(), fs::read_to_string(programs.join("log")).unwrap())
    }

    fn commands(spec: &str, devices: &[&str]) -> Commands {
        let contender = Catalog::builtin().unwrap().contender(spec).unwrap();
        let place =
            Placeholders { devices, mountpoint: "/m n", size: Bytes::mib(512), fsarena: "/init" };
        expand_commands(&contender, &place)
    }

    /// The first two words of each line, without directories and the list of mounts.
    fn steps(log: &str) -> Vec<String> {
        log.lines()
            .filter(|l| !l.starts_with("mkdir ") && !l.starts_with("grep "))
            .map(|l| l.split(' ').take(2).collect::<Vec<_>>().join(" "))
            .collect()
    }

    #[test]
    fn tasks_that_name_the_device_end_at_a_layer() {
        let tasks = |spec| commands(spec, &["/dev/x"]).maintenance;
        assert!(tasks("btrfs").contains_key(&MaintenanceTask::MkfsHalf));
        assert!(tasks("ext4").contains_key(&MaintenanceTask::Grow));
        let on_luks = tasks("btrfs+luks");
        assert!(on_luks.contains_key(&MaintenanceTask::Snapshot));
        assert!(!on_luks.contains_key(&MaintenanceTask::MkfsHalf));
        assert!(!tasks("ext4+luks").contains_key(&MaintenanceTask::Grow));
        assert!(tasks("gocryptfs/btrfs").is_empty());
    }

    #[test]
    fn a_filesystem_is_made_mounted_and_checked_on_its_opened_layer() {
        let programs = tempfile::tempdir().unwrap();
        let own = commands("ext4+luks:noatime", &["/dev/x"]);
        let run = |words: &[String], failing| run(words, programs.path(), failing);
        let (is_ok, log) = run(&own.mkfs, "none");
        let expected =
            ["cryptsetup luksFormat", "cryptsetup open", "mke2fs -q", "cryptsetup close"];
        assert!(is_ok && steps(&log) == expected, "{log}");
        assert!(log.contains("mke2fs -q -F -t ext4 -E nodiscard,"), "{log}");
        assert!(log.contains(" /dev/mapper/fsarena-luks\n"), "{log}");
        let (is_ok, log) = run(&own.mount, "none");
        assert!(
            is_ok && log.contains("nosuid,nodev,noatime /dev/mapper/fsarena-luks /m n\n"),
            "{log}"
        );
        let (_, log) = run(&own.umount, "none");
        assert_eq!(steps(&log), ["umount /m", "cryptsetup close"]);
        let (_, log) = run(&own.fsck, "none");
        assert_eq!(steps(&log), ["cryptsetup open", "e2fsck -f", "cryptsetup close"]);
    }

    #[test]
    fn a_failure_closes_the_layer_and_is_reported() {
        let programs = tempfile::tempdir().unwrap();
        let own = commands("ext4+luks", &["/dev/x"]);
        for (words, failing) in
            [(&own.mkfs, "mke2fs*"), (&own.mount, "mount*"), (&own.fsck, "e2fsck*")]
        {
            let (is_ok, log) = run(words, programs.path(), failing);
            assert!(!is_ok, "{failing}: {log}");
            assert!(steps(&log).last().unwrap() == "cryptsetup close", "{failing}: {log}");
        }
        let above = commands("gocryptfs/ext4", &["/dev/x"]);
        for words in [&above.mkfs, &above.mount] {
            let (is_ok, log) = run(words, programs.path(), "gocryptfs*");
            assert!(!is_ok && steps(&log).last().unwrap().starts_with("umount "), "{log}");
        }
    }

    #[test]
    fn layers_can_be_combined() {
        let programs = tempfile::tempdir().unwrap();
        let own = commands("gocryptfs/ext4+luks+md-raid1:noatime", &["/dev/x", "/dev/y"]);
        let (is_ok, log) = run(&own.mkfs, programs.path(), "none");
        assert!(is_ok, "{log}");
        assert!(log.contains(" --assume-clean /dev/x /dev/y\n"), "{log}");
        let (is_ok, log) = run(&own.mount, programs.path(), "none");
        assert!(is_ok, "{log}");
        let expected = ["mdadm --assemble", "cryptsetup open", "mount -i", "gocryptfs -q"];
        assert_eq!(steps(&log), expected);
        assert!(
            log.contains(",noatime /dev/mapper/fsarena-luks /run/fsarena-gocryptfs\n"),
            "{log}"
        );
    }

    #[test]
    fn a_feature_of_a_directory_needs_options_and_a_filesystem_that_can_have_it() {
        let programs = tempfile::tempdir().unwrap();
        let own = commands("casefold/ext4+luks", &["/dev/x"]);
        let (_, log) = run(&own.mkfs, programs.path(), "none");
        assert!(log.contains(" -O casefold "), "{log}");
        let quota = commands("project-quota/xfs:noatime", &["/dev/x"]);
        let (is_ok, log) = run(&quota.mount, programs.path(), "none");
        let lower = ["prjquota,noatime /dev/x /run/fsarena-project-quota", "mount -o bind "];
        assert!(is_ok && lower.iter().all(|step| log.contains(step)), "{log}");
        let catalog = Catalog::builtin().unwrap();
        let error = catalog.contender("casefold/xfs").unwrap_err().to_string();
        assert!(error.contains("`xfs` cannot have the layer `casefold`"), "{error}");
        assert!(error.ends_with("only these can: ext4, f2fs"), "{error}");
        assert!(catalog.contender("compression/btrfs").unwrap().compresses());
        assert!(!catalog.contender("casefold/f2fs").unwrap().compresses());
        let script = &catalog.contender("compression/btrfs").unwrap().filesystem.commands.mkfs[2];
        assert!(script.contains("compression zstd") && !script.contains("chattr"), "{script}");
    }

    #[test]
    fn every_filesystem_on_a_device_takes_every_layer() {
        let catalog = Catalog::builtin().unwrap();
        for filesystem in catalog.filesystems().filter(|f| f.unavailable.is_none()) {
            for layer in catalog.layers() {
                let name = layer.spelled(&filesystem.name);
                let made = catalog.contender(&name);
                let is_above_fuse =
                    layer.position == LayerPosition::Above && filesystem.driver == DriverKind::Fuse;
                let has_features = layer.filesystems.is_empty()
                    || layer.filesystems.contains_key(&filesystem.name);
                let is_possible =
                    filesystem.commands.need_device() && !is_above_fuse && has_features;
                assert_eq!(made.is_ok(), is_possible, "{name}: {made:?}");
                let Ok(made) = made else { continue };
                assert_eq!(made.name, name);
                for words in [&made.filesystem.commands.mkfs, &made.filesystem.commands.mount] {
                    for variable in ["mountpoint", "size", "options", "fsarena"] {
                        let is_used = words[2].contains(&format!("${variable}"));
                        let is_set = words[2].contains(&format!("{variable}=$1"));
                        // The functions of a layer above use the mount point, and `mkfs` has none.
                        let is_allowed =
                            variable == "mountpoint" && layer.position == LayerPosition::Above;
                        assert!(
                            is_set || !is_used || is_allowed,
                            "{name}: {variable}: {}",
                            words[2]
                        );
                    }
                    let mut check = Command::new("sh");
                    let ended = check.arg("-nc").arg(&words[2]).output().unwrap();
                    assert!(ended.status.success(), "{name}: {ended:?}\n{}", words[2]);
                }
            }
        }
        // A name of a filesystem with a `+`.
        assert_eq!(catalog.contender("hfs+").unwrap().name, "hfsplus");
        assert_eq!(catalog.contender("hfs++luks").unwrap().name, "hfsplus+luks");
        for (spec, reason) in [
            ("tmpfs+luks", "`tmpfs` is on no device and takes no layer"),
            ("ext4+luks+luks", "has the layer `luks` already"),
            ("gocryptfs+ext4", "there is no filesystem `gocryptfs`"),
            ("ext4+gocryptfs", "`gocryptfs/ext4`"),
            ("luks/ext4", "`ext4+luks`"),
            ("ext4+md-raid1+luks", "`md-raid1` is on several disks, so `luks` cannot be below it"),
            ("overlay/fuse2fs-ext4", "takes no layer above"),
            ("ext4+lukz", "there is no layer `lukz` in the catalog"),
        ] {
            let error = catalog.contender(spec).unwrap_err().to_string();
            assert!(error.contains(reason), "{spec}: {error}");
        }
    }
}
