//! Counts false verdicts in real campaigns without differences: `make error-rates-real`.
//!
//! Reads JSON reports of one plan whose contenders are all identical, in the order in which their
//! campaigns ran. Every "better" or "worse" in them is therefore false. Neighbouring campaigns are
//! also compared, by rounds and as sessions.

use std::process::ExitCode;

use model::CampaignResults;
use stats::{
    AnalysedCampaign, Analysis, CampaignComparison, CompareFilter, ComparisonVerdict, Conclusion,
    ResultChange, ShortlistState, SuitesByGroup, analyse, compare_campaigns, compare_sessions,
};

/// Number of sessions on each side of a comparison.
const SESSIONS: usize = 3;
/// Maximum share of false findings.
const LIMIT: f64 = 0.05;

fn main() -> ExitCode {
    let files: Vec<String> = std::env::args().skip(1).collect();
    let read = |file: &String| {
        let bytes = std::fs::read(file).unwrap_or_else(|why| panic!("{file}: {why}"));
        report::read_json(&bytes).unwrap_or_else(|why| panic!("{file}: {why}"))
    };
    let campaigns: Vec<(CampaignResults, Analysis)> =
        files.iter().map(read).map(analysed).collect();
    let all = campaigns.len();
    println!(
        "{all} campaigns, each of one filesystem under several names; false of them, in %, ± half a 95 % interval\n"
    );
    let mut is_above = false;
    let mut line = |what: &str, values: &[f64]| {
        let (mean, half) = mean(values);
        println!("{what:<70} {:>5.1} ± {:.1}   (of {})", 100.0 * mean, 100.0 * half, values.len());
        is_above |= mean - half > LIMIT;
    };
    let analyses = || campaigns.iter().map(|(_, analysis)| analysis);
    line(
        "reports whose answer excludes a contender",
        &analyses().map(opens_falsely).collect::<Vec<_>>(),
    );
    line(
        "reports that mark a best or worst result or shorten a shortlist",
        &analyses().map(false_marks).collect::<Vec<_>>(),
    );
    let pairs: Vec<f64> =
        campaigns.windows(2).map(|two| f64::from(u8::from(by_rounds(&two[0], &two[1])))).collect();
    let (mean_of_pairs, half) = mean(&pairs);
    println!(
        "{:<70} {:>5.1} ± {:.1}   (of {}; the limit does not apply to pairs)",
        "pairs of campaigns with a value reported as changed, by rounds",
        100.0 * mean_of_pairs,
        100.0 * half,
        pairs.len()
    );
    let sixes = campaigns.windows(2 * SESSIONS);
    let sixes: Vec<f64> = sixes.map(|six| f64::from(u8::from(by_sessions(six)))).collect();
    line("groups of three campaigns with a change to the next three, by sessions", &sixes);
    match is_above {
        true => ExitCode::from(1),
        false => ExitCode::SUCCESS,
    }
}

fn analysed(results: CampaignResults) -> (CampaignResults, Analysis) {
    let catalog = config::Catalog::builtin().expect("the catalog is sound");
    let mut analysis = analyse(&results);
    analysis.score_use_cases(catalog.uses(), &SuitesByGroup::new());
    (results, analysis)
}

fn opens_falsely(analysis: &Analysis) -> f64 {
    let uses = analysis.uses.iter().map(|one| &one.conclusion);
    let mut all = analysis.conclusions.iter().chain(uses);
    let is_false = |conclusion: &Conclusion| {
        !conclusion.worse.is_empty() || conclusion.answer == ShortlistState::Best
    };
    f64::from(u8::from(all.any(is_false)))
}

/// Returns 1 if any result is marked, otherwise 0. All marks are false here.
fn false_marks(analysis: &Analysis) -> f64 {
    let places = analysis.rows.iter().flat_map(|row| &row.results);
    let mut places = places.filter_map(|result| result.place);
    f64::from(u8::from(places.any(|place| place.best || place.worst || !place.shortlisted)))
}

type CampaignWithAnalysis = (CampaignResults, Analysis);

fn by_rounds(before: &CampaignWithAnalysis, after: &CampaignWithAnalysis) -> bool {
    let found = compare_campaigns(side(before), side(after), &CompareFilter::default());
    has_changed(&found.expect("they are comparable"))
}

fn by_sessions(six: &[CampaignWithAnalysis]) -> bool {
    let sides: Vec<AnalysedCampaign<'_>> = six.iter().map(side).collect();
    let (before, after) = sides.split_at(SESSIONS);
    has_changed(
        &compare_sessions(before, after, &CompareFilter::default()).expect("they are comparable"),
    )
}

fn side(campaign: &CampaignWithAnalysis) -> AnalysedCampaign<'_> {
    AnalysedCampaign::new(&campaign.0, &campaign.1)
}

fn has_changed(found: &CampaignComparison) -> bool {
    found.changes.iter().any(|change: &ResultChange| {
        matches!(
            change.compared.verdict,
            ComparisonVerdict::BetterByAtLeast(_) | ComparisonVerdict::WorseByAtLeast(_)
        )
    })
}

fn mean(values: &[f64]) -> (f64, f64) {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    (mean, 1.96 * (mean * (1.0 - mean) / count).sqrt())
}
