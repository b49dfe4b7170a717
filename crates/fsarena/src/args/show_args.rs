//! Options of the commands that show stored objects: `list`, `show`.

use clap::Args;

use crate::args::cli_values::cell_number;
use crate::args::report_args::CampaignArg;

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
    /// Layers below and above filesystems: encryption, RAID, overlays.
    Layers,
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
    /// The campaign.
    #[command(flatten)]
    pub campaign: CampaignArg,
    /// Number of a cell, to show all its details.
    #[arg(long, value_name = "N", value_parser = cell_number)]
    pub cell: Option<u32>,
}
