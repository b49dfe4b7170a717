//! Results over many campaigns: a chart and a table for each result and contender.

use askama::Template;
use stats::{History, Series};

use crate::UnitScale;
use crate::documents::history::{change, release};
use crate::site::{CampaignHead, Frame, Site, campaign_file, chart};
use crate::text::labels::moment;
use crate::text::labels::{self, arrow};
use crate::text::sanitize::sanitize_line;

/// History of one result, for each contender with several values.
pub(super) struct HistoryResultView {
    pub(super) title: String,
    pub(super) lines: Vec<HistoryLineView>,
}

/// One result of one contender.
pub(super) struct HistoryLineView {
    pub(super) contender: String,
    /// Unit, and which direction is better.
    pub(super) unit: String,
    /// SVG.
    pub(super) chart: String,
    /// The last change, if there is any.
    pub(super) changed: Option<String>,
    pub(super) points: Vec<HistoryPointView>,
}

/// A campaign's value.
pub(super) struct HistoryPointView {
    pub(super) campaign: i64,
    /// File of the campaign's page, if the history is part of a site.
    pub(super) file: Option<String>,
    pub(super) begun: String,
    pub(super) value: String,
    pub(super) interval: String,
    pub(super) change: String,
    pub(super) kernel: String,
}

/// Returns the results of a history with at least two values, in the same order. In a site they
/// link to pages of campaigns.
pub(super) fn views(history: &History, in_site: bool) -> Vec<HistoryResultView> {
    let mut views: Vec<HistoryResultView> = Vec::new();
    let values = |series: &Series| {
        let values = series.points.iter().filter(|point| point.estimate.is_some());
        values.count()
    };
    let mut series: Vec<&Series> = history.series.iter().collect();
    series.retain(|series| values(series) > 1);
    for one in series {
        let medians = one.points.iter().filter_map(|p| Some(p.estimate?.median));
        let scale = UnitScale::for_metric(one.metric, medians);
        let title = format!("{}: {}", sanitize_line(&one.test), sanitize_line(&one.phase));
        let title = format!("{title}, {}", labels::title(one.metric).to_lowercase());
        let line = line(one, &scale, in_site);
        match views.iter_mut().find(|view| view.title == title) {
            Some(view) => view.lines.push(line),
            None => views.push(HistoryResultView { title, lines: vec![line] }),
        }
    }
    views
}

fn line(series: &Series, scale: &UnitScale, in_site: bool) -> HistoryLineView {
    let changes = series.changes.iter();
    let last = changes.max_by_key(|change| change.at);
    let points = series.points.iter().enumerate().map(|(place, point)| {
        let estimate = point.estimate.filter(|estimate| estimate.rounds > 1);
        HistoryPointView {
            campaign: point.campaign,
            file: in_site.then(|| campaign_file(point.campaign)),
            begun: moment(point.started),
            value: point
                .estimate
                .map_or_else(|| point.outcomes.join("/"), |e| scale.with_unit(e.median)),
            interval: estimate
                .map_or_else(String::new, |e| labels::interval(&e, |v| scale.number(v))),
            change: change(series, place),
            kernel: release(&point.kernel),
        }
    });
    HistoryLineView {
        contender: sanitize_line(&series.contender),
        unit: format!("{} {}", scale.symbol(), arrow(series.direction)),
        chart: chart::svg(series, scale),
        changed: last.map(|last| {
            let campaign = series.points[last.at].campaign;
            format!("since campaign {campaign}: {}", change(series, last.at))
        }),
        points: points.collect(),
    }
}

#[derive(Template)]
#[template(path = "site_history.html")]
struct HistoryPage<'a> {
    frame: Frame,
    campaigns: &'a [CampaignHead],
    results: Vec<HistoryResultView>,
    left_out: Vec<String>,
}

/// Returns the campaigns that are not comparable, with the reasons.
pub(super) fn excluded_campaigns(history: &History) -> Vec<String> {
    let left_out = history.excluded.iter();
    let left_out =
        left_out.map(|one| format!("campaign {}: {}", one.campaign, sanitize_line(&one.reason)));
    left_out.collect()
}

/// Renders the page of a site with the history of every result.
pub fn history_page(campaigns: &[CampaignHead], history: &History, site: Site) -> String {
    let page = HistoryPage {
        frame: Frame::new("History", Some(site)),
        campaigns,
        results: views(history, true),
        left_out: excluded_campaigns(history),
    };
    page.render().expect("writing to a string does not fail")
}
