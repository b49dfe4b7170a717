//! The options of `run` and `resume`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use model::{BackendKind, Bytes, Campaign, Nanos, PerMille, SizeProfile, Suite};

use crate::args::batch_args::{CheckArgs, OVER_HOSTS, SchedulerArgs};
use crate::args::cli_values::{
    campaign_number, fill, int_up_to, one_of, path, percent, size, text, time,
};
use crate::args::guest_args::BuildOptions;
use crate::args::machine_args::{MachineArgs, SharedCache};
use crate::args::storage_args::StorageArgs;
use crate::settings::contender_groups::{GroupArg, typed};
use crate::settings::select_campaign;

/// Options of `run`; what is not given comes from the campaign file, then from the profile.
#[derive(Clone, Debug, Default, Args)]
pub struct RunArgs {
    /// A campaign file (TOML); options override it.
    #[arg(value_name = "CAMPAIGN.toml", value_hint = ValueHint::FilePath, value_parser = path())]
    pub file: Option<PathBuf>,
    /// A contender: a filesystem, `:` with mount options, `@` with a disk, memory or age of its own (`ext4:noatime`,
    /// `ext4@sata-ssd`, `zfs@disks=4`, `jfs@memory=64MiB`, `xfs@age=agrawal,fill=80%`); `NAME=` gives it another name
    /// [default: every filesystem that runs here].
    #[arg(short, long = "contender", value_name = "SPEC")]
    pub contenders: Vec<String>,
    /// Run every contender twice: fresh, and aged as a profile says (`fsarena list ages`).
    #[arg(long, value_name = "PROFILE", value_parser = text)]
    pub age: Option<String>,
    /// How full an aged filesystem is before a test; of several (50%,80%), each contender is aged to each
    /// [default: 80%].
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', value_parser = fill)]
    pub fill: Vec<PerMille>,
    /// Keep aged states as compressed images in the cache and take equal ones from there, in later campaigns, too: what is
    /// drawn then follows from the round alone (`fsarena list aged`).
    #[arg(long)]
    pub keep_aged: bool,
    /// A group of contenders to report together (journaling=ext4,xfs); repeatable.
    #[arg(long = "group", value_name = "NAME=CONTENDER,...", value_parser = typed)]
    pub groups: Vec<GroupArg>,
    /// A suite of tests, or one test of it (traces/mail), or another program with its options (fio:my.fio,
    /// bonnie++:'-s 64M'); repeatable [default: the shootout's suites].
    #[arg(short, long = "suite", value_name = "NAME")]
    pub suites: Vec<String>,
    /// Repeat a published comparison with its suites, sizes, volume, memory and filesystems; -c, --size, --memory and
    /// --rounds override it, and --profile quick has its tests in small.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["suites", "file"])]
    pub study: Option<String>,
    /// The size of the tests [default: quick].
    #[arg(long, value_name = "PROFILE", value_parser = one_of::<SizeProfile>(SizeProfile::ALL.map(SizeProfile::name)))]
    pub profile: Option<SizeProfile>,
    /// Repeat each test this often, each time on a fresh filesystem.
    #[arg(long, value_name = "N", value_parser = int_up_to(Campaign::MAX_ROUNDS))]
    pub rounds: Option<u32>,
    /// What is repeated where neither the command line nor a file says how often.
    #[arg(skip)]
    pub rounds_by_default: Option<u32>,
    /// The suites where they are made by a command.
    #[arg(skip)]
    pub own_suites: Vec<Suite>,
    /// Answer as much as this time allows (10min): one round of everything, then only what could settle an open answer.
    #[arg(long, value_name = "TIME", value_parser = time, conflicts_with_all = ["rounds", "until_width", "until_share", "max_rounds", "max_time"])]
    pub budget: Option<Nanos>,
    /// Run it all this often, one campaign after the other, to know by how much two campaigns of the same thing
    /// differ: see `compare`.
    #[arg(long, value_name = "N", value_parser = int_up_to(select_campaign::MAX_SESSIONS))]
    pub sessions: Option<u32>,
    /// Refuse a machine that does something else, and end the campaign where one begins to.
    #[arg(long)]
    pub exclusive: bool,
    /// Add rounds until 95 % intervals are within this of their medians (5%).
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub until_width: Option<f64>,
    /// The share of results that must have such intervals [default: 100%].
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub until_share: Option<f64>,
    /// The most rounds to add up to [default: 20].
    #[arg(long, value_name = "N", value_parser = int_up_to(Campaign::MAX_ROUNDS))]
    pub max_rounds: Option<u32>,
    /// Add no further round after this time (2h) [default: no limit].
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub max_time: Option<Nanos>,
    /// The most bytes to write to this machine's disks [default: twice the estimate, 1.5 TB at most].
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_written: Option<Bytes>,
    /// The seed of all random choices [default: random, and printed; 1 in virtual time].
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// The size of the image: 512M or 512MiB, 1G, 4k (powers of 1024), 700MB (of 1000), as every SIZE here [default: set by
    /// the profile].
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub size: Option<Bytes>,
    /// Limit memory, page cache included; for guests, their whole memory, beside which their disks lie [default: no
    /// limit; 768 MiB in guests].
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<Bytes>,
    /// Where to test: on images or devices of this machine (loop), in mounted directories (dir), or in guests (vm,
    /// needs no root) [default: dir with --dir, else loop].
    #[arg(long, value_name = "BACKEND", value_parser = one_of::<BackendKind>(["loop", "dir", "vm"]))]
    pub backend: Option<BackendKind>,
    /// Run on another machine, as root or through sudo: ssh copies this program there, and nothing else is needed; images
    /// lie in /var/lib/fsarena unless --work-dir says otherwise.
    #[arg(long, value_name = "USER@SERVER")]
    pub host: Option<String>,
    /// Test in this mounted directory; repeatable.
    #[arg(long = "dir", value_name = "DIR", value_hint = ValueHint::DirPath, value_parser = path())]
    pub directories: Vec<PathBuf>,
    /// The device, or where the image is made.
    #[command(flatten)]
    pub storage: StorageArgs,
    /// Copy trees and large files from another disk, which is only read: a directory, a device or image file with a
    /// filesystem, or `image` for a second image [default: content generated in memory].
    #[arg(long, value_name = "SOURCE", value_hint = ValueHint::AnyPath, value_parser = path())]
    pub source: Option<PathBuf>,
    /// The kernel's readahead on an image [default: 128 KiB].
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub readahead: Option<Bytes>,
    /// Mark a cell as hung after this long without progress [default: 2 min].
    #[arg(long, value_name = "TIME")]
    pub stall_timeout: Option<Nanos>,
    /// Mark a phase as hung after this long, even with progress [default: by profile, 2 min to 12 h].
    #[arg(long, value_name = "TIME")]
    pub phase_limit: Option<Nanos>,
    /// A name for the campaign.
    #[arg(long, value_name = "NAME", value_parser = text)]
    pub name: Option<String>,
    /// Exit with 1 if any cell is not ok.
    #[arg(long)]
    pub strict: bool,
    /// Show the plan and its cost; run nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// What a guest is.
    #[command(flatten)]
    pub machine: MachineArgs,
    /// What runs the cells, where that is not this machine.
    #[command(flatten)]
    pub engine: SchedulerArgs,
    /// Where the campaign is planned for it: a directory, empty or not there yet, which with Slurm all nodes see.
    #[arg(long, value_name = "DIR", requires = "on", help_heading = OVER_HOSTS, value_hint = ValueHint::DirPath, value_parser = path())]
    pub plan: Option<PathBuf>,
    /// Divide --rounds among --hosts, in place of running all on each; a host that goes away loses its rounds to the others.
    #[arg(long, requires_all = ["hosts", "rounds"], conflicts_with = "on", help_heading = OVER_HOSTS)]
    pub divide: bool,
    /// How cells are checked there.
    #[command(flatten)]
    pub checked: CheckArgs,
}

/// Options of `resume`.
#[derive(Clone, Debug, Default, Args)]
pub struct ResumeArgs {
    /// Number of the campaign [default: the latest that is not complete].
    #[arg(value_name = "ID", value_parser = campaign_number)]
    pub id: Option<i64>,
    /// Confirm erasing what the campaign left on its device by naming the device again.
    #[arg(long, value_name = "DEV", value_hint = ValueHint::FilePath, value_parser = path())]
    pub erase: Option<PathBuf>,
    /// Erase without asking.
    #[arg(short, long, requires = "erase")]
    pub yes: bool,
    /// Run this many cells in parallel, in guests in virtual time [default: the number of processors].
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub jobs: Option<u32>,
    /// Do not reuse results of identical cells in virtual time.
    #[arg(long, conflicts_with = "cache")]
    pub no_cache: bool,
    /// Whose results are reused.
    #[command(flatten)]
    pub shared: SharedCache,
    /// The most bytes the campaign may write until the next resume [default: its first limit].
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_written: Option<Bytes>,
    /// Exit with 1 if any cell is not ok.
    #[arg(long)]
    pub strict: bool,
    /// What the campaign's guest was made of, where that was said when it began.
    #[command(flatten)]
    pub build: BuildOptions,
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        _run: RunArgs,
    }

    /// A key of campaign files with values: numbers as they are, all else in quotes.
    const BOTH: [(&str, &[&str]); 14] = [
        ("rounds", &["0", "1", "1000", "1001", "4294967296"]),
        ("max_rounds", &["0", "1", "1000", "1001", "10000"]),
        ("processors", &["0", "1", "64", "65"]),
        ("disks", &["0", "1", "8", "9"]),
        (
            "seed",
            &["0", "18446744073709551615", "18446744073709551616"],
        ),
        (
            "size",
            &["0 B", "1 B", "8388607 TiB", "8388608 TiB", "99999999 TiB"],
        ),
        ("memory", &["0 KiB", "1 KiB", "8388608 TiB"]),
        ("readahead", &["0 KiB", "1 KiB", "4 KiB", "8388608 TiB"]),
        ("max_written", &["0 B", "1 GB", "8388608 TiB"]),
        ("max_time", &["0 s", "1 s", "2562047 h", "2562048 h"]),
        ("until_width", &["0%", "0.1%", "100%", "101%", "5"]),
        ("until_share", &["0%", "0.1%", "100%", "101%", "5"]),
        ("name", &["", " ", "a"]),
        ("profile", &["smoke", "study", "Smoke", "huge"]),
    ];

    #[test]
    fn what_a_campaign_file_may_say_the_command_line_may_and_nothing_else() {
        let catalog = config::Catalog::builtin().unwrap();
        let mut differ = Vec::new();
        for (key, values) in BOTH {
            for value in values {
                let option = format!("--{}={value}", key.replace('_', "-"));
                let typed = Line::try_parse_from(["run", option.as_str()]).is_ok();
                let number = value.parse::<u128>().is_ok() && !key.starts_with("until");
                let quoted = format!("\"{value}\"");
                let value = if number { *value } else { &quoted };
                let rule = if key == "until_width" {
                    ""
                } else {
                    "until_width = \"5%\""
                };
                let text = format!("contenders = [\"ext4\"]\n{rule}\n{key} = {value}\n");
                let filed = config::campaign_file::parse(&text, "c.toml", &catalog).is_ok();
                if typed != filed {
                    differ.push(format!("{option}: {typed}, in a file: {filed}"));
                }
            }
        }
        assert!(differ.is_empty(), "{differ:#?}");
    }
}
