//! The page over several campaigns: changes from the first to the last, and the history of every
//! result.

use askama::Template;
use stats::{CampaignComparison, History};

use crate::document::Document;
use crate::documents::compare::{ComparisonPart, Section, sections, verdict};
use crate::render::html;
use crate::site::history::{HistoryResultView, excluded_campaigns, views};
use crate::site::{CampaignHead, Frame};

/// Input of the page over several campaigns.
#[derive(Clone, Copy, Debug)]
pub struct HistoryOverview<'a> {
    /// The campaigns in order; changes are reported from the first to the last.
    pub campaigns: &'a [CampaignHead],
    /// What changed.
    pub differences: &'a CampaignComparison,
    /// History of every result over all campaigns.
    pub history: &'a History,
}

/// A group of changes.
struct PartView {
    title: String,
    class: &'static str,
    /// The changes, as HTML.
    content: String,
}

#[derive(Template)]
#[template(path = "changes.html")]
struct ChangesPage<'a> {
    frame: Frame,
    campaigns: &'a [CampaignHead],
    verdict: String,
    /// The changes, regressions first.
    parts: Vec<PartView>,
    /// Possible explanations: the setting, and results that were not compared.
    circumstances: Vec<PartView>,
    results: Vec<HistoryResultView>,
    left_out: Vec<String>,
}

/// Renders the page over several campaigns.
pub fn changes_page(over: HistoryOverview<'_>) -> String {
    let ids = [over.campaigns.first(), over.campaigns.last()];
    let [first, last] = ids.map(|head| head.map_or(0, |head| head.id));
    let explains = |section: &Section| {
        matches!(section.part, ComparisonPart::Setting | ComparisonPart::NotCompared)
    };
    let (circumstances, mut parts): (Vec<Section>, Vec<Section>) =
        sections(over.differences).into_iter().partition(explains);
    parts.sort_by_key(|section| order(section.part));
    let view = |sections: Vec<Section>| sections.into_iter().map(part).collect();
    let page = ChangesPage {
        frame: Frame::new(&format!("Changes from campaign {first} to campaign {last}"), None),
        campaigns: over.campaigns,
        verdict: verdict(over.differences),
        parts: view(parts),
        circumstances: view(circumstances),
        results: views(over.history, false),
        left_out: excluded_campaigns(over.history),
    };
    page.render().expect("writing to a string does not fail")
}

/// Returns the position of a part. Regressions come first.
const fn order(part: ComparisonPart) -> u8 {
    match part {
        ComparisonPart::Failures => 0,
        ComparisonPart::Worse => 1,
        ComparisonPart::Better => 2,
        ComparisonPart::Overall => 3,
        ComparisonPart::Open => 4,
        ComparisonPart::Equal | ComparisonPart::Setting | ComparisonPart::NotCompared => 5,
    }
}

fn part(section: Section) -> PartView {
    PartView {
        class: match section.part {
            ComparisonPart::Failures | ComparisonPart::Worse => "worse",
            ComparisonPart::Better => "better",
            _ => "",
        },
        title: section.title,
        content: html(&Document { blocks: section.content.into_iter().collect() }),
    }
}
