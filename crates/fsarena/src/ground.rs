//! The ground that cells are run on: an image, a device or mounted directories; prepared once for a
//! campaign, given to each cell as a plot, and left as it was found.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use catalog::Place;
use model::{Backend, Bytes, Campaign, Cell, Contender, Environment, Suite, Test};
use nix::unistd::{AccessFlags, access};
use provision::{Image, LoopDevice, Setting, UsableDevice, Workspace, describe_storage};
use store::CampaignId;
use wire::{Target, Volume};

use crate::calibration::{Raw, Subject};
use crate::exit::{self, BadInput, Refused};
use crate::guest_ground::GuestGround;
use crate::progress::Progress;
use crate::work_place::{WorkPlace, unique_name};

/// How long the kernel may take to let go of an image whose cell was killed.
const RELEASE: Duration = Duration::from_secs(10);

/// The device that the user has named a second time, to say that what it holds may be lost.
#[derive(Clone, Debug, Default)]
pub struct Consent(pub Option<PathBuf>);

/// What a campaign works on.
pub struct Ground {
    id: CampaignId,
    kind: Kind,
    place: Option<WorkPlace>,
    attachment: String,
}

enum Kind {
    /// An image of our own; its number counts those that had to be given up.
    Image { image: Image, given_up: u32 },
    /// A device or image of the user's.
    Device(UsableDevice),
    /// Directories that are mounted already.
    Directories,
}

/// What one cell works on.
pub enum Plot {
    /// A file behind a loop device, which is detached when the plot is dropped.
    Loop {
        /// Keeps the device attached.
        _device: LoopDevice,
        /// What the agent sees.
        volume: Box<Volume>,
    },
    /// A device of the user's, or none at all.
    Bare(Box<Volume>),
    /// A directory of the cell's own.
    Directory(Workspace),
}

impl Plot {
    /// The plot as the agent is told of it.
    pub fn target(&self) -> Target {
        match self {
            Self::Loop { volume, .. } | Self::Bare(volume) => Target::Volume(volume.clone()),
            Self::Directory(workspace) => Target::Directory {
                path: workspace.path(),
            },
        }
    }
}

impl Ground {
    /// Whether the campaign can run here at all; changes nothing.
    pub fn inspect(campaign: &Campaign, consent: &Consent) -> anyhow::Result<()> {
        match campaign.backend {
            Backend::Dir => return inspect_directories(campaign),
            Backend::Vm => return GuestGround::inspect(campaign, consent),
            Backend::Loop => {}
        }
        if !nix::unistd::geteuid().is_root() {
            let advice = "mounting needs root: use sudo, or compare mounted directories with --dir";
            return Err(Refused(advice.into()).into());
        }
        let size = match &campaign.device {
            Some(device) => UsableDevice::examine(device, consent.0.as_deref())?.size,
            None => campaign.size,
        };
        hold_the_tests(&campaign.suites, size)?;
        campaign.contenders.iter().try_for_each(|c| fits(c, size))
    }

    /// Whether a campaign that is new has where to work and room for its image; changes nothing.
    pub fn inspect_place(campaign: &Campaign) -> anyhow::Result<()> {
        let existing = campaign.work_dir.ancestors().find(|d| d.exists());
        let existing = existing.unwrap_or(Path::new("/"));
        writable(existing)?;
        if campaign.backend == Backend::Vm {
            return GuestGround::inspect_place(campaign, existing);
        }
        if campaign.backend == Backend::Loop && campaign.device.is_none() {
            Image::require_room(existing, campaign.size)?;
        }
        Ok(())
    }

    /// Makes ready what every cell needs, and takes the campaign for this process alone.
    pub fn prepare(
        id: CampaignId,
        campaign: &Campaign,
        consent: &Consent,
        progress: &Progress,
        stop: &AtomicBool,
    ) -> anyhow::Result<Self> {
        Self::inspect(campaign, consent)?;
        let place = WorkPlace::take(campaign, id)?;
        if campaign.backend == Backend::Dir {
            let attachment = "a directory of a mounted filesystem".to_owned();
            return Ok(Self {
                id,
                kind: Kind::Directories,
                place: Some(place),
                attachment,
            });
        }
        let kind = match &campaign.device {
            Some(device) => Kind::Device(UsableDevice::examine(device, consent.0.as_deref())?),
            None => {
                let image = make_image(&place.image(0), campaign.size, progress, stop)?;
                Kind::Image { image, given_up: 0 }
            }
        };
        let attachment = attachment(&kind)?;
        Ok(Self {
            id,
            kind,
            place: Some(place),
            attachment,
        })
    }

    /// What the campaign runs on, for the record.
    pub fn environment(&self, campaign: &Campaign) -> Environment {
        let setting = Setting {
            program: env!("CARGO_PKG_VERSION").to_owned(),
            device: self.storage(campaign),
            attachment: self.attachment.clone(),
            clock: campaign.clock.name().to_owned(),
        };
        provision::collect(setting, campaign.contenders.iter().map(|c| &c.filesystem))
    }

    fn storage(&self, campaign: &Campaign) -> String {
        let directories = || {
            campaign
                .contenders
                .iter()
                .filter_map(|c| c.directory.as_deref())
        };
        match &self.kind {
            Kind::Image { image, .. } => {
                format!(
                    "image of {}: {}",
                    image.size(),
                    describe_storage(image.path())
                )
            }
            Kind::Device(device) => describe_storage(&device.path),
            Kind::Directories => directories()
                .map(describe_storage)
                .collect::<Vec<_>>()
                .join("; "),
        }
    }

    /// What a calibration takes the ceiling of: what cells are put on.
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
            Err(error) => Subject::Nothing(exit::whole(&error)),
        }
    }

    fn raw(&mut self, campaign: &Campaign) -> anyhow::Result<Raw> {
        self.replace_held_image()?;
        let what = self.storage(campaign);
        Ok(match &self.kind {
            Kind::Image { image, .. } => Raw {
                written: true,
                ..Raw::on_loop(image.path(), image.size(), &what)?
            },
            Kind::Device(d) if !d.is_block => Raw::on_loop(&d.path, d.size, &what)?,
            Kind::Device(d) => Raw {
                path: d.path.clone(),
                size: d.size,
                written: false,
                blank_afterwards: false,
                what,
                _attached: None,
            },
            Kind::Directories => anyhow::bail!("there is no device"),
        })
    }

    /// What a cell works on; an error here is a result of the cell.
    pub fn plot(&mut self, campaign: &Campaign, cell: &Cell, test: &Test) -> anyhow::Result<Plot> {
        let contender = campaign
            .contenders
            .iter()
            .find(|c| c.name == cell.contender);
        let contender = contender.with_context(|| format!("no contender `{}`", cell.contender))?;
        if let Some(directory) = &contender.directory {
            let advice = "free some, or choose a smaller --profile";
            provision::require(directory, test.space, advice)?;
            let name = unique_name(campaign, self.id);
            return Ok(Plot::Directory(Workspace::create(
                directory, &name, cell.id,
            )?));
        }
        let place = self
            .place
            .as_ref()
            .context("the work directory is not taken")?;
        let mountpoint = place.mountpoint()?;
        if !contender.filesystem.commands.need_device() {
            return Ok(Plot::Bare(volume(
                contender,
                None,
                campaign.size,
                mountpoint,
            )));
        }
        self.replace_held_image()?;
        match &self.kind {
            Kind::Image { image, .. } => on_loop(contender, image.path(), image.size(), mountpoint),
            Kind::Device(d) if !d.is_block => {
                anyhow::ensure!(
                    !provision::is_attached(&d.path, RELEASE),
                    "an earlier cell still holds the device"
                );
                on_loop(contender, &d.path, d.size, mountpoint)
            }
            Kind::Device(d) => Ok(Plot::Bare(volume(
                contender,
                Some(&d.path),
                d.size,
                mountpoint,
            ))),
            Kind::Directories => anyhow::bail!("{} has no device", contender.name),
        }
    }

    /// Gives up an image that a cell which cannot be killed still holds, for a new one; an unmount
    /// that a kill left to the kernel is waited for.
    fn replace_held_image(&mut self) -> anyhow::Result<()> {
        let (Kind::Image { image, given_up }, Some(place)) = (&mut self.kind, &self.place) else {
            return Ok(());
        };
        if !provision::is_attached(image.path(), RELEASE) {
            return Ok(());
        }
        *given_up += 1;
        *image = Image::prepare(&place.image(*given_up), image.size(), &mut |_| {
            ControlFlow::Continue(())
        })?;
        Ok(())
    }

    /// Removes what a run has left that was killed after its last cell.
    pub fn sweep(id: CampaignId, campaign: &Campaign) -> anyhow::Result<()> {
        if WorkPlace::directory(campaign, id).exists() {
            WorkPlace::take(campaign, id)?.remove()?;
        }
        Ok(())
    }

    /// Removes everything that was made for the campaign.
    pub fn clear(&mut self) -> anyhow::Result<()> {
        self.place.take().map_or(Ok(()), |place| place.remove())
    }
}

fn inspect_directories(campaign: &Campaign) -> anyhow::Result<()> {
    let space = campaign
        .suites
        .iter()
        .flat_map(|s| &s.tests)
        .map(|t| t.space)
        .max();
    for directory in campaign
        .contenders
        .iter()
        .filter_map(|c| c.directory.as_deref())
    {
        writable(directory)?;
        let advice = "free some, or choose a smaller --profile";
        provision::require(directory, space.unwrap_or_default(), advice)?;
    }
    Ok(())
}

pub fn writable(directory: &Path) -> Result<(), Refused> {
    access(directory, AccessFlags::W_OK | AccessFlags::X_OK)
        .map_err(|error| Refused(format!("cannot write in {}: {error}", directory.display())))
}

/// What the tests write has to find room, or each would end as the filesystem's failure.
pub fn hold_the_tests(suites: &[Suite], size: Bytes) -> anyhow::Result<()> {
    let tests = suites.iter().flat_map(|s| &s.tests);
    match tests.max_by_key(|t| t.space) {
        Some(test) if test.space > size => Err(BadInput(format!(
            "the test `{}` needs {}, not {size}: give a larger --size or a smaller --profile",
            test.name, test.space
        ))
        .into()),
        _ => Ok(()),
    }
}

pub fn fits(contender: &Contender, size: Bytes) -> anyhow::Result<()> {
    match contender.filesystem.requires.misfit(size) {
        Some(misfit) => Err(BadInput(format!("{} {misfit}", contender.name)).into()),
        None => Ok(()),
    }
}

fn make_image(
    path: &Path,
    size: Bytes,
    progress: &Progress,
    stop: &AtomicBool,
) -> anyhow::Result<Image> {
    let image = Image::prepare(path, size, &mut |done| {
        progress.preparing(done.0, size.0);
        if stop.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    Ok(image)
}

/// How cells will be attached, found out by attaching once.
fn attachment(kind: &Kind) -> anyhow::Result<String> {
    let file = match kind {
        Kind::Image { image, .. } => image.path(),
        Kind::Device(device) if !device.is_block => &device.path,
        _ => return Ok("the device itself".to_owned()),
    };
    Ok(LoopDevice::attach(file)?.attachment().to_owned())
}

fn on_loop(
    contender: &Contender,
    file: &Path,
    size: Bytes,
    mountpoint: PathBuf,
) -> anyhow::Result<Plot> {
    let device = LoopDevice::attach(file)?;
    let volume = volume(contender, Some(device.path()), size, mountpoint);
    Ok(Plot::Loop {
        _device: device,
        volume,
    })
}

fn volume(
    contender: &Contender,
    device: Option<&Path>,
    size: Bytes,
    mountpoint: PathBuf,
) -> Box<Volume> {
    let nodes: Vec<_> = device.iter().map(|d| d.to_string_lossy()).collect();
    let devices: Vec<&str> = nodes.iter().map(AsRef::as_ref).collect();
    // Without its path there is no agent either, and no cell is started.
    let program = std::env::current_exe().unwrap_or_default();
    let place = Place {
        devices: &devices,
        mountpoint: &mountpoint.to_string_lossy(),
        size,
        fsarena: &program.to_string_lossy(),
    };
    let commands = catalog::resolve(contender, &place);
    Box::new(Volume {
        device: device.map(Path::to_owned),
        span: None,
        size,
        driver: contender.filesystem.driver,
        commands,
        mountpoint,
    })
}

#[cfg(test)]
mod tests {
    use catalog::Catalog;
    use model::Profile;

    use super::*;

    #[test]
    fn an_image_that_cannot_hold_a_test_is_refused_before_anything_is_made() {
        let catalog = Catalog::builtin().unwrap();
        let suites = [catalog.suite("tree", Profile::Smoke).unwrap().clone()];
        let space = suites[0].tests[0].space;
        hold_the_tests(&suites, space).unwrap();
        let error = hold_the_tests(&suites, Bytes(space.0 - 1)).unwrap_err();
        assert!(error.is::<BadInput>() && error.to_string().contains("larger --size"));
    }
}
