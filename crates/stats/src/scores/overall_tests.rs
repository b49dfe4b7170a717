//! Tests of scores over groups and of crossovers.

use super::*;
use crate::{analyse, fixture};
use model::{AccessPattern, Bytes, CacheState, DriverKind, Io, Nanos, Op, Status, SyncAtEnd};

/// Creates a campaign with two contenders and seven rounds. `left` writes in 1 s and reads in 3 s,
/// `right` writes in 2 s and reads in 1 s; ±1 % by round.
fn crossed() -> CampaignResults {
    let job = |access| Op::Io(Io::new("data", access, Bytes::kib(64)));
    let phases = vec![
        fixture::phase("write", job(AccessPattern::Write), CacheState::Warm, SyncAtEnd::Fsync),
        fixture::phase("read", job(AccessPattern::Read), CacheState::Cold, SyncAtEnd::Call),
    ];
    let names = ["left", "right"];
    fixture::campaign(
        "crossed",
        names.map(|name| fixture::contender(name, DriverKind::Kernel)).into(),
        vec![fixture::test("file", "One file", phases)],
        7,
        |cell, test| {
            let seconds = if cell.contender == "left" { [1, 3] } else { [2, 1] };
            let wobble = 1_000 + u64::from(cell.round * 3 % 7);
            let phases = test.phases.iter().zip(seconds);
            let phases = phases.map(|(phase, seconds)| {
                let wall = Nanos(seconds * wobble * 1_000_000);
                fixture::phase_result(phase, wall, 1_000, Bytes(100_000_000))
            });
            Some(fixture::cell_result(phases.collect()))
        },
    )
}

fn ratios(scores: &[CategoryScore]) -> Vec<f64> {
    scores.iter().map(|s| s.place.expect("it has results").ratio).collect()
}

fn assert_close(found: &[f64], wanted: &[f64]) {
    assert_eq!(found.len(), wanted.len());
    for (a, b) in found.iter().zip(wanted) {
        assert!((a - b).abs() < 1e-6, "{found:?} {wanted:?}");
    }
}

#[test]
fn scores_by_hand() {
    let overall = analyse(&fixture::plain()).overall;
    let groups: Vec<WorkloadCategory> = overall.groups.iter().map(|g| g.group).collect();
    assert_eq!(groups, [WorkloadCategory::StreamWrite, WorkloadCategory::StreamRead]);
    assert_close(&ratios(&overall.groups[0].scores), &[1.0, 2.0, 4.0]);
    assert_close(&ratios(&overall.groups[1].scores), &[1.0, 1.0, 1.0]);
    assert_close(&ratios(&overall.total), &[1.0, 2f64.sqrt(), 2.0]);
    let best = overall.total.iter().map(|s| s.place.unwrap().best);
    assert_eq!(best.collect::<Vec<_>>(), [true, false, false]);
    assert!(overall.groups[1].scores[0].place.unwrap().is_equal());
    assert_eq!(overall.crossovers, [], "no contender is better than the leader in any group");
}

#[test]
fn the_crossover_of_two_contenders_is_reported() {
    let overall = analyse(&crossed()).overall;
    assert_close(&ratios(&overall.total), &[1.5f64.sqrt(), 1.0]);
    let [crossover] = overall.crossovers[..] else {
        panic!("one crossover: {:?}", overall.crossovers);
    };
    assert_eq!(
        (crossover.group, crossover.from, crossover.leader_above),
        (WorkloadCategory::StreamWrite, 1, 0)
    );
    assert!((crossover.share - 3f64.ln() / 6f64.ln()).abs() < 1e-6, "{crossover:?}");
    let of_group =
        |group: usize, contender: usize| ratios(&overall.groups[group].scores)[contender];
    let cost = |share: f64, contender: usize| {
        of_group(0, contender).powf(share) * of_group(1, contender).powf(1.0 - share)
    };
    let costs = [0, 1].map(|contender| cost(crossover.share, contender));
    assert!((costs[0] / costs[1] - 1.0).abs() < 1e-6, "equal at that share: {costs:?}");
}

#[test]
fn a_contender_without_a_result_has_no_place() {
    let mut results = crossed();
    for cell in &mut results.cells {
        if let Some(result) = cell.result.as_mut().filter(|_| cell.cell.contender == "left") {
            result.phases[1].status = Status::Unsupported;
        }
    }
    let overall = analyse(&results).overall;
    let left = &overall.total[0];
    assert_eq!((left.counted, left.missing, left.place), (1, 1, None));
    let right = overall.total[1].place;
    assert_eq!(right, None, "no competitor");
    assert_eq!(overall.crossovers, []);
}

#[test]
fn a_sweep_counts_once_regardless_of_its_number_of_points() {
    let overall = analyse(&fixture::swept()).overall;
    let group = |group| overall.groups.iter().find(|g| g.group == group).unwrap();
    let sums = |g: &CategoryScores| g.shares.iter().map(|share| share.weight).sum::<f64>();
    assert!(
        (sums(group(WorkloadCategory::StreamWrite)) - 1.0).abs() < 1e-9,
        "write at every point"
    );
    // read at every point of the grid, and `alone` in addition to the threads.
    assert!((sums(group(WorkloadCategory::StreamRead)) - 2.0).abs() < 1e-9);
}

#[test]
fn a_group_is_the_same_in_every_unit_and_direction() {
    // Lower elapsed time is better, and higher throughput is better. Both are costs.
    let overall = analyse(&fixture::realistic()).overall;
    for score in overall.groups.iter().flat_map(|g| &g.scores) {
        let Some(place) = score.place else { continue };
        assert!(place.ratio >= 1.0 && place.ratio.is_finite(), "{place:?}");
    }
    let lacking = overall.total.iter().filter(|s| s.missing > 0).count();
    assert!(lacking > 0);
    for group in &overall.groups {
        let whole = group.scores.iter().filter(|s| s.missing == 0).count();
        let placed = group.scores.iter().filter(|s| s.place.is_some()).count();
        assert_eq!(whole, placed, "{}", group.group);
    }
}
