//! Sandbox for the agent and its programs on a host, so that no option, script or bug affects other
//! devices or files. All mounts are read-only, `/dev` contains only the devices of the cell, and
//! programs start in an empty directory without unneeded capabilities.
//!
//! A guest needs no sandbox because it is one itself.

pub(crate) mod command;
pub(crate) mod command_runner;
pub(crate) mod isolation;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr,
    path_beneath_rules,
};
use model::wire::{MultiDevice, Volume};
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::{Pid, geteuid};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use sys::mount::{namespace, sandbox};
use sys::process::usage;
use sys::{block, process};

/// Working directory of programs. It is empty, so that no relative name matches a file.
pub const EMPTY: &str = "/run/fsarena-empty";
/// Directories of a cell with a volume that programs may write in addition to the devices. The
/// first one is for temporary files.
const WRITABLE: [&str; 2] = ["/run", OWN_TMP];
/// Devices that every program may write.
const NULL_DEVICES: [&str; 3] = ["/dev/null", "/dev/zero", "/dev/full"];
/// Directory for temporary files of the machine.
const TMP: &str = "/tmp";
/// Directory for temporary files, which is also the cell's private `/tmp` if it has one.
const OWN_TMP: &str = "/run/tmp";
/// File that exists if this kernel filters system calls: seccomp(2).
const SECCOMP: &str = "/proc/sys/kernel/seccomp";

/// System calls that no program needs to create, mount or check a filesystem.
const DENIED_SYSCALLS: [i64; 17] = [
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_bpf,
    libc::SYS_ptrace,
    libc::SYS_process_vm_writev,
    libc::SYS_open_by_handle_at,
    libc::SYS_pivot_root,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_perf_event_open,
];
/// System calls of a program that may mount, in addition to the common ones.
const MOUNTING: [i64; 8] = [
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
];

/// Permissions of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxProfile {
    /// Create or check a filesystem: write only to the devices.
    Device,
    /// Mount or unmount a filesystem, or run its driver in the background.
    Mount,
    /// Use a mounted filesystem: write only to it.
    Use,
    /// Use a directory of a filesystem of this machine: write only to it.
    UseDirectory,
}

/// Restricts this process, which already has private mounts. Programs get a private `/tmp`, unless
/// a path used by the cell is below the machine's `/tmp`.
///
/// # Errors
/// Returns an error if a mount fails. Features missing in an older kernel are skipped.
pub fn enter(volume: &Volume, used: &[PathBuf]) -> io::Result<()> {
    read_only_except(&["/proc", "/run"].map(Path::new))?;
    sandbox::private_dev(&devices(volume), &below(used, "/dev"))?;
    if below(used, TMP).is_empty() {
        sandbox::private_tmp(Path::new(OWN_TMP))?;
        sandbox::bind(Path::new(OWN_TMP), Path::new(TMP))?;
    }
    fs::create_dir(EMPTY)?;
    std::env::set_current_dir(EMPTY)
}

/// Gives this thread private mounts in which only a directory of this machine, `/dev/null` and
/// directories for temporary files are writable. Returns the latter. The programs of other users
/// than root keep the mounts and the temporary files of the machine.
fn enter_directory(directory: &Path, used: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    if !is_root() || namespace::unshare_mounts().is_err() {
        return Ok(vec![std::env::temp_dir(), TMP.into()]);
    }
    let mut writable = vec![PathBuf::from(OWN_TMP)];
    sandbox::private_run(&below(used, "/run"))?;
    sandbox::private_tmp(Path::new(OWN_TMP))?;
    if below(used, TMP).is_empty() {
        sandbox::bind(Path::new(OWN_TMP), Path::new(TMP))?;
        writable.push(TMP.into());
    }
    sandbox::private_dev(&[], &below(used, "/dev"))?;
    sandbox::bind(directory, directory)?;
    let except = writable.iter().map(PathBuf::as_path).chain([directory]);
    read_only_except(&except.collect::<Vec<_>>())?;
    Ok(writable)
}

/// Whether this process may mount and make device nodes. Root of a user namespace may not.
fn is_root() -> bool {
    const ALL_USERS: [&str; 3] = ["0", "0", "4294967295"];
    let users = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    geteuid().is_root() && users.split_whitespace().eq(ALL_USERS)
}

/// Returns the directories among some paths that are below a place.
fn below(paths: &[PathBuf], place: &str) -> Vec<PathBuf> {
    paths.iter().filter(|path| path.starts_with(place) && path.is_dir()).cloned().collect()
}

/// Makes all mounts read-only except some, if this kernel can.
fn read_only_except(places: &[&Path]) -> io::Result<()> {
    let set = sandbox::set_read_only(Path::new("/"), true);
    let mut places = places.iter();
    match set.and_then(|()| places.try_for_each(|place| sandbox::set_read_only(place, false))) {
        Err(error) if !sandbox::is_missing(&error) => Err(error),
        _ => Ok(()),
    }
}

/// Lists the devices of the cell with their expected device numbers, independent of their names.
/// Includes the members of a stripe: their counters are read, and only the stripe can open them for
/// writing.
fn devices(volume: &Volume) -> Vec<(PathBuf, (u64, u64))> {
    let told = volume.mkfs_devices().zip(&volume.states);
    let told = told.map(|(path, state)| (path.to_owned(), state.identity.number));
    let below = match &volume.span {
        Some(MultiDevice::Stripe(members)) => &members[..],
        Some(MultiDevice::Pool(_)) | None => &[],
    };
    let number = |path: &PathBuf| Some(block::major_minor(fs::metadata(path).ok()?.rdev()));
    let below = below.iter().filter_map(|path| Some((path.clone(), number(path)?)));
    told.chain(below).collect()
}

/// Runner that executes programs and waits for them to finish, in a sandbox unless it is
/// unrestricted.
#[derive(Clone)]
pub enum SandboxedRunner {
    /// Programs have the same privileges as this process, which is in a guest.
    Unrestricted,
    /// Threads that start programs, one per task.
    Volume([Sender<SandboxRequest>; 2]),
    /// Programs use a directory of this machine, and paths that they read.
    Directory(Vec<PathBuf>),
}

/// A program to run.
pub struct SandboxRequest {
    command: Command,
    answer: Sender<io::Result<ExitStatus>>,
}

impl SandboxedRunner {
    /// Creates a runner with restricted threads. Programs inherit the restrictions of the thread
    /// that starts them.
    ///
    /// # Errors
    /// Returns an error if a thread cannot be started or restricted.
    pub fn restricted(volume: &Volume) -> io::Result<Self> {
        let devices: Vec<PathBuf> = volume.mkfs_devices().map(Path::to_owned).collect();
        let start = |task| start(task, devices.clone(), Vec::new());
        Ok(Self::Volume([start(SandboxProfile::Device)?, start(SandboxProfile::Mount)?]))
    }

    /// Runs a program and waits for it to finish.
    ///
    /// # Errors
    /// Returns an error if the program cannot be started.
    pub fn status(&self, mut command: Command, task: SandboxProfile) -> io::Result<ExitStatus> {
        let Self::Volume([device, mount]) = self else {
            return command.status();
        };
        let thread = match task {
            SandboxProfile::Device => device,
            SandboxProfile::Mount | SandboxProfile::Use | SandboxProfile::UseDirectory => mount,
        };
        command.current_dir(EMPTY);
        ask(thread, command)
    }

    /// Returns a runner for programs that work in a directory, restricted to the filesystem now
    /// mounted there.
    ///
    /// # Errors
    /// Returns an error if a thread cannot be started or restricted.
    pub fn below<'a>(&self, directory: &'a Path) -> io::Result<DirectoryRunner<'a>> {
        let own = vec![directory.to_owned()];
        let thread = match self {
            Self::Unrestricted => None,
            Self::Volume(_) => Some(start(SandboxProfile::Use, own, Vec::new())?),
            Self::Directory(used) => {
                let used = used.iter().chain(&own).cloned().collect();
                Some(start(SandboxProfile::UseDirectory, own, used)?)
            }
        };
        let others = process::all().iter().map(|p| p.pid).collect();
        Ok(DirectoryRunner { directory, thread, others })
    }
}

/// Runner for programs in a working directory.
pub struct DirectoryRunner<'a> {
    directory: &'a Path,
    thread: Option<Sender<SandboxRequest>>,
    /// Processes that already run: drivers.
    others: BTreeSet<Pid>,
}

impl DirectoryRunner<'_> {
    /// Runs the program, waits for it to finish and kills all processes that it left.
    ///
    /// # Errors
    /// Returns an error if the program cannot be started.
    pub fn status(&self, mut command: Command) -> io::Result<ExitStatus> {
        command.current_dir(self.directory).process_group(0);
        process::set_pdeathsig(&mut command);
        let status = match &self.thread {
            Some(thread) => ask(thread, command),
            None => to_the_end(command),
        };
        end_all_but(&self.others);
        status
    }
}

/// Runs a program, waits for it to finish and kills the rest of its process group.
fn to_the_end(mut command: Command) -> io::Result<ExitStatus> {
    let mut child = command.spawn()?;
    let leader = Pid::from_raw(child.id().cast_signed());
    // Reaped only after the kill, so that the process group number is not reused before.
    waitid(Id::Pid(leader), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT)?;
    // Fails if no process remains.
    let _ = killpg(leader, Signal::SIGKILL);
    child.wait()
}

/// Kills every process of this private namespace except the given ones, and waits until they have
/// exited.
fn end_all_but(others: &BTreeSet<Pid>) {
    const PAUSE: Duration = Duration::from_millis(1);
    if !isolation::is_first() {
        return;
    }
    let left = || process::all().into_iter().filter(|p| !others.contains(&p.pid));
    while left().next().is_some() {
        left().for_each(|process| _ = kill(process.pid, Signal::SIGKILL));
        while usage::reap() {}
        thread::sleep(PAUSE);
    }
}

/// Asks a thread to run a program and returns the exit status.
fn ask(thread: &Sender<SandboxRequest>, command: Command) -> io::Result<ExitStatus> {
    let gone = || io::Error::other("the thread that starts programs has ended");
    let (answer, status) = mpsc::channel();
    thread.send(SandboxRequest { command, answer }).map_err(|_| gone())?;
    status.recv().map_err(|_| gone())?
}

/// Starts a thread that restricts itself and then runs one program after another.
/// The programs write to `own` and may read `used`.
fn start(
    task: SandboxProfile,
    own: Vec<PathBuf>,
    used: Vec<PathBuf>,
) -> io::Result<Sender<SandboxRequest>> {
    let (requests, queue) = mpsc::channel::<SandboxRequest>();
    let (ready, restricted) = mpsc::channel();
    thread::Builder::new().spawn(move || {
        let (outcome, temporary) = match restrict(task, &own, &used) {
            Ok(temporary) => (Ok(()), Some(temporary)),
            Err(error) => (Err(error), None),
        };
        let (Ok(()), Some(temporary)) = (ready.send(outcome), temporary) else { return };
        for mut request in queue {
            request.command.env("TMPDIR", &temporary);
            let status = match task {
                SandboxProfile::Use | SandboxProfile::UseDirectory => to_the_end(request.command),
                SandboxProfile::Device | SandboxProfile::Mount => request.command.status(),
            };
            // The receiver has disconnected only if the agent is about to end.
            let _ = request.answer.send(status);
        }
    })?;
    let gone = |_| io::Error::other("the thread that starts programs has ended");
    restricted.recv().map_err(gone)??;
    Ok(requests)
}

/// Restricts this thread. Returns the directory for temporary files of its programs.
fn restrict(task: SandboxProfile, own: &[PathBuf], used: &[PathBuf]) -> io::Result<PathBuf> {
    let mut writable = own.to_vec();
    let temporary = match (task, own) {
        (SandboxProfile::UseDirectory, [directory]) => enter_directory(directory, used)?,
        _ => WRITABLE.map(PathBuf::from).into(),
    };
    writable.extend(temporary.iter().cloned());
    if task != SandboxProfile::UseDirectory || is_root() {
        sandbox::drop_capabilities()?;
    }
    if task != SandboxProfile::Mount {
        restrict_files(&writable).map_err(io::Error::other)?;
    }
    if Path::new(SECCOMP).exists() {
        seccompiler::apply_filter(&filter(task).map_err(io::Error::other)?)
            .map_err(io::Error::other)?;
    }
    Ok(temporary[0].clone())
}

/// Allows reading and executing all files, and writing to the devices and to files created by the
/// program itself (landlock(7)), if the kernel supports it.
fn restrict_files(writable: &[PathBuf]) -> Result<(), landlock::RulesetError> {
    let abi = ABI::V5;
    let writable = writable.iter().map(PathBuf::as_path).chain(NULL_DEVICES.map(Path::new));
    Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(abi))?
        .create()?
        .add_rules(path_beneath_rules(["/"], AccessFs::from_read(abi)))?
        .add_rules(path_beneath_rules(writable, AccessFs::from_all(abi)))?
        .restrict_self()
        .map(drop)
}

fn filter(task: SandboxProfile) -> Result<BpfProgram, seccompiler::BackendError> {
    let further: &[i64] = match task {
        SandboxProfile::Device | SandboxProfile::Use | SandboxProfile::UseDirectory => &MOUNTING,
        SandboxProfile::Mount => &[],
    };
    let refused = DENIED_SYSCALLS.iter().chain(further).map(|call| (*call, Vec::new()));
    let refusal = SeccompAction::Errno(libc::EPERM as u32);
    let architecture = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(
        refused.collect::<BTreeMap<_, _>>(),
        SeccompAction::Allow,
        refusal,
        architecture,
    )?
    .try_into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(runner: &SandboxedRunner, task: SandboxProfile, script: &str) -> bool {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        runner.status(command, task).unwrap().success()
    }

    /// Runs outside the namespaces of a cell, so the program sees the same files as the test.
    #[test]
    fn a_program_writes_only_to_its_device_and_cannot_mount() {
        let directory = tempfile::tempdir().unwrap();
        let (own, other) = (directory.path().join("own"), directory.path().join("other"));
        fs::write(&own, "").unwrap();
        fs::write(&other, "precious").unwrap();
        // `EMPTY` exists only in a cell.
        fs::create_dir_all(EMPTY).unwrap();
        let volume = Volume { device: Some(own.clone()), ..volume() };
        let runner = SandboxedRunner::restricted(&volume).unwrap();
        let write = |path: &Path| format!("echo x >>{}", path.display());
        for task in [SandboxProfile::Device, SandboxProfile::Mount] {
            assert!(shell(&runner, task, &write(&own)), "{task:?}");
            assert!(shell(&runner, task, &format!("cat {} >/dev/null", other.display())));
            let node = directory.path().join("node");
            assert!(!shell(&runner, task, &format!("mknod {} b 7 0", node.display())));
        }
        assert!(!shell(&runner, SandboxProfile::Device, &write(&other)));
        assert_eq!(fs::read_to_string(&other).unwrap(), "precious");
        let place = directory.path().display();
        assert!(!shell(&runner, SandboxProfile::Device, &format!("mount -t tmpfs none {place}")));
        fs::remove_dir(EMPTY).unwrap();
    }

    /// Regression test: a job file of fio in a directory overwrote files and removed device nodes.
    #[test]
    fn a_program_in_a_directory_writes_only_to_it_and_to_temporary_files() {
        let place = tempfile::tempdir().unwrap();
        let (directory, other) = (place.path().join("cell"), place.path().join("other"));
        fs::create_dir(&directory).unwrap();
        fs::write(&other, "precious").unwrap();
        let runner = SandboxedRunner::Directory(Vec::new());
        let run = |script: &str| {
            let below = runner.below(&directory).unwrap();
            let mut command = Command::new("sh");
            command.args(["-c", script]).stderr(std::process::Stdio::null());
            below.status(command).unwrap().success()
        };
        assert!(run("echo x >a && mv a b && mkdir c && cat /etc/passwd >/dev/null"));
        assert!(run("echo x >\"$TMPDIR/fsarena-test\" && rm \"$TMPDIR/fsarena-test\""));
        assert_eq!(fs::read_to_string(directory.join("b")).unwrap(), "x\n");
        // The test works below the directory for temporary files, to which others may write.
        if !is_root() {
            return;
        }
        for script in ["echo x >../other", "rm ../other", "echo x >../new", "mkdir ../new"] {
            assert!(!run(script), "{script}");
        }
        for script in ["rm /dev/full", "mknod n b 7 0", "echo x >/etc/fsarena-test"] {
            assert!(!run(script), "{script}");
        }
        assert_eq!(fs::read_to_string(&other).unwrap(), "precious");
        assert!(Path::new("/dev/full").exists());
        // The thread of the test keeps its mounts.
        assert!(!Path::new(OWN_TMP).exists());
    }

    fn volume() -> Volume {
        Volume {
            device: None,
            span: None,
            states: Vec::new(),
            size: model::Bytes(0),
            mountpoint: "/mnt".into(),
            driver: model::DriverKind::Kernel,
            commands: model::Commands::default(),
        }
    }
}
