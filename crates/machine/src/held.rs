//! What a campaign works on and others use, too: taken by the rules of safety before anything is changed.

use std::path::Path;

use model::{BackendKind, Bytes, Campaign};
use nix::unistd::{AccessFlags, access};
use storage::{ExclusiveDevice, Image, PinnedDirectory, describe_storage};
use sys::safe_path::SafeDir;

use crate::error::EnvironmentError;
use crate::guests;
use crate::source::{self, SourceHandle};
use crate::user_prompt::{EraseRequest, UserPrompt};

/// What a campaign works on that others use, too: held from the first look at it to the last cell.
#[derive(Default)]
pub struct AcquiredResources {
    /// The device of the user's, where there is one.
    pub device: Option<ExclusiveDevice>,
    /// What is copied from, where that is the user's.
    pub(crate) source: Option<SourceHandle>,
    /// The directories that compete.
    pub(crate) directories: Vec<PinnedDirectory>,
}

impl AcquiredResources {
    /// Finds out whether the campaign can run here at all, and takes what it works on; changes nothing.
    ///
    /// `erase` is the device that the user has named a second time, to say that what it holds may be lost.
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
        let device = device
            .map(|path| acquire_device(path, erase, dialogue))
            .transpose()?;
        Ok(Self {
            device,
            source: SourceHandle::take(campaign)?,
            directories: Vec::new(),
        })
    }

    /// Of directories that are mounted already.
    fn directories(campaign: &Campaign) -> anyhow::Result<Self> {
        let mut directories = Vec::new();
        for directory in campaign
            .contenders
            .iter()
            .filter_map(|c| c.directory.as_deref())
        {
            require_writable(directory)?;
            if nix::unistd::geteuid().is_root() {
                SafeDir::open(directory)?;
            }
            directories.push(PinnedDirectory::open(directory)?);
        }
        Ok(Self {
            device: None,
            source: SourceHandle::take(campaign)?,
            directories,
        })
    }
}

/// Whether a campaign that is new has where to work and room for its images; changes nothing.
pub fn check_work_dir(campaign: &Campaign) -> anyhow::Result<()> {
    let existing = SafeDir::open_nearest_existing(&campaign.work_dir)?;
    let existing = existing.path();
    require_writable(existing)?;
    if campaign.backend == BackendKind::Vm {
        return guests::inspect_place(campaign, existing);
    }
    if campaign.backend == BackendKind::Loop {
        let images = campaign
            .size
            .0
            .saturating_mul(u64::from(campaign.max_disks()));
        let own = campaign.device.is_none().then_some(Bytes(images));
        let second = source::image_size(campaign);
        let images = own.into_iter().chain(second).map(|size| size.0);
        Image::check_free_space(existing, Bytes(images.fold(0, u64::saturating_add)))?;
    }
    Ok(())
}

/// Takes a device by the rules of safety, and asks before one is taken that holds something.
///
/// # Errors
/// When it is refused, or the user says no.
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

/// Whoever may not mount can compare nothing on images and devices.
pub fn require_root(backend: BackendKind) -> Result<(), EnvironmentError> {
    if backend != BackendKind::Loop || nix::unistd::geteuid().is_root() {
        return Ok(());
    }
    let advice = "mounting needs root: use sudo, compare mounted directories (--dir), or use guests (--backend vm)";
    Err(EnvironmentError(advice.to_owned()))
}

/// Refuses a directory in which this user may not make anything.
///
/// # Errors
/// When it is one.
pub fn require_writable(directory: &Path) -> Result<(), EnvironmentError> {
    access(directory, AccessFlags::W_OK | AccessFlags::X_OK).map_err(|error| {
        EnvironmentError(format!("cannot write in {}: {error}", directory.display()))
    })
}
