//! The last screen of a run: the answers and the most important facts, on one terminal. `fsarena
//! report` prints all tables.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::Path;

use model::{CampaignResults, Metric, SkippedSuite};
use stats::{Analysis, Conclusion, MetricResult, NeedKind, ResultRow, UseCaseScores};

use crate::document::{Block, Document, Item, Style};
use crate::render::{DocumentOptions, terminal};
use crate::tables::overview::{entry, row_scale};
use crate::tables::{disk_faults, full, survival};
use crate::text::answer::{promise, promise_and_losses};
use crate::text::caveats::{Caveat, caveats};
use crate::text::command::{is_plan_fixed, more_work, resume_options};
use crate::text::conclusions::{
    ConclusionText, NOT_TESTED, UNTESTED_POWER_CUTS, category_conclusions_by_disk, is_answered,
    is_any_open, no_advice_by_use, split_by_disk, use_case_conclusions_by_disk,
};
use crate::text::labels::{LOST_FILES, pluralize};
use crate::text::sanitize::{
    first_parts, first_sentences, sanitize_line, sanitize_paragraph, width,
};
use crate::text::{summary, title};

/// Width of the terminal, in columns.
pub const COLUMNS: usize = 80;
/// Height of the terminal, in lines, without the line of the shell's prompt.
const LINES: usize = 23;
/// Highest rank of a use on the screen. Uses without a rank are those of the user.
const MOST_COMMON: u32 = 7;
/// Maximum number of lines of an answer.
const MOST_ANSWER_LINES: usize = 5;

/// Room for the text around the answers.
#[derive(Clone, Copy)]
struct Room {
    /// Maximum number of lines of the title, and of a fact.
    lines: usize,
    /// Maximum width of the subject of an answer.
    label: usize,
    /// Maximum number of notes on the reliability of the results.
    caveats: usize,
    /// Whether the suites that advice by use needs are shown.
    suites: bool,
}

/// Properties of the answers, for the facts below them.
#[derive(Clone, Copy)]
struct OfAnswers {
    /// Whether they are for uses.
    are_by_use: bool,
    /// Whether the power cuts of a filesystem to take are untested.
    are_power_cuts_untested: bool,
}

/// Rooms to try, largest first: each answer needs its bound more than any other text is needed.
const ROOMS: [Room; 4] = [
    Room { lines: 2, label: 36, caveats: 2, suites: true },
    Room { lines: 2, label: 36, caveats: 1, suites: true },
    Room { lines: 1, label: 24, caveats: 1, suites: true },
    Room { lines: 1, label: 24, caveats: 1, suites: false },
];

/// Returns a document that fits a terminal of 24 lines and 80 columns. `page` is the file of the
/// page; `command` returns a command of fsarena on this campaign, such as `report`.
pub fn last_screen(
    results: &CampaignResults,
    analysis: &Analysis,
    page: Option<&Path>,
    command: &dyn Fn(&str) -> String,
) -> Document {
    let (heading, answers) = answers(results, analysis);
    let are_by_use = heading == BY_USE;
    let is_untested = |one: &ConclusionText| one.answer.contains(UNTESTED_POWER_CUTS);
    let of_answers =
        OfAnswers { are_by_use, are_power_cuts_untested: answers.iter().any(is_untested) };
    let screen = |room: Room, shown: &[&Item]| {
        let head = first_parts(&title::outline(results, analysis), |cut| {
            fits(&[Block::Title(cut.to_owned())], room.lines)
        });
        let mut document = Document::titled(&head);
        let rest = answers.len() - shown.len();
        let all = if heading == BY_USE { "advise" } else { "report" };
        let more = format!("… and {rest} more: `{}`", command(all));
        let more = (rest > 0).then(|| Item::from(more));
        document.list(heading.as_str(), shown.iter().map(|item| (*item).clone()).chain(more));
        document.push(Block::Facts(facts(results, analysis, page, command, room, of_answers)));
        document
    };
    let has_room = |room: Room, shown: &[&Item]| height(&screen(room, shown).blocks) <= LINES;
    let cuts = ROOMS.map(|room| -> Vec<Vec<Item>> {
        let cuts = |one| cuts(one, room.label, needs_power_cuts(one, analysis));
        answers.iter().map(cuts).collect()
    });
    let mut rooms = ROOMS.into_iter().zip(&cuts);
    let fitting = rooms.clone().find(|(room, cuts)| has_room(*room, &least(cuts)));
    let (room, cuts) = fitting.or_else(|| rooms.next_back()).expect("there are rooms");
    // Each answer gets the lines of its bound, and further lines as long as there is room: first
    // those that end within a sentence, then short ones.
    let mut shown = least(cuts);
    while !shown.is_empty() && !has_room(room, &shown) {
        shown.pop();
    }
    let mut order: Vec<usize> = (0..shown.len()).collect();
    order.sort_by_key(|at| (!shown[*at].text.ends_with('…'), Reverse(cuts[*at].len())));
    for lines in 1..MOST_ANSWER_LINES {
        for at in order.iter().copied() {
            let Some(longer) = cuts[at].get(lines) else { continue };
            let before = std::mem::replace(&mut shown[at], longer);
            if !has_room(room, &shown) {
                shown[at] = before;
            }
        }
    }
    screen(room, &shown)
}

/// Returns each answer in its fewest lines.
fn least(cuts: &[Vec<Item>]) -> Vec<&Item> {
    cuts.iter().map(|lines| &lines[0]).collect()
}

/// Whether the question is a use that needs synced files to survive power cuts.
fn needs_power_cuts(one: &ConclusionText, analysis: &Analysis) -> bool {
    let parts = split_by_disk(analysis);
    let mut uses = parts.iter().flat_map(|(_, part)| &part.uses);
    uses.any(|scores| {
        one.question.starts_with(&sanitize_line(&scores.title))
            && scores.needs.iter().any(|need| need.need == NeedKind::PowerCuts)
    })
}

/// Returns an answer in the fewest lines that name its bound, and the losses in power cuts if the
/// use needs that or the filesystem lost files; then in one line more, and so on.
fn cuts(one: &ConclusionText, label_columns: usize, with_losses: bool) -> Vec<Item> {
    let item = |text: &str| Item::new(label(&one.question, label_columns), text);
    // The facts below say it once for all answers.
    let answer = one.answer.split(NOT_TESTED).next().unwrap_or_default();
    let cut = |lines: usize| {
        item(&first_sentences(answer, |cut| fits(&[Block::list([item(cut)])], lines)))
    };
    let with_losses = with_losses || answer.contains(LOST_FILES);
    let necessary = if with_losses { promise_and_losses(answer) } else { promise(answer) };
    let mut cuts: Vec<Item> = (1..=MOST_ANSWER_LINES).map(cut).collect();
    let least = cuts.iter().position(|cut| cut.text.starts_with(necessary));
    cuts.drain(..least.unwrap_or(MOST_ANSWER_LINES - 1));
    cuts
}

/// Returns the subject of an answer; of several uses the first one and the number of others.
fn label(question: &str, columns: usize) -> String {
    let question = sanitize_line(question);
    let has_room = |cut: &str| width(cut) <= columns;
    match question.split_once("; ") {
        Some((first, others)) if !has_room(&question) => {
            let others = pluralize(others.split("; ").count() as u64, "more use");
            let others = format!(" and {others}");
            first_parts(first, |cut| width(cut) + width(&others) <= columns) + &others
        }
        _ => first_parts(&question, has_room),
    }
}

/// Returns the lines on a terminal.
fn lines_of(blocks: &[Block]) -> Vec<usize> {
    let document = Document { blocks: blocks.to_vec() };
    let text = terminal(&document, &DocumentOptions::terminal(COLUMNS));
    text.lines().map(width).collect()
}

/// Returns the number of lines on a terminal, which breaks a path that is too wide.
fn height(blocks: &[Block]) -> usize {
    lines_of(blocks).into_iter().map(|columns| columns.div_ceil(COLUMNS).max(1)).sum()
}

/// Whether blocks fit into lines.
fn fits(blocks: &[Block], lines: usize) -> bool {
    let widths = lines_of(blocks);
    widths.len() <= lines && widths.iter().all(|columns| *columns <= COLUMNS)
}

/// Heading of the answers by use.
const BY_USE: &str = "By use";

/// Returns the answers by use; if no use has one, by group of tests, or else the results. Answers on
/// several disks alternate.
fn answers(results: &CampaignResults, analysis: &Analysis) -> (String, Vec<ConclusionText>) {
    let mut losses = survival::conclusions(results);
    let heading = match losses.is_empty() {
        true => disk_faults::CONCLUSIONS,
        false => survival::CONCLUSIONS,
    };
    losses.extend(disk_faults::conclusions(results));
    if !losses.is_empty() && analysis.conclusions.is_empty() {
        return (heading.to_owned(), losses);
    }
    let full: Vec<ConclusionText> = full::conclusion(results).into_iter().collect();
    if !full.is_empty() && analysis.conclusions.is_empty() {
        return (full::CONCLUSIONS.to_owned(), full);
    }
    let parts = split_by_disk(analysis);
    let has_rival = analysis.contenders.len() > 1;
    let is_shown = |one: &UseCaseScores| is_common(one) && is_answered(one);
    if has_rival && parts.iter().any(|(_, part)| part.uses.iter().any(is_shown)) {
        return (BY_USE.to_owned(), answers_by_use(analysis));
    }
    if parts.iter().any(|(_, part)| part.conclusions.iter().any(|one| one.first().is_some())) {
        // The answer over all groups is the last one.
        let groups = category_conclusions_by_disk(analysis).into_iter().flat_map(|mut part| {
            let last = part.len().min(1);
            part.rotate_right(last);
            part
        });
        // Roles that run at the same time count in no group, and are what such a suite is for.
        let mut all: Vec<ConclusionText> = groups.collect();
        let after = all.len().min(1);
        let roles = parts
            .iter()
            .flat_map(|(_, part)| results_of(part, |row| is_role(part, row)).collect::<Vec<_>>());
        all.splice(after..after, roles);
        return ("By group of tests".to_owned(), all);
    }
    let is_primary = |row: &ResultRow| row.primary && row.metric != Metric::Supported;
    let rows = parts.iter().flat_map(|(_, part)| results_of(part, is_primary)).collect();
    let heading = match &analysis.contenders[..] {
        [one] => {
            let heading = format!("Results of {}", sanitize_line(one));
            first_parts(&heading, |cut| width(cut) < COLUMNS)
        }
        _ => "Results, the best first".to_owned(),
    };
    (heading, rows)
}

/// Returns the answers that only `advise` prints.
fn whole_answers(analysis: &Analysis) -> String {
    let rare = analysis.uses.iter().filter(|one| !is_common(one) && is_answered(one)).count();
    match rare {
        0 => "whole answers".to_owned(),
        rare => format!("whole answers, {}", pluralize(rare as u64, "more use")),
    }
}

fn is_common(one: &UseCaseScores) -> bool {
    one.order.is_none_or(|order| order <= MOST_COMMON)
}

/// Returns the answers for common uses. Answers on several disks alternate.
fn answers_by_use(analysis: &Analysis) -> Vec<ConclusionText> {
    let parts = split_by_disk(analysis);
    let (mut uses, own) = use_case_conclusions_by_disk(analysis, is_common);
    let most = own.iter().map(Vec::len).max().unwrap_or(0);
    uses.extend((0..most).flat_map(|at| {
        own.iter().zip(&parts).filter_map(move |(own, (disk, _))| {
            let on = disk.map_or_else(String::new, |disk| format!(", on {}", sanitize_line(disk)));
            let one = own.get(at)?;
            Some(ConclusionText {
                question: format!("{}{on}", one.question),
                answer: one.answer.clone(),
            })
        })
    }));
    uses
}

/// Returns true for the tail latency of a role that ran while others did: of its syncs, if it has some.
fn is_role(analysis: &Analysis, row: &ResultRow) -> bool {
    let syncs = |other: &ResultRow| {
        (&other.test, &other.phase) == (&row.test, &row.phase) && other.metric == Metric::SyncP99
    };
    row.phase.starts_with("mix.")
        && match row.metric {
            Metric::SyncP99 => true,
            Metric::LatencyP99 => !analysis.rows.iter().any(syncs),
            _ => false,
        }
}

/// Returns each wanted result with its values: ranked ones first, the best first.
fn results_of<'a>(
    analysis: &'a Analysis,
    is_wanted: impl Fn(&ResultRow) -> bool + 'a,
) -> impl Iterator<Item = ConclusionText> + 'a {
    let rows = analysis.rows.iter().filter(move |row| is_wanted(row));
    let is_role = |row: &ResultRow| is_role(analysis, row);
    let mixes = analysis.rows.iter().filter(|row| is_role(row)).map(|row| row.test.as_str());
    let several_mixes = mixes.collect::<BTreeSet<_>>().len() > 1;
    let has_value = |row: &&ResultRow| row.results.iter().any(|one| one.estimate.is_some());
    rows.filter(has_value).map(move |row| {
        let scale = row_scale(row);
        let named = analysis.contenders.iter().zip(&row.results);
        let mut known: Vec<(&MetricResult, String)> = named
            .filter(|(_, result)| result.estimate.is_some())
            .map(|(name, result)| {
                let value = format!("{} {}", entry(row, result, &scale).text, scale.symbol());
                match analysis.contenders.len() {
                    1 => (result, value),
                    _ => (result, format!("{} {value}", sanitize_line(name))),
                }
            })
            .collect();
        let order = |result: &MetricResult| result.place.as_ref().map_or(u32::MAX, |at| at.order);
        known.sort_by_key(|(result, _)| order(result));
        let verdict = match known.first().and_then(|(first, _)| first.place.as_ref()) {
            None => "",
            Some(first) if first.best => "",
            Some(first) if first.is_equal() => ". The first are equal",
            _ => ". Which is the best is not decided",
        };
        let values: Vec<String> = known.into_iter().map(|(_, value)| value).collect();
        ConclusionText {
            question: match is_role(row) {
                true => format!("{} {}", row.phase, row.metric),
                false => format!("{} {}", row.test, row.phase),
            },
            answer: match is_role(row) && several_mixes {
                true => format!("{} in {}{verdict}.", values.join(", "), row.test),
                false => format!("{}{verdict}.", values.join(", ")),
            },
        }
    })
}

/// Returns the facts after the answers: failures, caveats, page, and commands.
fn facts(
    results: &CampaignResults,
    analysis: &Analysis,
    page: Option<&Path>,
    command: &dyn Fn(&str) -> String,
    room: Room,
    of_answers: OfAnswers,
) -> Vec<Item> {
    let mut facts: Vec<Item> = Vec::new();
    let mut fact = |style: Style, label: &'static str, text: &str| {
        // The widest label determines the room for every text.
        let alone = |cut: &str| {
            vec![Item::new("Failures", ""), Item::styled(label, style, sanitize_paragraph(cut))]
        };
        let cut = first_sentences(text, |cut| fits(&[Block::Facts(alone(cut))], 1 + room.lines));
        facts.extend(alone(&cut).pop());
    };
    let all = caveats(analysis);
    let unfinished = Caveat::unfinished(analysis);
    for caveat in &all {
        if let Caveat::Failures { failed, .. } = caveat {
            let style = if failed.is_empty() { Style::Plain } else { Style::Failed };
            fact(style, "Failures", &caveat.to_string());
        }
    }
    for SkippedSuite { suite, reason } in &results.campaign.skipped {
        let help = reason.rsplit("; ").next().unwrap_or_default();
        let text = format!("Suite {suite}, whose programs are missing. Here: {help}");
        fact(Style::Plain, "Skipped", &text);
    }
    if of_answers.are_power_cuts_untested {
        let text = format!("Power cuts. The rest, by use: `{}`", command("advise"));
        fact(Style::Plain, "Untested", &text);
    }
    let others = all.iter().chain(&unfinished);
    let others = others.filter_map(|caveat| Some((rank(caveat)?, caveat.to_string())));
    let clock = summary::virtual_time(results).map(|text| (1, text));
    let smoke = summary::smoke(results).map(|text| (1, text));
    let mut notes: Vec<(u8, String)> = clock.into_iter().chain(smoke).chain(others).collect();
    notes.sort_by_key(|(rank, _)| *rank);
    for (number, (_, note)) in notes.iter().take(room.caveats).enumerate() {
        fact(Style::Plain, if number == 0 { "Careful" } else { "" }, note);
    }
    if let Some(device) = &results.campaign.device {
        let device = sanitize_line(&device.display().to_string());
        fact(
            Style::Plain,
            "Device",
            &format!("{device} holds the last filesystem that was made there."),
        );
    }
    if let Some(page) = page {
        facts.push(Item::new("Page", page.display().to_string()));
    }
    let whole = match of_answers.are_by_use {
        true => format!("; {}: `{}`", whole_answers(analysis), command("advise")),
        false => String::new(),
    };
    facts.push(Item::new("Tables", format!("`{}`{whole}", command("report"))));
    if room.suites {
        facts.extend(no_advice_by_use(analysis).map(|text| Item::new("Uses", text)));
    }
    facts.extend(next(results, analysis, command).map(|next| Item::new("Next", next)));
    facts
}

/// Returns the step that brings closer answers.
fn next(
    results: &CampaignResults,
    analysis: &Analysis,
    command: &dyn Fn(&str) -> String,
) -> Option<String> {
    if analysis.measured_elsewhere || analysis.conclusions.is_empty() {
        return None;
    }
    let is_close = |most: f64| most <= analysis.margin.0;
    let mut groups = analysis.conclusions.iter().filter_map(Conclusion::first);
    let is_open = match analysis.uses.iter().any(is_answered) {
        true => is_any_open(analysis),
        false => groups.any(|first| !first.at_most.is_some_and(is_close)),
    };
    let again = match is_plan_fixed(results) {
        false => format!("`{}{}`", command("resume"), resume_options(analysis, results)),
        true => format!("`fsarena run` with `{}`", more_work(analysis)),
    };
    is_open.then(|| format!("{again} brings closer answers."))
}

/// Returns the order of a caveat by importance; `None` if it does not weaken an answer.
const fn rank(caveat: &Caveat) -> Option<u8> {
    Some(match caveat {
        Caveat::NothingRan | Caveat::Unfinished { .. } => 0,
        Caveat::NotDurable(_) => 1,
        Caveat::Withheld(_) | Caveat::TooFast(_) => 2,
        Caveat::Unlike(_) | Caveat::Images | Caveat::LessWork(_) | Caveat::Storage(..) => 3,
        caveat if caveat.is_busy() => 0,
        Caveat::Unsteady { .. } => 4,
        Caveat::Disturbed { .. } => 5,
        Caveat::Drift { .. } => 6,
        _ => return None,
    })
}

#[cfg(test)]
#[path = "last_screen_tests.rs"]
mod tests;
