//! Comparison of two campaigns: differences of the setting, regressions, improvements, and results
//! without a significant difference.

use stats::{
    CampaignComparison, ComparisonVerdict, HostBlock, OverallChange, ResultChange, SettingChange,
};

use crate::UnitScale;
use crate::document::table::ratio;
use crate::document::{Block, Document, Table};
use crate::text::conclusions::{describe, format_excess, least_excess, listed};
use crate::text::labels::{arrow, percent, pluralize};
use crate::text::sanitize::sanitize_line;

/// Maximum number of undecided differences shown.
const MAX_OPEN: usize = 10;
/// Regression below which the smallest detectable regression is given as a number.
const MAX_DETECTABLE: f64 = 1.0;

/// Heading of ratios with their intervals.
const RATIO: &str = "cost (95 %)";

/// Names of the compared sides.
#[derive(Clone, Copy, Debug)]
pub struct SideLabels<'a> {
    /// The earlier side: `campaign 3 “nightly”`.
    pub before: &'a str,
    /// The later side.
    pub after: &'a str,
}

/// Topic of a section of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ComparisonPart {
    /// Differences in the setting.
    Setting,
    /// Total costs of contenders over all their results.
    Overall,
    /// Failures in the later side only.
    Failures,
    /// Worse results.
    Worse,
    /// Better results.
    Better,
    /// Results that are not decided.
    Open,
    /// Number of equal results.
    Equal,
    /// Results that were not compared.
    NotCompared,
}

/// A section of a comparison with a heading: a table, a list, or only the heading.
pub(crate) struct Section {
    /// The topic.
    pub part: ComparisonPart,
    /// The heading.
    pub title: String,
    /// The content.
    pub content: Option<Block>,
}

/// Returns the table of the differences in the setting between two sides with these names.
pub(super) fn settings(settings: &[SettingChange], sides: [&str; 2]) -> Block {
    let [before, after] = sides.map(sanitize_line);
    let mut table = Table::new(&["what", &before, &after]);
    for setting in settings {
        let value = |text: &str| match text.is_empty() {
            true => "–".to_owned(),
            false => sanitize_line(text),
        };
        table.push([
            sanitize_line(&setting.setting),
            value(&setting.before),
            value(&setting.after),
        ]);
    }
    Block::Table(table)
}

/// Title of the differences in the setting.
pub(super) const SETTING: &str = "Differences in the setting";

/// Returns the comparison as a document.
pub fn comparison(found: &CampaignComparison, sides: SideLabels<'_>) -> Document {
    let [before, after] = [sides.before, sides.after].map(sanitize_line);
    let mut document = Document::titled(format!("{before} → {after}"));
    document.paragraph(verdict(found));
    for section in sections(found) {
        match section.content {
            Some(content) => document.section(section.title, [content]),
            None => document.paragraph(section.title),
        }
    }
    document
}

/// Returns the non-empty sections of a comparison, in the order of the text.
pub(crate) fn sections(found: &CampaignComparison) -> Vec<Section> {
    let of = |wanted: ChangeKind| {
        let changes = found.changes.iter();
        changes.filter(move |change| ChangeKind::of(&change.compared.verdict) == wanted)
    };
    let sections = [
        section(ComparisonPart::Setting, SETTING, settings(&found.settings, names(found))),
        hosts(found),
        overall(found),
        failures(found),
        changes(ComparisonPart::Worse, "Worse", of(ChangeKind::Worse), found),
        changes(ComparisonPart::Better, "Better", of(ChangeKind::Better), found),
        open(of(ChangeKind::Open).collect(), found),
        equal(found, of(ChangeKind::Equal).count()),
        not_compared(found),
    ];
    sections.into_iter().flatten().collect()
}

/// Returns a section if it has content.
fn section(part: ComparisonPart, title: impl Into<String>, content: Block) -> Option<Section> {
    let content = Some(content).filter(|content| !content.is_empty());
    content.map(|content| Section { part, title: title.into(), content: Some(content) })
}

/// Returns the names of the sides: two contenders are named as such.
fn names(found: &CampaignComparison) -> [&str; 2] {
    let within = found.within.as_ref();
    within.map_or(["before", "after"], |names| names.each_ref().map(String::as_str))
}

/// Returns the hosts of a comparison over several hosts, and their differences.
fn hosts(found: &CampaignComparison) -> Option<Section> {
    let names = found.hosts.iter().map(|host| sanitize_line(&host.name));
    let names: Vec<String> = names.collect();
    let mut table = Table::new(&[vec!["what".to_owned()], names].concat());
    let mut push = |what: &str, of: &dyn Fn(&HostBlock) -> String| {
        let mut cells = vec![sanitize_line(what)];
        cells.extend(found.hosts.iter().map(of));
        table.push(cells);
    };
    push("campaigns", &|host| {
        let numbers: Vec<String> = host.campaigns.iter().map(i64::to_string).collect();
        numbers.join(", ")
    });
    push("rounds", &|host| host.rounds.to_string());
    let first = found.hosts.first()?;
    for (number, (what, _)) in first.differs.iter().enumerate() {
        push(what, &|host| match host.differs[number].1.as_str() {
            "" => "–".to_owned(),
            value => sanitize_line(value),
        });
    }
    let title = match first.differs.is_empty() {
        true => "Hosts, without recorded differences",
        false => "Hosts, with their differences",
    };
    section(ComparisonPart::Setting, title, Block::Table(table))
}

fn equal(found: &CampaignComparison, count: usize) -> Option<Section> {
    let (margin, results) = (percent(found.margin.0), pluralize(count as u64, "result"));
    (count > 0).then(|| Section {
        part: ComparisonPart::Equal,
        title: format!("Equal within {margin}: {results}"),
        content: None,
    })
}

/// Verdict on a result.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChangeKind {
    Worse,
    Better,
    Equal,
    Open,
}

impl ChangeKind {
    const fn of(verdict: &ComparisonVerdict) -> Self {
        match verdict {
            ComparisonVerdict::WorseByAtLeast(_) => Self::Worse,
            ComparisonVerdict::BetterByAtLeast(_) => Self::Better,
            ComparisonVerdict::EqualWithin(_) | ComparisonVerdict::Identical => Self::Equal,
            ComparisonVerdict::Undecided { .. } => Self::Open,
        }
    }
}

/// Returns the summary of the comparison, in a few sentences.
pub(crate) fn verdict(found: &CampaignComparison) -> String {
    if found.changes.is_empty() {
        let phases = pluralize(found.new_failures.len() as u64, "phase");
        let [before, after] = on_each_side(found);
        return format!("Nothing could be compared: {phases} failed {after} and not {before}.");
    }
    let [before, after] = on_each_side(found);
    let than = match &found.within {
        Some(_) => format!(" {after} than {before}"),
        None => String::new(),
    };
    let margin = percent(found.margin.0);
    let count = |wanted: ChangeKind| {
        let all = found.changes.iter();
        all.filter(|change| ChangeKind::of(&change.compared.verdict) == wanted).count()
    };
    let results = pluralize(found.changes.len() as u64, "result");
    let mut text = format!(
        "Of {results} {} worse{than} by more than {margin}, {} better, {} equal within {margin}; {} undecided.",
        counted_are(count(ChangeKind::Worse)),
        count(ChangeKind::Better),
        count(ChangeKind::Equal),
        counted_are(count(ChangeKind::Open))
    );
    for (overall, share) in found.worse_overall() {
        let contender = sanitize_line(&overall.contender);
        text += &format!(
            " Over all its results {contender} costs {}.",
            least_excess(share, overall.cost.is_some_and(|cost| cost.is_exact()))
        );
    }
    if !found.new_failures.is_empty() {
        let phases = pluralize(found.new_failures.len() as u64, "phase");
        text += &format!(" {phases} failed {after} and not {before}.");
    }
    if count(ChangeKind::Worse) > 0 {
        text += " Up to 5 % of the results reported as worse may be due to chance.";
    }
    if let Some(detectable) = found.minimum_detectable_effect() {
        text += &match detectable < MAX_DETECTABLE {
            true => format!(
                " Every result that cost {} or more would have been called worse.",
                format_excess(detectable)
            ),
            false => format!(
                " With so few {} even a result that costs twice as much may have been missed.",
                unit(found)
            ),
        };
    }
    let [old, new] = found.disturbed;
    if old[0] + new[0] > 0 {
        text += &format!(
            " The machine was busy during {} of {} test runs {before} and {} of {} {after}.",
            old[0], old[1], new[0], new[1]
        );
    }
    text += &of_sessions(found);
    text += &of_hosts(found);
    if found.settings.iter().any(|setting| setting.setting == "host") {
        text += " They ran on different hosts, which may be all that differs: `fsarena run --hosts` compares contenders over hosts.";
    }
    text + " Numbers below are geometric means over rounds (`report` has medians). The cost is their ratio, followed by the 95 % interval of that single result in brackets; the verdict accounts for all results."
}

/// Returns each side as the end of a sentence: `before`, or `with ext4`.
fn on_each_side(found: &CampaignComparison) -> [String; 2] {
    names(found).map(|name| match found.within {
        Some(_) => format!("with {}", sanitize_line(name)),
        None => name.to_owned(),
    })
}

/// `2 are`, `1 is`.
fn counted_are(count: usize) -> String {
    format!("{count} {}", if count == 1 { "is" } else { "are" })
}

/// Returns a note on the variation between sessions.
fn of_sessions(found: &CampaignComparison) -> String {
    match &found.sessions {
        Some(sessions) => {
            let [before, after] = sessions.each_ref().map(|numbers| {
                let names: Vec<String> = numbers.iter().map(i64::to_string).collect();
                listed(&names, "and")
            });
            format!(
                " The means of campaigns are compared: {before} before, {after} after (campaigns given by number are compared individually)."
            )
        }
        None if found.elsewhere => String::new(),
        None if !found.paired => {
            " These rounds do not show by how much two equal campaigns differ. `fsarena run --sessions 3 --name NAME` \
             for each side shows it, and `fsarena guard` runs both sides in one campaign."
                .to_owned()
        }
        None => String::new(),
    }
}

/// Returns a note on comparisons over hosts, and on the uncertainty if there are few hosts.
fn of_hosts(found: &CampaignComparison) -> String {
    match found.hosts.len() {
        0 => String::new(),
        1 => " Results of one host may not hold for others.".to_owned(),
        hosts => format!(
            " Both ran on each of {hosts} hosts and are compared there, round by round; each host counts once, and how much \
             the answer differs between hosts decides."
        ),
    }
}

/// Returns the unit of replication: more of it would decide more results.
const fn unit(found: &CampaignComparison) -> &'static str {
    if !found.hosts.is_empty() {
        "hosts"
    } else if found.sessions.is_some() {
        "sessions"
    } else {
        "rounds"
    }
}

fn overall(found: &CampaignComparison) -> Option<Section> {
    let with_cost = |o: &&OverallChange| o.cost.is_some() && o.results > 1;
    let mut table = Table::new(&["contender", ">results", RATIO, "verdict"]);
    for overall in found.overall.iter().filter(with_cost) {
        let Some(cost) = &overall.cost else { continue };
        table.push([
            sanitize_line(&overall.contender),
            overall.results.to_string(),
            ratio(cost),
            describe(cost, unit(found)),
        ]);
    }
    section(ComparisonPart::Overall, "Over all its results (geometric mean)", Block::Table(table))
}

fn failures(found: &CampaignComparison) -> Option<Section> {
    let [before, after] = on_each_side(found);
    let lines = found.new_failures.iter().map(|failure| {
        let why = match failure.reason.is_empty() {
            true => String::new(),
            false => format!(": {}", sanitize_line(&failure.reason)),
        };
        format!(
            "{}, {}/{}: {} in {} of {} rounds{why}",
            sanitize_line(&failure.contender),
            sanitize_line(&failure.test),
            sanitize_line(&failure.phase),
            failure.outcome,
            failure.rounds,
            failure.planned_rounds
        )
    });
    let title = format!("Failed {after}, and not {before}");
    section(ComparisonPart::Failures, title, Block::list(lines))
}

fn changes<'a>(
    part: ComparisonPart,
    title: &str,
    changes: impl Iterator<Item = &'a ResultChange>,
    found: &CampaignComparison,
) -> Option<Section> {
    let mut changes: Vec<&ResultChange> = changes.collect();
    // Sort by size, in either direction.
    changes.sort_by(|a, b| size(b).total_cmp(&size(a)));
    section(part, title, Block::Table(table(&changes, found)))
}

fn size(change: &ResultChange) -> f64 {
    change.compared.ratio.ln().abs()
}

/// Returns a table with a row for each change. A column with equal values in every row is omitted:
/// the contender if two are compared, and the verdict if all are open.
fn table(changes: &[&ResultChange], found: &CampaignComparison) -> Table {
    let unit = unit(found);
    let open = format!("not enough {unit}");
    let comes_to = |change: &ResultChange| describe(&change.compared, unit);
    let is_said = changes.iter().any(|change| comes_to(change) != open);
    let [before, after] = names(found).map(|name| format!(">{}", sanitize_line(name)));
    let mut heading = vec!["result", &before, &after, "unit", RATIO];
    if found.within.is_none() {
        heading.insert(0, "contender");
    }
    if is_said {
        heading.push("verdict");
    }
    let mut table = Table::new(&heading);
    for change in changes {
        let scale = UnitScale::for_metric(change.metric, change.means);
        let result = format!("{}/{}:{}", change.test, change.phase, change.metric);
        let mut row = vec![
            sanitize_line(&result),
            scale.number(change.means[0]),
            scale.number(change.means[1]),
            format!("{} {}", scale.symbol(), arrow(change.direction)),
            ratio(&change.compared),
        ];
        if found.within.is_none() {
            row.insert(0, sanitize_line(&change.contender));
        }
        if is_said {
            row.push(comes_to(change));
        }
        table.push(row);
    }
    table
}

/// Returns the largest undecided differences.
fn open(mut open: Vec<&ResultChange>, found: &CampaignComparison) -> Option<Section> {
    let unit = unit(found);
    open.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let shown = open.len().min(MAX_OPEN);
    let title = match shown < open.len() {
        true => format!("Not enough {unit}: {}, the {shown} largest", open.len()),
        false => format!("Not enough {unit}"),
    };
    section(ComparisonPart::Open, title, Block::Table(table(&open[..shown], found)))
}

fn not_compared(found: &CampaignComparison) -> Option<Section> {
    let alone = found.only_in_one.iter();
    let alone = alone.map(|name| format!("{}: only on one side", sanitize_line(name)));
    let others = found.not_the_same.iter();
    let others = others
        .map(|n| format!("{}/{}: {}", sanitize_line(&n.test), sanitize_line(&n.phase), n.reason));
    section(ComparisonPart::NotCompared, "Not compared", Block::list(alone.chain(others)))
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::render::{DocumentOptions, markdown, terminal};
    use model::{CampaignResults, Nanos, Status};
    use stats::{
        AnalysedCampaign, CompareFilter, analyse, compare_campaigns, compare_contenders, fixture,
    };

    /// Returns a campaign with the given number of rounds, and a second one in which `middle`
    /// writes in half the time, `slow` takes a third longer, and `fast` fails to read once, on
    /// another kernel.
    fn sides(rounds: u32) -> (CampaignResults, CampaignResults) {
        let plain = fixture::plain();
        let mut before = fixture::campaign(
            "nightly",
            plain.campaign.contenders.clone(),
            plain.campaign.suites[0].tests.clone(),
            rounds,
            |cell, _| {
                let like = |c: &&model::CellRecord| c.cell.contender == cell.contender;
                let mut result = plain.cells.iter().find(like)?.result.clone()?;
                for phase in &mut result.phases {
                    phase.elapsed = Nanos(phase.elapsed.0 + u64::from(cell.round) * 1_000_000);
                }
                Some(result)
            },
        );
        before.id = 3;
        let mut after = before.clone();
        after.id = 4;
        after.environments[0].kernel = "Linux 7.0 | <next>".to_owned();
        for stored in &mut after.cells {
            let phases = &mut stored.result.as_mut().unwrap().phases;
            match stored.cell.contender.as_str() {
                "middle" => phases[0].elapsed = Nanos(phases[0].elapsed.0 / 2),
                "slow" => phases[0].elapsed = Nanos(phases[0].elapsed.0 / 3 * 4),
                _ if stored.cell.round == 2 => phases[1].status = Status::Failed,
                _ => {}
            }
        }
        (before, after)
    }

    fn shown(rounds: u32) -> Document {
        let (before, after) = sides(rounds);
        let (old, new) = (analyse(&before), analyse(&after));
        let found = compare_campaigns(
            AnalysedCampaign::new(&before, &old),
            AnalysedCampaign::new(&after, &new),
            &CompareFilter::default(),
        );
        let sides = SideLabels { before: "campaign 3", after: "campaign 4" };
        comparison(&found.unwrap(), sides)
    }

    #[test]
    fn a_comparison_as_text() {
        insta::assert_snapshot!(terminal(&shown(7), &DocumentOptions::default()));
    }

    #[test]
    fn a_comparison_as_markdown() {
        insta::assert_snapshot!(markdown(&shown(7)));
    }

    #[test]
    fn smallest_detectable_regression_is_reported() {
        let text = terminal(&shown(3), &DocumentOptions::FILE);
        assert!(text.contains("would have been called worse"), "{text}");
    }

    #[test]
    fn campaigns_of_different_hosts_are_reported_as_such() {
        let (before, mut after) = sides(3);
        let said = |after: &CampaignResults| {
            let (old, new) = (analyse(&before), analyse(after));
            let [old, new] =
                [(&before, &old), (after, &new)].map(|(r, a)| AnalysedCampaign::new(r, a));
            let found = compare_campaigns(old, new, &CompareFilter::default()).unwrap();
            verdict(&found).contains("They ran on different hosts")
        };
        assert!(!said(&after));
        after.campaign.host = Some("n2".to_owned());
        assert!(said(&after));
    }

    /// Regression test: all cells of a campaign were once counted on both sides, which were named
    /// before and after.
    #[test]
    fn compared_contenders_have_their_names_and_cells() {
        let (_, after) = sides(3);
        let analysis = analyse(&after);
        let side = AnalysedCampaign::new(&after, &analysis);
        let found = compare_contenders(side, "middle", "slow", &CompareFilter::default()).unwrap();
        assert_eq!(found.disturbed, [[0, 3]; 2]);
        let shown = SideLabels { before: "middle", after: "slow" };
        let options = DocumentOptions::terminal(80);
        let text = terminal(&comparison(&found, shown), &options);
        assert!(text.contains("worse with slow than with middle"), "{text}");
        assert!(!text.contains("BEFORE") && !text.contains("after"), "{text}");
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(80), "{text}");
    }

    /// Results of other programs cannot be measured again here.
    #[test]
    fn comparison_of_imports_does_not_advise_running_them() {
        let (mut before, mut after) = sides(3);
        for side in [&mut before, &mut after] {
            side.campaign.measured_by = Some(model::ExternalSource {
                program: "bonnie++ 1.98".to_owned(),
                source: "made.csv".to_owned(),
            });
        }
        let analyses = [&before, &after].map(analyse);
        let sides = [&before, &after];
        let [old, new] = [0, 1].map(|side| AnalysedCampaign::new(sides[side], &analyses[side]));
        let found = compare_campaigns(old, new, &CompareFilter::default()).unwrap();
        let text = verdict(&found);
        assert!(!text.contains("fsarena run") && !text.contains("guard"), "{text}");
    }

    #[test]
    fn hostile_names_are_escaped() {
        let results = fixture::hostile();
        let analysis = analyse(&results);
        let side = AnalysedCampaign::new(&results, &analysis);
        let (a, b) = (&analysis.contenders[0], &analysis.contenders[1]);
        let Ok(found) = compare_contenders(side, a, b, &CompareFilter::default()) else {
            panic!("they have results in common")
        };
        let sides = SideLabels { before: a, after: b };
        let document = comparison(&found, sides);
        let markdown = markdown(&document);
        assert!(!markdown.contains('<') && !markdown.contains('\u{1b}'), "{markdown}");
        let text = terminal(&document, &DocumentOptions::default());
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
    }
}
