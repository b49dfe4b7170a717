//! Converts the regions of a journal to a table and to JSON.

use model::Bytes;
use serde_json::{Value, json};
use simdisk::SECTOR;
use simdisk::access_map::{REGIONS, Region, regions};

use super::Journal;

/// Column names of [`rows`].
pub const HEADS: [&str; 7] =
    ["from", "reads %", "writes %", "discards %", "metadata %", "journal %", "time %"];

/// Returns a row per region: its start, and its shares of the disk's totals.
pub fn rows(journal: &Journal) -> Vec<[String; 7]> {
    let regions = of(journal);
    let sum = |of: &dyn Fn(&Region) -> u64| regions.iter().map(of).sum::<u64>();
    let columns: [&dyn Fn(&Region) -> u64; 6] = [
        &|region| region.read.0,
        &|region| region.written.0,
        &|region| region.discarded.0,
        &|region| region.metadata.0,
        &|region| region.journal.0,
        &|region| region.time.0,
    ];
    let sums = columns.map(sum);
    let row = |(place, region): (usize, &Region)| {
        let shares = std::array::from_fn::<String, 6, _>(|i| share(columns[i](region), sums[i]));
        let [read, written, discarded, metadata, own, time] = shares;
        let from = begin(journal, place).to_string();
        [from, read, written, discarded, metadata, own, time]
    };
    regions.iter().enumerate().map(row).collect()
}

/// Returns the regions as JSON.
pub fn to_json(journal: &Journal) -> Value {
    let regions = of(journal);
    let region = |(place, region): (usize, &Region)| {
        let mut value = json!(region);
        value["from"] = json!(begin(journal, place));
        value
    };
    regions.iter().enumerate().map(region).collect()
}

fn of(journal: &Journal) -> [Region; REGIONS] {
    regions(&journal.entries(), &journal.spans(), journal.sectors())
}

fn begin(journal: &Journal, place: usize) -> Bytes {
    Bytes(journal.sectors() * SECTOR / REGIONS as u64 * place as u64)
}

fn share(part: u64, whole: u64) -> String {
    match (part, whole) {
        (0, _) | (_, 0) => "·".to_owned(),
        (part, whole) if part * 200 < whole => "<1".to_owned(),
        (part, whole) => format!("{:.0}", part as f64 / whole as f64 * 100.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request_logs::text::tests::journal;

    #[test]
    fn rows_contain_start_and_shares_of_each_region() {
        let rows = rows(&journal());
        assert_eq!(rows.len(), REGIONS);
        // The last requested sector is 23. Sectors 8 to 15 are read as metadata, 16 to 23 are
        // written as journal.
        let with = |column: usize| {
            let mut rows = rows.iter();
            rows.position(|row| row[column] == "100").unwrap()
        };
        assert_eq!([with(1), with(2), with(4), with(5)], [5, 10, 5, 10]);
        assert!(rows.iter().all(|row| row[3] == "·"), "{rows:?}");
        let values = to_json(&journal());
        assert_eq!(values[10]["journal"], 4096);
        assert_eq!(values[5]["read"], 4096);
        assert_eq!(values[10]["from"], 7680);
    }
}
