//! Tests that every kind of content or use protects a device from being overwritten. Needs root.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;

use model::Bytes;
use storage::{DeviceRefusal, ExclusiveDevice, LoopDevice, ScanCoverage};

use crate::common::{self, Disk, Undo, mount, on};

fn refusal(path: &Path) -> DeviceRefusal {
    ExclusiveDevice::acquire(path, None).expect_err("refused")
}

/// Checks that the device is refused, and accepted with consent. Returns the refusal and the data
/// that will be lost.
fn lost_with_consent(disk: &Disk) -> (DeviceRefusal, String) {
    let refused = refusal(disk.path());
    let line = refused.to_string();
    let option = format!("--erase {}", disk.path().display());
    assert!(line.contains(&option), "{line}");
    assert_eq!(line.lines().count(), 1);
    let held = ExclusiveDevice::acquire(disk.path(), Some(disk.path())).unwrap();
    (refused, held.erases().expect("something is lost").to_owned())
}

/// Checks that a device is refused even with consent, and returns the refusal.
fn never(path: &Path) -> DeviceRefusal {
    ExclusiveDevice::acquire_unchecked(path, path).expect_err("refused without a look");
    ExclusiveDevice::acquire(path, Some(path)).expect_err("refused despite consent");
    refusal(path)
}

/// Writes a DOS partition table with one Linux partition from sector 2048 to the end.
fn partition_table(disk: &Disk, mebibytes: u32) {
    let mut sector = [0; 512];
    sector[446..462].copy_from_slice(&[0, 0, 2, 0, 0x83, 0, 2, 0, 0, 8, 0, 0, 0, 0, 0, 0]);
    sector[458..462].copy_from_slice(&(mebibytes * 2048 - 2048).to_le_bytes());
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    disk.write(&sector, 0);
}

#[test]
fn a_blank_device_is_accepted() {
    let disk = Disk::blank(16);
    let held = ExclusiveDevice::acquire(disk.path(), None).unwrap();
    assert_eq!((held.path(), held.size()), (disk.path(), Bytes::mib(16)));
    assert!(held.is_block());
    assert_eq!((held.erases(), held.scan_coverage()), (None, Some(ScanCoverage::Full)));
    drop(held);
    let consented = ExclusiveDevice::acquire(disk.path(), Some(disk.path())).unwrap();
    assert_eq!(consented.erases(), None);
}

#[test]
fn take_unseen_does_not_examine_the_device() {
    let disk = Disk::blank(16);
    on(&disk, &["mkfs.ext4", "-q"]);
    let held = ExclusiveDevice::acquire_unchecked(disk.path(), disk.path()).unwrap();
    assert_eq!((held.erases(), held.scan_coverage()), (None, None));
    drop(held);
    let other = Disk::blank(16);
    ExclusiveDevice::acquire_unchecked(disk.path(), other.path())
        .expect_err("another one was named");
}

#[test]
fn filesystems_are_refused_by_name() {
    for (words, name) in [
        (vec!["mkfs.ext4", "-q"], "ext4 (filesystem)"),
        (vec!["mkfs.btrfs", "-q"], "btrfs (filesystem)"),
    ] {
        let disk = Disk::blank(128);
        on(&disk, &words);
        let (refused, lost) = lost_with_consent(&disk);
        assert!(matches!(refused, DeviceRefusal::Signature { .. }));
        assert_eq!(lost, name);
    }
}

#[test]
fn a_partition_table_is_refused() {
    let disk = Disk::blank(16);
    partition_table(&disk, 16);
    let (refused, lost) = lost_with_consent(&disk);
    assert!(matches!(refused, DeviceRefusal::Signature { .. }));
    assert_eq!(lost, "a partition table (dos)");
}

#[test]
fn partitions_that_the_kernel_knows_are_refused() {
    let disk = Disk::blank(64);
    partition_table(&disk, 64);
    on(&disk, &["partx", "--add"]);
    let _remove = Undo(|| common::remove_partitions(&disk));
    let (refused, lost) = lost_with_consent(&disk);
    assert!(matches!(refused, DeviceRefusal::Partitions { .. }));
    let name = format!("{}p1", disk.path().file_name().unwrap().display());
    assert_eq!(lost, format!("partitions ({name})"));
}

#[test]
fn a_disk_with_a_mounted_partition_is_refused_despite_consent() {
    let disk = Disk::blank(64);
    partition_table(&disk, 64);
    on(&disk, &["partx", "--add"]);
    let _remove = Undo(|| common::remove_partitions(&disk));
    let partition = format!("{}p1", disk.path().display());
    common::run(&["mkfs.ext4", "-q", "-F"], Path::new(&partition));
    let mountpoint = disk.mountpoint();
    nix::mount::mount(
        Some(partition.as_str()),
        &mountpoint,
        Some("ext4"),
        nix::mount::MsFlags::empty(),
        None::<&str>,
    )
    .unwrap();
    let _unmount = Undo(|| nix::mount::umount(&mountpoint).unwrap());
    let refused = never(disk.path());
    assert!(
        matches!(&refused, DeviceRefusal::Mounted { on, .. } if *on == mountpoint),
        "{refused}"
    );
}

#[test]
fn swap_space_is_refused_and_never_while_in_use() {
    let disk = Disk::blank(16);
    on(&disk, &["mkswap"]);
    let (_, lost) = lost_with_consent(&disk);
    assert_eq!(lost, "swap (other)");
    on(&disk, &["swapon"]);
    let _off = Undo(|| on(&disk, &["swapoff"]));
    assert!(matches!(never(disk.path()), DeviceRefusal::Swap { .. }));
}

#[test]
fn an_lvm_physical_volume_is_refused() {
    let disk = Disk::blank(16);
    // The label of LVM2 in sector 1; layout: lib/format_text/layout.h and lib/label/label.c of LVM2.
    let mut label = [0; 512];
    label[..8].copy_from_slice(b"LABELONE");
    label[8] = 1;
    label[20] = 32;
    label[24..32].copy_from_slice(b"LVM2 001");
    label[32..64].copy_from_slice(b"0123456789abcdefghijklmnopqrstuv");
    label[64..72].copy_from_slice(&(16u64 << 20).to_le_bytes());
    let checksum = lvm_checksum(&label[20..]);
    label[16..20].copy_from_slice(&checksum.to_le_bytes());
    disk.write(&label, 512);
    let (refused, lost) = lost_with_consent(&disk);
    assert!(matches!(refused, DeviceRefusal::Signature { .. }), "{refused}");
    assert!(lost.contains("LVM2_member"), "{lost}");
}

/// Computes the CRC-32 (reflected, 0xedb88320) of LVM2, with its own initial value and without
/// final inversion.
fn lvm_checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0xf597_a6cf, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 }
        })
    })
}

#[test]
fn a_mounted_device_is_refused_despite_consent() {
    let disk = Disk::blank(32);
    on(&disk, &["mkfs.ext4", "-q"]);
    let _unmount = mount(&disk);
    let refused = never(disk.path());
    assert!(
        matches!(&refused, DeviceRefusal::Mounted { on, .. } if *on == disk.mountpoint()),
        "{refused}"
    );
}

#[test]
fn a_mount_with_anonymous_device_number_is_found_by_source() {
    let disk = Disk::blank(128);
    on(&disk, &["mkfs.btrfs", "-q"]);
    let mountpoint = disk.mountpoint();
    nix::mount::mount(
        Some(disk.path()),
        &mountpoint,
        Some("btrfs"),
        nix::mount::MsFlags::empty(),
        None::<&str>,
    )
    .unwrap();
    let _unmount = Undo(|| nix::mount::umount(&mountpoint).unwrap());
    assert!(matches!(never(disk.path()), DeviceRefusal::Mounted { .. }));
}

#[test]
fn a_device_below_a_loop_device_is_refused_despite_consent() {
    let disk = Disk::blank(16);
    let above = LoopDevice::attach(disk.path()).unwrap();
    let refused = never(disk.path());
    let name = above.path().file_name().unwrap().to_str().unwrap();
    assert!(matches!(&refused, DeviceRefusal::Backing { by, .. } if by == name), "{refused}");
}

#[test]
fn a_claimed_device_is_refused_despite_consent() {
    use std::os::unix::fs::OpenOptionsExt;
    let disk = Disk::blank(16);
    let _claim = File::options()
        .read(true)
        .custom_flags(nix::fcntl::OFlag::O_EXCL.bits())
        .open(disk.path())
        .unwrap();
    assert!(matches!(never(disk.path()), DeviceRefusal::Busy { .. }));
}

#[test]
fn a_read_only_device_is_refused_despite_consent() {
    let disk = Disk::blank(16);
    on(&disk, &["blockdev", "--setro"]);
    // Without this, the setting would persist for the next user of the loop device.
    let _undo = Undo(|| on(&disk, &["blockdev", "--setrw"]));
    assert!(matches!(never(disk.path()), DeviceRefusal::ReadOnly { .. }));
}

#[test]
fn data_of_no_known_kind_is_refused() {
    for offset in [5000, (16 << 20) - 1] {
        let disk = Disk::blank(16);
        disk.write(b"x", offset);
        let (refused, lost) = lost_with_consent(&disk);
        assert!(matches!(refused, DeviceRefusal::Data { offset: o, .. } if o == offset));
        assert_eq!(lost, format!("data (at byte {offset})"));
    }
    let disk = Disk::blank(16);
    disk.write(&vec![7; 1 << 20], 8 << 20);
    assert!(matches!(refusal(disk.path()), DeviceRefusal::Data { .. }));
}

#[test]
fn consent_is_only_for_the_same_device_under_any_name() {
    let disk = Disk::blank(16);
    disk.write(b"x", 0);
    let other = Disk::blank(16);
    let wrong = ExclusiveDevice::acquire(disk.path(), Some(other.path())).unwrap_err();
    assert!(matches!(wrong, DeviceRefusal::EraseMismatch { .. }));
    let wrong = ExclusiveDevice::acquire(other.path(), Some(Path::new("/no/such"))).unwrap_err();
    assert!(matches!(wrong, DeviceRefusal::EraseMismatch { .. }));

    let link = disk.mountpoint().join("by-name");
    symlink(disk.path(), &link).unwrap();
    assert!(matches!(refusal(&link), DeviceRefusal::Data { .. }));
    let held = ExclusiveDevice::acquire(&link, Some(disk.path())).unwrap();
    assert_eq!(held.path(), disk.path());
}

#[test]
fn a_regular_file_is_judged_in_the_same_way() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("disk.img");
    File::create(&file).unwrap();
    assert!(matches!(refusal(&file), DeviceRefusal::Empty { .. }));
    File::options().write(true).open(&file).unwrap().set_len(16 << 20).unwrap();
    let held = ExclusiveDevice::acquire(&file, None).unwrap();
    assert!(!held.is_block() && held.erases().is_none());
    drop(held);
    fs::write(&file, "a letter to a friend").unwrap();
    assert!(matches!(refusal(&file), DeviceRefusal::Data { .. }));
    assert!(ExclusiveDevice::acquire(&file, Some(&file)).is_ok());
    let device = LoopDevice::attach(&file).unwrap();
    assert!(matches!(never(&file), DeviceRefusal::Backing { .. }));
    drop(device);
}

#[test]
fn refuses_paths_that_are_not_devices() {
    assert!(matches!(refusal(Path::new("/dev/null")), DeviceRefusal::NotADevice { .. }));
    assert!(matches!(refusal(Path::new("/tmp")), DeviceRefusal::NotADevice { .. }));
    assert!(matches!(refusal(Path::new("/no/such")), DeviceRefusal::Absent { .. }));
}
