//! Results over many campaigns: a chart and a table for each result and contender.

use askama::Template;
use stats::{History, Series};

use crate::UnitScale;
use crate::documents::history::{change, release};
use crate::site::{CampaignHead, Frame, Site, campaign_file, chart};
use crate::text::date::moment;
use crate::text::labels::{self, arrow};
use crate::text::text::sanitize_line;

/// One result over the campaigns, for each contender that has several.
pub(super) struct ResultView {
    pub(super) title: String,
    pub(super) lines: Vec<LineView>,
}

/// One result of one contender.
pub(super) struct LineView {
    pub(super) contender: String,
    /// The unit, and which way is better.
    pub(super) unit: String,
    /// SVG.
    pub(super) chart: String,
    /// The last change, if there is any.
    pub(super) changed: Option<String>,
    pub(super) points: Vec<PointView>,
}

/// A campaign's value.
pub(super) struct PointView {
    pub(super) campaign: i64,
    /// The campaign's page, in a site.
    pub(super) file: Option<String>,
    pub(super) begun: String,
    pub(super) value: String,
    pub(super) interval: String,
    pub(super) change: String,
    pub(super) kernel: String,
}

/// The results of a history that have at least two values, in its order; with links to pages of campaigns in a site.
pub(super) fn views(history: &History, in_site: bool) -> Vec<ResultView> {
    let mut views: Vec<ResultView> = Vec::new();
    let values = |series: &Series| {
        let values = series
            .points
            .iter()
            .filter(|point| point.estimate.is_some());
        values.count()
    };
    let mut series: Vec<&Series> = history.series.iter().collect();
    series.retain(|series| values(series) > 1);
    for one in series {
        let medians = one.points.iter().filter_map(|p| Some(p.estimate?.median));
        let scale = UnitScale::for_metric(one.metric, medians);
        let title = format!(
            "{}: {}",
            sanitize_line(&one.test),
            sanitize_line(&one.phase)
        );
        let title = format!("{title}, {}", labels::title(one.metric).to_lowercase());
        let line = line(one, &scale, in_site);
        match views.iter_mut().find(|view| view.title == title) {
            Some(view) => view.lines.push(line),
            None => views.push(ResultView {
                title,
                lines: vec![line],
            }),
        }
    }
    views
}

fn line(series: &Series, scale: &UnitScale, in_site: bool) -> LineView {
    let changes = series.changes.iter();
    let last = changes.max_by_key(|change| change.at);
    let points = series.points.iter().enumerate().map(|(place, point)| {
        let estimate = point.estimate.filter(|estimate| estimate.rounds > 1);
        PointView {
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
    LineView {
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
struct Page<'a> {
    frame: Frame,
    campaigns: &'a [CampaignHead],
    results: Vec<ResultView>,
    left_out: Vec<String>,
}

/// Campaigns that are not comparable, with the reason.
pub(super) fn excluded_campaigns(history: &History) -> Vec<String> {
    let left_out = history.excluded.iter();
    let left_out =
        left_out.map(|one| format!("campaign {}: {}", one.campaign, sanitize_line(&one.reason)));
    left_out.collect()
}

/// The page of a site with every result over its campaigns.
pub fn history_page(campaigns: &[CampaignHead], history: &History, site: Site) -> String {
    let page = Page {
        frame: Frame::new("History", Some(site)),
        campaigns,
        results: views(history, true),
        left_out: excluded_campaigns(history),
    };
    page.render().expect("writing to a string does not fail")
}
