//! `fsarena calibrate`: what fsarena itself costs, and what a device can do without a filesystem.

use std::process::ExitCode;

use model::Bytes;
use orchestrate::Observer;
use serde_json::json;
use wire::machine::Measured;

use crate::arguments::cli::{CalibrateArgs, Globals};
use crate::output::calibration_text;
use crate::output::erase_question::Asked;
use crate::output::exit::{BadInput, Code, Refused};
use crate::output::progress::Progress;
use crate::output::text::{print, print_json};
use crate::paths;
use crate::stop;

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
    let reach = paths::reach(args.host.as_deref())?;
    let what = what(args, globals)?;
    let asked = Asked {
        progress: &progress,
        yes: args.storage.yes,
        stop: &stop,
    };
    progress.calibrating();
    let taken = machine::measure(&*reach, what, &asked, &stop);
    progress.finish();
    let calibration = taken?;
    if calibration.raw_device.is_none() && !args.overhead {
        return Err(Refused(calibration.device).into());
    }
    if globals.json {
        print_json(&json!(calibration))?;
    } else {
        print(&calibration_text::text(&calibration))?;
    }
    Ok(Code::Done.into())
}

/// What is measured, by the rules of `run`.
fn what(args: &CalibrateArgs, globals: &Globals) -> anyhow::Result<Measured> {
    if args.overhead {
        return Ok(Measured::Overhead);
    }
    if let Some(device) = &args.storage.device {
        return Ok(Measured::Device {
            path: device.clone(),
            erase: args.storage.erase.clone(),
        });
    }
    let size = args.size.unwrap_or(SIZE);
    if size < LEAST_SIZE {
        let complaint = format!("--size {size} is too little; give {LEAST_SIZE} at least");
        return Err(BadInput(complaint).into());
    }
    let work_dir = match &args.storage.work_dir {
        Some(directory) => std::path::absolute(directory)?,
        None => paths::work_directory(args.host.as_deref(), globals)?,
    };
    Ok(Measured::Image { size, work_dir })
}
