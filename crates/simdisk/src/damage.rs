//! Faults of a disk: the places at which each kind can occur in a recording, and the disk that
//! results.

use std::collections::{BTreeMap, BTreeSet};

use model::{DiskFaultKind, SeededRng};

use crate::SECTOR;
use crate::write_log::{LoggedWrite, WriteLog};

/// Sectors of a block that is damaged as a whole.
const BLOCK_SECTORS: u64 = 8;

/// Place of a fault. Writes and flushes are numbered from 1, as they reached the disk.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultPlace {
    /// This bit of a sector has the wrong value.
    Bit {
        /// The sector.
        sector: u64,
        /// The bit, from 0.
        bit: u64,
    },
    /// This write is missing.
    LostWrite(usize),
    /// A write went to the place of an earlier one.
    MisdirectedWrite {
        /// Number of the write.
        write: usize,
        /// Number of the earlier write.
        to: usize,
    },
    /// These sectors cannot be read.
    Unreadable {
        /// The first sector.
        sector: u64,
        /// Number of sectors.
        sectors: u64,
    },
    /// Writes fail.
    FailedWrites {
        /// Number of the first write.
        from: usize,
        /// Number of writes.
        count: u64,
    },
    /// This flush fails.
    FailedFlush(usize),
}

/// A place, and whether it contains only data of files.
type ClassifiedPlace = (FaultPlace, bool);

/// Sectors and their bytes.
pub type Sectors = BTreeMap<u64, Vec<u8>>;

impl WriteLog {
    /// Returns all places for a kind of fault. `is_data` recognises a sector with data of a file.
    pub fn fault_places(
        &self,
        kind: DiskFaultKind,
        seed: u64,
        is_data: &dyn Fn(&[u8]) -> bool,
    ) -> Vec<ClassifiedPlace> {
        let mut rng = SeededRng::substream(seed, "disk faults");
        let writes: Vec<&LoggedWrite> = self.writes().collect();
        let only_data = |write: &LoggedWrite| write.pieces().all(|(_, piece)| is_data(piece));
        let numbered = (1..).zip(&writes);
        match kind {
            DiskFaultKind::BitFlip => self
                .written_blocks()
                .into_values()
                .map(|block| {
                    let (sector, content) = block[rng.below(block.len() as u64) as usize];
                    let bit = rng.below(8 * SECTOR);
                    (FaultPlace::Bit { sector, bit }, is_data(content))
                })
                .collect(),
            DiskFaultKind::UnreadableBlock => self
                .written_blocks()
                .into_iter()
                .map(|(number, block)| {
                    let sector = number * BLOCK_SECTORS;
                    let place = FaultPlace::Unreadable { sector, sectors: BLOCK_SECTORS };
                    (place, block.iter().all(|(_, content)| is_data(content)))
                })
                .collect(),
            DiskFaultKind::LostWrite => {
                let visible = self.visible_writes();
                numbered
                    .filter(|(number, _)| visible.contains(number))
                    .map(|(number, write)| (FaultPlace::LostWrite(number), only_data(write)))
                    .collect()
            }
            DiskFaultKind::MisdirectedWrite => numbered
                .filter_map(|(number, write)| {
                    let data = only_data(write);
                    let fits = |to: &usize| {
                        let other = writes[to - 1];
                        other.new.len() >= write.new.len() && other.sector != write.sector
                    };
                    let fitting: Vec<usize> = (1..number).filter(fits).collect();
                    let mut alike = fitting.clone();
                    alike.retain(|to| only_data(writes[to - 1]) == data);
                    let targets = if alike.is_empty() { fitting } else { alike };
                    let at = rng.below(targets.len().max(1) as u64) as usize;
                    let to = *targets.get(at)?;
                    let data = data && only_data(writes[to - 1]);
                    Some((FaultPlace::MisdirectedWrite { write: number, to }, data))
                })
                .collect(),
            DiskFaultKind::WriteError | DiskFaultKind::WriteErrorSticky => {
                let is_sticky = kind == DiskFaultKind::WriteErrorSticky;
                let count = if is_sticky { u64::MAX } else { 1 };
                numbered
                    .map(|(from, write)| {
                        (FaultPlace::FailedWrites { from, count }, only_data(write))
                    })
                    .collect()
            }
            DiskFaultKind::FlushError => {
                (1..=self.flushes()).map(|flush| (FaultPlace::FailedFlush(flush), false)).collect()
            }
        }
    }

    /// Returns the written sectors of each aligned block, as they are at the end.
    fn written_blocks(&self) -> BTreeMap<u64, Vec<(u64, &[u8])>> {
        let mut blocks: BTreeMap<u64, Vec<(u64, &[u8])>> = BTreeMap::new();
        for (sector, content) in self.image() {
            blocks.entry(sector / BLOCK_SECTORS).or_default().push((sector, content));
        }
        blocks
    }

    /// Returns the numbers of writes with a sector that no later write replaces.
    fn visible_writes(&self) -> BTreeSet<usize> {
        let mut last = BTreeMap::new();
        for (number, write) in (1..).zip(self.writes()) {
            last.extend(write.pieces().map(|(sector, _)| (sector, number)));
        }
        last.into_values().collect()
    }

    /// Returns the written sectors at the end on a disk with this fault. A fault that fails calls
    /// changes no sector.
    pub fn damaged(&self, place: &FaultPlace) -> Sectors {
        let mut sectors = Sectors::new();
        let writes: Vec<&LoggedWrite> = self.writes().collect();
        for (number, write) in (1..).zip(&writes) {
            let start = match place {
                FaultPlace::LostWrite(lost) if *lost == number => continue,
                FaultPlace::MisdirectedWrite { write, to } if *write == number => {
                    writes[to - 1].sector
                }
                _ => write.sector,
            };
            let pieces = write.pieces().map(|(_, piece)| piece.to_vec());
            sectors.extend((start..).zip(pieces));
        }
        if let FaultPlace::Bit { sector, bit } = place
            && let Some(content) = sectors.get_mut(sector)
        {
            content[(bit / 8) as usize] ^= 1 << (bit % 8);
        }
        // A missing write leaves the bytes from before the recording.
        for (sector, old) in self.replaced() {
            sectors.entry(sector).or_insert_with(|| old.to_vec());
        }
        sectors
    }

    /// Returns a description of a place.
    pub fn describe(&self, place: &FaultPlace) -> String {
        let write = |number: usize| self.writes().nth(number - 1).map_or(0, |write| write.sector);
        match place {
            FaultPlace::Bit { sector, bit } => {
                format!("bit {} of byte {} of sector {sector}", bit % 8, bit / 8)
            }
            FaultPlace::LostWrite(number) => {
                format!("write {number}, to sector {}, was lost", write(*number))
            }
            FaultPlace::MisdirectedWrite { write: number, to } => format!(
                "write {number} went to sector {} instead of {}",
                write(*to),
                write(*number)
            ),
            FaultPlace::Unreadable { sector, sectors } => {
                format!("sectors {sector} to {} were unreadable", sector + sectors - 1)
            }
            FaultPlace::FailedWrites { from, count: 1 } => format!("write {from} failed"),
            FaultPlace::FailedWrites { from, .. } => format!("all writes from write {from} failed"),
            FaultPlace::FailedFlush(number) => format!("flush {number} failed"),
        }
    }
}

/// Returns at most `limit` places in their order: half of them with only data of files, and half
/// others, if there are enough of both.
pub fn sample(places: Vec<ClassifiedPlace>, limit: usize, seed: u64) -> Vec<FaultPlace> {
    let mut rng = SeededRng::substream(seed, "sample of faults");
    let (mut data, mut other): (Vec<_>, Vec<_>) =
        places.into_iter().partition(|(_, is_data)| *is_data);
    rng.shuffle(&mut data);
    rng.shuffle(&mut other);
    data.truncate((limit / 2).max(limit.saturating_sub(other.len())));
    other.truncate(limit - data.len());
    let mut chosen: Vec<FaultPlace> =
        data.into_iter().chain(other).map(|(place, _)| place).collect();
    chosen.sort_unstable();
    chosen
}

/// Returns true if two disks differ, and only in sectors that hold data of files on the first.
pub fn differs_only_in_data(
    right: &BTreeMap<u64, &[u8]>,
    wrong: &Sectors,
    is_data: &dyn Fn(&[u8]) -> bool,
) -> bool {
    let mut differing = right
        .iter()
        .filter(|(sector, content)| wrong.get(sector).is_none_or(|found| found != *content))
        .peekable();
    differing.peek().is_some() && differing.all(|(_, content)| is_data(content))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Writes with numbers as bytes: sector and number of sectors.
    fn log(writes: &[(u64, u64)]) -> WriteLog {
        let mut bytes = vec![0; 16];
        bytes.extend(4096_u32.to_le_bytes());
        bytes.extend([6, 1, 0, 0]);
        let mut disk = vec![0_u8; 64 * SECTOR as usize];
        for ((sector, sectors), number) in writes.iter().zip(1_u64..) {
            bytes.extend(sector.to_le_bytes());
            bytes.extend(number.to_le_bytes());
            bytes.extend((*sectors as u32).to_le_bytes());
            bytes.extend([1, 0, 0, 0]);
            let range = (sector * SECTOR) as usize..((sector + sectors) * SECTOR) as usize;
            bytes.extend(vec![number as u8; range.len()]);
            bytes.extend(&disk[range.clone()]);
            disk[range].fill(number as u8);
        }
        WriteLog::parse(&bytes).unwrap()
    }

    /// First byte of each sector.
    fn firsts(sectors: &Sectors) -> Vec<(u64, u8)> {
        sectors.iter().map(|(sector, bytes)| (*sector, bytes[0])).collect()
    }

    #[test]
    fn a_lost_write_leaves_old_bytes_and_a_misdirected_one_replaces_others() {
        let log = log(&[(0, 2), (8, 1), (0, 1)]);
        assert_eq!(firsts(&log.damaged(&FaultPlace::LostWrite(3))), [(0, 1), (1, 1), (8, 2)]);
        assert_eq!(firsts(&log.damaged(&FaultPlace::LostWrite(2))), [(0, 3), (1, 1), (8, 0)]);
        let misdirected = FaultPlace::MisdirectedWrite { write: 3, to: 2 };
        assert_eq!(firsts(&log.damaged(&misdirected)), [(0, 1), (1, 1), (8, 3)]);
    }

    #[test]
    fn only_a_write_of_which_something_is_left_can_be_lost() {
        let log = log(&[(0, 1), (8, 1), (0, 2)]);
        let places = log.fault_places(DiskFaultKind::LostWrite, 1, &|bytes| bytes[0] == 2);
        assert_eq!(places, [(FaultPlace::LostWrite(2), true), (FaultPlace::LostWrite(3), false)]);
    }

    fn writes() -> impl Strategy<Value = Vec<(u64, u64)>> {
        proptest::collection::vec((0..40_u64, 1..24_u64), 1..30)
    }

    proptest! {
        #[test]
        fn a_flipped_bit_is_the_only_difference(writes in writes(), seed: u64) {
            let log = log(&writes);
            for (place, is_data) in log.fault_places(DiskFaultKind::BitFlip, seed, &|_| true) {
                prop_assert!(is_data);
                let damaged = log.damaged(&place);
                let bits: u32 = log.image().iter().map(|(sector, right)| {
                    damaged[sector].iter().zip(*right).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>()
                }).sum();
                prop_assert_eq!(bits, 1);
            }
        }

        /// Every sector of a damaged disk has the bytes of a write to some place, or the old ones.
        #[test]
        fn lost_and_misdirected_writes_invent_no_bytes(writes in writes(), seed: u64) {
            let log = log(&writes);
            for kind in [DiskFaultKind::LostWrite, DiskFaultKind::MisdirectedWrite] {
                let places = log.fault_places(kind, seed, &|_| false);
                for place in sample(places, 5, seed) {
                    let damaged = log.damaged(&place);
                    prop_assert!(damaged.values().all(|bytes| usize::from(bytes[0]) <= writes.len()));
                    prop_assert!(damaged.keys().eq(log.image().keys()));
                }
            }
        }

        #[test]
        fn a_sample_has_half_of_each_kind_if_there_are_enough(data in 0..30_usize, other in 0..30_usize) {
            let places = (1..=data).map(|n| (FaultPlace::LostWrite(n), true));
            let others = (1..=other).map(|n| (FaultPlace::FailedFlush(n), false));
            let chosen = sample(places.chain(others).collect(), 20, 3);
            prop_assert_eq!(chosen.len(), (data + other).min(20));
            let of_data = chosen.iter().filter(|one| matches!(one, FaultPlace::LostWrite(_))).count();
            prop_assert!(of_data >= data.min(10) && chosen.len() - of_data >= other.min(10));
        }
    }
}
