//! Advice on hand-made campaigns: costs, ties, turning points and untested groups.

use model::{
    AccessPattern, Bytes, CacheState, CampaignResults, CrashRecovery, DriverKind, Io, Nanos, Op,
    RecoveryMechanism, SeededRng, SyncAtEnd,
};

use super::*;
use crate::fixture::{self, use_of};
use crate::{ComparisonVerdict, SuitesByGroup, analyse};

/// Contenders with the milliseconds that a write and a read take, each in a separate test. Rounds
/// vary by up to ±`noise` per mille.
fn campaign(costs: &[(&str, u64, u64)], rounds: u32, noise: u64, seed: u64) -> CampaignResults {
    let test = |name: &str, access| {
        let mut io = Io::new("data", access, Bytes::kib(64));
        io.size = (access == AccessPattern::Write).then_some(Bytes(100_000_000));
        let phase = fixture::phase(name, Op::Io(io), CacheState::Warm, SyncAtEnd::Fsync);
        fixture::test(name, name, vec![phase])
    };
    let tests = vec![test("write", AccessPattern::Write), test("read", AccessPattern::Read)];
    let contenders = costs.iter().map(|(name, ..)| *name);
    let contenders = contenders.map(|n| fixture::contender(n, DriverKind::Kernel));
    let mut rng = SeededRng::new(seed);
    fixture::campaign("made", contenders.collect(), tests, rounds, |cell, test| {
        let of = costs.iter().find(|(name, ..)| *name == cell.contender);
        let (_, write, read) = *of.unwrap();
        let base = if test.name == "write" { write } else { read };
        let wall = base * (1_000_000 - 1_000 * noise + rng.below(2_000 * noise + 1));
        let phase = &test.phases[0];
        let result = fixture::phase_result(phase, Nanos(wall), 1_000, Bytes(100_000_000));
        Some(fixture::cell_result(vec![result]))
    })
}

const BOTH: [(WorkloadCategory, f64); 2] =
    [(WorkloadCategory::StreamWrite, 50.0), (WorkloadCategory::StreamRead, 50.0)];

fn advice_on(weights: &[(WorkloadCategory, f64)], results: &CampaignResults) -> Advice {
    let mut analysis = analyse(results);
    analysis.score_use_cases([&use_of(weights)], &SuitesByGroup::new());
    advise(&analysis.uses[0])
}

fn names(advice: &Advice) -> Vec<&str> {
    advice.ranking.iter().map(|r| r.contender.as_str()).collect()
}

#[test]
fn the_faster_one_is_recommended_and_the_runner_up_has_its_price() {
    let results = campaign(&[("slow", 200, 120), ("fast", 100, 100)], 5, 10, 1);
    let advice = advice_on(&BOTH, &results);
    assert_eq!(advice.recommendation, Recommendation::Take);
    assert_eq!(names(&advice), ["fast", "slow"]);
    let [first, second] = &advice.scores.conclusion.bounds[..] else { panic!("two contenders") };
    assert_eq!(first.at_most, Some(0.0), "the other costs more");
    let most = second.at_most.unwrap();
    assert!((0.55..0.9).contains(&most), "{most}: it costs √2.4 times as much");
    let slow = &advice.ranking[1];
    assert!((slow.place.unwrap().ratio / 2.4f64.sqrt() - 1.0).abs() < 0.02);
    assert!((1.9..2.1).contains(&slow.groups[0].ratio.unwrap()));
    assert!((slow.groups[1].ratio.unwrap() - 1.2).abs() < 0.05);
    assert_eq!(slow.groups[0].turns_at, None, "it is better everywhere");
}

#[test]
fn two_that_do_not_differ_are_never_called_different_more_often_than_stated() {
    let mut different = 0;
    for seed in 0..100 {
        let results = campaign(&[("a", 100, 100), ("b", 100, 100)], 5, 50, seed);
        let advice = advice_on(&BOTH, &results);
        let worse = &advice.scores.conclusion.worse;
        different += usize::from(!worse.is_empty());
    }
    // The limit is 5 %; a rate of 5 % gives more than 12 of 100 with a probability below 0.2 %.
    assert!(different <= 12, "{different}");
}

#[test]
fn equal_means_within_the_margin_and_not_merely_undecided() {
    let near = campaign(&[("a", 1000, 1000), ("b", 1010, 1000)], 5, 2, 1);
    let advice = advice_on(&BOTH, &near);
    assert_eq!(advice.recommendation, Recommendation::Take);
    assert_eq!(advice.scores.conclusion.answer, ShortlistState::Equal);
    let open = |seed| {
        let noisy = campaign(&[("a", 100, 100), ("b", 108, 108)], 2, 100, seed);
        let advice = advice_on(&BOTH, &noisy);
        let is_open = matches!(advice.scores.conclusion.answer, ShortlistState::Undecided { .. });
        is_open.then_some(advice)
    };
    let found: Vec<Advice> = (0..40).filter_map(open).collect();
    assert!(found.len() > 30, "{}", found.len());
    let advice = &found[0];
    let verdict = advice.ranking[1].place.unwrap().verdict;
    assert!(matches!(verdict, ComparisonVerdict::Undecided { .. }), "{verdict:?}");
}

#[test]
fn of_two_that_cost_about_the_same_the_one_that_recovers_from_a_crash_comes_first() {
    let mut results = campaign(&[("bare", 1000, 1000), ("safe", 1020, 1020)], 5, 2, 1);
    let recovery = |by| {
        let source = "a manual".to_owned();
        Some(CrashRecovery { by, lost_with: Vec::new(), source })
    };
    let mut given = |by: [Option<CrashRecovery>; 2]| {
        for (contender, by) in results.campaign.contenders.iter_mut().zip(by) {
            contender.filesystem.facts.crash_recovery = by;
        }
        let advice = advice_on(&BOTH, &results);
        let names: Vec<String> = advice.ranking.iter().map(|r| r.contender.clone()).collect();
        (names.join(" "), advice.scores.conclusion.displaced)
    };
    let [none, journal] = [RecoveryMechanism::None, RecoveryMechanism::Journal].map(recovery);
    assert_eq!(given([none.clone(), journal.clone()]), ("safe bare".to_owned(), Some(0)));
    assert_eq!(given([journal.clone(), journal]), ("bare safe".to_owned(), None));
    assert_eq!(given([none.clone(), none]), ("bare safe".to_owned(), None));
}

#[test]
fn a_contender_without_a_need_is_ruled_out_before_any_test() {
    let mut results = campaign(&[("a", 100, 100), ("b", 100, 100)], 2, 5, 1);
    results.campaign.contenders.iter_mut().for_each(fixture::make_baseline);
    let untested = [(WorkloadCategory::Durable, 1.0)];
    assert_eq!(advice_on(&untested, &results).recommendation, Recommendation::NoneQualifies);
    results.campaign.contenders[0] = fixture::contender("a", DriverKind::Kernel);
    assert_eq!(advice_on(&untested, &results).recommendation, Recommendation::NoAdvice);
}

#[test]
fn the_order_turns_at_the_weight_of_equal_cost() {
    // For `b`, writing costs twice as much and reading half as much.
    let results = campaign(&[("a", 100, 200), ("b", 200, 100)], 6, 5, 3);
    let weights = [(WorkloadCategory::StreamWrite, 70.0), (WorkloadCategory::StreamRead, 30.0)];
    let advice = advice_on(&weights, &results);
    assert_eq!(names(&advice), ["a", "b"]);
    let groups = &advice.ranking[1].groups;
    for group in groups {
        let at = group.turns_at.unwrap();
        assert!((at - 0.5).abs() < 0.02, "{at}");
    }
}

#[test]
fn untested_groups_are_named_with_the_cost_that_turns_the_order() {
    let results = campaign(&[("a", 100, 100), ("b", 400, 100)], 6, 5, 3);
    let weights = [(WorkloadCategory::StreamWrite, 50.0), (WorkloadCategory::Durable, 50.0)];
    let advice = advice_on(&weights, &results);
    let untested = UntestedCategory { group: WorkloadCategory::Durable, share: 0.5 };
    assert_eq!(advice.untested, [untested]);
    let factor = advice.turns_if_untested.unwrap();
    assert!((factor - 4.0).abs() < 0.1, "{factor}");
    assert_eq!(advice.recommendation, Recommendation::NoAdvice, "half of it is not enough");
    let nothing = advice_on(&[(WorkloadCategory::Durable, 1.0)], &results);
    assert_eq!(nothing.recommendation, Recommendation::NoAdvice);
    assert_eq!(nothing.ruled_out[0].ruled_out, [crate::ExclusionReason::NoResults]);
}

#[test]
fn failures_rule_out_contenders_in_a_realistic_campaign() {
    let weights = [(WorkloadCategory::Trees, 60.0), (WorkloadCategory::StreamWrite, 40.0)];
    let advice = advice_on(&weights, &fixture::realistic());
    let out: Vec<&str> = advice.ruled_out.iter().map(|c| c.contender.as_str()).collect();
    assert_eq!(out, ["ntfs-3g", "zfs-fuse"]);
    assert_eq!(advice.ranking.len(), 7);
}
