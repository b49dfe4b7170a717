//! Files that take a share of the space of a filesystem.

use std::fs;
use std::io;
use std::path::Path;

use model::{Bytes, Occupy, Vacate};
use nix::sys::statvfs::statvfs;
use sys::io::caches;

use crate::data::pattern::{BLOCK, BlockIdentity, file_id};
use crate::error::{OpContext, OpError};
use crate::measure::thread_stats::ThreadStats;
use crate::ops::data;
use crate::workspace::CellWorkspace;

/// Directory of the files.
const DIRECTORY: &str = "occupied";
/// Bytes of each write.
const REQUEST: u64 = 1 << 20;

/// Writes files until the wanted share is used, to within one file.
pub fn occupy(
    ws: &mut CellWorkspace,
    stats: &mut ThreadStats,
    wanted: &Occupy,
) -> Result<(), OpError> {
    let directory = ws.path(DIRECTORY);
    let size = wanted.size.0;
    let block = size.min(REQUEST);
    let mut pattern = ws.pattern(BLOCK).with_reach(block as usize);
    let mut left = Space::of(ws.root())?.until(wanted.used);
    if left > wanted.bytes.0 {
        return Err(OpError::Unsupported {
            reason: format!(
                "{} % of this filesystem take {} more, and this phase writes at most {}; use a smaller --size",
                wanted.used,
                Bytes(left),
                wanted.bytes
            ),
        });
    }
    let mut number = 0;
    stats.start_timed(left / size);
    create_directory(&directory)?;
    let mut written = 0;
    // Metadata takes space, too, and some filesystems count it only after a sync.
    while left >= size && written + size <= wanted.bytes.0 {
        for _ in 0..(left / size).min((wanted.bytes.0 - written) / size) {
            let path = directory.join(format!("f{number}"));
            let file = data::create_new(&path)?;
            let origin = BlockIdentity { file: file_id(DIRECTORY) + number, generation: 1 };
            data::write_all(&file, &path, &mut pattern, origin, size, block as usize, stats)?;
            number += 1;
            written += size;
        }
        caches::sync_filesystem(ws.root()).with_call("syncfs", ws.root())?;
        left = Space::of(ws.root())?.until(wanted.used);
    }
    if left >= size {
        return Err(OpError::Unsupported {
            reason: format!("{} of files do not use {} %", Bytes(written), wanted.used),
        });
    }
    Ok(())
}

/// Removes a share of the files, evenly spread.
pub fn vacate(
    ws: &mut CellWorkspace,
    stats: &mut ThreadStats,
    wanted: &Vacate,
) -> Result<(), OpError> {
    let directory = ws.path(DIRECTORY);
    let entries = fs::read_dir(&directory).with_call("readdir", &directory)?;
    let files = entries.count() as u64;
    let removed =
        |number: &u64| (number + 1) * wanted.removed / 100 > number * wanted.removed / 100;
    let paths: Vec<_> =
        (0..files).filter(removed).map(|number| directory.join(format!("f{number}"))).collect();
    stats.start_timed(paths.len() as u64);
    for path in paths {
        fs::remove_file(&path).with_call("unlink", &path)?;
        stats.finish_op();
    }
    Ok(())
}

fn create_directory(path: &Path) -> Result<(), OpError> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other.with_call("mkdir", path),
    }
}

/// Space of a filesystem for files, in bytes.
struct Space {
    used: u64,
    available: u64,
}

impl Space {
    fn of(root: &Path) -> Result<Self, OpError> {
        let found = statvfs(root).map_err(io::Error::from).with_call("statvfs", root)?;
        if found.blocks() == 0 {
            let reason = "statvfs reports no blocks, so its used share is unknown".to_owned();
            return Err(OpError::Unsupported { reason });
        }
        let unit = found.fragment_size();
        let used = found.blocks().saturating_sub(found.blocks_free());
        Ok(Self { used: used * unit, available: found.blocks_available() * unit })
    }

    /// Returns the bytes that are missing until this share is used.
    const fn until(&self, percent: u64) -> u64 {
        let wanted = (self.used + self.available) / 100 * percent;
        wanted.saturating_sub(self.used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_missing_space_is_that_until_df_shows_the_share() {
        let space = Space { used: 1_000, available: 9_000 };
        assert_eq!(space.until(50), 4_000);
        assert_eq!(space.until(10), 0);
        assert_eq!(space.until(5), 0);
    }
}
