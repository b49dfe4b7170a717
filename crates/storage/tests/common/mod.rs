//! A separate loop device for each test, detached and removed when the test ends.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use storage::LoopDevice;
use tempfile::TempDir;

/// Waits for an event that happens soon or never.
#[track_caller]
pub fn wait_until(event: &str, has_happened: impl Fn() -> bool) {
    let start = Instant::now();
    while !has_happened() {
        assert!(start.elapsed().as_secs() < 120, "not within 120 s: {event}");
        thread::yield_now();
    }
}

/// A loop device backed by a sparse file of zeros.
pub struct Disk {
    // Fields are dropped in this order: the device before its file.
    device: Option<LoopDevice>,
    directory: TempDir,
}

impl Disk {
    /// Creates a blank disk of this many MiB.
    pub fn blank(mebibytes: u64) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let image = directory.path().join("disk.img");
        File::create(&image).unwrap().set_len(mebibytes << 20).unwrap();
        let device = LoopDevice::attach(&image).expect("these tests need root");
        Self { device: Some(device), directory }
    }

    pub fn path(&self) -> &Path {
        self.device().path()
    }

    pub fn device(&self) -> &LoopDevice {
        self.device.as_ref().unwrap()
    }

    pub fn image(&self) -> PathBuf {
        self.directory.path().join("disk.img")
    }

    /// Creates a directory next to the image.
    pub fn mountpoint(&self) -> PathBuf {
        let path = self.directory.path().join("mnt");
        fs::create_dir_all(&path).unwrap();
        path
    }

    pub fn write(&self, bytes: &[u8], offset: u64) {
        let file = OpenOptions::new().write(true).open(self.path()).unwrap();
        file.write_all_at(bytes, offset).unwrap();
        file.sync_all().unwrap();
    }

    /// Detaches the device and keeps the image.
    pub fn detach(&mut self) {
        self.device = None;
    }
}

/// Runs a program with the device as its last argument.
pub fn on(disk: &Disk, words: &[&str]) {
    run(words, disk.path());
}

/// Runs a program with a path as its last argument.
pub fn run(words: &[&str], path: &Path) {
    let program = storage::find_program(words[0]).expect(words[0]);
    let output =
        Command::new(program).args(&words[1..]).arg(path).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
}

/// Removes the partitions of a device. Other programs may hold one for a while: they read each new
/// device, and a mount namespace of another test keeps a copy of the mount until its processes end.
pub fn remove_partitions(disk: &Disk) {
    const ATTEMPTS: u32 = 1200;
    let partx = storage::find_program("partx").expect("partx");
    for _ in 0..ATTEMPTS {
        let delete = Command::new(&partx).arg("--delete").arg(disk.path()).output().unwrap();
        if delete.status.success() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    on(disk, &["partx", "--delete"]);
}

/// Runs a cleanup function when the test ends, even if it fails.
pub struct Undo<F: FnMut()>(pub F);

impl<F: FnMut()> Drop for Undo<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Mounts ext4 and unmounts it on drop.
pub fn mount<'a>(disk: &'a Disk) -> Undo<impl FnMut() + use<'a>> {
    let mountpoint = disk.mountpoint();
    nix::mount::mount(
        Some(disk.path()),
        &mountpoint,
        Some("ext4"),
        nix::mount::MsFlags::MS_NOSUID | nix::mount::MsFlags::MS_NODEV,
        None::<&str>,
    )
    .unwrap();
    Undo(move || nix::mount::umount(&mountpoint).unwrap())
}
