//! Definition of the command line, with examples. This module only parses.

use std::path::PathBuf;

use clap::builder::StyledStr;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueHint};

use crate::args::batch_args::ClusterCommand;
use crate::args::cli_values::path;
use crate::args::compare_args::{CompareArgs, GuardArgs, HistoryArgs};
use crate::args::delete_args::DeleteArgs;
use crate::args::disk_args::{DiskCommand, ExplainArgs};
use crate::args::guest_args::GuestCommand;
use crate::args::import_args::ImportArgs;
use crate::args::report_args::{AdviseArgs, ReportArgs};
use crate::args::run_args::{ResumeArgs, RunArgs};
use crate::args::show_args::{ListArgs, ShowArgs};
use crate::args::study_args::StudyCommand;
use crate::args::survive_args::SurviveCommand;
use crate::args::tool_args::ToolCommand;
use crate::args::trace_args::TraceCommand;
use crate::output::text::{terminal_width, wrap_last_column};

/// Compare filesystems with the same tests, and report the evidence.
#[derive(Debug, Parser)]
#[command(
    name = "fsarena",
    version,
    propagate_version = true,
    disable_help_subcommand = true,
    help_template = "\
{about-with-newline}
{usage-heading} {usage}

Commands:
{subcommands}

Options:
{options}{after-help}",
    after_help = "\
Examples:
  sudo fsarena run -c ext4 -c xfs -s bonnie   two filesystems, one suite
  fsarena run --backend vm                    all filesystems, without root
  fsarena advise --use file-server            the best one for a file server
Exit codes: 0 ok, 1 worse, 2 usage, 3 refused, 4 internal, 5 open, 130 stopped"
)]
pub struct Cli {
    /// Options of every command.
    #[command(flatten)]
    pub globals: GlobalArgs,
    /// The command; without one, an overview is printed.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Options of every command.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub struct GlobalArgs {
    /// Use this database [default: the user's fsarena.db].
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath, value_parser = path())]
    pub db: Option<PathBuf>,
    /// Add your own filesystems and suites to the built-in ones.
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath, value_parser = path())]
    pub catalog: Option<PathBuf>,
    /// Write JSON.
    #[arg(long, global = true)]
    pub json: bool,
    /// Print only results and errors.
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Name of the host in messages, if several hosts run campaigns at the same time.
    #[arg(skip)]
    pub of_host: Option<String>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a campaign: contenders × suites × rounds.
    #[command(
        after_help = "\
Examples:
  sudo fsarena run -c ext4 -c xfs -s tree  two filesystems, one suite
  fsarena run --backend vm -c hpfs         in a guest, without root

All options, and more examples: fsarena run --help",
        after_long_help = "\
Examples:
  sudo fsarena run --profile smoke                    a first look, a few seconds per contender
  sudo fsarena run -c ext4 -c ext4:data=journal       one filesystem, two mount options
  sudo fsarena run my-campaign.toml                   a campaign file
  sudo fsarena run -c ext4 -c again=ext4              one filesystem twice: the noise floor
  sudo fsarena run -c ext4 -c xfs --until-width 5% --max-time 2h
                                                      add rounds until results are within 5 %
  fsarena run -s iozone --profile study --dry-run     show the plan and its cost; run nothing
  sudo fsarena run -c xfs --device /dev/sdb           on a real device, which must be empty
  fsarena run --dir /srv/data -s tree                 in a mounted directory, without root
  fsarena run --backend vm --profile smoke            every filesystem that guests support
  fsarena run --backend vm --disk sata-ssd -c hpfs    on a model of a slower disk
  fsarena run --backend vm -c xfs --on slurm --plan /shared/it
                                                      on the nodes of a cluster
  fsarena run --backend vm -c xfs --on ssh --hosts n1,n2 --plan it
                                                      on hosts reached through ssh, in virtual time
  fsarena run -c ext4 -c xfs --hosts n1,n2,n3 --name shop --exclusive
                                                      in real time on each host, with combined results
  fsarena run --backend vm -c zfs --disks 1,2,4       each test with one, two and four disks
  sudo fsarena run -s disk-scaling -c ext4 -c btrfs   write, rewrite, read on an increasing number of images
  sudo fsarena run -c ext4 -c xfs@memory=64MiB        one contender with little memory
  sudo fsarena run -c ext4 -c xfs -c ext2 --group journaling=ext4,xfs
                                                      two contenders as a group in reports"
    )]
    Run(Box<RunArgs>),
    /// Resume an interrupted campaign, or give one more time or rounds.
    #[command(after_help = "\
Examples:
  sudo fsarena resume                   the latest campaign that is not complete
  sudo fsarena resume 7                 campaign 7
  sudo fsarena resume 7 --more 20min    for closer answers
  sudo fsarena resume 8 --rounds 9      the same, for a campaign without a budget")]
    Resume(ResumeArgs),
    /// Watch a running campaign: results, failures and the time left.
    #[command(after_help = "\
Examples:
  fsarena watch               the running campaign
  fsarena watch 7             campaign 7
  ssh -t server fsarena watch --db /srv/fsarena.db
                              on another machine

Reads the database while another process writes to it, and draws twice a second. Arrow keys scroll; q, Esc and Ctrl-C \
leave without stopping the campaign. The display ends with the campaign, and its last state remains on the terminal. \
A number in the grid is the cost of a contender's phases relative to the best so far: 1.00 is the best in every phase, \
2.00 takes twice as long. Use `fsarena report` to see which differences are significant.")]
    Watch(WatchArgs),
    /// Report on a campaign: table, page, charts or data.
    #[command(after_help = "\
Examples:
  fsarena report                                  a table of the latest campaign
  fsarena report nightly -o report.html           the latest campaign `nightly` as a page
  fsarena report --format bonnie-csv | bon_csv2html > bonnie.html
  fsarena report --charts charts                  charts as SVG and PNG
  fsarena report --study bonnie-linux-2011 -o bonnie.html
                                                  the figures of a published comparison as a page
  fsarena report --campaigns 3,4,7 -o changes.html
                                                  what changed over several campaigns, as a page
  fsarena report --schema                         the JSON schema of --format json")]
    Report(ReportArgs),
    /// Recommend a contender for a use case, with the reasons.
    #[command(after_help = "\
Examples:
  fsarena advise                             a sentence for each use, by the latest campaign
  fsarena advise --use file-server           one of them, with the reasons
  fsarena advise --use mail-spool nightly    by the latest campaign `nightly`
  fsarena advise --use desktop report.json   by a report in JSON
  fsarena --catalog ~/my-catalog advise --use photos --json")]
    Advise(AdviseArgs),
    /// Compare two campaigns, or two contenders of one.
    #[command(after_help = "\
Examples:
  fsarena compare 3 4                          campaign 3 and campaign 4
  fsarena compare old new --only 'tree/*'      all sessions of two names, some results
  fsarena compare old.json new.json --threshold 5%
                                               exit with 1 if a result is worse by more than 5 %
  fsarena compare --within 4 ext4 ext4:data=journal
                                               two contenders of campaign 4
  fsarena compare --within shop ext4 xfs       the same over all hosts that ran `shop`")]
    Compare(CompareArgs),
    /// Show one result over all campaigns, with its level changes.
    #[command(after_help = "\
Examples:
  fsarena history bonnie-block/write               of each contender
  fsarena history bonnie-block/write:latency-p99 -c ext4
  fsarena history 'tree/*' -c xfs --json           every phase of a test")]
    History(HistoryArgs),
    /// Find out if a contender or version is worse than an earlier one.
    #[command(after_help = "\
Examples:
  sudo fsarena guard ext4 ext4:commit=60 -s durable        another mount option
  sudo fsarena guard ext4 ext4:noatime --rounds 20 --only 'tree/*' --detect 20%
                                                           more rounds, some results, and sure to see 20 %
  sudo fsarena guard old new defaults.toml                 two contenders of a campaign file, with their mkfs_options
  fsarena guard ext4 --over 6.1,6.12 -s tree               Debian's kernels side by side, in guests
  fsarena guard xfs --over v1=a/,v2=b/,v3=c/ -s durable    kernels or mkfs of your own: the first worse one
  fsarena guard a b c d e defaults.toml -s durable         five sets of options, in their order

Of a list, the first worse version is searched as git bisect does: see docs/guarding.md. Exit codes: 1 if the last is \
worse by more than --threshold, or fails but the first does not; 5 if no result is decided, or --detect cannot be kept.")]
    Guard(Box<GuardArgs>),
    /// Explain a difference between two contenders, in virtual time.
    #[command(after_help = "\
Examples:
  fsarena explain tree/tree-within xfs ext4  of the latest campaign: time, disk, functions of the kernel
  fsarena explain 7 durable/overwrite-fsync btrfs ext4 -o pictures
                                             of campaign 7; a flame graph and two maps go there
  fsarena explain tree/tree-within xfs ext4 --json

Both cells run once more, with the guest's processor sampled in its own time: the result is the same in every run, and \
is kept. A campaign to explain: fsarena run --backend vm --disk hdd-2003-7200 -s tree -c xfs -c ext4")]
    Explain(ExplainArgs),
    /// Show the cells of a campaign, or one cell with its evidence.
    #[command(after_help = "\
Examples:
  fsarena show                the latest campaign, cell by cell
  fsarena show nightly        the latest campaign `nightly`
  fsarena show 7 --cell 12    cell 12 of campaign 7: phases, command lines, kernel log")]
    Show(ShowArgs),
    /// List filesystems, suites, campaigns and other objects.
    #[command(after_help = "\
Examples:
  fsarena list                the filesystems of the catalog
  fsarena list --long         with origin, readers and limits, and their sources
  fsarena list suites         the suites with their tests
  fsarena list uses           what `advise` can answer, with weights and needs
  fsarena list aged           aged states that are kept; to remove one, remove its file
  fsarena list campaigns      the campaigns you ran")]
    List(ListArgs),
    /// Show which filesystems run here, and what the others require.
    #[command(after_help = "\
Examples:
  fsarena doctor
  fsarena doctor --fix                                installs missing packages
  sudo apt-get install $(fsarena doctor --packages)   the same by hand")]
    Doctor(DoctorArgs),
    /// Import results of other programs, or campaigns of another database.
    #[command(after_help = "\
Examples:
  fsarena import bonnie.csv                   output of bonnie++: one contender per machine name in it
  fsarena import ext4=a.json xfs=b.json       output of fio on two filesystems, as one campaign
  fsarena import -c ext4 1.txt 2.txt 3.txt    three runs of one program: three rounds
  iozone -Ra | fsarena import -c ext4 -       from standard input
  fsarena import other.db                     every campaign of another machine's database
  fsarena import composite.xml --dry-run      show the contents, and store nothing

Supported: bonnie++ (CSV), IOzone, fio (JSON, json+), tiobench, fs_mark, IOR, mdtest, the Phoronix Test Suite (XML), hyperfine \
(JSON), filebench, dbench, and reports (CSV, JSON) and databases of fsarena. The format is detected from the content. \
All files except fsarena's own are combined into one campaign. Damaged files are not imported.")]
    Import(ImportArgs),
    /// Delete campaigns with their results and request logs.
    #[command(after_help = "\
Examples:
  fsarena delete 7            campaign 7, after a question
  fsarena delete nightly      the only campaign with this name
  fsarena delete 3 4 5 --yes  three campaigns, without a question

Results cannot be restored. Pages and reports that were written stay. A campaign that runs is not deleted, and no other \
campaign gets its number.")]
    Delete(DeleteArgs),
    /// Show published comparisons, check their claims, or repeat them.
    #[command(
        subcommand,
        after_help = "\
Examples:
  fsarena list studies                          the published comparisons
  fsarena study show bonnie-linux-2011          the figures of one of them
  fsarena study claims                          number of claims that hold, for each study"
    )]
    Study(StudyCommand),
    /// Show, replay and validate the requests to simulated disks.
    #[command(
        subcommand,
        after_help = "\
Examples:
  fsarena disk requests                         where the time went in the first cell
  fsarena disk replay --disk sata-ssd           the same requests on another disk
  fsarena disk validate                         the models and the real disks"
    )]
    Disk(DiskCommand),
    /// Cut the power in the work of a program, or check a real machine.
    #[command(
        subcommand,
        after_help = "\
Examples:
  fsarena survive trace work.trace -c ext4 -c xfs              in guests, at each position of a recorded program
  ssh root@server fsarena survive write /mnt/test > cut.log    then cut the power of the server
  ssh root@server fsarena survive check /mnt/test < cut.log    after it has started again

The filesystem must be mounted at /mnt/test both times. `fsarena run --backend vm -s survival` has tests for power \
cuts of simulated disks, which need no other machine."
    )]
    Survive(SurviveCommand),
    /// Record, import, show and replay the file operations of a program.
    #[command(
        subcommand,
        after_help = "\
Examples:
  fsarena trace record -o build.trace -- make          in the directory that is recorded
  fsarena trace import build.strace -o build.trace     what strace has recorded
  fsarena trace show build.trace
  sudo fsarena trace replay build.trace -c ext4 -c xfs"
    )]
    Trace(TraceCommand),
    /// Run a campaign in virtual time on any number of hosts.
    #[command(
        subcommand,
        after_help = "\
Examples:
  fsarena cluster plan --backend vm -c ext4 -c xfs -o /shared/it   write to a directory shared by all hosts
  seq 0 99 | parallel -S n1,n2 /shared/it/fsarena cluster work /shared/it --index {}
  fsarena cluster collect /shared/it                               store the results and list missing cells

Any program that starts processes works: see docs/many-machines.md for Slurm, HyperQueue, GNU parallel, Kubernetes and HTCondor. \
`fsarena run --on slurm` and `--on ssh` do all three steps."
    )]
    Cluster(ClusterCommand),
    /// Build and check guests, which have filesystems that this kernel lacks.
    #[command(
        subcommand,
        after_help = "\
Examples:
  fsarena guest build       from Debian packages, without root; does nothing if it is up to date
  fsarena guest shell jfs   a shell in a guest with that filesystem on /mnt
  fsarena guest selftest    check that virtual time does not depend on this machine"
    )]
    Guest(GuestCommand),
    /// Calibrate, format, compare clocks, write a site, set up the shell.
    #[command(
        subcommand,
        after_help = "\
Examples:
  sudo fsarena tool calibrate                   overhead of fsarena, and the raw image
  fsarena tool format hpfs os2.img --size 100MiB
  fsarena tool completions bash > /etc/bash_completion.d/fsarena
  fsarena tool man | man -l -"
    )]
    Tool(ToolCommand),
    /// Run one cell (started by fsarena itself).
    #[command(hide = true)]
    Agent(AgentArgs),
}

/// Width of help that is not printed on a terminal, as clap has it.
const HELP_WIDTH: usize = 100;

impl Cli {
    /// Parses the arguments of this process.
    ///
    /// # Errors
    /// Returns an error that shows help or the reason.
    pub fn from_arguments() -> Result<Self, clap::Error> {
        let width = terminal_width().unwrap_or(HELP_WIDTH);
        let mut command = with_wrapped_examples(Self::command(), width);
        let matches = command.try_get_matches_from_mut(std::env::args_os())?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }
}

/// Wraps the descriptions of examples, which clap would continue at the left margin.
fn with_wrapped_examples(mut command: clap::Command, width: usize) -> clap::Command {
    let wrapped = |text: &StyledStr| wrap_last_column(&text.to_string(), width);
    if let Some(text) = command.get_after_help().map(wrapped) {
        command = command.after_help(text);
    }
    if let Some(text) = command.get_after_long_help().map(wrapped) {
        command = command.after_long_help(text);
    }
    command.mut_subcommands(|command| with_wrapped_examples(command, width))
}

/// Returns the path of every command that is not hidden, such as `disk replay`, groups included.
pub fn commands() -> Vec<Vec<String>> {
    fn below(command: &clap::Command, path: &[String]) -> Vec<Vec<String>> {
        let seen = command.get_subcommands().filter(|command| !command.is_hide_set());
        seen.flat_map(|command| {
            let path = [path, &[command.get_name().to_owned()]].concat();
            [vec![path.clone()], below(command, &path)].concat()
        })
        .collect()
    }
    below(&Cli::command(), &[])
}

/// The exit codes, as the manual page explains them.
pub const EXIT_CODES: &str = "\
0    success; a failed contender is a result
1    a cell is not ok and --strict was given; or `guard` or `compare --threshold` found a regression
2    usage error, explained in one line
3    refused, or a requirement is missing: root, space, a tool, a free device
4    internal error
5    undecided: `guard` shows no result to be worse or not, or --detect cannot be kept; more rounds are needed
130  interrupted and cleaned up; continue with `fsarena resume`
";

/// Options of `watch`.
#[derive(Clone, Debug, Args)]
pub struct WatchArgs {
    /// Campaign by number or name [default: the latest that runs].
    #[arg(value_name = "CAMPAIGN")]
    pub campaign: Option<String>,
}

/// Options of `doctor`.
#[derive(Clone, Debug, Args)]
pub struct DoctorArgs {
    /// Print only the missing Debian packages, for apt-get.
    #[arg(long)]
    pub packages: bool,
    /// Install the missing packages with apt-get, after a question.
    #[arg(long, conflicts_with_all = ["packages", "host"])]
    pub fix: bool,
    /// Skip the question.
    #[arg(short, long, requires = "fix")]
    pub yes: bool,
    /// Examine another machine, through ssh.
    #[arg(long, value_name = "USER@SERVER")]
    pub host: Option<String>,
}

/// Options of `agent`.
#[derive(Clone, Debug, Args)]
pub struct AgentArgs {
    /// Move into new namespaces first.
    #[arg(long)]
    pub isolate: bool,
    /// Restrict access to the cell's device, in new namespaces.
    #[arg(long, conflicts_with = "isolate")]
    pub restricted: bool,
    /// Run as the first process of a guest.
    #[arg(long, conflicts_with = "isolate")]
    pub guest: bool,
    /// Run as the first process of a guest with an interactive shell.
    #[arg(long, conflicts_with_all = ["isolate", "guest"])]
    pub guest_shell: bool,
    /// Serve an orchestrator on standard input until it closes.
    #[arg(long, conflicts_with_all = ["isolate", "guest"])]
    pub machine: bool,
    /// Describe the contents of a source, in a new mount namespace.
    #[arg(long, conflicts_with_all = ["isolate", "guest", "guest_shell"])]
    pub survey: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::SizeProfile;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    /// Returns every path option and argument of every command, with the arguments that precede it.
    fn paths(command: &clap::Command, words: &[String]) -> Vec<(Vec<String>, String)> {
        let is_path = |arg: &&clap::Arg| {
            arg.get_value_parser().type_id() == std::any::TypeId::of::<PathBuf>()
        };
        let lead = |arg: &clap::Arg| {
            let mut words = words.to_vec();
            match arg.get_long() {
                Some(long) => words.push(format!("--{long}")),
                None => {
                    let before = command.get_positionals();
                    let before = before.take_while(|other| other.get_id() != arg.get_id());
                    let first = |arg: &clap::Arg| match &arg.get_possible_values()[..] {
                        [first, ..] => first.get_name().to_owned(),
                        [] => "ext4".to_owned(),
                    };
                    words.extend(before.map(first));
                }
            }
            (words, arg.get_id().to_string())
        };
        let own = command.get_arguments().filter(is_path).map(lead);
        let below = command
            .get_subcommands()
            .flat_map(|sub| paths(sub, &[words, &[sub.get_name().to_owned()]].concat()));
        own.chain(below).collect()
    }

    #[test]
    fn a_path_that_is_not_utf_8_is_refused_with_the_name_of_its_option() {
        use std::os::unix::ffi::OsStrExt;

        let all = paths(&Cli::command(), &["fsarena".to_owned()]);
        assert!(all.len() > 12, "{all:?}");
        for (words, name) in all {
            let mut words: Vec<_> = words.iter().map(std::ffi::OsString::from).collect();
            words.push(std::ffi::OsStr::from_bytes(b"/tmp/\xff").to_owned());
            let error = Cli::try_parse_from(&words).unwrap_err();
            assert_eq!(error.kind(), clap::error::ErrorKind::ValueValidation, "{name}: {error}");
            let text = error.to_string();
            assert!(text.contains("the path is not UTF-8"), "{name}: {text}");
            let option = words[words.len() - 2].to_string_lossy();
            assert!(text.contains(option.as_ref()) || text.contains("for '"), "{name}: {text}");
        }
    }

    #[test]
    fn every_word_shown_is_read() {
        for profile in SizeProfile::ALL.map(SizeProfile::name) {
            Cli::try_parse_from(["fsarena", "run", "--profile", profile]).unwrap();
        }
        for backend in ["loop", "dir", "vm"] {
            Cli::try_parse_from(["fsarena", "run", "--backend", backend]).unwrap();
        }
        for clock in ["virtual", "real"] {
            Cli::try_parse_from(["fsarena", "run", "--clock", clock]).unwrap();
        }
        for mode in model::DiskCache::ALL.map(model::DiskCache::name) {
            Cli::try_parse_from(["fsarena", "run", "--disk-cache", mode]).unwrap();
        }
    }

    #[test]
    fn every_command_that_people_use_has_an_example() {
        for path in commands() {
            let command = path.iter().fold(Cli::command(), |above, name| {
                above.find_subcommand(name).expect("it is in the list").clone()
            });
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains(&format!("fsarena {}", path[0])), "{path:?} has none");
        }
    }
}
