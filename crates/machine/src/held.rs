//! What a campaign works on and others use, too: taken by the rules of safety before anything is changed.

use std::path::Path;

use model::{Backend, Bytes, Campaign};
use nix::unistd::{AccessFlags, access};
use provision::{HeldDevice, HeldDirectory, Image, describe_storage};
use sys::trusted::Directory;

use crate::dialogue::{Dialogue, Erased};
use crate::error::Refused;
use crate::guests;
use crate::source::{self, HeldSource};

/// What a campaign works on that others use, too: held from the first look at it to the last cell.
#[derive(Default)]
pub struct Held {
    /// The device of the user's, where there is one.
    pub device: Option<HeldDevice>,
    /// What is copied from, where that is the user's.
    pub(crate) source: Option<HeldSource>,
    /// The directories that compete.
    pub(crate) directories: Vec<HeldDirectory>,
}

impl Held {
    /// Finds out whether the campaign can run here at all, and takes what it works on; changes nothing.
    ///
    /// `erase` is the device that the user has named a second time, to say that what it holds may be lost.
    pub fn take(
        campaign: &Campaign,
        erase: Option<&Path>,
        dialogue: &dyn Dialogue,
    ) -> anyhow::Result<Self> {
        require_root(campaign.backend)?;
        if campaign.backend == Backend::Dir {
            return Self::directories(campaign);
        }
        let device = campaign.device.as_ref();
        let device = device
            .map(|path| take_device(path, erase, dialogue))
            .transpose()?;
        Ok(Self {
            device,
            source: HeldSource::take(campaign)?,
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
            writable(directory)?;
            if nix::unistd::geteuid().is_root() {
                Directory::open(directory)?;
            }
            directories.push(HeldDirectory::take(directory)?);
        }
        Ok(Self {
            device: None,
            source: HeldSource::take(campaign)?,
            directories,
        })
    }
}

/// Whether a campaign that is new has where to work and room for its images; changes nothing.
pub fn inspect_place(campaign: &Campaign) -> anyhow::Result<()> {
    let existing = Directory::nearest(&campaign.work_dir)?;
    let existing = existing.path();
    writable(existing)?;
    if campaign.backend == Backend::Vm {
        return guests::inspect_place(campaign, existing);
    }
    if campaign.backend == Backend::Loop {
        let images = campaign
            .size
            .0
            .saturating_mul(u64::from(campaign.most_disks()));
        let own = campaign.device.is_none().then_some(Bytes(images));
        let second = source::image_size(campaign);
        let images = own.into_iter().chain(second).map(|size| size.0);
        Image::require_room(existing, Bytes(images.fold(0, u64::saturating_add)))?;
    }
    Ok(())
}

/// Takes a device by the rules of safety, and asks before one is taken that holds something.
///
/// # Errors
/// When it is refused, or the user says no.
pub fn take_device(
    path: &Path,
    erase: Option<&Path>,
    dialogue: &dyn Dialogue,
) -> anyhow::Result<HeldDevice> {
    let device = HeldDevice::take(path, erase)?;
    if let Some(content) = device.erases() {
        dialogue.allow_erasing(&Erased {
            device: device.path(),
            description: &describe_storage(device.path()),
            content,
        })?;
    }
    Ok(device)
}

/// Whoever may not mount can compare nothing on images and devices.
pub fn require_root(backend: Backend) -> Result<(), Refused> {
    if backend != Backend::Loop || nix::unistd::geteuid().is_root() {
        return Ok(());
    }
    let advice = "mounting needs root: use sudo, compare mounted directories (--dir), or use guests (--backend vm)";
    Err(Refused(advice.to_owned()))
}

/// Refuses a directory in which this user may not make anything.
///
/// # Errors
/// When it is one.
pub fn writable(directory: &Path) -> Result<(), Refused> {
    access(directory, AccessFlags::W_OK | AccessFlags::X_OK)
        .map_err(|error| Refused(format!("cannot write in {}: {error}", directory.display())))
}
