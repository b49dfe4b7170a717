//! Files mapped into the memory of processes, and the touched pages of these files.

use std::collections::BTreeSet;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::rc::Rc;

use nix::unistd::Pid;

use crate::files::RecordedOpening;

/// Size of a page in bytes.
pub const PAGE: u64 = 4096;

/// A mapped part of a file.
#[derive(Debug)]
pub struct RecordedMapping {
    /// Its addresses.
    pub range: Range<u64>,
    /// File offset of the first address.
    pub offset: u64,
    /// The file.
    pub opening: Rc<RecordedOpening>,
    /// True if the process may write to the file through this mapping.
    pub writes: bool,
    /// True for a shared mapping. In a private mapping, modified pages are copies.
    pub shared: bool,
    /// Pages of the file that are already in the trace.
    told: BTreeSet<u64>,
}

/// Mapped files of a process, or of several processes that share their memory.
#[derive(Debug, Default)]
pub struct Memory {
    mappings: Vec<RecordedMapping>,
}

impl Memory {
    /// Adds a mapping.
    pub fn add(
        &mut self,
        range: Range<u64>,
        offset: u64,
        opening: Rc<RecordedOpening>,
        (shared, writes): (bool, bool),
    ) {
        opening.take();
        self.mappings.push(RecordedMapping {
            range,
            offset,
            opening,
            writes,
            shared,
            told: BTreeSet::new(),
        });
    }

    /// Returns true if no file is mapped.
    pub fn is_empty(&self) -> bool {
        self.mappings.is_empty()
    }

    /// Returns the mappings that overlap a range.
    pub fn in_range(&mut self, range: Range<u64>) -> impl Iterator<Item = &mut RecordedMapping> {
        let meets = move |mapping: &&mut RecordedMapping| {
            mapping.range.start < range.end && range.start < mapping.range.end
        };
        self.mappings.iter_mut().filter(meets)
    }

    /// Removes a range. Parts of a mapping before and after the range stay mapped. Returns the open
    /// file descriptions of the affected mappings whose last reference was removed.
    pub fn remove(&mut self, range: &Range<u64>) -> Vec<Rc<RecordedOpening>> {
        let mut gone = Vec::new();
        for mapping in std::mem::take(&mut self.mappings) {
            let left = mapping.range.start..mapping.range.end.min(range.start);
            let right = mapping.range.start.max(range.end)..mapping.range.end;
            for part in [left, right] {
                if part.is_empty() {
                    continue;
                }
                mapping.opening.take();
                self.mappings.push(RecordedMapping {
                    offset: mapping.offset + (part.start - mapping.range.start),
                    range: part,
                    opening: Rc::clone(&mapping.opening),
                    told: mapping.told.clone(),
                    ..mapping
                });
            }
            if mapping.opening.give_back() {
                gone.push(mapping.opening);
            }
        }
        gone
    }

    /// Moves the mappings in a range to another range, which may have another length.
    pub fn relocate(&mut self, from: &Range<u64>, to: Range<u64>) {
        for mapping in self.in_range(from.clone()) {
            let start = to.start + mapping.range.start.saturating_sub(from.start);
            mapping.range = start..to.end.max(start);
        }
    }

    /// Copies the mappings for a new process.
    pub fn copy(&self) -> Self {
        let mut copy = Self::default();
        for mapping in &self.mappings {
            let modes = (mapping.shared, mapping.writes);
            let opening = Rc::clone(&mapping.opening);
            copy.add(mapping.range.clone(), mapping.offset, opening, modes);
        }
        copy
    }
}

impl RecordedMapping {
    /// Returns the byte ranges of the file whose pages were touched since the last call, up to the
    /// size of the file.
    pub fn touched(&mut self, process: Pid, range: &Range<u64>, size: u64) -> Vec<Range<u64>> {
        let start = self.range.start.max(range.start);
        let end = self.range.end.min(range.end);
        let pages = present(process, start..end, self.shared).into_iter();
        let places = pages.map(|address| self.offset + (address - self.range.start));
        let mut runs: Vec<Range<u64>> = Vec::new();
        for place in places.filter(|place| *place < size && self.told.insert(*place)) {
            let end = (place + PAGE).min(size);
            match runs.last_mut() {
                Some(run) if run.end == place => run.end = end,
                _ => runs.push(place..end),
            }
        }
        runs
    }
}

/// Returns the addresses of pages in a range that are present in the memory of the process. Source:
/// Documentation/admin-guide/mm/pagemap.rst of the kernel; bit 61 is set for pages of files.
fn present(process: Pid, range: Range<u64>, shared: bool) -> Vec<u64> {
    const PRESENT: u64 = 1 << 63;
    const OF_A_FILE: u64 = 1 << 61;
    const WORD: u64 = 8;
    let Ok(map) = File::open(format!("/proc/{process}/pagemap")) else {
        return Vec::new();
    };
    let wanted = PRESENT | if shared { 0 } else { OF_A_FILE };
    let mut pages = Vec::new();
    let mut words = [0; 4096];
    let mut at = range.start;
    while at < range.end {
        let Ok(read @ 1..) = map.read_at(&mut words, at / PAGE * WORD) else {
            break;
        };
        for word in words[..read].chunks_exact(WORD as usize) {
            let word = word.try_into().map_or(0, u64::from_ne_bytes);
            if at < range.end && word & wanted == wanted {
                pages.push(at);
            }
            at += PAGE;
        }
    }
    pages
}

#[cfg(test)]
mod tests {
    use trace::{HandleId, PathId};

    use super::*;

    #[test]
    fn a_hole_in_a_mapping_leaves_both_its_sides() {
        let opening = RecordedOpening::new(HandleId(0), PathId::TOP, Default::default(), false);
        let opening = Rc::new(opening);
        let mut memory = Memory::default();
        memory.add(10 * PAGE..20 * PAGE, PAGE, Rc::clone(&opening), (true, true));
        assert!(memory.remove(&(12 * PAGE..15 * PAGE)).is_empty());
        let left: Vec<_> = memory.mappings.iter().map(|m| (m.range.clone(), m.offset)).collect();
        assert_eq!(left, [(10 * PAGE..12 * PAGE, PAGE), (15 * PAGE..20 * PAGE, 6 * PAGE)]);
        assert_eq!(memory.remove(&(0..u64::MAX)).len(), 1, "it closes once");
        assert!(memory.is_empty());
    }
}
