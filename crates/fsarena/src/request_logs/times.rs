//! Formats the work of simulated disks in each phase as two tables of 80 columns: time components,
//! and requests.

use model::{Nanos, PhaseResult, SimulatedDiskStats};

/// No value.
const NONE: &str = "·";
/// Not known.
const UNKNOWN: &str = "?";

/// Column names of [`times`]. From the third column on, values are in per cent of the phase.
pub const TIMES: [&str; 9] =
    ["phase", "took", "CPU", "seek", "rotation", "transfer", "flash", "flush", "queue"];

/// Returns the time components of each phase.
pub fn times(phases: &[(&PhaseResult, &SimulatedDiskStats)]) -> Vec<[String; 9]> {
    let row = |(phase, work): &(&PhaseResult, &SimulatedDiskStats)| {
        let all: u64 = work.times().iter().map(|(_, time)| time.0).sum();
        let share = |time: Nanos| match (time.0, all) {
            (0, _) | (_, 0) => NONE.to_owned(),
            (time, all) if time * 200 < all => "<1".to_owned(),
            (time, all) => format!("{:.0}", time as f64 / all as f64 * 100.0),
        };
        [
            phase.phase.clone(),
            phase.elapsed.to_string(),
            share(work.outside),
            share(work.seek),
            share(work.rotation),
            share(Nanos(work.command.0 + work.transfer.0)),
            share(Nanos(work.flash.0 + work.collection.0)),
            share(work.flush),
            share(work.waiting),
        ]
    };
    phases.iter().map(row).collect()
}

/// Column names of [`requests`].
pub const REQUESTS: [&str; 7] =
    ["phase", "requests", "seeks", "bytes", "metadata %", "journal %", "amplified"];

/// Returns the requests to the disk in each of these phases. The share of metadata is unknown if
/// the filesystem does not flag its metadata.
pub fn requests(
    phases: &[(&PhaseResult, &SimulatedDiskStats)],
    flags_metadata: bool,
) -> Vec<[String; 7]> {
    let row = |(phase, work): &(&PhaseResult, &SimulatedDiskStats)| {
        let percent = |part: Option<u64>| match (part, work.bytes.0) {
            (_, 0) => NONE.to_owned(),
            (None, _) => UNKNOWN.to_owned(),
            (Some(part), whole) => format!("{:.0}", part as f64 / whole as f64 * 100.0),
        };
        let amplified = work
            .write_amplification()
            .filter(|_| phase.device.is_none_or(|device| device.write_bytes.0 > 0));
        [
            phase.phase.clone(),
            work.requests.to_string(),
            match work.requests {
                0 => NONE.to_owned(),
                requests => format!("{:.2}", work.seeks as f64 / requests as f64),
            },
            work.bytes.to_string(),
            percent(flags_metadata.then_some(work.metadata.0)),
            percent(work.journal.map(|bytes| bytes.0)),
            amplified.map_or(NONE.to_owned(), |times| format!("{times:.2}")),
        ]
    };
    phases.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use model::Bytes;
    use unicode_width::UnicodeWidthStr;

    use super::*;
    use crate::output::text::table;

    fn of(work: SimulatedDiskStats) -> (PhaseResult, SimulatedDiskStats) {
        let results = stats::fixture::plain();
        let cell = results.cells[0].result.as_ref().unwrap();
        let phase = PhaseResult {
            phase: "random-read-direct".to_owned(),
            elapsed: Nanos::from_secs(12),
            ..cell.phases[0].clone()
        };
        (phase, work)
    }

    #[test]
    fn share_of_metadata_is_unknown_without_flags() {
        let (phase, work) = of(SimulatedDiskStats {
            requests: 8,
            bytes: Bytes(1000),
            flagged: Some(0),
            ..SimulatedDiskStats::default()
        });
        let flags = SimulatedDiskStats::has_metadata_flags([&work]);
        assert_eq!(requests(&[(&phase, &work)], flags)[0][4], "?");
        let one = SimulatedDiskStats { flagged: Some(1), ..work };
        // One flagged request in any phase shows that unflagged ones are not metadata.
        let flags = SimulatedDiskStats::has_metadata_flags([&work, &one]);
        assert_eq!(requests(&[(&phase, &work)], flags)[0][4], "0");
        let nothing = SimulatedDiskStats::default();
        assert_eq!(requests(&[(&phase, &nothing)], false)[0][4], "·");
    }

    #[test]
    fn both_tables_fit_a_terminal_of_80_columns() {
        let (phase, work) = of(SimulatedDiskStats {
            requests: 1_234_567,
            seeks: 1_234_567,
            bytes: Bytes::mib(1234),
            metadata: Bytes::mib(1234),
            journal: Some(Bytes(0)),
            outside: Nanos(1),
            seek: Nanos(1000),
            flagged: Some(1),
            slots_written: 1,
            slots_programmed: 10,
            ..SimulatedDiskStats::default()
        });
        let phases = [(&phase, &work)];
        let tables = [table(TIMES, &times(&phases)), table(REQUESTS, &requests(&phases, true))];
        for line in tables.iter().flat_map(|table| table.lines()) {
            assert!(line.width() <= 80, "{line}");
        }
        assert_eq!(times(&phases)[0][2..4], ["<1", "100"]);
    }
}
