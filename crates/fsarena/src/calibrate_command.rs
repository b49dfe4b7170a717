//! `fsarena calibrate`: what fsarena itself costs, and what a device can do without a filesystem.

use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use model::Bytes;
use nix::fcntl::{Flock, FlockArg};
use provision::{Image, UsableDevice, describe_storage};
use serde_json::json;

use crate::calibration::{self, Effort, Raw, Subject};
use crate::cli::{CalibrateArgs, Globals};
use crate::exit::{BadInput, Code, Refused};
use crate::output::{print, print_json};
use crate::progress::Progress;
use crate::{paths, stop};

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
    let taken = calibration::take(&subject, Effort::THOROUGH, &stop);
    progress.finish();
    drop(subject);
    drop(place);
    let calibration = taken?;
    if calibration.ceiling.is_none() && !args.instrument {
        return Err(Refused(calibration.device).into());
    }
    if globals.json {
        print_json(&json!(calibration))?;
    } else {
        print(&calibration::text(&calibration))?;
    }
    Ok(Code::Done.into())
}

/// What is measured, by the rules of `run`, and the directory that has to go afterwards.
fn subject(
    args: &CalibrateArgs,
    globals: &Globals,
    progress: &Progress,
    stop: &AtomicBool,
) -> anyhow::Result<(Subject, Option<Place>)> {
    if args.instrument {
        let why = "not asked for (--instrument)".to_owned();
        return Ok((Subject::Nothing(why), None));
    }
    if !nix::unistd::geteuid().is_root() {
        let advice = "a device needs root: use sudo, or measure fsarena alone with --instrument";
        return Err(Refused(advice.into()).into());
    }
    if let Some(device) = &args.storage.device {
        let usable = UsableDevice::examine(device, args.storage.erase.as_deref())?;
        return Ok((Subject::Device(Box::new(raw(usable)?)), None));
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
    let place = Place::take(&directory)?;
    let image = image(&place, size, progress, stop)?;
    let what = format!("image of {size}: {}", describe_storage(image.path()));
    let raw = Raw {
        written: true,
        ..Raw::on_loop(image.path(), size, &what)?
    };
    Ok((Subject::Device(Box::new(raw)), Some(place)))
}

/// A device of the user's. What is found blank is left blank; of what else it held, the user has
/// consented to the loss.
fn raw(device: UsableDevice) -> anyhow::Result<Raw> {
    let what = describe_storage(&device.path);
    let blank_afterwards = device.erases.is_none();
    let raw = if device.is_block {
        Raw {
            path: device.path,
            size: device.size,
            written: false,
            blank_afterwards,
            what,
            _attached: None,
        }
    } else {
        Raw {
            blank_afterwards,
            ..Raw::on_loop(&device.path, device.size, &what)?
        }
    };
    Ok(raw)
}

fn image(
    place: &Place,
    size: Bytes,
    progress: &Progress,
    stop: &AtomicBool,
) -> anyhow::Result<Image> {
    let path = place.directory.join("image");
    let image = Image::prepare(&path, size, &mut |done| {
        progress.preparing(done.0, size.0);
        if stop.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    Ok(image)
}

/// The directory of the image, held by one process. Its name is always the same, so that what a
/// killed run has left is used and removed by the next.
struct Place {
    directory: PathBuf,
    _lock: Flock<File>,
}

impl Place {
    fn take(work_dir: &Path) -> Result<Self, Refused> {
        let directory = work_dir.join("fsarena-calibrate");
        let cannot = |error| Refused(format!("cannot use {}: {error}", directory.display()));
        fs::create_dir_all(&directory).map_err(cannot)?;
        let file = File::create(directory.join("lock")).map_err(cannot)?;
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => Ok(Self {
                directory,
                _lock: lock,
            }),
            Err(_) => Err(Refused("another fsarena calibrates here".into())),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What cannot be removed is removed by the next run.
        let _ = fs::remove_dir_all(&self.directory);
    }
}
