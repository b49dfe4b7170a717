//! Filesystems that recovery tools would still find: those whose start was overwritten, and small
//! ones on large disks whose partition table was overwritten. Needs root.

use std::process::Command;

use storage::{DeviceRefusal, ExclusiveDevice};

use crate::common::{self, Disk, Undo, on};

/// Overwrites the first bytes with zeros, like a mistaken dd.
fn lose_beginning(disk: &Disk, bytes: usize) {
    disk.write(&vec![0; bytes], 0);
}

#[test]
fn refuses_a_filesystem_whose_first_mib_was_overwritten() {
    for words in [
        &["mkfs.ext4", "-q"][..],
        &["mke2fs", "-q", "-b", "1024"],
        &["mkfs.xfs", "-q"],
        &["mkfs.btrfs", "-q"],
        &["mkfs.exfat"],
        &["mkntfs", "-F", "-Q", "-q"],
        &["mkfs.fat", "-F", "32"],
    ] {
        let disk = Disk::blank(3 << 10);
        on(&disk, words);
        lose_beginning(&disk, 1 << 20);
        let refused = ExclusiveDevice::acquire(disk.path(), None).expect_err(words[0]);
        assert!(
            matches!(refused, DeviceRefusal::Signature { .. } | DeviceRefusal::Data { .. }),
            "{words:?}: {refused}"
        );
        assert!(
            ExclusiveDevice::acquire(disk.path(), Some(disk.path())).unwrap().erases().is_some()
        );
    }
}

/// 20 MB of files on 32 GiB, in a partition that starts at this offset, after the master boot
/// record was erased.
#[test]
fn few_files_on_a_large_disk_without_its_partition_table_are_seen() {
    const SECTOR: u64 = 512;
    for (start, words) in [
        (63 * SECTOR, &["mkfs.fat", "-F", "32"][..]),
        (1 << 20, &["mkfs.ext4", "-q"]),
        (5_000_000 * SECTOR, &["mkfs.ext4", "-q"]),
        (5_000_000 * SECTOR, &["mkfs.xfs", "-q"]),
        (7_654_321 * SECTOR, &["mkfs.btrfs", "-q"]),
    ] {
        let disk = Disk::blank(32 << 10);
        {
            let partition = part(&disk, start);
            common::run(words, partition.0.as_ref());
            let mountpoint = disk.mountpoint();
            let none: Option<&str> = None;
            let kind = match words[0].trim_start_matches("mkfs.") {
                "fat" => "vfat",
                kind => kind,
            };
            // The kernel may not support FAT. The filesystem then stays empty.
            let flags = nix::mount::MsFlags::empty();
            let source = Some(partition.0.as_str());
            let mounted = nix::mount::mount(source, &mountpoint, Some(kind), flags, none);
            if kind != "vfat" || mounted != Err(nix::errno::Errno::ENODEV) {
                mounted.unwrap();
                let _unmount = Undo(|| nix::mount::umount(&mountpoint).unwrap());
                for number in 0..20 {
                    std::fs::write(
                        mountpoint.join(format!("file-{number}")),
                        vec![number + 1; 1_000_000],
                    )
                    .unwrap();
                }
            }
        }
        let refused = ExclusiveDevice::acquire(disk.path(), None).expect_err(words[0]);
        assert!(
            matches!(refused, DeviceRefusal::Signature { .. } | DeviceRefusal::Data { .. }),
            "{words:?} at {start}: {refused}"
        );
    }
}

/// A loop device on the part of a disk after an offset.
struct DiskPart(String);

fn part(disk: &Disk, start: u64) -> DiskPart {
    let output = Command::new("losetup")
        .args(["--find", "--show", "--offset", &start.to_string()])
        .arg(disk.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    DiskPart(String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

impl Drop for DiskPart {
    fn drop(&mut self) {
        let detached = Command::new("losetup").args(["--detach", &self.0]).status();
        assert!(detached.unwrap().success());
    }
}
