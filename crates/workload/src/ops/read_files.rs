//! Finds the files that a command created and reads them in random order.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::error::{OpContext, OpError};
use crate::files::visit_order::VisitOrder;
use crate::measure::thread_stats::ThreadStats;
use crate::workspace::CellWorkspace;

/// Bytes per request.
const REQUEST: usize = 128 << 10;

/// Finds all files below a directory and reads them in an order determined by the seed. The search
/// is the first operation; each file is another one.
pub fn read(ws: &CellWorkspace, stats: &mut ThreadStats, directory: &str) -> Result<(), OpError> {
    let top = ws.path(directory);
    let mut buffer = vec![0; REQUEST];
    stats.start_timed(1);
    let mut files = Vec::new();
    find(&top, &mut files)?;
    // Sort, because the directory order differs between filesystems.
    files.sort_unstable();
    stats.finish_op();
    let order = VisitOrder::sequential(&(0..files.len() as u64)).shuffled(ws.seed(), "read-files");
    for step in 0..order.len() {
        let path = &files[order.position(step) as usize];
        let mut file = File::open(path).with_call("open", path)?;
        let mut whole = 0;
        loop {
            match file.read(&mut buffer).with_call("read", path)? {
                0 => break,
                length => whole += length,
            }
        }
        drop(file);
        stats.finish_read(whole);
    }
    Ok(())
}

/// Lists regular files only: the target of a link is found at its real location.
fn find(directory: &Path, files: &mut Vec<PathBuf>) -> Result<(), OpError> {
    for entry in fs::read_dir(directory).with_call("readdir", directory)? {
        let entry = entry.with_call("readdir", directory)?;
        let path = entry.path();
        let kind = entry.file_type().with_call("stat", &path)?;
        if kind.is_dir() {
            find(&path, files)?;
        } else if kind.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::PhaseMeter;

    #[test]
    fn each_file_is_read_once_and_a_missing_directory_is_an_error() {
        let place = tempfile::tempdir().unwrap();
        let ws = CellWorkspace::new(place.path(), 3);
        let stats = || ThreadStats::new(None, Default::default(), PhaseMeter::start(None, None));
        fs::create_dir_all(place.path().join("made/below")).unwrap();
        for (name, size) in [("a", 0), ("b", 5), ("below/c", 300_000)] {
            fs::write(place.path().join("made").join(name), vec![1; size]).unwrap();
        }
        symlink("b", place.path().join("made/link")).unwrap();
        let mut read = stats();
        super::read(&ws, &mut read, "made").unwrap();
        assert_eq!((read.operations, read.bytes), (4, 300_005));
        let error = super::read(&ws, &mut stats(), "other").unwrap_err();
        assert!(error.to_string().contains("readdir"), "{error}");
    }
}
