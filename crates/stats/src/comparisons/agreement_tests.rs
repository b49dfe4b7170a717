//! Tests of pairs that two campaigns order alike or differently, and of the reported causes.

use model::{CampaignResults, Clock, ExcludedPhase, Nanos};

use super::*;
use crate::{Analysis, analyse_with_margin, fixture};

/// Creates a campaign from the elapsed times of `write` of the three contenders, in milliseconds,
/// over three rounds with little noise. `read` takes a second for each contender.
fn campaign(clock: Clock, walls: [u64; 3]) -> CampaignResults {
    let mut results = fixture::plain();
    results.campaign.clock = clock;
    let names = results.campaign.contenders.clone();
    for stored in &mut results.cells {
        let at = names.iter().position(|c| c.name == stored.cell.contender);
        let wall = walls[at.unwrap()] * (1_000_000 + 100 * u64::from(stored.cell.round));
        let phases = stored.result.iter_mut().flat_map(|r| &mut r.phases);
        for phase in phases.filter(|phase| phase.phase == "write") {
            phase.elapsed = Nanos(wall);
        }
    }
    results
}

fn held(
    first: &CampaignResults,
    second: &CampaignResults,
    withheld: &[ExcludedPhase],
) -> Agreement {
    let analyses: [Analysis; 2] =
        [first, second].map(|one| analyse_with_margin(one, Margin::default(), withheld));
    agreement(
        AnalysedCampaign::new(first, &analyses[0]),
        AnalysedCampaign::new(second, &analyses[1]),
        Margin::default(),
    )
    .unwrap()
}

#[test]
fn a_campaign_agrees_with_itself_on_another_clock() {
    let walls = [1_000, 2_000, 4_000];
    let found = held(&campaign(Clock::Virtual, walls), &campaign(Clock::Real, walls), &[]);
    let write = &found.phases[0];
    assert_eq!((write.phase.as_str(), write.counts.pairs), ("write", 3));
    assert_eq!((write.counts.both_different, write.counts.same_order), (3, 3));
    assert_eq!(write.counts.tau_b, Some(1.0));
    let ratio = write.counts.ratio_of_ratios.unwrap();
    assert!((ratio.median - 1.0).abs() < 1e-9);
    // All contenders read equally fast: no pair is different, and none is ordered.
    let read = &found.phases[1];
    assert_eq!((read.counts.pairs, read.counts.both_different), (3, 0));
    assert_eq!((read.counts.share(), read.counts.tau_b), (None, None));
    assert_eq!(found.disagreements, []);
    assert_eq!(found.all.share(), Some(1.0));
}

#[test]
fn a_pair_in_the_other_order_is_counted_and_named_the_farthest_first() {
    // In real time, fast < middle < slow; in virtual time, `slow` is ahead of both.
    let found = held(
        &campaign(Clock::Virtual, [1_000, 1_500, 500]),
        &campaign(Clock::Real, [1_000, 2_000, 4_000]),
        &[],
    );
    let write = &found.phases[0].counts;
    assert_eq!((write.both_different, write.same_order), (3, 1));
    assert_eq!(write.tau_b, Some(-1.0 / 3.0));
    let named: Vec<(&str, &str)> =
        found.disagreements.iter().map(|one| (one.better.as_str(), one.worse.as_str())).collect();
    assert_eq!(named, [("fast", "slow"), ("middle", "slow")]);
    let [first, second] = found.disagreements[0].costs;
    assert!((first.ratio - 0.5).abs() < 1e-3 && (second.ratio - 4.0).abs() < 1e-3);
    // 1.5 divided by 2, 1/2 by 4, 1/3 by 2.
    let ratios = write.ratio_of_ratios.unwrap();
    assert!((ratios.median - 1.0 / 6.0).abs() < 1e-3, "{ratios:?}");
    let group = found.groups.iter().find(|g| g.counts.both_different == 3);
    assert_eq!(group.unwrap().counts.same_order, 1);
}

#[test]
fn a_difference_within_the_noise_or_the_margin_does_not_count() {
    let found = held(
        &campaign(Clock::Virtual, [1_000, 1_030, 4_000]),
        &campaign(Clock::Real, [1_030, 1_000, 4_000]),
        &[],
    );
    let write = &found.phases[0].counts;
    assert_eq!((write.both_different, write.same_order), (2, 2));
}

#[test]
fn withheld_phases_do_not_count_and_show_the_reason() {
    let withheld = ExcludedPhase {
        phase: "file/write".parse().unwrap(),
        reason: "it is for this test".to_owned(),
        same_order: 1,
        pairs: 3,
    };
    let found = held(
        &campaign(Clock::Virtual, [1_000, 2_000, 500]),
        &campaign(Clock::Real, [1_000, 2_000, 4_000]),
        std::slice::from_ref(&withheld),
    );
    assert_eq!(found.phases[0].withheld.as_deref(), Some("it is for this test"));
    assert_eq!((found.all.both_different, found.counted.both_different), (3, 0));
    assert!(found.disagreements.iter().all(|one| !one.counts));
}

#[test]
fn withheld_rows_count_in_scores_only_in_real_time() {
    let withheld = [ExcludedPhase {
        phase: "file/wr*".parse().unwrap(),
        reason: "it is for this test".to_owned(),
        same_order: 1,
        pairs: 3,
    }];
    let rows_that_count = |clock| {
        let results = campaign(clock, [1_000, 2_000, 500]);
        let analysis = analyse_with_margin(&results, Margin::default(), &withheld);
        let groups = analysis.overall.groups.iter();
        let shares: Vec<usize> =
            groups.flat_map(|g| g.shares.iter().map(|share| share.row)).collect();
        let names = shares.iter().map(|row| analysis.rows[*row].phase.clone());
        names.collect::<Vec<String>>()
    };
    assert_eq!(rows_that_count(Clock::Virtual), ["read"]);
    assert_eq!(rows_that_count(Clock::Real), ["write", "read"]);
}

#[test]
fn causes_are_measured_differences() {
    let mut first = campaign(Clock::Virtual, [1_000, 2_000, 500]);
    let mut second = campaign(Clock::Real, [1_000, 2_000, 4_000]);
    for (results, flushes) in [(&mut first, 0), (&mut second, 9)] {
        for stored in &mut results.cells {
            let is_slow = stored.cell.contender == "slow";
            let phases = stored.result.iter_mut().flat_map(|r| &mut r.phases);
            for phase in phases.filter(|phase| phase.phase == "write" && is_slow) {
                let device = phase.device.get_or_insert_default();
                device.flushes = flushes;
            }
        }
    }
    let found = held(&first, &second, &[]);
    let flushes = DisagreementCause::Flushes { contender: "slow".to_owned(), times: [0.0, 9.0] };
    assert!(
        found.disagreements.iter().all(|one| one.causes.contains(&flushes)),
        "{:?}",
        found.disagreements
    );
}
