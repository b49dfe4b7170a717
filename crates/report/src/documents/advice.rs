//! Advice: the recommended contender and the reasons, the cost of the runner-up, the contenders
//! ruled out, and the share of the weight that was tested.

use std::collections::BTreeSet;

use model::{CampaignResults, Clock};
use stats::{Advice, Analysis, ComparisonVerdict, PowerCutRecord, QualifiedContender, advise};

use crate::document::table::percent;
use crate::document::{Block, Document, Item, Table};
use crate::text::answer::excess_bound;
use crate::text::caveats::Caveat;
use crate::text::command::repeat_part_command;
use crate::text::conclusions::{
    CampaignScope, FEATURE_SUITE, confidence_text, is_answered, is_open, listed, resolving_command,
    round_down, split_by_disk, use_case_conclusion, use_case_conclusions,
};
use crate::text::exclusions::by_reason;
use crate::text::labels::{percent as percent_text, pluralize};
use crate::text::sanitize::sanitize_line;
use crate::text::scale::three_digits;
use crate::text::summary;

/// Maximum number of results listed as not counted.
const MAX_LEFT_OUT: usize = 8;

/// Returns the advice as a document. `disk` is the disk of the contenders, if there are several;
/// `opinion` is the [second opinion](crate::second_opinion).
pub fn advice_report(
    advice: &Advice,
    analysis: &Analysis,
    results: &CampaignResults,
    disk: Option<&str>,
    opinion: Option<String>,
) -> Document {
    let scores = &advice.scores;
    let on = disk.map_or_else(String::new, |disk| format!(", on {}", sanitize_line(disk)));
    let mut document = Document::titled(sanitize_line(&scores.title) + &on);
    document.paragraph(summary::one_line(results, analysis));
    document.paragraph(sentence(advice, analysis, results));
    document.blocks.extend(opinion.map(|text| Block::Paragraph(format!("Second opinion: {text}"))));
    let command = resolving_command(advice, analysis, &command_of_use(advice, analysis, results));
    if is_open(advice, analysis) && !command.is_empty() {
        document.paragraph(format!("For a closer answer: {command}"));
    }
    document.section("Order", ranking(advice, analysis));
    price(advice, &mut document);
    let ruled_out = by_reason(advice).into_iter();
    let ruled_out = ruled_out.map(|(names, reason)| Item::new(listed(&names, "and"), reason));
    document.list("Ruled out", ruled_out);
    document.section("Without results", untested(advice));
    document.list("Do not count, since not all who qualify have them", left_out(advice));
    document.list("Needed, and never tried (suite lifecycle tries it)", untried(advice));
    warnings(analysis, results, &mut document);
    document.push(Block::Note(sanitize_line(&scores.source)));
    document
}

/// Returns the command that repeats the tests that count for a use, with the filesystems that
/// qualify.
fn command_of_use(advice: &Advice, analysis: &Analysis, results: &CampaignResults) -> String {
    let ranked = advice.ranking.iter().filter(|ranked| ranked.place.is_some());
    let contenders: BTreeSet<&str> = ranked.map(|ranked| ranked.contender.as_str()).collect();
    let weighted = advice.scores.groups.iter().filter(|group| group.weight > 0.0);
    let rows = weighted.flat_map(|group| &group.results).map(|result| &analysis.rows[result.row]);
    // The features that a use needs are tried by another suite.
    let probes = analysis.rows.iter().filter(|row| row.suite == FEATURE_SUITE);
    let tests: BTreeSet<&str> = rows.chain(probes).map(|row| row.test.as_str()).collect();
    repeat_part_command(&results.campaign, &contenders, &tests)
}

/// Returns one sentence for each use case, and its [second opinion](crate::second_opinion).
/// `has_store`: the campaign is in a database, in which a second one can follow.
pub fn answers_report(
    analysis: &Analysis,
    results: &CampaignResults,
    opinion: &dyn Fn(&Advice) -> Option<String>,
    has_store: bool,
) -> Document {
    let mut document = Document::titled(summary::one_line(results, analysis));
    for (disk, part) in split_by_disk(analysis) {
        let on = disk.map_or("Answers".to_owned(), |disk| format!("On {}", sanitize_line(disk)));
        document.list(on, use_case_conclusions(part));
    }
    let opinions = analysis
        .uses
        .iter()
        .filter(|one| is_answered(one))
        .filter_map(|one| Some(Item::new(sanitize_line(&one.title), opinion(&advise(one))?)));
    let opinions: Vec<Item> = opinions.collect();
    let mut notes = vec!["Reasons: fsarena advise --use NAME (fsarena list uses)".to_owned()];
    let is_any_answered = analysis.uses.iter().any(is_answered);
    let losses = analysis.features.iter().filter_map(|features| features.power_cuts.as_ref());
    if let Some(sources) = sources_of(losses).filter(|_| is_any_answered) {
        notes.push(format!("Earlier power cuts: {sources}"));
    }
    // A file of a campaign is in no database that has other campaigns.
    if opinions.is_empty() && has_store && is_any_answered && analysis.clock == Clock::Real {
        let run = "A second opinion, from a simulated disk: fsarena run --backend vm, then fsarena advise";
        notes.push(format!("{run} {}", results.id));
    }
    document.list("Second opinion", opinions);
    warnings(analysis, results, &mut document);
    document.paragraph(confidence_text(analysis));
    document.blocks.extend(notes.into_iter().map(Block::Note));
    document
}

/// Adds what weakens an answer, apart from too few rounds.
fn warnings(analysis: &Analysis, results: &CampaignResults, document: &mut Document) {
    let scopes = [summary::virtual_time_scope(results), summary::smoke(results)];
    document.blocks.extend(scopes.into_iter().flatten().map(Block::Paragraph));
    let caveats =
        [Caveat::busy(analysis), Caveat::unfinished(analysis), Caveat::withheld(analysis)];
    document.blocks.extend(caveats.into_iter().flatten().map(Block::from));
}

fn name(ranked: &QualifiedContender) -> String {
    sanitize_line(&ranked.contender)
}

/// Returns the cost, the place and the losses of each contender. Contenders that lack results have no
/// place; if none has a place, there is no table.
fn ranking(advice: &Advice, analysis: &Analysis) -> Vec<Block> {
    if advice.ranking.iter().all(|ranked| ranked.place.is_none()) {
        return Vec::new();
    }
    let losses: Vec<Option<&PowerCutRecord>> =
        advice.ranking.iter().map(|ranked| losses(ranked, analysis)).collect();
    let has_losses = losses.iter().any(Option::is_some);
    let heading = ["filesystem", ">estimate", ">at least", ">at most", ">lost in power cuts"];
    let shown = if has_losses { heading.len() } else { heading.len() - 1 };
    let mut table = Table::new(&heading[..shown]);
    let dash = || "–".to_owned();
    for (ranked, losses) in advice.ranking.iter().zip(&losses) {
        let place = ranked.place.as_ref();
        let least = place.map(|place| match place.verdict {
            ComparisonVerdict::WorseByAtLeast(share) if place.exact => {
                format!("+{}", percent_text(share))
            }
            ComparisonVerdict::WorseByAtLeast(share) => {
                format!("+{}", percent_text(round_down(share)))
            }
            _ => dash(),
        });
        let cells = [
            name(ranked),
            place.map_or_else(dash, |place| format!("{}×", three_digits(place.ratio))),
            least.unwrap_or_else(dash),
            place.and_then(|place| place.at_most).map_or_else(dash, excess_bound),
            losses.map_or_else(
                || "not tested".to_owned(),
                |record| format!("{} of {}", record.lost, record.cuts),
            ),
        ];
        table.push(cells.into_iter().take(shown));
    }
    let mut note = format!(
        "Estimate: what the same work costs in time or space, weighted over the groups of this use, as a multiple of the cost of the best. At least, at most: how much more than the best (–: not known; at least: not shown to exceed {}).",
        percent_text(advice.scores.margin.0)
    );
    if let Some(sources) = sources_of(losses.into_iter().flatten()) {
        note += &format!(" Power cuts: {sources}.");
    }
    vec![Block::Table(table), Block::Note(note)]
}

/// Returns where and when the losses of earlier power cuts were measured; `None` without such losses.
fn sources_of<'a>(losses: impl Iterator<Item = &'a PowerCutRecord>) -> Option<String> {
    let sources = losses.filter_map(|record| record.shipped.as_deref());
    let sources: BTreeSet<String> = sources.map(sanitize_line).collect();
    (!sources.is_empty()).then(|| sources.into_iter().collect::<Vec<_>>().join("; "))
}

/// Returns the losses of a contender in power cuts, if known.
fn losses<'a>(ranked: &QualifiedContender, analysis: &'a Analysis) -> Option<&'a PowerCutRecord> {
    let mut features = analysis.features.iter();
    features.find(|features| features.contender == ranked.contender)?.power_cuts.as_ref()
}

/// Returns the answer, and the command that it recommends.
fn sentence(advice: &Advice, analysis: &Analysis, results: &CampaignResults) -> String {
    let suites = results.campaign.suites.iter();
    let ran = CampaignScope {
        suites: suites.map(|suite| suite.name.as_str()).collect(),
        ..CampaignScope::of(analysis)
    };
    summary::sentence(&use_case_conclusion(advice, analysis, &ran))
}

/// Adds the cost of the runner-up compared with the first, by test category.
fn price(advice: &Advice, document: &mut Document) {
    let Some((first, second)) = advice.ranking.first().zip(advice.ranking.get(1)) else {
        return;
    };
    // A weight that rounds to 0 or 100 % is not a turning point.
    let turning = |at: &f64| (0.005..0.995).contains(at);
    let any = second.groups.iter().any(|group| group.turns_at.is_some_and(|at| turning(&at)));
    let weight = if advice.untested.is_empty() { ">weight" } else { ">tested weight" };
    let heading = ["group", weight, ">cost", "estimates cross"];
    let shown = if any { heading.len() } else { heading.len() - 1 };
    let mut table = Table::new(&heading[..shown]);
    for group in &second.groups {
        let turns = group.turns_at.filter(turning).map_or_else(String::new, |at| {
            let way = if at > group.share { "above" } else { "below" };
            format!("at a weight {way} {} %", percent(at))
        });
        let cells = [
            group.group.title().to_owned(),
            format!("{} %", percent(group.share)),
            group.ratio.map_or_else(String::new, three_digits),
            turns,
        ];
        table.push(cells.into_iter().take(shown));
    }
    let (first, second) = (name(first), name(second));
    let title = format!("Cost of {second} as a multiple of the cost of {first}, by group of tests");
    document.section(title, [Block::Table(table)]);
}

/// Returns the untested groups, and the weight on which the advice rests.
fn untested(advice: &Advice) -> Vec<Block> {
    let group = |untested: &stats::UntestedCategory| {
        let mut groups = advice.scores.groups.iter();
        let group = groups.find(|group| group.group == untested.group);
        let by = match group.map_or(&[][..], |group| &group.tested_by) {
            [] => String::new(),
            by => format!(" ({} would test it)", either(by)),
        };
        let weight = format!("{} % of the weight{by}", percent(untested.share));
        Item::new(untested.group.title(), weight)
    };
    let groups: Vec<Item> = advice.untested.iter().map(group).collect();
    if groups.is_empty() {
        return Vec::new();
    }
    let tested = 1.0 - advice.untested.iter().map(|u| u.share).sum::<f64>();
    let rests =
        format!("The advice rests on {} % of the weight.{}", percent(tested), turning(advice));
    vec![Block::List(groups), Block::Note(rests)]
}

fn either(suites: &[String]) -> String {
    let options: Vec<String> = suites.iter().map(|s| format!("-s {s}")).collect();
    options.join(" or ")
}

fn turning(advice: &Advice) -> String {
    let pair = advice.ranking.first().zip(advice.ranking.get(1));
    pair.zip(advice.turns_if_untested).map_or_else(String::new, |((first, second), factor)| {
        let (first, second) = (name(first), name(second));
        let condition = match factor < 1.0 {
            true => format!("unless {first} costs {} less", percent_text(1.0 - factor)),
            false => format!("if {first} cost more than {} times as much", three_digits(factor)),
        };
        format!(" {second} would come before {first} {condition} in the rest.")
    })
}

fn left_out(advice: &Advice) -> Vec<Item> {
    let results = advice.left_out.iter().take(MAX_LEFT_OUT).map(|result| {
        // Results of other programs may be missing without a known reason.
        let lacking = result.lacking.iter();
        let lacking = lacking
            .map(|(who, word)| format!("{} {word}", sanitize_line(who)).trim_end().to_owned());
        let place = format!("{}/{}", sanitize_line(&result.test), sanitize_line(&result.phase));
        Item::new(place, lacking.collect::<Vec<_>>().join(", "))
    });
    let more = advice.left_out.len().saturating_sub(MAX_LEFT_OUT) as u64;
    let more = (more > 0).then(|| format!("and {}", pluralize(more, "more result")).into());
    results.chain(more).collect()
}

fn untried(advice: &Advice) -> impl Iterator<Item = Item> {
    advice.untried.iter().map(|(feature, contenders)| {
        let names: Vec<String> = contenders.iter().map(|name| sanitize_line(name)).collect();
        Item::new(feature.to_string(), listed(&names, "and"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{DocumentOptions, terminal};
    use model::{Feature, RequiredFeature, UseCase, WorkloadCategory};
    use stats::{analyse, fixture};

    fn file_server() -> UseCase {
        UseCase {
            name: "file-server".to_owned(),
            title: "File server".to_owned(),
            needs: vec![RequiredFeature {
                feature: Feature::HardLinks,
                rationale: "backups link what has not changed".to_owned(),
            }],
            ..fixture::use_of(&[
                (WorkloadCategory::Trees, 40.0),
                (WorkloadCategory::StreamWrite, 25.0),
                (WorkloadCategory::Names, 15.0),
                (WorkloadCategory::Durable, 20.0),
            ])
        }
    }

    fn shown(results: &CampaignResults) -> String {
        let mut analysis = analyse(results);
        let suites = [(WorkloadCategory::Durable, vec!["fs-mark".to_owned()])].into();
        analysis.score_use_cases([&file_server()], &suites);
        let report = advice_report(&advise(&analysis.uses[0]), &analysis, results, None, None);
        terminal(&report, &DocumentOptions::default())
    }

    #[test]
    fn a_real_looking_campaign() {
        insta::assert_snapshot!(shown(&fixture::realistic()));
    }

    #[test]
    fn a_closer_answer_needs_only_what_counts() {
        let results = fixture::realistic();
        let mut analysis = analyse(&results);
        analysis.score_use_cases([&file_server()], &Default::default());
        let advice = advise(&analysis.uses[0]);
        let command = command_of_use(&advice, &analysis, &results);
        assert!(command.contains(" -c ext2 ") && command.contains("tree"), "{command}");
        for excluded in ["exfat-fuse", "zfs-fuse", "ntfs-3g"] {
            assert!(!command.contains(excluded), "{excluded}: {command}");
        }
    }

    #[test]
    fn a_small_campaign_gives_no_advice_for_want_of_tests() {
        insta::assert_snapshot!(shown(&fixture::plain()));
    }

    #[test]
    fn hostile_names_are_escaped() {
        let text = shown(&fixture::hostile());
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
        assert!(text.lines().count() > 5);
    }
}
