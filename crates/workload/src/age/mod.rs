//! Ageing: fills a mounted filesystem with the files of a profile and replaces them before a test
//! starts.
//!
//! The operations depend on the seed and on the space usage that the filesystem reports after all
//! data has been written.

mod ager;
mod directory;
mod population;
mod sampler;
#[cfg(test)]
mod simulated;
mod target;

use std::path::Path;

use model::{AgeingResult, AgeingSpec};

use crate::age::ager::Ager;
use crate::age::directory::OpenDirectory;
use crate::error::OpError;
use crate::measure::thread_stats::Progress;

/// Version of the ager. Different versions give different results for the same age and seed.
pub const AGER_VERSION: u32 = 1;
/// Directory of the aged files, in the root of the filesystem. The name is valid on FAT.
pub const AGE_DIRECTORY: &str = "aged.dir";

/// Ages the filesystem mounted at `root`. Calls `begin` at the start of each part: the fill, and
/// each replacement of about as many files as exist.
///
/// # Errors
/// Returns errors of the filesystem. If space runs out, files are removed instead.
pub fn age(
    root: &Path,
    age: &AgeingSpec,
    seed: u64,
    progress: &Progress,
    begin: &mut dyn FnMut(),
) -> Result<AgeingResult, OpError> {
    let begun = sys::io::clock::now();
    let mut ground = OpenDirectory::new(root, seed);
    let mut record = Ager::new(age, seed, &mut ground, progress, begin).run()?;
    record.elapsed = sys::io::clock::since(begun);
    Ok(record)
}
