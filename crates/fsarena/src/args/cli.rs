//! Definition of the command line, with examples. This module only parses.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use config::StorageSettings;
use model::Bytes;

use crate::args::batch_args::{CollectArgs, PlanArgs, WorkArgs};
use crate::args::cli_values::{campaign_number, path, size};
use crate::args::compare_args::{AgreeArgs, CompareArgs, GuardArgs, HistoryArgs};
use crate::args::execution_args::EraseArgs;
use crate::args::guest_args::GuestArgs;
use crate::args::import_args::ImportArgs;
use crate::args::journal_args::{ExplainArgs, JournalArgs, ReplayArgs, ValidateArgs};
use crate::args::report_args::{AdviseArgs, ReportArgs, SiteArgs};
use crate::args::run_args::{ResumeArgs, RunArgs};
use crate::args::show_args::{ListArgs, ShowArgs};
use crate::args::study_args::{ClaimsArgs, ReplicateArgs};
use crate::args::trace_args::TraceArgs;

/// Compare filesystems with the same tests, and report the evidence.
#[derive(Debug, Parser)]
#[command(
    name = "fsarena",
    version,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "\
Examples:
  sudo fsarena run                             every filesystem this machine supports
  sudo fsarena run -c ext4 -c xfs -s bonnie    two filesystems, one suite
  fsarena run --dir /mnt/a --dir /mnt/b        two mounted directories, without root
  fsarena run --backend vm                     in guests: many more filesystems, without root
  fsarena report --format html -o report.html  the latest campaign as a page
  fsarena advise --use file-server             the best contender for a file server
  fsarena compare 3 4 --threshold 5%           list changes; exit with 1 on a regression

Exit codes:
  0    success; a failed contender is a result
  1    a cell is not ok and --strict was given; or `guard` or `compare --threshold` found a regression
  2    usage error, explained in one line
  3    refused, or a requirement is missing: root, space, a tool, a free device, enough rounds for --detect
  4    internal error
  130  interrupted and cleaned up; continue with `fsarena resume`"
)]
pub struct Cli {
    /// Options of every command.
    #[command(flatten)]
    pub globals: GlobalArgs,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// Options of every command.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub struct GlobalArgs {
    /// Use this database of campaigns [default: fsarena.db in the data directory].
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath, value_parser = path())]
    pub db: Option<PathBuf>,
    /// Add filesystems and suites of your own to the built-in ones.
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
    /// Resume a killed or interrupted campaign.
    #[command(after_help = "\
Examples:
  sudo fsarena resume       the latest campaign
  sudo fsarena resume 7     campaign 7")]
    Resume(ResumeArgs),
    /// Plan a campaign in virtual time into a directory; any number of hosts can run its cells.
    #[command(after_help = "\
Examples:
  fsarena plan --backend vm -c ext4 -c xfs -o /shared/it   write to a directory shared by all hosts
  seq 0 99 | parallel -S n1,n2 /shared/it/fsarena work /shared/it --index {}
  fsarena collect /shared/it                               store the results and list missing cells

Any program that starts processes works: see docs/many-machines.md for Slurm, HyperQueue, GNU parallel, Kubernetes and HTCondor.")]
    Plan(Box<PlanArgs>),
    /// Run planned cells and write a file for each result (start it on each host).
    #[command(after_help = "\
Examples:
  /shared/it/fsarena work /shared/it --index 7             one entry
  /shared/it/fsarena work /shared/it --index 40 --count 8  eight entries
  /shared/it/fsarena work /shared/it --all                 all remaining entries, on this host

Cells with a valid result are skipped. Exit codes: 0 if the results exist; 3 if a requirement is missing on this host.")]
    Work(WorkArgs),
    /// Store the results of planned cells, and show which cells still have to run.
    #[command(after_help = "\
Examples:
  fsarena collect /shared/it                               as often as you like
  fsarena collect /shared/it --on slurm                    have Slurm run what is left, and follow it
  fsarena collect it --on ssh --hosts n1,n2                the same with hosts that ssh reaches

Files that are damaged, of another campaign or second results are named and not taken. Exit code 3 if results are missing.")]
    Collect(CollectArgs),
    /// List filesystems, suites, profiles, studies, uses, disks, ages, aged states or campaigns.
    #[command(after_help = "\
Examples:
  fsarena list                the filesystems of the catalog
  fsarena list --long         with origin, readers and limits, and their sources
  fsarena list suites         the suites with their tests
  fsarena list uses           what `advise` can answer, with weights and needs
  fsarena list aged           aged states that are kept; to remove one, remove its file
  fsarena list campaigns      the campaigns you ran")]
    List(ListArgs),
    /// Show a campaign, one cell with its evidence, or a published comparison.
    #[command(after_help = "\
Examples:
  fsarena show                the latest campaign, cell by cell
  fsarena show study bonnie-linux-2011
                              the figures of a published comparison, and their known problems
  fsarena show 7 --cell 12    cell 12 of campaign 7: phases, command lines, kernel log")]
    Show(ShowArgs),
    /// Check the claims of published comparisons against their own figures.
    #[command(after_help = "\
Examples:
  fsarena claims                              number of claims that hold, for each study
  fsarena claims bonnie-linux-2011            each claim, the verdict, and the numbers that decide it
  fsarena claims debian-file-server-2006 --verdict partly
                                              only claims that hold in part
  fsarena claims all --json                   every claim of every study, with its statements

Verdicts: supported; partly (for some of the figures, or with another size); contradicted; undecidable (no figure
decides it; the reason is shown). docs/claims.md describes the claim language.")]
    Claims(ClaimsArgs),
    /// Repeat a published comparison, and show which of its claims hold now.
    #[command(after_help = "\
Examples:
  fsarena replicate bonnie-linux-2011 --profile quick --backend vm
                                            its filesystems and tests at small size, in guests in virtual time
  sudo fsarena replicate debian-file-server-2006
                                            with its original sizes, volume and memory, on this machine
  fsarena replicate bonnie-linux-2011 --campaign 7 -o page.html
                                            compare campaign 7 with the study, and write the `then and now` page

Claims are checked against both the published and the measured results. With one round in real time, or if intervals
overlap, the verdict is `not enough rounds`. Only orders and ratios are compared, never published times with new times.")]
    Replicate(Box<ReplicateArgs>),
    /// Watch a running campaign on the terminal: results, failures and the time left.
    #[command(after_help = "\
Examples:
  fsarena watch               the running campaign
  fsarena watch 7             campaign 7
  ssh -t server fsarena watch --db /srv/fsarena.db
                              on another machine

Reads the database while another process writes to it, and draws twice a second. Arrow keys scroll; q, Esc and Ctrl-C
leave without stopping the campaign. The display ends with the campaign, and its last state remains on the terminal.
A number in the grid is the cost of a contender's phases relative to the best so far: 1.00 is the best in every phase,
2.00 takes twice as long. Use `fsarena report` to see which differences are significant.")]
    Watch(WatchArgs),
    /// Show the requests to a simulated disk in a cell, and the time spent in each part of them.
    #[command(after_help = "\
Examples:
  fsarena journal                            the first cell of the latest campaign, phase by phase
  fsarena journal 7 --cell 12                cell 12 of campaign 7
  fsarena journal 7 --cell 12 --phase tree-in --format csv
                                             every request of a phase with its time components
  fsarena journal --format blkparse -o it.txt
                                             every request, for programs that read blkparse output
  fsarena journal --phase tree-in --format map -o map.svg
                                             a picture: location on the disk over time")]
    Journal(JournalArgs),
    /// Explain the causes of the difference between two contenders, in virtual time.
    #[command(after_help = "\
Examples:
  fsarena explain tree/tree-within xfs ext4  of the latest campaign: time, disk, functions of the kernel
  fsarena explain 7 durable/overwrite-fsync btrfs ext4 -o pictures
                                             of campaign 7; a flame graph and two maps go there
  fsarena explain tree/tree-within xfs ext4 --json

Both cells run once more, with the guest's processor sampled in its own time: the result is the same in every run, and
is kept. A campaign to explain: fsarena run --backend vm --disk hdd-2003-7200 -s tree -c xfs -c ext4")]
    Explain(ExplainArgs),
    /// Replay the journal of a cell on other simulated disks, in seconds and without a guest.
    #[command(after_help = "\
Examples:
  fsarena replay                             the first cell of the latest campaign, on every disk
  fsarena replay 7 --cell 12 --disk sata-ssd,sata-ssd-steady
                                             a new disk, and one after a long series of overwrites
  fsarena replay it.csv --disk all --open    send requests at their recorded times, even to a slow disk")]
    Replay(ReplayArgs),
    /// Compare simulated disks with the published values of the real disks.
    #[command(after_help = "\
Examples:
  fsarena validate                 every disk of the catalog: data sheet, model, ratio
  fsarena validate sata-ssd --json")]
    Validate(ValidateArgs),
    /// Report on a campaign.
    #[command(after_help = "\
Examples:
  fsarena report                                  a table of the latest campaign
  fsarena report 7 --format html -o report.html   a page
  fsarena report --format bonnie-csv | bon_csv2html > bonnie.html
  fsarena report --charts charts                  every chart as SVG and PNG
  fsarena report --study bonnie-linux-2011 --format html -o bonnie.html
                                                  the figures of a published comparison as a page
  fsarena report --campaigns 3,4,7 -o changes.html
                                                  what changed over several campaigns, as a page
  fsarena report --schema                         the JSON schema of --format json")]
    Report(ReportArgs),
    /// Write all campaigns of the database as static pages.
    #[command(after_help = "\
Examples:
  fsarena site pages          an index, a page for each campaign, the history of every result
  xdg-open pages/index.html   it needs no web server, and works behind any

Pages that changed are written again, the others left as they are. A directory that holds anything else is refused.")]
    Site(SiteArgs),
    /// Recommend a contender for a use case, with the reasons.
    #[command(after_help = "\
Examples:
  fsarena advise                             a sentence for each use, by the latest campaign
  fsarena advise --use file-server           one of them, with the reasons
  fsarena advise --use mail-spool 7          by campaign 7
  fsarena advise --use desktop report.json   by a report in JSON
  fsarena --catalog ~/my-catalog advise --use photos --json")]
    Advise(AdviseArgs),
    /// Compare two campaigns, or two contenders of one: changes, their size and their uncertainty.
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
    /// Show how well two campaigns on different clocks or machines agree on which contender is
    /// better.
    #[command(after_help = "\
Examples:
  fsarena agree 3 4                     virtual time and real time: how far is virtual time to be believed?
  fsarena agree 3 4 --json              every phase and every pair that they order differently
  fsarena agree 4 5                     two campaigns in real time: how far does it agree with itself?
  make virtual-time                     runs the campaigns, and writes docs/virtual-time.md")]
    Agree(AgreeArgs),
    /// Check if a contender is worse than another, or than on an older kernel; in a list, find the
    /// first worse version.
    #[command(after_help = "\
Examples:
  sudo fsarena guard ext4 ext4:commit=60 -s durable        another mount option
  sudo fsarena guard ext4 ext4:noatime --rounds 20 --only 'tree/*' --detect 20%
                                                           more rounds, some results, and sure to see 20 %
  sudo fsarena guard old new defaults.toml                 two contenders of a campaign file, with their mkfs_options
  fsarena guard ext4 --over 6.1,6.12 -s tree               Debian's kernels side by side, in guests
  fsarena guard xfs --over v1=a/,v2=b/,v3=c/ -s durable    kernels or mkfs of your own: the first worse one
  fsarena guard a b c d e defaults.toml -s durable         five sets of options, in their order

Two contenders run in one campaign, in turns. Of a list, in guests in virtual time, the first and the last are run, and
where the last is worse those that halve what is left, as git bisect does; one that cannot be run is skipped. What was
run is not run again. With --on slurm --plan DIR, nodes run the cells.

Exit codes: 1 if the last is worse by more than --threshold, or fails where the first does not; 3 if --detect cannot be
kept.")]
    Guard(Box<GuardArgs>),
    /// Show one result over all campaigns, and the points at which its level changed.
    #[command(after_help = "\
Examples:
  fsarena history bonnie-block/write               of each contender
  fsarena history bonnie-block/write:latency-p99 -c ext4
  fsarena history 'tree/*' -c xfs --json           every phase of a test")]
    History(HistoryArgs),
    /// Import results of other programs or campaigns of another database.
    #[command(after_help = "\
Examples:
  fsarena import bonnie.csv                   output of bonnie++: one contender per machine name in it
  fsarena import ext4=a.json xfs=b.json       output of fio on two filesystems, as one campaign
  fsarena import -c ext4 1.txt 2.txt 3.txt    three runs of one program: three rounds
  iozone -Ra | fsarena import -c ext4 -       from standard input
  fsarena import other.db                     every campaign of another machine's database
  fsarena import composite.xml --dry-run      show the contents, and store nothing

Supported: bonnie++ (CSV), IOzone, fio (JSON, json+), tiobench, fs_mark, IOR, mdtest, the Phoronix Test Suite (XML), hyperfine
(JSON), filebench, dbench, and reports (CSV, JSON) and databases of fsarena. The format is detected from the content.
All files except fsarena's own are combined into one campaign. Damaged files are not imported.")]
    Import(ImportArgs),
    /// Show the filesystems that run here and the requirements of the others.
    #[command(after_help = "\
Examples:
  fsarena doctor
  sudo apt-get install $(fsarena doctor --packages)")]
    Doctor(DoctorArgs),
    /// Measure the harness overhead and the raw device.
    #[command(after_help = "\
Examples:
  sudo fsarena calibrate                      an image, as `run` would create it
  sudo fsarena calibrate --device /dev/sdb    a real device, which must be empty and remains empty
  fsarena calibrate --overhead                only the harness overhead, without root")]
    Calibrate(CalibrateArgs),
    /// Create an empty AFFS or HPFS, for which Linux has no mkfs.
    #[command(after_help = "\
Examples:
  fsarena format affs-ffs amiga.hdf --size 100MiB    a new image
  sudo fsarena format hpfs /dev/sdb1 --label WARP    a device, which must be empty
  fsarena format affs-ofs work.adf --erase work.adf  an image that holds something")]
    Format(FormatArgs),
    /// Build the guest: a small virtual machine with the filesystems that your kernel lacks.
    #[command(after_help = "\
Examples:
  fsarena guest build       from Debian packages, without root; does nothing if it is up to date
  fsarena guest shell jfs   a shell in a guest with that filesystem on /mnt
  fsarena guest selftest    check that virtual time does not depend on this machine")]
    Guest(GuestArgs),
    /// Record, import, show and replay the file operations of a program.
    #[command(after_help = "\
Examples:
  fsarena trace record -o build.trace -- make          in the directory that is recorded
  fsarena trace import build.strace -o build.trace     what strace has recorded
  fsarena trace show build.trace
  sudo fsarena trace replay build.trace -c ext4 -c xfs")]
    Trace(TraceArgs),
    /// Print a completion script for a shell.
    #[command(after_help = "\
Examples:
  fsarena completions bash > /etc/bash_completion.d/fsarena
  fsarena completions zsh > ~/.zfunc/_fsarena")]
    Completions(CompletionsArgs),
    /// Print the manual page.
    #[command(after_help = "\
Examples:
  fsarena man | man -l -
  fsarena man > /usr/local/share/man/man1/fsarena.1")]
    Man,
    /// Run one cell (started by fsarena itself).
    #[command(hide = true)]
    Agent(AgentArgs),
}

/// Options of `watch`.
#[derive(Clone, Debug, Args)]
pub struct WatchArgs {
    /// Number of the campaign [default: the latest that runs].
    #[arg(value_name = "ID", value_parser = campaign_number)]
    pub id: Option<i64>,
}

/// Options of `doctor`.
#[derive(Clone, Debug, Args)]
pub struct DoctorArgs {
    /// Print only the missing Debian packages, for apt-get.
    #[arg(long)]
    pub packages: bool,
    /// Examine another machine, through ssh.
    #[arg(long, value_name = "USER@SERVER")]
    pub host: Option<String>,
}

/// Options of `calibrate`.
#[derive(Clone, Debug, Args)]
#[command(mut_arg("erase", |a| a.requires("device")))]
pub struct CalibrateArgs {
    /// Measure only the harness overhead; does not need root.
    #[arg(long, conflicts_with_all = ["size", "device", "work_dir"])]
    pub overhead: bool,
    /// Size of the image, such as 512M, 1G or 700MB [default: 256 MiB].
    #[arg(long, value_name = "SIZE", value_parser = size, conflicts_with = "device")]
    pub size: Option<Bytes>,
    /// The device, or the directory of the image.
    #[command(flatten)]
    pub storage: StorageSettings,
    /// Data that may be erased.
    #[command(flatten)]
    pub erase: EraseArgs,
    /// Measure another machine, through ssh.
    #[arg(long, value_name = "USER@SERVER")]
    pub host: Option<String>,
}

/// Options of `format`.
#[derive(Clone, Debug, Args)]
pub struct FormatArgs {
    /// Filesystem to create.
    #[arg(value_enum, value_name = "FILESYSTEM")]
    pub filesystem: MkfsKind,
    /// A block device or an image; refused if it holds anything.
    #[arg(value_name = "DEVICE", value_hint = ValueHint::FilePath, value_parser = path())]
    pub device: PathBuf,
    /// Confirm that the contents of this device may be erased; repeat the value of DEVICE.
    #[arg(long, value_name = "DEVICE", value_hint = ValueHint::FilePath, value_parser = path())]
    pub erase: Option<PathBuf>,
    /// Erase the device without asking and without checking its contents.
    #[arg(short, long, requires = "erase")]
    pub yes: bool,
    /// Create an image of this size; the file must not exist.
    #[arg(long, value_name = "SIZE", value_parser = size, conflicts_with = "erase")]
    pub size: Option<Bytes>,
    /// Set the volume label: at most 30 characters for AFFS, 11 for HPFS.
    #[arg(long, value_name = "TEXT", default_value = "fsarena")]
    pub label: String,
    /// AFFS only: ignore case for letters with accents, too.
    #[arg(long)]
    pub international: bool,
}

/// Filesystems that `format` creates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum MkfsKind {
    /// Fast File System of the Amiga.
    AffsFfs,
    /// Old File System of the Amiga.
    AffsOfs,
    /// High Performance File System of OS/2.
    Hpfs,
}

/// Options of `completions`.
#[derive(Clone, Debug, Args)]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub shell: Shell,
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
    use clap::CommandFactory;
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
        for command in Cli::command().get_subcommands().filter(|c| !c.is_hide_set()) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("fsarena"), "{} has none", command.get_name());
        }
    }
}
