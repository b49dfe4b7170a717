//! Tests of sweeps over hand-made results.

use std::collections::BTreeMap;

use model::{Bytes, Metric, SweepAxis};

use crate::{Analysis, Sweep, SweepSlice, analyse, fixture};

fn swept() -> Analysis {
    analyse(&fixture::swept())
}

fn slices<'a>(sweep: &'a Sweep, phase: &str) -> Vec<SweepSlice<'a>> {
    let phase = sweep.phases.iter().find(|p| p.phase == phase).unwrap();
    sweep.slices(phase)
}

#[test]
fn points_come_together_with_their_axes() {
    let analysis = swept();
    let names: Vec<&str> = analysis.sweeps.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["grid", "threads"]);
    let grid = &analysis.sweeps[0];
    assert_eq!(grid.axes[&SweepAxis::Block], [8 << 10, 64 << 10, 16 << 20]);
    assert_eq!(grid.tests.len(), 11, "16 MiB are in no file of 64 KiB");
    for phase in &grid.phases {
        for point in &phase.points {
            let row = &analysis.rows[point.row];
            assert!(row.shown && row.phase == phase.phase && row.metric == phase.metric);
            let block = SweepAxis::Block.format_short(point.at[&SweepAxis::Block]);
            assert!(row.test.ends_with(&format!("-{block}")), "{}", row.test);
        }
    }
}

/// Random I/O is also shown as throughput, to compare requests of 4 KiB with requests of 16 MiB,
/// and because IOzone reports it.
#[test]
fn random_io_is_shown_as_operations_and_as_throughput() {
    let analysis = swept();
    let threads = &analysis.sweeps[1];
    let shown: Vec<(&str, Metric)> =
        threads.phases.iter().map(|p| (p.phase.as_str(), p.metric)).collect();
    assert_eq!(
        shown,
        [
            ("alone", Metric::Throughput),
            ("random-read", Metric::Rate),
            ("random-read", Metric::Throughput)
        ]
    );
    assert_eq!(threads.phases[1].points.len(), threads.phases[2].points.len());
    assert!(threads.phases[2].knees.is_empty(), "it knees where operations do");
    for row in &analysis.rows {
        let beside = row.shown && !row.primary;
        let is_random = row.phase == "random-read" && row.metric == Metric::Throughput;
        assert_eq!(beside, is_random, "{} {}", row.phase, row.metric);
    }
}

#[test]
fn a_slice_is_held_at_the_values_with_the_most_points() {
    let analysis = swept();
    let slices = slices(&analysis.sweeps[0], "read");
    let [over_size, over_block] = &slices[..] else { panic!("two axes, two slices") };
    assert_eq!(over_size.axis, SweepAxis::Size);
    assert_eq!(over_size.held, BTreeMap::from([(SweepAxis::Block, 64 << 10)]));
    assert_eq!(over_size.points.len(), 4);
    assert_eq!(over_block.held, BTreeMap::from([(SweepAxis::Size, 1 << 30)]));
    let blocks: Vec<u64> = over_block.points.iter().map(|p| p.0).collect();
    assert_eq!(blocks, [8 << 10, 64 << 10, 16 << 20]);
}

#[test]
fn borders_are_between_two_sizes() {
    let analysis = swept();
    let grid = &analysis.sweeps[0];
    assert_eq!((grid.cpu_cache, grid.memory), (Some(Bytes::mib(32)), Some(Bytes::mib(512))));
    let words = |before, size| {
        let borders = grid.memory_boundaries(before, size);
        borders.into_iter().map(|b| b.0).collect::<Vec<_>>()
    };
    assert_eq!(words(Some(16 << 20), 64 << 20), ["CPU cache ends"]);
    assert_eq!(words(Some(64 << 20), 1 << 30), ["memory ends"]);
    assert_eq!(words(Some(16 << 20), 32 << 20), [""; 0], "what just fits, fits");
    assert_eq!(words(Some(32 << 20), 1 << 30), ["CPU cache ends", "memory ends"]);
    assert_eq!(words(None, 1 << 30), ["CPU cache ends", "memory ends"]);
    assert_eq!(words(Some(1 << 30), 2 << 30), [""; 0]);
}

#[test]
fn curves_over_threads_bend_and_those_over_sizes_do_not() {
    let analysis = swept();
    assert!(analysis.sweeps[0].phases.iter().all(|p| p.knees.is_empty()));
    let [alone, together, _] = &analysis.sweeps[1].phases[..] else {
        panic!("two phases, one of them twice")
    };
    assert!(alone.knees.is_empty(), "one thread at every point");
    let knees = &together.knees;
    let quick = knees[0].unwrap();
    assert!((quick.crossing - 3.0).abs() < 1e-6, "{quick:?}");
    assert_eq!((quick.concurrency_at_max, quick.enough_at), (4, 4));
    let lame = knees[1].unwrap();
    assert!((lame.crossing - 1.0).abs() < 1e-6 && lame.enough_at == 1);
}
