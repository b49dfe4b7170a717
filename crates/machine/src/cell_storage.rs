//! What one cell is put on: loop devices, a device of the user's, a directory, or nothing but memory.

use std::path::PathBuf;

use config::Placeholders;
use model::{Bytes, Campaign, Contender, DiskWriteState, MountId};
use storage::{CellMountDir, ExclusiveDevice, LoopDevice, ProvisionError, Raid0Array};
use wire::{MultiDevice, Volume, WorkTarget};

/// What one cell works on.
pub enum CellStorage {
    /// Files behind loop devices, which are detached when this is dropped.
    Loop {
        /// Keeps the devices together, where the filesystem lies on a stripe of them; goes before they do.
        _stripe: Option<Raid0Array>,
        /// Keeps the devices attached.
        _devices: Vec<LoopDevice>,
        /// What the agent sees.
        volume: Box<Volume>,
    },
    /// A device of the user's, or none at all.
    Device(Box<Volume>),
    /// A directory of the cell's own.
    Directory {
        /// Removes it when it is dropped.
        workspace: CellMountDir,
        /// The directory in which it lies.
        top: PathBuf,
        /// Where that has to be.
        mount: MountId,
    },
}

impl CellStorage {
    /// It as the agent is told of it.
    pub fn target(&self) -> WorkTarget {
        match self {
            Self::Loop { volume, .. } | Self::Device(volume) => WorkTarget::Volume(volume.clone()),
            Self::Directory {
                workspace,
                top,
                mount,
            } => WorkTarget::Directory {
                path: workspace.path(),
                top: top.clone(),
                mount: *mount,
            },
        }
    }
}

/// Images have the campaign's readahead, whatever the disks of this machine have.
pub fn set_readahead(device: &LoopDevice, campaign: &Campaign) -> anyhow::Result<()> {
    match campaign.readahead {
        Some(size) => Ok(device.set_readahead(size)?),
        None => Ok(()),
    }
}

/// A device of the user's, or a loop device over a file of the user's.
pub fn for_device(
    campaign: &Campaign,
    contender: &Contender,
    device: &mut ExclusiveDevice,
    mountpoint: PathBuf,
) -> anyhow::Result<CellStorage> {
    let (path, size) = (device.path().to_owned(), device.size());
    if device.is_block() {
        let state = device.prepare_handover()?;
        let place: Vec<_> = state.map(|state| (path, state)).into_iter().collect();
        return Ok(CellStorage::Device(volume(
            contender, &place, None, size, mountpoint,
        )));
    }
    let attached = LoopDevice::attach_file(&device.claim()?, &path)?;
    set_readahead(&attached, campaign)?;
    for_loops(contender, vec![attached], None, size, mountpoint)
}

/// Files of this size, each behind a loop device: several are one pool of the filesystem, or a stripe with this readahead.
pub fn for_loops(
    contender: &Contender,
    devices: Vec<LoopDevice>,
    readahead: Option<Bytes>,
    size: Bytes,
    mountpoint: PathBuf,
) -> anyhow::Result<CellStorage> {
    let members: Vec<PathBuf> = devices.iter().map(|d| d.path().to_owned()).collect();
    let span = run::multi_device(contender, &members);
    let stripe = match &span {
        Some(MultiDevice::Stripe(members)) => Some(striped(members, readahead)?),
        Some(MultiDevice::Pool(_)) | None => None,
    };
    let told: Result<Vec<_>, ProvisionError> = match &stripe {
        Some(stripe) => stripe.state().map(|s| vec![(stripe.path().to_owned(), s)]),
        None => devices
            .iter()
            .map(|device| Ok((device.path().to_owned(), device.state()?)))
            .collect(),
    };
    let size = Bytes(size.0 * devices.len() as u64);
    Ok(CellStorage::Loop {
        volume: volume(contender, &told?, span, size, mountpoint),
        _stripe: stripe,
        _devices: devices,
    })
}

fn striped(members: &[PathBuf], readahead: Option<Bytes>) -> Result<Raid0Array, ProvisionError> {
    let stripe = Raid0Array::assemble(members)?;
    readahead.map_or(Ok(()), |size| stripe.set_readahead(size))?;
    Ok(stripe)
}

/// The volume of a contender on the devices that it is told of, with its command lines filled in.
pub fn volume(
    contender: &Contender,
    devices: &[(PathBuf, DiskWriteState)],
    span: Option<MultiDevice>,
    size: Bytes,
    mountpoint: PathBuf,
) -> Box<Volume> {
    let nodes: Vec<_> = devices.iter().map(|(d, _)| d.to_string_lossy()).collect();
    let names: Vec<&str> = nodes.iter().map(AsRef::as_ref).collect();
    // Without its path there is no agent either, and no cell is started.
    let program = std::env::current_exe().unwrap_or_default();
    let place = Placeholders {
        devices: &names,
        mountpoint: &mountpoint.to_string_lossy(),
        size,
        fsarena: &program.to_string_lossy(),
    };
    let commands = config::expand_commands(contender, &place);
    Box::new(Volume {
        device: devices.first().map(|(device, _)| device.clone()),
        span,
        states: devices.iter().map(|(_, state)| state.clone()).collect(),
        size,
        driver: contender.filesystem.driver,
        commands,
        mountpoint,
    })
}
