//! Storage of cells: an image, a device or mounted directories. Prepared once for a campaign,
//! passed to each cell, and restored at the end.

use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::Executor;
use anyhow::Context;
use campaign::run::StopFlag;
use model::{
    BackendKind, Bytes, Campaign, CampaignId, Cell, Contender, CopySource, DiskIdentity,
    Environment, HostSetting, Test,
};
use storage::{
    CellMountDir, DeviceRefusal, EnvironmentContext, ExclusiveDevice, Image, LoopDevice,
    PinnedDirectory, circumstances, conditions_of_storage, describe_storage,
};

use crate::archives;
use crate::calibration::{RawDeviceHandle, RawDeviceSubject};
use crate::cell::cell_storage::{CellStorage, for_device, for_loops, set_readahead, volume};
use crate::compatibility;
use crate::error::{self, EnvironmentError};
use crate::host::cache_lock::CacheLock;
use crate::host::campaign_dir::{CampaignDir, RELEASE, unique_name};
use crate::host::held::AcquiredResources;
use crate::host::images;
use crate::remote::user_prompt::UserPrompt;
use crate::source::{self, SourceHandle};

/// Storage of a campaign.
pub struct CampaignStorage {
    id: CampaignId,
    kind: StorageKind,
    /// Whether a user's device is in use by a cell or a calibration.
    in_use: bool,
    place: Option<CampaignDir>,
    attachment: Attachment,
    /// Source of the files that cells copy.
    source: Option<CopySourceHandle>,
    /// Directory with the archives for commands.
    archives: Option<PathBuf>,
    /// Lock for emptying the caches of the machine, which cells with cold caches do.
    _caches: Option<CacheLock>,
}

/// Describes how cells access their storage.
struct Attachment {
    /// Text for reports.
    words: String,
    /// Conditions that affect its performance.
    conditions: Vec<HostSetting>,
}

/// Source of the files that cells copy.
enum CopySourceHandle {
    /// A user's source.
    Held(SourceHandle),
    /// A user's source.
    Image { image: Image, filled: Option<LoopDevice> },
}

enum StorageKind {
    /// Images of the campaign, as many as a cell can use, and the number of the next one, in case
    /// one must be replaced.
    Images { images: Vec<Image>, next: u32 },
    /// A user's device or image.
    Device(Box<ExclusiveDevice>),
    /// Mounted directories.
    Directories(Vec<PinnedDirectory>),
}

impl CampaignStorage {
    /// Prepares the resources of all cells and locks the campaign for this process.
    pub fn prepare(
        id: CampaignId,
        campaign: &Campaign,
        held: AcquiredResources,
        dialogue: &dyn UserPrompt,
        stop: &StopFlag,
    ) -> anyhow::Result<Self> {
        let place = CampaignDir::acquire(campaign, id)?;
        let archives = archives(campaign, &place, dialogue, stop)?;
        if campaign.backend == BackendKind::Dir {
            let attachment = Attachment {
                words: "a directory of a mounted filesystem".to_owned(),
                conditions: of_directories(campaign),
            };
            for caution in attachment.conditions.iter().filter(|c| c.is_caution()) {
                dialogue.note(&format!("careful: {}: {}", caution.name, caution.value));
            }
            return Ok(Self {
                id,
                kind: StorageKind::Directories(held.directories),
                in_use: false,
                place: Some(place),
                attachment,
                source: held.source.map(CopySourceHandle::Held),
                archives,
                _caches: None,
            });
        }
        let mut tests = campaign.suites.iter().flat_map(|suite| &suite.tests);
        let caches = match tests.any(|test| !test.phases.is_empty()) {
            true => {
                let own =
                    format!("campaign {id} “{}”", campaign.name.replace(char::is_control, " "));
                CacheLock::take(&own, &|line| dialogue.note(line), stop)?
            }
            false => None,
        };
        let mut kind = match held.device {
            Some(device) => {
                if let Some(sight) = device.scan_coverage() {
                    let path = device.path().display();
                    dialogue.note(&format!("{path} looks blank: {}", sight.describe()));
                }
                StorageKind::Device(Box::new(device))
            }
            None => {
                let images = images::create_images(campaign, &place, dialogue, stop)?;
                let next = campaign.max_disks();
                StorageKind::Images { images, next }
            }
        };
        let attachment = attachment(&mut kind, campaign)?;
        let second = source::image_size(campaign).map(|size| {
            let image = images::make(&place.source_image(), size, dialogue, stop)?;
            Ok::<_, anyhow::Error>(CopySourceHandle::Image { image, filled: None })
        });
        let source = match second {
            Some(image) => Some(image?),
            None => held.source.map(CopySourceHandle::Held),
        };
        Ok(Self {
            id,
            kind,
            in_use: false,
            place: Some(place),
            attachment,
            source,
            archives,
            _caches: caches,
        })
    }

    /// Returns the directory with the archives for commands, if the campaign has any.
    pub fn archives(&self) -> Option<PathBuf> {
        self.archives.clone()
    }

    /// Returns the environment of the campaign for the record.
    pub fn environment(&self, campaign: &Campaign) -> Environment {
        let setting = EnvironmentContext {
            program: env!("CARGO_PKG_VERSION").to_owned(),
            device: self.storage(campaign),
            disk: self.disk(),
            attachment: self.attachment.words.clone(),
            conditions: self.conditions(campaign),
            clock: campaign.clock.name().to_owned(),
        };
        storage::collect(setting, campaign.contenders.iter().map(|c| &c.filesystem))
    }

    /// Returns the conditions that affect performance, including the source.
    fn conditions(&self, campaign: &Campaign) -> Vec<HostSetting> {
        let storage = self.source.as_ref().map(|source| match source {
            CopySourceHandle::Held(held) => held.storage(),
            CopySourceHandle::Image { image, .. } => describe_storage(image.path()),
        });
        let source = campaign.source.as_ref().zip(storage);
        let source = source.map(|(source, on)| source::condition(source, &on));
        let own = self.attachment.conditions.iter().cloned();
        own.chain(source).collect()
    }

    /// Fills the second image, if any, with the files that the tests copy. Runs a cell that is not
    /// part of the campaign.
    ///
    /// # Errors
    /// Returns an error if the image cannot be filled or the user asks to stop.
    pub fn fill_source(
        &mut self,
        campaign: &Campaign,
        executor: &mut dyn Executor,
        dialogue: &dyn UserPrompt,
    ) -> anyhow::Result<()> {
        let (
            Some(CopySourceHandle::Image { image, filled }),
            Some(CopySource::Image { contender, .. }),
        ) = (&mut self.source, &campaign.source)
        else {
            return Ok(());
        };
        let place = self.place.as_ref();
        let mountpoint = place.context("the work directory is not taken")?.mountpoint()?;
        dialogue.note(&format!("filling {} to copy from", source::describe(campaign)));
        let device = LoopDevice::attach(image.path())?;
        let storage = for_loops(contender, vec![device], None, mountpoint)?;
        source::write_source_image(campaign, storage.target(), executor)?;
        drop(storage);
        if storage::is_loop_attached(image.path(), RELEASE) {
            return Err(EnvironmentError(
                "cannot detach the second image: the kernel still uses it".into(),
            )
            .into());
        }
        let backing = File::open(image.path())?;
        let device = LoopDevice::attach_read_only(&backing, image.path())?;
        set_readahead(&device, campaign)?;
        *filled = Some(device);
        Ok(())
    }

    /// Returns the source for a cell. Returns `None` if its test does not copy.
    pub fn source(
        &self,
        campaign: &Campaign,
        test: &Test,
    ) -> anyhow::Result<Option<model::wire::SourceMount>> {
        let (Some(supply), Some(source)) = (&self.source, &campaign.source) else {
            return Ok(None);
        };
        if !source::needs_source(test) {
            return Ok(None);
        }
        let place = self.place.as_ref().context("the work directory is not taken")?;
        let mounts = campaign.backend == BackendKind::Loop;
        let at = mounts.then(|| place.source_mountpoint()).transpose()?;
        let (place, prefix) = match (supply, at) {
            (CopySourceHandle::Held(held), at) => (held.place(at)?, None),
            (CopySourceHandle::Image { filled, .. }, Some(at)) => {
                let device = filled.as_ref().context("the second image is not filled")?;
                let place = source::device_place(device.path(), at)?;
                (place, Some(model::wire::source_prefix(test)))
            }
            (CopySourceHandle::Image { .. }, None) => {
                anyhow::bail!("a second image is mounted by cells")
            }
        };
        Ok(Some(model::wire::SourceMount { place, prefix, contents: source.contents().cloned() }))
    }

    fn disk(&self) -> Option<DiskIdentity> {
        match &self.kind {
            StorageKind::Device(device) => device.identity().cloned(),
            StorageKind::Images { .. } | StorageKind::Directories(_) => None,
        }
    }

    fn storage(&self, campaign: &Campaign) -> String {
        let directories = || campaign.contenders.iter().filter_map(|c| c.directory.as_deref());
        match &self.kind {
            StorageKind::Images { images, .. } => {
                let below = describe_storage(images[0].path());
                match images.len() {
                    1 => format!("image of {}: {below}", campaign.size),
                    count => format!("{count} images of {} on one disk: {below}", campaign.size),
                }
            }
            StorageKind::Device(device) => describe_storage(device.path()),
            StorageKind::Directories(_) => {
                directories().map(describe_storage).collect::<Vec<_>>().join("; ")
            }
        }
    }

    /// Returns the subject of a calibration: the storage of the cells, as a raw device.
    pub fn calibration_subject(&mut self, campaign: &Campaign) -> RawDeviceSubject {
        let mut filesystems = campaign.contenders.iter().map(|c| &c.filesystem);
        if campaign.backend == BackendKind::Dir {
            return RawDeviceSubject::Nothing(
                "mounted directories show no device without a filesystem".into(),
            );
        }
        if !filesystems.any(|filesystem| filesystem.commands.need_device()) {
            return RawDeviceSubject::Nothing("every contender lives in memory".into());
        }
        match self.raw(campaign) {
            Ok(raw) => RawDeviceSubject::Device(Box::new(raw)),
            Err(error) => RawDeviceSubject::Nothing(error::error_chain(&error)),
        }
    }

    fn raw(&mut self, campaign: &Campaign) -> anyhow::Result<RawDeviceHandle> {
        self.replace_held_images()?;
        let what = self.storage(campaign);
        match &mut self.kind {
            StorageKind::Images { images, .. } => Ok(RawDeviceHandle {
                written: true,
                ..RawDeviceHandle::from_loop(LoopDevice::attach(images[0].path())?, &what)?
            }),
            StorageKind::Device(device) => {
                self.in_use = true;
                RawDeviceHandle::from_device(device, what)
            }
            StorageKind::Directories(_) => anyhow::bail!("there is no device"),
        }
    }

    /// Records that a cell or calibration with write access to a user's device has ended.
    pub fn record_use(&mut self) {
        let StorageKind::Device(device) = &mut self.kind else {
            return;
        };
        if !std::mem::take(&mut self.in_use) {
            // fsarena itself did not write to it, so later changes come from another program.
            return;
        }
        if !device.is_block() {
            // The loop device may write to the file until the kernel releases it. If that takes
            // longer, the next cell notices.
            storage::is_loop_attached(device.path(), RELEASE);
        }
        device.record_write();
    }

    /// Prepares the storage of a cell. An error here is a result of the cell.
    pub fn for_cell(
        &mut self,
        campaign: &Campaign,
        cell: &Cell,
        test: &Test,
    ) -> anyhow::Result<CellStorage> {
        let contender = campaign.contenders.iter().find(|c| c.name == cell.contender);
        let contender = contender.with_context(|| format!("no contender `{}`", cell.contender))?;
        if let Some(misfit) = compatibility::misfit(campaign, contender, test, self.device_size())?
        {
            return Err(misfit.into());
        }
        if let Some(misfit) = compatibility::check_raid0(campaign, contender, test) {
            return Err(misfit.into());
        }
        self.check_exists()?;
        if let Some(directory) = &contender.directory {
            let name = unique_name(campaign, self.id);
            let held = self.held(directory)?;
            return Ok(CellStorage::Directory {
                workspace: CellMountDir::create(directory, &name, cell.id)?,
                top: directory.clone(),
                mount: held.identity(),
            });
        }
        let place = self.place.as_ref().context("the work directory is not taken")?;
        let mountpoint = place.mountpoint()?;
        if !contender.filesystem.commands.need_device() {
            return Ok(CellStorage::Device(volume(
                contender,
                &[],
                None,
                campaign.size,
                mountpoint,
            )));
        }
        self.replace_held_images()?;
        match &mut self.kind {
            StorageKind::Images { images, .. } => {
                let count = campaign.disk_count_for(contender, test) as usize;
                let devices = images.iter().take(count).map(|image| {
                    let device = LoopDevice::attach(image.path())?;
                    set_readahead(&device, campaign)?;
                    Ok(device)
                });
                let devices = devices.collect::<anyhow::Result<_>>()?;
                for_loops(contender, devices, campaign.readahead, mountpoint)
            }
            StorageKind::Device(device) => {
                let storage = for_device(campaign, contender, device, mountpoint)?;
                self.in_use = true;
                Ok(storage)
            }
            StorageKind::Directories(_) => anyhow::bail!("{} has no device", contender.name),
        }
    }

    /// Returns the image for a cell with an aged contender, if the test fits on it. Returns `None`
    /// for a user's device, several images, or a replacement of an image that is still mounted
    /// (both filesystems could have the same name).
    pub fn image_to_age(
        &mut self,
        campaign: &Campaign,
        contender: &Contender,
        test: &Test,
    ) -> anyhow::Result<Option<Image>> {
        let fits = compatibility::misfit(campaign, contender, test, self.device_size())?.is_none();
        let several = campaign.disk_count_for(contender, test) > 1;
        if !fits || several || !contender.filesystem.commands.need_device() {
            return Ok(None);
        }
        self.check_exists()?;
        self.replace_held_images()?;
        match &self.kind {
            StorageKind::Images { images, next } if *next as usize == images.len() => {
                Ok(Some(images[0].clone()))
            }
            StorageKind::Images { .. } | StorageKind::Device(_) | StorageKind::Directories(_) => {
                Ok(None)
            }
        }
    }

    /// Checks that the files of the campaign still exist.
    ///
    /// # Errors
    /// Returns an error if one is missing.
    pub fn check_exists(&self) -> Result<(), DeviceRefusal> {
        if let Some(place) = &self.place {
            place.check_exists()?;
        }
        match &self.kind {
            StorageKind::Images { images, .. } => {
                images.iter().try_for_each(Image::check_unchanged)
            }
            StorageKind::Device(_) | StorageKind::Directories(_) => Ok(()),
        }
    }

    fn device_size(&self) -> Option<Bytes> {
        match &self.kind {
            StorageKind::Device(device) => Some(device.size()),
            StorageKind::Images { .. } | StorageKind::Directories(_) => None,
        }
    }

    /// Returns a claimed directory. Returns an error if it has moved.
    fn held(&self, path: &Path) -> anyhow::Result<&PinnedDirectory> {
        let StorageKind::Directories(held) = &self.kind else {
            anyhow::bail!("{} was not taken", path.display());
        };
        let directory = held.iter().find(|held| held.path() == path);
        let directory = directory.with_context(|| format!("{} was not taken", path.display()))?;
        directory.check_unchanged()?;
        Ok(directory)
    }

    /// Replaces images that an unkillable cell still holds. Waits for unmounts that the kernel
    /// completes after a kill.
    fn replace_held_images(&mut self) -> anyhow::Result<()> {
        let (StorageKind::Images { images, next }, Some(place)) = (&mut self.kind, &self.place)
        else {
            return Ok(());
        };
        place.stop_stripes();
        for image in images {
            if !storage::is_loop_attached(image.path(), RELEASE) {
                continue;
            }
            *image = Image::prepare(&place.image(*next), image.size(), &mut |_| {
                ControlFlow::Continue(())
            })?;
            *next += 1;
        }
        Ok(())
    }

    /// Removes everything left by a killed run.
    pub fn remove_stale(id: CampaignId, campaign: &Campaign) -> anyhow::Result<()> {
        if CampaignDir::directory(campaign, id).exists() {
            let place = CampaignDir::acquire(campaign, id)?;
            for directory in campaign.contenders.iter().filter_map(|c| c.directory.as_ref()) {
                CellMountDir::remove_stale(directory, &unique_name(campaign, id))?;
            }
            place.remove()?;
        }
        Ok(())
    }

    /// Removes all files created for the campaign.
    pub fn clean_up(&mut self) -> anyhow::Result<()> {
        Ok(self.place.take().map_or(Ok(()), |place| place.remove())?)
    }
}

/// Determines how cells will be attached to the storage, by attaching a device once.
fn attachment(kind: &mut StorageKind, campaign: &Campaign) -> anyhow::Result<Attachment> {
    let attached = match kind {
        StorageKind::Images { images, .. } => LoopDevice::attach(images[0].path())?,
        StorageKind::Device(device) if !device.is_block() => {
            LoopDevice::attach_file(&device.claim()?, device.path())?
        }
        StorageKind::Device(device) => {
            return Ok(Attachment {
                words: "the device itself".to_owned(),
                conditions: conditions_of_storage(device.path()),
            });
        }
        StorageKind::Directories(_) => anyhow::bail!("directories are not attached"),
    };
    set_readahead(&attached, campaign)?;
    Ok(Attachment {
        words: attached.attachment().to_owned(),
        conditions: conditions_of_storage(attached.path()),
    })
}

/// Returns the conditions of each directory, because directories may be located on different disks.
fn of_directories(campaign: &Campaign) -> Vec<HostSetting> {
    let contenders = campaign.contenders.iter();
    let conditions = contenders.filter_map(|contender| {
        let found = conditions_of_storage(contender.directory.as_deref()?).into_iter();
        let name = &contender.name;
        Some(found.map(move |c| HostSetting::new(&format!("{} of {name}", c.name), c.value)))
    });
    let own = campaign.contenders.iter();
    let own: Vec<(&str, &Path)> =
        own.filter_map(|c| Some((c.name.as_str(), c.directory.as_deref()?))).collect();
    circumstances(&own).into_iter().chain(conditions.flatten()).collect()
}

/// Links the archives of a campaign in its directory, if it has any.
fn archives(
    campaign: &Campaign,
    place: &CampaignDir,
    dialogue: &dyn UserPrompt,
    stop: &StopFlag,
) -> anyhow::Result<Option<PathBuf>> {
    let held = archives::campaign_archives(campaign, stop, &mut |text| dialogue.note(text))?;
    if held.is_empty() {
        return Ok(None);
    }
    let directory = place.archives();
    archives::link_into(&held, &directory)?;
    Ok(Some(directory))
}
