//! Tests of the text of answers, with values computed by hand and in every format.

use std::collections::BTreeMap;

use model::WorkloadCategory;
use stats::{
    Candidate, ExclusionReason, Inferior, Margin, ShortlistState, SuitesByGroup, analyse, fixture,
};

use super::*;
use crate::{DocumentOptions, ReportFormat, render};

fn said(sentences: Vec<ConclusionText>) -> Vec<String> {
    let sentences = sentences.into_iter();
    sentences.map(|s| format!("{}: {}", s.question, s.answer)).collect()
}

#[test]
fn each_group_of_a_small_campaign_has_its_answer() {
    insta::assert_snapshot!(said(category_conclusions(&analyse(&fixture::plain()))).join("\n"));
}

#[test]
fn one_round_promises_nothing_and_names_the_command_that_does() {
    let mut results = fixture::plain();
    results.campaign.rounds = 1;
    results.cells.retain(|stored| stored.cell.round == 1);
    let lines = said(category_conclusions(&analyse(&results)));
    let came = "fast came first before middle (2.00×) and slow (4.00×), but one round does not \
                show the noise (--rounds 5 does).";
    assert!(lines[0].ends_with(came), "{}", lines[0]);
    let settle = |results: &_| closer_answer(&analyse(results), "fsarena run --rounds 1 -c a");
    assert_eq!(settle(&results), "`fsarena run --rounds 5 -c a`");
    assert_eq!(settle(&fixture::plain()), "`fsarena run --rounds 9 -c a`");
}

#[test]
fn one_seed_in_virtual_time_gives_exact_differences() {
    let mut results = fixture::plain();
    results.campaign.clock = Clock::Virtual;
    let two_rounds = said(category_conclusions(&analyse(&results)));
    assert!(two_rounds[0].contains("costs at least"), "{two_rounds:?}");
    results.campaign.rounds = 1;
    results.cells.retain(|stored| stored.cell.round == 1);
    let analysis = analyse(&results);
    let lines = said(category_conclusions(&analysis));
    assert!(
        lines[0].contains("Second: middle, 2.00 times as much. slow costs 4.00 times as much."),
        "{lines:?}"
    );
    for format in [ReportFormat::Table, ReportFormat::Markdown, ReportFormat::Html] {
        let text = render(format, &results, &analysis, &DocumentOptions::default());
        assert!(!text.contains("costs at least"), "{format:?}");
    }
}

/// Creates a conclusion from the upper bounds of the contenders, the contenders that are worse with
/// their lower bounds, and the one that the first displaced.
fn concluded(
    group: WorkloadCategory,
    bounds: &[(usize, Option<f64>)],
    worse: &[(usize, f64)],
    displaced: Option<usize>,
) -> Conclusion {
    let ratio = |contender: usize| 1.0 + 0.1 * contender as f64;
    let worse = worse.iter().map(|(contender, at_least)| Inferior {
        contender: *contender,
        at_least: *at_least,
        exact: false,
        ratio: ratio(*contender),
    });
    let bounds = bounds.iter().map(|(contender, at_most)| CostBound {
        contender: *contender,
        ratio: ratio(*contender),
        at_most: *at_most,
        forecast: at_most.map(|share| share / 3.0),
    });
    Conclusion {
        group: Some(group),
        answer: ShortlistState::Undecided { rounds: None },
        shortlist: Vec::new(),
        bounds: bounds.collect(),
        displaced,
        close: Vec::new(),
        worse: worse.collect(),
        unranked: Vec::new(),
    }
}

#[test]
fn an_answer_names_one_with_the_most_that_it_costs() {
    let mut analysis = analyse(&fixture::plain());
    let all = |bounds: [f64; 3]| [0, 1, 2].map(|one| (one, Some(bounds[one])));
    let [space, trees] = [WorkloadCategory::Space, WorkloadCategory::Trees];
    analysis.conclusions = vec![
        concluded(space, &all([0.0, 0.1, 0.3]), &[(2, 0.25)], None),
        concluded(space, &all([0.01, 0.1, 0.3]), &[], None),
        concluded(trees, &all([0.0, 0.0, 4.0]), &[(2, 0.42)], None),
        concluded(trees, &all([0.083, 0.106, 0.3]), &[(1, 0.021), (2, 0.1)], None),
        concluded(trees, &all([0.083, 0.9, 5.0]), &[(1, 0.1), (2, 2.0)], None),
        concluded(trees, &all([1.43, 2.0, 5.0]), &[(2, 1.5)], None),
        concluded(trees, &all([7.0, 30.0, 50.0]), &[], None),
        concluded(trees, &all([9.1, 160.0, 200.0]), &[], None),
        concluded(trees, &[], &[], None),
    ];
    let answers: Vec<String> =
        category_conclusions(&analysis).into_iter().map(|one| one.answer).collect();
    assert_eq!(
        answers,
        [
            "no other needs less disk than fast. Second: middle, at most 10 % more. slow needs at least 25 % more.",
            "fast needs at most 1 % more disk than the best. Second: middle, at most 10 % more.",
            "no other costs less than fast. Second: middle, which is no worse. slow costs at least 42 % more.",
            "fast costs at most 9 % more than the best. Second: middle, at least 2.1 % and at most 11 % more. slow costs at least 10 % more.",
            "fast costs at most 9 % more than the best. middle costs at least 10 % more, slow at least 3.00 times as much.",
            "fast came first, but it may cost up to 2.43 times as much; --rounds 9 would bring about 48 %. slow costs at least 2.50 times as much.",
            "fast came first, but it may cost up to 8.00 times as much.",
            "fast came first before middle (1.10×) and slow (1.20×), but the rounds vary too much for a bound.",
            "no filesystem has all results.",
        ]
    );
}

#[test]
fn the_advice_for_a_use_says_why_a_safer_contender_comes_first() {
    let (_, mut analysis) = answered();
    analysis.features[1].crash_recovery = Some(model::RecoveryMechanism::Journal);
    let conclusion = concluded(
        WorkloadCategory::Trees,
        &[(1, Some(0.04)), (0, Some(0.0)), (2, Some(1.0))],
        &[],
        Some(0),
    );
    analysis.uses[0].conclusion = Conclusion { group: None, ..conclusion };
    let told = "Media: take middle: within 5 % of fast, and it has a journal. It costs at most 4 % more than the best here (95 %). Second: fast, which is no worse. Not tested: power cuts.";
    assert_eq!(said(use_case_conclusions(&analysis))[0], told);
}

#[test]
fn a_use_of_space_alone_compares_disk() {
    let (_, mut analysis) = answered();
    for group in &mut analysis.uses[0].groups {
        group.group = WorkloadCategory::Space;
    }
    let mut told = |bounds: &[(usize, Option<f64>)]| {
        let conclusion = concluded(WorkloadCategory::Space, bounds, &[(2, 0.1)], None);
        analysis.uses[0].conclusion = Conclusion { group: None, ..conclusion };
        said(use_case_conclusions(&analysis)).swap_remove(0)
    };
    let least = told(&[(1, Some(0.0)), (0, Some(0.04))]);
    assert!(least.contains("take middle. No other needs less disk (95 %). Second"), "{least}");
    let bound = told(&[(1, Some(0.02)), (0, Some(0.04))]);
    let expected = "take middle. It needs at most 2 % more disk than the best here (95 %). Second";
    assert!(bound.contains(expected), "{bound}");
    assert!(bound.contains("slow needs at least 10 % more"), "{bound}");
}

#[test]
fn the_answer_for_a_use_states_losses_of_the_contender_to_take() {
    let (_, mut analysis) = answered();
    let conclusion =
        concluded(WorkloadCategory::Trees, &[(1, Some(0.04)), (0, Some(0.2))], &[], None);
    analysis.uses[0].conclusion = Conclusion { group: None, ..conclusion };
    let mut told = |lost| {
        analysis.features[1].power_cuts =
            Some(stats::PowerCutRecord { cuts: 60, lost, worst: String::new(), shipped: None });
        said(use_case_conclusions(&analysis)).swap_remove(0)
    };
    let take = "Media: take middle. It costs at most 4 % more than the best here (95 %).";
    let second = "Second: fast, at most 20 % more; its power cuts are untested.";
    assert_eq!(
        told(0),
        format!("{take} middle lost no synced file in 60 simulated power cuts. {second}")
    );
    assert_eq!(
        told(3),
        format!("{take} middle lost synced files in 3 of 60 simulated power cuts. {second}")
    );
}

#[test]
fn terminal_shows_verdict_before_tables_and_answers_after_them() {
    let results = fixture::plain();
    let analysis = analyse(&results);
    let text = render(ReportFormat::Table, &results, &analysis, &DocumentOptions::default());
    let verdict = category_conclusions(&analysis).pop().unwrap().answer;
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let places: Vec<usize> = flat.match_indices(&verdict).map(|(at, _)| at).collect();
    let table = flat.find("One file").unwrap();
    assert_eq!(places.len(), 2, "{text}");
    assert!(places[0] < table && table < places[1], "{text}");
}

#[test]
fn contenders_without_results_are_named() {
    let all = said(category_conclusions(&analyse(&fixture::realistic())));
    let whole = all.last().unwrap();
    assert!(whole.starts_with("all groups, each weighing the same: "), "{whole}");
    assert!(whole.contains("lack results that others have"), "{whole}");
}

/// Returns a campaign with two use cases: one that can be answered, and one without tests.
fn answered() -> (model::CampaignResults, Analysis) {
    let results = fixture::plain();
    let mut analysis = stats::analyse_with_margin(&results, Margin(0.1), &[]);
    let mut streams = fixture::use_of(&[
        (WorkloadCategory::StreamWrite, 3.0),
        (WorkloadCategory::StreamRead, 1.0),
    ]);
    streams.title = "Media".to_owned();
    let mut mail =
        fixture::use_of(&[(WorkloadCategory::Durable, 45.0), (WorkloadCategory::StreamRead, 1.0)]);
    mail.title = "Mail spool".to_owned();
    let suites: SuitesByGroup =
        BTreeMap::from([(WorkloadCategory::Durable, vec!["fs-mark".to_owned()])]);
    analysis.score_use_cases([&streams, &mail], &suites);
    (results, analysis)
}

#[test]
fn without_evidence_the_advice_is_a_command() {
    let (_, analysis) = answered();
    assert_eq!(
        said(use_case_conclusions(&analysis)),
        [
            "Media: take fast. No other costs less (95 %). middle costs at least 68 % more, slow at least 2.82 times as much. Not tested: power cuts.",
            "Mail spool: no advice, since only 2.2 % of the weight has results, and not durable writes: run the same with `-s fs-mark -s made`.",
        ]
    );
}

#[test]
fn tests_skipped_for_lack_of_budget_need_a_larger_budget() {
    let (_, mut analysis) = answered();
    analysis.budget = Some(model::Nanos::from_secs(60));
    let other = said(use_case_conclusions(&analysis)).pop().unwrap();
    assert!(other.contains("with `-s fs-mark -s made`"), "{other}");
    // The suite is part of the campaign, but its tests have no result.
    for group in &mut analysis.uses[1].groups {
        group.tested_by = vec!["made".to_owned()];
    }
    let late = said(use_case_conclusions(&analysis)).pop().unwrap();
    let told = "and not durable writes: run the same with a larger --budget than 60";
    assert!(late.contains(told), "{late}");
    let mut results = fixture::plain();
    results.campaign.rounds = 1;
    results.cells.retain(|stored| stored.cell.round == 1);
    results.campaign.budget = Some(model::Nanos::from_secs(60));
    let sure = confidence_text(&analyse(&results));
    assert_eq!(sure, "", "no use is open");
}

#[test]
fn several_uses_without_evidence_are_one_sentence_with_one_command() {
    let results = fixture::plain();
    let mut analysis = analyse(&results);
    let mut mail = fixture::use_of(&[(WorkloadCategory::Durable, 1.0)]);
    mail.title = "Mail spool".to_owned();
    let mut build =
        fixture::use_of(&[(WorkloadCategory::Durable, 1.0), (WorkloadCategory::RandomRead, 1.0)]);
    build.title = "Build machine".to_owned();
    let suites = SuitesByGroup::from([
        (WorkloadCategory::Durable, vec!["fs-mark".to_owned()]),
        (WorkloadCategory::RandomRead, vec!["iozone".to_owned()]),
    ]);
    analysis.score_use_cases([&mail, &build], &suites);
    let told = "Mail spool; Build machine: no advice, since no result counts for durable writes and random reads: run the same with `-s fs-mark -s iozone -s made`.";
    assert_eq!(said(use_case_conclusions(&analysis)), [told]);
}

#[test]
fn ruled_out_contenders_have_a_reason() {
    let (_, analysis) = answered();
    let mut advice = advise(&analysis.uses[0]);
    let out = |contender: &str, reason: ExclusionReason| Candidate {
        contender: contender.to_owned(),
        ruled_out: vec![reason],
        not_probed: Vec::new(),
    };
    advice.ruled_out = vec![
        out("tmpfs", ExclusionReason::Baseline),
        out("vfat", ExclusionReason::NoCrashRecovery { why: "a backup is kept".to_owned() }),
        out("ramfs", ExclusionReason::Baseline),
    ];
    assert_eq!(
        no_candidate_text(&advice),
        "nothing; every filesystem is ruled out: tmpfs and ramfs (a baseline); vfat (needs a \
         repair after a crash)."
    );
}

/// Terminal, Markdown, page and advice give the same answer in the same words for every use case
/// and category.
#[test]
fn every_surface_gives_the_same_answers() {
    let (results, analysis) = answered();
    let plain = |text: String| {
        let text = text.replace("\\", "").replace("&#39;", "'");
        let text = text.replace("<code>", "`").replace("</code>", "`");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let options = DocumentOptions::default();
    let surfaces = [ReportFormat::Table, ReportFormat::Markdown, ReportFormat::Html]
        .map(|format| plain(render(format, &results, &analysis, &options)));
    let sentences =
        use_case_conclusions(&analysis).into_iter().chain(category_conclusions(&analysis));
    for sentence in sentences {
        for surface in &surfaces {
            assert!(surface.contains(&sentence.answer), "{sentence:?} is not in {surface}");
        }
    }
    for remark in crate::text::caveats::caveats(&analysis) {
        let remark = remark.to_string();
        for surface in &surfaces {
            assert!(surface.contains(&remark), "{remark} is not in {surface}");
        }
    }
    for (one, sentence) in analysis.uses.iter().zip(use_case_conclusions(&analysis)) {
        let advice = crate::advice_report(&advise(one), &analysis, &results, None, None);
        let advice = plain(crate::render::markdown(&advice));
        // The first letter of the advice is a capital.
        let said = &sentence.answer[1..];
        assert!(advice.contains(said), "{said} is not in {advice}");
    }
}

/// Rounds and budgets are useful only to a user who can run the tests again.
#[test]
fn imported_results_have_no_advice_to_run_again() {
    let mut results = fixture::plain();
    results.campaign.rounds = 1;
    results.cells.retain(|stored| stored.cell.round == 1);
    let said_of = |results: &model::CampaignResults| {
        let analysis = analyse(results);
        said(category_conclusions(&analysis)).join("\n") + &confidence_text(&analysis)
    };
    let own = said_of(&results);
    assert!(own.contains("--rounds 5"), "{own}");
    results.campaign.measured_by = Some(model::ExternalSource {
        program: "bonnie++ 1.98".to_owned(),
        source: "made.csv".to_owned(),
    });
    let elsewhere = said_of(&results);
    assert!(!elsewhere.contains("fsarena run") && !elsewhere.contains("--rounds"), "{elsewhere}");
}

#[test]
fn advice_names_only_suites_that_exist() {
    let ran = CampaignScope {
        suites: [PEERS, RECORDING, "bonnie"].into(),
        budget: None,
        elsewhere: false,
    };
    let text = suite_options(&["tree"].into(), &ran);
    assert_eq!(text, "-s bonnie -s tree");
}

#[test]
fn a_lower_bound_is_never_rounded_up() {
    for (share, shown) in [
        (0.96557, "96 % more"),
        (0.10569, "10 % more"),
        (0.29, "29 % more"),
        (0.0512, "5.1 % more"),
        (0.9951, "99 % more"),
        (1.0254, "2.02 times as much"),
        (1231.9, "1230 times as much"),
    ] {
        assert_eq!(format_excess(round_down(share)), shown, "{share}");
    }
    for step in 1..2000 {
        let share = 0.0007 * f64::from(step).powf(1.7);
        let down = round_down(share);
        assert!(down <= 1.0001 * share && down > 0.89 * share - 1e-9, "{share}: {down}");
    }
}
