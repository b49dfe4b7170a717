//! Driver for simulated disks in memory. It is built for a guest's kernel from the crate `simdisk`.

use std::path::{Path, PathBuf};

use crate::build::rebuild::make_module;
use crate::build::toolchain::Toolchain;
use crate::process_runner::ProcessRunner;
use crate::{GuestError, files};

/// Its module.
pub const DRIVER: &str = "fsarena_disk";
/// Module of the driver for cells that cut the power, which keeps the bytes of every write.
pub const RECORDER: &str = "fsarena_disk_recorder";
/// Both modules.
pub const DRIVERS: [&str; 2] = [DRIVER, RECORDER];
/// The kernel's own driver for disks in memory, which does not simulate a mechanism.
pub const NULL_BLK: &str = "null_blk";

/// Disables BTF type information, which would need another program (pahole) and debug information.
const SETTINGS: [&str; 1] = ["CONFIG_DEBUG_INFO_BTF_MODULES="];

/// Returns the complete driver source, which is part of the guest's name.
pub fn description() -> String {
    let files = simdisk::DRIVER_SOURCE.iter();
    files.map(|(name, text)| format!("{name}\n{text}\n")).collect()
}

/// Builds the driver against a kernel's headers in a new directory, and returns the files of its
/// modules, in the order of [`DRIVERS`].
pub fn build(
    headers: &Path,
    into: &Path,
    toolchain: Option<&Toolchain>,
    programs: &ProcessRunner,
) -> Result<Vec<PathBuf>, GuestError> {
    files::create_directory(into)?;
    for (name, text) in simdisk::DRIVER_SOURCE {
        files::write(&into.join(name), text.as_bytes())?;
    }
    make_module(headers, into, &SETTINGS, &[], toolchain, programs)?;
    Ok(DRIVERS.map(|name| into.join(format!("{name}.ko"))).to_vec())
}
