//! The agent as the first process of a guest. It prepares the machine, opens the channel to the
//! orchestrator, starts the actual agent in separate namespaces, and powers the machine off.
//!
//! The actual agent is started as on a host, so that its namespace contains only the agent and its
//! drivers, which are not confused with kernel threads.

pub(crate) mod hang_report;
pub(crate) mod request_log;
pub(crate) mod shared_memory;
pub(crate) mod shell;
pub(crate) mod write_recorder;

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use model::Nanos;
use nix::fcntl::{FcntlArg, fcntl};
use nix::unistd::{dup2_stdin, dup2_stdout};
use sys::io::clock;

use crate::guest::shared_memory::SharedMemory;
use crate::sandbox::isolation;

/// Directory of module files, with a list of them in load order and their parameters.
const MODULES: &str = "/modules";
const ORDER: &str = "order";
/// Attributes of in-memory disks, if any, separated by empty lines.
const DISK: &str = "/disk";
/// Directory of source archives, if commands unpack some.
const ARCHIVES: &str = "/archives";
/// 1 January 2030, later than the files of any archive: configure scripts refuse to run before the
/// time of their sources, and a guest in virtual time starts in 2020.
const AFTER_ARCHIVES: Nanos = Nanos::from_secs(1_893_456_000);
/// The job, if it is not sent through the channel.
const JOB: &str = "/job";
const CONFIGURATION: &str = "/sys/kernel/config";
/// Directory in which the kernel lists the channels of a guest by name.
const PORTS: &str = "/sys/class/virtio-ports";
/// Seed of the guest's random numbers. Without it, the kernel would collect randomness from timings
/// for seconds, and most mkfs programs would wait for it.
const RANDOM: [u8; 32] = *b"every guest of fsarena is alike.";
/// Maximum wait for the channel, which appears shortly after its driver is loaded.
const CHANNEL_TIMEOUT: Nanos = Nanos::from_secs(10);
const POLL: Duration = Duration::from_millis(1);

/// Runs the guest from start to finish. Returns only if the machine cannot be powered off. Errors
/// are printed on the console, and the orchestrator sees the channel close.
pub fn run_guest_init(channel: &str) -> io::Error {
    let begin = || {
        eprintln!("{}", model::wire::CONSOLE_MARK);
        isolation::spawn_isolated(false).map(drop)
    };
    if let Err(error) = prepare(channel).and_then(|()| begin()) {
        eprintln!("fsarena: the agent cannot be started: {error}");
    }
    sys::machine::power_off()
}

fn prepare(channel: &str) -> io::Result<()> {
    prepare_machine()?;
    hang_report::close_log();
    let device = find(channel)?;
    let port = OpenOptions::new().read(true).write(true).open(device)?;
    dup2_stdout(&port)?;
    match job()? {
        Some(job) => bring(&job),
        None => Ok(dup2_stdin(&port)?),
    }
}

/// Prepares the booted machine: mounts, modules, contents of the shared memory, and in-memory disk.
pub fn prepare_machine() -> io::Result<()> {
    sys::machine::mount_kernel_filesystems()?;
    sys::machine::seed_random(RANDOM)?;
    load_modules()?;
    if let Some(card) = SharedMemory::find()? {
        card.unpack(Path::new("/"))?;
        load_modules()?;
    }
    if Path::new(ARCHIVES).is_dir() {
        clock::set_after(AFTER_ARCHIVES)?;
    }
    if let Some(attributes) = text_of(DISK)? {
        make_disks(&attributes)?;
    }
    Ok(())
}

fn load_modules() -> io::Result<()> {
    for line in fs::read_to_string(Path::new(MODULES).join(ORDER))?.lines() {
        let (module, parameters) = line.split_once(' ').unwrap_or((line, ""));
        sys::machine::load_module(&Path::new(MODULES).join(module), parameters)
            .map_err(|error| io::Error::other(format!("{module}: {error}")))?;
    }
    Ok(())
}

/// Returns the job stored in the guest image, if any.
pub fn job() -> io::Result<Option<String>> {
    text_of(JOB)
}

/// Returns the content of a file. Returns `None` if the file does not exist.
fn text_of(path: &str) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// Creates in-memory disks. The kernel numbers them in order of creation.
fn make_disks(attributes: &str) -> io::Result<()> {
    sys::machine::mount_configfs(Path::new(CONFIGURATION))?;
    let mut disks = attributes.split("\n\n").enumerate();
    disks.try_for_each(|(number, attributes)| {
        let name = format!("nullb/nullb{number}");
        make_disk(&Path::new(CONFIGURATION).join(name), attributes)
    })
}

/// Creates an in-memory disk: a configfs directory whose files receive the disk's attributes.
fn make_disk(disk: &Path, attributes: &str) -> io::Result<()> {
    fs::create_dir(disk)?;
    for (name, value) in attributes.lines().filter_map(|line| line.split_once(' ')) {
        fs::write(disk.join(name), value)
            .map_err(|error| io::Error::other(format!("{name} of the disk: {error}")))?;
    }
    Ok(())
}

/// Writes the stored job to the agent's standard input. The write end stays open until this process
/// exits, because the agent ends at end of file.
///
/// The pipe buffer holds the whole job: a writer thread would prevent this process from entering
/// namespaces.
fn bring(job: &str) -> io::Result<()> {
    let (reader, mut writer) = io::pipe()?;
    let size = libc::c_int::try_from(job.len()).map_err(io::Error::other)?;
    fcntl(&writer, FcntlArg::F_SETPIPE_SZ(size))?;
    writer.write_all(job.as_bytes())?;
    std::mem::forget(writer);
    Ok(dup2_stdin(&reader)?)
}

/// Waits for the channel with this name and returns its path.
fn find(channel: &str) -> io::Result<PathBuf> {
    let start = clock::now();
    loop {
        if let Some(device) = ports().find(|port| is_called(port, channel)) {
            let name = device.file_name().unwrap_or_default();
            return Ok(Path::new("/dev").join(name));
        }
        if clock::since(start) > CHANNEL_TIMEOUT {
            return Err(io::Error::other(format!("there is no channel {channel}")));
        }
        thread::sleep(POLL);
    }
}

fn ports() -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(PORTS).into_iter().flatten();
    entries.flatten().map(|entry| entry.path())
}

fn is_called(port: &Path, name: &str) -> bool {
    fs::read_to_string(port.join("name")).is_ok_and(|text| text.trim_end() == name)
}
