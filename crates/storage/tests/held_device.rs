//! A held device: no other process can use it, and every change is detected before the next write.
//! Needs root.

use std::fs::{self, File, OpenOptions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use storage::{DeviceRefusal, ExclusiveDevice, LoopDevice};

use crate::common::{self, Disk, Undo, mount, on};

fn held(disk: &Disk) -> ExclusiveDevice {
    ExclusiveDevice::acquire(disk.path(), None).unwrap()
}

#[test]
fn a_second_fsarena_cannot_hold_the_device() {
    let disk = Disk::blank(16);
    let first = held(&disk);
    let second = ExclusiveDevice::acquire(disk.path(), Some(disk.path())).unwrap_err();
    assert!(
        matches!(second, DeviceRefusal::Locked { .. } | DeviceRefusal::Busy { .. }),
        "{second}"
    );
    drop(first);
    held(&disk);
}

/// The holder would end itself if another fsarena had the file open for writing. The kernel refuses
/// to open a running program for writing, so an attempt would be reported instead of the lock.
#[test]
fn a_file_is_not_opened_for_writing_before_it_is_locked() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("program");
    fs::copy("/bin/cat", &file).unwrap();
    let mut running = Command::new(&file).stdin(Stdio::piped()).spawn().unwrap();
    let lock = File::open(&file).unwrap();
    lock.lock().unwrap();
    let refused = ExclusiveDevice::acquire(&file, Some(&file)).unwrap_err();
    assert!(matches!(refused, DeviceRefusal::Locked { .. }), "{refused}");
    drop(running.stdin.take());
    running.wait().unwrap();
}

#[test]
fn the_lock_outlives_the_claim() {
    let disk = Disk::blank(16);
    let mut first = held(&disk);
    drop(first.claim().unwrap());
    let second = ExclusiveDevice::acquire(disk.path(), None).unwrap_err();
    assert!(matches!(second, DeviceRefusal::Locked { .. }), "{second}");
}

/// Programs of systemd and udev acquire this lock before they examine or write to a device.
#[test]
fn programs_that_lock_devices_are_kept_away() {
    let disk = Disk::blank(16);
    let flock = |disk: &Disk| {
        let mut command = Command::new("flock");
        command.arg("--nonblock").arg(disk.path()).arg("true");
        command.status().unwrap().success()
    };
    let first = held(&disk);
    assert!(!flock(&disk));
    drop(first);
    assert!(flock(&disk));
}

#[test]
fn writes_by_fsarena_are_expected_and_other_writes_are_detected() {
    let disk = Disk::blank(16);
    let mut device = held(&disk);
    for _ in 0..2 {
        let claim = device.claim().unwrap();
        claim.write_all_at(&[7; 8192], 4096).unwrap();
        drop(claim);
        device.record_write();
        device.prepare_handover().unwrap();
    }
    disk.write(b"theirs", 9 << 20);
    let refused = device.prepare_handover().unwrap_err();
    assert!(matches!(refused, DeviceRefusal::Changed { .. }), "{refused}");
    assert!(device.claim().is_err(), "and it stays so");
}

#[test]
fn a_foreign_filesystem_made_and_mounted_is_detected() {
    let disk = Disk::blank(32);
    let mut device = held(&disk);
    device.prepare_handover().unwrap();
    on(&disk, &["mkfs.ext4", "-q"]);
    {
        let _unmount = mount(&disk);
        let refused = device.prepare_handover().unwrap_err();
        assert!(matches!(refused, DeviceRefusal::Mounted { .. }), "{refused}");
    }
    let refused = device.prepare_handover().unwrap_err();
    assert!(matches!(refused, DeviceRefusal::Changed { .. }), "{refused}");
}

fn make_node(node: &Path, of: u64) {
    use nix::sys::stat::{Mode, SFlag, mknod};
    mknod(node, SFlag::S_IFBLK, Mode::S_IRUSR | Mode::S_IWUSR, of).unwrap();
}

/// Simulates a removed stick whose name is given to another one. A node is redirected to another
/// disk, and the kernel's own node is missing, as in a container.
#[test]
fn another_disk_under_the_same_name_is_not_written_to() {
    let (first, second) = (Disk::blank(16), Disk::blank(16));
    let [number, other] = [&first, &second].map(|disk| disk.path().metadata().unwrap().rdev());
    let named = |what: &str| PathBuf::from(format!("/dev/fsarena-{}-{what}", std::process::id()));
    let (node, own) = (named("node"), named("own"));
    make_node(&node, number);
    fs::rename(first.path(), &own).unwrap();
    let _undo = Undo(|| {
        fs::rename(&own, first.path()).unwrap();
        fs::remove_file(&node).unwrap();
    });
    let mut device = ExclusiveDevice::acquire(&node, None).unwrap();
    drop(device.claim().unwrap());
    fs::remove_file(&node).unwrap();
    make_node(&node, other);
    let refused = device.claim().unwrap_err();
    assert!(matches!(refused, DeviceRefusal::OtherDisk { .. }), "{refused}");
}

/// Locks apply to a node, so a second node of the device must not bypass them.
#[test]
fn another_node_of_a_device_counts_as_the_same_device() {
    let disk = Disk::blank(16);
    let directory = tempfile::tempdir().unwrap();
    let node = directory.path().join("disk");
    make_node(&node, disk.path().metadata().unwrap().rdev());
    let first = held(&disk);
    let refused = ExclusiveDevice::acquire(&node, Some(&node)).unwrap_err();
    assert!(
        matches!(refused, DeviceRefusal::Locked { .. } | DeviceRefusal::Busy { .. }),
        "{refused}"
    );
    drop(first);
    let device = ExclusiveDevice::acquire(&node, Some(&node)).unwrap();
    assert_eq!(device.path(), disk.path());
}

#[test]
fn a_device_that_is_made_read_only_is_not_written_to() {
    let disk = Disk::blank(16);
    let mut device = held(&disk);
    device.prepare_handover().unwrap();
    on(&disk, &["blockdev", "--setro"]);
    let refused = device.prepare_handover().unwrap_err();
    on(&disk, &["blockdev", "--setrw"]);
    assert!(matches!(refused, DeviceRefusal::ReadOnly { .. }), "{refused}");
    device.prepare_handover().unwrap();
}

/// Even if the size changes while a cell writes to the file, which counts as a change by fsarena.
#[test]
fn refuses_a_file_whose_size_changed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("disk.img");
    let file = File::create(&path).unwrap();
    file.set_len(16 << 20).unwrap();
    let mut device = ExclusiveDevice::acquire(&path, None).unwrap();
    drop(device.claim().unwrap());
    file.set_len(8 << 20).unwrap();
    drop(file);
    device.record_write();
    let refused = device.claim().unwrap_err().to_string();
    assert!(refused.contains("its size was 16 MiB and is 8 MiB"), "{refused}");
}

#[test]
fn refuses_a_file_changed_by_another_program() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("disk.img");
    File::create(&path).unwrap().set_len(16 << 20).unwrap();
    let mut device = ExclusiveDevice::acquire(&path, None).unwrap();
    let loop_device = LoopDevice::attach_file(&device.claim().unwrap(), &path).unwrap();
    let writer = OpenOptions::new().write(true).open(loop_device.path()).unwrap();
    writer.write_all_at(&[7; 4096], 0).unwrap();
    writer.sync_all().unwrap();
    drop((writer, loop_device));
    assert!(!storage::is_loop_attached(&path, std::time::Duration::from_secs(120)));
    device.record_write();
    device.prepare_handover().unwrap();
    fs::write(&path, "a letter").unwrap();
    let refused = device.claim().unwrap_err();
    assert!(matches!(refused, DeviceRefusal::Changed { .. }), "{refused}");
}

#[test]
fn names_the_process_that_has_the_device_open_for_writing() {
    let disk = Disk::blank(16);
    let command = format!("exec sleep 600 >>{}", disk.path().display());
    let mut child = Command::new("sh").args(["-c", &command]).spawn().unwrap();
    let pid = child.id();
    let _end = Undo(move || {
        child.kill().unwrap();
        child.wait().unwrap();
    });
    let is_open = || {
        let files = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
        files.filter_map(|f| fs::read_link(f.path()).ok()).any(|f| f == disk.path())
    };
    common::wait_until("the device is open", is_open);
    let refused = ExclusiveDevice::acquire(disk.path(), Some(disk.path())).unwrap_err().to_string();
    assert!(
        refused.contains(&pid.to_string()) && refused.contains("open for writing"),
        "{refused}"
    );
}

/// Regression test: one such mount made the mount table empty, and every device looked unused.
#[test]
fn a_mount_point_that_is_not_utf8_still_counts_as_a_use() {
    let disk = Disk::blank(32);
    on(&disk, &["mkfs.ext4", "-q"]);
    let directory = tempfile::tempdir().unwrap();
    let odd = directory.path().join(std::ffi::OsStr::from_bytes(b"\xff\xfe"));
    fs::create_dir(&odd).unwrap();
    let none: Option<&str> = None;
    let flags = nix::mount::MsFlags::empty();
    nix::mount::mount(Some("none"), &odd, Some("tmpfs"), flags, none).unwrap();
    let _unmount_odd = Undo(|| nix::mount::umount(&odd).unwrap());
    let _unmount = mount(&disk);
    let refused = ExclusiveDevice::acquire(disk.path(), Some(disk.path())).unwrap_err();
    assert!(matches!(refused, DeviceRefusal::Mounted { .. }), "{refused}");
}

/// Creates an image with a loop device.
fn attached() -> (tempfile::TempDir, PathBuf, LoopDevice) {
    let place = tempfile::tempdir().unwrap();
    let image = place.path().join("image");
    File::create(&image).unwrap().set_len(64 << 20).unwrap();
    let device = LoopDevice::attach(&image).unwrap();
    (place, image, device)
}

/// The file counts, even if its path was removed or reused.
#[test]
fn a_file_below_a_loop_device_is_known_by_any_name() {
    let (place, image, _device) = attached();
    let other = place.path().join("other");
    fs::hard_link(&image, &other).unwrap();
    fs::remove_file(&image).unwrap();
    let refused = ExclusiveDevice::acquire(&other, Some(&other)).unwrap_err();
    assert!(matches!(refused, DeviceRefusal::Backing { .. }), "{refused}");
}

#[test]
fn a_second_loop_device_on_a_file_in_use_is_refused() {
    let (_place, image, _device) = attached();
    let second = LoopDevice::attach(&image).unwrap();
    let refused = ExclusiveDevice::acquire(second.path(), Some(second.path())).unwrap_err();
    assert!(matches!(refused, DeviceRefusal::Backing { .. }), "{refused}");
}

#[test]
fn names_the_process_that_writes_to_a_backing_file() {
    let (_place, image, device) = attached();
    let mut writer = Command::new("sh");
    let redirection = format!("exec sleep 600 9<>'{}'", image.display());
    let mut writer = writer.args(["-c", &redirection]).spawn().unwrap();
    let name = || fs::read_to_string(format!("/proc/{}/comm", writer.id())).unwrap();
    common::wait_until("the program runs", || name().trim_end() == "sleep");
    let refused = ExclusiveDevice::acquire(device.path(), None).unwrap_err();
    writer.kill().unwrap();
    writer.wait().unwrap();
    assert!(matches!(refused, DeviceRefusal::OpenElsewhere { .. }), "{refused}");
    ExclusiveDevice::acquire(device.path(), None).unwrap();
}

/// A partition of a disk that another program uses as a whole.
#[test]
fn a_partition_of_a_disk_in_use_is_refused() {
    let disk = Disk::blank(64);
    let mut add = Command::new("addpart");
    let added = add.arg(disk.path()).args(["1", "2048", "65536"]).status();
    assert!(added.unwrap().success());
    let partition = PathBuf::from(format!("{}p1", disk.path().display()));
    ExclusiveDevice::acquire(&partition, None).unwrap();
    let above = LoopDevice::attach(disk.path()).unwrap();
    let refused = ExclusiveDevice::acquire(&partition, None).unwrap_err();
    assert!(matches!(refused, DeviceRefusal::Backing { .. }), "{refused}");
    drop(above);
    let mut remove = Command::new("delpart");
    assert!(remove.arg(disk.path()).arg("1").status().unwrap().success());
}

#[test]
fn detects_a_changed_file_even_with_its_old_modification_time() {
    let place = tempfile::tempdir().unwrap();
    let image = place.path().join("image");
    File::create(&image).unwrap().set_len(64 << 20).unwrap();
    let mut device = ExclusiveDevice::acquire(&image, None).unwrap();
    let time = fs::metadata(&image).unwrap().modified().unwrap();
    let theirs = OpenOptions::new().write(true).open(&image).unwrap();
    theirs.write_all_at(b"theirs", 9 << 20).unwrap();
    theirs.set_modified(time).unwrap();
    drop(theirs);
    let refused = device.prepare_handover().unwrap_err();
    assert!(matches!(refused, DeviceRefusal::Changed { .. }), "{refused}");
}
