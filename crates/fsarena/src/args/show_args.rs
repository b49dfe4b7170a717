//! Options of the commands that show stored objects: `list`, `show`.

use clap::Args;

use crate::args::cli_values::{campaign_number, cell_number};

/// Options of `list`.
#[derive(Clone, Debug, Args)]
pub struct ListArgs {
    /// List these objects.
    #[arg(value_enum, default_value_t = ListTarget::Filesystems)]
    pub target: ListTarget,
    /// Show origin, readers, boot loaders and limits of each filesystem, with sources.
    #[arg(long)]
    pub long: bool,
}

/// Objects that can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ListTarget {
    /// The catalog.
    Filesystems,
    /// Suites with their tests.
    Suites,
    /// Sizes of the tests.
    Profiles,
    /// Published comparisons that can be repeated.
    Studies,
    /// Use cases that `advise` supports.
    Uses,
    /// Disk models, for guests.
    Disks,
    /// Ways to age a filesystem before a test.
    Ages,
    /// Machines of published studies, for guests in virtual time.
    Machines,
    /// Stored aged states (`run --keep-aged`), their location and size.
    Aged,
    /// Stored campaigns.
    Campaigns,
}

/// Options of `show`.
#[derive(Clone, Debug, Args)]
pub struct ShowArgs {
    /// Number of the campaign [default: the latest], or the word `study` before the name of a
    /// study.
    #[arg(value_name = "ID", value_parser = shown)]
    pub target: Option<ShowTarget>,
    /// Name of the study (see `fsarena list studies`).
    #[arg(value_name = "STUDY", conflicts_with = "cell")]
    pub study: Option<String>,
    /// Number of a cell, to show all its details.
    #[arg(long, value_name = "N", value_parser = cell_number)]
    pub cell: Option<u32>,
}

/// Objects that `show` displays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShowTarget {
    /// The campaign with this number.
    Campaign(i64),
    /// A published comparison, named by the next argument.
    Study,
}

fn shown(text: &str) -> Result<ShowTarget, String> {
    match text {
        "study" => Ok(ShowTarget::Study),
        number => campaign_number(number).map(ShowTarget::Campaign),
    }
}
