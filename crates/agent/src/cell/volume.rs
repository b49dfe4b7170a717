//! Creates, mounts, unmounts and checks the filesystem of a cell.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use model::wire::{MultiDevice, Volume};
use model::{
    CommandRecord, DiskWriteState, DriverKind, Failure, MaintenanceCommand, MaintenanceTask, Nanos,
};
use nix::unistd::Pid;
use sys::block::block_claim::{self, DiskChange};
use sys::block::raid0;
use sys::io::{caches, clock};
use sys::mount::mounts;
use sys::process;
use sys::process::usage;

use crate::cell::direct_mount::DirectMount;
use crate::sandbox::SandboxedRunner;
use crate::sandbox::command::{self, CommandFailed};
use crate::sandbox::isolation::is_first;

/// Bytes zeroed at both ends of a device before mkfs, to remove traces of the previous contender
/// (btrfs, ZFS and GPT keep copies at the end).
const WIPED: usize = 1 << 20;
/// Maximum time for a driver to exit after an unmount.
const DRIVER_GRACE: Nanos = Nanos::from_secs(60);
/// Maximum time for a background driver to mount.
const MOUNT_GRACE: Nanos = Nanos::from_secs(10);
/// Maximum time for which a filesystem may still be busy after the last phase.
const UNMOUNT_BUSY_TIMEOUT: Nanos = Nanos::from_secs(5);
/// Poll interval for the conditions above.
const POLL: Duration = Duration::from_millis(1);

/// A volume and its mount state.
pub struct CellVolume<'a> {
    volume: &'a Volume,
    runner: SandboxedRunner,
    /// Exclusively opened devices, held from the start of the cell until mkfs.
    claims: Vec<File>,
    /// Mount point without symbolic links, as the kernel lists it.
    mountpoint: PathBuf,
    mounted: bool,
}

/// Result of a step: the records of its programs.
pub type StepResult = Result<Vec<CommandRecord>, CommandFailed>;

impl<'a> CellVolume<'a> {
    /// Creates an unmounted volume whose programs run with this runner.
    pub fn new(volume: &'a Volume, runner: SandboxedRunner) -> Self {
        let directory = &volume.mountpoint;
        Self {
            volume,
            runner,
            claims: Vec::new(),
            mountpoint: directory.canonicalize().unwrap_or_else(|_| directory.clone()),
            mounted: false,
        }
    }

    /// Returns the mount point.
    pub fn root(&self) -> &'a Path {
        &self.volume.mountpoint
    }

    /// Returns true if the volume is mounted.
    pub const fn is_mounted(&self) -> bool {
        self.mounted
    }

    /// Returns true if the filesystem has a device. Without one, an unmount loses all data.
    pub const fn has_device(&self) -> bool {
        self.volume.device.is_some()
    }

    /// Returns true if the volume has a program that creates its filesystem.
    pub fn has_mkfs(&self) -> bool {
        !self.volume.commands.mkfs.is_empty()
    }

    /// Returns true if the volume has a program that checks its filesystem.
    pub fn has_fsck(&self) -> bool {
        !self.volume.commands.fsck.is_empty()
    }

    /// Assembles the striped device of a guest from its disks. On a host, it is already assembled.
    pub fn assemble(&self) -> Result<(), Failure> {
        let (Some(MultiDevice::Stripe(members)), Some(device)) =
            (&self.volume.span, &self.volume.device)
        else {
            return Ok(());
        };
        if !self.volume.states.is_empty() {
            return Ok(());
        }
        raid0::assemble(device, members).map_err(|error| Failure {
            step: "stripe".into(),
            reason: format!("cannot stripe {} disks: {error}", members.len()),
            error: sys::errno::system_error("write", &error),
            ..Failure::default()
        })
    }

    /// Opens the devices exclusively before the first write, and verifies that they are the disks
    /// fsarena examined, unchanged since. Not needed for a guest's disks.
    ///
    /// # Errors
    /// Returns a one-line reason if the cell cannot run.
    pub fn claim(&mut self) -> Result<(), String> {
        let disks = self.volume.mkfs_devices().zip(&self.volume.states);
        let claims: Result<_, String> = disks.map(|(device, state)| take(device, state)).collect();
        self.claims = claims?;
        Ok(())
    }

    /// Returns true if another process has taken a device while the filesystem is unmounted.
    pub fn is_claimed_elsewhere(&self) -> bool {
        let ours = || !self.claims.is_empty() || self.mounted || !drivers().is_empty();
        if self.volume.states.is_empty() || ours() {
            return false;
        }
        let busy = |error: io::Error| error.kind() == ErrorKind::ResourceBusy;
        let mut told = self.volume.mkfs_devices();
        told.any(|device| claim(device).is_err_and(busy))
    }

    /// Releases the devices so that they can be mounted.
    pub fn release(&mut self) {
        self.claims.clear();
    }

    /// Overwrites both ends of the devices, to remove signatures of earlier contenders.
    pub fn wipe(&self) -> Result<(), Failure> {
        let devices: Vec<&Path> = self.volume.mkfs_devices().collect();
        let size = self.volume.size.0 / devices.len().max(1) as u64;
        devices.into_iter().enumerate().try_for_each(|(i, device)| {
            let wiped = match self.claims.get(i) {
                Some(claim) => wipe(claim, size),
                None => OpenOptions::new()
                    .write(true)
                    .open(device)
                    .and_then(|device| wipe(&device, size)),
            };
            wiped.map_err(|error| Failure {
                step: "wipe".into(),
                reason: format!("cannot wipe {}: {error}", device.display()),
                error: sys::errno::system_error("pwrite", &error),
                ..Failure::default()
            })
        })
    }

    /// Creates the filesystem. Flushes the written data to the devices and drops their caches,
    /// because fsarena may still have the devices open; otherwise the last close would flush them.
    pub fn mkfs(&mut self) -> StepResult {
        self.create(&self.volume.commands.mkfs)
    }

    fn create(&mut self, command: &[String]) -> StepResult {
        let commands = &self.volume.commands;
        // A program that opens the device exclusively needs the claims released.
        let mut kept = std::mem::take(&mut self.claims);
        kept.retain(|_| commands.mkfs_shares);
        let record = command::run(&self.runner, "mkfs", command, &[0])?;
        drop(kept);
        match self.let_go() {
            Ok(()) => Ok(vec![record]),
            Err(error) => failed("mkfs", record, format!("cannot write it out: {error}")),
        }
    }

    /// Writes cached data to the devices and drops the caches.
    fn let_go(&self) -> io::Result<()> {
        let mut disks = self.volume.mkfs_devices().zip(&self.volume.states);
        disks.try_for_each(|(device, _)| {
            let device = File::open(device)?;
            caches::flush_device(&device)?;
            caches::drop_clean_pages(&device)
        })
    }

    /// Mounts the filesystem and verifies the mount. Without this check, phases could be measured
    /// on the filesystem below.
    pub fn mount(&mut self) -> StepResult {
        let record = command::run(&self.runner, "mount", &self.volume.commands.mount, &[0])?;
        if !self.wait_for_mount() {
            let reason = format!(
                "{} ended with 0, but no filesystem is mounted",
                self.volume.commands.mount[0]
            );
            return failed("mount", record, reason);
        }
        self.mounted = true;
        Ok(vec![record])
    }

    /// Returns true if the mount point is mounted. Returns `unless_known` if the mount table cannot
    /// be read.
    fn is_mount_point(&self, unless_known: bool) -> bool {
        mounts::is_mounted(&self.mountpoint).unwrap_or(unless_known)
    }

    /// Waits for the mount: a driver may move to the background before it mounts.
    fn wait_for_mount(&self) -> bool {
        let start = clock::now();
        loop {
            if self.is_mount_point(false) {
                return true;
            }
            let gone = is_first() && drivers().is_empty();
            if gone || clock::since(start) > MOUNT_GRACE {
                // A driver that has already exited may have been a mount helper.
                return self.is_mount_point(false);
            }
            thread::sleep(POLL);
        }
    }

    /// Unmounts the filesystem and waits until its driver has written all data and exited.
    pub fn unmount(&mut self) -> StepResult {
        let record = self.umount()?;
        if self.is_mount_point(true) {
            let reason =
                format!("{} ended with 0, but it is still mounted", self.volume.commands.umount[0]);
            return failed("umount", record, reason);
        }
        self.mounted = false;
        match wait_for_drivers() {
            // Drop cached pages for the same reason as in `make`. Ignore errors: pages that stay
            // cached only make reads faster.
            Ok(()) => {
                let _ = self.let_go();
                Ok(vec![record])
            }
            Err(failure) => Err(CommandFailed { record: Some(record), failure }),
        }
    }

    /// Mounts the filesystem as [`Self::mount`] does, without a program if the catalog's command is
    /// a single system call.
    pub fn mount_quickly(&mut self) -> StepResult {
        let Some(direct) = DirectMount::parse(&self.volume.commands.mount) else {
            return self.mount();
        };
        direct.mount().map_err(|error| {
            let device = self.volume.device.as_deref().unwrap_or(&self.mountpoint);
            let cause = sys::errno::describe(&error);
            let failure = Failure {
                step: "mount".into(),
                reason: format!("mount of {} returned {cause}", device.display()),
                error: sys::errno::system_error("mount", &error),
                ..Failure::default()
            };
            CommandFailed { record: None, failure }
        })?;
        self.mounted = true;
        Ok(Vec::new())
    }

    /// Unmounts the filesystem after [`Self::mount_quickly`].
    pub fn unmount_quickly(&mut self) -> StepResult {
        match DirectMount::parse(&self.volume.commands.mount) {
            Some(direct) if direct.unmount().is_ok() => {
                self.mounted = false;
                Ok(Vec::new())
            }
            // The program is tried again, and names the cause.
            _ => self.unmount(),
        }
    }

    /// Runs umount and retries for a limited time while the kernel still releases resources of the
    /// phase: it frees an io_uring ring some time after the last user has exited.
    fn umount(&self) -> Result<CommandRecord, CommandFailed> {
        let start = clock::now();
        loop {
            match command::run(&self.runner, "umount", &self.volume.commands.umount, &[0]) {
                Err(failed) if is_busy(&failed) && clock::since(start) < UNMOUNT_BUSY_TIMEOUT => {
                    thread::sleep(POLL);
                }
                outcome => return outcome,
            }
        }
    }

    /// Checks the filesystem without changing it.
    pub fn fsck(&self) -> StepResult {
        let commands = &self.volume.commands;
        Ok(vec![command::run(&self.runner, "fsck", &commands.fsck, &commands.fsck_clean)?])
    }

    /// Returns the catalog's command for a task of an administrator.
    pub fn maintenance(&self, task: MaintenanceTask) -> Option<&'a MaintenanceCommand> {
        self.volume.commands.maintenance.get(&task)
    }

    /// Performs a task of an administrator.
    pub fn maintain(&mut self, task: MaintenanceTask, command: &[String]) -> StepResult {
        match task {
            MaintenanceTask::MkfsHalf => self.create(command),
            _ => Ok(vec![command::run(&self.runner, task.name(), command, &[0])?]),
        }
    }

    /// Returns the only device of the volume. Returns `None` if there are several, or none.
    pub fn single_device(&self) -> Option<&'a Path> {
        self.volume.device.as_deref().filter(|_| self.volume.span.is_none())
    }

    /// Returns true if the catalog has a repair command for the filesystem.
    pub fn has_repair(&self) -> bool {
        !self.volume.commands.repair.is_empty()
    }

    /// Returns true if the mount recovers from a power cut without a repair.
    pub const fn replays_at_mount(&self) -> bool {
        self.volume.commands.replays_at_mount
    }

    /// Repairs the filesystem after a power cut, if the catalog has a command.
    pub fn repair(&self) -> StepResult {
        let commands = &self.volume.commands;
        if !self.has_repair() {
            return Ok(Vec::new());
        }
        let clean = &commands.repair_clean;
        Ok(vec![command::run(&self.runner, "repair", &commands.repair, clean)?])
    }

    /// Unmounts the filesystem, drops its caches and mounts again.
    pub fn remount_cold(&mut self) -> StepResult {
        let mut records = self.unmount()?;
        records.extend(self.mount_cold()?);
        Ok(records)
    }

    /// Drops the caches of the unmounted filesystem and mounts it.
    pub fn mount_cold(&mut self) -> StepResult {
        let is_in_guest = self.volume.states.is_empty();
        if is_in_guest || self.drop_device_caches().is_err() {
            self.drop_all_caches()?;
        }
        self.mount()
    }

    /// Drops the cached blocks of the devices. Unmounting freed everything else that the kernel or a driver process
    /// had cached. Files of other filesystems stay in memory: programs that a test starts, and those of the user.
    fn drop_device_caches(&self) -> io::Result<()> {
        let mut devices = self.volume.device.as_deref().into_iter().chain(self.volume.devices());
        devices.try_for_each(caches::drop_device_cache)
    }

    /// Drops all caches of the kernel.
    pub fn drop_all_caches(&self) -> StepResult {
        match caches::drop_all() {
            Ok(()) => Ok(Vec::new()),
            Err(error) => {
                let failure = Failure {
                    step: "drop caches".into(),
                    reason: format!("cannot drop the kernel's caches: {error}"),
                    ..Failure::default()
                };
                Err(CommandFailed { record: None, failure })
            }
        }
    }

    /// Returns true if an error number means that the driver process of the filesystem has died.
    pub fn driver_died(&self, errno: Option<i32>) -> bool {
        const DRIVER_GONE_ERRNOS: [i32; 3] = [libc::ENOTCONN, libc::ECONNABORTED, libc::ESHUTDOWN];
        self.volume.driver == DriverKind::Fuse
            && errno.is_some_and(|errno| {
                DRIVER_GONE_ERRNOS.contains(&errno)
                    || (errno == libc::EIO && is_first() && drivers().is_empty())
            })
    }
}

fn failed(step: &str, record: CommandRecord, reason: String) -> StepResult {
    Err(CommandFailed {
        record: Some(record),
        failure: Failure { step: step.to_owned(), reason, ..Failure::default() },
    })
}

/// Claims a device, which must be this disk in the state that fsarena left.
fn take(device: &Path, left: &DiskWriteState) -> Result<File, String> {
    let name = device.display();
    let claim = claim(device).map_err(|error| match error.kind() {
        ErrorKind::ResourceBusy => {
            format!("cannot claim {name}: in use by another process (EBUSY)")
        }
        _ => format!("{name} cannot be opened: {error}"),
    })?;
    match block_claim::changes_since(&claim, left) {
        Ok(None) => Ok(claim),
        Ok(Some(DiskChange::Modified)) => {
            Err(format!("{name} was written to by another process since fsarena used it last"))
        }
        Ok(Some(DiskChange::Replaced(difference))) => {
            Err(format!("{name} is not the disk that it was: {difference}"))
        }
        Err(error) => Err(format!("{name} cannot be examined: {error}")),
    }
}

/// Opens a device exclusively. Retries for a limited time, because the device of a killed cell is
/// released late.
fn claim(device: &Path) -> io::Result<File> {
    let start = clock::now();
    loop {
        match block_claim::claim(device) {
            Err(error)
                if error.kind() == ErrorKind::ResourceBusy
                    && clock::since(start) < UNMOUNT_BUSY_TIMEOUT =>
            {
                thread::sleep(POLL);
            }
            other => return other,
        }
    }
}

fn wipe(device: &File, size: u64) -> io::Result<()> {
    let zeros = vec![0; WIPED];
    for offset in [0, size.saturating_sub(WIPED as u64)] {
        let length = (size - offset).min(WIPED as u64) as usize;
        device.write_all_at(&zeros[..length], offset)?;
    }
    device.sync_all()
}

/// Returns true if umount or fusermount reported a busy filesystem.
fn is_busy(failed: &CommandFailed) -> bool {
    let record = failed.record.as_ref();
    record.is_some_and(|record| record.output.contains("busy"))
}

/// Lists the other processes of the agent's namespace, which are drivers.
///
/// A zombie that cannot be reaped yet counts too: its main thread has exited, but other threads may
/// still hold the device.
fn drivers() -> Vec<process::Process> {
    // Reap background processes first; no program started by the agent is running now.
    while usage::reap() {}
    let me = Pid::this();
    process::all().into_iter().filter(|p| p.pid != me).collect()
}

fn wait_for_drivers() -> Result<(), Failure> {
    if !is_first() {
        return Ok(());
    }
    let start = clock::now();
    loop {
        let alive = drivers();
        if alive.is_empty() {
            return Ok(());
        }
        if clock::since(start) > DRIVER_GRACE {
            let names: Vec<&str> = alive.iter().map(|p| p.name.as_str()).collect();
            return Err(Failure {
                step: "umount".into(),
                reason: format!("{} still runs {DRIVER_GRACE} after the unmount", names.join(", ")),
                stacks: alive.iter().flat_map(process::kernel_stacks).collect(),
                ..Failure::default()
            });
        }
        thread::sleep(POLL);
    }
}
