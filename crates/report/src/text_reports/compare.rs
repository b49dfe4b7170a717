//! Two campaigns side by side, in words: what differs in the setting, what got worse, what better, and
//! what is not significantly different. As text for a terminal and as Markdown.

use analyse::{Change, Differences, OverallChange, Significance};

use crate::Scale;
use crate::tables::plain_table::{PlainTable, chance_alone, ratio};
use crate::text_reports::{advice::wrapped, markdown};
use crate::wording::scale::three_digits;
use crate::wording::text::clean;
use crate::wording::words::{arrow, counted};

/// The most differences that are shown though they are not sure.
const MOST_UNSURE: usize = 10;

/// What is compared, in words.
#[derive(Clone, Copy, Debug)]
pub struct Sides<'a> {
    /// What was before: `campaign 3 “nightly”`.
    pub before: &'a str,
    /// What is after.
    pub after: &'a str,
    /// The share of before above which a sure regression counts; all do where absent.
    pub threshold: Option<f64>,
}

/// How a comparison is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For a terminal.
    Text,
    /// For a wiki or a merge request.
    Markdown,
}

impl Form {
    fn heading(self, text: &str) -> String {
        match self {
            Self::Text => format!("\n{text}\n"),
            Self::Markdown => format!("\n## {text}\n\n"),
        }
    }

    fn table(self, table: &PlainTable) -> String {
        match self {
            Self::Text => table.text("  "),
            Self::Markdown => table.markdown(markdown::escape),
        }
    }

    fn line(self, text: &str) -> String {
        match self {
            Self::Text => format!("{}\n", wrapped(text)),
            Self::Markdown => format!("{}\n", markdown::escape(text.trim())),
        }
    }

    fn item(self, text: &str) -> String {
        match self {
            Self::Text => format!("  {text}\n"),
            Self::Markdown => format!("- {}\n", markdown::escape(text)),
        }
    }
}

/// The comparison in words.
pub fn compare_text(found: &Differences, sides: Sides<'_>, form: Form) -> String {
    let title = format!("{} → {}", clean(sides.before), clean(sides.after));
    let mut out = match form {
        Form::Text => format!("{title}\n"),
        Form::Markdown => format!("# {}\n\n", markdown::escape(&title)),
    };
    out += &form.line(&verdict(found, sides.threshold));
    out += &settings(found, form);
    out += &overall(found, form);
    out += &failures(found, form);
    let of = |significance: Significance| {
        found
            .changes
            .iter()
            .filter(move |c| c.significance == significance)
    };
    out += &changes("Worse", of(Significance::Worse), form);
    out += &changes("Better", of(Significance::Better), form);
    out += &unsure(found, form);
    out += &not_compared(found, form);
    out
}

/// What it comes to, in a sentence or two.
fn verdict(found: &Differences, threshold: Option<f64>) -> String {
    let above = threshold.map_or_else(String::new, |t| format!(" by more than {} %", percent(t)));
    let count = found.regressions(threshold.unwrap_or(0.0)).count();
    let mut text = match count {
        0 => format!("No result is surely worse{above}"),
        1 => format!("1 result is surely worse{above}"),
        count => format!("{count} results are surely worse{above}"),
    };
    let of = counted(found.changes.len() as u64, "comparison");
    text += &format!(", of {of} (exact tests, corrected for their number).");
    if !found.new_failures.is_empty() {
        let phases = counted(found.new_failures.len() as u64, "phase");
        text += &format!(" {phases} failed after and not before.");
    }
    if let Some(needed) = found.rounds_needed {
        let rounds = counted(needed, "round");
        text += &format!(
            " So few rounds cannot show any difference among so many results: {rounds} on each side can, \
             or fewer results (--only)."
        );
    }
    text
}

fn percent(share: f64) -> String {
    let text = three_digits(100.0 * share);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

fn settings(found: &Differences, form: Form) -> String {
    if found.settings.is_empty() {
        return String::new();
    }
    let mut table = PlainTable::new(&["what", "before", "after"]);
    for setting in &found.settings {
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
    form.heading("What differs in the setting") + &form.table(&table)
}

fn overall(found: &Differences, form: Form) -> String {
    let with_cost = |o: &&OverallChange| o.cost.is_some() && o.results > 1;
    let mut table = PlainTable::new(&["contender", ">results", "cost after / before", "p"]);
    let mut any = false;
    for overall in found.overall.iter().filter(with_cost) {
        let Some(cost) = &overall.cost else { continue };
        any = true;
        table.push(vec![
            clean(&overall.contender),
            overall.results.to_string(),
            ratio(cost),
            chance_alone(cost.p),
        ]);
    }
    match any {
        true => form.heading("Over all its results (geometric mean)") + &form.table(&table),
        false => String::new(),
    }
}

fn failures(found: &Differences, form: Form) -> String {
    if found.new_failures.is_empty() {
        return String::new();
    }
    let lines = found.new_failures.iter().map(|failure| {
        form.item(&format!(
            "{}, {}/{}: {} in {} of {} rounds",
            clean(&failure.contender),
            clean(&failure.test),
            clean(&failure.phase),
            failure.outcome,
            failure.rounds,
            failure.of
        ))
    });
    form.heading("Failed after, and not before") + &lines.collect::<String>()
}

fn changes<'a>(title: &str, changes: impl Iterator<Item = &'a Change>, form: Form) -> String {
    let mut changes: Vec<&Change> = changes.collect();
    if changes.is_empty() {
        return String::new();
    }
    // The largest first, whichever way.
    changes.sort_by(|a, b| size(b).total_cmp(&size(a)));
    form.heading(title) + &form.table(&table(&changes))
}

fn size(change: &Change) -> f64 {
    change.effect.ratio.ln().abs()
}

fn table(changes: &[&Change]) -> PlainTable {
    let mut table = PlainTable::new(&[
        "contender",
        "result",
        ">before",
        ">after",
        "unit",
        "after / before",
        "p",
    ]);
    for change in changes {
        let medians = [change.before.median, change.after.median];
        let scale = Scale::for_metric(change.metric, medians);
        table.push(vec![
            clean(&change.contender),
            clean(&format!(
                "{}/{}:{}",
                change.test, change.phase, change.metric
            )),
            scale.number(change.before.median),
            scale.number(change.after.median),
            format!("{} {}", scale.symbol(), arrow(change.direction)),
            ratio(&change.effect),
            chance_alone(change.p_corrected),
        ]);
    }
    table
}

/// The largest of those that are not significantly different.
fn unsure(found: &Differences, form: Form) -> String {
    let unsure = found
        .changes
        .iter()
        .filter(|c| !c.significance.is_difference());
    let mut unsure: Vec<&Change> = unsure.collect();
    if unsure.is_empty() {
        return String::new();
    }
    unsure.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let shown = unsure.len().min(MOST_UNSURE);
    let title = match shown < unsure.len() {
        true => format!(
            "Not significantly different: {}, the {shown} largest",
            unsure.len()
        ),
        false => "Not significantly different".to_owned(),
    };
    form.heading(&title) + &form.table(&table(&unsure[..shown]))
}

fn not_compared(found: &Differences, form: Form) -> String {
    let alone = found.only_in_one.iter();
    let alone = alone.map(|name| form.item(&format!("{}: only on one side", clean(name))));
    let others = found.not_the_same.iter();
    let others = others.map(|n| {
        let place = format!("{}/{}", clean(&n.test), clean(&n.phase));
        form.item(&format!("{place}: {}", n.why))
    });
    let lines: String = alone.chain(others).collect();
    match lines.is_empty() {
        true => String::new(),
        false => form.heading("Not compared") + &lines,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
            threshold: Some(0.05),
        };
        compare_text(&found.unwrap(), sides, form)
    }

    #[test]
    fn a_comparison_as_text() {
        insta::assert_snapshot!(shown(7, Form::Text));
    }

    #[test]
    fn a_comparison_as_markdown() {
        insta::assert_snapshot!(shown(7, Form::Markdown));
    }

    #[test]
    fn too_few_rounds_are_said_to_be() {
        let text = shown(3, Form::Text).replace('\n', " ");
        assert!(
            text.contains("No result is surely worse by more than 5 %"),
            "{text}"
        );
        assert!(
            text.contains("So few rounds cannot show any difference"),
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
            threshold: None,
        };
        let markdown = compare_text(&found, sides, Form::Markdown);
        assert!(
            !markdown.contains('<') && !markdown.contains('\u{1b}'),
            "{markdown}"
        );
        let text = compare_text(&found, sides, Form::Text);
        assert!(
            !text.contains('\u{1b}') && !text.contains('\u{202e}'),
            "{text}"
        );
    }

    #[test]
    fn shares_are_said_without_zeros_that_mean_nothing() {
        assert_eq!(percent(0.05), "5");
        assert_eq!(percent(0.025), "2.5");
        assert_eq!(percent(0.1), "10");
        assert_eq!(percent(1.0), "100");
    }
}
