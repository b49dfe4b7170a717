//! Options of `tool`: commands that most users need once.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use config::StorageSettings;
use model::Bytes;

use crate::args::cli_values::{path, share, size};
use crate::args::execution_args::EraseArgs;

/// Commands that most users need once.
#[derive(Clone, Debug, Subcommand)]
pub enum ToolCommand {
    /// Measure the harness overhead and the raw device.
    #[command(after_help = "\
Examples:
  sudo fsarena tool calibrate                      an image, as `run` would create it
  sudo fsarena tool calibrate --device /dev/sdb    a real device, which must be empty and remains empty
  fsarena tool calibrate --overhead                only the harness overhead, without root")]
    Calibrate(CalibrateArgs),
    /// Create an empty AFFS or HPFS, for which Linux has no mkfs.
    #[command(after_help = "\
Examples:
  fsarena tool format affs-ffs amiga.hdf --size 100MiB    a new image
  sudo fsarena tool format hpfs /dev/sdb1 --label WARP    a device, which must be empty
  fsarena tool format affs-ofs work.adf --erase work.adf  an image that holds something")]
    Format(FormatArgs),
    /// Show how well two campaigns on different clocks or machines agree on which contender is
    /// better.
    #[command(after_help = "\
Examples:
  fsarena tool agree 3 4                     virtual time and real time: how far is virtual time to be believed?
  fsarena tool agree 3 4 --json              every phase and every pair that they order differently
  fsarena tool agree 4 5                     two campaigns in real time: how far does it agree with itself?
  make virtual-time                          runs the campaigns, and writes docs/virtual-time.md")]
    Agree(AgreeArgs),
    /// Write all campaigns of the database as static pages.
    #[command(after_help = "\
Examples:
  fsarena tool site pages          an index, a page for each campaign, the history of every result
  xdg-open pages/index.html        it needs no web server, and works behind any

Pages that changed are written again, the others left as they are. A directory that holds anything else is refused.")]
    Site(SiteArgs),
    /// Print a completion script for a shell.
    #[command(after_help = "\
Examples:
  fsarena tool completions bash > /etc/bash_completion.d/fsarena
  fsarena tool completions zsh > ~/.zfunc/_fsarena")]
    Completions(CompletionsArgs),
    /// Print the manual page.
    #[command(after_help = "\
Examples:
  fsarena tool man | man -l -                                  one page for all commands
  fsarena tool man --directory /usr/local/share/man/man1       a page for each command")]
    Man(ManArgs),
}

/// Options of `tool man`.
#[derive(Clone, Debug, Args)]
pub struct ManArgs {
    /// Write a page for each command into this directory.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, value_parser = path())]
    pub directory: Option<PathBuf>,
}

/// Options of `tool calibrate`.
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

/// Options of `tool format`.
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

/// Filesystems that `tool format` creates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MkfsKind {
    /// Fast File System of the Amiga.
    AffsFfs,
    /// Old File System of the Amiga.
    AffsOfs,
    /// High Performance File System of OS/2.
    Hpfs,
}

/// Options of `tool agree`.
#[derive(Clone, Debug, Args)]
pub struct AgreeArgs {
    /// First campaign: its number or name, or a file (JSON report or database).
    #[arg(value_name = "A")]
    pub first: String,
    /// Second campaign, compared with the first.
    #[arg(value_name = "B")]
    pub second: String,
    /// Count costs that differ by less than this as equal [default: 5 %].
    #[arg(long, alias = "threshold", value_name = "SHARE", value_parser = share)]
    pub relevant: Option<f64>,
    /// Write Markdown.
    #[arg(long)]
    pub markdown: bool,
}

/// Options of `tool site`.
#[derive(Clone, Debug, Args)]
pub struct SiteArgs {
    /// Write the pages to this directory: new, empty, or with an earlier site.
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath, value_parser = path())]
    pub directory: PathBuf,
}

/// Options of `tool completions`.
#[derive(Clone, Debug, Args)]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub shell: Shell,
}
