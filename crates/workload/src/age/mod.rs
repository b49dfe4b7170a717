//! Ageing: fills a mounted filesystem with files as a profile says and lets them come and go, before a test begins.
//!
//! What is done follows from the seed, and from how full the filesystem says it is once everything is written.

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
use crate::thread_stats::Progress;

/// Version of the ager: another one does something else with the same age and seed.
pub const AGER_VERSION: u32 = 1;
/// The directory, at the top of a filesystem, in which the files of its age lie: FAT, too, has such names.
pub const AGE_DIRECTORY: &str = "aged.dir";

/// Ages the filesystem that is mounted here. `begin` is called at the beginning of each part: the fill, and each
/// replacement of about as many files as lie there.
///
/// # Errors
/// What the filesystem says, but for want of room: then files are removed.
pub fn age(
    root: &Path,
    age: &AgeingSpec,
    seed: u64,
    progress: &Progress,
    begin: &mut dyn FnMut(),
) -> Result<AgeingResult, OpError> {
    let begun = sys::clock::now();
    let mut ground = OpenDirectory::new(root, seed);
    let mut record = Ager::new(age, seed, &mut ground, progress, begin).run()?;
    record.elapsed = sys::clock::since(begun);
    Ok(record)
}
