//! Options that select a device, or the directory of an image.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::args::cli_values::path;
use crate::output::erase_question::EraseConsent;

/// A device of the user, or an image created by fsarena.
#[derive(Clone, Debug, Default, Args)]
pub struct StorageArgs {
    /// Use a block device instead of an image; refused if it holds anything.
    #[arg(long, value_name = "DEV", value_hint = ValueHint::FilePath, value_parser = path())]
    pub device: Option<PathBuf>,
    /// Confirm erasing by naming the device again.
    #[arg(long, value_name = "DEV", value_hint = ValueHint::FilePath, requires = "device", value_parser = path())]
    pub erase: Option<PathBuf>,
    /// Erase without asking.
    #[arg(short, long, requires = "erase")]
    pub yes: bool,
    /// Create the image in this directory [default: the directory of the database].
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, value_parser = path())]
    pub work_dir: Option<PathBuf>,
}

impl StorageArgs {
    /// Returns the data that the user allows to erase.
    pub fn consent(&self) -> EraseConsent {
        EraseConsent { erase: self.erase.clone(), yes: self.yes }
    }
}
