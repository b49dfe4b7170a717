//! Storage of one cell: loop devices, a user's device, a directory, or only memory.

use std::path::PathBuf;

use config::Placeholders;
use model::wire::{MultiDevice, Volume, WorkTarget};
use model::{Bytes, Campaign, Contender, DiskWriteState, MountId};
use storage::{CellMountDir, ExclusiveDevice, LoopDevice, ProvisionError, Raid0Array};

/// Storage of one cell.
pub enum CellStorage {
    /// Files attached to loop devices, which are detached on drop.
    Loop {
        /// Stripe over the devices, if the filesystem uses one. Dropped before the devices.
        _stripe: Option<Raid0Array>,
        /// Keeps the devices attached.
        _devices: Vec<LoopDevice>,
        /// Volume for the agent.
        volume: Box<Volume>,
    },
    /// A user's device, or no device.
    Device(Box<Volume>),
    /// A private directory of the cell.
    Directory {
        /// The mount directory of the cell, removed on drop.
        workspace: CellMountDir,
        /// Parent directory of the workspace.
        top: PathBuf,
        /// Mount that must contain `top`.
        mount: MountId,
    },
}

impl CellStorage {
    /// Returns the storage as a target for the agent.
    pub fn target(&self) -> WorkTarget {
        match self {
            Self::Loop { volume, .. } | Self::Device(volume) => WorkTarget::Volume(volume.clone()),
            Self::Directory { workspace, top, mount } => {
                WorkTarget::Directory { path: workspace.path(), top: top.clone(), mount: *mount }
            }
        }
    }
}

/// Sets the readahead of the campaign on an image, independent of the disks of this machine.
pub fn set_readahead(device: &LoopDevice, campaign: &Campaign) -> anyhow::Result<()> {
    match campaign.readahead {
        Some(size) => Ok(device.set_readahead(size)?),
        None => Ok(()),
    }
}

/// Prepares a user's device, or a loop device for a user's file.
pub fn for_device(
    campaign: &Campaign,
    contender: &Contender,
    device: &mut ExclusiveDevice,
    mountpoint: PathBuf,
) -> anyhow::Result<CellStorage> {
    let path = device.path().to_owned();
    if device.is_block() {
        let state = device.prepare_handover()?;
        let place: Vec<_> = state.map(|state| (path, state)).into_iter().collect();
        return Ok(CellStorage::Device(volume(contender, &place, None, device.size(), mountpoint)));
    }
    let attached = LoopDevice::attach_file(&device.claim()?, &path)?;
    set_readahead(&attached, campaign)?;
    for_loops(contender, vec![attached], None, mountpoint)
}

/// Builds the storage on loop devices of one size. Several devices become a pool of the
/// filesystem, or a stripe with this readahead.
pub fn for_loops(
    contender: &Contender,
    devices: Vec<LoopDevice>,
    readahead: Option<Bytes>,
    mountpoint: PathBuf,
) -> anyhow::Result<CellStorage> {
    let members: Vec<PathBuf> = devices.iter().map(|d| d.path().to_owned()).collect();
    let span = crate::multi_device(contender, &members);
    let stripe = match &span {
        Some(MultiDevice::Stripe(members)) => Some(striped(members, readahead)?),
        Some(MultiDevice::Pool(_)) | None => None,
    };
    let told: Result<Vec<_>, ProvisionError> = match &stripe {
        Some(stripe) => stripe.state().map(|s| vec![(stripe.path().to_owned(), s)]),
        None => {
            devices.iter().map(|device| Ok((device.path().to_owned(), device.state()?))).collect()
        }
    };
    let told = told?;
    // The kernel rounds the size of an image down to whole sectors, and that of a stripe to chunks.
    let size = Bytes(told.iter().map(|(_, state)| state.identity.size.0).sum());
    Ok(CellStorage::Loop {
        volume: volume(contender, &told, span, size, mountpoint),
        _stripe: stripe,
        _devices: devices,
    })
}

fn striped(members: &[PathBuf], readahead: Option<Bytes>) -> Result<Raid0Array, ProvisionError> {
    let stripe = Raid0Array::assemble(members)?;
    readahead.map_or(Ok(()), |size| stripe.set_readahead(size))?;
    Ok(stripe)
}

/// Returns the volume of a contender on these devices, with its command lines filled in.
pub fn volume(
    contender: &Contender,
    devices: &[(PathBuf, DiskWriteState)],
    span: Option<MultiDevice>,
    size: Bytes,
    mountpoint: PathBuf,
) -> Box<Volume> {
    let nodes: Vec<_> = devices.iter().map(|(d, _)| d.to_string_lossy()).collect();
    let names: Vec<&str> = nodes.iter().map(AsRef::as_ref).collect();
    // If the path is unknown, no agent can start either, and no cell runs.
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
