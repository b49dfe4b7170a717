//! Tests the analysis of hand-made campaigns.

use model::{CacheState, CampaignResults, Direction, HarmlessMessage, Metric, PosixClass, Status};

use super::*;
use crate::fixture::{self, BIDI, CONTROL, LONG, SCRIPT};
use crate::{Completeness, FeatureSupport, MetricResult, RankingState, RoundOutcome};

fn row_of<'a>(analysis: &'a Analysis, test: &str, phase: &str, metric: Metric) -> &'a ResultRow {
    analysis.rows.iter().find(|r| r.test == test && r.phase == phase && r.metric == metric).unwrap()
}

fn result<'a>(
    analysis: &'a Analysis,
    contender: &str,
    test: &str,
    phase: &str,
) -> &'a MetricResult {
    analysis
        .rows
        .iter()
        .find(|r| r.test == test && r.phase == phase && r.primary)
        .and_then(|r| r.results.iter().find(|f| f.contender == contender))
        .unwrap()
}

fn each_phase(
    results: &mut CampaignResults,
    mut change: impl FnMut(&str, u32, &mut model::PhaseResult),
) {
    for stored in &mut results.cells {
        let cell = stored.cell.clone();
        for phase in stored.result.iter_mut().flat_map(|r| &mut r.phases) {
            change(&cell.contender, cell.round, phase);
        }
    }
}

#[test]
fn medians_intervals_and_places_worked_out_by_hand() {
    let analysis = analyse(&fixture::plain());
    let row = row_of(&analysis, "file", "write", Metric::Throughput);
    let estimate = row.results[1].estimate.unwrap();
    // 100 MB in 1.98 s, 2.00 s and 2.02 s.
    assert!((estimate.median - 5e7).abs() < 1e-3);
    assert!((estimate.interval.low - 1e8 / 2.02).abs() < 1e-3);
    assert!((estimate.interval.high - 1e8 / 1.98).abs() < 1e-3);
    assert!((estimate.interval.confidence - 0.75).abs() < 1e-12);
    let places = row.results.iter().map(|f| f.place.unwrap());
    let places: Vec<_> = places.map(|p| (p.order, p.best, p.worst)).collect();
    assert_eq!(places, [(1, true, false), (2, false, false), (3, false, true)]);
    let elapsed = row_of(&analysis, "file", "write", Metric::Elapsed);
    assert_eq!(elapsed.direction, Direction::Lower);
    assert!(elapsed.results[0].place.unwrap().best);
}

#[test]
fn equal_readers_are_equal_and_unmarked() {
    let analysis = analyse(&fixture::plain());
    for result in &row_of(&analysis, "file", "read", Metric::Throughput).results {
        let place = result.place.unwrap();
        assert!(place.is_equal() && !place.best && !place.worst, "{place:?}");
    }
}

#[test]
fn phases_are_counted_and_not_added_up() {
    let analysis = analyse(&fixture::plain());
    let fast = &analysis.phase_counts[0];
    assert_eq!((fast.best, fast.shortlisted, fast.phases), (1, 2, 2));
    let slow = &analysis.phase_counts[2];
    assert_eq!((slow.best, slow.shortlisted, slow.results), (0, 1, 2));
}

#[test]
fn neutral_metrics_are_shown_and_not_ranked() {
    let analysis = analyse(&fixture::plain());
    let row = row_of(&analysis, "file", "write", Metric::CpuMachine);
    assert_eq!(row.ranking, RankingState::NoDirection);
    assert!(row.results.iter().all(|f| f.place.is_none() && f.estimate.is_some()));
}

#[test]
fn the_headline_comes_first_even_without_values() {
    let mut results = fixture::plain();
    each_phase(&mut results, |_, _, phase| phase.status = Status::Failed);
    let analysis = analyse(&results);
    assert_eq!(analysis.rows.len(), 2);
    assert!(analysis.rows.iter().all(|row| row.primary));
    let words = analysis.rows[0].results[0].outcome_counts();
    assert_eq!(words, [(RoundOutcome::Failed, 3)]);
}

#[test]
fn results_from_different_cache_states_are_not_ranked() {
    let mut results = fixture::plain();
    each_phase(&mut results, |who, _, phase| {
        if who == "slow" {
            phase.cache = CacheState::FadviseDontNeed;
        }
    });
    let analysis = analyse(&results);
    let row = row_of(&analysis, "file", "read", Metric::Throughput);
    assert_eq!(row.ranking, RankingState::DifferentCaches);
    assert_eq!(row.caches, [CacheState::Cold, CacheState::FadviseDontNeed]);
    assert!(row.results.iter().all(|f| f.place.is_none()));
}

/// The others are ranked as if the baseline did not exist, in any cache state: data in memory is
/// never cold.
#[test]
fn a_baseline_is_not_ranked_and_does_not_affect_other_ranks() {
    let mut results = fixture::rising(7, 0.01);
    let without = analyse(&results);
    let mut baseline = fixture::contender("baseline", model::DriverKind::Kernel);
    fixture::make_baseline(&mut baseline);
    results.campaign.contenders.push(baseline);
    let of_fast = results.cells.clone().into_iter();
    let of_fast: Vec<_> = of_fast.filter(|c| c.cell.contender == "fast").collect();
    for mut stored in of_fast {
        stored.cell.contender = "baseline".to_owned();
        stored.cell.id = model::CellId(stored.cell.id.0 + 1_000);
        let phases = &mut stored.result.as_mut().expect("it is whole").phases;
        for phase in phases {
            phase.cache = CacheState::Warm;
            phase.elapsed = model::Nanos(phase.elapsed.0 / 10);
        }
        results.cells.push(stored);
    }
    let analysis = analyse(&results);
    let read = row_of(&analysis, "file", "read", Metric::Throughput);
    assert_eq!(read.ranking, RankingState::Ranked);
    assert!(read.results[3].set_apart && read.results[3].place.is_none());
    assert!(read.results[3].estimate.is_some(), "it is shown");
    let alone = row_of(&without, "file", "read", Metric::Throughput);
    for (result, alone) in read.results.iter().zip(&alone.results) {
        assert_eq!(result, alone);
    }
    // Writes are warm for all contenders, yet the baseline is still not ranked.
    let write = row_of(&analysis, "file", "write", Metric::Throughput);
    assert!(write.results[3].set_apart && write.results[3].place.is_none());
    let reads = |analysis: &Analysis| {
        let mut groups = analysis.overall.groups.iter();
        let group = groups.find(|g| g.group == crate::WorkloadCategory::StreamRead);
        group.expect("there are reads").scores.clone()
    };
    let scores = reads(&analysis);
    assert_eq!(scores[..3], reads(&without)[..]);
    assert_eq!((scores[3].missing, scores[3].set_apart, scores[3].place), (1, 1, None));
}

#[test]
fn a_campaign_of_only_baselines_ranks_them_all() {
    let mut results = fixture::plain();
    for contender in &mut results.campaign.contenders {
        fixture::make_baseline(contender);
    }
    each_phase(&mut results, |_, _, phase| phase.cache = CacheState::Warm);
    let analysis = analyse(&results);
    let row = row_of(&analysis, "file", "read", Metric::Throughput);
    assert_eq!(row.ranking, RankingState::Ranked);
    assert!(row.results.iter().all(|f| f.place.is_some()));
}

#[test]
fn totals_over_different_work_are_not_ranked_but_rates_are() {
    let mut results = fixture::plain();
    each_phase(&mut results, |who, round, phase| {
        phase.time_limited = who == "slow" && round == 2 && phase.phase == "write";
    });
    let analysis = analyse(&results);
    let elapsed = row_of(&analysis, "file", "write", Metric::Elapsed);
    assert_eq!(elapsed.ranking, RankingState::TimeLimited);
    assert!(elapsed.results[2].is_lower_bound(Metric::Elapsed));
    let rate = row_of(&analysis, "file", "write", Metric::Throughput);
    assert_eq!(rate.ranking, RankingState::Ranked);
}

#[test]
fn a_number_that_is_not_finite_is_not_measured() {
    let mut results = fixture::plain();
    each_phase(&mut results, |_, _, phase| {
        phase.elapsed = model::Nanos(0);
    });
    let analysis = analyse(&results);
    let row = row_of(&analysis, "file", "write", Metric::Throughput);
    assert_eq!(row.results[0].outcome_counts(), [(RoundOutcome::NotMeasured, 3)]);
}

#[test]
fn every_hole_has_its_word() {
    let analysis = analyse(&fixture::hostile());
    let word = |who, test, phase| result(&analysis, who, test, phase).outcome_counts()[0];
    assert_eq!(word(SCRIPT, "bonnie-files", "stat-seq"), (RoundOutcome::Unsupported, 3));
    assert_eq!(word(BIDI, "bonnie-block", "read"), (RoundOutcome::Failed, 2));
    assert_eq!(word(BIDI, "bonnie-block", "seek"), (RoundOutcome::Skipped, 2));
    assert_eq!(word(CONTROL, "bonnie-block", "write"), (RoundOutcome::Crashed, 3));
    assert_eq!(word(CONTROL, "bonnie-files", "create-seq"), (RoundOutcome::Hung, 3));
    assert_eq!(word(CONTROL, "bonnie-files", "stat-seq"), (RoundOutcome::Invalid, 3));
    assert_eq!(word(LONG, "lifecycle", "fsck"), (RoundOutcome::Skipped, 3));
    assert_eq!(word(LONG, "bonnie-block", "read"), (RoundOutcome::NotRun, 1));
    for row in &analysis.rows {
        for result in &row.results {
            assert_eq!(result.rounds.len(), 3);
            for round in &result.rounds {
                assert_eq!(round.value.is_some(), round.outcome == RoundOutcome::Ok);
            }
        }
    }
}

#[test]
fn a_result_from_the_rounds_that_survived_has_no_place() {
    let analysis = analyse(&fixture::hostile());
    let result = result(&analysis, BIDI, "bonnie-block", "read");
    assert_eq!(result.estimate.unwrap().rounds, 1);
    assert!(result.has_failed_rounds());
    assert_eq!(result.place, None);
}

#[test]
fn a_running_campaign_counts_the_cells_not_yet_run() {
    let analysis = analyse(&fixture::hostile());
    assert_eq!(analysis.counts.completeness, Completeness::Incomplete);
    assert_eq!(analysis.counts.by_outcome[&RoundOutcome::NotRun], 2);
    assert_eq!(analysis.counts.cells, 45);
    assert_eq!(analysis.counts.run, 43);
    let mut results = fixture::plain();
    for stored in &mut results.cells {
        stored.result = None;
    }
    let nothing = analyse(&results);
    assert_eq!(nothing.rows[0].results[0].outcome_counts(), [(RoundOutcome::NotRun, 3)]);
    assert!(nothing.failures.is_empty());
}

#[test]
fn failures_carry_their_evidence() {
    let analysis = analyse(&fixture::hostile());
    let of = |who: &str, test: &str| {
        analysis.failures.iter().find(|f| f.contender == who && f.test == test).unwrap()
    };
    let mkfs = of(LONG, "lifecycle");
    assert_eq!((mkfs.status, mkfs.step.as_str()), (Status::Failed, "mkfs"));
    assert!(mkfs.steps[0].output.contains("too small"));
    let link = of(SCRIPT, "bonnie-files");
    assert_eq!(link.status, Status::Unsupported);
    assert_eq!(link.error.as_ref().unwrap().name, "EPERM");
    assert_eq!(link.phases.len(), 1);
    let oops = of(CONTROL, "bonnie-block");
    assert!(oops.kernel_log[0].contains("BUG"));
    let hang = of(CONTROL, "bonnie-files");
    assert_eq!(hang.stacks.len(), 1);
    assert_eq!(analysis.failures.len(), 3 + 2 + 3 + 3 + 3);
}

#[test]
fn a_failed_phase_is_a_failure_even_in_a_cell_marked_ok() {
    let mut results = fixture::plain();
    each_phase(&mut results, |who, round, phase| {
        if who == "slow" && round == 1 && phase.phase == "read" {
            phase.status = Status::Failed;
        }
    });
    let analysis = analyse(&results);
    assert_eq!(analysis.failures.len(), 1);
    let failure = &analysis.failures[0];
    assert_eq!((failure.status, failure.step.as_str()), (Status::Failed, "read"));
    assert_eq!(failure.reason, "no reason was recorded");
}

#[test]
fn the_kernel_may_complain_of_a_cell_that_passed() {
    let analysis = analyse(&fixture::hostile());
    assert_eq!(analysis.complaints.len(), 1);
    let complaint = &analysis.complaints[0];
    assert_eq!(complaint.contender, "ext4");
    assert_eq!(complaint.events.len(), 1, "the mount message is no complaint");
    assert!(complaint.events[0].title.contains("checksum"));
}

#[test]
fn a_message_that_the_catalog_knows_to_be_harmless_is_no_complaint() {
    let mut results = fixture::hostile();
    let message = |text: &str| HarmlessMessage { text: text.to_owned(), why: "tried".to_owned() };
    let known = |results: &mut CampaignResults, texts: &[&str]| {
        let contenders = &mut results.campaign.contenders;
        let ext4 = contenders.iter_mut().find(|contender| contender.name == "ext4").unwrap();
        ext4.filesystem.facts.harmless = texts.iter().map(|text| message(text)).collect();
    };
    known(&mut results, &["another text"]);
    assert_eq!(analyse(&results).complaints.len(), 1);
    known(&mut results, &["another text", "checksum"]);
    assert!(analyse(&results).complaints.is_empty());
}

#[test]
fn features_are_merged_and_the_class_follows() {
    let analysis = analyse(&fixture::hostile());
    let of = |name: &str| analysis.features.iter().find(|f| f.contender == name).unwrap();
    let script = of(SCRIPT);
    assert_eq!(script.class, PosixClass::PartialPosix);
    assert_eq!(script.features[0].found, FeatureSupport::Varies("EPERM".to_owned()));
    assert_eq!(script.features[1].found, FeatureSupport::Yes);
    assert_eq!(of(CONTROL).class, PosixClass::Posix);
}

#[test]
fn unselected_contenders_and_rows_do_not_affect_the_results() {
    let results = fixture::plain();
    let mut analysis = analyse(&results);
    let rows = vec![true; analysis.rows.len()];
    let contenders = analysis.contenders.iter().map(|name| name != "fast");
    let contenders = contenders.collect();
    analysis.restrict_to(&results, Selection { contenders, rows });
    let write = &analysis.rows[0];
    assert_eq!(write.results[0].place, None);
    assert!(write.results[1].place.is_some_and(|place| place.best));
    let scores = &analysis.overall.groups[0].scores;
    assert_eq!(scores[1].place.unwrap().ratio, 1.0, "the best of those left");
    assert_eq!(analysis.conclusions[0].shortlist, [1]);
    let weights = [(model::WorkloadCategory::StreamWrite, 1.0)];
    analysis.score_use_cases([&fixture::use_of(&weights)], &SuitesByGroup::new());
    assert_eq!(analysis.uses[0].conclusion.shortlist, [1]);
}

/// The rate of a phase that its limit cut after three operations is that of its beginning: a stall
/// would make it 185,000 times slower than the others.
#[test]
fn a_phase_that_its_limit_cut_at_its_beginning_is_not_ranked() {
    let cut = |operations: u64| {
        let mut results = fixture::plain();
        each_phase(&mut results, |contender, round, phase| {
            if (contender, round, phase.phase.as_str()) == ("slow", 1, "write") {
                (phase.time_limited, phase.operations) = (true, operations);
            }
        });
        row_of(&analyse(&results), "file", "write", Metric::Throughput).ranking
    };
    assert_eq!((cut(3), cut(1000)), (RankingState::TimeLimited, RankingState::Ranked));
}

#[test]
fn space_that_files_take_is_ranked_after_one_round() {
    let mut results = fixture::plain();
    results.campaign.rounds = 1;
    results.cells.retain(|stored| stored.cell.round == 1);
    each_phase(&mut results, |contender, _, phase| {
        let taken = if contender == "slow" { 240 } else { 100 };
        if let (Some(before), Some(after)) = (phase.space_before, phase.space_after.as_mut()) {
            after.free = model::Bytes(before.free.0 - (taken << 20));
        }
    });
    let analysis = analyse(&results);
    let row = row_of(&analysis, "file", "write", Metric::SpaceTaken);
    let places: Vec<_> = row.results.iter().map(|f| f.place.unwrap()).collect();
    assert!(places[0].is_equal() && places[1].is_equal() && places[2].worst, "{places:?}");
}
