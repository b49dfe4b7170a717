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
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, Scope, path_beneath_rules,
};
use model::wire::{MultiDevice, Volume};
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::{Pid, geteuid};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, sock_filter,
};
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
/// Variable whose value marks a program and the processes that it starts.
const MARK: &str = "FSARENA_PROGRAM";
/// File that exists if this kernel filters system calls: seccomp(2).
const SECCOMP: &str = "/proc/sys/kernel/seccomp";

/// Newest version of Landlock with used features.
const LANDLOCK: ABI = ABI::V6;

/// System calls that no program needs to create, mount or check a filesystem.
const DENIED_SYSCALLS: [i64; 21] = [
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
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
];
/// System calls of a program that may mount, in addition to the common ones.
const MOUNTING: [i64; 11] = [
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
];

/// Namespaces that clone(2) creates. A program in its own user namespace may create the others.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWUTS,
];

/// open_tree_attr(2) since Linux 6.15: `include/uapi/asm-generic/unistd.h`.
const OPEN_TREE_ATTR: i64 = 467;
/// Number after the last system call of Linux 6.18, file_setattr(2). Later calls are refused
/// as by a kernel that lacks them, because they may do what is denied.
const FIRST_UNKNOWN_SYSCALL: u32 = 470;

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
/// directories for temporary files are writable. Returns the latter, and the first process of a
/// private PID namespace for its programs. The programs of other users than root keep the mounts,
/// the temporary files and the processes of the machine.
fn enter_directory(
    directory: &Path,
    used: &[PathBuf],
) -> io::Result<(Vec<PathBuf>, Option<FirstProcess>)> {
    if !is_root() || namespace::unshare_mounts().is_err() {
        return Ok((vec![std::env::temp_dir(), TMP.into()], None));
    }
    namespace::unshare_processes()?;
    let first = FirstProcess::start()?;
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
    Ok((writable, Some(first)))
}

/// First process of a PID namespace, which ends all others in it.
struct FirstProcess(Child);

impl FirstProcess {
    /// Starts a program that waits until this process ends.
    fn start() -> io::Result<Self> {
        let mut waits = Command::new("cat");
        waits.env("PATH", command::search_path()).stdin(Stdio::piped()).stdout(Stdio::null());
        Ok(Self(waits.spawn()?))
    }
}

impl Drop for FirstProcess {
    fn drop(&mut self) {
        // Both fail only if it has ended. It is the last process of its namespace to end.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
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
        let start = |task| Ok(start(task, devices.clone(), Vec::new())?.0);
        let threads = [start(SandboxProfile::Device), start(SandboxProfile::Mount)];
        let [device, mount]: [io::Result<_>; 2] = threads;
        Ok(Self::Volume([device?, mount?]))
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
    thread: Option<(Sender<SandboxRequest>, JoinHandle<()>)>,
    /// Processes that already run: drivers.
    others: BTreeSet<Pid>,
}

impl DirectoryRunner<'_> {
    /// Runs the program, waits for it to finish and kills all processes that it left.
    ///
    /// # Errors
    /// Returns an error if the program cannot be started.
    pub fn status(self, mut command: Command) -> io::Result<ExitStatus> {
        static PROGRAMS: AtomicU64 = AtomicU64::new(0);
        let number = PROGRAMS.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}-{number}", std::process::id());
        command.current_dir(self.directory).process_group(0).env(MARK, &mark);
        process::set_pdeathsig(&mut command);
        let status = match self.thread {
            Some((requests, thread)) => {
                let status = ask(&requests, command);
                drop(requests);
                // The private processes end with the thread, which has no result.
                let _ = thread.join();
                status
            }
            None => {
                command.env("TMPDIR", std::env::temp_dir());
                to_the_end(command)
            }
        };
        match isolation::is_first() {
            true => end_all_but(&self.others),
            false => end_marked(&format!("{MARK}={mark}")),
        }
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
    end_all(|process| !others.contains(&process.pid));
}

/// Kills every process that inherited a mark in its environment, and waits until they have exited.
fn end_marked(mark: &str) {
    end_all(|process| {
        let environment = fs::read(format!("/proc/{}/environ", process.pid)).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    });
}

fn end_all(is_left: impl Fn(&process::Process) -> bool) {
    const PAUSE: Duration = Duration::from_millis(1);
    loop {
        let left: Vec<_> = process::all().into_iter().filter(&is_left).collect();
        if left.is_empty() {
            return;
        }
        left.into_iter().for_each(|process| _ = kill(process.pid, Signal::SIGKILL));
        if isolation::is_first() {
            while usage::reap() {}
        }
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
) -> io::Result<(Sender<SandboxRequest>, JoinHandle<()>)> {
    let (requests, queue) = mpsc::channel::<SandboxRequest>();
    let (ready, restricted) = mpsc::channel();
    let thread = thread::Builder::new().spawn(move || {
        let (outcome, restricted) = match restrict(task, &own, &used) {
            Ok(restricted) => (Ok(()), Some(restricted)),
            Err(error) => (Err(error), None),
        };
        let (Ok(()), Some((temporary, _first))) = (ready.send(outcome), restricted) else {
            return;
        };
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
    Ok((requests, thread))
}

/// Restricts this thread. Returns the directory for temporary files of its programs, and the first
/// process of their namespace, if they have one.
fn restrict(
    task: SandboxProfile,
    own: &[PathBuf],
    used: &[PathBuf],
) -> io::Result<(PathBuf, Option<FirstProcess>)> {
    let mut writable = own.to_vec();
    let (temporary, first) = match (task, own) {
        (SandboxProfile::UseDirectory, [directory]) => enter_directory(directory, used)?,
        _ => (WRITABLE.map(PathBuf::from).into(), None),
    };
    writable.extend(temporary.iter().cloned());
    let only_uses = matches!(task, SandboxProfile::Use | SandboxProfile::UseDirectory);
    if task != SandboxProfile::UseDirectory || is_root() {
        sandbox::drop_capabilities(&sandbox::UNNEEDED_CAPABILITIES)?;
        if only_uses {
            sandbox::drop_capabilities(&sandbox::ADMINISTRATIVE_CAPABILITIES)?;
        }
    }
    if task != SandboxProfile::Mount {
        let scopes = if only_uses { Scope::from_all(LANDLOCK) } else { BitFlags::EMPTY };
        restrict_files(&writable, scopes).map_err(io::Error::other)?;
    }
    if Path::new(SECCOMP).exists() {
        for filter in [filter(task).map_err(io::Error::other)?, unknown_syscalls().into()] {
            seccompiler::apply_filter(&filter).map_err(io::Error::other)?;
        }
    }
    Ok((temporary[0].clone(), first))
}

/// Allows reading and executing all files, and writing to the devices and to files created by the
/// program itself (landlock(7)), if the kernel supports it. `scopes` are connections and signals
/// to processes that have other restrictions, which are refused.
fn restrict_files(
    writable: &[PathBuf],
    scopes: BitFlags<Scope>,
) -> Result<(), landlock::RulesetError> {
    let writable = writable.iter().map(PathBuf::as_path).chain(NULL_DEVICES.map(Path::new));
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(LANDLOCK))?;
    let rules = if scopes.is_empty() { rules } else { rules.scope(scopes)? };
    rules
        .create()?
        .add_rules(path_beneath_rules(["/"], AccessFs::from_read(LANDLOCK)))?
        .add_rules(path_beneath_rules(writable, AccessFs::from_all(LANDLOCK)))?
        .restrict_self()
        .map(drop)
}

/// Returns a filter that refuses all system calls after the known ones, and those of other tables,
/// whose numbers are higher. It also refuses clone3(2), whose flags are in memory that no filter sees:
/// programs then call clone(2).
fn unknown_syscalls() -> [sock_filter; 5] {
    const LOAD_WORD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const JUMP_IF_GREATER_OR_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    const CLONE3: u32 = libc::SYS_clone3 as u32;
    let step = |code, jf, k| sock_filter { code, jt: 0, jf, k };
    [
        // The number of the system call is the first word of `struct seccomp_data`.
        step(LOAD_WORD, 0, 0),
        sock_filter { code: JUMP_IF_EQUAL, jt: 1, jf: 0, k: CLONE3 },
        step(JUMP_IF_GREATER_OR_EQUAL, 1, FIRST_UNKNOWN_SYSCALL),
        step(RETURN, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned()),
        step(RETURN, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

fn filter(task: SandboxProfile) -> Result<BpfProgram, seccompiler::BackendError> {
    let further: &[i64] = match task {
        SandboxProfile::Device | SandboxProfile::Use | SandboxProfile::UseDirectory => &MOUNTING,
        SandboxProfile::Mount => &[],
    };
    let refused = DENIED_SYSCALLS.iter().chain(further).map(|call| (*call, Vec::new()));
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> = refused.collect();
    if matches!(task, SandboxProfile::Use | SandboxProfile::UseDirectory) {
        // Some programs, such as PostgreSQL, refuse to run as root. A program that is started in a user
        // namespace without a map has the user 65534 and no capabilities.
        let user = libc::CLONE_NEWUSER.cast_unsigned().into();
        let other = SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, user)?;
        refused.insert(libc::SYS_unshare, vec![SeccompRule::new(vec![other])?]);
    }
    if task != SandboxProfile::Mount {
        let namespaces = NAMESPACES.map(|flag| -> Result<_, seccompiler::BackendError> {
            let flag = flag.cast_unsigned().into();
            let is_set = SeccompCmpOp::MaskedEq(flag);
            let is_set = SeccompCondition::new(0, SeccompCmpArgLen::Qword, is_set, flag)?;
            SeccompRule::new(vec![is_set])
        });
        refused.insert(libc::SYS_clone, namespaces.into_iter().collect::<Result<_, _>>()?);
    }
    let refusal = SeccompAction::Errno(libc::EPERM as u32);
    let architecture = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(refused, SeccompAction::Allow, refusal, architecture)?.try_into()
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
        assert!(run("touch x && ! chattr +i x"));
        assert!(run("unshare --user sh -c '[ $(id -u) != 0 ] && touch y && ! chown 1 y'"));
        // clone(2) with CLONE_NEWUSER and a signal for its parent, and clone3(2).
        for (call, error) in [
            (
                format!(
                    "syscall({}, {}, 0, 0, 0, 0)",
                    libc::SYS_clone,
                    libc::CLONE_NEWUSER | libc::SIGCHLD
                ),
                "EPERM",
            ),
            (format!("syscall({}, 0, 0)", libc::SYS_clone3), "ENOSYS"),
        ] {
            let script = format!("perl -e 'exit({call} < 0 && $!{{{error}}} ? 0 : 1)'");
            assert!(run(&script), "{script}");
        }
        for namespaces in ["--mount", "--user --mount", "--user --map-root-user", "--net"] {
            assert!(!run(&format!("unshare {namespaces} true")), "{namespaces}");
        }
        // Each call must be refused with this error.
        let kill_test = format!("syscall({}, {}, 0)", libc::SYS_kill, Pid::this());
        let set_name = format!("syscall({}, $0, 1)", libc::SYS_sethostname);
        let open_tree_attr = format!("syscall({OPEN_TREE_ATTR}, 0, 0, 0, 0, 0)");
        for (call, error) in [
            (kill_test.as_str(), "ESRCH"),
            (&set_name, "EPERM"),
            (&open_tree_attr, "EPERM"),
            ("syscall(500, 0)", "ENOSYS"),
        ] {
            let script = format!("perl -e 'exit({call} < 0 && $!{{{error}}} ? 0 : 1)'");
            assert!(run(&script), "{script}");
        }
        // CAP_SYS_ADMIN, which freezes filesystems, is bit 21.
        let effective = "if (/^CapEff:\\s*(\\S+)/) { exit(hex($1) >> 21 & 1) }";
        assert!(run(&format!("perl -ne '{effective}' /proc/self/status")));
        // The thread of the test keeps its mounts.
        assert!(!Path::new(OWN_TMP).exists());
    }

    /// Regression test: a daemon of a job file outlived the cell.
    #[test]
    fn no_process_of_a_program_in_a_directory_outlives_it() {
        let directory = tempfile::tempdir().unwrap();
        let runner = SandboxedRunner::Directory(Vec::new());
        let mut command = Command::new("sh");
        let daemon = "read -r pid rest </proc/self/stat; echo $pid >started; sleep 60";
        let script = format!("setsid sh -c '{daemon}' & while [ ! -s started ]; do :; done");
        command.args(["-c", &script]);
        assert!(runner.below(directory.path()).unwrap().status(command).unwrap().success());
        let pid = fs::read_to_string(directory.path().join("started")).unwrap();
        assert!(!Path::new("/proc").join(pid.trim()).exists(), "{pid}");
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
