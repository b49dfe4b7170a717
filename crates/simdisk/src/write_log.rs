//! The write log of a simulated disk, and the states that a loss of power can leave.
//!
//! A write is durable if a flush that was submitted after its completion has completed, or if it
//! was forced (FUA) and has completed. On a disk without a volatile cache, each completed write is
//! durable. All other submitted writes are in doubt: the disk may keep any of them, and of each any
//! of its physical blocks. A flush does not affect later writes, and a forced write
//! does not affect other writes.
//!
//! A disk that ignores flushes breaks this rule: all writes are in doubt. Its cuts are separate
//! ([`WriteLog::cuts_without_flushes`]).

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use model::SeededRng;

use crate::SECTOR;

/// Bytes of an entry without data (`struct write_entry` of `driver/write_log.h`).
const ENTRY: usize = 24;
const WRITE: u8 = 1;
const FLUSH: u8 = 2;
const COMPLETED: u8 = 3;
const MARK: u8 = 4;
const DROPPED: u8 = 5;
const STARTED: u8 = 6;
const FORCED: u8 = 1;
const FAILED: u8 = 16;

/// An entry of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LogEntry {
    Write { number: u64, write: LoggedWrite },
    Flush { number: u64 },
    FailedFlush,
    Completed { number: u64 },
    Mark { step: u64 },
}

/// A write with its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedWrite {
    /// First sector.
    pub sector: u64,
    /// Whether it was forced to the medium (FUA).
    forced: bool,
    /// Whether it failed and changed no byte.
    pub failed: bool,
    /// New bytes.
    pub new: Vec<u8>,
    /// The bytes that it replaced.
    pub old: Vec<u8>,
}

impl LoggedWrite {
    /// Returns each sector with its new bytes.
    pub fn pieces(&self) -> impl Iterator<Item = (u64, &[u8])> {
        (self.sector..).zip(self.new.chunks(SECTOR as usize))
    }
}

/// Error for a write log that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteLogError {
    /// Entries were dropped.
    #[error("the write log was full: the steps write more than it holds")]
    Full,
    /// Bytes other than an entry.
    #[error("the write log is damaged, or of another version of fsarena")]
    Corrupt,
}

/// A recording of a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteLog {
    disk: Durability,
    /// All writes, flushes, completions and marks, in order.
    entries: Vec<LogEntry>,
}

/// Writes in doubt that the disk keeps at a cut.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kept {
    /// None.
    None,
    /// All.
    All,
    /// All before the last, and of the last the given number of physical blocks.
    Torn(u32),
    /// A random choice.
    Some(u64),
    /// A random choice of all writes, because the disk ignored all flushes. At least one write is
    /// missing that should be durable.
    FlushesIgnored(u64),
}

/// A loss of power.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Number of entries before it.
    pub position: usize,
    /// Writes in doubt that the disk keeps.
    pub kept: Kept,
    /// Number of the last mark before it, if any.
    pub step: Option<u64>,
}

/// How a disk keeps writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Durability {
    /// Whether a completed write can be lost.
    pub volatile_cache: bool,
    /// Bytes that are written whole or not at all.
    pub block: usize,
}

impl WriteLog {
    /// Parses the driver's output.
    ///
    /// # Errors
    /// Returns an error if the log was full or contains no entries.
    pub fn parse(mut bytes: &[u8]) -> Result<Self, WriteLogError> {
        let mut entries = Vec::new();
        let mut disk = None;
        while !bytes.is_empty() {
            let (head, rest) = bytes.split_at_checked(ENTRY).ok_or(WriteLogError::Corrupt)?;
            bytes = rest;
            let (sector, number) = (crate::word(head, 0), crate::word(head, 8));
            let last = crate::word(head, 16);
            let (sectors, kind, flags) = (last as u32, (last >> 32) as u8, (last >> 40) as u8);
            let entry = match kind {
                STARTED if sectors > 0 && entries.is_empty() => {
                    let volatile_cache = flags != 0;
                    disk = Some(Durability { volatile_cache, block: sectors as usize });
                    continue;
                }
                WRITE => {
                    let size = (u64::from(sectors) * SECTOR) as usize;
                    let (new, rest) = bytes.split_at_checked(size).ok_or(WriteLogError::Corrupt)?;
                    let (old, rest) = rest.split_at_checked(size).ok_or(WriteLogError::Corrupt)?;
                    bytes = rest;
                    let (new, old) = (new.to_vec(), old.to_vec());
                    let (forced, failed) = (flags & FORCED != 0, flags & FAILED != 0);
                    let write = LoggedWrite { sector, forced, failed, new, old };
                    LogEntry::Write { number, write }
                }
                FLUSH if flags & FAILED != 0 => LogEntry::FailedFlush,
                FLUSH => LogEntry::Flush { number },
                COMPLETED => LogEntry::Completed { number },
                MARK => LogEntry::Mark { step: number },
                DROPPED => return Err(WriteLogError::Full),
                _ => return Err(WriteLogError::Corrupt),
            };
            entries.push(entry);
        }
        Ok(Self { disk: disk.ok_or(WriteLogError::Corrupt)?, entries })
    }

    /// Number of entries.
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if the log has no entries.
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns all writes, in order.
    pub fn writes(&self) -> impl Iterator<Item = &LoggedWrite> {
        self.entries.iter().filter_map(|entry| match entry {
            LogEntry::Write { write, .. } => Some(write),
            _ => None,
        })
    }

    /// Returns at most `limit` different cuts: at each position everything in doubt kept and
    /// nothing kept, the last write torn, and random choices. If there are more, a random sample.
    pub fn cuts(&self, limit: usize, seed: u64) -> Vec<Cut> {
        let mut rng = SeededRng::substream(seed, "power cuts");
        let mut seen = HashSet::new();
        let mut cuts = Vec::new();
        for position in 0..=self.entries.len() {
            let state = DiskState::at(&self.entries[..position], self.disk);
            let random = Kept::Some(rng.next_u64());
            for kept in [Kept::None, Kept::All, Kept::Torn(rng.next_u64() as u32), random] {
                let Some(writes) = state.kept(&self.entries, self.disk, &kept) else { continue };
                // Positions that differ only in completions leave the same disk.
                let mut digest = DefaultHasher::new();
                (writes, state.step).hash(&mut digest);
                if seen.insert(digest.finish()) {
                    cuts.push(Cut { position, kept, step: state.step });
                }
            }
        }
        sample(cuts, limit, &mut rng)
    }

    /// Returns at most `limit` different cuts of a disk that ignores flushes and forced writes. In
    /// each, at least one write is missing that another disk would have kept.
    pub fn cuts_without_flushes(&self, limit: usize, seed: u64) -> Vec<Cut> {
        if !self.disk.volatile_cache {
            return Vec::new();
        }
        let mut rng = SeededRng::substream(seed, "cuts without flushes");
        let mut seen = HashSet::new();
        let mut cuts = Vec::new();
        for position in 0..=self.entries.len() {
            let state = DiskState::at(&self.entries[..position], self.disk);
            let kept = Kept::FlushesIgnored(rng.next_u64());
            let Some(writes) = state.kept(&self.entries, self.disk, &kept) else { continue };
            let mut digest = DefaultHasher::new();
            (writes, state.step).hash(&mut digest);
            if seen.insert(digest.finish()) {
                cuts.push(Cut { position, kept, step: state.step });
            }
        }
        sample(cuts, limit, &mut rng)
    }

    /// Returns the sectors that differ from the disk before the recording, after a cut.
    pub fn state(&self, cut: &Cut) -> BTreeMap<u64, &[u8]> {
        let disk = DiskState::at(&self.entries[..cut.position], self.disk);
        let writes = disk.kept(&self.entries, self.disk, &cut.kept);
        let mut sectors = BTreeMap::new();
        for (index, length) in writes.into_iter().flatten() {
            if let LogEntry::Write { write, .. } = &self.entries[index] {
                let pieces = write.new[..length].chunks(SECTOR as usize);
                sectors.extend((write.sector..).zip(pieces));
            }
        }
        sectors
    }

    /// Returns all written sectors as they are at the end.
    pub fn image(&self) -> BTreeMap<u64, &[u8]> {
        self.image_without(&BTreeSet::new())
    }

    /// Returns all written sectors at the end, if the disk loses its cache when a flush fails:
    /// the writes that were complete and not yet durable. Returns `None` if no flush failed.
    pub fn image_after_failed_flush(&self) -> Option<BTreeMap<u64, &[u8]>> {
        let is_failed = |entry: &LogEntry| *entry == LogEntry::FailedFlush;
        let before = &self.entries[..self.entries.iter().position(is_failed)?];
        let completed: HashSet<u64> = before
            .iter()
            .filter_map(|entry| match entry {
                LogEntry::Completed { number } => Some(*number),
                _ => None,
            })
            .collect();
        let in_doubt = DiskState::at(before, self.disk).in_doubt.into_iter();
        let lost = in_doubt.filter(|at| match &self.entries[*at] {
            LogEntry::Write { number, .. } => completed.contains(number),
            _ => false,
        });
        Some(self.image_without(&lost.collect()))
    }

    fn image_without(&self, lost: &BTreeSet<usize>) -> BTreeMap<u64, &[u8]> {
        let mut sectors = BTreeMap::new();
        for (at, entry) in self.entries.iter().enumerate() {
            match entry {
                LogEntry::Write { write, .. } if !write.failed && !lost.contains(&at) => {
                    sectors.extend(write.pieces());
                }
                _ => {}
            }
        }
        sectors
    }

    /// Returns the number of flushes.
    pub fn flushes(&self) -> usize {
        flushes(&self.entries)
    }

    /// Returns the number of flushes before the last mark.
    pub fn flushes_of_steps(&self) -> usize {
        let is_mark = |entry: &LogEntry| matches!(entry, LogEntry::Mark { .. });
        let end = self.entries.iter().rposition(is_mark).unwrap_or(0);
        flushes(&self.entries[..end])
    }

    /// Returns the number of written bytes.
    pub fn written(&self) -> usize {
        self.writes().map(|write| write.new.len()).sum()
    }

    /// Returns the bytes that every written sector had before the first write to it.
    pub fn replaced(&self) -> BTreeMap<u64, &[u8]> {
        let mut sectors = BTreeMap::new();
        for write in self.writes() {
            for (sector, piece) in (write.sector..).zip(write.old.chunks(SECTOR as usize)) {
                sectors.entry(sector).or_insert(piece);
            }
        }
        sectors
    }
}

fn flushes(entries: &[LogEntry]) -> usize {
    entries.iter().filter(|entry| matches!(entry, LogEntry::Flush { .. })).count()
}

/// Returns a random sample of at most `limit` cuts, in the order of their positions.
fn sample(mut cuts: Vec<Cut>, limit: usize, rng: &mut SeededRng) -> Vec<Cut> {
    while cuts.len() > limit {
        cuts.swap_remove((rng.next_u64() % cuts.len() as u64) as usize);
    }
    cuts.sort_by_key(|cut| cut.position);
    cuts
}

/// Durable writes and writes in doubt at a position.
struct DiskState {
    durable: Vec<usize>,
    in_doubt: Vec<usize>,
    step: Option<u64>,
}

impl DiskState {
    fn at(entries: &[LogEntry], disk: Durability) -> Self {
        let mut completed = BTreeMap::new();
        for (at, entry) in entries.iter().enumerate() {
            if let LogEntry::Completed { number } = entry {
                completed.insert(*number, at);
            }
        }
        let mut flushed = entries.iter().enumerate().filter_map(|(at, entry)| match entry {
            LogEntry::Flush { number } if completed.contains_key(number) => Some(at),
            _ => None,
        });
        let last_flush = flushed.next_back().unwrap_or(0);
        let mut state = Self { durable: Vec::new(), in_doubt: Vec::new(), step: None };
        for (at, entry) in entries.iter().enumerate() {
            match entry {
                LogEntry::Write { number, write } => {
                    let end = completed.get(number).copied();
                    let is_durable = end.is_some_and(|end| {
                        !disk.volatile_cache || write.forced || end < last_flush
                    });
                    match is_durable {
                        true => state.durable.push(at),
                        false => state.in_doubt.push(at),
                    }
                }
                LogEntry::Mark { step } => state.step = Some(*step),
                LogEntry::Flush { .. } | LogEntry::FailedFlush | LogEntry::Completed { .. } => {}
            }
        }
        state
    }

    /// Returns the writes that are on the disk, in order. Returns `None` if there is no such
    /// choice.
    fn kept(
        &self,
        entries: &[LogEntry],
        disk: Durability,
        kept: &Kept,
    ) -> Option<Vec<(usize, usize)>> {
        let length = |at: usize| match &entries[at] {
            LogEntry::Write { write, .. } => write.new.len(),
            _ => 0,
        };
        let mut chosen: Vec<(usize, usize)> = match kept {
            Kept::None => Vec::new(),
            Kept::All => self.in_doubt.iter().map(|&at| (at, length(at))).collect(),
            Kept::Torn(blocks) => {
                let (&last, before) = self.in_doubt.split_last()?;
                let parts = length(last).div_ceil(disk.block);
                if parts < 2 {
                    return None;
                }
                let torn = disk.block * (1 + *blocks as usize % (parts - 1));
                before.iter().map(|&at| (at, length(at))).chain([(last, torn)]).collect()
            }
            Kept::Some(seed) => {
                if self.in_doubt.len() < 2 {
                    return None;
                }
                let mut rng = SeededRng::substream(*seed, "kept");
                let mut all = self.in_doubt.clone();
                all.retain(|_| rng.next_u64() & 1 == 1);
                all.into_iter().map(|at| (at, length(at))).collect()
            }
            Kept::FlushesIgnored(seed) => {
                let mut rng = SeededRng::substream(*seed, "flushes ignored");
                let last = self.durable.len().checked_sub(1)?;
                let missing = self.durable[rng.below(last as u64 + 1) as usize];
                let all = self.durable.iter().chain(&self.in_doubt).copied();
                let mut kept: Vec<usize> =
                    all.filter(|&at| rng.next_u64() & 1 == 1 && at != missing).collect();
                kept.sort_unstable();
                return Some(kept.into_iter().map(|at| (at, length(at))).collect());
            }
        };
        chosen.extend(self.durable.iter().map(|&at| (at, length(at))));
        chosen.sort_unstable();
        Some(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DISK: Durability = Durability { volatile_cache: true, block: 4096 };

    fn write(number: u64, sector: u64, sectors: usize, value: u8, forced: bool) -> LogEntry {
        let bytes = |value| vec![value; sectors * SECTOR as usize];
        let (new, old) = (bytes(value), bytes(0));
        let write = LoggedWrite { sector, forced, failed: false, new, old };
        LogEntry::Write { number, write }
    }

    const fn log(entries: Vec<LogEntry>) -> WriteLog {
        WriteLog { disk: DISK, entries }
    }

    /// Encodes entries as the driver does.
    fn encode(entries: &[LogEntry]) -> Vec<u8> {
        let mut bytes = vec![0; 16];
        bytes.extend((DISK.block as u32).to_le_bytes());
        bytes.extend([STARTED, 1, 0, 0]);
        for entry in entries {
            let (sector, number, sectors, kind, flags, data) = match entry {
                LogEntry::Write { number, write } => {
                    let sectors = write.new.len() as u64 / SECTOR;
                    let data = [&write.new[..], &write.old].concat();
                    (write.sector, *number, sectors, WRITE, u8::from(write.forced), data)
                }
                LogEntry::Flush { number } => (0, *number, 0, FLUSH, 0, Vec::new()),
                LogEntry::FailedFlush => (0, 0, 0, FLUSH, FAILED, Vec::new()),
                LogEntry::Completed { number } => (0, *number, 0, COMPLETED, 0, Vec::new()),
                LogEntry::Mark { step } => (0, *step, 0, MARK, 0, Vec::new()),
            };
            bytes.extend(sector.to_le_bytes());
            bytes.extend(number.to_le_bytes());
            bytes.extend((sectors as u32).to_le_bytes());
            bytes.extend([kind, flags, 0, 0]);
            bytes.extend(data);
        }
        bytes
    }

    #[test]
    fn a_flush_makes_durable_only_what_was_complete_before_it() {
        let log = log(vec![
            write(1, 0, 8, 1, false),
            LogEntry::Completed { number: 1 },
            write(2, 8, 8, 2, false),
            LogEntry::Flush { number: 3 },
            LogEntry::Completed { number: 2 },
            LogEntry::Completed { number: 3 },
            write(4, 16, 8, 4, true),
            LogEntry::Completed { number: 4 },
        ]);
        let at = |position: usize| {
            let state = DiskState::at(&log.entries[..position], DISK);
            (state.durable, state.in_doubt)
        };
        assert_eq!(at(2), (vec![], vec![0]), "completed, but in the cache");
        assert_eq!(at(5), (vec![], vec![0, 2]), "the flush is not complete");
        assert_eq!(at(6), (vec![0], vec![2]), "2 completed after the flush came");
        assert_eq!(at(8), (vec![0, 6], vec![2]), "a forced write is durable, alone");
        let protected = Durability { volatile_cache: false, ..DISK };
        assert_eq!(DiskState::at(&log.entries[..2], protected).durable, [0]);
    }

    #[test]
    fn a_failed_flush_loses_the_cache_and_a_failed_write_only_itself() {
        let mut entries = vec![
            write(1, 0, 8, 1, false),
            LogEntry::Completed { number: 1 },
            LogEntry::Flush { number: 2 },
            LogEntry::Completed { number: 2 },
            write(3, 0, 8, 3, false),
            LogEntry::Completed { number: 3 },
            write(4, 8, 8, 4, true),
            LogEntry::Completed { number: 4 },
            write(5, 16, 8, 5, false),
            LogEntry::FailedFlush,
            LogEntry::Completed { number: 5 },
            write(6, 24, 8, 6, false),
        ];
        if let Some(LogEntry::Write { write, .. }) = entries.last_mut() {
            write.failed = true;
        }
        let log = log(entries);
        let first = |sectors: BTreeMap<u64, &[u8]>| -> Vec<(u64, u8)> {
            let blocks = sectors.into_iter().filter(|(sector, _)| sector % 8 == 0);
            blocks.map(|(sector, bytes)| (sector, bytes[0])).collect()
        };
        assert_eq!(first(log.image()), [(0, 3), (8, 4), (16, 5)]);
        let after = "3 was in the cache; 1 was flushed, 4 was forced, 5 was not complete";
        let image = log.image_after_failed_flush().unwrap();
        assert_eq!(first(image), [(0, 1), (8, 4), (16, 5)], "{after}");
        assert_eq!(log.flushes(), 1);
    }

    #[test]
    fn a_full_or_damaged_log_is_refused() {
        let mut bytes = encode(&[LogEntry::Mark { step: 1 }]);
        bytes[44] = DROPPED;
        assert_eq!(WriteLog::parse(&bytes), Err(WriteLogError::Full));
        assert_eq!(WriteLog::parse(&bytes[..44]), Err(WriteLogError::Corrupt));
        let cut = &encode(&[write(1, 0, 8, 1, false)]);
        assert_eq!(WriteLog::parse(&cut[..cut.len() - 1]), Err(WriteLogError::Corrupt));
    }

    fn entries() -> impl Strategy<Value = Vec<LogEntry>> {
        let step = prop_oneof![
            4 => (0..40_u64, 1..24_usize, any::<bool>()).prop_map(|(sector, sectors, forced)| {
                write(0, sector, sectors, 0, forced)
            }),
            2 => Just(LogEntry::Flush { number: 0 }),
            3 => any::<u64>().prop_map(|number| LogEntry::Completed { number }),
            1 => (0..9_u64).prop_map(|step| LogEntry::Mark { step }),
        ];
        proptest::collection::vec(step, 0..40).prop_map(|mut entries| {
            // Numbers requests, and lets each complete once.
            let (mut next, mut open) = (0, Vec::new());
            entries.retain_mut(|entry| match entry {
                LogEntry::Write { number, write } => {
                    next += 1;
                    *number = next;
                    write.new.fill(next as u8);
                    open.push(next);
                    true
                }
                LogEntry::Flush { number } => {
                    next += 1;
                    *number = next;
                    open.push(next);
                    true
                }
                LogEntry::Completed { number } if !open.is_empty() => {
                    *number = open.remove(*number as usize % open.len());
                    true
                }
                LogEntry::Completed { .. } => false,
                LogEntry::FailedFlush | LogEntry::Mark { .. } => true,
            });
            entries
        })
    }

    proptest! {
        #[test]
        fn a_log_reads_back(entries in entries()) {
            prop_assert_eq!(WriteLog::parse(&encode(&entries)), Ok(log(entries)));
        }

        /// Each sector after a cut has the bytes of a write to it that came before the cut, and not
        /// those of one that a durable write to the same sector replaced.
        #[test]
        fn a_state_is_one_that_a_real_disk_could_leave(entries in entries(), seed: u64) {
            let log = log(entries);
            for cut in log.cuts(usize::MAX, seed) {
                let disk = DiskState::at(&log.entries[..cut.position], DISK);
                let state = log.state(&cut);
                let covers = |at: usize, sector: u64| match &log.entries[at] {
                    LogEntry::Write { write, .. } => {
                        let end = write.sector + write.new.len() as u64 / SECTOR;
                        (write.sector..end).contains(&sector)
                    }
                    _ => false,
                };
                for sector in 0..64 {
                    let last = disk.durable.iter().copied().filter(|at| covers(*at, sector)).max();
                    let may = disk.in_doubt.iter().copied().filter(|at| {
                        covers(*at, sector) && last.is_none_or(|last| *at > last)
                    });
                    let allowed: Vec<u8> = may.chain(last).map(|at| match &log.entries[at] {
                        LogEntry::Write { write, .. } => write.new[0],
                        _ => 0,
                    }).collect();
                    match state.get(&sector) {
                        Some(bytes) => prop_assert!(allowed.contains(&bytes[0])),
                        None => prop_assert!(last.is_none(), "a durable write is missing"),
                    }
                }
            }
        }

        #[test]
        fn all_writes_kept_at_the_end_are_the_image(entries in entries()) {
            let log = log(entries);
            let cut = Cut { position: log.len(), kept: Kept::All, step: None };
            prop_assert_eq!(log.state(&cut), log.image());
        }
    }

    proptest! {
        /// A disk that ignores flushes keeps any of its writes, and the cut misses at least one
        /// write that another disk would have kept. The cuts of other disks stay the same.
        #[test]
        fn a_disk_that_ignores_flushes_loses_a_durable_write(entries in entries(), seed: u64) {
            let log = log(entries);
            let others = log.cuts(usize::MAX, seed);
            let cuts = log.cuts_without_flushes(usize::MAX, seed);
            let is_durable = |position: usize| {
                !DiskState::at(&log.entries[..position], DISK).durable.is_empty()
            };
            prop_assert_eq!(cuts.is_empty(), !(0..=log.len()).any(is_durable));
            for cut in &cuts {
                let disk = DiskState::at(&log.entries[..cut.position], DISK);
                let kept = disk.kept(&log.entries, DISK, &cut.kept).unwrap();
                let keeps = |at: &usize| kept.iter().any(|(one, _)| one == at);
                prop_assert!(!disk.durable.iter().all(keeps), "each durable write was kept");
                prop_assert!(kept.is_sorted());
                for (at, length) in kept {
                    prop_assert!(disk.durable.contains(&at) || disk.in_doubt.contains(&at));
                    let whole = match &log.entries[at] {
                        LogEntry::Write { write, .. } => write.new.len(),
                        _ => 0,
                    };
                    prop_assert_eq!(length, whole);
                }
            }
            prop_assert_eq!(log.cuts_without_flushes(3, seed).len(), cuts.len().min(3));
            prop_assert_eq!(log.cuts(usize::MAX, seed), others);
            let disk = Durability { volatile_cache: false, ..DISK };
            let protected = WriteLog { disk, ..log };
            prop_assert!(protected.cuts_without_flushes(9, seed).is_empty());
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_cuts_and_a_limit_is_kept() {
        let log = log((1..60).map(|n| write(n, n * 8, 8, n as u8, false)).collect());
        let cuts = log.cuts(50, 7);
        assert_eq!(cuts.len(), 50);
        assert_eq!(cuts, log.cuts(50, 7));
        assert_ne!(cuts, log.cuts(50, 8));
    }
}
