//! The section on uses of the report page, in a real browser: for user-defined weights, its sliders
//! give the same answer as every report.

use end_to_end::Viewport;
use model::{
    CampaignResults, CategoryWeight, Clock, CrashRecovery, Feature, Nanos, RecoveryMechanism,
    RequiredFeature, SeededRng, UseCase, WorkloadCategory,
};
use report::{DocumentOptions, ReportFormat, render};
use stats::{analyse, fixture};

use crate::report_page::look;

/// Returns a use that weighs three categories, as in a data file.
fn use_of_files() -> UseCase {
    let weight = |group, weight| CategoryWeight { group, weight, rationale: "because".to_owned() };
    UseCase {
        name: "files".to_owned(),
        title: "Files <b>of</b> all kinds".to_owned(),
        also: Vec::new(),
        source: "made up".to_owned(),
        rationale: "To be weighed.".to_owned(),
        order: None,
        readers: None,
        relevant: None,
        crash_recovery: None,
        snapshots: None,
        needs: Vec::new(),
        weights: vec![
            weight(WorkloadCategory::StreamWrite, 60.0),
            weight(WorkloadCategory::ManyFiles, 30.0),
            weight(WorkloadCategory::Trees, 10.0),
            weight(WorkloadCategory::Durable, 20.0),
        ],
    }
}

#[test]
fn sliders_weigh_as_the_analysis_does() {
    let results = fixture::realistic();
    let mut analysis = analyse(&results);
    analysis.score_use_cases([&use_of_files()], &stats::SuitesByGroup::new());
    let html = render(ReportFormat::Html, &results, &analysis, &DocumentOptions::default());
    look(&html, Viewport::DESK, |page| {
        let mut orders = std::collections::BTreeSet::new();
        for weights in [[60.0, 30.0, 10.0], [1.0, 90.0, 1.0], [100.0, 1.0, 1.0], [7.0, 13.0, 99.0]]
        {
            let set = weights.map(|w| w.to_string()).join(",");
            page.run(&format!(
                "document.querySelectorAll('#uses input[type=range]').forEach((slider, index) => {{ \
                 const weight = [{set}][index]; if (weight === undefined) return; \
                 slider.value = weight; slider.dispatchEvent(new Event('input')); }})"
            ));
            let shown = page.texts(
                "[...document.querySelectorAll('#uses .order tbody tr')].map(row => \
                 row.children[0].textContent + ' ' + row.children[1].textContent)",
            );
            let mut used = use_of_files();
            for (weight, value) in used.weights.iter_mut().zip(weights) {
                weight.weight = value;
            }
            analysis.score_use_cases([&used], &stats::SuitesByGroup::new());
            let bounds = &analysis.uses[0].conclusion.bounds;
            let expected: Vec<(f64, String)> = bounds
                .iter()
                .map(|bound| (bound.ratio, analysis.contenders[bound.contender].clone()))
                .collect();
            assert_eq!(shown.len(), expected.len());
            for (shown, (cost, name)) in shown.iter().zip(&expected) {
                let (shown_name, shown_cost) = shown.rsplit_once(' ').unwrap();
                assert_eq!(shown_name, name);
                let shown_cost: f64 = shown_cost.trim_end_matches('×').parse().unwrap();
                assert!((shown_cost - cost).abs() <= 0.0051 * cost, "{shown} {cost}");
            }
            orders.insert(expected.into_iter().map(|(_, name)| name).collect::<Vec<_>>());
        }
        assert!(orders.len() > 1, "weights that change nothing test nothing");
        let untested = page.number("document.querySelectorAll('#uses input:disabled').length");
        assert_eq!(untested, 1.0, "no test makes each write durable");
        page.run("document.querySelector('#uses .weights button').click()");
        let first = page.text("document.querySelector('#uses input').value");
        assert_eq!(first, "60");
    });
}

#[test]
fn needs_of_the_chosen_use_are_on_the_first_screen() {
    let need = |feature| RequiredFeature { feature, rationale: "copies are links".to_owned() };
    let wanted = UseCase {
        needs: [Feature::HardLinks, Feature::Symlinks, Feature::Xattrs].map(need).into(),
        crash_recovery: Some("it restarts alone".to_owned()),
        snapshots: None,
        ..use_of_files()
    };
    let results = fixture::realistic();
    let mut analysis = analyse(&results);
    analysis.score_use_cases([&wanted], &stats::SuitesByGroup::new());
    let html = render(ReportFormat::Html, &results, &analysis, &DocumentOptions::default());
    look(&html, Viewport { width: 1440, ..Viewport::DESK }, |page| {
        let last = "[...document.querySelectorAll('.needs tbody tr')].at(-1)";
        let low = page.number(&format!("{last}.getBoundingClientRect().bottom"));
        assert!(low <= f64::from(Viewport::DESK.height), "the needs end at {low}");
        let signs = page.texts(
            "[...document.querySelectorAll('.needs tbody tr')].map(row => \
             [...row.cells].slice(1).map(cell => cell.textContent).join(''))",
        );
        assert_eq!(signs.len(), results.campaign.contenders.len());
        assert!(signs.iter().all(|row| row.chars().count() == 5), "{signs:?}");
        assert!(signs.iter().any(|row| row.contains('✓')), "{signs:?}");
        assert!(signs.iter().any(|row| row.contains('✗')), "{signs:?}");
        let cuts: String = signs.iter().filter_map(|row| row.chars().nth(1)).collect();
        assert_eq!(cuts, "??✓??????", "the catalog has a measurement of one filesystem");
        let excluded = page.texts(
            "[...document.querySelectorAll('#uses ul.plain li')].map(item => item.textContent)",
        );
        let of = |name: &str| excluded.iter().find(|line| line.contains(name)).unwrap();
        let both = "no hard-links (EPERM), and no symlinks (EPERM): copies are links";
        assert!(of("exfat-fuse").contains(both), "{excluded:?}");
        let crash =
            "tree/find: crashed in 1 of 3 rounds: the FUSE process ended: signal 11 (SIGSEGV)";
        assert!(of("zfs-fuse").ends_with(crash), "{excluded:?}");
    });
}

/// Returns contenders with a different cost in each phase, some of them equal, with or without
/// realistic noise.
pub(crate) fn spread(seed: u64, rounds: u32, clock: Clock) -> CampaignResults {
    let what = fixture::Simulated {
        contenders: if rounds > 4 { 3 } else { 6 },
        tests: 2,
        rounds,
        slower: 0.0,
        drift: 0.0,
    };
    let mut results = fixture::simulated(seed, what);
    results.campaign.clock = clock;
    for (index, contender) in results.campaign.contenders.iter_mut().enumerate() {
        let by = [RecoveryMechanism::None, RecoveryMechanism::Journal][index % 2];
        let source = "made for a test".to_owned();
        contender.filesystem.facts.crash_recovery =
            Some(CrashRecovery { by, lost_with: Vec::new(), source });
    }
    for stored in &mut results.cells {
        let Some(result) = &mut stored.result else {
            continue;
        };
        for phase in &mut result.phases {
            let key = format!("{} {}", stored.cell.contender, phase.phase);
            let mut rng = SeededRng::substream(seed, &key);
            let far = f64::from(u8::from(stored.cell.contender == "fs2"));
            let some = f64::from(u8::from(rng.below(3) > 0));
            let cost = 1.0 + some * rng.next_f64() + 4.0 * far;
            phase.elapsed = match clock {
                Clock::Virtual => Nanos((1e9 * cost) as u64 + u64::from(stored.cell.round)),
                Clock::Real => Nanos((phase.elapsed.0 as f64 * cost) as u64),
            };
        }
    }
    // A budget skips rounds.
    results
        .cells
        .retain(|stored| (stored.cell.id.0 + stored.cell.round) % 7 != 0 || stored.cell.round < 3);
    results
}

/// Returns the answer of a report for a use with these weights.
fn answer(results: &CampaignResults, weights: &[(WorkloadCategory, f64)]) -> String {
    let mut analysis = analyse(results);
    let suites = [(WorkloadCategory::Durable, vec!["durable".to_owned()])];
    analysis.score_use_cases([&fixture::use_of(weights)], &suites.into());
    let html = render(ReportFormat::Html, results, &analysis, &DocumentOptions::default());
    let uses = &html[html.find("<section id=\"uses\"").expect("a section of uses")..];
    let (_, said) = uses.split_once("<p class=\"said\">").expect("an answer");
    let (said, _) = said.split_once("</p>").expect("its end");
    said.replace("<code>", "").replace("</code>", "")
}

/// Returns a campaign whose cells vary by a factor of up to four.
fn noisy() -> CampaignResults {
    let mut results = spread(6, 2, Clock::Real);
    for stored in &mut results.cells {
        let mut rng = SeededRng::substream(6, &stored.cell.id.0.to_string());
        let factor = 1.0 + 3.0 * rng.next_f64();
        for phase in stored.result.iter_mut().flat_map(|result| &mut result.phases) {
            phase.elapsed = Nanos((phase.elapsed.0 as f64 * factor) as u64);
        }
    }
    results
}

/// Covers many weights, in campaigns of few and of many rounds, and without noise.
#[test]
fn sliders_give_the_same_answer_as_reports_with_these_weights() {
    let groups = [
        WorkloadCategory::StreamWrite,
        WorkloadCategory::StreamRead,
        WorkloadCategory::RandomRead,
        WorkloadCategory::RandomWrite,
        WorkloadCategory::Durable,
    ];
    let campaigns = [
        spread(1, 1, Clock::Real),
        spread(2, 3, Clock::Real),
        spread(3, 4, Clock::Real),
        spread(4, 9, Clock::Real),
        spread(5, 2, Clock::Virtual),
        noisy(),
    ];
    let mut kinds = std::collections::BTreeSet::new();
    for (number, results) in campaigns.iter().enumerate() {
        let mut rng = SeededRng::substream(number as u64, "weights");
        let untested = if number == 1 { 80.0 } else { 5.0 };
        let mut draw = || {
            let tested: Vec<f64> = (0..4).map(|_| (1 + rng.below(100)) as f64).collect();
            groups.into_iter().zip(tested.into_iter().chain([untested])).collect::<Vec<_>>()
        };
        let html = {
            let mut analysis = analyse(results);
            let suites = [(WorkloadCategory::Durable, vec!["durable".to_owned()])];
            analysis.score_use_cases([&fixture::use_of(&draw())], &suites.into());
            render(ReportFormat::Html, results, &analysis, &DocumentOptions::default())
        };
        look(&html, Viewport::DESK, |page| {
            let fixed = page.number("Number(document.querySelector('#uses input:disabled').value)");
            for _ in 0..30 {
                let mut weights = draw();
                weights[4].1 = fixed;
                let set: Vec<String> = weights.iter().map(|(_, w)| w.to_string()).collect();
                page.run(&format!(
                    "document.querySelectorAll('#uses input[type=range]').forEach((slider, index) => {{ \
                     slider.value = [{}][index]; slider.dispatchEvent(new Event('input')); }})",
                    set.join(",")
                ));
                let shown = page.text("document.querySelector('#uses .said').textContent");
                assert_eq!(shown, answer(results, &weights), "{weights:?}");
                let words = [
                    "came first",
                    "may cost up to",
                    "costs at least",
                    "at most",
                    "No other costs less",
                    "it has a journal",
                    "No advice",
                    "times as much",
                ];
                kinds.extend(words.into_iter().filter(|word| shown.contains(word)));
            }
        });
    }
    assert_eq!(kinds.len(), 8, "{kinds:?}");
}

/// Covers contenders that a budget dropped after one round, and sizes.
#[test]
fn the_page_gives_the_answers_of_the_reports_for_the_example_campaigns() {
    let catalog = config::Catalog::builtin().unwrap();
    for name in ["shootout.json", "busy.json"] {
        let path = format!("{}/../docs/examples/{name}", env!("CARGO_MANIFEST_DIR"));
        let results = report::read_json(&std::fs::read(path).unwrap()).unwrap();
        let mut analysis = analyse(&results);
        analysis.score_use_cases(catalog.uses(), &stats::SuitesByGroup::new());
        let html = render(ReportFormat::Html, &results, &analysis, &DocumentOptions::default());
        let answers: Vec<String> = html
            .split("<p class=\"said\">")
            .skip(1)
            .filter_map(|rest| rest.split_once("</p>"))
            .map(|(said, _)| said.replace("<code>", "").replace("</code>", ""))
            .collect();
        assert!(answers.len() > 4, "{answers:?}");
        let shown = look(&html, Viewport::DESK, |page| {
            page.texts(
                "[...document.querySelectorAll('.uses button')].map((tab, use) => { tab.click(); \
                 return document.querySelectorAll('#uses .said')[use].textContent; })",
            )
        });
        assert_eq!(shown, answers, "{name}");
    }
}
