//! What cells are put on: an image, a device or mounted directories; prepared once for a campaign, given to each
//! cell, and left as it was found.

use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::Context;
use model::{
    Backend, Bytes, Campaign, CampaignId, Cell, Condition, Contender, DiskIdentity, Environment,
    Source, Test,
};
use orchestrate::Stop;
use provision::{
    EnvironmentParts, HeldDevice, HeldDirectory, Image, LoopDevice, Refusal, Workspace,
    conditions_of_storage, describe_storage,
};
use run::Executor;

use crate::archives;
use crate::cache_lock::CacheLock;
use crate::calibration::{Raw, Subject};
use crate::cell_storage::{CellStorage, on_device, on_loops, set_readahead, volume};
use crate::dialogue::Dialogue;
use crate::error::{self, Refused};
use crate::fit;
use crate::held::Held;
use crate::images;
use crate::source::{self, HeldSource};
use crate::work_place::{RELEASE, WorkPlace, unique_name};

/// What a campaign works on.
pub struct Storage {
    id: CampaignId,
    kind: Kind,
    /// Whether a device of the user's was given to a cell, or a calibration, that is not over.
    in_use: bool,
    place: Option<WorkPlace>,
    attachment: Attachment,
    /// What cells copy from.
    source: Option<Supply>,
    /// Where archives lie that commands unpack.
    archives: Option<PathBuf>,
    /// Cells with cold caches empty those of the whole machine.
    _caches: Option<CacheLock>,
}

/// How cells are attached to what they are put on.
struct Attachment {
    /// In the words of a report.
    words: String,
    /// What decides about its speed.
    conditions: Vec<Condition>,
}

/// What cells copy from.
enum Supply {
    /// What is the user's.
    Held(HeldSource),
    /// A second image; behind a loop device that takes no writes once it is filled.
    Image {
        image: Image,
        filled: Option<LoopDevice>,
    },
}

enum Kind {
    /// Images of our own, as many as a cell has disks at most; and the number of the next one, where one has to be given
    /// up.
    Images { images: Vec<Image>, next: u32 },
    /// A device or image of the user's.
    Device(Box<HeldDevice>),
    /// Directories that are mounted already.
    Directories(Vec<HeldDirectory>),
}

impl Storage {
    /// Makes ready what every cell needs, and takes the campaign for this process alone.
    pub fn prepare(
        id: CampaignId,
        campaign: &Campaign,
        held: Held,
        dialogue: &dyn Dialogue,
        stop: &Stop,
    ) -> anyhow::Result<Self> {
        let place = WorkPlace::take(campaign, id)?;
        let archives = archives(campaign, &place, dialogue, stop)?;
        if campaign.backend == Backend::Dir {
            let attachment = Attachment {
                words: "a directory of a mounted filesystem".to_owned(),
                conditions: of_directories(campaign),
            };
            return Ok(Self {
                id,
                kind: Kind::Directories(held.directories),
                in_use: false,
                place: Some(place),
                attachment,
                source: held.source.map(Supply::Held),
                archives,
                _caches: None,
            });
        }
        let caches = CacheLock::take(&|line| dialogue.note(line), stop)?;
        let mut kind = match held.device {
            Some(device) => {
                if let Some(sight) = device.sight() {
                    let path = device.path().display();
                    dialogue.note(&format!("{path} looks blank: {}", sight.words()));
                }
                Kind::Device(Box::new(device))
            }
            None => {
                let images = images::for_each_disk(campaign, &place, dialogue, stop)?;
                let next = campaign.most_disks();
                Kind::Images { images, next }
            }
        };
        let attachment = attachment(&mut kind, campaign)?;
        let second = source::image_size(campaign).map(|size| {
            let image = images::make(&place.source_image(), size, dialogue, stop)?;
            Ok::<_, anyhow::Error>(Supply::Image {
                image,
                filled: None,
            })
        });
        let source = match second {
            Some(image) => Some(image?),
            None => held.source.map(Supply::Held),
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

    /// Where archives lie that commands unpack, where there are any.
    pub fn archives(&self) -> Option<PathBuf> {
        self.archives.clone()
    }

    /// What the campaign runs on, for the record.
    pub fn environment(&self, campaign: &Campaign) -> Environment {
        let setting = EnvironmentParts {
            program: env!("CARGO_PKG_VERSION").to_owned(),
            device: self.storage(campaign),
            disk: self.disk(),
            attachment: self.attachment.words.clone(),
            conditions: self.conditions(campaign),
            clock: campaign.clock.name().to_owned(),
        };
        provision::collect(setting, campaign.contenders.iter().map(|c| &c.filesystem))
    }

    /// What decides about speed, and what is copied from.
    fn conditions(&self, campaign: &Campaign) -> Vec<Condition> {
        let storage = self.source.as_ref().map(|source| match source {
            Supply::Held(held) => held.storage(),
            Supply::Image { image, .. } => describe_storage(image.path()),
        });
        let source = campaign.source.as_ref().zip(storage);
        let source = source.map(|(source, on)| source::condition(source, &on));
        let own = self.attachment.conditions.iter().cloned();
        own.chain(source).collect()
    }

    /// Fills the second image, where there is one, with what the tests copy from it: through a cell that is none of the
    /// campaign's.
    ///
    /// # Errors
    /// When it cannot be filled, or the user asks to stop.
    pub fn fill_source(
        &mut self,
        campaign: &Campaign,
        executor: &mut dyn Executor,
        dialogue: &dyn Dialogue,
    ) -> anyhow::Result<()> {
        let (Some(Supply::Image { image, filled }), Some(Source::Image { contender, .. })) =
            (&mut self.source, &campaign.source)
        else {
            return Ok(());
        };
        let place = self.place.as_ref();
        let mountpoint = place
            .context("the work directory is not taken")?
            .mountpoint()?;
        dialogue.note(&format!("filling {} to copy from", source::words(campaign)));
        let device = LoopDevice::attach(image.path())?;
        let storage = on_loops(contender, vec![device], None, image.size(), mountpoint)?;
        source::fill(campaign, storage.target(), executor)?;
        drop(storage);
        if provision::is_attached(image.path(), RELEASE) {
            return Err(Refused("the second image is not let go of by the kernel".into()).into());
        }
        let backing = File::open(image.path())?;
        let device = LoopDevice::read_only(&backing, image.path())?;
        set_readahead(&device, campaign)?;
        *filled = Some(device);
        Ok(())
    }

    /// What a cell copies from, where its test copies in anything.
    pub fn source(&self, campaign: &Campaign, test: &Test) -> anyhow::Result<Option<wire::Source>> {
        let (Some(supply), Some(source)) = (&self.source, &campaign.source) else {
            return Ok(None);
        };
        if !source::copies_in(test) {
            return Ok(None);
        }
        let place = self
            .place
            .as_ref()
            .context("the work directory is not taken")?;
        let mounts = campaign.backend == Backend::Loop;
        let at = mounts.then(|| place.source_mountpoint()).transpose()?;
        let (place, prefix) = match (supply, at) {
            (Supply::Held(held), at) => (held.place(at)?, None),
            (Supply::Image { filled, .. }, Some(at)) => {
                let device = filled.as_ref().context("the second image is not filled")?;
                let place = source::device_place(device.path(), at)?;
                (place, Some(wire::source_prefix(test)))
            }
            (Supply::Image { .. }, None) => anyhow::bail!("a second image is mounted by cells"),
        };
        Ok(Some(wire::Source {
            place,
            prefix,
            contents: source.contents().cloned(),
        }))
    }

    fn disk(&self) -> Option<DiskIdentity> {
        match &self.kind {
            Kind::Device(device) => device.identity().cloned(),
            Kind::Images { .. } | Kind::Directories(_) => None,
        }
    }

    fn storage(&self, campaign: &Campaign) -> String {
        let directories = || {
            campaign
                .contenders
                .iter()
                .filter_map(|c| c.directory.as_deref())
        };
        match &self.kind {
            Kind::Images { images, .. } => {
                let below = describe_storage(images[0].path());
                match images.len() {
                    1 => format!("image of {}: {below}", campaign.size),
                    count => format!("{count} images of {} on one disk: {below}", campaign.size),
                }
            }
            Kind::Device(device) => describe_storage(device.path()),
            Kind::Directories(_) => directories()
                .map(describe_storage)
                .collect::<Vec<_>>()
                .join("; "),
        }
    }

    /// What a calibration measures as the raw device: what cells are put on.
    pub fn subject(&mut self, campaign: &Campaign) -> Subject {
        let mut filesystems = campaign.contenders.iter().map(|c| &c.filesystem);
        if campaign.backend == Backend::Dir {
            return Subject::Nothing(
                "mounted directories show no device without a filesystem".into(),
            );
        }
        if !filesystems.any(|filesystem| filesystem.commands.need_device()) {
            return Subject::Nothing("every contender lives in memory".into());
        }
        match self.raw(campaign) {
            Ok(raw) => Subject::Device(Box::new(raw)),
            Err(error) => Subject::Nothing(error::whole(&error)),
        }
    }

    fn raw(&mut self, campaign: &Campaign) -> anyhow::Result<Raw> {
        self.replace_held_images()?;
        let what = self.storage(campaign);
        match &mut self.kind {
            Kind::Images { images, .. } => Ok(Raw {
                written: true,
                ..Raw::on_loop(LoopDevice::attach(images[0].path())?, campaign.size, &what)?
            }),
            Kind::Device(device) => {
                self.in_use = true;
                Raw::of(device, what)
            }
            Kind::Directories(_) => anyhow::bail!("there is no device"),
        }
    }

    /// Takes note that a cell, or a calibration, is over that wrote to a device of the user's.
    pub fn used(&mut self) {
        let Kind::Device(device) = &mut self.kind else {
            return;
        };
        if !std::mem::take(&mut self.in_use) {
            // Whatever was written to it meanwhile was not written by fsarena.
            return;
        }
        if !device.is_block() {
            // Until the loop device lets go of the file, it may write to it; what holds it longer is seen by the
            // next cell.
            provision::is_attached(device.path(), RELEASE);
        }
        device.wrote();
    }

    /// What a cell works on; an error here is a result of the cell.
    pub fn of_cell(
        &mut self,
        campaign: &Campaign,
        cell: &Cell,
        test: &Test,
    ) -> anyhow::Result<CellStorage> {
        let contender = campaign
            .contenders
            .iter()
            .find(|c| c.name == cell.contender);
        let contender = contender.with_context(|| format!("no contender `{}`", cell.contender))?;
        if let Some(misfit) = fit::misfit(campaign, contender, test, self.device_size())? {
            return Err(misfit.into());
        }
        if let Some(misfit) = fit::unstriped(campaign, contender, test) {
            return Err(misfit.into());
        }
        self.require_there()?;
        if let Some(directory) = &contender.directory {
            let name = unique_name(campaign, self.id);
            let held = self.held(directory)?;
            return Ok(CellStorage::Directory {
                workspace: Workspace::create(directory, &name, cell.id)?,
                top: directory.clone(),
                mount: held.identity(),
            });
        }
        let place = self
            .place
            .as_ref()
            .context("the work directory is not taken")?;
        let mountpoint = place.mountpoint()?;
        if !contender.filesystem.commands.need_device() {
            return Ok(CellStorage::Bare(volume(
                contender,
                &[],
                None,
                campaign.size,
                mountpoint,
            )));
        }
        self.replace_held_images()?;
        match &mut self.kind {
            Kind::Images { images, .. } => {
                let count = campaign.disks_of(contender, test) as usize;
                let devices = images.iter().take(count).map(|image| {
                    let device = LoopDevice::attach(image.path())?;
                    set_readahead(&device, campaign)?;
                    Ok(device)
                });
                let devices = devices.collect::<anyhow::Result<_>>()?;
                on_loops(
                    contender,
                    devices,
                    campaign.readahead,
                    campaign.size,
                    mountpoint,
                )
            }
            Kind::Device(device) => {
                let storage = on_device(campaign, contender, device, mountpoint)?;
                self.in_use = true;
                Ok(storage)
            }
            Kind::Directories(_) => anyhow::bail!("{} has no device", contender.name),
        }
    }

    /// The image of the campaign's own for a cell whose contender is aged there, where the test fits on it. One in the
    /// place of an image that is still mounted somewhere is none: that one's filesystem may have the same name. A state
    /// on several images is not kept.
    pub fn image_to_age(
        &mut self,
        campaign: &Campaign,
        contender: &Contender,
        test: &Test,
    ) -> anyhow::Result<Option<Image>> {
        let fits = fit::misfit(campaign, contender, test, self.device_size())?.is_none();
        let several = campaign.disks_of(contender, test) > 1;
        if !fits || several || !contender.filesystem.commands.need_device() {
            return Ok(None);
        }
        self.require_there()?;
        self.replace_held_images()?;
        match &self.kind {
            Kind::Images { images, next } if *next as usize == images.len() => {
                Ok(Some(images[0].clone()))
            }
            Kind::Images { .. } | Kind::Device(_) | Kind::Directories(_) => Ok(None),
        }
    }

    /// Whether what was made for the campaign is still there.
    ///
    /// # Errors
    /// When it is not.
    pub fn require_there(&self) -> Result<(), Refusal> {
        if let Some(place) = &self.place {
            place.require_there()?;
        }
        match &self.kind {
            Kind::Images { images, .. } => images.iter().try_for_each(Image::require_there),
            Kind::Device(_) | Kind::Directories(_) => Ok(()),
        }
    }

    fn device_size(&self) -> Option<Bytes> {
        match &self.kind {
            Kind::Device(device) => Some(device.size()),
            Kind::Images { .. } | Kind::Directories(_) => None,
        }
    }

    /// A directory that competes, which has to be where it was.
    fn held(&self, path: &Path) -> anyhow::Result<&HeldDirectory> {
        let Kind::Directories(held) = &self.kind else {
            anyhow::bail!("{} was not taken", path.display());
        };
        let directory = held.iter().find(|held| held.path() == path);
        let directory = directory.with_context(|| format!("{} was not taken", path.display()))?;
        directory.require_there()?;
        Ok(directory)
    }

    /// Gives up images that a cell which cannot be killed still holds, for new ones; an unmount
    /// that a kill left to the kernel is waited for.
    fn replace_held_images(&mut self) -> anyhow::Result<()> {
        let (Kind::Images { images, next }, Some(place)) = (&mut self.kind, &self.place) else {
            return Ok(());
        };
        place.stop_stripes();
        for image in images {
            if !provision::is_attached(image.path(), RELEASE) {
                continue;
            }
            *image = Image::prepare(&place.image(*next), image.size(), &mut |_| {
                ControlFlow::Continue(())
            })?;
            *next += 1;
        }
        Ok(())
    }

    /// Removes what a run has left that was killed.
    pub fn sweep(id: CampaignId, campaign: &Campaign) -> anyhow::Result<()> {
        if WorkPlace::directory(campaign, id).exists() {
            let place = WorkPlace::take(campaign, id)?;
            for directory in campaign
                .contenders
                .iter()
                .filter_map(|c| c.directory.as_ref())
            {
                Workspace::remove_left(directory, &unique_name(campaign, id))?;
            }
            place.remove()?;
        }
        Ok(())
    }

    /// Removes everything that was made for the campaign.
    pub fn clear(&mut self) -> anyhow::Result<()> {
        Ok(self.place.take().map_or(Ok(()), |place| place.remove())?)
    }
}

/// How cells will be attached, found out by attaching once.
fn attachment(kind: &mut Kind, campaign: &Campaign) -> anyhow::Result<Attachment> {
    let attached = match kind {
        Kind::Images { images, .. } => LoopDevice::attach(images[0].path())?,
        Kind::Device(device) if !device.is_block() => {
            LoopDevice::over(&device.claim()?, device.path())?
        }
        Kind::Device(device) => {
            return Ok(Attachment {
                words: "the device itself".to_owned(),
                conditions: conditions_of_storage(device.path()),
            });
        }
        Kind::Directories(_) => anyhow::bail!("directories are not attached"),
    };
    set_readahead(&attached, campaign)?;
    Ok(Attachment {
        words: attached.attachment().to_owned(),
        conditions: conditions_of_storage(attached.path()),
    })
}

/// Directories may lie on disks of their own.
fn of_directories(campaign: &Campaign) -> Vec<Condition> {
    let contenders = campaign.contenders.iter();
    let conditions = contenders.filter_map(|contender| {
        let found = conditions_of_storage(contender.directory.as_deref()?).into_iter();
        let name = &contender.name;
        Some(found.map(move |c| Condition::new(&format!("{} of {name}", c.what), c.value)))
    });
    conditions.flatten().collect()
}

/// Lays out the archives of a campaign in its directory, where it has any.
fn archives(
    campaign: &Campaign,
    place: &WorkPlace,
    dialogue: &dyn Dialogue,
    stop: &Stop,
) -> anyhow::Result<Option<PathBuf>> {
    let held = archives::of_campaign(campaign, stop, &mut |text| dialogue.note(text))?;
    if held.is_empty() {
        return Ok(None);
    }
    let directory = place.archives();
    archives::lay_out(&held, &directory)?;
    Ok(Some(directory))
}
