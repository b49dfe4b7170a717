//! What `fsarena calibrate` measures on a machine: the harness overhead, and a device by the rules of `run`.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use model::{Bytes, Calibration};
use provision::{HeldDevice, Image, LoopDevice, describe_storage};
use wire::machine::Measured;

use crate::calibration::{self, Effort, Raw, Subject};
use crate::dialogue::Dialogue;
use crate::error::Refused;
use crate::held::take_device;
use crate::work_place::{CALIBRATION, WorkPlace};

/// Measures what is asked for, and leaves nothing behind.
pub fn measure(
    what: &Measured,
    dialogue: &dyn Dialogue,
    stop: &AtomicBool,
) -> anyhow::Result<Calibration> {
    let (subject, held) = match what {
        Measured::Overhead => {
            let why = "not asked for (--overhead)".to_owned();
            (Subject::Nothing(why), None)
        }
        Measured::Device { path, erase } => {
            require_root()?;
            of_device(path, erase.as_deref(), dialogue)?
        }
        Measured::Image { size, work_dir } => {
            require_root()?;
            on_image(*size, work_dir, dialogue, stop)?
        }
    };
    let taken = calibration::take(subject, Effort::THOROUGH, stop);
    drop(held);
    Ok(taken?)
}

fn require_root() -> Result<(), Refused> {
    if nix::unistd::geteuid().is_root() {
        return Ok(());
    }
    let advice = "a device needs root: use sudo, or measure harness overhead alone with --overhead";
    Err(Refused(advice.into()))
}

/// What is held until it is over.
enum Held {
    /// A device of the user's.
    Device(#[expect(dead_code, reason = "held, and not looked at")] HeldDevice),
    /// The directory of the image, which goes when it is dropped.
    Directory(#[expect(dead_code, reason = "held, and not looked at")] WorkPlace),
}

fn of_device(
    path: &Path,
    erase: Option<&Path>,
    dialogue: &dyn Dialogue,
) -> anyhow::Result<(Subject, Option<Held>)> {
    let mut device = take_device(path, erase, dialogue)?;
    let what = describe_storage(device.path());
    // What is found blank is left blank; of what else it held, the user has consented to the loss.
    let raw = Raw {
        blank_afterwards: device.erases().is_none(),
        ..Raw::of(&mut device, what)?
    };
    Ok((Subject::Device(Box::new(raw)), Some(Held::Device(device))))
}

fn on_image(
    size: Bytes,
    work_dir: &Path,
    dialogue: &dyn Dialogue,
    stop: &AtomicBool,
) -> anyhow::Result<(Subject, Option<Held>)> {
    let place = WorkPlace::hold(work_dir, CALIBRATION, "another fsarena calibrates here")?;
    let image = Image::prepare(&place.image(0), size, &mut |done| {
        dialogue.preparing(done.0, size.0);
        match stop.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    })?;
    let what = format!("image of {size}: {}", describe_storage(image.path()));
    let raw = Raw {
        written: true,
        ..Raw::on_loop(LoopDevice::attach(image.path())?, size, &what)?
    };
    Ok((Subject::Device(Box::new(raw)), Some(Held::Directory(place))))
}
