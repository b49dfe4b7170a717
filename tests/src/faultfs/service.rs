//! Life cycle of the fault driver: a background child serves requests, and the parent returns when
//! the child is ready.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use fuser::{Config, MountOption, Session};

use super::driver::Driver;
use super::faults::{Call, Faults};
use super::image;
use super::tree::Tree;

/// Line that the child prints when the kernel has its answer to the first request.
const MOUNTED: &str = "mounted";
/// Size of a filesystem without a device.
const UNBOUND: u64 = 1 << 40;
/// Source for a mount without a device: files are lost on unmount.
const NONE: &str = "none";

/// Starts the driver in the background and returns when it is mounted.
///
/// # Errors
/// Returns the reason if the driver did not mount.
pub fn mount_in_background(options: &str, source: &str, mountpoint: &Path) -> Result<(), String> {
    let say = |error: io::Error| error.to_string();
    let program = std::env::current_exe().map_err(say)?;
    let mut child = Command::new(program)
        .args(["--serve", "-o", options, source])
        .arg(mountpoint)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(say)?;
    let mut said = String::new();
    let stdout = child.stdout.take().expect("its output is piped");
    BufReader::new(stdout).read_line(&mut said).map_err(say)?;
    match said.trim() {
        MOUNTED => Ok(()),
        "" => Err("the driver died".to_owned()),
        other => Err(other.to_owned()),
    }
}

/// Runs the driver: mounts, prints a line on standard output, and serves until it is unmounted.
pub fn serve(options: &str, source: &str, mountpoint: &Path) -> ExitCode {
    match try_to_serve(options, source, mountpoint) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn try_to_serve(options: &str, source: &str, mountpoint: &Path) -> io::Result<()> {
    let faults = Faults::parse(options).map_err(io::Error::other)?;
    if faults.hang == Some(Call::Mount) {
        loop {
            std::thread::park();
        }
    }
    if let Some(&error) = faults.errors.get(&Call::Mount) {
        return Err(io::Error::from_raw_os_error(error));
    }
    let driver = driver(faults, source)?;
    let mut config = Config::default();
    config.mount_options =
        vec![MountOption::FSName(source.to_owned()), MountOption::DefaultPermissions];
    let session = Session::new(driver, mountpoint, &config)?;
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{MOUNTED}")?;
    stdout.flush()?;
    drop(stdout);
    session.run()
}

fn driver(faults: Faults, source: &str) -> io::Result<Driver> {
    if source == NONE {
        return Ok(Driver::new(Tree::default(), faults, None, UNBOUND));
    }
    let device = Path::new(source);
    let size = image::size_of(device)?;
    let tree = image::load(device)?;
    Ok(Driver::new(tree, faults, Some(device.to_owned()), size))
}
