//! `fsarena tool format`: creates an empty AFFS or HPFS on a device or in an image, with the safety
//! rules of `run`.

use std::fs::{self, File, OpenOptions};
use std::process::ExitCode;

use anyhow::Context;
use clap::ValueEnum;
use jiff::Timestamp;
use mkfs::{Affs, AffsVariant, BLOCK, FormatError, FormattedVolume, Hpfs};
use model::Bytes;
use serde_json::json;
use storage::ExclusiveDevice;

use crate::args::cli::GlobalArgs;
use crate::args::tool_args::{FormatArgs, MkfsKind};
use crate::output::erase_question::EraseConfirmation;
use crate::output::exit::{EnvironmentError, ExitReason, UsageError};
use crate::output::progress::{ProgressDisplay, ProgressLog};
use crate::output::text::{line, print, print_json};
use crate::stop;

/// Creates the filesystem and reports its size.
pub fn run(args: &FormatArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    if args.international && args.filesystem == MkfsKind::Hpfs {
        return Err(UsageError("--international is for AFFS; HPFS always does so".into()).into());
    }
    let made = match args.size {
        Some(size) => on_new_image(args, size)?,
        None => on_device(args)?,
    };
    if globals.json {
        print_json(&json!({
            "filesystem": name(args.filesystem),
            "device": args.device,
            "block": BLOCK,
            "blocks": made.blocks,
            "free": made.free,
        }))?;
    } else if !globals.quiet {
        print(&format!(
            "{} on {}: {} blocks of {BLOCK}, {} free\n",
            name(args.filesystem),
            line(&args.device.to_string_lossy()),
            made.blocks,
            made.free
        ))?;
    }
    Ok(ExitReason::Success.into())
}

/// Formats a new image. Removes the image if it cannot be completed.
fn on_new_image(args: &FormatArgs, size: Bytes) -> anyhow::Result<FormattedVolume> {
    let path = &args.device;
    let cannot = |error| EnvironmentError(format!("cannot create {}: {error}", path.display()));
    let file = OpenOptions::new().write(true).create_new(true).open(path).map_err(cannot)?;
    let made = file
        .set_len(size.0)
        .map_err(|error| cannot(error).into())
        .and_then(|()| make(args, size, file));
    if made.is_err() {
        // `made` already holds the reason; a failed removal adds no information.
        let _ = fs::remove_file(path);
    }
    made
}

fn on_device(args: &FormatArgs) -> anyhow::Result<FormattedVolume> {
    let asked = EraseConfirmation {
        progress: &ProgressDisplay::Notes(ProgressLog::default()),
        yes: args.yes,
        stop: &*stop::install_handlers()?,
    };
    let mut device = match &args.erase {
        Some(erase) if args.yes => ExclusiveDevice::acquire_unchecked(&args.device, erase)?,
        erase => backend::acquire_device(&args.device, erase.as_deref(), &asked)?,
    };
    let file = device.claim()?;
    make(args, device.size(), file)
}

fn make(args: &FormatArgs, size: Bytes, mut file: File) -> anyhow::Result<FormattedVolume> {
    let created = u64::try_from(Timestamp::now().as_second()).unwrap_or_default();
    let affs =
        |data| Affs { data, international: args.international, label: args.label.clone(), created };
    let made = match args.filesystem {
        MkfsKind::AffsFfs => affs(AffsVariant::Ffs).write(size, &mut file),
        MkfsKind::AffsOfs => affs(AffsVariant::Ofs).write(size, &mut file),
        MkfsKind::Hpfs => hpfs(args, created).write(size, &mut file),
    };
    let made = made.map_err(|error| told(args, error))?;
    file.sync_all().with_context(|| format!("cannot flush {}", args.device.display()))?;
    Ok(made)
}

/// Creates the parameters of an HPFS. The volume number is derived from the time, as FORMAT of OS/2
/// does.
fn hpfs(args: &FormatArgs, created: u64) -> Hpfs {
    Hpfs { label: args.label.clone(), serial: created as u32, created }
}

/// Converts an error: write errors are caused by the device, all others by the size and label that
/// the user gave.
fn told(args: &FormatArgs, error: FormatError) -> anyhow::Error {
    let text = format!("{}: {error}", args.device.display());
    match error {
        FormatError::Write(_) => EnvironmentError(text).into(),
        _ => UsageError(text).into(),
    }
}

fn name(filesystem: MkfsKind) -> String {
    let value = filesystem.to_possible_value();
    value.map_or_else(String::new, |v| v.get_name().to_owned())
}
