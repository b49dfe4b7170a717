//! Options of `guest`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use model::Bytes;

use crate::args::cli_values::{path, release, size};
use crate::output::exit::UsageError;

/// Actions on guests.
#[derive(Clone, Debug, Subcommand)]
pub enum GuestCommand {
    /// Build a guest from Debian packages, unless it is up to date.
    #[command(after_help = "\
Examples:
  fsarena guest build
  fsarena guest build --guest-kernel 6.1,6.12    a guest with each of these kernels of Debian
  fsarena guest build --with zfs    also OpenZFS, whose driver is built for five minutes and more
  fsarena guest build --kernel arch/x86/boot/bzImage --modules DIR    a kernel of your own")]
    Build(BuildOptions),
    /// Check that virtual time does not depend on this machine: the same cell must always take the
    /// same nanoseconds, with all processors busy, in another environment and with cold caches.
    #[command(after_help = "\
Examples:
  fsarena guest selftest                  tree on ext4; exit code 1 if a result differs
  fsarena guest selftest hpfs jfs --test lifecycle
  fsarena guest selftest --under busy --under stopped --runs 50
  fsarena guest selftest --kernel bzImage --modules DIR
  fsarena guest selftest --leak           on a disk outside the guest: the test must detect this")]
    Selftest(SelftestArgs),
    /// Open a shell in a guest, with a fresh filesystem on /mnt.
    #[command(after_help = "\
Examples:
  fsarena guest shell hpfs                Ctrl-A X kills the guest, `exit` ends it
  fsarena guest shell ext4:data=journal
  echo 'df /mnt' | fsarena guest shell jfs")]
    Shell(ShellArgs),
}

/// Components of a guest that replace or extend Debian's packages.
#[derive(Clone, Debug, Default, Args)]
pub struct BuildOptions {
    /// Download Debian packages from this mirror instead of the configured ones.
    #[arg(long, value_name = "URL")]
    pub mirror: Option<String>,
    /// Also build a driver from source (zfs; takes five minutes or more), or add the programs of a
    /// suite (build, or build:study for its programs at a profile), of a layer (luks), or a program
    /// that runs as a suite (fio).
    #[arg(long, value_name = "NAME")]
    pub with: Vec<String>,
    /// Use the newest of Debian's kernels of this series (7.3, 6.12), also of its backports, or this
    /// release with unchanged drivers (6.1.0-50). With several (7.3,6.12), `run` compares each
    /// contender on the newest that has it [default: the newest of the distribution].
    #[arg(long, value_name = "RELEASES", value_delimiter = ',', value_parser = release)]
    pub guest_kernel: Vec<String>,
    /// Use your own kernel: a bzImage, or an ELF file built with CONFIG_PVH.
    #[arg(long, value_name = "FILE", requires = "modules", conflicts_with = "guest_kernel", value_parser = path())]
    pub kernel: Option<PathBuf>,
    /// Use the modules of that kernel, installed with `make modules_install INSTALL_MOD_PATH=DIR`.
    #[arg(long, value_name = "DIR", requires = "kernel", value_parser = path())]
    pub modules: Option<PathBuf>,
    /// Use this build directory or unpacked headers of that kernel to build the driver of simulated
    /// disks [default: the target of DIR/build of its modules].
    #[arg(long, value_name = "DIR", requires = "kernel", value_parser = path())]
    pub headers: Option<PathBuf>,
    /// Add a directory with the layout of a root filesystem; its programs override Debian's.
    #[arg(long, value_name = "DIR", value_parser = path())]
    pub rootfs: Option<PathBuf>,
}

impl BuildOptions {
    /// Returns the components of a guest with each named kernel, or of one with the default kernel.
    pub fn of_each_kernel(&self) -> impl Iterator<Item = Self> {
        let kernels: Vec<Vec<String>> = match self.guest_kernel.is_empty() {
            true => vec![Vec::new()],
            false => self.guest_kernel.iter().map(|kernel| vec![kernel.clone()]).collect(),
        };
        kernels.into_iter().map(|guest_kernel| Self { guest_kernel, ..self.clone() })
    }

    /// Returns the kernel that the user named.
    ///
    /// # Errors
    /// Returns an error if there are several, and a single guest is needed.
    pub fn single_kernel(&self) -> Result<Option<&String>, UsageError> {
        match &self.guest_kernel[..] {
            [] => Ok(None),
            [kernel] => Ok(Some(kernel)),
            several => Err(UsageError(format!(
                "cannot use several kernels here: --guest-kernel {}; name one, as only `fsarena run` on this machine \
                 and `fsarena guest build` take several",
                several.join(",")
            ))),
        }
    }
}

/// Options of `guest selftest`.
#[derive(Clone, Debug, Args)]
pub struct SelftestArgs {
    /// Run these contenders.
    #[arg(value_name = "CONTENDER", default_value = "ext4")]
    pub contenders: Vec<String>,
    /// Run this test, in profile smoke.
    #[arg(long, value_name = "TEST", default_value = "tree")]
    pub test: String,
    /// Check only under these conditions [default: all].
    #[arg(long, value_enum, value_name = "CONDITION")]
    pub under: Vec<SelftestCondition>,
    /// Run the cell this many times under each condition.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub runs: u32,
    /// Place the disk outside the guest's memory, so that its real time leaks into the results.
    #[arg(long)]
    pub leak: bool,
    /// Run the cell once and print its result as JSON; used by the self-test itself.
    #[arg(long, hide = true)]
    pub once: bool,
    /// Components of the guest.
    #[command(flatten)]
    pub made_of: BuildOptions,
}

/// Condition of this machine while a guest runs again that ran undisturbed before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SelftestCondition {
    /// No change.
    Again,
    /// All processors of this machine are busy.
    Busy,
    /// A third of its free memory is repeatedly allocated and freed.
    Memory,
    /// QEMU is stopped and continued at random moments.
    #[value(name = "stopped")]
    Paused,
    /// QEMU's main loop is woken thousands of times a second without work.
    #[value(name = "woken")]
    Suspended,
    /// Different working directory, different location of files, larger environment.
    #[value(name = "elsewhere")]
    OtherHost,
    /// Page cache dropped; needs root.
    Cold,
}

/// Options of `guest shell`.
#[derive(Clone, Debug, Args)]
pub struct ShellArgs {
    /// Filesystem of the catalog, optionally with `:` and mount options.
    #[arg(value_name = "CONTENDER")]
    pub contender: String,
    /// Size of the disk of the guest.
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "512 MiB")]
    pub size: Bytes,
    /// Components of the guest.
    #[command(flatten)]
    pub made_of: BuildOptions,
}
