//! Two campaigns side by side, in words: what differs in the setting, what got worse, what better, and
//! what is not significantly different. As text for a terminal and as Markdown.

use analyse::{BlockHost, Change, Differences, OverallChange, SettingChange, Verdict};

use crate::Scale;
use crate::tables::plain_table::{PlainTable, ratio};
use crate::text_reports::{advice::wrapped, markdown};
use crate::wording::answers::{at_least, in_words, listed, more};
use crate::wording::text::clean;
use crate::wording::words::{arrow, counted, percent};

/// The most differences that are shown though nothing is known of them.
const MOST_OPEN: usize = 10;
/// What only a larger regression would show is no longer told in numbers.
const MOST_DETECTABLE: f64 = 1.0;

/// The head of ratios with their intervals.
const RATIO: &str = "cost (95 %)";

/// What is compared, in words.
#[derive(Clone, Copy, Debug)]
pub struct Sides<'a> {
    /// What was before: `campaign 3 “nightly”`.
    pub before: &'a str,
    /// What is after.
    pub after: &'a str,
}

/// How a comparison is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For a terminal of so many columns, or a file, in which lines are of any length.
    Text {
        /// The columns.
        columns: Option<usize>,
    },
    /// For a wiki or a merge request.
    Markdown,
}

impl Form {
    pub(super) fn heading(self, text: &str) -> String {
        match self {
            Self::Text { .. } => format!("\n{text}\n"),
            Self::Markdown => format!("\n## {}\n\n", markdown::escape(text)),
        }
    }

    pub(super) fn table(self, table: &PlainTable) -> String {
        match self {
            Self::Text { columns } => table.text_within("  ", columns.unwrap_or(usize::MAX)),
            Self::Markdown => table.markdown(markdown::escape),
        }
    }

    pub(super) fn line(self, text: &str) -> String {
        match self {
            Self::Text { .. } => format!("{}\n", wrapped(text)),
            Self::Markdown => format!("{}\n", markdown::escape(text.trim())),
        }
    }

    pub(super) fn item(self, text: &str) -> String {
        match self {
            Self::Text { .. } => format!("  {text}\n"),
            Self::Markdown => format!("- {}\n", markdown::escape(text)),
        }
    }

    /// What differs in the setting of two sides of these names.
    pub(super) fn settings(self, settings: &[SettingChange], sides: [&str; 2]) -> String {
        settings_section(settings, sides).map_or_else(String::new, |section| self.section(&section))
    }

    fn section(self, section: &Section) -> String {
        let table = section.table.as_ref();
        let table = table.map(|table| self.table(table)).unwrap_or_default();
        let lines = section.lines.iter().map(|line| self.item(line));
        self.heading(&section.title) + &table + &lines.collect::<String>()
    }
}

/// What a part of a comparison is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// What differs in the setting.
    Setting,
    /// Contenders over all their results.
    Overall,
    /// What fails after and did not before.
    Failures,
    /// Results that are worse.
    Worse,
    /// Results that are better.
    Better,
    /// Results of which nothing is known.
    Open,
    /// How many are equal.
    Equal,
    /// What was not compared.
    NotCompared,
}

/// A part of a comparison under a heading of its own: a table, lines, or the heading alone.
pub(crate) struct Section {
    /// What it is about.
    pub part: Part,
    /// The heading.
    pub title: String,
    /// A table.
    pub table: Option<PlainTable>,
    /// Lines below it.
    pub lines: Vec<String>,
}

fn settings_section(settings: &[SettingChange], sides: [&str; 2]) -> Option<Section> {
    let [before, after] = sides.map(clean);
    let mut table = PlainTable::new(&["what", &before, &after]);
    for setting in settings {
        let value = |text: &str| match text.is_empty() {
            true => "–".to_owned(),
            false => clean(text),
        };
        table.push(vec![
            clean(&setting.what),
            value(&setting.before),
            value(&setting.after),
        ]);
    }
    (!settings.is_empty()).then(|| Section {
        part: Part::Setting,
        title: "What differs in the setting".to_owned(),
        table: Some(table),
        lines: Vec::new(),
    })
}

/// The comparison in words.
pub fn compare_text(found: &Differences, sides: Sides<'_>, form: Form) -> String {
    let title = format!("{} → {}", clean(sides.before), clean(sides.after));
    let mut out = match form {
        Form::Text { .. } => format!("{title}\n"),
        Form::Markdown => format!("# {}\n\n", markdown::escape(&title)),
    };
    out += &form.line(&verdict(found));
    for section in sections(found) {
        out += &form.section(&section);
    }
    out
}

/// The parts of a comparison that have something to say, in the order of the text.
pub(crate) fn sections(found: &Differences) -> Vec<Section> {
    let of = |wanted: Kind| {
        let changes = found.changes.iter();
        changes.filter(move |change| Kind::of(&change.compared.verdict) == wanted)
    };
    let sections = [
        settings_section(&found.settings, names(found)),
        hosts(found),
        overall(found),
        failures(found),
        changes(Part::Worse, "Worse", of(Kind::Worse), found),
        changes(Part::Better, "Better", of(Kind::Better), found),
        open(of(Kind::Open).collect(), found),
        equal(found, of(Kind::Equal).count()),
        not_compared(found),
    ];
    sections.into_iter().flatten().collect()
}

/// What the sides are called: two contenders by their names.
fn names(found: &Differences) -> [&str; 2] {
    let within = found.within.as_ref();
    within.map_or(["before", "after"], |names| {
        names.each_ref().map(String::as_str)
    })
}

/// The hosts of a comparison over several, and in what they differ.
fn hosts(found: &Differences) -> Option<Section> {
    let names = found.hosts.iter().map(|host| clean(&host.name));
    let names: Vec<String> = names.collect();
    let mut heads = vec!["what"];
    heads.extend(names.iter().map(String::as_str));
    let mut table = PlainTable::new(&heads);
    let mut push = |what: &str, of: &dyn Fn(&BlockHost) -> String| {
        let mut cells = vec![clean(what)];
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
            value => clean(value),
        });
    }
    Some(Section {
        part: Part::Setting,
        title: match first.differs.is_empty() {
            true => "Hosts, which differ in nothing that is recorded".to_owned(),
            false => "Hosts, and in what they differ".to_owned(),
        },
        table: Some(table),
        lines: Vec::new(),
    })
}

fn equal(found: &Differences, count: usize) -> Option<Section> {
    let (margin, results) = (percent(found.margin.0), counted(count as u64, "result"));
    (count > 0).then(|| Section {
        part: Part::Equal,
        title: format!("Equal within {margin}: {results}"),
        table: None,
        lines: Vec::new(),
    })
}

/// What a result came to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Worse,
    Better,
    Equal,
    Open,
}

impl Kind {
    const fn of(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::WorseByAtLeast(_) => Self::Worse,
            Verdict::BetterByAtLeast(_) => Self::Better,
            Verdict::EqualWithin(_) | Verdict::Identical => Self::Equal,
            Verdict::NotEnoughRounds { .. } => Self::Open,
        }
    }
}

/// What it comes to, in a few sentences.
pub(crate) fn verdict(found: &Differences) -> String {
    if found.changes.is_empty() {
        let phases = counted(found.new_failures.len() as u64, "phase");
        let [before, after] = on_each_side(found);
        return format!("Nothing could be compared: {phases} failed {after} and not {before}.");
    }
    let [before, after] = on_each_side(found);
    let than = match &found.within {
        Some(_) => format!(" {after} than {before}"),
        None => String::new(),
    };
    let margin = percent(found.margin.0);
    let count = |wanted: Kind| {
        let all = found.changes.iter();
        all.filter(|change| Kind::of(&change.compared.verdict) == wanted)
            .count()
    };
    let results = counted(found.changes.len() as u64, "result");
    let mut text = format!(
        "Of {results} {} worse{than} by more than {margin}, {} better, {} equal within {margin}; {} undecided.",
        counted_are(count(Kind::Worse)),
        count(Kind::Better),
        count(Kind::Equal),
        counted_are(count(Kind::Open))
    );
    for (overall, share) in found.worse_overall() {
        let contender = clean(&overall.contender);
        text += &format!(
            " Over all its results {contender} costs {}{}.",
            at_least(overall.cost.is_some_and(|cost| cost.is_exact())),
            more(share)
        );
    }
    if !found.new_failures.is_empty() {
        let phases = counted(found.new_failures.len() as u64, "phase");
        text += &format!(" {phases} failed {after} and not {before}.");
    }
    if count(Kind::Worse) > 0 {
        text += " Up to 5 % of what is called worse may be chance.";
    }
    if let Some(detectable) = found.detectable() {
        text += &match detectable < MOST_DETECTABLE {
            true => format!(
                " Every result that cost {} or more would have been called worse.",
                more(detectable)
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
            " While {} of {} cells {before} and {} of {} {after} ran, other processes were busy.",
            old[0], old[1], new[0], new[1]
        );
    }
    text += &of_sessions(found);
    text += &of_hosts(found);
    if found.settings.iter().any(|setting| setting.what == "host") {
        text += " They ran on different hosts, which may be all that differs: `fsarena run --hosts` compares contenders over hosts.";
    }
    text + " Numbers below are geometric means over rounds (`report` has medians), the cost is their ratio, in brackets with the \
            95 % interval of that result alone; what it comes to allows for all of them."
}

/// The sides as the end of a sentence: `before`, or `with ext4`.
fn on_each_side(found: &Differences) -> [String; 2] {
    names(found).map(|name| match found.within {
        Some(_) => format!("with {}", clean(name)),
        None => name.to_owned(),
    })
}

/// `2 are`, `1 is`.
fn counted_are(count: usize) -> String {
    format!("{count} {}", if count == 1 { "is" } else { "are" })
}

/// What is known of the variation between sessions.
fn of_sessions(found: &Differences) -> String {
    match &found.sessions {
        Some(sessions) => {
            let [before, after] = sessions.each_ref().map(|numbers| {
                let names: Vec<String> = numbers.iter().map(i64::to_string).collect();
                listed(&names, "and")
            });
            format!(
                " Compared are the means of campaigns: {before} before, {after} after (by number each is compared alone)."
            )
        }
        None if found.elsewhere => String::new(),
        None if !found.paired => {
            " By how much two campaigns of the same thing differ, these rounds do not say. `fsarena run --sessions 3 --name NAME` \
             for each side shows it, and `fsarena guard` runs both sides in one campaign."
                .to_owned()
        }
        None => String::new(),
    }
}

/// What is compared over hosts, and what is not known where there are few.
fn of_hosts(found: &Differences) -> String {
    match found.hosts.len() {
        0 => String::new(),
        1 => " One host says nothing of others.".to_owned(),
        hosts => format!(
            " Both ran on each of {hosts} hosts and are compared there, round by round; each host counts once, and how much \
             the answer differs between hosts decides."
        ),
    }
}

/// What more of would tell more.
const fn unit(found: &Differences) -> &'static str {
    if !found.hosts.is_empty() {
        "hosts"
    } else if found.sessions.is_some() {
        "sessions"
    } else {
        "rounds"
    }
}

fn overall(found: &Differences) -> Option<Section> {
    let with_cost = |o: &&OverallChange| o.cost.is_some() && o.results > 1;
    let mut table = PlainTable::new(&["contender", ">results", RATIO, "what it comes to"]);
    let mut any = false;
    for overall in found.overall.iter().filter(with_cost) {
        let Some(cost) = &overall.cost else { continue };
        any = true;
        table.push(vec![
            clean(&overall.contender),
            overall.results.to_string(),
            ratio(cost),
            in_words(cost, unit(found)),
        ]);
    }
    any.then(|| Section {
        part: Part::Overall,
        title: "Over all its results (geometric mean)".to_owned(),
        table: Some(table),
        lines: Vec::new(),
    })
}

fn failures(found: &Differences) -> Option<Section> {
    let [before, after] = on_each_side(found);
    let lines = found.new_failures.iter().map(|failure| {
        let why = match failure.why.is_empty() {
            true => String::new(),
            false => format!(": {}", clean(&failure.why)),
        };
        format!(
            "{}, {}/{}: {} in {} of {} rounds{why}",
            clean(&failure.contender),
            clean(&failure.test),
            clean(&failure.phase),
            failure.outcome,
            failure.rounds,
            failure.of
        )
    });
    (!found.new_failures.is_empty()).then(|| Section {
        part: Part::Failures,
        title: format!("Failed {after}, and not {before}"),
        table: None,
        lines: lines.collect(),
    })
}

fn changes<'a>(
    part: Part,
    title: &str,
    changes: impl Iterator<Item = &'a Change>,
    found: &Differences,
) -> Option<Section> {
    let mut changes: Vec<&Change> = changes.collect();
    // The largest first, whichever way.
    changes.sort_by(|a, b| size(b).total_cmp(&size(a)));
    (!changes.is_empty()).then(|| Section {
        part,
        title: title.to_owned(),
        table: Some(table(&changes, found)),
        lines: Vec::new(),
    })
}

fn size(change: &Change) -> f64 {
    change.compared.ratio.ln().abs()
}

/// A row for each change, without columns that would say the same in each: who it is of two contenders, and that it is open.
fn table(changes: &[&Change], found: &Differences) -> PlainTable {
    let unit = unit(found);
    let open = format!("not enough {unit}");
    let comes_to = |change: &Change| in_words(&change.compared, unit);
    let is_said = changes.iter().any(|change| comes_to(change) != open);
    let [before, after] = names(found).map(|name| format!(">{}", clean(name)));
    let mut heading = vec!["result", &before, &after, "unit", RATIO];
    if found.within.is_none() {
        heading.insert(0, "contender");
    }
    if is_said {
        heading.push("what it comes to");
    }
    let mut table = PlainTable::new(&heading);
    for change in changes {
        let scale = Scale::for_metric(change.metric, change.means);
        let result = format!("{}/{}:{}", change.test, change.phase, change.metric);
        let mut row = vec![
            clean(&result),
            scale.number(change.means[0]),
            scale.number(change.means[1]),
            format!("{} {}", scale.symbol(), arrow(change.direction)),
            ratio(&change.compared),
        ];
        if found.within.is_none() {
            row.insert(0, clean(&change.contender));
        }
        if is_said {
            row.push(comes_to(change));
        }
        table.push(row);
    }
    table
}

/// The largest of those of which nothing is known.
fn open(mut open: Vec<&Change>, found: &Differences) -> Option<Section> {
    let unit = unit(found);
    open.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let shown = open.len().min(MOST_OPEN);
    let title = match shown < open.len() {
        true => format!("Not enough {unit}: {}, the {shown} largest", open.len()),
        false => format!("Not enough {unit}"),
    };
    (!open.is_empty()).then(|| Section {
        part: Part::Open,
        title,
        table: Some(table(&open[..shown], found)),
        lines: Vec::new(),
    })
}

fn not_compared(found: &Differences) -> Option<Section> {
    let alone = found.only_in_one.iter();
    let alone = alone.map(|name| format!("{}: only on one side", clean(name)));
    let others = found.not_the_same.iter();
    let others = others.map(|n| format!("{}/{}: {}", clean(&n.test), clean(&n.phase), n.why));
    let lines: Vec<String> = alone.chain(others).collect();
    (!lines.is_empty()).then(|| Section {
        part: Part::NotCompared,
        title: "Not compared".to_owned(),
        table: None,
        lines,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: Form = Form::Text { columns: None };
    use analyse::{Analysed, Wanted, analyse, compare_campaigns, compare_contenders, fixture};
    use model::{CampaignResults, Nanos, Status};

    /// A campaign of so many rounds, and the same one where `middle` writes in half the time, `slow`
    /// takes a third more, and `fast` fails to read once, on another kernel.
    fn sides(rounds: u32) -> (CampaignResults, CampaignResults) {
        let plain = fixture::plain();
        let mut before = fixture::campaign(
            "nightly",
            plain.campaign.contenders.clone(),
            plain.campaign.suites[0].tests.clone(),
            rounds,
            |cell, _| {
                let like = |c: &&model::StoredCell| c.cell.contender == cell.contender;
                let mut result = plain.cells.iter().find(like)?.result.clone()?;
                for phase in &mut result.phases {
                    phase.wall = Nanos(phase.wall.0 + u64::from(cell.round) * 1_000_000);
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
                "middle" => phases[0].wall = Nanos(phases[0].wall.0 / 2),
                "slow" => phases[0].wall = Nanos(phases[0].wall.0 / 3 * 4),
                _ if stored.cell.round == 2 => phases[1].status = Status::Failed,
                _ => {}
            }
        }
        (before, after)
    }

    fn shown(rounds: u32, form: Form) -> String {
        let (before, after) = sides(rounds);
        let (old, new) = (analyse(&before), analyse(&after));
        let found = compare_campaigns(
            Analysed::new(&before, &old),
            Analysed::new(&after, &new),
            &Wanted::default(),
        );
        let sides = Sides {
            before: "campaign 3",
            after: "campaign 4",
        };
        compare_text(&found.unwrap(), sides, form)
    }

    #[test]
    fn a_comparison_as_text() {
        insta::assert_snapshot!(shown(7, TEXT));
    }

    #[test]
    fn a_comparison_as_markdown() {
        insta::assert_snapshot!(shown(7, Form::Markdown));
    }

    #[test]
    fn what_could_have_been_seen_is_said() {
        let text = shown(3, TEXT).replace('\n', " ");
        assert!(text.contains("would have been called worse"), "{text}");
    }

    #[test]
    fn campaigns_of_different_hosts_are_told_to_be() {
        let (before, mut after) = sides(3);
        let said = |after: &CampaignResults| {
            let (old, new) = (analyse(&before), analyse(after));
            let [old, new] = [(&before, &old), (after, &new)].map(|(r, a)| Analysed::new(r, a));
            let found = compare_campaigns(old, new, &Wanted::default()).unwrap();
            verdict(&found).contains("They ran on different hosts")
        };
        assert!(!said(&after));
        after.campaign.host = Some("n2".to_owned());
        assert!(said(&after));
    }

    /// All cells of a campaign were once counted on both sides, which were called before and after.
    #[test]
    fn two_contenders_are_called_by_their_names_and_each_has_its_own_cells() {
        let (_, after) = sides(3);
        let analysis = analyse(&after);
        let side = Analysed::new(&after, &analysis);
        let found = compare_contenders(side, "middle", "slow", &Wanted::default()).unwrap();
        assert_eq!(found.disturbed, [[0, 3]; 2]);
        let shown = Sides {
            before: "middle",
            after: "slow",
        };
        let form = Form::Text { columns: Some(80) };
        let text = compare_text(&found, shown, form);
        assert!(text.contains("worse with slow than with middle"), "{text}");
        assert!(
            !text.contains("BEFORE") && !text.contains("after"),
            "{text}"
        );
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(80), "{text}");
    }

    /// What others measured is not to be run again here.
    #[test]
    fn a_comparison_of_imports_has_no_advice_to_run_them() {
        let (mut before, mut after) = sides(3);
        for side in [&mut before, &mut after] {
            side.campaign.measured_by = Some(model::MeasuredBy {
                program: "bonnie++ 1.98".to_owned(),
                source: "made.csv".to_owned(),
            });
        }
        let analyses = [&before, &after].map(analyse);
        let sides = [&before, &after];
        let [old, new] = [0, 1].map(|side| Analysed::new(sides[side], &analyses[side]));
        let found = compare_campaigns(old, new, &Wanted::default()).unwrap();
        let text = verdict(&found);
        assert!(
            !text.contains("fsarena run") && !text.contains("guard"),
            "{text}"
        );
    }

    #[test]
    fn hostile_names_stay_what_they_are() {
        let results = fixture::hostile();
        let analysis = analyse(&results);
        let side = Analysed::new(&results, &analysis);
        let (a, b) = (&analysis.contenders[0], &analysis.contenders[1]);
        let Ok(found) = compare_contenders(side, a, b, &Wanted::default()) else {
            panic!("they have results in common")
        };
        let sides = Sides {
            before: a,
            after: b,
        };
        let markdown = compare_text(&found, sides, Form::Markdown);
        assert!(
            !markdown.contains('<') && !markdown.contains('\u{1b}'),
            "{markdown}"
        );
        let text = compare_text(&found, sides, TEXT);
        assert!(
            !text.contains('\u{1b}') && !text.contains('\u{202e}'),
            "{text}"
        );
    }
}
