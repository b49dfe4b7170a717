//! The page of a repeated study: a comparison then and now, figure by figure and claim by claim.

use std::fmt::Write as _;

use askama::Template;
use studies::{ReplicatedContender, ReplicatedFigure, ReplicatedValue, Replication, Study};

use crate::site::Frame;
use crate::text::claims::ClaimView;
use crate::text::replication::{ahead, summary, times};
use crate::text::sanitize::sanitize_line;

/// Dimensions of the chart of ranks.
const WIDTH: f64 = 460.0;
const TOP: f64 = 32.0;
const STEP: f64 = 20.0;
const LEFT: f64 = 150.0;
const RIGHT: f64 = 310.0;

#[derive(Template)]
#[template(path = "then_and_now.html")]
struct ReplicationPage<'a> {
    frame: Frame,
    study: &'a Study,
    campaign: String,
    summary: Vec<String>,
    twice: &'a Replication,
    claims: Vec<ClaimView>,
    sides: [&'static str; 2],
    figures: Vec<FigureView>,
}

struct FigureView {
    path: String,
    agreement: String,
    chart: String,
    rows: Vec<[String; 5]>,
}

/// Renders the page of a study and the campaign that replicates it, described by `campaign`.
pub fn replication_page(study: &Study, campaign: &str, twice: &Replication) -> String {
    let page = ReplicationPage {
        frame: Frame::new(&format!("{}: then and now", sanitize_line(&study.title)), None),
        study,
        campaign: sanitize_line(campaign),
        summary: summary(twice),
        claims: ClaimView::twice(&twice.claims),
        sides: ["By what was published", "By what was measured now"],
        figures: twice.figures.iter().map(figure).collect(),
        twice,
    };
    page.render().expect("writing to a string does not fail")
}

fn figure(figure: &ReplicatedFigure) -> FigureView {
    let row = |one: &ReplicatedContender| {
        let [then, now] = [&one.published, &one.measured].map(shown);
        [sanitize_line(&one.name), then.0, then.1, now.0, now.1]
    };
    FigureView {
        path: sanitize_line(&figure.path),
        agreement: agreement(figure),
        chart: slopes(figure),
        rows: figure.contenders.iter().map(row).collect(),
    }
}

/// Returns the rank correlation of both orders, and the contender ahead of all others on each side.
fn agreement(figure: &ReplicatedFigure) -> String {
    let tau = match figure.tau_b {
        Some(tau) => format!("rank correlation {tau:.2}"),
        None => "nothing to rank".to_owned(),
    };
    let all = [vec![tau], ahead(figure)].concat();
    sanitize_line(&all.join("; "))
}

/// Returns a ratio and a rank as text.
fn shown(side: &ReplicatedValue) -> (String, String) {
    match side {
        ReplicatedValue::Ratio { times: by, rank } => (times(*by), rank.to_string()),
        ReplicatedValue::Single => ("on this side alone".to_owned(), String::new()),
        ReplicatedValue::Label(word) => (sanitize_line(word), String::new()),
    }
}

/// Draws the published ranks on the left and the measured ranks on the right, with a line between
/// both for each contender. Contenders that share a rank are drawn below each other.
fn slopes(figure: &ReplicatedFigure) -> String {
    let ranks = |of: fn(&ReplicatedContender) -> &ReplicatedValue| -> Vec<(usize, f64)> {
        let all = figure.contenders.iter().enumerate();
        let mut ranked: Vec<(usize, usize)> = all
            .filter_map(|(place, one)| match of(one) {
                ReplicatedValue::Ratio { rank, .. } => Some((*rank, place)),
                ReplicatedValue::Single | ReplicatedValue::Label(_) => None,
            })
            .collect();
        ranked.sort_unstable();
        let rows = ranked.into_iter().enumerate();
        rows.map(|(row, (_, place))| (place, TOP + STEP * row as f64)).collect()
    };
    let (then, now) = (ranks(|one| &one.published), ranks(|one| &one.measured));
    let height = TOP + STEP * then.len() as f64;
    let mut out = format!(
        "<svg class=\"chart slopes\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"Ranks then and now; the table has \
         them\"><text class=\"end\" x=\"{LEFT}\" y=\"12\">then</text><text x=\"{RIGHT}\" y=\"12\">now</text>"
    );
    for (place, from) in then {
        let Some((_, to)) = now.iter().find(|(other, _)| *other == place) else {
            continue;
        };
        let name = sanitize_line(&figure.contenders[place].name);
        let name = askama::filters::escape(&name, askama::filters::Html)
            .map(|text| text.to_string())
            .unwrap_or_default();
        let class = match () {
            () if *to < from => "better",
            () if *to > from => "worse",
            () => "same",
        };
        let _ = write!(
            out,
            "<path class=\"{class}\" d=\"M{} {from:.0}L{} {to:.0}\"/><text class=\"end\" x=\"{LEFT}\" y=\"{:.0}\">{name}</text>\
             <text x=\"{RIGHT}\" y=\"{:.0}\">{name}</text>",
            LEFT + 6.0,
            RIGHT - 6.0,
            from + 4.0,
            to + 4.0
        );
    }
    out + "</svg>"
}
