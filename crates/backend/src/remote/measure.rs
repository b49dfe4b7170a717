//! Measurements of `fsarena tool calibrate`: harness overhead, and a device under the safety rules of
//! `run`.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use model::wire::machine::CalibrationSubject;
use model::{Bytes, Calibration};
use storage::{ExclusiveDevice, Image, LoopDevice, describe_storage};

use crate::calibration::{self, CalibrationEffort, RawDeviceHandle, RawDeviceSubject};
use crate::error::EnvironmentError;
use crate::host::campaign_dir::{CALIBRATION, CampaignDir};
use crate::host::held::acquire_device;
use crate::remote::user_prompt::UserPrompt;

/// Runs the requested measurement and removes its files.
pub fn measure(
    what: &CalibrationSubject,
    dialogue: &dyn UserPrompt,
    stop: &AtomicBool,
) -> anyhow::Result<Calibration> {
    let (subject, held) = match what {
        CalibrationSubject::Overhead => {
            let why = "not requested (--overhead)".to_owned();
            (RawDeviceSubject::Nothing(why), None)
        }
        CalibrationSubject::Device { path, erase } => {
            require_root()?;
            of_device(path, erase.as_deref(), dialogue)?
        }
        CalibrationSubject::Image { size, work_dir } => {
            require_root()?;
            on_image(*size, work_dir, dialogue, stop)?
        }
    };
    let taken = calibration::calibrate(subject, CalibrationEffort::STANDALONE_EFFORT, stop);
    drop(held);
    Ok(taken?)
}

fn require_root() -> Result<(), EnvironmentError> {
    if nix::unistd::geteuid().is_root() {
        return Ok(());
    }
    let advice = "a device needs root: use sudo, or measure harness overhead alone with --overhead";
    Err(EnvironmentError(advice.into()))
}

/// Resource held until the measurement ends.
enum HeldTarget {
    /// A user's device.
    Device(#[expect(dead_code, reason = "held, and not looked at")] ExclusiveDevice),
    /// The directory of the image, removed on drop.
    Directory(#[expect(dead_code, reason = "held, and not looked at")] CampaignDir),
}

fn of_device(
    path: &Path,
    erase: Option<&Path>,
    dialogue: &dyn UserPrompt,
) -> anyhow::Result<(RawDeviceSubject, Option<HeldTarget>)> {
    let mut device = acquire_device(path, erase, dialogue)?;
    let what = describe_storage(device.path());
    // A blank device is made blank again; for other contents the user has accepted the loss.
    let raw = RawDeviceHandle {
        blank_afterwards: device.erases().is_none(),
        ..RawDeviceHandle::from_device(&mut device, what)?
    };
    Ok((RawDeviceSubject::Device(Box::new(raw)), Some(HeldTarget::Device(device))))
}

fn on_image(
    size: Bytes,
    work_dir: &Path,
    dialogue: &dyn UserPrompt,
    stop: &AtomicBool,
) -> anyhow::Result<(RawDeviceSubject, Option<HeldTarget>)> {
    let place = CampaignDir::acquire_named(work_dir, CALIBRATION, "calibrate")?;
    let image = Image::prepare(&place.image(0), size, &mut |done| {
        dialogue.image_progress(done.0, size.0);
        match stop.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    })?;
    let what = format!("image of {size}: {}", describe_storage(image.path()));
    let raw = RawDeviceHandle {
        written: true,
        ..RawDeviceHandle::from_loop(LoopDevice::attach(image.path())?, &what)?
    };
    Ok((RawDeviceSubject::Device(Box::new(raw)), Some(HeldTarget::Directory(place))))
}
