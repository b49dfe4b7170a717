//! Tests of loop devices with the real kernel. Needs root.

use std::fs::{self, File};
use std::io::Write;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use model::Bytes;
use storage::{Image, LoopDevice};

use crate::common::{self, Disk, Undo, on};

/// Returns the backing file of a loop device from sysfs.
fn backing(device: &Path) -> Option<PathBuf> {
    let name = device.file_name().unwrap();
    let file = Path::new("/sys/block").join(name).join("loop/backing_file");
    Some(fs::read_to_string(file).ok()?.trim().into())
}

/// Waits until the device is detached from the file: a process that another test has just started
/// may briefly hold copies of this process's descriptors.
fn wait_until_free(device: &Path, image: &Path) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while backing(device).as_deref() == Some(image) {
        assert!(Instant::now() < deadline, "{} is kept", device.display());
        thread::sleep(Duration::from_millis(10));
    }
}

fn attribute(device: &Path, name: &str) -> String {
    let path = Path::new("/sys/block").join(device.file_name().unwrap()).join(name);
    fs::read_to_string(path).unwrap().trim().to_owned()
}

#[test]
fn attaches_its_file_and_detaches_it_on_drop() {
    let mut disk = Disk::blank(8);
    let device = disk.path().to_owned();
    let image = disk.image().canonicalize().unwrap();
    assert_eq!(backing(&device), Some(image.clone()));
    assert_eq!(attribute(&device, "size"), (8 * 2048).to_string());
    disk.detach();
    wait_until_free(&device, &image);
}

#[test]
fn discards_are_off_and_direct_io_is_reported_correctly() {
    let disk = Disk::blank(8);
    assert_eq!(attribute(disk.path(), "queue/discard_max_bytes"), "0");
    let direct = attribute(disk.path(), "loop/dio") == "1";
    assert_eq!(disk.device().is_direct(), direct);
    assert_eq!(disk.device().attachment().contains("direct I/O, no"), direct);
}

/// Returns the sequence number that identifies the device across reuse of its name, or `None` if
/// the device does not exist.
fn sequence_number(device: &Path) -> Option<String> {
    let name = device.file_name().unwrap();
    fs::read_to_string(Path::new("/sys/block").join(name).join("diskseq")).ok()
}

/// Waits until this device is removed. A program started by another test may hold it for a moment;
/// the next attach removes it.
fn wait_until_removed(device: &Path, number: Option<&String>) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while sequence_number(device).as_ref() == number {
        assert!(Instant::now() < deadline, "{} is kept", device.display());
        drop(Disk::blank(1));
    }
}

/// The next user of a free loop device gets one with default settings.
#[test]
fn a_device_with_disabled_discards_is_removed_on_drop() {
    let mut disk = Disk::blank(8);
    let device = disk.path().to_owned();
    let number = sequence_number(&device).expect("the kernel numbers disks");
    disk.detach();
    wait_until_removed(&device, Some(&number));
}

#[test]
fn removes_devices_of_a_killed_campaign() {
    let image = tempfile::NamedTempFile::new().unwrap();
    image.as_file().set_len(1 << 20).unwrap();
    let attach = ["losetup", "--show", "--find"];
    let mut command = Command::new(attach[0]);
    let output = command.args(&attach[1..]).arg(image.path()).output();
    let output = output.unwrap();
    let device = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
    let name = device.file_name().unwrap();
    let discards = Path::new("/sys/block").join(name).join("queue/discard_max_bytes");
    fs::write(discards, "0").unwrap();
    common::run(&["losetup", "--detach"], &device);
    // Detaching the file gives the device another number.
    let number = sequence_number(&device);
    wait_until_removed(&device, number.as_ref());
}

#[test]
fn readahead_is_set_and_unchanged_by_a_mount() {
    let disk = Disk::blank(32);
    on(&disk, &["mkfs.ext4", "-q"]);
    for kibibytes in [128, 2560, 4] {
        disk.device().set_readahead(Bytes::kib(kibibytes)).unwrap();
        let _mounted = common::mount(&disk);
        let found = attribute(disk.path(), "queue/read_ahead_kb");
        assert_eq!(found, kibibytes.to_string());
        let conditions = storage::conditions_of_storage(&disk.mountpoint());
        assert_eq!(conditions[0].name, "readahead");
        assert_eq!(conditions[0].value, Bytes::kib(kibibytes).to_string());
    }
}

#[test]
fn a_filesystem_below_without_direct_io_gives_a_buffered_device() {
    let directory = tempfile::tempdir().unwrap();
    // ramfs stores its files only in the page cache.
    nix::mount::mount(
        None::<&str>,
        directory.path(),
        Some("ramfs"),
        nix::mount::MsFlags::empty(),
        None::<&str>,
    )
    .unwrap();
    let _unmount = Undo(|| nix::mount::umount(directory.path()).unwrap());
    let image = directory.path().join("disk.img");
    fs::write(&image, vec![0; 1 << 20]).unwrap();
    let device = LoopDevice::attach(&image).unwrap();
    assert!(!device.is_direct());
    assert!(device.attachment().contains("buffered"));
}

#[test]
fn mkfs_with_discard_leaves_the_image_allocated() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("disk.img");
    let image = Image::prepare(&path, Bytes::mib(32), &mut |_| ControlFlow::Continue(())).unwrap();
    let allocated = || fs::metadata(image.path()).unwrap().blocks() * 512;
    let before = allocated();
    let device = LoopDevice::attach(image.path()).unwrap();
    common::run(&["mkfs.ext4", "-q", "-F", "-E", "discard"], device.path());
    drop(device);
    assert!(before >= image.size().0);
    assert_eq!(allocated(), before);
}

#[test]
fn a_mounted_device_is_removed_after_unmounting() {
    let mut disk = Disk::blank(32);
    on(&disk, &["mkfs.ext4", "-q"]);
    let mountpoint = disk.mountpoint();
    let device = disk.path().to_owned();
    let image = disk.image().canonicalize().unwrap();
    std::mem::forget(common::mount(&disk));
    let unmount = Undo(|| nix::mount::umount(&mountpoint).unwrap());
    disk.detach();
    assert_eq!(backing(&device), Some(image.clone()), "a mount holds it");
    drop(unmount);
    wait_until_free(&device, &image);
}

#[test]
fn many_at_once_get_a_device_each() {
    let directory = tempfile::tempdir().unwrap();
    let attach = |number: u32| {
        let image = directory.path().join(format!("{number}.img"));
        File::create(&image).unwrap().write_all(&[0; 65_536]).unwrap();
        (LoopDevice::attach(&image).unwrap(), image)
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|n| scope.spawn(move || attach(n))).collect();
        let devices: Vec<_> = threads.into_iter().map(|t| t.join().unwrap()).collect();
        for (device, image) in &devices {
            assert_eq!(backing(device.path()), Some(image.canonicalize().unwrap()));
        }
    });
}
