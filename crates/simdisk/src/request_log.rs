//! The request log of a simulated disk: every request with its completion time and time components.
//! Contains the driver's record format and the packed storage format.

use std::io::Read;

use model::{Nanos, SimulatedDiskStats};

use crate::{CompletedRequest, DiskRequest, RequestKind, SECTOR, TimeComponent, word};

/// Bytes of a record of the driver (`struct record` of `driver/driver.c`).
const RECORD: usize = 40 + 8 * TimeComponent::ALL.len();
/// First byte of the packed format: its version.
const VERSION: u8 = 1;
const LEVEL: i32 = 6;
/// Maximum number of requests to unpack. The driver keeps fewer requests between two reads of its
/// log.
const MAX_JOURNAL_SIZE: u64 = 8 << 20;
/// Maximum size of an unpacked log, in bytes: some tens of bytes for each request.
const MAX_UNPACKED_SIZE: u64 = 256 << 20;

const FORCED: u8 = 1;
const METADATA: u8 = 2;
/// Flag set by [`mark_journal`], in addition to the driver's flags (`enum flags` of `driver/driver.c`).
const JOURNAL: u8 = 16;

/// Kind of the bytes that a read or a write transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestClass {
    /// File contents, and all other bytes that the filesystem does not flag.
    Data,
    /// Metadata according to the filesystem (`REQ_META`), outside its journal.
    Metadata,
    /// The filesystem's journal, if its location is known.
    Journal,
}

/// A request as logged by the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedRequest {
    /// The request, its completion time and its time components.
    pub served: CompletedRequest,
    /// Requests in the disk when this request arrived, including this one.
    pub depth: u16,
    /// Flags from the kernel: forced, metadata, synchronous, read-ahead.
    pub flags: u8,
    /// Index of the disk, from 0.
    pub disk: u32,
}

impl LoggedRequest {
    /// Returns the flags of a request.
    pub const fn flags(forced: bool, metadata: bool, journal: bool) -> u8 {
        let forced = if forced { FORCED } else { 0 };
        let metadata = if metadata { METADATA } else { 0 };
        forced | metadata | if journal { JOURNAL } else { 0 }
    }

    /// Returns true if the filesystem marked the request as metadata, which includes its journal.
    pub const fn is_metadata(&self) -> bool {
        self.flags & METADATA != 0
    }

    /// Returns true if the request starts in the filesystem's journal.
    pub const fn is_journal(&self) -> bool {
        self.flags & JOURNAL != 0
    }

    /// Returns the kind of the transferred bytes.
    pub const fn content(&self) -> RequestClass {
        match (self.is_journal(), self.is_metadata()) {
            (true, _) => RequestClass::Journal,
            (false, true) => RequestClass::Metadata,
            (false, false) => RequestClass::Data,
        }
    }
}

/// Marks reads and writes that start in the filesystem's journal. Each piece is the range from its
/// first sector up to, but not including, its end sector.
pub fn mark_journal(entries: &mut [LoggedRequest], pieces: &[(u64, u64)]) {
    for entry in entries {
        let DiskRequest { operation, sector, .. } = entry.served.request;
        let is_inside = |(first, end): &(u64, u64)| (*first..*end).contains(&sector);
        if operation <= RequestKind::Write && pieces.iter().any(is_inside) {
            entry.flags |= JOURNAL;
        }
    }
}

/// Error for a request log that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the journal of the disk is damaged, or of another version of fsarena")]
pub struct CorruptLog;

/// Parses the driver's output, which consists of whole records.
pub fn from_driver(bytes: &[u8]) -> Vec<LoggedRequest> {
    let read = |record: &[u8]| {
        let (numbers, disks) = (word(record, 24), word(record, 32));
        let flags = (numbers >> 56) as u8;
        let operation = (numbers >> 48) as u8;
        let mut parts = [Nanos(0); TimeComponent::ALL.len()];
        for (number, part) in parts.iter_mut().enumerate() {
            *part = Nanos(word(record, 40 + number * 8));
        }
        LoggedRequest {
            served: CompletedRequest {
                request: DiskRequest {
                    arrived: Nanos(word(record, 0)),
                    operation: RequestKind::ALL[usize::from(operation) % RequestKind::ALL.len()],
                    sector: word(record, 16),
                    sectors: numbers as u32,
                    forced: flags & FORCED != 0,
                    tag: 0,
                },
                completed: Nanos(word(record, 8)),
                parts,
            },
            depth: (numbers >> 32) as u16,
            flags,
            disk: disks as u32,
        }
    };
    bytes.chunks_exact(RECORD).map(read).collect()
}

/// Packs entries column by column, because consecutive values of a column are similar.
pub fn pack(entries: &[LoggedRequest]) -> Vec<u8> {
    let mut columns = Vec::new();
    let mut put = |values: &mut dyn Iterator<Item = u64>| {
        for value in values {
            leb128(&mut columns, value);
        }
    };
    put(&mut std::iter::once(entries.len() as u64));
    let mut last = 0;
    put(&mut entries.iter().map(|e| difference(&mut last, e.served.request.arrived.0)));
    put(&mut entries.iter().map(|e| e.served.time().0));
    let mut end = 0;
    put(&mut entries.iter().map(|e| {
        let request = &e.served.request;
        let moved = difference(&mut end, request.sector);
        end = request.sector + u64::from(request.sectors);
        moved
    }));
    put(&mut entries.iter().map(|e| u64::from(e.served.request.sectors)));
    put(&mut entries.iter().map(|e| e.served.request.operation as u64 | u64::from(e.flags) << 2));
    put(&mut entries.iter().map(|e| u64::from(e.depth)));
    put(&mut entries.iter().map(|e| u64::from(e.disk)));
    for part in TimeComponent::ALL.into_iter().filter(|part| *part != TimeComponent::Waiting) {
        put(&mut entries.iter().map(|e| e.served.part(part).0));
    }
    let mut packed = vec![VERSION];
    packed.extend(zstd::bulk::compress(&columns, LEVEL).unwrap_or_default());
    packed
}

/// Unpacks entries.
///
/// # Errors
/// Returns an error if the bytes were not created by [`pack`].
pub fn unpack(packed: &[u8]) -> Result<Vec<LoggedRequest>, CorruptLog> {
    let (version, packed) = packed.split_first().ok_or(CorruptLog)?;
    if *version != VERSION {
        return Err(CorruptLog);
    }
    let mut columns = Vec::new();
    let unpacked = zstd::stream::Decoder::new(packed).map_err(|_| CorruptLog)?;
    // A small hostile log would else unpack to more than the memory.
    unpacked.take(MAX_UNPACKED_SIZE + 1).read_to_end(&mut columns).map_err(|_| CorruptLog)?;
    if columns.len() as u64 > MAX_UNPACKED_SIZE {
        return Err(CorruptLog);
    }
    let mut rest = &columns[..];
    let count = take(&mut rest)?;
    if count > MAX_JOURNAL_SIZE || count as usize > columns.len() {
        return Err(CorruptLog);
    }
    let mut column =
        || (0..count).map(|_| take(&mut rest)).collect::<Result<Vec<u64>, CorruptLog>>();
    let [arrived, time, place, sectors, kind, depth, disk] =
        [column()?, column()?, column()?, column()?, column()?, column()?, column()?];
    let others = TimeComponent::ALL.len() - 1;
    let parts = (0..others).map(|_| column()).collect::<Result<Vec<_>, _>>()?;
    let (mut now, mut end) = (0_u64, 0_u64);
    let mut entries = Vec::with_capacity(count as usize);
    for i in 0..count as usize {
        now = now.wrapping_add(undo(arrived[i]));
        let sector = end.wrapping_add(undo(place[i]));
        end = sector.checked_add(sectors[i]).ok_or(CorruptLog)?;
        let mut told = 0_u64;
        let mut own = [Nanos(0); TimeComponent::ALL.len()];
        let others = TimeComponent::ALL.into_iter().filter(|part| *part != TimeComponent::Waiting);
        for (part, column) in others.zip(&parts) {
            own[part as usize] = Nanos(column[i]);
            told = told.saturating_add(column[i]);
        }
        own[TimeComponent::Waiting as usize] = Nanos(time[i].checked_sub(told).ok_or(CorruptLog)?);
        let flags = (kind[i] >> 2) as u8;
        entries.push(LoggedRequest {
            served: CompletedRequest {
                request: DiskRequest {
                    arrived: Nanos(now),
                    operation: RequestKind::ALL[(kind[i] & 3) as usize],
                    sector,
                    sectors: u32::try_from(sectors[i]).map_err(|_| CorruptLog)?,
                    forced: flags & FORCED != 0,
                    tag: 0,
                },
                completed: Nanos(now.checked_add(time[i]).ok_or(CorruptLog)?),
                parts: own,
            },
            depth: depth[i] as u16,
            flags,
            disk: disk[i] as u32,
        });
    }
    Ok(entries)
}

fn leb128(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

fn take(from: &mut &[u8]) -> Result<u64, CorruptLog> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = from.split_first().ok_or(CorruptLog)?;
        *from = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(CorruptLog)
}

/// Returns the zigzag-encoded difference to the previous value. Small differences of either sign
/// give small numbers.
fn difference(last: &mut u64, value: u64) -> u64 {
    let difference = value.wrapping_sub(*last) as i64;
    *last = value;
    ((difference << 1) ^ (difference >> 63)) as u64
}

fn undo(value: u64) -> u64 {
    (value >> 1) ^ 0_u64.wrapping_sub(value & 1)
}

/// Sums up the work of the disks within some time spans. The entries may be in any order.
pub fn stats_within(entries: &[LoggedRequest], spans: &[(Nanos, Nanos)]) -> SimulatedDiskStats {
    let flagged = entries.iter().filter(|entry| entry.is_metadata()).count();
    let mut work =
        SimulatedDiskStats { flagged: Some(flagged as u64), ..SimulatedDiskStats::default() };
    attribute_time(entries, spans, &mut |entry, from, to| match entry {
        Some(entry) => attribute(&mut work, &entry.served, from, to),
        None => work.outside.0 += to.0 - from.0,
    });
    let counted = entries.iter().filter(|entry| completes_within(entry, spans));
    counted.for_each(|entry| count(&mut work, entry));
    work
}

/// Returns true if a request completed in one of the spans.
pub fn completes_within(entry: &LoggedRequest, spans: &[(Nanos, Nanos)]) -> bool {
    let done = entry.served.completed;
    spans.iter().any(|(begin, end)| done > *begin && done <= *end)
}

/// Receives time spans, each with the request that accounts for it, or `None` for idle time.
pub(crate) type TimeSink<'a, 'e> = &'a mut dyn FnMut(Option<&'e LoggedRequest>, Nanos, Nanos);

/// Attributes each moment of the spans to the request in the disk that completes next.
pub(crate) fn attribute_time<'e>(
    entries: &'e [LoggedRequest],
    spans: &[(Nanos, Nanos)],
    give: TimeSink<'_, 'e>,
) {
    let mut by_end: Vec<&LoggedRequest> = entries.iter().collect();
    by_end.sort_by_key(|entry| entry.served.completed);
    for (begin, end) in spans {
        let mut until = *begin;
        let mut next = by_end.partition_point(|entry| entry.served.completed <= *begin);
        while let Some(entry) = by_end.get(next).filter(|e| e.served.completed <= *end) {
            fill(give, &by_end[next..], until, entry.served.completed);
            until = entry.served.completed;
            next += 1;
        }
        fill(give, &by_end[next..], until, *end);
    }
}

/// Assigns a span without completions to the request that has already arrived and completes next,
/// or to `None` while no request has arrived.
fn fill<'e>(give: TimeSink<'_, 'e>, following: &[&'e LoggedRequest], from: Nanos, to: Nanos) {
    /// Maximum number of requests in a disk.
    const HELD: usize = crate::SimulatedDisk::REQUESTS * 2;
    if from >= to {
        return;
    }
    let mut candidates = following.iter().take(HELD);
    let Some(place) = candidates.position(|entry| entry.served.request.arrived < to) else {
        return give(None, from, to);
    };
    let entry = following[place];
    let begin = from.max(entry.served.request.arrived);
    give(Some(entry), begin, to);
    fill(give, &following[place + 1..], from, begin);
}

fn count(work: &mut SimulatedDiskStats, entry: &LoggedRequest) {
    let request = &entry.served.request;
    work.requests += 1;
    work.seeks += u64::from(entry.served.part(TimeComponent::Seek).0 > 0);
    work.depths += u64::from(entry.depth);
    if request.operation <= RequestKind::Write {
        let bytes = u64::from(request.sectors) * SECTOR;
        work.bytes.0 += bytes;
        match entry.content() {
            RequestClass::Data => {}
            RequestClass::Metadata => work.metadata.0 += bytes,
            RequestClass::Journal => work.journal.get_or_insert_default().0 += bytes,
        }
    }
}

/// Splits a time span among the time components of a request. The components occur in this order
/// and end when the request completes.
fn attribute(work: &mut SimulatedDiskStats, served: &CompletedRequest, from: Nanos, to: Nanos) {
    let order = [
        TimeComponent::CacheDestage,
        TimeComponent::Transfer,
        TimeComponent::FlashProgram,
        TimeComponent::Rotation,
        TimeComponent::Seek,
        TimeComponent::Command,
        TimeComponent::GarbageCollection,
        TimeComponent::Waiting,
    ];
    let mut end = served.completed.0;
    for part in order {
        let begin = end.saturating_sub(served.part(part).0);
        let inside = end.min(to.0).saturating_sub(begin.max(from.0));
        let sum = match part {
            TimeComponent::Waiting => &mut work.waiting,
            TimeComponent::Command => &mut work.command,
            TimeComponent::Seek => &mut work.seek,
            TimeComponent::Rotation => &mut work.rotation,
            TimeComponent::Transfer => &mut work.transfer,
            TimeComponent::FlashProgram => &mut work.flash,
            TimeComponent::GarbageCollection => &mut work.collection,
            TimeComponent::CacheDestage => &mut work.flush,
        };
        sum.0 += inside;
        end = begin;
    }
}

#[cfg(test)]
mod tests {
    use model::Bytes;
    use proptest::prelude::*;

    use super::*;

    fn entry(arrived: u64, parts: [u64; 8], sector: u64, flags: u8) -> LoggedRequest {
        let time: u64 = parts.iter().sum();
        LoggedRequest {
            served: CompletedRequest {
                request: DiskRequest {
                    arrived: Nanos(arrived),
                    operation: RequestKind::Write,
                    sector,
                    sectors: 8,
                    forced: flags & FORCED != 0,
                    tag: 0,
                },
                completed: Nanos(arrived + time),
                parts: parts.map(Nanos),
            },
            depth: 1,
            flags,
            disk: 0,
        }
    }

    #[test]
    fn time_belongs_to_the_request_that_is_done_next() {
        // Waiting, command, seek, rotation, transfer, and no others.
        let first = entry(1000, [0, 10, 20, 30, 40, 0, 0, 0], 0, METADATA);
        let second = entry(1010, [90, 10, 5, 5, 10, 0, 0, 0], 8, 0);
        let work = stats_within(&[first, second], &[(Nanos(900), Nanos(2000))]);
        assert_eq!((work.requests, work.seeks), (2, 2));
        assert_eq!((work.bytes, work.metadata), (Bytes(8192), Bytes(4096)));
        assert_eq!(work.outside, Nanos(100 + 2000 - 1130));
        assert_eq!((work.seek, work.rotation, work.transfer), (Nanos(25), Nanos(35), Nanos(50)));
        assert_eq!((work.command, work.waiting), (Nanos(20), Nanos(0)));
        let all: u64 = work.times().iter().map(|(_, time)| time.0).sum();
        assert_eq!(all, 1100);
    }

    #[test]
    fn requests_in_the_journal_count_as_journal_and_not_as_metadata() {
        let mut entries = [
            entry(0, [0, 1, 0, 0, 0, 0, 0, 0], 96, METADATA),
            entry(10, [0, 1, 0, 0, 0, 0, 0, 0], 100, METADATA),
            entry(20, [0, 1, 0, 0, 0, 0, 0, 0], 107, 0),
            entry(30, [0, 1, 0, 0, 0, 0, 0, 0], 108, 0),
        ];
        let spans = [(Nanos(0), Nanos(100))];
        assert_eq!(stats_within(&entries, &spans).journal, None);
        mark_journal(&mut entries, &[(100, 108)]);
        let contents = entries.map(|entry| entry.content());
        let [metadata, data] = [RequestClass::Metadata, RequestClass::Data];
        assert_eq!(contents, [metadata, RequestClass::Journal, RequestClass::Journal, data]);
        let work = stats_within(&entries, &spans);
        assert_eq!(work.metadata, Bytes(4096));
        assert_eq!(work.journal, Some(Bytes(8192)));
    }

    #[test]
    fn a_small_log_does_not_fill_the_memory() {
        let zeros = vec![0; MAX_UNPACKED_SIZE as usize + 1];
        let mut packed = vec![VERSION];
        packed.extend(zstd::bulk::compress(&zeros, LEVEL).unwrap());
        assert!(packed.len() < 1 << 20, "{} bytes", packed.len());
        assert!(unpack(&packed).is_err());
    }

    #[test]
    fn a_record_of_the_driver_is_read() {
        let mut record = Vec::new();
        for word in [7_u64, 107, 4096] {
            record.extend(word.to_le_bytes());
        }
        record.extend(8_u32.to_le_bytes());
        record.extend(3_u16.to_le_bytes());
        record.extend([1, FORCED | METADATA]);
        record.extend(2_u32.to_le_bytes());
        record.extend(0_u32.to_le_bytes());
        for part in 0..8_u64 {
            record.extend((part * 10).to_le_bytes());
        }
        let entry = from_driver(&record)[0];
        assert_eq!(entry.served.request.operation, RequestKind::Write);
        assert_eq!((entry.served.request.sector, entry.served.request.sectors), (4096, 8));
        assert_eq!((entry.depth, entry.disk), (3, 2));
        assert!(entry.is_metadata() && entry.served.request.forced);
        assert_eq!(entry.served.part(TimeComponent::CacheDestage), Nanos(70));
        assert_eq!(entry.served.time(), Nanos(100));
    }

    proptest! {
        #[test]
        fn packing_and_unpacking_restores_the_entries(
            numbers in proptest::collection::vec((any::<u32>(), any::<[u16; 8]>(), any::<u32>(), 0_u8..32), 0..50),
            spoilt in any::<Vec<u8>>(),
        ) {
            let entries: Vec<LoggedRequest> = numbers
                .into_iter()
                .map(|(at, parts, sector, flags)| entry(at.into(), parts.map(u64::from), sector.into(), flags))
                .collect();
            prop_assert_eq!(unpack(&pack(&entries)).unwrap(), entries);
            let _ = unpack(&spoilt);
        }
    }
}
