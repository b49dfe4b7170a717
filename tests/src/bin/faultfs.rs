//! A FUSE driver with faults, which catalog entries of the tests use.
//!
//! `faultfs --format DEVICE` creates an empty filesystem. `faultfs [-o OPTIONS] DEVICE MOUNTPOINT`
//! mounts it and returns. Without a device (`none`), files are lost on unmount.

use std::path::Path;
use std::process::ExitCode;

use end_to_end::faultfs;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["--format", device] => faultfs::format(Path::new(device)).map_err(|e| e.to_string()),
        ["--serve", "-o", options, source, mountpoint] => {
            return faultfs::serve(options, source, Path::new(mountpoint));
        }
        ["-o", options, source, mountpoint] => {
            faultfs::mount_in_background(options, source, Path::new(mountpoint))
        }
        [source, mountpoint] => faultfs::mount_in_background("", source, Path::new(mountpoint)),
        _ => Err("usage: faultfs --format DEVICE | [-o OPTIONS] DEVICE MOUNTPOINT".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("faultfs: {error}");
            ExitCode::FAILURE
        }
    }
}
