//! `fsarena survive write`: repeats short sequences of file operations until the power fails, and
//! prints a line after each step that succeeded. A second machine keeps these lines.

use std::collections::{BTreeSet, VecDeque};
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, IsTerminal, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::stat::Mode;
use nix::unistd::geteuid;
use sys::io::caches::sync_filesystem;
use workload::OpError;
use workload::survival::perform_step;

use crate::args::cli::GlobalArgs;
use crate::args::survive_args::WriteArgs;
use crate::commands::survive::sequences::{
    Line, REMOVED, Sequence, WriteSession, missing_path, sequences,
};
use crate::output::exit::{EnvironmentError, ExitReason, UsageError};
use crate::output::text::{counted, print_note};
use crate::stop;

/// Minimum number of runs that remain on the filesystem. A power cut can damage only what was
/// written shortly before it.
const KEPT_RUNS: usize = 256;
/// Number of runs that are removed together.
const REMOVED_RUNS: usize = 64;

/// Writes until the power fails, the time limit is reached or the user stops it.
pub fn run(args: &WriteArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    require_log(&args.directory)?;
    let all = sequences()?;
    let session = WriteSession(RandomState::new().hash_one(0));
    let directory = session.directory(&args.directory);
    let shown = directory.display();
    fs::create_dir(&directory).with_context(|| format!("cannot create {shown}"))?;
    // By its descriptor, because the owner of the directory above may put another one in its place.
    let options = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let opened = nix::fcntl::open(&directory, options, Mode::empty())
        .with_context(|| format!("cannot open {shown}"))?;
    let owner = File::from(opened.try_clone()?).metadata()?.uid();
    let filesystem_owner = fs::metadata(&args.directory)?.uid();
    if owner != geteuid().as_raw() && owner != filesystem_owner {
        let reason = format!(
            "cannot use {shown}: another user has replaced it; name a directory that only you can write"
        );
        return Err(EnvironmentError(reason).into());
    }
    let root = PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd()));
    sync_filesystem(&root).with_context(|| format!("cannot sync {shown}"))?;
    let stop = stop::install_handlers()?;
    let time = args.time.map(|time| Duration::from_nanos(time.0));
    if !globals.quiet {
        print_note("fsarena: writing; cut the power at any time");
    }
    let output = io::stdout().lock();
    let mut writer =
        AcknowledgedWriter { root: &root, shown: &directory, session, output, steps: 0 };
    writer.print(&Line::Begin(env!("CARGO_PKG_VERSION").to_owned(), session))?;
    writer.run_all(&all, time, &stop)?;
    if !globals.quiet {
        print_note(&format!("fsarena: wrote {} below {shown}", counted(writer.steps, "step")));
    }
    Ok(ExitReason::Success.into())
}

/// Returns an error if the log would be lost: on a terminal, in /dev/null, or with the filesystem.
fn require_log(directory: &Path) -> anyhow::Result<()> {
    let refused = |reason: &str| {
        UsageError(format!(
            "cannot print the log {reason}: another machine must keep it; use `ssh root@server fsarena survive write DIR > cut.log` there"
        ))
    };
    let output = io::stdout();
    if output.is_terminal() {
        return Err(refused("on a terminal").into());
    }
    let place = File::from(output.as_fd().try_clone_to_owned()?).metadata()?;
    let filesystem =
        fs::metadata(directory).map_err(|error| missing_path("use", directory, error))?;
    let nowhere = fs::metadata("/dev/null")?;
    if place.rdev() == nowhere.rdev() && place.mode() == nowhere.mode() {
        return Err(refused("to /dev/null").into());
    }
    if place.dev() == filesystem.dev() {
        return Err(refused("on the filesystem that loses its power").into());
    }
    Ok(())
}

struct AcknowledgedWriter<'a, W> {
    /// The directory of all runs, which cannot be replaced.
    root: &'a Path,
    /// The path of that directory for the user.
    shown: &'a Path,
    session: WriteSession,
    output: W,
    /// Number of steps that succeeded.
    steps: u64,
}

impl<W: Write> AcknowledgedWriter<'_, W> {
    /// Runs one sequence after another. Skips a sequence if its first run is not supported.
    fn run_all(
        &mut self,
        all: &[Sequence],
        time: Option<Duration>,
        stop: &AtomicBool,
    ) -> anyhow::Result<()> {
        let start = Instant::now();
        let is_over =
            || stop.load(Ordering::SeqCst) || time.is_some_and(|time| start.elapsed() >= time);
        let mut unsupported = BTreeSet::new();
        let mut kept = VecDeque::new();
        for (run, sequence) in (1..).zip(all.iter().cycle()) {
            if is_over() {
                return Ok(());
            }
            if unsupported.contains(&sequence.name) {
                continue;
            }
            match self.run_one(run, sequence) {
                Ok(()) => kept.push_back((run, &sequence.name)),
                Err(error) if run as usize <= all.len() && is_unsupported(&error) => {
                    let error = self.for_user(&error);
                    print_note(&format!("fsarena: without {}: {error}", sequence.name));
                    unsupported.insert(&sequence.name);
                }
                Err(error) if error.is::<EnvironmentError>() => return Err(error),
                Err(error) => {
                    let (shown, error) = (self.shown.display(), self.for_user(&error));
                    return Err(EnvironmentError(format!(
                        "cannot write below {shown}: {error}; check the filesystem, which needs 64 MiB of free space"
                    ))
                    .into());
                }
            }
            if unsupported.len() == all.len() {
                let reason = "cannot run any sequence there; see the messages above";
                return Err(EnvironmentError(reason.into()).into());
            }
            if kept.len() >= KEPT_RUNS + REMOVED_RUNS {
                self.remove(kept.drain(..REMOVED_RUNS).collect())?;
            }
        }
        Ok(())
    }

    /// Returns an error with the paths that the user knows.
    fn for_user(&self, error: &anyhow::Error) -> String {
        let root = self.root.to_string_lossy();
        format!("{error:#}").replace(&*root, &self.shown.to_string_lossy())
    }

    fn run_one(&mut self, run: u32, sequence: &Sequence) -> anyhow::Result<()> {
        let root = self.root.join(WriteSession::run_name(run, &sequence.name));
        fs::create_dir(&root).with_context(|| format!("cannot create {}", root.display()))?;
        let steps = &sequence.steps;
        let base = self.session.base(run);
        for (number, step) in (base + 1..).zip(&steps.prepare) {
            perform_step(&root, step, number)?;
        }
        sync_filesystem(&root).with_context(|| format!("cannot sync {}", root.display()))?;
        self.print(&Line::Run(run, sequence.name.clone()))?;
        let first = base + 1 + steps.prepare.len() as u32;
        for (done, step) in (1..).zip(&steps.steps) {
            perform_step(&root, step, first + done as u32 - 1)?;
            self.print(&Line::Done(run, done))?;
            self.steps += 1;
        }
        Ok(())
    }

    /// Removes runs. First makes a file durable that `check` reads, because lines of the log may be
    /// late.
    fn remove(&self, runs: Vec<(u32, &String)>) -> anyhow::Result<()> {
        let last = runs.last().map_or(0, |(run, _)| *run);
        let mark = self.root.join(format!("{REMOVED}{last}"));
        File::create(&mark)
            .and_then(|_| File::open(self.root)?.sync_all())
            .with_context(|| format!("cannot create {}", mark.display()))?;
        for (run, name) in runs {
            let root = self.root.join(WriteSession::run_name(run, name));
            fs::remove_dir_all(&root)
                .with_context(|| format!("cannot remove {}", root.display()))?;
        }
        Ok(())
    }

    fn print(&mut self, line: &Line) -> anyhow::Result<()> {
        let printed = writeln!(self.output, "{line}").and_then(|()| self.output.flush());
        printed.map_err(|error| {
            EnvironmentError(format!("cannot print the log: {error}; check the other end")).into()
        })
    }
}

/// Returns true if the filesystem lacks an operation.
fn is_unsupported(error: &anyhow::Error) -> bool {
    const REASONS: [Errno; 4] = [Errno::EOPNOTSUPP, Errno::ENOSYS, Errno::EINVAL, Errno::EPERM];
    error.downcast_ref::<OpError>().is_some_and(|error| match error {
        OpError::Unsupported { .. } => true,
        other => other.errno().is_some_and(|code| REASONS.contains(&Errno::from_raw(code))),
    })
}
