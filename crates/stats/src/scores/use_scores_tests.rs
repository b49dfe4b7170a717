//! Tests use cases with hand-calculated scores, the reasons for exclusion, and the formula that the
//! web page also uses.

use model::{
    AccessPattern, Bytes, CrashRecovery, FilesystemLayer, Io, Nanos, NativeReader, Op, ProbeResult,
    RequiredFeature, RequiredReaders, SnapshotSupport, Status,
};
use proptest::prelude::*;

use super::*;
use crate::{Analysis, ComparisonVerdict, CostBound, SuitesByGroup, analyse, fixture};

/// A use that needs hard links.
fn one(weights: &[(WorkloadCategory, f64)]) -> UseCase {
    UseCase {
        needs: vec![RequiredFeature { feature: Feature::HardLinks, rationale: "links".to_owned() }],
        ..fixture::use_of(weights)
    }
}

fn scores(analysis: &Analysis, one: &UseCase) -> UseCaseScores {
    let mut analysis = analysis.clone();
    analysis.score_use_cases([one], &SuitesByGroup::new());
    analysis.uses.remove(0)
}

const STREAMS: [(WorkloadCategory, f64); 2] =
    [(WorkloadCategory::StreamWrite, 3.0), (WorkloadCategory::StreamRead, 1.0)];

#[test]
fn costs_are_the_weighted_geometric_mean_by_hand() {
    // Writes cost 1, 2 and 4 times the best, reads cost the same.
    let analysis = analyse(&fixture::plain());
    let scores = scores(&analysis, &one(&STREAMS));
    for (index, cost) in [(0, 1.0f64), (1, 2.0), (2, 4.0)] {
        let (wanted, found) = (cost.powf(0.75), scores.places[index].unwrap().ratio);
        assert!((found - wanted).abs() < 1e-9 * wanted, "{found}");
    }
    let reads = scores.groups.iter().find(|g| g.group == WorkloadCategory::StreamRead);
    assert!(reads.unwrap().ratios.iter().all(|ratio| (ratio.unwrap() - 1.0).abs() < 1e-12));
}

#[test]
fn a_contender_is_ruled_out_with_every_reason() {
    let mut results = fixture::plain();
    fixture::make_baseline(&mut results.campaign.contenders[0]);
    for stored in &mut results.cells {
        let result = stored.result.as_mut().unwrap();
        match stored.cell.contender.as_str() {
            "fast" => {
                let no = ProbeResult::No("EPERM".to_owned());
                result.features.0.insert(Feature::HardLinks, no);
            }
            "slow" if stored.cell.round == 2 => result.phases[1].status = Status::Crashed,
            _ => {}
        }
    }
    let scores = scores(&analyse(&results), &one(&STREAMS));
    let [fast, middle, slow] = &scores.candidates[..] else { panic!("three contenders") };
    let wanted = [
        ExclusionReason::Baseline,
        ExclusionReason::MissingFeature {
            feature: Feature::HardLinks,
            found: "EPERM".to_owned(),
            why: "links".to_owned(),
        },
    ];
    assert_eq!(fast.ruled_out, wanted);
    assert_eq!(middle.ruled_out, []);
    let failure = ExclusionReason::Failure {
        test: "file".to_owned(),
        phase: "read".to_owned(),
        outcome: RoundOutcome::Crashed,
        reason: String::new(),
        rounds: 1,
        of: 3,
    };
    assert_eq!(slow.ruled_out, [failure]);
    assert_eq!(scores.conclusion.shortlist, [1]);
}

#[test]
fn a_contender_that_never_flushes_is_ruled_out_for_durable_writes() {
    let mut results = fixture::plain();
    let synced = Io { fsync: 1, ..Io::new("f", AccessPattern::Write, Bytes::mib(1)) };
    results.campaign.suites[0].tests[0].phases[0].op = Op::Io(synced);
    for stored in &mut results.cells {
        let flushes = u64::from(stored.cell.contender != "fast");
        let phase = &mut stored.result.as_mut().unwrap().phases[0];
        phase.operations = 10;
        phase.device.get_or_insert_default().flushes = flushes;
    }
    let analysis = analyse(&results);
    let durable = scores(&analysis, &one(&[(WorkloadCategory::Durable, 1.0)]));
    let not_durable = ExclusionReason::NotDurable { operations: 30 };
    assert_eq!(durable.candidates[0].ruled_out, [not_durable]);
    assert!(durable.candidates[1].ruled_out.is_empty());
    let others = scores(&analysis, &one(&[(WorkloadCategory::StreamRead, 1.0)]));
    assert!(others.candidates[0].ruled_out.is_empty());
}

#[test]
fn a_portable_disk_rules_out_filesystems_no_other_system_reads() {
    let mut results = fixture::plain();
    let read_by = |system, writes| NativeReader { system, writes, source: "a manual".to_owned() };
    let contenders = &mut results.campaign.contenders;
    contenders[1].filesystem.facts.read_by = vec![read_by(OperatingSystem::Linux, true)];
    contenders[2].filesystem.facts.read_by =
        vec![read_by(OperatingSystem::Linux, true), read_by(OperatingSystem::Os2, false)];
    let carried = UseCase {
        readers: Some(RequiredReaders {
            one_of: vec![OperatingSystem::Windows, OperatingSystem::Os2],
            rationale: "it is carried".to_owned(),
        }),
        ..one(&STREAMS)
    };
    let scores = scores(&analyse(&results), &carried);
    let reasons = |index: usize| &scores.candidates[index].ruled_out[..];
    assert_eq!(reasons(0), [], "the readers are unknown");
    let unread = ExclusionReason::MissingReader {
        read_by: vec![OperatingSystem::Linux],
        why: "it is carried".to_owned(),
    };
    assert_eq!(reasons(1), [unread]);
    assert_eq!(reasons(2), [], "OS/2 reads it");
}

fn recovery(by: RecoveryMechanism) -> Option<CrashRecovery> {
    let lost_with = vec!["nobarrier".to_owned()];
    Some(CrashRecovery { by, lost_with, source: "a manual".to_owned() })
}

#[test]
fn what_needs_a_repair_after_a_crash_is_ruled_out_if_the_use_does_without() {
    let mut results = fixture::plain();
    let contenders = &mut results.campaign.contenders;
    contenders[0].filesystem.facts.crash_recovery = recovery(RecoveryMechanism::None);
    contenders[1].filesystem.facts.crash_recovery = recovery(RecoveryMechanism::Journal);
    contenders[2] = contenders[1].clone();
    contenders[2].name = "slow".to_owned();
    contenders[2].mount_options = vec!["noatime,nobarrier".to_owned()];
    let careful = UseCase { crash_recovery: Some("mail".to_owned()), ..one(&STREAMS) };
    let scores = scores(&analyse(&results), &careful);
    let reasons = |index: usize| &scores.candidates[index].ruled_out[..];
    let repair = ExclusionReason::NoCrashRecovery { why: "mail".to_owned() };
    assert_eq!(reasons(0), std::slice::from_ref(&repair));
    assert_eq!(reasons(1), []);
    assert_eq!(reasons(2), [repair], "an option disables the journal");
}

#[test]
fn what_takes_no_snapshots_is_ruled_out_if_the_use_needs_them() {
    let mut results = fixture::plain();
    let contenders = &mut results.campaign.contenders;
    for (contender, by) in contenders.iter_mut().zip(["snap", "none"]) {
        let support = SnapshotSupport { by: by.to_owned(), source: "a manual".to_owned() };
        contender.filesystem.facts.snapshots = Some(support);
    }
    contenders[2] = contenders[1].clone();
    contenders[2].name = "slow".to_owned();
    let thin = FilesystemLayer {
        name: "thin".to_owned(),
        on: "plain".to_owned(),
        disks: 1,
        compresses: false,
    };
    contenders[2].filesystem.layers = vec![thin];
    let nas = UseCase { snapshots: Some("yesterday".to_owned()), ..one(&STREAMS) };
    let scores = scores(&analyse(&results), &nas);
    let reasons = |index: usize| &scores.candidates[index].ruled_out[..];
    assert_eq!(reasons(0), []);
    assert_eq!(reasons(1), [ExclusionReason::NoSnapshots { why: "yesterday".to_owned() }]);
    assert_eq!(reasons(2), [], "the layer may take them");
}

#[test]
fn a_failure_outside_the_weighted_groups_rules_out_no_contender() {
    let mut results = fixture::plain();
    for stored in &mut results.cells {
        stored.result.as_mut().unwrap().phases[0].status = Status::Failed;
    }
    let reads = one(&[(WorkloadCategory::StreamRead, 1.0)]);
    let scores = scores(&analyse(&results), &reads);
    assert!(scores.candidates.iter().all(|c| c.ruled_out.is_empty()));
}

/// A filesystem that is damaged according to its check is ruled out, regardless of the test.
#[test]
fn damage_in_a_test_that_does_not_count_rules_out() {
    let mut results = fixture::realistic();
    for stored in &mut results.cells {
        if stored.cell.contender == "xfs" && stored.cell.test == "large-file" {
            let result = stored.result.as_mut().unwrap();
            result.status = Status::Failed;
            result.failure = Some(fixture::failure("fsck", "errors were found", None));
        }
    }
    let trees = fixture::use_of(&[(WorkloadCategory::Trees, 1.0)]);
    let scores = scores(&analyse(&results), &trees);
    for candidate in &scores.candidates {
        let is_out = ["xfs", "zfs-fuse"].contains(&candidate.contender.as_str());
        assert_eq!(!candidate.ruled_out.is_empty(), is_out, "{candidate:?}");
    }
}

#[test]
fn a_result_that_one_cannot_have_does_not_count_and_is_named() {
    let mut results = fixture::plain();
    for stored in &mut results.cells {
        if stored.cell.contender == "middle" {
            stored.result.as_mut().unwrap().phases[0].status = Status::Unsupported;
        }
    }
    let scores = scores(&analyse(&results), &one(&STREAMS));
    let lacking = vec![("middle".to_owned(), "unsupported".to_owned())];
    assert_eq!(
        scores.excluded_results,
        [ExcludedResult { test: "file".to_owned(), phase: "write".to_owned(), lacking }]
    );
    assert!(scores.groups[0].results.is_empty(), "no results remain");
    assert_eq!(scores.groups[1].results.len(), 1);
}

#[test]
fn an_untried_feature_is_named_and_rules_out_no_contender() {
    let mut results = fixture::plain();
    for stored in &mut results.cells {
        stored.result.as_mut().unwrap().features.0.clear();
    }
    let scores = scores(&analyse(&results), &one(&STREAMS));
    for candidate in &scores.candidates {
        assert!(candidate.ruled_out.is_empty());
        assert_eq!(candidate.not_probed, [Feature::HardLinks]);
    }
}

proptest! {
    /// Every number that a report states twice is the same: the cost of a use follows from the
    /// costs of its groups, the cheapest costs 1, and bounds contain the estimate.
    #[test]
    fn the_costs_of_groups_and_uses_agree(
        walls in prop::collection::vec(1_000_000u64..1_000_000_000, 18),
        weights in prop::array::uniform2(0.1..10.0f64),
    ) {
        let mut results = fixture::plain();
        let mut walls = walls.into_iter();
        for stored in &mut results.cells {
            for phase in &mut stored.result.as_mut().unwrap().phases {
                phase.elapsed = Nanos(walls.next().unwrap());
            }
        }
        let groups = [(WorkloadCategory::StreamWrite, weights[0]), (WorkloadCategory::StreamRead, weights[1])];
        let analysis = analyse(&results);
        let scores = scores(&analysis, &one(&groups));
        let of_use = scores.groups.iter().map(|group| (group.weight, group.ratios.clone()));
        let of_overall = analysis.overall.groups.iter().map(|group| {
            (1.0, group.scores.iter().map(|score| Some(score.place?.ratio)).collect())
        });
        let total: Vec<Option<Rank>> = analysis.overall.total.iter().map(|score| score.place).collect();
        for (parts, places) in [
            (of_use.collect::<Vec<(f64, Vec<Option<f64>>)>>(), &scores.places),
            (of_overall.collect(), &total),
        ] {
            let whole: f64 = parts.iter().map(|(weight, _)| weight).sum();
            let costs: Vec<f64> = (0..3).map(|contender| {
                let logs = parts.iter().map(|(weight, ratios)| weight * ratios[contender].unwrap().ln());
                (logs.sum::<f64>() / whole).exp()
            }).collect();
            let lowest = costs.iter().copied().fold(f64::INFINITY, f64::min);
            for (cost, place) in costs.iter().zip(places) {
                let (wanted, place) = (cost / lowest, place.unwrap());
                prop_assert!((place.ratio - wanted).abs() <= 1e-9 * wanted, "{:?} {}", place, wanted);
                prop_assert!(place.at_most.unwrap() >= place.ratio - 1.0 - 1e-9);
                if let ComparisonVerdict::WorseByAtLeast(share) = place.verdict {
                    prop_assert!(share <= place.ratio - 1.0 + 1e-9);
                }
            }
        }
        let conclusions = analysis.conclusions.iter().chain([&scores.conclusion]);
        for conclusion in conclusions {
            let ratios = conclusion.bounds.iter().map(|bound| bound.ratio);
            prop_assert_eq!(ratios.fold(f64::INFINITY, f64::min), 1.0);
        }
    }
}

/// Two contenders may have about the same bound although one costs clearly more: each has another
/// rival that varies.
#[test]
fn recovery_does_not_outweigh_a_higher_cost() {
    let bound = |contender, ratio, most| CostBound {
        contender,
        ratio,
        at_most: Some(most),
        forecast: None,
    };
    for (ratio, taken) in [(1.04, 1), (1.18, 0)] {
        let bounds = vec![bound(0, 1.0, 0.32), bound(1, ratio, 0.36)];
        let conclusion = Conclusion { bounds, ..conclude(&[], |_| false) };
        let preferred = conclusion.prefer(Margin::default(), |contender| contender == 1);
        assert_eq!(preferred.pick(), Some(taken), "{ratio}");
        assert_eq!(preferred.displaced.is_some(), taken == 1, "{ratio}");
    }
}
