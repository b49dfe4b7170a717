//! The filesystem of a cell as something that is made, mounted, unmounted and checked.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use model::{CommandRecord, DiskWriteState, DriverKind, Failure, Nanos};
use nix::unistd::Pid;
use sys::block_claim::{self, DiskChange};
use sys::{caches, clock, mounts, process, raid0, usage};
use wire::{MultiDevice, Volume};

use crate::command::{self, CommandFailed};
use crate::isolation::is_first;
use crate::sandbox::SandboxedRunner;

/// What is zeroed at both ends of a device before mkfs, so that no trace of the contender before
/// is taken for this one's (btrfs, ZFS and GPT keep copies at the end).
const WIPED: usize = 1 << 20;
/// How long a driver may take to end after an unmount.
const DRIVER_GRACE: Nanos = Nanos::from_secs(60);
/// How long a driver in the background may take to mount.
const MOUNT_GRACE: Nanos = Nanos::from_secs(10);
/// How long a filesystem may still be in use after the last phase.
const UNMOUNT_BUSY_TIMEOUT: Nanos = Nanos::from_secs(5);
/// How often the kernel is asked whether it has come to that.
const POLL: Duration = Duration::from_millis(1);

/// A volume and whether it is mounted.
pub struct MountedVolume<'a> {
    volume: &'a Volume,
    runner: SandboxedRunner,
    /// The devices, kept from everybody else between the beginning of the cell and mkfs.
    claims: Vec<File>,
    /// The directory without links, as the kernel lists it.
    mountpoint: PathBuf,
    mounted: bool,
}

/// What a step gives back: the records of the programs it ran.
pub type StepResult = Result<Vec<CommandRecord>, CommandFailed>;

impl<'a> MountedVolume<'a> {
    /// A volume that is not mounted, whose programs are run so.
    pub fn new(volume: &'a Volume, runner: SandboxedRunner) -> Self {
        let directory = &volume.mountpoint;
        Self {
            volume,
            runner,
            claims: Vec::new(),
            mountpoint: directory
                .canonicalize()
                .unwrap_or_else(|_| directory.clone()),
            mounted: false,
        }
    }

    /// Where it gets mounted.
    pub fn root(&self) -> &'a Path {
        &self.volume.mountpoint
    }

    /// Whether it is mounted.
    pub const fn is_mounted(&self) -> bool {
        self.mounted
    }

    /// Whether there is a device behind it; what has none loses everything at an unmount.
    pub const fn has_device(&self) -> bool {
        self.volume.device.is_some()
    }

    /// Whether there is a program to make it.
    pub fn has_mkfs(&self) -> bool {
        !self.volume.commands.mkfs.is_empty()
    }

    /// Whether there is a program to check it.
    pub fn has_fsck(&self) -> bool {
        !self.volume.commands.fsck.is_empty()
    }

    /// Puts its device together in a guest, where that is made of several; on a host that was done before.
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

    /// Takes the devices for this cell alone, before anything is written to them, and makes sure that they are the disks
    /// that fsarena looked at, as it left them. A guest's disks are nobody else's.
    ///
    /// # Errors
    /// Why the cell cannot be run, in one line.
    pub fn claim(&mut self) -> Result<(), String> {
        let disks = self.volume.mkfs_devices().zip(&self.volume.states);
        let claims: Result<_, String> = disks.map(|(device, state)| take(device, state)).collect();
        self.claims = claims?;
        Ok(())
    }

    /// Whether somebody else has taken a device of a filesystem that is not mounted.
    pub fn is_claimed_elsewhere(&self) -> bool {
        let ours = || !self.claims.is_empty() || self.mounted || !drivers().is_empty();
        if self.volume.states.is_empty() || ours() {
            return false;
        }
        let busy = |error: io::Error| error.kind() == ErrorKind::ResourceBusy;
        let mut told = self.volume.mkfs_devices();
        told.any(|device| claim(device).is_err_and(busy))
    }

    /// Lets go of the devices for whoever mounts them.
    pub fn release(&mut self) {
        self.claims.clear();
    }

    /// Removes what an earlier contender left at the ends of the devices.
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

    /// Makes the filesystem. What it has written goes to the devices before it counts as made, and whoever mounts it reads
    /// it from there, as when the last who has the device open closes it; fsarena may still have it open.
    pub fn mkfs(&mut self) -> StepResult {
        let commands = &self.volume.commands;
        // A program that claims the device itself gets it only when nobody else has it.
        let mut kept = std::mem::take(&mut self.claims);
        kept.retain(|_| commands.mkfs_shares);
        let record = command::run(&self.runner, "mkfs", &commands.mkfs, &[0])?;
        drop(kept);
        match self.let_go() {
            Ok(()) => Ok(vec![record]),
            Err(error) => failed("mkfs", record, format!("cannot write it out: {error}")),
        }
    }

    /// What is cached of the devices is written to them, and forgotten.
    fn let_go(&self) -> io::Result<()> {
        let mut disks = self.volume.mkfs_devices().zip(&self.volume.states);
        disks.try_for_each(|(device, _)| {
            let device = File::open(device)?;
            caches::flush_device(&device)?;
            caches::drop_clean_pages(&device)
        })
    }

    /// Mounts it, and makes sure of that: what came after would otherwise be measured on the
    /// filesystem below.
    pub fn mount(&mut self) -> StepResult {
        let record = command::run(&self.runner, "mount", &self.volume.commands.mount, &[0])?;
        if !self.wait_for_mount() {
            let reason = format!(
                "{} ended with 0, but nothing is mounted",
                self.volume.commands.mount[0]
            );
            return failed("mount", record, reason);
        }
        self.mounted = true;
        Ok(vec![record])
    }

    /// Where the table of mounts cannot be read, it is not known to be what the caller needs.
    fn is_mount_point(&self, unless_known: bool) -> bool {
        mounts::is_mounted(&self.mountpoint).unwrap_or(unless_known)
    }

    /// Waits until something is mounted: a driver may go into the background before it mounts.
    fn wait_for_mount(&self) -> bool {
        let start = clock::now();
        loop {
            if self.is_mount_point(false) {
                return true;
            }
            let gone = is_first() && drivers().is_empty();
            if gone || clock::since(start) > MOUNT_GRACE {
                // A driver that ended meanwhile may have been a helper that mounted.
                return self.is_mount_point(false);
            }
            thread::sleep(POLL);
        }
    }

    /// Unmounts it and waits until its driver has written everything and ended.
    pub fn unmount(&mut self) -> StepResult {
        let record = self.umount()?;
        if self.is_mount_point(true) {
            let reason = format!(
                "{} ended with 0, but it is still mounted",
                self.volume.commands.umount[0]
            );
            return failed("umount", record, reason);
        }
        self.mounted = false;
        match wait_for_drivers() {
            // As for `make`. What cannot be forgotten is read a little sooner.
            Ok(()) => {
                let _ = self.let_go();
                Ok(vec![record])
            }
            Err(failure) => Err(CommandFailed {
                record: Some(record),
                failure,
            }),
        }
    }

    /// Runs the program; again, for a while, where the kernel still lets go of what a phase has used: it
    /// gives a ring of io_uring back some time after its last user has ended.
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

    /// Checks it without changing it.
    pub fn fsck(&self) -> StepResult {
        let commands = &self.volume.commands;
        Ok(vec![command::run(
            &self.runner,
            "fsck",
            &commands.fsck,
            &commands.fsck_clean,
        )?])
    }

    /// Unmounts, empties every cache, mounts again.
    pub fn remount_cold(&mut self) -> StepResult {
        let mut records = self.unmount()?;
        records.extend(self.mount_cold()?);
        Ok(records)
    }

    /// Empties every cache and mounts.
    pub fn mount_cold(&mut self) -> StepResult {
        if let Err(error) = caches::drop_all() {
            let failure = Failure {
                step: "drop caches".into(),
                reason: format!("cannot drop the kernel's caches: {error}"),
                ..Failure::default()
            };
            return Err(CommandFailed {
                record: None,
                failure,
            });
        }
        self.mount()
    }

    /// Whether an error number says that the process behind the filesystem is gone.
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
        failure: Failure {
            step: step.to_owned(),
            reason,
            ..Failure::default()
        },
    })
}

/// Claims a device that has to be this disk, as fsarena left it.
fn take(device: &Path, left: &DiskWriteState) -> Result<File, String> {
    let name = device.display();
    let claim = claim(device).map_err(|error| match error.kind() {
        ErrorKind::ResourceBusy => format!("{name} is in use by somebody else"),
        _ => format!("{name} cannot be opened: {error}"),
    })?;
    match block_claim::changes_since(&claim, left) {
        Ok(None) => Ok(claim),
        Ok(Some(DiskChange::Modified)) => Err(format!(
            "somebody else wrote to {name} since fsarena used it last"
        )),
        Ok(Some(DiskChange::Replaced(difference))) => {
            Err(format!("{name} is not the disk that it was: {difference}"))
        }
        Err(error) => Err(format!("{name} cannot be examined: {error}")),
    }
}

/// Claims a device; one whose cell was killed is let go only in a moment.
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

/// Whether umount, or fusermount, said that something is still in use.
fn is_busy(failed: &CommandFailed) -> bool {
    let record = failed.record.as_ref();
    record.is_some_and(|record| record.output.contains("busy"))
}

/// Processes that live in the agent's namespace beside it.
///
/// One that shows as ended but cannot be waited for yet still counts: the first of its threads has
/// ended, others may still hold the device.
fn drivers() -> Vec<process::Process> {
    // Nobody else waits for what went into the background; no program of ours runs right now.
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
                reason: format!(
                    "{} still runs {DRIVER_GRACE} after the unmount",
                    names.join(", ")
                ),
                stacks: alive.iter().flat_map(process::kernel_stacks).collect(),
                ..Failure::default()
            });
        }
        thread::sleep(POLL);
    }
}
