//! Activity of simulated disks in a phase, for the detail of a cell of the overview: where the time
//! went, the cost of each operation, and a map of location over time.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Bytes, CampaignResults, CellId, CellRecord, Nanos, PhaseResult, SimulatedDiskStats, SyncAtEnd,
};
use serde::Serialize;

use crate::tables::disk_time::short;
use crate::text::scale::three_digits;

/// Kinds of time, in the order of [`short`].
const KINDS: [&str; 8] =
    ["CPU", "seek", "rotation", "transfer", "flash", "garbage collection", "flush", "queue"];

/// Title of each column, some with an explanation.
const COLUMNS: [(&str, &str); 8] = [
    ("Time per operation", "time of the phase for each operation"),
    ("Requests", "of the disk, for each operation"),
    ("Seeks", "how often the arm moved for each operation"),
    ("Flushes", "of the disk's cache, for each operation"),
    ("Written ×, filesystem", "bytes written to the disk for each byte that the program wrote"),
    ("Written ×, flash", "bytes that flash was programmed with for each byte written to the disk"),
    (
        "Metadata",
        "share of the bytes read and written that the filesystem marks as metadata, outside its journal; ? if it marks none",
    ),
    ("Journal", "share of the bytes in the filesystem's journal; ? if its location is unknown"),
];

/// Index of the share of metadata in [`COLUMNS`].
const METADATA: usize = 6;

/// Text of a missing value.
const NONE: &str = "–";

/// Data about simulated disks for the script.
#[derive(Serialize)]
pub(super) struct SimulationData {
    /// Number of the campaign, for commands.
    campaign: i64,
    kinds: [&'static str; 8],
    columns: [(&'static str, &'static str); 8],
}

impl SimulationData {
    pub(super) const fn of(results: &CampaignResults) -> Self {
        Self { campaign: results.id, kinds: KINDS, columns: COLUMNS }
    }
}

/// Activity of the disk of one contender in one phase, all rounds together.
#[derive(Serialize)]
pub(super) struct DiskData {
    /// Cell that the map shows.
    cell: u32,
    /// Share of each kind of time, in tenths of a per cent.
    t: [u64; 8],
    /// Text for each of [`COLUMNS`].
    v: [String; 8],
    #[serde(skip_serializing_if = "Option::is_none")]
    map: Option<PhaseMap>,
}

/// A map of disk position over time for one phase of one cell, small enough for a page.
#[derive(Clone, Debug, Serialize)]
pub struct PhaseMap {
    /// Duration of the phase, from the first to the last timed moment.
    #[serde(serialize_with = "as_text")]
    #[serde(rename = "took")]
    pub elapsed: Nanos,
    /// Size of the disk.
    #[serde(serialize_with = "as_text")]
    pub size: Bytes,
    /// Numbers of bins along the time and along the disk.
    pub bins: [usize; 2],
    /// Bins and flushes, in the packed format of the crate `simdisk`.
    pub cells: String,
    /// Number of flushes in each column, in the same format.
    pub flushes: String,
    /// For each region of the disk, from its first sector: shares, in tenths of a per cent, of all
    /// bytes read, written, discarded, of all metadata and journal bytes, and of the time that the
    /// disk took.
    pub regions: Vec<[u64; 6]>,
}

fn as_text<S: serde::Serializer>(
    value: &impl std::fmt::Display,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

impl PhaseMap {
    /// Estimates the bytes that the map takes on a page.
    pub fn room(&self) -> usize {
        self.cells.len() + self.flushes.len() + self.regions.len() * 20 + 100
    }
}

/// Maps shown on a page, each of one phase of one cell.
#[derive(Default)]
pub struct DiskMaps {
    maps: BTreeMap<(CellId, String), PhaseMap>,
    room_taken: usize,
}

impl DiskMaps {
    /// Maximum size of all maps of a page, in bytes.
    pub const ROOM: usize = 500_000;

    /// Adds the maps of one phase of several cells, or none of them if the space is exhausted: a
    /// comparison needs both.
    pub fn add(&mut self, phase: &str, maps: Vec<(CellId, PhaseMap)>) {
        let room: usize = maps.iter().map(|(_, map)| map.room()).sum();
        if self.room_taken + room <= Self::ROOM {
            self.room_taken += room;
            let keyed = maps.into_iter();
            self.maps.extend(keyed.map(|(cell, map)| ((cell, phase.to_owned()), map)));
        }
    }

    /// Returns true if less than 1 % of the space for maps is left.
    pub const fn is_full(&self) -> bool {
        self.room_taken + Self::ROOM / 100 > Self::ROOM
    }
}

/// Returns the cells whose maps are shown: for each contender and test, the first with a simulated
/// disk.
pub fn mapped_cells(results: &CampaignResults) -> Vec<&CellRecord> {
    let mut seen = BTreeSet::new();
    let mut cells: Vec<&CellRecord> = results.cells.iter().filter(|c| has_disk(c)).collect();
    cells.sort_by_key(|stored| (stored.cell.round, stored.cell.id));
    cells.retain(|CellRecord { cell, .. }| seen.insert((&cell.contender, &cell.suite, &cell.test)));
    cells
}

fn has_disk(stored: &CellRecord) -> bool {
    let phases = stored.result.iter().flat_map(|result| &result.phases);
    { phases }.any(|phase| phase.disk.is_some())
}

/// Contender, suite, test and phase.
type DiskKey<'a> = (&'a str, &'a str, &'a str, &'a str);

/// Activity of all simulated disks of a campaign.
pub(super) struct DiskStatsByContender<'a> {
    phases: BTreeMap<DiskKey<'a>, Vec<&'a PhaseResult>>,
    cells: BTreeMap<(&'a str, &'a str, &'a str), CellId>,
    /// Contenders that flag their metadata.
    flagging: BTreeSet<&'a str>,
    maps: &'a DiskMaps,
}

impl<'a> DiskStatsByContender<'a> {
    pub(super) fn from_results(results: &'a CampaignResults, maps: &'a DiskMaps) -> Self {
        let mut phases: BTreeMap<DiskKey<'a>, Vec<&PhaseResult>> = BTreeMap::new();
        for CellRecord { cell, result } in &results.cells {
            for phase in result.iter().flat_map(|result| &result.phases) {
                if phase.disk.is_some() {
                    let key = (&*cell.contender, &*cell.suite, &*cell.test, &*phase.phase);
                    phases.entry(key).or_default().push(phase);
                }
            }
        }
        let all = phases.iter();
        let flags = all.filter(|(_, rounds)| SimulatedDiskStats::has_metadata_flags(works(rounds)));
        let flagging = flags.map(|((contender, ..), _)| *contender).collect();
        let cells = mapped_cells(results).into_iter().map(|stored| {
            let cell = &stored.cell;
            ((&*cell.contender, &*cell.suite, &*cell.test), cell.id)
        });
        Self { phases, cells: cells.collect(), flagging, maps }
    }

    /// Returns the data of each contender in a phase; empty if no disk was simulated.
    pub(super) fn for_phase(
        &self,
        contenders: &[String],
        test: &model::Test,
        phase: &str,
    ) -> Vec<Option<DiskData>> {
        let of = |contender: &String| {
            let cell = *self.cells.get(&(&**contender, &*test.suite, &*test.name))?;
            let key = (&**contender, &*test.suite, &*test.name, phase);
            let map = self.maps.maps.get(&(cell, phase.to_owned())).cloned();
            let mut data = data(cell, self.phases.get(&key)?, map);
            if !self.flagging.contains(&**contender) {
                data.v[METADATA] = "?".to_owned();
            }
            Some(data)
        };
        let all: Vec<Option<DiskData>> = contenders.iter().map(of).collect();
        match all.iter().any(Option::is_some) {
            true => all,
            false => Vec::new(),
        }
    }
}

fn works<'a>(rounds: &'a [&PhaseResult]) -> impl Iterator<Item = &'a SimulatedDiskStats> {
    rounds.iter().filter_map(|phase| phase.disk.as_ref())
}

fn data(cell: CellId, rounds: &[&PhaseResult], map: Option<PhaseMap>) -> DiskData {
    let mut times = [0_u64; 8];
    for work in works(rounds) {
        for (sum, (_, time)) in times.iter_mut().zip(short(work)) {
            *sum += time;
        }
    }
    let all = times.iter().sum::<u64>().max(1);
    DiskData {
        cell: cell.0,
        t: times.map(|time| (time as f64 / all as f64 * 1000.0).round() as u64),
        v: texts(rounds, &|of| works(rounds).map(of).sum()),
        map,
    }
}

/// Sums a counter over the rounds.
type RequestSum<'a> = &'a dyn Fn(&dyn Fn(&SimulatedDiskStats) -> u64) -> u64;

fn texts(rounds: &[&PhaseResult], sum: RequestSum<'_>) -> [String; 8] {
    let ratio = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
    let number = |value: Option<f64>| value.map_or(NONE.to_owned(), three_digits);
    let percent =
        |value: Option<f64>| value.map_or(NONE.to_owned(), |v| three_digits(v * 100.0) + " %");
    let phases =
        |of: &dyn Fn(&PhaseResult) -> u64| rounds.iter().map(|phase| of(phase)).sum::<u64>();
    let operations = phases(&|phase| phase.operations);
    let each = |count: u64| number(ratio(count, operations));
    let device = |of: &dyn Fn(&model::DeviceCounters) -> u64| {
        phases(&|phase| phase.device.as_ref().map_or(0, of))
    };
    // If a phase ends before its data are on the disk, the rest is written later.
    let is_whole = rounds.iter().all(|phase| phase.ends != SyncAtEnd::Call);
    let written = phases(&|phase| phase.bytes_written.0);
    let amplified = ratio(device(&|device| device.write_bytes.0), written).filter(|_| is_whole);
    let flash = ratio(sum(&|work| work.slots_programmed), sum(&|work| work.slots_written));
    let bytes = sum(&|work| work.bytes.0);
    let journal = sum(&|work| work.journal.map_or(0, |bytes| bytes.0));
    let is_known = rounds.iter().any(|p| p.disk.is_some_and(|work| work.journal.is_some()));
    let time = phases(&|phase| phase.elapsed.0);
    [
        time.checked_div(operations).map_or(NONE.to_owned(), |time| Nanos(time).to_string()),
        each(sum(&|work| work.requests)),
        each(sum(&|work| work.seeks)),
        each(device(&|device| device.flushes)),
        number(amplified),
        number(flash),
        percent(ratio(sum(&|work| work.metadata.0), bytes)),
        match is_known {
            true => percent(ratio(journal, bytes)),
            false => "?".to_owned(),
        },
    ]
}

#[cfg(test)]
mod tests {
    use stats::{analyse, fixture};

    use super::*;
    use crate::page::page;

    fn simulated() -> CampaignResults {
        let mut results = fixture::plain();
        let work = SimulatedDiskStats {
            requests: 8,
            seeks: 4,
            bytes: Bytes(1000),
            metadata: Bytes(250),
            journal: Some(Bytes(500)),
            seek: Nanos(30),
            outside: Nanos(70),
            ..SimulatedDiskStats::default()
        };
        for stored in &mut results.cells {
            for phase in stored.result.iter_mut().flat_map(|r| &mut r.phases) {
                phase.disk = Some(work);
                phase.operations = 4;
            }
        }
        results
    }

    fn map(length: usize) -> PhaseMap {
        PhaseMap {
            elapsed: Nanos::from_secs(2),
            size: Bytes::mib(512),
            bins: [96, 48],
            cells: "0".repeat(length),
            flushes: String::new(),
            regions: Vec::new(),
        }
    }

    #[test]
    fn phase_shows_its_time_components_and_cost_per_operation() {
        let results = simulated();
        let maps = DiskMaps::default();
        let disks = DiskStatsByContender::from_results(&results, &maps);
        let test = &results.campaign.suites[0].tests[0];
        let contenders = analyse(&results).contenders;
        let phase = &test.phases[0].name;
        let all = disks.for_phase(&contenders, test, phase);
        let first = all[0].as_ref().unwrap();
        assert_eq!(first.t, [700, 300, 0, 0, 0, 0, 0, 0]);
        assert_eq!(first.v[1..3], ["2.00", "1.00"]);
        assert_eq!(first.v[6..], ["25.0 %", "50.0 %"]);
        assert!(disks.for_phase(&contenders, test, "none").is_empty());
    }

    #[test]
    fn metadata_share_is_unknown_without_metadata_flags() {
        let mut results = simulated();
        let first = results.cells[0].cell.contender.clone();
        for stored in results.cells.iter_mut().filter(|c| c.cell.contender == first) {
            for phase in stored.result.iter_mut().flat_map(|r| &mut r.phases) {
                let work = phase.disk.as_mut().unwrap();
                (work.metadata, work.flagged) = (Bytes(0), Some(0));
            }
        }
        let maps = DiskMaps::default();
        let disks = DiskStatsByContender::from_results(&results, &maps);
        let test = &results.campaign.suites[0].tests[0];
        let contenders = analyse(&results).contenders;
        let all = disks.for_phase(&contenders, test, &test.phases[0].name);
        for (contender, data) in contenders.iter().zip(&all) {
            let expected = if *contender == first { "?" } else { "25.0 %" };
            assert_eq!(data.as_ref().unwrap().v[METADATA], expected);
        }
    }

    #[test]
    fn page_contains_maps_up_to_its_limit_and_commands_for_the_others() {
        let results = simulated();
        let analysis = analyse(&results);
        let cells = mapped_cells(&results);
        let contenders: BTreeSet<_> = cells.iter().map(|c| &c.cell.contender).collect();
        assert!(contenders.len() >= 2 && cells.iter().all(|c| c.cell.round == 1));
        let phase = &cells[0].result.as_ref().unwrap().phases[0].phase;
        let mut maps = DiskMaps::default();
        let of_all = |length| cells.iter().map(|c| (c.cell.id, map(length))).collect();
        maps.add(phase, of_all(DiskMaps::ROOM / cells.len()));
        assert!(maps.maps.is_empty() && !maps.is_full());
        maps.add(phase, of_all(1000));
        assert_eq!(maps.maps.len(), cells.len());
        let text = page(&results, &analysis, &maps, None);
        assert!(text.contains("\"size\":\"512 MiB\"") && text.contains("\"campaign\":"));
        let plain = fixture::plain();
        let without = page(&plain, &analyse(&plain), &DiskMaps::default(), None);
        assert!(!without.contains("\"campaign\":"));
    }
}
