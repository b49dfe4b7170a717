//! `fsarena tool calibrate`: measures the overhead of the harness and the speed of a device without a
//! filesystem.

use std::process::ExitCode;

use campaign::run::Observer;
use model::Bytes;
use model::wire::machine::CalibrationSubject;
use serde_json::json;

use crate::args::cli::GlobalArgs;
use crate::args::tool_args::CalibrateArgs;
use crate::output::calibration_text;
use crate::output::erase_question::EraseConfirmation;
use crate::output::exit::{EnvironmentError, ExitReason, UsageError};
use crate::output::progress::ProgressDisplay;
use crate::output::text::{print, print_json};
use crate::paths;
use crate::stop;

/// Default size of the image: larger than the cache of any disk, but written within seconds.
const SIZE: Bytes = Bytes::mib(256);
/// Minimum size of the image. A smaller one has no room for a sequential request.
const MIN_SIZE: Bytes = Bytes::mib(1);

/// Measures the overhead and the device, and writes the results.
pub fn run(args: &CalibrateArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let stop = stop::install_handlers()?;
    // Standard output contains only the result, also with --json.
    let progress = ProgressDisplay::choose(false, globals.quiet || globals.json);
    let reach = paths::transport(args.host.as_deref(), &stop)?;
    let what = what(args, globals)?;
    let asked = EraseConfirmation { progress: &progress, yes: args.erase.yes, stop: &stop };
    progress.calibrating();
    let taken = backend::measure(&*reach, what, &asked, &stop);
    progress.finish();
    let calibration = taken?;
    if calibration.raw_device.is_none() && !args.overhead {
        return Err(EnvironmentError(calibration.device).into());
    }
    if globals.json {
        print_json(&json!(calibration))?;
    } else {
        print(&calibration_text::text(&calibration))?;
    }
    Ok(ExitReason::Success.into())
}

/// Returns the measurement to run, checked by the rules of `run`.
fn what(args: &CalibrateArgs, globals: &GlobalArgs) -> anyhow::Result<CalibrationSubject> {
    if args.overhead {
        return Ok(CalibrationSubject::Overhead);
    }
    if let Some(device) = &args.storage.device {
        return Ok(CalibrationSubject::Device {
            path: device.clone(),
            erase: args.erase.erase.clone(),
        });
    }
    let size = args.size.unwrap_or(SIZE);
    if size < MIN_SIZE {
        let complaint = format!("--size {size} is too little; give {MIN_SIZE} at least");
        return Err(UsageError(complaint).into());
    }
    let (given, host) = (args.storage.work_dir.as_deref(), args.host.as_deref());
    let work_dir = paths::given_work_directory(given, host, globals)?;
    Ok(CalibrationSubject::Image { size, work_dir })
}
