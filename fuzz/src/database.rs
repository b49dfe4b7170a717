//! Results as they are stored and reported, then all that follows from them: analysis, comparison and every form
//! of a report.
//!
//! An input is a report in JSON, or [edits](crate::edits) of a sound one, which come further.

use std::sync::LazyLock;

use analyse::{
    Analysed, SuitesByGroup, Wanted, advise, analyse, compare_campaigns, fixture, history,
};
use model::CampaignResults;
use report::{Form, Format, Options, Sides};
use serde_json::json;

use crate::edits::{self, Base};
use crate::property::survives_json;
use crate::sample::CATALOG;

static BASES: LazyLock<[Base; 3]> = LazyLock::new(|| {
    let of = |name, results: CampaignResults| {
        Base::of(
            name,
            json!({ "schema": report::SCHEMA, "results": results }),
        )
    };
    [
        of("plain", fixture::plain()),
        of("calibrated", fixture::calibrated()),
        of("swept", fixture::swept()),
    ]
});

/// A report, or edits of one.
pub fn run(input: &[u8]) {
    let read = if input.starts_with(b"{") {
        report::read_json(input)
    } else {
        report::read_json(edits::edited(&*BASES, input).to_string().as_bytes())
    };
    if let Ok(results) = read {
        is_shown(&results);
    }
}

/// Every base as it is.
pub fn seeds() -> Vec<Vec<u8>> {
    edits::seeds(&*BASES)
}

/// What was read is read again as it was, and every form of report can show it.
fn is_shown(results: &CampaignResults) {
    survives_json(results);
    let mut analysis = analyse(results);
    analysis.weigh_uses(CATALOG.uses(), &SuitesByGroup::new());
    for format in Format::ALL {
        let shown = report::render(format, results, &analysis, &Options::default());
        if format == Format::Json {
            let again = report::read_json(shown.as_bytes());
            assert_eq!(again.as_ref(), Ok(results));
        }
    }
    report::charts(results, &analysis);
    if let Some(calibration) = &results.calibration {
        report::overhead_lines(calibration);
        report::raw_device_lines(calibration);
    }
    for one in &analysis.uses {
        report::advice_text(&advise(one), &analysis, results);
    }
    let campaign = Analysed::new(results, &analysis);
    let result = "*/*".parse().expect("a pattern");
    let mut past = history(&result, &[]);
    past.add(campaign);
    past.add(campaign);
    report::history_text(&past.finish());
    compared(campaign);
}

/// A campaign beside itself: nothing can have become worse.
fn compared(campaign: Analysed<'_>) {
    let wanted = Wanted::default();
    let Ok(found) = compare_campaigns(campaign, campaign, &wanted) else {
        return;
    };
    assert_eq!(found.regressions().count(), 0, "it is the same campaign");
    let sides = Sides {
        before: "before",
        after: "after",
    };
    for form in [Form::Text { columns: None }, Form::Markdown] {
        report::compare_text(&found, sides, form);
    }
}
