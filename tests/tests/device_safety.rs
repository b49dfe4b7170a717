//! A device with any content is refused and not modified.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::process::Command;

use end_to_end::{Sandbox, TestLoopDevice, cells_of, run, succeed};
use model::Status;

const SIZE: u64 = 128 << 20;
const SECTOR: u64 = 512;

fn device(sandbox: &Sandbox) -> TestLoopDevice {
    TestLoopDevice::new(&sandbox.path("disk"), SIZE)
}

/// Checks that fsarena refuses the device, names it and its content in one line, and changes no
/// byte of it.
#[track_caller]
fn assert_refused(sandbox: &Sandbox, device: &TestLoopDevice, held: &str) {
    succeed(&mut Command::new("sync"));
    let before = fs::read(device.image()).unwrap();
    let word = device.path().to_str().unwrap();
    let mut command = sandbox.campaign(&["ext4"], "trial");
    run(command.args(["--device", word, "--dry-run"])).assert_code(3);
    let mut command = sandbox.campaign(&["ext4"], "trial");
    let ended = run(command.args(["--device", word])).assert_code(3);
    assert_eq!(ended.stderr.trim_end().lines().count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains(word), "{}", ended.stderr);
    let said = ended.stderr.to_lowercase();
    assert!(said.contains(held), "the message must name {held}: {said}");
    assert!(fs::read(device.image()).unwrap() == before, "{held}: untouched");
}

fn write_at(device: &Path, offset: u64, bytes: &[u8]) {
    let file = OpenOptions::new().write(true).open(device).unwrap();
    file.write_all_at(bytes, offset).unwrap();
    file.sync_all().unwrap();
}

#[test]
fn a_filesystem() {
    for (line, name) in
        [(&["mke2fs", "-q", "-t", "ext4"][..], "ext4"), (&["mkfs.btrfs", "-q"], "btrfs")]
    {
        let sandbox = Sandbox::new();
        let device = device(&sandbox);
        succeed(Command::new(line[0]).args(&line[1..]).arg(device.path()));
        assert_refused(&sandbox, &device, name);
    }
}

#[test]
fn a_swap_area() {
    let sandbox = Sandbox::new();
    let device = device(&sandbox);
    succeed(Command::new("mkswap").arg(device.path()));
    assert_refused(&sandbox, &device, "swap");
}

/// A master boot record with one Linux partition. Source: the classical layout, four entries of 16
/// bytes at offset 446 before the signature 55 AA.
#[test]
fn a_partition_table() {
    let sandbox = Sandbox::new();
    let device = device(&sandbox);
    let mut record = [0; 512];
    record[446..462].copy_from_slice(&[0, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0, 2, 0]);
    record[510..].copy_from_slice(&[0x55, 0xaa]);
    write_at(device.path(), 0, &record);
    assert_refused(&sandbox, &device, "partition");
}

/// An LVM label with checksum in the second sector. Source: `lib/label/label.h` of LVM2; the
/// checksum is a CRC-32 with initial value 0xf597a6cf and without inversion.
#[test]
fn a_physical_volume_of_lvm() {
    let sandbox = Sandbox::new();
    let device = device(&sandbox);
    let mut label = [0; 512];
    label[..8].copy_from_slice(b"LABELONE");
    label[8..16].copy_from_slice(&1u64.to_le_bytes());
    label[20..24].copy_from_slice(&32u32.to_le_bytes());
    label[24..32].copy_from_slice(b"LVM2 001");
    label[32..64].copy_from_slice(b"0123456789abcdefghijklmnopqrstuv");
    label[64..72].copy_from_slice(&SIZE.to_le_bytes());
    let sum = label[20..].iter().fold(0xf597_a6cf_u32, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |s, _| (s >> 1) ^ (0xedb8_8320 * (s & 1)))
    });
    label[16..20].copy_from_slice(&sum.to_le_bytes());
    write_at(device.path(), SECTOR, &label);
    assert_refused(&sandbox, &device, "lvm");
}

#[test]
fn a_mount() {
    let sandbox = Sandbox::new();
    let device = device(&sandbox);
    succeed(Command::new("mke2fs").args(["-q", "-t", "ext2"]).arg(device.path()));
    let mountpoint = sandbox.path("mounted");
    fs::create_dir(&mountpoint).unwrap();
    // Read-only, because the kernel otherwise writes the time into the superblock at each sync(2)
    // of any process.
    let mut mount = Command::new("mount");
    succeed(mount.args(["-o", "ro"]).arg(device.path()).arg(&mountpoint));
    assert_refused(&sandbox, &device, "mounted");
    succeed(Command::new("umount").arg(&mountpoint));
}

/// A device that another program uses exclusively, such as md, a volume manager or another fsarena.
#[test]
fn a_holder() {
    let sandbox = Sandbox::new();
    let device = device(&sandbox);
    let holder = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_EXCL)
        .open(device.path())
        .unwrap();
    assert_refused(&sandbox, &device, "open for writing");
    drop(holder);
}

#[test]
fn uses_an_empty_device_and_a_full_one_only_if_named_twice() {
    let sandbox = Sandbox::new();
    let device = device(&sandbox);
    let word = device.path().to_str().unwrap();
    for more in [&["--device", word][..], &["--device", word, "--erase", word]] {
        // The first campaign leaves a filesystem on the device, and the second one may erase it.
        run(sandbox.campaign(&["ext4"], "trial").args(more)).assert_code(0);
        let results = sandbox.results();
        assert_eq!(cells_of(&results, "ext4")[0].status, Status::Ok);
        assert!(results.environments[0].device.contains(word));
    }
    assert!(device.path().exists() && device.image().exists(), "kept");
}

/// 131 MB are no whole number of sectors, and a loop device has only whole ones.
#[test]
fn sizes_that_are_no_whole_number_of_sectors() {
    let sandbox = Sandbox::new();
    let image = sandbox.path("odd.img");
    fs::File::create(&image).unwrap().set_len(131_000_000).unwrap();
    for more in [&["--size", "131MB"][..], &["--device", image.to_str().unwrap()]] {
        run(sandbox.campaign(&["ext4"], "trial").args(more)).assert_code(0);
        assert_eq!(cells_of(&sandbox.results(), "ext4")[0].status, Status::Ok, "{more:?}");
    }
}

/// The last screen is the answer to hours of work; a page that cannot be written does not hide it.
#[test]
fn results_are_shown_even_if_their_page_cannot_be_written() {
    let sandbox = Sandbox::new();
    // A directory of this name cannot be replaced by a file.
    fs::create_dir_all(sandbox.path("reports/campaign-1.html/full")).unwrap();
    let ended = run(&mut sandbox.campaign(&["tmpfs"], "trial")).assert_code(3);
    for shown in ["tmpfs", "`fsarena report 1"] {
        assert!(ended.stdout.contains(shown), "{shown}: {}", ended.stdout);
    }
    let last = ended.stderr.lines().last().unwrap();
    assert!(last.contains("cannot write the page of campaign 1: "), "{last}");
    assert!(last.contains("the results are stored: `fsarena report 1"), "{last}");
}

#[test]
fn naming_another_device_for_erasing_does_not_erase_this_one() {
    let sandbox = Sandbox::new();
    let device = device(&sandbox);
    succeed(Command::new("mke2fs").args(["-q", "-t", "ext2"]).arg(device.path()));
    let word = device.path().to_str().unwrap();
    let mut command = sandbox.campaign(&["ext4"], "trial");
    run(command.args(["--erase", word])).assert_code(2);
    let mut command = sandbox.campaign(&["ext4"], "trial");
    let ended = run(command.args(["--device", word, "--erase", "/dev/null"]));
    assert!(matches!(ended.code, Some(2 | 3)), "{ended:?}");
    assert_eq!(ended.stderr.trim_end().lines().count(), 1, "{}", ended.stderr);
    succeed(Command::new("e2fsck").arg("-fn").arg(device.path()));
}
