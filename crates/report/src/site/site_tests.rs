//! Tests of pages over several campaigns and of a site: order of the parts, no scripts, and escaped
//! text.

use model::{CampaignResults, Nanos, Status};
use stats::{
    AnalysedCampaign, CampaignComparison, CompareFilter, History, analyse, compare_campaigns,
    fixture, history,
};

use super::*;

/// Returns campaigns 1 to 12. From 7 on, writes take a third longer, and the fourth campaign failed
/// once.
fn campaigns() -> Vec<CampaignResults> {
    let campaign = |id: i64| {
        let mut results = fixture::plain();
        results.id = id;
        let day = Nanos::from_secs(86_400).0;
        results.started = Nanos(results.started.0 + id.unsigned_abs() * day);
        for stored in &mut results.cells {
            let write = &mut stored.result.as_mut().unwrap().phases[0];
            let percent = if id <= 6 { 100 } else { 130 };
            write.elapsed = Nanos(write.elapsed.0 / 100 * percent + id.unsigned_abs() * 37 % 11);
            if id == 4 && stored.cell.round == 1 {
                write.status = Status::Failed;
            }
        }
        results
    };
    (1..=12).map(campaign).collect()
}

fn found(campaigns: &[CampaignResults]) -> (Vec<CampaignHead>, CampaignComparison, History) {
    let pattern = "*/*".parse().unwrap();
    let analyses: Vec<_> = campaigns.iter().map(analyse).collect();
    let all: Vec<AnalysedCampaign<'_>> = campaigns
        .iter()
        .zip(&analyses)
        .map(|(results, analysis)| AnalysedCampaign::new(results, analysis))
        .collect();
    let mut collector = history(&pattern, &[]);
    for campaign in all.iter().rev() {
        collector.add(*campaign);
    }
    let differences = compare_campaigns(all[0], all[all.len() - 1], &CompareFilter::default());
    let heads = campaigns.iter().map(CampaignHead::from_results).collect();
    (heads, differences.unwrap(), collector.finish())
}

fn over(campaigns: &[CampaignResults]) -> String {
    let (heads, differences, history) = found(campaigns);
    changes_page(HistoryOverview {
        campaigns: &heads,
        differences: &differences,
        history: &history,
    })
}

#[test]
fn page_over_campaigns_lists_changes_first_and_draws_all_results() {
    let page = over(&campaigns());
    let places =
        ["Changes from campaign 1 to campaign 12", "id=\"changes\"", "id=\"history\"", "<svg"];
    let places: Vec<usize> = places.iter().map(|text| page.find(text).expect(text)).collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(page.contains("since campaign 7: "), "the level changed there");
    assert!(page.contains("class=\"border worse\""));
}

#[test]
fn a_line_over_campaigns() {
    let (_, _, history) = found(&campaigns());
    let series = history.series.iter().find(|one| one.contender == "fast" && one.phase == "write");
    let series = series.unwrap();
    let medians = series.points.iter().filter_map(|p| Some(p.estimate?.median));
    let scale = crate::UnitScale::for_metric(series.metric, medians);
    insta::assert_snapshot!(chart::svg(series, &scale).replace("><", ">\n<"));
}

#[test]
fn pages_run_and_fetch_nothing_and_escape_text() {
    let hostile = fixture::hostile();
    let mut again = hostile.clone();
    again.id += 1;
    let analysis = analyse(&hostile);
    let entries = [IndexEntry::from_results(&hostile, &analysis)];
    let site = Site { studies: true };
    let study =
        StudyEntry::new("<script>alert(1)</script>", "\"'><img src=x>", "&amp;", entries.to_vec());
    let (heads, _, history) = found(&[hostile, again.clone()]);
    let pages = [
        over(&[fixture::hostile(), again]),
        index_page(&entries, site),
        studies_page(&[study], site),
        history_page(&heads, &history, site),
        index_page(&[], Site { studies: false }),
    ];
    for page in &pages {
        for forbidden in
            ["<script", "<img", "http://", "https://", "javascript:", "\u{1b}", "\u{202e}"]
        {
            assert!(!page.contains(forbidden), "{forbidden}: {page}");
        }
        let style = page.split("<style>").nth(1).unwrap().split("</style>").next().unwrap();
        assert!(page.contains(&script::csp_hash(style)), "the policy names the style");
    }
    assert!(pages[1].contains("href=\"studies.html\"") && !pages[4].contains("studies.html"));
}

#[test]
fn index_shows_the_result_of_each_campaign() {
    let results = fixture::realistic();
    let analysis = analyse(&results);
    let page =
        index_page(&[IndexEntry::from_results(&results, &analysis)], Site { studies: false });
    let file = campaign_file(results.id);
    assert!(page.contains(&format!("href=\"{file}\"")), "{page}");
    assert!(page.contains("All groups, each weighing the same: "), "{page}");
    let mut nothing = results;
    nothing.cells.iter_mut().for_each(|stored| stored.result = None);
    let analysis = analyse(&nothing);
    let page =
        index_page(&[IndexEntry::from_results(&nothing, &analysis)], Site { studies: false });
    assert!(page.contains("not finished"), "{page}");
}

#[test]
fn a_study_that_was_run_again_has_its_claims_with_both_verdicts() {
    let catalog = config::Catalog::builtin().unwrap();
    let study = catalog.study("os2-shootout-2002").unwrap();
    let study = studies::Study::read(&study).unwrap().unwrap();
    let mut results = fixture::plain();
    results.id = 7;
    let analysis = analyse(&results);
    let twice = studies::Replication::new(&study, &results, &analysis);
    let campaigns = vec![IndexEntry::from_results(&results, &analysis)];
    let entry = StudyEntry::new(&study.title, &study.source, "It is a test.", campaigns);
    let page = studies_page(&[entry.with_claims(&study, &twice)], Site { studies: true });
    for part in [
        "<p>19 claims, judged by its own figures: 11 supported, 3 partly and 5 undecidable.</p>",
        "<p>None of the 19 claims can be judged by the measured results.</p>",
        "<th scope=\"col\">By what was published</th><th scope=\"col\">By campaign 7</th>",
        "<small>interpreted as 1.95 to 2.05 times</small>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    for claim in &study.claims {
        assert_eq!(page.matches(&format!("id=\"claim-{}\"", claim.id)).count(), 1);
    }
}
