//! Where the time of each phase went on simulated disks, as a table.

use model::{DiskWork, Nanos, PhaseResult};

/// What the disk of a cell did in each of these phases: where the time went.
pub fn times(phases: &[(&PhaseResult, &DiskWork)]) -> Vec<[String; 15]> {
    let mut rows = Vec::new();
    for (phase, work) in phases {
        let all: u64 = work.times().iter().map(|(_, time)| time.0).sum();
        let share = |time: Nanos| match (time.0, all) {
            (0, _) | (_, 0) => "·".to_owned(),
            (time, all) => {
                let percent = time as f64 / all as f64 * 100.0;
                if percent < 0.5 {
                    "<1".to_owned()
                } else {
                    format!("{percent:.0}")
                }
            }
        };
        let of = |part: u64, whole: u64, digits: usize| match whole {
            0 => "·".to_owned(),
            whole => format!("{:.digits$}", part as f64 / whole as f64),
        };
        let (metadata, journal) = (
            work.metadata.0 * 100,
            work.journal.map(|bytes| bytes.0 * 100),
        );
        rows.push([
            phase.phase.clone(),
            phase.wall.to_string(),
            work.requests.to_string(),
            work.bytes.to_string(),
            of(metadata, work.bytes.0, 0),
            journal.map_or("?".to_owned(), |journal| of(journal, work.bytes.0, 0)),
            of(work.seeks, work.requests, 2),
            share(work.outside),
            share(work.seek),
            share(work.rotation),
            share(Nanos(work.command.0 + work.transfer.0)),
            share(Nanos(work.flash.0 + work.collection.0)),
            share(work.flush),
            share(work.waiting),
            work.write_amplification()
                .filter(|_| phase.device.is_none_or(|device| device.write_bytes.0 > 0))
                .map_or("·".to_owned(), |wa| format!("{wa:.2}")),
        ]);
    }
    rows
}

/// What the columns of [`times`] are called.
pub const TIMES: [&str; 15] = [
    "phase",
    "took",
    "requests",
    "bytes",
    "metadata %",
    "journal %",
    "seeks each",
    "outside the disk %",
    "seek %",
    "rotation %",
    "transfer %",
    "flash %",
    "flush %",
    "queue %",
    "amplified",
];
