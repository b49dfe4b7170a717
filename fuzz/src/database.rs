//! Results as stored and reported, with everything computed from them: analysis, comparison and all
//! report formats.
//!
//! An input is a report in JSON or a list of [edits](crate::json_edits) of a valid report. Edits reach
//! deeper code.

use std::sync::LazyLock;

use model::CampaignResults;
use report::render::{markdown, terminal};
use report::{DocumentOptions, ReportFormat, SideLabels};
use serde_json::json;
use stats::{
    AnalysedCampaign, CompareFilter, SuitesByGroup, advise, analyse, compare_campaigns, fixture,
    history,
};

use crate::json_edits::{self, Base};
use crate::property::survives_json;
use crate::sample::CATALOG;

static BASES: LazyLock<[Base; 3]> = LazyLock::new(|| {
    let of = |name, results: CampaignResults| {
        Base::of(name, json!({ "schema": report::SCHEMA, "results": results }))
    };
    [
        of("plain", fixture::plain()),
        of("calibrated", fixture::calibrated()),
        of("swept", fixture::swept()),
    ]
});

/// Parses the input as a report or as edits of one.
pub fn run(input: &[u8]) {
    let read = if input.starts_with(b"{") {
        report::read_json(input)
    } else {
        report::read_json(json_edits::edited(&*BASES, input).to_string().as_bytes())
    };
    if let Ok(results) = read {
        is_shown(&results);
    }
}

/// Returns every base unchanged.
pub fn seeds() -> Vec<Vec<u8>> {
    json_edits::seeds(&*BASES)
}

/// Results survive a round trip, and every report format can render them.
fn is_shown(results: &CampaignResults) {
    survives_json(results);
    let mut analysis = analyse(results);
    analysis.score_use_cases(CATALOG.uses(), &SuitesByGroup::new());
    let options = DocumentOptions::default();
    for format in ReportFormat::ALL {
        let shown = report::render(format, results, &analysis, &options);
        if format == ReportFormat::Json {
            let again = report::read_json(shown.as_bytes());
            assert_eq!(again.as_ref(), Ok(results));
        }
    }
    report::charts(results, &analysis, &[]);
    if let Some(calibration) = &results.calibration {
        report::overhead_lines(calibration);
        report::raw_device_lines(calibration);
    }
    for one in &analysis.uses {
        terminal(&report::advice_report(&advise(one), &analysis, results, None, None), &options);
    }
    let campaign = AnalysedCampaign::new(results, &analysis);
    let result = "*/*".parse().expect("a pattern");
    let mut past = history(&result, &[]);
    past.add(campaign);
    past.add(campaign);
    terminal(&report::history_report(&past.finish()), &options);
    compared(campaign);
}

/// Compares a campaign with itself: no result can be worse.
fn compared(campaign: AnalysedCampaign<'_>) {
    let wanted = CompareFilter::default();
    let Ok(found) = compare_campaigns(campaign, campaign, &wanted) else {
        return;
    };
    assert_eq!(found.regressions().count(), 0, "it is the same campaign");
    let sides = SideLabels { before: "before", after: "after" };
    let comparison = report::comparison(&found, sides);
    terminal(&comparison, &DocumentOptions::default());
    markdown(&comparison);
}
