//! Options for distributing a campaign over hosts: `cluster`, and `run --on`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand, ValueHint};

use crate::args::cli_values::{int_up_to, one_of, path, share, text};
use crate::args::execution_args::SharedCache;
use crate::args::run_args::RunArgs;

/// Heading in help of the options of campaigns over hosts.
pub const OVER_HOSTS: &str = "Several hosts";
/// Maximum number of cells that a command can name at once.
const MAX_BATCH_ARGS: u32 = 1_000_000;

/// Commands for campaigns on several hosts.
#[derive(Clone, Debug, Subcommand)]
pub enum ClusterCommand {
    /// Plan a campaign in virtual time into a directory; any number of hosts can run its cells.
    #[command(after_help = "\
Examples:
  fsarena cluster plan --backend vm -c ext4 -c xfs -o /shared/it
  fsarena cluster plan --backend vm -s tree -o it --check 0%       no cell runs on two hosts

Then start `fsarena cluster work` on the hosts.")]
    Plan(Box<PlanArgs>),
    /// Run planned cells and write a file for each result (start it on each host).
    #[command(after_help = "\
Examples:
  /shared/it/fsarena cluster work /shared/it --index 7             one entry
  /shared/it/fsarena cluster work /shared/it --index 40 --count 8  eight entries
  /shared/it/fsarena cluster work /shared/it --all                 all remaining entries, on this host

Cells with a valid result are skipped. Exit codes: 0 if the results exist; 3 if a requirement is missing on this host.")]
    Work(WorkArgs),
    /// Store the results of planned cells, and show which cells still have to run.
    #[command(after_help = "\
Examples:
  fsarena cluster collect /shared/it                               as often as you like
  fsarena cluster collect /shared/it --on slurm                    have Slurm run what is left, and follow it
  fsarena cluster collect it --on ssh --hosts n1,n2                the same with hosts that ssh reaches

Files that are damaged, of another campaign or second results are named and not taken. Exit code 3 if results are missing.")]
    Collect(CollectArgs),
}

/// Options of `cluster plan`.
#[derive(Clone, Debug, Args)]
// A plan runs in guests, in virtual time, with a fixed number of rounds, under any scheduler. Other
// options are rejected.
#[command(mut_arg("budget", |a| a.hide(true)), mut_arg("sessions", |a| a.hide(true)), mut_arg("exclusive", |a| a.hide(true)), mut_arg("until_width", |a| a.hide(true)), mut_arg("until_share", |a| a.hide(true)), mut_arg("max_rounds", |a| a.hide(true)), mut_arg("max_time", |a| a.hide(true)), mut_arg("max_written", |a| a.hide(true)), mut_arg("host", |a| a.hide(true)), mut_arg("directories", |a| a.hide(true)), mut_arg("device", |a| a.hide(true)), mut_arg("erase", |a| a.hide(true)), mut_arg("yes", |a| a.hide(true)), mut_arg("dry_run", |a| a.hide(true)), mut_arg("on", |a| a.hide(true)), mut_arg("hosts", |a| a.hide(true)), mut_arg("plan", |a| a.hide(true)), mut_arg("divide", |a| a.hide(true)), mut_arg("together", |a| a.hide(true)), mut_arg("partition", |a| a.hide(true)), mut_arg("nodes", |a| a.hide(true)), mut_arg("max_running_tasks", |a| a.hide(true)), mut_arg("sbatch", |a| a.hide(true)))]
pub struct PlanArgs {
    /// Write the plan to this directory, shared by all hosts; it must be empty or not exist.
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath, value_parser = path())]
    pub output: PathBuf,
    /// The campaign.
    #[command(flatten)]
    pub run: RunArgs,
}

/// Share of cells to run twice.
#[derive(Clone, Debug, Default, Args)]
pub struct CheckArgs {
    /// Run this share of the cells on two hosts, whose results must be equal; use 0% with a single
    /// host [default: 5%].
    #[arg(long, value_name = "PERCENT", value_parser = share, help_heading = OVER_HOSTS)]
    pub check: Option<f64>,
}

impl CheckArgs {
    /// Returns the number of cells per thousand to run on two hosts.
    pub fn per_mille(&self) -> u32 {
        const DEFAULT_CHECK_SHARE: f64 = 0.05;
        (self.check.unwrap_or(DEFAULT_CHECK_SHARE).min(1.0) * 1000.0).round() as u32
    }
}

/// Options of `cluster work`.
#[derive(Clone, Debug, Args)]
#[command(group(ArgGroup::new("entries").required(true).args(["index", "all"])))]
pub struct WorkArgs {
    /// Directory created by `fsarena cluster plan`.
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath, value_parser = path())]
    pub directory: PathBuf,
    /// Run this entry, counted from 0.
    #[arg(long, value_name = "N")]
    pub index: Option<u32>,
    /// Run this many entries, starting at --index.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "index", value_parser = int_up_to(MAX_BATCH_ARGS))]
    pub count: u32,
    /// Run all entries that have no result yet.
    #[arg(long)]
    pub all: bool,
    /// Write each result, in the format of its file, to standard output instead of a file; exit
    /// when standard input closes. For a host that has only a copy of the directory.
    #[arg(long, requires = "index")]
    pub send: bool,
    /// Name of this host, used to check its cells on another host [default: the machine's].
    #[arg(long = "as", value_name = "HOST", value_parser = text)]
    pub host: Option<String>,
    /// Run this many cells in parallel [default: the number of processors].
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub jobs: Option<u32>,
    /// Options of the result cache. Check cells always run.
    #[command(flatten)]
    pub shared: SharedCache,
    /// Directory on this host for temporary guest files [default: TMPDIR, or /tmp].
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, value_parser = path())]
    pub work_dir: Option<PathBuf>,
}

/// Options of `cluster collect`.
#[derive(Clone, Debug, Args)]
pub struct CollectArgs {
    /// Directory created by `fsarena cluster plan`.
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath, value_parser = path())]
    pub directory: PathBuf,
    /// Exit with 1 if any cell is not ok.
    #[arg(long)]
    pub strict: bool,
    /// Options of the result cache used by workers. Check cells always run.
    #[command(flatten)]
    pub shared: SharedCache,
    /// Options of the engine that runs the cells without a result.
    #[command(flatten)]
    pub engine: SchedulerArgs,
}

/// Options for running cells on other hosts.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = OVER_HOSTS)]
pub struct SchedulerArgs {
    /// Run the cells on the nodes of Slurm, or on --hosts through ssh, and wait for the results;
    /// only virtual time is the same on all hosts.
    #[arg(long, value_name = "ENGINE", value_parser = one_of::<ExternalScheduler>(["slurm", "ssh"]))]
    pub on: Option<ExternalScheduler>,
    /// Use these hosts through ssh, separated by commas (n1,user@n2): with --on ssh they share the
    /// cells, with --together they run each test at the same time; otherwise each runs the campaign
    /// in real time, and contenders are compared over all hosts.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = text)]
    pub hosts: Vec<String>,
    /// Use this Slurm partition [default: the cluster's].
    #[arg(long, value_name = "NAME", requires = "on", value_parser = text)]
    pub partition: Option<String>,
    /// Use only these nodes, in Slurm syntax (n[1-4,7]) [default: all nodes of the partition].
    #[arg(long, value_name = "LIST", requires = "on", value_parser = text)]
    pub nodes: Option<String>,
    /// Run at most this many tasks at a time; each takes one processor [default: no limit].
    #[arg(long = "at-once", value_name = "N", requires = "on", value_parser = int_up_to(MAX_BATCH_ARGS))]
    pub max_running_tasks: Option<u32>,
    /// Pass this option to sbatch (--sbatch=--account=fs); repeatable.
    #[arg(long, value_name = "OPTION", requires = "on", allow_hyphen_values = true)]
    pub sbatch: Vec<String>,
}

/// Engine that runs cells on other hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExternalScheduler {
    /// Slurm.
    Slurm,
    /// ssh to each of the hosts.
    Ssh,
}

impl std::str::FromStr for ExternalScheduler {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "slurm" => Ok(Self::Slurm),
            "ssh" => Ok(Self::Ssh),
            _ => Err(format!("`{text}` runs no cells: slurm or ssh")),
        }
    }
}
