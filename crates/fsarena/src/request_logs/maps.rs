//! Maps of disk position over time for the page of a report, drawn from stored journals.

use campaign::store::Store;
use model::{Bytes, CampaignResults, CellId, CellRecord, Nanos};
use report::{DiskMaps, PhaseMap};
use simdisk::access_map::{COLUMNS, DensityMap, REGIONS, ROWS, Region, regions};
use simdisk::{SECTOR, request_log::LoggedRequest};

use super::{Journal, load_cell};

/// Returns the maps of a campaign that fit on a page. Reads no journal if the campaign has no
/// simulated disks.
pub fn of_campaign(store: &Store, results: &CampaignResults) -> DiskMaps {
    let mut maps = DiskMaps::default();
    let mut cells = report::mapped_cells(results);
    cells.sort_by_key(|stored| place_of(results, stored));
    let same = |a: &&CellRecord, b: &&CellRecord| {
        (&a.cell.suite, &a.cell.test) == (&b.cell.suite, &b.cell.test)
    };
    for of_test in cells.chunk_by(same) {
        if maps.is_full() {
            break;
        }
        add(store, results, of_test, &mut maps);
    }
    maps
}

/// Returns the position of a cell's test in the campaign.
fn place_of(results: &CampaignResults, stored: &CellRecord) -> Option<usize> {
    let tests = results.campaign.suites.iter().flat_map(|suite| &suite.tests);
    let cell = &stored.cell;
    { tests }.position(|test| (&test.suite, &test.name) == (&cell.suite, &cell.test))
}

/// Adds the maps of one test, one per phase. An unreadable journal is omitted; the report names the
/// command that shows the reason.
fn add(store: &Store, results: &CampaignResults, cells: &[&CellRecord], maps: &mut DiskMaps) {
    let read = |stored: &&CellRecord| {
        let journal = load_cell(store, results, stored).ok()?;
        Some((stored.cell.id, journal))
    };
    let journals: Vec<(CellId, Journal)> = cells.iter().filter_map(read).collect();
    let Some(result) = cells.first().and_then(|stored| stored.result.as_ref()) else {
        return;
    };
    for phase in &result.phases {
        let drawn = journals.iter().filter_map(|(cell, journal)| {
            let map = map_of(journal, &phase.phase)?;
            Some((*cell, map))
        });
        maps.add(&phase.phase, drawn.collect());
    }
}

fn map_of(journal: &Journal, phase: &str) -> Option<PhaseMap> {
    let spans = journal.timed.get(phase)?;
    let (begin, end) = (spans.first()?.0, spans.last()?.1);
    let of_phase = journal.entries.iter().filter(|(of, _)| of.as_deref() == Some(phase));
    let entries: Vec<LoggedRequest> = of_phase.map(|(_, entry)| *entry).collect();
    let sectors = journal.sectors();
    let map = DensityMap::from_requests(&entries, begin, end, sectors);
    Some(PhaseMap {
        elapsed: Nanos(end.0 - begin.0),
        size: Bytes(sectors * SECTOR),
        bins: [COLUMNS, ROWS],
        cells: map.bins,
        flushes: map.flushes,
        regions: shares(&regions(&entries, spans, sectors)),
    })
}

/// Returns the shares of each region in the totals of the whole disk, in tenths of a per cent.
fn shares(regions: &[Region; REGIONS]) -> Vec<[u64; 6]> {
    let numbers = regions.map(|region| {
        let bytes =
            [region.read, region.written, region.discarded, region.metadata, region.journal];
        let [read, written, discarded, metadata, journal] = bytes.map(|bytes| bytes.0);
        [read, written, discarded, metadata, journal, region.time.0]
    });
    let sum = |column: usize| numbers.iter().map(|region| region[column]).sum::<u64>().max(1);
    let sums: [u64; 6] = std::array::from_fn(sum);
    let share = |region: &[u64; 6]| {
        std::array::from_fn(|i| (region[i] as f64 / sums[i] as f64 * 1000.0).round() as u64)
    };
    numbers.iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request_logs::text::tests::journal;

    #[test]
    fn a_map_is_of_the_timed_part_of_a_phase_and_its_shares_add_up() {
        let mut journal = journal();
        assert!(map_of(&journal, "write").is_none(), "without timed spans a map cannot be drawn");
        let spans = vec![(Nanos(1_000_000_150), Nanos(1_000_001_110))];
        journal.timed.insert("write".to_owned(), spans);
        let map = map_of(&journal, "write").unwrap();
        assert_eq!((map.elapsed, map.size), (Nanos(960), Bytes(24 * SECTOR)));
        let sums: [u64; 6] = std::array::from_fn(|i| map.regions.iter().map(|r| r[i]).sum());
        assert_eq!(sums, [0, 1000, 0, 0, 1000, 1000]);
        assert!(map.cells.contains('c') && map.flushes.contains('1'), "{map:?}");
    }
}
