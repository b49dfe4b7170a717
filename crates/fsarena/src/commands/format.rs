//! `fsarena format`: an empty AFFS or HPFS on a device or in an image, by the rules of safety of `run`.

use std::fs::{self, File, OpenOptions};
use std::process::ExitCode;

use anyhow::Context;
use clap::ValueEnum;
use format::{Affs, BLOCK, DataBlocks, FormatError, Hpfs, Made};
use jiff::Timestamp;
use model::Bytes;
use provision::HeldDevice;
use serde_json::json;

use crate::arguments::cli::{FormatArgs, Formatted, Globals};
use crate::output::erase_question::Asked;
use crate::output::exit::{BadInput, Code, Refused};
use crate::output::progress::Progress;
use crate::output::text::{line, print, print_json};
use crate::stop;

/// Makes the filesystem and says how large it is.
pub fn run(args: &FormatArgs, globals: &Globals) -> anyhow::Result<ExitCode> {
    if args.international && args.filesystem == Formatted::Hpfs {
        return Err(BadInput("--international is for AFFS; HPFS always does so".into()).into());
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
    Ok(Code::Done.into())
}

/// An image that could not be finished is removed again.
fn on_new_image(args: &FormatArgs, size: Bytes) -> anyhow::Result<Made> {
    let path = &args.device;
    let cannot = |error| Refused(format!("cannot create {}: {error}", path.display()));
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(cannot)?;
    let made = file
        .set_len(size.0)
        .map_err(|error| cannot(error).into())
        .and_then(|()| make(args, size, file));
    if made.is_err() {
        // The reason is in `made`; a file that cannot be removed either adds nothing to it.
        let _ = fs::remove_file(path);
    }
    made
}

fn on_device(args: &FormatArgs) -> anyhow::Result<Made> {
    let asked = Asked {
        progress: &Progress::Notes(String::new()),
        yes: args.yes,
        stop: &*stop::on_signals()?,
    };
    let mut device = match &args.erase {
        Some(erase) if args.yes => HeldDevice::take_unseen(&args.device, erase)?,
        erase => machine::take_device(&args.device, erase.as_deref(), &asked)?,
    };
    let file = device.claim()?;
    make(args, device.size(), file)
}

fn make(args: &FormatArgs, size: Bytes, mut file: File) -> anyhow::Result<Made> {
    let created = u64::try_from(Timestamp::now().as_second()).unwrap_or_default();
    let affs = |data| Affs {
        data,
        international: args.international,
        label: args.label.clone(),
        created,
    };
    let made = match args.filesystem {
        Formatted::AffsFfs => affs(DataBlocks::Fast).write(size, &mut file),
        Formatted::AffsOfs => affs(DataBlocks::Old).write(size, &mut file),
        Formatted::Hpfs => hpfs(args, created).write(size, &mut file),
    };
    let made = made.map_err(|error| told(args, error))?;
    file.sync_all()
        .with_context(|| format!("cannot flush {}", args.device.display()))?;
    Ok(made)
}

/// The number of a volume is made of the moment, as the FORMAT of OS/2 does.
fn hpfs(args: &FormatArgs, created: u64) -> Hpfs {
    Hpfs {
        label: args.label.clone(),
        serial: created as u32,
        created,
    }
}

/// Size and label are the user's words, the rest is the device's.
fn told(args: &FormatArgs, error: FormatError) -> anyhow::Error {
    let text = format!("{}: {error}", args.device.display());
    match error {
        FormatError::Write(_) => Refused(text).into(),
        _ => BadInput(text).into(),
    }
}

fn name(filesystem: Formatted) -> String {
    let value = filesystem.to_possible_value();
    value.map_or_else(String::new, |v| v.get_name().to_owned())
}
