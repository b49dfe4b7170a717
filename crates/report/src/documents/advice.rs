//! Advice as text: the recommended contender and the reasons, the cost of the runner-up, the
//! contenders ruled out, and the share of the weight that was tested.

use model::CampaignResults;
use stats::{Advice, Analysis, QualifiedContender, Recommendation};

use crate::tables::table::{Table, percent};
use crate::text::caveats::withheld;
use crate::text::conclusions::{
    CampaignScope, confidence_text, describe_rank, listed, split_by_disk, use_case_conclusion,
    use_case_conclusions,
};
use crate::text::exclusions::reasons;
use crate::text::labels::pluralize;
use crate::text::sanitize::{sanitize_line, wrap};
use crate::text::scale::three_digits;
use crate::text::summary;

/// Maximum number of results listed as not counted.
const MAX_LEFT_OUT: usize = 8;

/// Renders the advice as text.
pub fn advice_text(advice: &Advice, analysis: &Analysis, results: &CampaignResults) -> String {
    let scores = &advice.scores;
    let mut out = format!("{}\n{}\n\n", sanitize_line(&scores.title), summary::one_line(results));
    let contenders: Vec<String> = scores.candidates.iter().map(|c| c.contender.clone()).collect();
    out += &format!("{}\n", wrapped(&sentence(advice, &contenders, results)));
    out += &careful(results);
    out += &not_counted(analysis);
    out += &ranking(advice);
    out += &price(advice);
    out += &ruled_out(advice);
    out += &limits(advice);
    out += &format!("\nweights: {}\n", sanitize_line(&scores.source));
    out
}

/// Renders one sentence for each use case.
pub fn answers_text(analysis: &Analysis, results: &CampaignResults) -> String {
    let mut out = format!("{}\n\n", summary::one_line(results));
    for (disk, part) in split_by_disk(analysis) {
        if let Some(disk) = disk {
            out += &format!("On {}\n", sanitize_line(disk));
        }
        for sentence in use_case_conclusions(part) {
            out +=
                &format!("{}\n", wrapped(&format!("{}: {}", sentence.question, sentence.answer)));
        }
    }
    out + &careful(results)
        + &not_counted(analysis)
        + &match confidence_text(analysis) {
            sure if sure.is_empty() => "\n".to_owned(),
            sure => format!("\n{}\n", wrapped(&sure)),
        }
        + "Reasons: fsarena advise --use NAME (fsarena list uses)\n"
}

fn name(ranked: &QualifiedContender) -> String {
    sanitize_line(&ranked.contender)
}

fn ranking(advice: &Advice) -> String {
    // Contenders that lack results have no place. If no contender has a place, there is no table.
    if advice.ranking.iter().all(|ranked| ranked.place.is_none()) {
        return String::new();
    }
    let mut table = Table::new(&["contender", ">times the lowest", "ratio to best"]);
    for ranked in &advice.ranking {
        let place = ranked.place.as_ref();
        table.push(vec![
            name(ranked),
            place.map_or_else(|| "–".to_owned(), |place| three_digits(place.ratio)),
            place.map_or_else(|| "not ranked".to_owned(), describe_rank),
        ]);
    }
    let note = "Times the lowest: what the same work costs in time, weighted over the groups, as a multiple of the first's.";
    format!("\n{}{}\n", table.text("  "), wrapped(note))
}

/// Returns warnings that weaken an advice, apart from too few rounds: a busy machine, and cells
/// that did not run.
fn careful(results: &CampaignResults) -> String {
    let cells = || results.cells.iter();
    let ran = cells().filter_map(|cell| cell.result.as_ref());
    let disturbed = ran.clone().filter(|r| r.disturbance.is_some_and(|d| d.is_significant()));
    let (ran, disturbed) = (ran.count(), disturbed.count());
    let mut told = Vec::new();
    if disturbed * 10 > ran {
        told.push(format!("other processes were busy while {disturbed} of {ran} cells ran"));
    }
    if ran < results.cells.len() {
        let missing = results.cells.len() - ran;
        told.push(format!("{missing} of {} cells did not run", results.cells.len()));
    }
    match told.is_empty() {
        true => String::new(),
        false => format!("{}\n", wrapped(&format!("Careful: {}.", told.join("; ")))),
    }
}

/// Returns the phases that are excluded from answers in virtual time.
fn not_counted(analysis: &Analysis) -> String {
    withheld(analysis).map_or_else(String::new, |text| format!("{}\n", wrapped(&text)))
}

/// Returns the answer, and the command that it recommends.
fn sentence(advice: &Advice, contenders: &[String], results: &CampaignResults) -> String {
    let suites = results.campaign.suites.iter();
    let ran = CampaignScope {
        suites: suites.map(|suite| suite.name.as_str()).collect(),
        budget: results.campaign.budget,
        elsewhere: results.campaign.measured_by.is_some(),
        single: results.campaign.measured_by.is_some() && results.campaign.rounds == 1,
    };
    let text = use_case_conclusion(advice, contenders, &ran);
    match advice.recommendation {
        Recommendation::NoneQualifies | Recommendation::NoAdvice => {
            let mut letters = text.chars();
            let first = letters.next().into_iter().flat_map(char::to_uppercase);
            first.chain(letters).collect()
        }
        Recommendation::NotEnoughRounds => format!("Undecided: {text}"),
        Recommendation::Best | Recommendation::Equal | Recommendation::OnlyQualified => {
            format!("Take {text}")
        }
    }
}

/// Returns the cost of the runner-up compared with the first, by test category.
fn price(advice: &Advice) -> String {
    let Some((first, second)) = advice.ranking.first().zip(advice.ranking.get(1)) else {
        return String::new();
    };
    if second.groups.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&["group", ">weight", "times the first", "they change places"]);
    for group in &second.groups {
        // A weight that rounds to 0 or 100 % is not a turning point.
        let turns = group.turns_at.filter(|at| (0.005..0.995).contains(at));
        let turns = turns.map_or_else(String::new, |at| {
            let way = if at > group.share { "above" } else { "below" };
            format!("at a weight {way} {} %", percent(at))
        });
        table.push(vec![
            group.group.title().to_owned(),
            format!("{} %", percent(group.share)),
            group.ratio.map_or_else(String::new, three_digits),
            turns,
        ]);
    }
    format!("\nWhat {} costs instead of {}\n{}", name(second), name(first), table.text("  "))
}

fn ruled_out(advice: &Advice) -> String {
    if advice.ruled_out.is_empty() {
        return String::new();
    }
    let mut out = "\nRuled out\n".to_owned();
    for candidate in &advice.ruled_out {
        let reasons = reasons(candidate);
        out += &format!("  {}: {}\n", sanitize_line(&candidate.contender), reasons.join("; "));
    }
    out
}

/// Returns the limits of the advice: untested groups, excluded results, untried features.
fn limits(advice: &Advice) -> String {
    let mut out = String::new();
    for untested in &advice.untested {
        let mut groups = advice.scores.groups.iter();
        let group = groups.find(|group| group.group == untested.group);
        let by = match group.map_or(&[][..], |group| &group.tested_by) {
            [] => String::new(),
            by => format!(" ({} would test it)", either(by)),
        };
        out += &format!(
            "  {}: {} % of the weight{by}\n",
            untested.group.title(),
            percent(untested.share)
        );
    }
    if !out.is_empty() {
        let tested: f64 = 1.0 - advice.untested.iter().map(|u| u.share).sum::<f64>();
        out += &wrapped(&format!(
            "  The advice rests on {} % of the weight.{}",
            percent(tested),
            turning(advice)
        ));
        out.push('\n');
        out.insert_str(0, "\nNot tested\n");
    }
    out + &left_out(advice) + &untried(advice)
}

fn either(suites: &[String]) -> String {
    let options: Vec<String> = suites.iter().map(|s| format!("-s {s}")).collect();
    options.join(" or ")
}

fn turning(advice: &Advice) -> String {
    let pair = advice.ranking.first().zip(advice.ranking.get(1));
    pair.zip(advice.turns_if_untested).map_or_else(String::new, |((first, second), factor)| {
        format!(
            " {} would come before {} if {} cost more than {} times as much in the rest.",
            name(second),
            name(first),
            name(first),
            three_digits(factor)
        )
    })
}

fn left_out(advice: &Advice) -> String {
    if advice.left_out.is_empty() {
        return String::new();
    }
    let mut out = "\nDo not count, since not all who qualify have them\n".to_owned();
    for result in advice.left_out.iter().take(MAX_LEFT_OUT) {
        let lacking = result.lacking.iter();
        // Results of other programs may be missing without a known reason.
        let lacking = lacking
            .map(|(who, word)| format!("{} {word}", sanitize_line(who)).trim_end().to_owned());
        out += &format!(
            "  {}/{}: {}\n",
            sanitize_line(&result.test),
            sanitize_line(&result.phase),
            lacking.collect::<Vec<_>>().join(", ")
        );
    }
    let more = advice.left_out.len().saturating_sub(MAX_LEFT_OUT);
    if more > 0 {
        out += &format!("  and {}\n", pluralize(more as u64, "more result"));
    }
    out
}

fn untried(advice: &Advice) -> String {
    let lines = advice.untried.iter().map(|(feature, contenders)| {
        let names: Vec<String> = contenders.iter().map(|name| sanitize_line(name)).collect();
        format!("  {feature}: {}\n", listed(&names, "and"))
    });
    let lines: String = lines.collect();
    match lines.is_empty() {
        true => String::new(),
        false => format!("\nNeeded, and never tried (suite lifecycle tries it)\n{lines}"),
    }
}

/// Wraps a sentence at 80 columns and keeps its indentation on each line.
pub(crate) fn wrapped(text: &str) -> String {
    const COLUMNS: usize = 80;
    let margin = &text[..text.len() - text.trim_start().len()];
    let lines = wrap(text.trim(), COLUMNS - margin.len());
    let lines: Vec<String> = lines.iter().map(|line| format!("{margin}{line}")).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{CategoryWeight, Feature, RequiredFeature, UseCase, WorkloadCategory};
    use stats::{advise, analyse, fixture};

    fn file_server() -> UseCase {
        let weight = |group, weight| CategoryWeight { group, weight, rationale: "so".to_owned() };
        UseCase {
            name: "file-server".to_owned(),
            title: "File server".to_owned(),
            source: "made for a test".to_owned(),
            rationale: "Nothing".to_owned(),
            order: None,
            readers: None,
            relevant: None,
            needs: vec![RequiredFeature {
                feature: Feature::HardLinks,
                rationale: "backups link what has not changed".to_owned(),
            }],
            weights: vec![
                weight(WorkloadCategory::Trees, 40.0),
                weight(WorkloadCategory::StreamWrite, 25.0),
                weight(WorkloadCategory::Names, 15.0),
                weight(WorkloadCategory::Durable, 20.0),
            ],
        }
    }

    fn shown(results: &CampaignResults) -> String {
        let mut analysis = analyse(results);
        let suites = [(WorkloadCategory::Durable, vec!["fs-mark".to_owned()])].into();
        analysis.score_use_cases([&file_server()], &suites);
        advice_text(&advise(&analysis.uses[0]), &analysis, results)
    }

    #[test]
    fn a_real_looking_campaign() {
        insta::assert_snapshot!(shown(&fixture::realistic()));
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

    #[test]
    fn wrapped_lines_keep_their_indentation() {
        let text = wrapped(&format!("  {}", "word ".repeat(50)));
        assert!(text.lines().all(|l| l.starts_with("  word") && l.len() <= 80));
        assert_eq!(text.split_whitespace().count(), 50);
    }
}
