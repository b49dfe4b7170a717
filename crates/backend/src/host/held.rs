//! Devices, directories and sources that other programs may use too. They are checked by the safety
//! rules before any change.

use std::path::Path;

use model::{BackendKind, Bytes, Campaign};
use nix::unistd::{AccessFlags, access};
use storage::{ExclusiveDevice, Image, PinnedDirectory, describe_storage};
use sys::fs::safe_path::SafeDir;

use crate::error::EnvironmentError;
use crate::guests::resources as guests;
use crate::remote::user_prompt::{EraseRequest, UserPrompt};
use crate::source::{self, SourceHandle};

/// Devices, directories and sources of a campaign, held from the first check to the last cell.
#[derive(Default)]
pub struct AcquiredResources {
    /// The user's device, if any.
    pub device: Option<ExclusiveDevice>,
    /// The user's source, if any.
    pub(crate) source: Option<SourceHandle>,
    /// The mounted directories that the campaign compares.
    pub(crate) directories: Vec<PinnedDirectory>,
}

impl AcquiredResources {
    /// Checks whether the campaign can run here and claims its devices, directories and source.
    /// Changes nothing.
    ///
    /// `erase` is the device that the user has named a second time to permit the loss of its
    /// contents.
    pub fn acquire(
        campaign: &Campaign,
        erase: Option<&Path>,
        dialogue: &dyn UserPrompt,
    ) -> anyhow::Result<Self> {
        require_root(campaign.backend)?;
        if campaign.backend == BackendKind::Dir {
            return Self::directories(campaign);
        }
        let device = campaign.device.as_ref();
        let device = device.map(|path| acquire_device(path, erase, dialogue)).transpose()?;
        Ok(Self { device, source: SourceHandle::take(campaign)?, directories: Vec::new() })
    }

    /// Opens the mounted directories that the campaign compares.
    fn directories(campaign: &Campaign) -> anyhow::Result<Self> {
        let mut directories = Vec::new();
        for directory in campaign.contenders.iter().filter_map(|c| c.directory.as_deref()) {
            require_writable(directory)?;
            if nix::unistd::geteuid().is_root() {
                SafeDir::open(directory)?;
            }
            directories.push(PinnedDirectory::open(directory)?);
        }
        Ok(Self { device: None, source: SourceHandle::take(campaign)?, directories })
    }
}

/// Checks that a new campaign has a writable work directory with enough space for its images.
/// Changes nothing.
pub fn check_work_dir(campaign: &Campaign) -> anyhow::Result<()> {
    let existing = SafeDir::open_nearest_existing(&campaign.work_dir)?;
    let existing = existing.path();
    require_writable(existing)?;
    if campaign.backend == BackendKind::Vm {
        return guests::inspect_place(campaign, existing);
    }
    if campaign.backend == BackendKind::Loop {
        let images = campaign.size.0.saturating_mul(u64::from(campaign.max_disks()));
        let own = campaign.device.is_none().then_some(Bytes(images));
        let second = source::image_size(campaign);
        let images = own.into_iter().chain(second).map(|size| size.0);
        Image::check_free_space(existing, Bytes(images.fold(0, u64::saturating_add)))?;
    }
    Ok(())
}

/// Claims a device by the safety rules. Asks for confirmation if the device has contents.
///
/// # Errors
/// Returns an error if the rules or the user refuse the device.
pub fn acquire_device(
    path: &Path,
    erase: Option<&Path>,
    dialogue: &dyn UserPrompt,
) -> anyhow::Result<ExclusiveDevice> {
    let device = ExclusiveDevice::acquire(path, erase)?;
    if let Some(content) = device.erases() {
        dialogue.confirm_erase(&EraseRequest {
            device: device.path(),
            description: &describe_storage(device.path()),
            content,
        })?;
    }
    Ok(device)
}

/// Refuses images and devices without root, because they must be mounted.
pub fn require_root(backend: BackendKind) -> Result<(), EnvironmentError> {
    if backend != BackendKind::Loop || nix::unistd::geteuid().is_root() {
        return Ok(());
    }
    let advice = "mounting needs root: use sudo, compare mounted directories (--dir), or use guests (--backend vm)";
    Err(EnvironmentError(advice.to_owned()))
}

/// Checks that this user can create files in a directory.
///
/// # Errors
/// Returns an error if the directory is not writable.
pub fn require_writable(directory: &Path) -> Result<(), EnvironmentError> {
    access(directory, AccessFlags::W_OK | AccessFlags::X_OK).map_err(|error| {
        EnvironmentError(format!("cannot write in {}: {error}", directory.display()))
    })
}
