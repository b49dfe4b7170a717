//! Storage below a mounted directory: layers that change what a test measures (compression,
//! encryption, thin volumes, networks), and the disks at the bottom.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use model::HostSetting;
use sys::mount::mount_id;
use sys::mount::mounts::{self, Mount};

use crate::host::environment::describe_storage;
use crate::host::sysfs::DeviceId;

/// Directory of block devices by number.
const DEVICES: &str = "dev/block";
/// Maximum number of layers, since devices of a damaged stack could refer to each other.
const MAX_DEPTH: u32 = 16;

/// Types of filesystems whose files are on another machine, or on the host of this one.
const NETWORK: [&str; 13] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "ceph",
    "9p",
    "virtiofs",
    "afs",
    "lustre",
    "glusterfs",
    "fuse.sshfs",
    "fuse.glusterfs",
    "fuse.rclone",
];
/// Types of filesystems that encrypt their files.
const ENCRYPTED: [&str; 4] = ["ecryptfs", "fuse.gocryptfs", "fuse.encfs", "fuse.cryfs"];
/// Beginnings of the names of block devices whose data is on another machine.
const NETWORK_DEVICES: [&str; 3] = ["nbd", "rbd", "drbd"];

/// Storage below a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct StorageStack {
    /// Layers that change what a test measures, from the directory to the disk.
    layers: Vec<String>,
    /// Names of the disks.
    disks: BTreeSet<String>,
}

impl StorageStack {
    /// Returns the storage below a mount, from the tables of the kernel in `/sys`.
    fn of(mount: &Mount) -> Self {
        let mut stack = Self::default();
        stack.add_mount(mount, Path::new("/sys"), 0);
        stack
    }

    fn add(&mut self, layer: String) {
        if !self.layers.contains(&layer) {
            self.layers.push(layer);
        }
    }

    fn add_mount(&mut self, mount: &Mount, sys: &Path, depth: u32) {
        let kind = mount.kind.as_str();
        if NETWORK.contains(&kind) {
            self.add(format!("network storage ({kind})"));
        }
        if ENCRYPTED.contains(&kind) {
            self.add(format!("encryption ({kind})"));
        }
        if kind == "zfs" {
            let dataset = mount.source.display();
            self.add(format!(
                "ZFS may compress and encrypt: `zfs get compression,encryption {dataset}`"
            ));
        }
        if let Some(option) = mount.options.split(',').find(|option| model::is_compression(option))
        {
            self.add(format!("compression ({kind}, {option})"));
        }
        if let Some(number) = device_number(&mount.source).or_else(|| block_number(mount.device)) {
            self.add_device(&sys.join(DEVICES).join(number), sys, depth);
        }
    }

    /// Adds a block device, given by its directory in sysfs, and all devices below it.
    fn add_device(&mut self, directory: &Path, sys: &Path, depth: u32) {
        let Ok(directory) = directory.canonicalize() else { return };
        // The disk has the attributes of its partitions.
        let whole = match (directory.join("partition").exists(), directory.parent()) {
            (true, Some(disk)) => disk.to_owned(),
            _ => directory,
        };
        let name = whole.file_name().unwrap_or_default().to_string_lossy().replace('!', "/");
        let read = |attribute: &str| {
            let text = fs::read_to_string(whole.join(attribute)).ok()?;
            Some(text.trim().to_owned()).filter(|text| !text.is_empty())
        };
        if let Some(layer) = layer(&name, &whole, &read) {
            self.add(layer);
        }
        if let (Some(file), true) = (read("loop/backing_file"), depth < MAX_DEPTH) {
            self.add(format!("a file, through a loop device ({file})"));
            if let Ok(Some(below)) = mounts::mount_of(Path::new(&file)) {
                return self.add_mount(&below, sys, depth + 1);
            }
        }
        let below = fs::read_dir(whole.join("slaves")).into_iter().flatten().flatten();
        let below: Vec<PathBuf> = below.map(|entry| entry.path()).collect();
        if below.is_empty() || depth >= MAX_DEPTH {
            self.disks.insert(name);
            return;
        }
        for device in below {
            self.add_device(&device, sys, depth + 1);
        }
    }
}

/// Returns the layer that a block device is, if it changes what a test measures. The UUID of a
/// device mapper begins with the name of the program that made it (libdevmapper,
/// cryptsetup(8), lvm(8)).
fn layer(name: &str, directory: &Path, read: &impl Fn(&str) -> Option<String>) -> Option<String> {
    let uuid = read("dm/uuid").unwrap_or_default();
    let called = read("dm/name").unwrap_or_else(|| name.to_owned());
    let what = if uuid.starts_with("CRYPT-") {
        "encryption (dm-crypt, "
    } else if uuid.ends_with("-tpool") || uuid.ends_with("-thin-pool") {
        "a thin pool ("
    } else if uuid.starts_with("VDO-") || uuid.ends_with("-vpool") {
        "compression and deduplication (VDO, "
    } else if name.starts_with("zram") {
        "compression in memory ("
    } else if NETWORK_DEVICES.iter().any(|one| name.starts_with(one)) || is_remote(directory, read)
    {
        "network storage ("
    } else {
        return None;
    };
    Some(format!("{what}{called})"))
}

/// Whether a disk is reached over a network: by iSCSI, or NVMe over fabrics.
fn is_remote(directory: &Path, read: &impl Fn(&str) -> Option<String>) -> bool {
    let transport = read("device/transport").unwrap_or_default();
    let mut parts = directory.components().map(|part| part.as_os_str().to_string_lossy());
    ["tcp", "rdma", "fc"].contains(&transport.as_str()) || parts.any(|part| is_session(&part))
}

/// Whether a part of a path in sysfs is a session of iSCSI: `session1`.
fn is_session(part: &str) -> bool {
    part.strip_prefix("session").is_some_and(|number| number.parse::<u32>().is_ok())
}

/// Returns the number of a block device given by its node: `8:1`.
fn device_number(node: &Path) -> Option<String> {
    match DeviceId::from_path(node)? {
        DeviceId::Block(major, minor) => Some(format!("{major}:{minor}")),
        DeviceId::File(..) => None,
    }
}

/// Returns the number of the device of a mount, unless no block device belongs to it.
fn block_number((major, minor): (u64, u64)) -> Option<String> {
    (major != 0).then(|| format!("{major}:{minor}"))
}

/// Storage of the directory of a contender.
struct DirectoryStorage<'a> {
    name: &'a str,
    mount: Mount,
    stack: StorageStack,
}

/// Returns the circumstances of the directories of contenders, each with its name: the filesystem,
/// options and device of each, layers that change what a test measures, and filesystems and disks
/// that several share.
pub fn circumstances(directories: &[(&str, &Path)]) -> Vec<HostSetting> {
    let found = directories.iter().filter_map(|&(name, path)| {
        let mount = mounts::mount_of(path).ok().flatten()?;
        let mut stack = StorageStack::of(&mount);
        let opened = mount_id::open(path).and_then(|open| mount_id::transformations(&open));
        let [compressed, encrypted] = opened.unwrap_or_default();
        if compressed {
            stack.add(format!("compression ({}, by an attribute)", mount.kind));
        }
        if encrypted {
            stack.add(format!("encryption ({}, by an attribute)", mount.kind));
        }
        Some((DirectoryStorage { name, mount, stack }, describe_storage(path)))
    });
    let (all, described): (Vec<DirectoryStorage<'_>>, Vec<String>) = found.unzip();
    let each = all.iter().zip(described).map(|(one, described)| {
        let name = format!("{} {}", HostSetting::DIRECTORY, one.name);
        HostSetting::new(&name, format!("{described}, options {}", one.mount.options))
    });
    let each: Vec<HostSetting> = each.collect();
    each.into_iter().chain(cautions(&all)).collect()
}

fn cautions(all: &[DirectoryStorage<'_>]) -> Vec<HostSetting> {
    let layers = all.iter().filter(|one| !one.stack.layers.is_empty());
    let layers = layers.map(|one| {
        let name = format!("{} {}", HostSetting::LAYERS, one.name);
        HostSetting::new(&name, one.stack.layers.join("; "))
    });
    let mut cautions: Vec<HostSetting> = layers.collect();
    let mut filesystems: Vec<(u64, u64)> = Vec::new();
    for one in all {
        let same = all.iter().filter(|other| other.mount.device == one.mount.device);
        let names: Vec<&str> = same.map(|other| other.name).collect();
        if names.len() > 1 && !filesystems.contains(&one.mount.device) {
            filesystems.push(one.mount.device);
            let source = one.mount.source.display();
            let value = format!("{} ({} on {source})", names.join(", "), one.mount.kind);
            cautions.push(HostSetting::new(HostSetting::ONE_FILESYSTEM, value));
        }
    }
    let disks: BTreeSet<&String> = all.iter().flat_map(|one| &one.stack.disks).collect();
    for disk in disks {
        let on = || all.iter().filter(|one| one.stack.disks.contains(disk));
        let devices: BTreeSet<(u64, u64)> = on().map(|one| one.mount.device).collect();
        if devices.len() > 1 {
            let names: Vec<&str> = on().map(|one| one.name).collect();
            let value = format!("{} ({disk})", names.join(", "));
            cautions.push(HostSetting::new(HostSetting::ONE_DEVICE, value));
        }
    }
    cautions
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn mount(kind: &str, device: (u64, u64), options: &str) -> Mount {
        Mount {
            device,
            on: "/mnt".into(),
            kind: kind.into(),
            source: "/no/such/node".into(),
            options: options.into(),
        }
    }

    /// Number, path, attributes and devices below.
    type DeviceEntry<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], &'a [&'a str]);

    /// Creates a tree like sysfs: devices by number, each with attributes and the devices below it.
    fn sysfs(devices: &[DeviceEntry<'_>]) -> tempfile::TempDir {
        let sys = tempfile::tempdir().unwrap();
        fs::create_dir_all(sys.path().join(DEVICES)).unwrap();
        for (number, path, attributes, below) in devices {
            let directory = sys.path().join("devices").join(path);
            fs::create_dir_all(directory.join("slaves")).unwrap();
            for (name, text) in *attributes {
                let file = directory.join(name);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, format!("{text}\n")).unwrap();
            }
            for path in *below {
                let device = sys.path().join("devices").join(path);
                symlink(&device, directory.join("slaves").join(device.file_name().unwrap()))
                    .unwrap();
            }
            symlink(&directory, sys.path().join(DEVICES).join(number)).unwrap();
        }
        sys
    }

    fn stack(mount: &Mount, sys: &tempfile::TempDir) -> StorageStack {
        let mut stack = StorageStack::default();
        stack.add_mount(mount, sys.path(), 0);
        stack
    }

    #[test]
    fn layers_below_a_directory_are_found_down_to_the_disk() {
        let sys = sysfs(&[
            ("259:0", "nvme0n1", &[("device/transport", "pcie")], &[]),
            ("259:1", "nvme0n1/nvme0n1p1", &[("partition", "1")], &[]),
            ("8:0", "host1/session3/target/sda", &[], &[]),
            (
                "253:0",
                "dm-0",
                &[("dm/uuid", "CRYPT-LUKS2-a-home"), ("dm/name", "home")],
                &["nvme0n1/nvme0n1p1"],
            ),
            (
                "253:1",
                "dm-1",
                &[("dm/uuid", "LVM-x-tpool"), ("dm/name", "vg-pool-tpool")],
                &["dm-0"],
            ),
            ("253:2", "dm-2", &[("dm/uuid", "LVM-xy"), ("dm/name", "vg-thin")], &["dm-1"]),
        ]);
        let of = |mount: &Mount| stack(mount, &sys);
        let plain = of(&mount("ext4", (259, 1), "rw"));
        assert_eq!((plain.layers.len(), plain.disks), (0, ["nvme0n1".to_owned()].into()));
        let deep = of(&mount("btrfs", (253, 2), "rw,compress=zstd:3"));
        let expected = [
            "compression (btrfs, compress=zstd:3)",
            "a thin pool (vg-pool-tpool)",
            "encryption (dm-crypt, home)",
        ];
        assert_eq!(deep.layers, expected);
        assert_eq!(deep.disks, ["nvme0n1".to_owned()].into());
        assert_eq!(of(&mount("xfs", (8, 0), "rw")).layers, ["network storage (sda)"]);
        assert_eq!(of(&mount("nfs4", (0, 50), "rw")).layers, ["network storage (nfs4)"]);
        assert_eq!(of(&mount("btrfs", (0, 51), "rw,compress=no")), StorageStack::default());
    }

    #[test]
    fn directories_on_one_filesystem_or_one_device_are_named() {
        let storage = |name, device, disk: &str| DirectoryStorage {
            name,
            mount: mount("ext4", device, "rw"),
            stack: StorageStack { layers: Vec::new(), disks: [disk.to_owned()].into() },
        };
        let all = [
            storage("a", (8, 1), "sda"),
            storage("b", (8, 1), "sda"),
            storage("c", (8, 2), "sda"),
            storage("d", (8, 17), "sdb"),
        ];
        let found = cautions(&all);
        let found: Vec<_> = found.iter().map(|c| (c.name.as_str(), c.value.as_str())).collect();
        let expected = [
            (HostSetting::ONE_FILESYSTEM, "a, b (ext4 on /no/such/node)"),
            (HostSetting::ONE_DEVICE, "a, b, c (sda)"),
        ];
        assert_eq!(found, expected);
        assert!(cautions(&all[2..]).is_empty());
    }

    #[test]
    fn a_directory_has_its_filesystem_options_and_device() {
        let found = circumstances(&[("p", Path::new("/proc")), ("q", Path::new("/proc/self"))]);
        assert_eq!(found[0].name, "directory p");
        assert!(found[0].value.starts_with("/proc on proc, options rw"), "{}", found[0].value);
        assert_eq!(found[2].name, HostSetting::ONE_FILESYSTEM);
        assert!(found[2].is_caution() && !found[0].is_caution());
    }
}
