//! Options that say how cells are run. They are not part of the campaign, so `resume` has them, too.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use config::{GUESTS, STORAGE};
use model::Bytes;

use crate::args::cli_values::{path, size};
use crate::args::guest_args::BuildOptions;
use crate::output::erase_question::EraseConsent;

/// Heading of limits.
pub const LIMITS: Option<&str> = Some("Limits");

/// Options of one run of a campaign.
#[derive(Clone, Debug, Default, Args)]
pub struct ExecutionArgs {
    /// Data that may be erased.
    #[command(flatten)]
    pub erase: EraseArgs,
    /// Run this many cells in parallel in guests [default: one per processor].
    ///
    /// Only in virtual time.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub jobs: Option<u32>,
    /// Exit with 1 if any cell is not ok.
    #[arg(long, help_heading = LIMITS)]
    pub strict: bool,
    /// Do not reuse results of identical cells in virtual time.
    #[arg(long, conflicts_with = "cache", help_heading = GUESTS)]
    pub no_cache: bool,
    /// Limit the size of your cached results; the least recently used ones are removed first
    /// [default: 10 GiB].
    #[arg(long, value_name = "SIZE", value_parser = size, conflicts_with = "cache", help_heading = GUESTS)]
    pub cache_size: Option<Bytes>,
    /// Options of the result cache.
    #[command(flatten, next_help_heading = GUESTS)]
    pub shared: SharedCache,
    /// Components of the guest.
    #[command(flatten, next_help_heading = GUESTS)]
    pub build: BuildOptions,
}

/// Confirmation that a device may be erased.
#[derive(Clone, Debug, Default, Args)]
pub struct EraseArgs {
    /// Confirm erasing by naming the device again.
    #[arg(long, value_name = "DEV", value_hint = ValueHint::FilePath, value_parser = path(), help_heading = STORAGE)]
    pub erase: Option<PathBuf>,
    /// Erase without asking.
    #[arg(short, long, requires = "erase", help_heading = STORAGE)]
    pub yes: bool,
}

impl EraseArgs {
    /// Returns the data that the user allows to erase.
    pub fn consent(&self) -> EraseConsent {
        EraseConsent { erase: self.erase.clone(), yes: self.yes }
    }
}

/// A result cache shared by several users.
#[derive(Clone, Debug, Default, Args)]
pub struct SharedCache {
    /// Reuse results of identical cells of all users with the key of this directory or bucket
    /// (s3://BUCKET/PREFIX) [default: your own].
    #[arg(long, value_name = "DIR", requires = "cache_key", value_hint = ValueHint::DirPath, value_parser = path())]
    pub cache: Option<PathBuf>,
    /// Use this key for the shared cache: a file of at least 32 random bytes, readable only by its
    /// owner and group.
    #[arg(long, value_name = "FILE", requires = "cache", value_hint = ValueHint::FilePath, value_parser = path())]
    pub cache_key: Option<PathBuf>,
}
