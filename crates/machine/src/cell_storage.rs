//! What one cell is put on: a loop device, a device of the user's, a directory, or nothing but memory.

use std::path::{Path, PathBuf};

use catalog::Placeholders;
use model::{Bytes, Campaign, Contender, DiskState, MountIdentity};
use provision::{HeldDevice, LoopDevice, Workspace};
use wire::{Target, Volume};

/// What one cell works on.
pub enum CellStorage {
    /// A file behind a loop device, which is detached when this is dropped.
    Loop {
        /// Keeps the device attached.
        _device: LoopDevice,
        /// What the agent sees.
        volume: Box<Volume>,
    },
    /// A device of the user's, or none at all.
    Bare(Box<Volume>),
    /// A directory of the cell's own.
    Directory {
        /// Removes it when it is dropped.
        workspace: Workspace,
        /// The directory in which it lies.
        top: PathBuf,
        /// Where that has to be.
        mount: MountIdentity,
    },
}

impl CellStorage {
    /// It as the agent is told of it.
    pub fn target(&self) -> Target {
        match self {
            Self::Loop { volume, .. } | Self::Bare(volume) => Target::Volume(volume.clone()),
            Self::Directory {
                workspace,
                top,
                mount,
            } => Target::Directory {
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
pub fn on_device(
    campaign: &Campaign,
    contender: &Contender,
    device: &mut HeldDevice,
    mountpoint: PathBuf,
) -> anyhow::Result<CellStorage> {
    let (path, size) = (device.path().to_owned(), device.size());
    if device.is_block() {
        let state = device.ready()?;
        let place = state.map(|state| (path.as_path(), state));
        return Ok(CellStorage::Bare(volume(
            contender, place, size, mountpoint,
        )));
    }
    let attached = LoopDevice::over(&device.claim()?, &path)?;
    set_readahead(&attached, campaign)?;
    on_loop(contender, attached, size, mountpoint)
}

/// A file behind a loop device.
pub fn on_loop(
    contender: &Contender,
    device: LoopDevice,
    size: Bytes,
    mountpoint: PathBuf,
) -> anyhow::Result<CellStorage> {
    let place = Some((device.path(), device.state()?));
    let volume = volume(contender, place, size, mountpoint);
    Ok(CellStorage::Loop {
        _device: device,
        volume,
    })
}

/// The volume of a contender, with its command lines filled in.
pub fn volume(
    contender: &Contender,
    device: Option<(&Path, DiskState)>,
    size: Bytes,
    mountpoint: PathBuf,
) -> Box<Volume> {
    let (device, state) = device.unzip();
    let nodes: Vec<_> = device.iter().map(|d| d.to_string_lossy()).collect();
    let devices: Vec<&str> = nodes.iter().map(AsRef::as_ref).collect();
    // Without its path there is no agent either, and no cell is started.
    let program = std::env::current_exe().unwrap_or_default();
    let place = Placeholders {
        devices: &devices,
        mountpoint: &mountpoint.to_string_lossy(),
        size,
        fsarena: &program.to_string_lossy(),
    };
    let commands = catalog::resolve(contender, &place);
    Box::new(Volume {
        device: device.map(Path::to_owned),
        span: None,
        state,
        size,
        driver: contender.filesystem.driver,
        commands,
        mountpoint,
    })
}
