//! A contender in a guest: the job of its agent, and the machine of the guest.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use config::Placeholders;
use guest::{Clock, Guest, MOUNTPOINT, MemoryDisk, QemuMachine};
use model::wire::{CellJob, MultiDevice, Volume, WorkTarget};
use model::{Bytes, CellId, Contender, DiskModel, Nanos, Test};

use crate::GuestExecutor;

/// Path of the agent in a guest. The agent also creates filesystems without a mkfs program.
const AGENT: &str = "/init";
/// Memory for the kernel, the programs and the data of a test at `smoke`.
const MEMORY: Bytes = Bytes::mib(1024);
const STALL_TIMEOUT: Nanos = Nanos::from_secs(120);
const STEP_LIMIT: Nanos = Nanos::from_secs(1800);
const SEED: u64 = 1;
/// Stripe over several disks of a guest.
const STRIPE: &str = "/dev/md_fsarena";

/// Location of a guest's disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskLocation {
    /// In the memory of the guest.
    GuestMemory,
    /// A file on this host.
    HostFile,
}

impl DiskLocation {
    /// Returns the device names of this number of disks in the guest.
    pub fn devices(self, guest: &Guest, count: u32) -> Vec<String> {
        match self {
            Self::GuestMemory => guest.memory_disks(count),
            Self::HostFile => guest::disks(count),
        }
    }
}

/// A filesystem that cannot run in a guest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{filesystem} cannot be run in the guest: {reason}")]
pub struct UnsupportedInGuest {
    /// Its name.
    pub filesystem: String,
    /// Reason why the contender cannot run in a guest, and a hint.
    pub reason: String,
}

/// A contender in a guest, outside of any campaign.
pub struct StandaloneGuestCell {
    contender: Contender,
    size: Bytes,
    disk: DiskLocation,
    devices: Vec<String>,
}

impl StandaloneGuestCell {
    /// Prepares a contender on a disk of about this size, adjusted to the limits of the filesystem.
    ///
    /// # Errors
    /// Returns an error if the contender cannot run in the guest.
    pub fn new(
        contender: Contender,
        size: Bytes,
        disk: DiskLocation,
        guest: &Guest,
    ) -> Result<Self, UnsupportedInGuest> {
        let filesystem = &contender.filesystem;
        if let Some(why) = guest.missing_for(filesystem) {
            let filesystem = filesystem.name.clone();
            return Err(UnsupportedInGuest { filesystem, reason: why });
        }
        Ok(Self { size: taken(&contender, size), contender, disk, devices: disk.devices(guest, 1) })
    }

    /// Returns the job of the agent.
    pub fn job(&self, test: Test) -> CellJob {
        let volume = guest_volume(&self.contender, &self.devices, self.size);
        CellJob {
            version: model::wire::VERSION,
            cell: CellId(0),
            target: WorkTarget::Volume(Box::new(volume)),
            source: None,
            archives: None,
            memory_limit: None,
            test,
            age: None,
            aged: None,
            seed: SEED,
            stacks_after: None,
            sampling: None,
            rank: None,
        }
    }

    /// Returns the executor: this program as the agent, with files in this directory.
    ///
    /// # Errors
    /// Returns an error if the disk has too little space.
    pub fn executor(
        &self,
        guest: Arc<Guest>,
        program: &Path,
        clock: Clock,
        directory: &Path,
    ) -> io::Result<GuestExecutor> {
        let requires = &self.contender.filesystem.requires;
        let disks = match self.disk {
            DiskLocation::GuestMemory => Vec::new(),
            DiskLocation::HostFile => vec![image(directory, self.size)?],
        };
        let memory_disk = (self.disk == DiskLocation::GuestMemory).then(|| MemoryDisk {
            model: DiskModel::ideal(),
            size: self.size,
            count: 1,
            records_writes: false,
        });
        Ok(GuestExecutor {
            guest,
            machine: QemuMachine {
                memory: MEMORY,
                disk_memory: memory_disk.as_ref().map_or(Bytes(0), MemoryDisk::extra_memory),
                clock,
                ..QemuMachine::default()
            },
            program: program.to_owned(),
            modules: requires.modules.clone(),
            programs: requires.programs.clone(),
            commands: model::ProgramRequirements::default(),
            archives: Vec::new(),
            disks,
            memory_disk,
            directory: directory.to_owned(),
            stall_timeout: STALL_TIMEOUT,
            step_limit: STEP_LIMIT,
            phase_limit: None,
            snapshots: None,
            stop: Arc::new(AtomicBool::new(false)),
        })
    }
}

/// Returns the use of several devices: a pool if the filesystem supports pools, otherwise a stripe.
pub fn multi_device(contender: &Contender, devices: &[PathBuf]) -> Option<MultiDevice> {
    let commands = &contender.filesystem.commands;
    let members = || devices.to_vec();
    (devices.len() > 1 && commands.need_device()).then(|| match commands.support_pools() {
        true => MultiDevice::Pool(members()),
        false => MultiDevice::Stripe(members()),
    })
}

/// Returns the volume of a contender on the devices of a guest, each of this size. The agent
/// creates, mounts and checks it.
pub fn guest_volume(contender: &Contender, devices: &[String], size: Bytes) -> Volume {
    let filesystem = &contender.filesystem;
    let members: Vec<PathBuf> = devices.iter().map(PathBuf::from).collect();
    let span = multi_device(contender, &members);
    let all: Vec<&str> = devices.iter().map(String::as_str).collect();
    let told = match &span {
        _ if !filesystem.commands.need_device() => &[],
        Some(MultiDevice::Stripe(_)) => &[STRIPE][..],
        Some(MultiDevice::Pool(_)) | None => &all[..],
    };
    let size = Bytes(size.0 * devices.len().max(1) as u64);
    let place = Placeholders { devices: told, mountpoint: MOUNTPOINT, size, fsarena: AGENT };
    Volume {
        device: told.first().map(PathBuf::from),
        span,
        states: Vec::new(),
        size,
        mountpoint: MOUNTPOINT.into(),
        driver: filesystem.driver,
        commands: config::expand_commands(contender, &place),
    }
}

/// Returns the size nearest to this one that a contender supports, in whole MiB like all disks in
/// memory.
fn taken(contender: &Contender, size: Bytes) -> Bytes {
    let needs = &contender.filesystem.requires;
    let largest = needs.largest.unwrap_or(size);
    let size = size.min(largest).max(needs.smallest);
    Bytes::mib(size.0.div_ceil(1 << 20).max(1))
}

/// Creates a sparse image.
fn image(directory: &Path, size: Bytes) -> io::Result<PathBuf> {
    let path = directory.join("disk");
    File::create(&path)?.set_len(size.0)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::Catalog;

    fn contender(name: &str) -> Contender {
        Catalog::builtin().unwrap().contender(name).unwrap()
    }

    #[test]
    fn guest_agent_is_the_init_process_with_its_own_disk() {
        let device = ["/dev/fsd0".to_owned()];
        let volume = |name| guest_volume(&contender(name), &device, Bytes::mib(64));
        let hpfs = volume("hpfs");
        assert_eq!(hpfs.commands.mkfs[0], "/init");
        assert_eq!(hpfs.device.as_deref(), Some(Path::new("/dev/fsd0")));
        assert_eq!((volume("tmpfs").device, hpfs.span), (None, None));
    }

    #[test]
    fn several_disks_become_a_pool_if_supported_or_else_a_stripe() {
        let disks = guest::disks(3);
        let volume = |name| guest_volume(&contender(name), &disks, Bytes::mib(64));
        let members: Vec<PathBuf> = disks.iter().map(PathBuf::from).collect();
        let ext4 = volume("ext4");
        assert_eq!(ext4.span, Some(MultiDevice::Stripe(members.clone())));
        assert_eq!(ext4.size, Bytes::mib(192));
        assert!(ext4.commands.mkfs.iter().any(|word| word == STRIPE));
        assert!(ext4.devices().eq(&members) && ext4.mkfs_devices().eq([Path::new(STRIPE)]));
        let zfs = volume("zfs");
        assert_eq!(zfs.device.as_deref(), Some(Path::new("/dev/vda")));
        assert!(zfs.mkfs_devices().eq(&members));
        assert!(disks.iter().all(|disk| zfs.commands.mkfs.contains(disk)));
        assert_eq!((volume("tmpfs").span, volume("tmpfs").device), (None, None));
    }

    #[test]
    fn disk_size_is_a_multiple_of_1_mib_within_filesystem_limits() {
        let taken = |name, size| taken(&contender(name), size);
        assert_eq!(taken("ext4", Bytes::mib(512)), Bytes::mib(512));
        assert_eq!(taken("fat12", Bytes::mib(512)), Bytes::mib(255));
        assert_eq!(taken("ext4", Bytes((64 << 20) + 1)), Bytes::mib(65));
        let smallest = contender("xfs").filesystem.requires.smallest;
        assert!(taken("xfs", Bytes::mib(1)) >= smallest);
    }
}
