//! `fsarena calibrate`: what fsarena itself costs, and what a device can do without a filesystem.

use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use model::Bytes;
use orchestrate::Observer;
use provision::{HeldDevice, Image, LoopDevice, describe_storage};
use serde_json::json;

use crate::arguments::cli::{CalibrateArgs, Globals};
use crate::output::calibration_text;
use crate::output::erase_question::Asked;
use crate::output::exit::{BadInput, Code, Refused};
use crate::output::progress::Progress;
use crate::output::text::{print, print_json};
use crate::paths;
use crate::stop;
use machine::calibration::{self, Effort, Raw, Subject};
use machine::{CALIBRATION, WorkPlace};

/// Size of the image, unless the user says otherwise: no cache of a disk holds it all, and it is
/// written in moments.
const SIZE: Bytes = Bytes::mib(256);
/// With less, there is no sequential request.
const LEAST_SIZE: Bytes = Bytes::mib(1);

/// Measures and writes what was found.
pub fn run(args: &CalibrateArgs, globals: &Globals) -> anyhow::Result<ExitCode> {
    let stop = stop::on_signals()?;
    // Standard output is for the result alone, with --json, too.
    let progress = Progress::choose(false, globals.quiet || globals.json);
    let (subject, place) = subject(args, globals, &progress, &stop)?;
    progress.calibrating();
    let taken = calibration::take(subject, Effort::THOROUGH, &stop);
    progress.finish();
    drop(place);
    let calibration = taken?;
    if calibration.ceiling.is_none() && !args.overhead {
        return Err(Refused(calibration.device).into());
    }
    if globals.json {
        print_json(&json!(calibration))?;
    } else {
        print(&calibration_text::text(&calibration))?;
    }
    Ok(Code::Done.into())
}

/// What is measured, by the rules of `run`, and the directory that has to go afterwards.
fn subject(
    args: &CalibrateArgs,
    globals: &Globals,
    progress: &Progress,
    stop: &AtomicBool,
) -> anyhow::Result<(Subject, Option<Kept>)> {
    if args.overhead {
        let why = "not asked for (--overhead)".to_owned();
        return Ok((Subject::Nothing(why), None));
    }
    if !nix::unistd::geteuid().is_root() {
        let advice =
            "a device needs root: use sudo, or measure harness overhead alone with --overhead";
        return Err(Refused(advice.into()).into());
    }
    if let Some(device) = &args.storage.device {
        let asked = Asked {
            progress,
            yes: args.storage.yes,
            stop,
        };
        let mut device = machine::take_device(device, args.storage.erase.as_deref(), &asked)?;
        let what = describe_storage(device.path());
        // What is found blank is left blank; of what else it held, the user has consented to the loss.
        let raw = Raw {
            blank_afterwards: device.erases().is_none(),
            ..Raw::of(&mut device, what)?
        };
        return Ok((Subject::Device(Box::new(raw)), Some(Kept::Device(device))));
    }
    let size = args.size.unwrap_or(SIZE);
    if size < LEAST_SIZE {
        let complaint = format!("--size {size} is too little; give {LEAST_SIZE} at least");
        return Err(BadInput(complaint).into());
    }
    let directory = match &args.storage.work_dir {
        Some(directory) => std::path::absolute(directory)?,
        None => paths::work_directory(globals)?,
    };
    let place = WorkPlace::hold(&directory, CALIBRATION, "another fsarena calibrates here")?;
    let image = image(&place, size, progress, stop)?;
    let what = format!("image of {size}: {}", describe_storage(image.path()));
    let raw = Raw {
        written: true,
        ..Raw::on_loop(LoopDevice::attach(image.path())?, size, &what)?
    };
    Ok((Subject::Device(Box::new(raw)), Some(Kept::Place(place))))
}

fn image(
    place: &WorkPlace,
    size: Bytes,
    progress: &Progress,
    stop: &AtomicBool,
) -> anyhow::Result<Image> {
    let image = Image::prepare(&place.image(0), size, &mut |done| {
        progress.preparing(done.0, size.0);
        if stop.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    Ok(image)
}

/// What is held until it is over.
enum Kept {
    /// A device of the user's.
    Device(#[expect(dead_code, reason = "held, and not looked at")] HeldDevice),
    /// The directory of the image, which goes when it is dropped.
    Place(#[expect(dead_code, reason = "held, and not looked at")] WorkPlace),
}
