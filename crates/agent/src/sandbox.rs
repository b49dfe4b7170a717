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
use nix::unistd::Pid;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use sys::mount::sandbox;
use sys::process::usage;
use sys::{block, process};

/// Working directory of programs. It is empty, so that no relative name matches a file.
pub const EMPTY: &str = "/run/fsarena-empty";
/// Files that programs may write in addition to the devices: their private directories and null
/// devices.
const WRITABLE: [&str; 5] = ["/run", OWN_TMP, "/dev/null", "/dev/zero", "/dev/full"];
/// Second path of the cell's private `/tmp`, if it has one.
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
}

/// Restricts this process, which already has private mounts. Programs get a private `/tmp`, unless
/// a path used by the cell is below the machine's `/tmp`.
///
/// # Errors
/// Returns an error if a mount fails. Features missing in an older kernel are skipped.
pub fn enter(volume: &Volume, used: &[PathBuf]) -> io::Result<()> {
    let read_only = sandbox::set_read_only(c"/", true)
        .and_then(|()| sandbox::set_read_only(c"/proc", false))
        .and_then(|()| sandbox::set_read_only(c"/run", false));
    match read_only {
        Err(error) if !sandbox::is_missing(&error) => return Err(error),
        _ => {}
    }
    let below_dev: Vec<PathBuf> =
        used.iter().filter(|path| path.starts_with("/dev") && path.is_dir()).cloned().collect();
    sandbox::private_dev(&devices(volume), &below_dev)?;
    if !used.iter().any(|path| path.starts_with("/tmp")) {
        sandbox::private_tmp(Path::new(OWN_TMP))?;
    }
    fs::create_dir(EMPTY)?;
    std::env::set_current_dir(EMPTY)
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

/// Runner that executes programs and waits for them to finish, in a sandbox if it has threads.
#[derive(Clone)]
pub struct SandboxedRunner {
    /// Threads that start programs, one per task. `None` without a sandbox.
    threads: Option<[Sender<SandboxRequest>; 2]>,
}

struct SandboxRequest {
    command: Command,
    answer: Sender<io::Result<ExitStatus>>,
}

impl SandboxedRunner {
    /// Creates a runner whose programs have the same privileges as this process.
    pub const fn unrestricted() -> Self {
        Self { threads: None }
    }

    /// Creates a runner with restricted threads. Programs inherit the restrictions of the thread
    /// that starts them.
    ///
    /// # Errors
    /// Returns an error if a thread cannot be started or restricted.
    pub fn restricted(volume: &Volume) -> io::Result<Self> {
        let devices: Vec<PathBuf> = volume.mkfs_devices().map(Path::to_owned).collect();
        let start = |task| start(task, devices.clone());
        Ok(Self { threads: Some([start(SandboxProfile::Device)?, start(SandboxProfile::Mount)?]) })
    }

    /// Runs a program and waits for it to finish.
    ///
    /// # Errors
    /// Returns an error if the program cannot be started.
    pub fn status(&self, mut command: Command, task: SandboxProfile) -> io::Result<ExitStatus> {
        let Some([device, mount]) = &self.threads else {
            return command.status();
        };
        let thread = match task {
            SandboxProfile::Device => device,
            SandboxProfile::Mount | SandboxProfile::Use => mount,
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
        let thread = match self.threads {
            Some(_) => Some(start(SandboxProfile::Use, vec![directory.to_owned()])?),
            None => None,
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
fn ask(thread: &Sender<SandboxRequest>, mut command: Command) -> io::Result<ExitStatus> {
    let gone = || io::Error::other("the thread that starts programs has ended");
    let (answer, status) = mpsc::channel();
    command.env("TMPDIR", "/run");
    thread.send(SandboxRequest { command, answer }).map_err(|_| gone())?;
    status.recv().map_err(|_| gone())?
}

/// Starts a thread that restricts itself and then runs one program after another.
fn start(task: SandboxProfile, writable: Vec<PathBuf>) -> io::Result<Sender<SandboxRequest>> {
    let (requests, queue) = mpsc::channel::<SandboxRequest>();
    let (ready, restricted) = mpsc::channel();
    thread::Builder::new().spawn(move || {
        let outcome = restrict(task, &writable);
        let failed = outcome.is_err();
        if ready.send(outcome).is_err() || failed {
            return;
        }
        for mut request in queue {
            let status = match task {
                SandboxProfile::Use => to_the_end(request.command),
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

fn restrict(task: SandboxProfile, own: &[PathBuf]) -> io::Result<()> {
    sandbox::drop_capabilities()?;
    if task != SandboxProfile::Mount {
        restrict_files(own).map_err(io::Error::other)?;
    }
    if Path::new(SECCOMP).exists() {
        seccompiler::apply_filter(&filter(task).map_err(io::Error::other)?)
            .map_err(io::Error::other)?;
    }
    Ok(())
}

/// Allows reading and executing all files, and writing to the devices and to files created by the
/// program itself (landlock(7)), if the kernel supports it.
fn restrict_files(own: &[PathBuf]) -> Result<(), landlock::RulesetError> {
    let abi = ABI::V5;
    let writable = WRITABLE.iter().map(Path::new);
    let writable = writable.chain(own.iter().map(PathBuf::as_path));
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
        SandboxProfile::Device | SandboxProfile::Use => &MOUNTING,
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
