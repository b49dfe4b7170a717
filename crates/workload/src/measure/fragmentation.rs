//! Fragmentation of files on their device, as reported by the kernel.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use model::FragmentationStats;
use sys::fs::extents::{Extent, block_runs};

/// Unit of contiguity in bytes, for files without larger blocks.
pub(crate) const BLOCK: u64 = 4096;
/// Maximum number of measured files, evenly spread over all files found.
const SAMPLE: usize = 500;
/// Maximum number of files to find.
const MAX_LAYOUT_SIZE: usize = 50_000;

/// Measures the layout of the files below a directory. Returns `None` if the filesystem reports no
/// extents.
pub fn fragmentation(root: &Path) -> Option<FragmentationStats> {
    let mut files = Vec::new();
    find(root, &mut files);
    let every = files.len().div_ceil(SAMPLE).max(1);
    let mut all = FragmentationStats::default();
    for path in files.iter().step_by(every) {
        let found = File::open(path).and_then(|file| block_runs(&file));
        if let Some(extents) = found.ok().filter(|extents| is_placed(extents)) {
            let (behind, blocks) = score(&extents);
            all.files += 1;
            all.pieces += pieces(&extents);
            all.blocks += blocks;
            all.contiguous_blocks += behind;
        }
    }
    (all.files > 0).then_some(all)
}

/// Finds all files below a directory in name order, so that every run measures the same files.
fn find(directory: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<_> =
        entries.filter_map(|entry| Some((entry.path(), entry.file_type().ok()?))).collect();
    paths.sort_by(|a, b| a.0.cmp(&b.0));
    for (path, kind) in paths {
        if files.len() >= MAX_LAYOUT_SIZE {
            return;
        }
        if kind.is_dir() {
            find(&path, files);
        } else if kind.is_file() {
            files.push(path);
        }
    }
}

/// Returns true if a file has extents on the device and the location of each extent is known.
fn is_placed(extents: &[Extent]) -> bool {
    !extents.is_empty() && extents.iter().all(|extent| extent.physical.is_some())
}

fn pieces(extents: &[Extent]) -> u64 {
    let touches =
        |two: &&[Extent]| two[0].physical.map(|place| place + two[0].length) == two[1].physical;
    extents.len() as u64 - extents.windows(2).filter(touches).count() as u64
}

/// Returns how many blocks of a file directly follow the preceding one, and the total. Returns
/// zeros if an extent has no physical location.
pub(crate) fn score(extents: &[Extent]) -> (u64, u64) {
    let (mut behind, mut all) = (0, 0);
    let mut end = None;
    for extent in extents {
        let Some(physical) = extent.physical else {
            return (0, 0);
        };
        let blocks = extent.length.div_ceil(BLOCK);
        behind += blocks.saturating_sub(1);
        all += blocks.saturating_sub(1);
        if let Some(end) = end {
            behind += u64::from(end == physical);
            all += 1;
        }
        end = Some(physical + extent.length);
    }
    (behind, all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(logical: u64, physical: u64, blocks: u64) -> Extent {
        Extent {
            logical: logical * BLOCK,
            physical: Some(physical * BLOCK),
            length: blocks * BLOCK,
        }
    }

    #[test]
    fn counts_contiguous_blocks_except_the_first() {
        assert_eq!(score(&[]), (0, 0));
        assert_eq!(score(&[extent(0, 5, 4)]), (3, 3));
        assert_eq!(score(&[extent(0, 5, 4), extent(4, 9, 1)]), (4, 4));
        assert_eq!(score(&[extent(0, 5, 4), extent(4, 8, 2)]), (4, 5));
        let placeless = Extent { physical: None, ..extent(0, 0, 4) };
        assert_eq!(score(&[extent(0, 5, 4), placeless]), (0, 0));
    }

    #[test]
    fn pieces_that_touch_are_one_and_a_file_without_a_place_does_not_count() {
        assert_eq!(pieces(&[extent(0, 10, 1), extent(1, 11, 1), extent(2, 20, 1)]), 2);
        let mut lost = extent(0, 10, 1);
        lost.physical = None;
        assert!(!is_placed(&[lost]) && !is_placed(&[]));
    }

    #[test]
    fn measures_the_layout_of_files_in_directories() {
        let filesystem = crate::mounted::Mounted::new(&["mkfs.ext4", "-q"]);
        let root = filesystem.top();
        assert_eq!(fragmentation(&root), None);
        let below = root.join("a/b");
        fs::create_dir_all(&below).unwrap();
        for number in 0..SAMPLE + 20 {
            fs::write(below.join(number.to_string()), [1; 9000]).unwrap();
        }
        let found = fragmentation(&root).expect("ext4 reports extents");
        assert!((200..=SAMPLE as u64).contains(&found.files), "{found:?}");
        assert!(found.extents_per_file().unwrap() >= 1.0, "{found:?}");
        assert!(found.layout_score().unwrap() <= 1.0, "{found:?}");
    }
}
