//! Aggregates a request log by location: a disk split into equal regions, and a map of location
//! over time that is small enough for a web page.

use model::{Bytes, Nanos};
use serde::Serialize;

use crate::request_log::{LoggedRequest, RequestClass, attribute_time, completes_within};
use crate::{RequestKind, SECTOR};

/// Number of regions into which a disk is divided.
pub const REGIONS: usize = 16;
/// Number of bins along the time axis of a map.
pub const COLUMNS: usize = 96;
/// Number of bins along the disk axis of a map.
pub const ROWS: usize = 48;

/// Work on one region of a disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Region {
    /// Bytes read, of all kinds.
    pub read: Bytes,
    /// Bytes written, of all kinds.
    pub written: Bytes,
    /// Bytes read and written that are metadata of the filesystem, without its journal.
    pub metadata: Bytes,
    /// Bytes read and written that belong to the filesystem's journal.
    pub journal: Bytes,
    /// Bytes discarded.
    pub discarded: Bytes,
    /// Time during which the next request to complete was in this region. Flushes belong to no
    /// region.
    #[serde(rename = "time_ns")]
    pub time: Nanos,
}

/// Sums up the work within some time spans for each of [`REGIONS`] equal regions of a disk of
/// `sectors` sectors. A request belongs to the region of its first sector.
pub fn regions(
    entries: &[LoggedRequest],
    spans: &[(Nanos, Nanos)],
    sectors: u64,
) -> [Region; REGIONS] {
    let mut regions = [Region::default(); REGIONS];
    let place = |entry: &LoggedRequest| bin(entry.served.request.sector, sectors, REGIONS);
    for entry in entries.iter().filter(|entry| completes_within(entry, spans)) {
        let region = &mut regions[place(entry)];
        let bytes = u64::from(entry.served.request.sectors) * SECTOR;
        match entry.served.request.operation {
            RequestKind::Read => region.read.0 += bytes,
            RequestKind::Write => region.written.0 += bytes,
            RequestKind::Discard => region.discarded.0 += bytes,
            RequestKind::Flush => {}
        }
        match (entry.served.request.operation, entry.content()) {
            (RequestKind::Read | RequestKind::Write, RequestClass::Metadata) => {
                region.metadata.0 += bytes
            }
            (RequestKind::Read | RequestKind::Write, RequestClass::Journal) => {
                region.journal.0 += bytes
            }
            _ => {}
        }
    }
    attribute_time(entries, spans, &mut |entry, from, to| {
        let placed = entry.filter(|e| e.served.request.operation != RequestKind::Flush);
        if let Some(entry) = placed {
            regions[place(entry)].time.0 += to.0 - from.0;
        }
    });
    regions
}

/// Returns the index of the bin that contains a value. Values beyond the end belong to the last
/// bin.
fn bin(value: u64, whole: u64, bins: usize) -> usize {
    let bin = u128::from(value) * bins as u128 / u128::from(whole.max(1));
    (bin as usize).min(bins - 1)
}

/// A map of accesses by location and time, with [`ROWS`] by [`COLUMNS`] bins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DensityMap {
    /// The bins, row by row from the first sector, each row in order of time. An empty bin is 0.
    /// Other bins show the kind of most of their bytes: read (1), written data (4), written
    /// metadata (7), the filesystem's journal (10, hexadecimal), discarded (13). Add 1 for at least
    /// an eighth of the bytes of the fullest bin, or 2 for at least half. Packed by
    /// [`run_lengths`].
    pub bins: String,
    /// Flushes in each column: 0, or the number of binary digits of their count, at most 15. Packed
    /// by [`run_lengths`].
    pub flushes: String,
}

/// Number of kinds of bytes in a map.
const KINDS: usize = 5;

impl DensityMap {
    /// Creates a map of the requests that completed between two moments, on a disk of `sectors`
    /// sectors.
    pub fn from_requests(
        entries: &[LoggedRequest],
        begin: Nanos,
        end: Nanos,
        sectors: u64,
    ) -> Self {
        let mut bytes = vec![[0_u64; KINDS]; ROWS * COLUMNS];
        let mut flushes = [0_u64; COLUMNS];
        let time = end.0.saturating_sub(begin.0);
        for entry in entries.iter().filter(|e| completes_within(e, &[(begin, end)])) {
            let column = bin(entry.served.completed.0 - begin.0, time, COLUMNS);
            let Some(kind) = kind(entry) else {
                flushes[column] += 1;
                continue;
            };
            let request = &entry.served.request;
            let behind = request.sector + u64::from(request.sectors);
            let last = bin(behind.saturating_sub(1), sectors, ROWS);
            let rows = bin(request.sector, sectors, ROWS)..=last;
            let each = u64::from(request.sectors) * SECTOR / rows.clone().count() as u64;
            for row in rows {
                bytes[row * COLUMNS + column][kind] += each.max(1);
            }
        }
        let fullest = bytes.iter().map(|kinds| kinds.iter().sum::<u64>()).max();
        let levels = bytes.iter().map(|kinds| level(kinds, fullest.unwrap_or(0)));
        let digits = flushes.map(|count| (u64::BITS - count.leading_zeros()).min(15) as u8);
        Self { bins: run_lengths(levels), flushes: run_lengths(digits) }
    }
}

/// Returns the kind of a request in a map. Returns `None` for a flush, which has no location.
fn kind(entry: &LoggedRequest) -> Option<usize> {
    match (entry.served.request.operation, entry.content()) {
        (RequestKind::Flush, _) => None,
        (RequestKind::Discard, _) => Some(4),
        (_, RequestClass::Journal) => Some(3),
        (RequestKind::Read, _) => Some(0),
        (RequestKind::Write, RequestClass::Metadata) => Some(2),
        (RequestKind::Write, RequestClass::Data) => Some(1),
    }
}

fn level(kinds: &[u64; KINDS], fullest: u64) -> u8 {
    let all: u64 = kinds.iter().sum();
    // The first of several kinds with equally many bytes.
    let most = (0..KINDS).rev().max_by_key(|kind| kinds[*kind]);
    let density = u8::from(all >= fullest / 8) + u8::from(all >= fullest / 2);
    match all {
        0 => 0,
        _ => 1 + 3 * most.unwrap_or(0) as u8 + density,
    }
}

/// Encodes numbers below 16 as text: a hexadecimal digit, then the number of further repetitions,
/// if any, in base 26 with digits from `A` (0) to `Z` (25).
fn run_lengths(numbers: impl IntoIterator<Item = u8>) -> String {
    let mut text = String::new();
    let mut numbers = numbers.into_iter().peekable();
    while let Some(number) = numbers.next() {
        let mut more = 0_usize;
        while numbers.next_if_eq(&number).is_some() {
            more += 1;
        }
        text.push(char::from_digit(number.into(), 16).unwrap_or('0'));
        let mut digits = Vec::new();
        while more > 0 {
            digits.push(char::from(b'A' + (more % 26) as u8));
            more /= 26;
        }
        text.extend(digits.into_iter().rev());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request_log::mark_journal;
    use crate::{CompletedRequest, DiskRequest, TimeComponent};

    fn entry(arrived: u64, operation: RequestKind, sector: u64, sectors: u32) -> LoggedRequest {
        let mut parts = [Nanos(0); TimeComponent::ALL.len()];
        parts[TimeComponent::Transfer as usize] = Nanos(100);
        LoggedRequest {
            served: CompletedRequest {
                request: DiskRequest {
                    arrived: Nanos(arrived),
                    operation,
                    sector,
                    sectors,
                    forced: false,
                    tag: 0,
                },
                completed: Nanos(arrived + 100),
                parts,
            },
            depth: 1,
            flags: LoggedRequest::flags(false, sector == 0, false),
            disk: 0,
        }
    }

    fn entries() -> Vec<LoggedRequest> {
        let mut entries = vec![
            entry(0, RequestKind::Write, 0, 8),
            entry(100, RequestKind::Write, 100, 8),
            entry(200, RequestKind::Read, 900, 16),
            entry(300, RequestKind::Flush, 0, 0),
            entry(400, RequestKind::Discard, 1599, 8),
        ];
        mark_journal(&mut entries, &[(100, 108)]);
        entries
    }

    #[test]
    fn sums_of_regions_equal_the_work_of_the_disk() {
        let spans = [(Nanos(0), Nanos(1000))];
        let regions = regions(&entries(), &spans, 1600);
        assert_eq!(regions[0].metadata, Bytes(4096));
        assert_eq!(regions[1].journal, Bytes(4096));
        assert_eq!(regions[1].written, Bytes(4096));
        assert_eq!((regions[9].read, regions[9].time), (Bytes(8192), Nanos(100)));
        assert_eq!(regions[15].discarded, Bytes(4096));
        let time: u64 = regions.iter().map(|region| region.time.0).sum();
        assert_eq!(time, 400, "the flush has no place");
    }

    /// Decodes the output of [`run_lengths`], like the script of the web page.
    fn unpacked(text: &str) -> Vec<u8> {
        let mut numbers = Vec::new();
        let mut rest = text.chars().peekable();
        while let Some(digit) = rest.next() {
            let mut more = 0;
            while let Some(letter) = rest.next_if(char::is_ascii_uppercase) {
                more = more * 26 + (letter as usize - 'A' as usize);
            }
            numbers.extend(vec![digit.to_digit(16).unwrap() as u8; more + 1]);
        }
        numbers
    }

    #[test]
    fn a_map_has_a_bin_for_each_request_and_unpacks() {
        let map = DensityMap::from_requests(&entries(), Nanos(0), Nanos(960), 1600);
        let bins = unpacked(&map.bins);
        assert_eq!(bins.len(), ROWS * COLUMNS);
        let at = |row: usize, column: usize| bins[row * COLUMNS + column];
        assert_eq!(at(0, 10), 1 + 6 + 2, "metadata, as much as half of the most");
        assert_eq!(at(3, 20), 1 + 9 + 2, "journal");
        assert_eq!(at(27, 30), 1 + 2, "read");
        assert_eq!(at(47, 50), 1 + 12 + 2, "discarded");
        assert_eq!(bins.iter().filter(|bin| **bin > 0).count(), 4);
        let flushes = unpacked(&map.flushes);
        assert_eq!((flushes.len(), flushes[40]), (COLUMNS, 1));
        assert!(map.bins.len() < 40, "{}", map.bins);
        let runs = [0, 1, 1, 2, 3, 3, 3].map(|number| vec![number; 1 + 30 * usize::from(number)]);
        assert_eq!(unpacked(&run_lengths(runs.concat())), runs.concat());
    }
}
