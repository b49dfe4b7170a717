//! Renders the report as Markdown, with tables supported by GitHub and most wikis.

use model::{CampaignResults, FACT_TITLES, Feature};
use stats::{Analysis, ContenderFeatures};
use studies::Study;

use crate::tables::calibration;
use crate::tables::overview::{
    CellStyle, PhaseLine, TableCell, TestBlock, legend, legend_text, overview,
};
use crate::tables::{ageing, interference, over_baseline, resources, scores, totals};
use crate::tables::{cost, disk_time};
use crate::text::caveats::remarks;
use crate::text::claims;
use crate::text::conclusions::{
    ConclusionText, category_conclusions, confidence_text, is_single, split_by_disk,
    use_case_conclusions,
};
use crate::text::failures::failure_lines;
use crate::text::kernel_warnings::complaint_lines;
use crate::text::sanitize::{sanitize_line, sanitize_paragraph, short_names};
use crate::text::{labels, summary};

/// Maximum width of a contender's name in a table.
const WIDEST_NAME: usize = 40;

pub(crate) fn render(results: &CampaignResults, analysis: &Analysis) -> String {
    let blocks = overview(results, analysis);
    let names: Vec<String> =
        short_names(&analysis.contenders, WIDEST_NAME).iter().map(|name| escape(name)).collect();
    let mut out = head(results, analysis) + &answers(analysis) + &standing(analysis);
    for block in &blocks {
        out += &test(block, &names);
    }
    out += &legend_lines(&blocks, is_single(analysis));
    out += &of_the_raw_device(results, analysis, &names);
    out += &of_processor(results, analysis, &names);
    out += &titled(disk_time::TITLE, &disk_time::blocks(results, analysis), &names);
    out += &above_baseline(results, analysis, &names);
    out += &totals(results, analysis, &names);
    out += &ageing(analysis);
    out += &interference(results, analysis, &names);
    out += &resources(analysis);
    out += &features(analysis, &names);
    out += &failures(analysis);
    out += &complaints(analysis);
    out += &environment(results);
    out
}

/// Renders the report on a published comparison, starting with its title, its source and the
/// verdicts on its claims.
pub fn study_markdown(study: &Study, results: &CampaignResults, analysis: &Analysis) -> String {
    let report = render(results, analysis);
    let rest = report.split_once("\n\n").map_or("", |(_, rest)| rest);
    let mut out = format!("# {}\n", escape(&sanitize_line(&study.title)));
    let claims = format!(
        "{} (fsarena study claims {}).",
        claims::summary(study).trim_end_matches('.'),
        sanitize_line(&study.name)
    );
    for text in [Some(claims), claims::excluded_figures(study)].iter().flatten() {
        out += &paragraph(text);
    }
    out + "\n" + rest
}

fn head(results: &CampaignResults, analysis: &Analysis) -> String {
    let mut out = format!("# {}\n\n", escape(&sanitize_line(&results.campaign.name)));
    out += &format!("{}\n\n", escape(&summary::one_line(results)));
    out += &format!("{}\n", escape(&summary::outcome_line(results, analysis)));
    if let Some(text) = summary::incomplete_note(analysis) {
        out += &format!("\n**{text}**\n");
    }
    if let Some(text) = summary::virtual_time(results) {
        out += &format!("\n{}\n", escape(&text));
    }
    out
}

/// Returns the overall standings of contenders: counts of phases, and test categories.
fn standing(analysis: &Analysis) -> String {
    let mut out = String::new();
    for (disk, part) in split_by_disk(analysis) {
        let on = disk.map_or_else(String::new, |disk| format!(", on {}", escape(disk)));
        out += &format!("\n## Standings{on}\n\n");
        out += &scores::counts(part).markdown(escape);
        if let Some(table) = scores::groups(part) {
            out += "\nCost in each group of tests, as a multiple of the best of each result (geometric mean).\n\n";
            out += &table.markdown(escape);
        }
    }
    if let Some(table) = scores::contender_groups(analysis) {
        let over = match analysis.by_disk.is_empty() {
            true => "",
            false => ", over all disks together",
        };
        out += &format!(
            "\nGroups of contenders that the campaign names: the geometric mean of their members' costs{over}.\n\n"
        );
        out += &table.markdown(escape);
    }
    out
}

/// Returns the answers for each use case and category, and how reliable the results are.
fn answers(analysis: &Analysis) -> String {
    let line = |sentence: &ConclusionText| {
        let (question, answer) = (escape(&sentence.question), escape(&sentence.answer));
        format!("- **{question}:** {answer}\n")
    };
    let mut out = String::new();
    for (disk, part) in split_by_disk(analysis) {
        let on = disk.map_or_else(String::new, |disk| format!(", on {}", escape(disk)));
        let uses: String = use_case_conclusions(part).iter().map(line).collect();
        if !uses.is_empty() {
            out += &format!("\n## By use{on}\n\n{uses}");
            out += &paragraph(&confidence_text(analysis));
        }
        let groups: String = category_conclusions(part).iter().map(line).collect();
        if !groups.is_empty() {
            out += &format!("\n## By group of tests{on}\n\n{groups}");
        }
    }
    let remarks = remarks(analysis);
    let remarks: String = remarks.iter().map(|r| format!("- {}\n", escape(r))).collect();
    match remarks.is_empty() {
        true => out,
        false => out + &format!("\n## Reliability of the results\n\n{remarks}"),
    }
}

/// Returns a paragraph preceded by an empty line, or nothing if the text is empty.
fn paragraph(text: &str) -> String {
    match text.is_empty() {
        true => String::new(),
        false => format!("\n{}\n", escape(text)),
    }
}

fn test(block: &TestBlock<'_>, names: &[String]) -> String {
    let (name, title) = (escape(&block.name), escape(&block.title));
    let mut out = format!("\n## {name}: {title}\n");
    out += &paragraph(&sanitize_paragraph(&block.test.rationale));
    out.push('\n');
    out += &heading(names);
    for phase in &block.lines {
        if let Some(rule) = &phase.rule {
            let mut cells = vec![format!("*{}*", escape(rule)), String::new()];
            cells.resize(names.len() + 2, String::new());
            out += &line(&cells);
        }
        out += &row(&phase.label, phase);
    }
    out
}

/// Returns the line with the contenders' names, and the line that aligns the columns.
fn heading(names: &[String]) -> String {
    let mut header = vec!["phase".to_owned(), "unit".to_owned()];
    header.extend(names.iter().cloned());
    let aligned = |i: usize| if i == 0 { ":--" } else { "--:" };
    let alignment: Vec<_> = (0..header.len()).map(aligned).map(str::to_owned).collect();
    line(&header) + &line(&alignment)
}

fn row(name: &str, phase: &PhaseLine<'_>) -> String {
    let mut cells = vec![escape(name), escape(&phase.unit)];
    cells.extend(phase.entries.iter().map(entry));
    line(&cells)
}

/// Returns the results that reached the device, as shares of its performance without a filesystem.
fn of_the_raw_device(results: &CampaignResults, analysis: &Analysis, names: &[String]) -> String {
    let title = "Share of the raw device's performance";
    titled(title, &calibration::shares(results, analysis), names)
}

/// Returns the processor use and page faults of each phase.
fn of_processor(results: &CampaignResults, analysis: &Analysis, names: &[String]) -> String {
    titled(cost::TITLE, &cost::blocks(results, analysis), names)
}

/// Returns one table of several tests below a title; empty if it has no rows.
fn titled(title: &str, blocks: &[TestBlock<'_>], names: &[String]) -> String {
    if blocks.is_empty() {
        return String::new();
    }
    format!("\n## {title}\n\n") + &in_one_table(blocks, names)
}

/// Returns the share of the filesystem in real work.
fn above_baseline(results: &CampaignResults, analysis: &Analysis, names: &[String]) -> String {
    let blocks = over_baseline::blocks(results, analysis);
    if blocks.is_empty() {
        return String::new();
    }
    let head =
        format!("\n## {}\n\n{}\n\n", over_baseline::TITLE, escape(&over_baseline::note(analysis)));
    let sentences = over_baseline::sentences(analysis).into_iter();
    let sentences: String = sentences.map(|text| format!("\n{}\n", escape(&text))).collect();
    head + &in_one_table(&blocks, names) + &sentences
}

/// Returns the times of whole tests and of each attempt.
fn totals(results: &CampaignResults, analysis: &Analysis, names: &[String]) -> String {
    let blocks = totals::blocks(results, analysis, totals::AttemptFilter::All);
    if blocks.is_empty() {
        return String::new();
    }
    let head = format!("\n## {}\n\n{}\n\n", totals::TITLE, totals::NOTE);
    head + &in_one_table(&blocks, names)
}

/// Returns the cost of ageing for each contender that is measured both fresh and aged.
fn ageing(analysis: &Analysis) -> String {
    let Some(sums) = ageing::sums(analysis) else {
        return String::new();
    };
    let mut out = format!("\n## {}\n\n", ageing::TITLE);
    for sentence in ageing::sentences(analysis) {
        out += &format!("- {}\n", escape(&sentence));
    }
    out += &format!("\n{}", sums.markdown(escape));
    if let Some(results) = ageing::results(analysis, usize::MAX) {
        out += &format!("\n{}\n\n{}", ageing::EACH, results.markdown(escape));
    }
    out + &format!("\n{}\n", ageing::NOTE)
}

/// Returns the interference between the roles of mixes.
fn interference(results: &CampaignResults, analysis: &Analysis, names: &[String]) -> String {
    let blocks = interference::blocks(results, analysis);
    if blocks.is_empty() {
        return String::new();
    }
    let head = format!("\n## {}\n\n{}\n\n", interference::TITLE, interference::NOTE);
    head + &in_one_table(&blocks, names)
}

/// Returns the resource limits and use of each contender.
fn resources(analysis: &Analysis) -> String {
    let Some(table) = resources::table(analysis) else {
        return String::new();
    };
    let out = format!("\n## {}\n\n", resources::TITLE);
    out + &table.markdown(escape) + &format!("\n{}\n", resources::NOTE)
}

/// Joins blocks into one table and adds the test name to each line.
fn in_one_table(blocks: &[TestBlock<'_>], names: &[String]) -> String {
    let lines = blocks.iter().flat_map(|block| {
        let name = |phase: &PhaseLine<'_>| format!("{}: {}", block.name, phase.label);
        block.lines.iter().map(move |phase| row(&name(phase), phase))
    });
    heading(names) + &lines.collect::<String>()
}

fn entry(entry: &TableCell) -> String {
    let text = escape(&format!("{}{}", entry.text, entry.signs));
    match entry.tone {
        CellStyle::Plain | CellStyle::Worst => text,
        CellStyle::Best => format!("**{text}**"),
        CellStyle::Failed | CellStyle::Missing => format!("*{text}*"),
    }
}

fn line(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

fn legend_lines(blocks: &[TestBlock<'_>], single: bool) -> String {
    let entries: Vec<String> = legend(blocks)
        .into_iter()
        .map(|(sign, text)| {
            format!("{} {}", escape(&sign.to_string()), legend_text(sign, text, single))
        })
        .collect();
    format!("\n{}\n", entries.join(" · "))
}

fn features(analysis: &Analysis, names: &[String]) -> String {
    let mut header = vec![String::new()];
    header.extend(names.iter().cloned());
    if !labels::has_tried(analysis) {
        return facts(analysis, &header);
    }
    let mut out = "\n## Features\n\n".to_owned();
    out += &line(&header);
    out += &line(&vec![":--".to_owned(); header.len()]);
    let row = |title: &str, cell: &dyn Fn(&ContenderFeatures) -> String| {
        let mut cells = vec![title.to_owned()];
        cells.extend(analysis.features.iter().map(cell));
        line(&cells)
    };
    out += &row("Class", &|c| labels::class(c.class).to_owned());
    out += &row("Driver", &|c| labels::driver(c.driver).to_owned());
    for (index, feature) in Feature::ALL.into_iter().enumerate() {
        out +=
            &row(labels::feature(feature), &|c| escape(&labels::found(&c.features[index].found)));
    }
    out + &format!("\n{}\n", escape(labels::CLASSES)) + &facts(analysis, &header)
}

/// Returns the catalog's facts about each contender, followed by their sources.
fn facts(analysis: &Analysis, header: &[String]) -> String {
    let mut out = "\n## Facts from the catalog\n\n".to_owned();
    out += &line(header);
    out += &line(&vec![":--".to_owned(); header.len()]);
    let mut sources = Vec::new();
    for (index, fact) in FACT_TITLES.into_iter().enumerate() {
        let mut cells = vec![fact.to_owned()];
        for contender in &analysis.features {
            let said = sanitize_line(&contender.facts.to_lines()[index]);
            if said.is_empty() {
                cells.push("not said".to_owned());
                continue;
            }
            cells.push(escape(&said));
            let name = escape(&sanitize_line(&contender.contender));
            let source = sanitize_line(&contender.facts.sources()[index].join("; "));
            sources.push(format!("- {fact}, {name}: {}\n", escape(&source)));
        }
        out += &line(&cells);
    }
    if !sources.is_empty() {
        out += &format!("\nSources:\n\n{}", sources.concat());
    }
    out
}

fn failures(analysis: &Analysis) -> String {
    let lines = failure_lines(analysis);
    if lines.is_empty() {
        return "\n## Not ok\n\nNothing: every cell that ran is ok.\n".to_owned();
    }
    let mut out = "\n## Not ok\n\n".to_owned();
    for failure in lines {
        let first = failure.first();
        let text = format!(
            "{}, {} ({}): {}",
            sanitize_line(&first.contender),
            failure.place(),
            failure.rounds(),
            failure.reason()
        );
        out += &format!("- **{}** {}\n", first.status, escape(&text));
    }
    out
}

fn complaints(analysis: &Analysis) -> String {
    if analysis.complaints.is_empty() {
        return String::new();
    }
    let mut out = "\n## Kernel complaints during cells that passed\n\n".to_owned();
    for complaint in complaint_lines(analysis) {
        let text =
            format!("{} ({}): {}", complaint.contender(), complaint.extent(), complaint.example());
        out += &format!("- {}\n", escape(&text));
    }
    out
}

fn environment(results: &CampaignResults) -> String {
    let mut out = "\n## Environment\n\n".to_owned();
    for (name, value) in summary::facts(results) {
        out += &format!("- {name}: {}\n", escape(&value));
    }
    for environment in &results.environments {
        for (name, value) in summary::environment(environment) {
            out += &format!("- {name}: {}\n", escape(&value));
        }
    }
    out += &measured(results);
    out
}

/// Returns the overhead of fsarena and the performance of the raw device.
fn measured(results: &CampaignResults) -> String {
    let facts = calibration::facts(results);
    if facts.is_empty() {
        return String::new();
    }
    let lines = facts.iter().map(|(name, value)| format!("- {name}: {}\n", escape(value)));
    format!("\n## Harness overhead and raw device\n\n{}", lines.collect::<String>())
}

/// Escapes text for Markdown and the HTML in it.
///
/// CommonMark §2.4: a backslash escapes any ASCII punctuation. HTML characters become entities,
/// which are valid in every dialect.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '!' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::{analyse, fixture};

    fn shown(results: &CampaignResults) -> String {
        render(results, &analyse(results))
    }

    #[test]
    fn a_small_campaign() {
        insta::assert_snapshot!(shown(&fixture::plain()));
    }

    #[test]
    fn a_calibrated_campaign() {
        insta::assert_snapshot!(shown(&fixture::calibrated()));
    }

    #[test]
    fn sweeps_are_condensed_with_their_borders() {
        insta::assert_snapshot!(shown(&fixture::swept()));
    }

    #[test]
    fn hostile_names_and_every_status() {
        insta::assert_snapshot!(shown(&fixture::hostile()));
    }

    #[test]
    fn study_has_title_and_claims_and_nothing_unstated() {
        let catalog = config::Catalog::builtin().unwrap();
        let study = catalog.study("debian-file-server-2006").unwrap();
        let study = Study::read(&study).unwrap().unwrap();
        let reported = study.reported(&catalog).unwrap();
        let results = reported.into_results("published").unwrap();
        let text = study_markdown(&study, &results, &analyse(&results));
        let head = "# Filesystems (ext3, reiser, xfs, jfs) comparison on Debian Etch\n\n40 claims, judged by its own figures: ";
        assert!(text.starts_with(head), "{text}");
        for said in [
            "(fsarena study claims debian-file-server-2006).\n\n28 figures are printed as ranges",
            "- Rounds: one number each; the spread is not stated\n",
            "- Processor: Intel Celeron 533\n- Main memory: 512 MB\n",
            "| unmount | ms ↓ |",
            "| all minor-faults |",
            "? may be the best: one number each does not say",
            "one number each does not say which; reiserfs (3.03×) and ext3 (3.56×) are far behind, but how far a \
             number varies is not stated.",
        ] {
            assert!(text.contains(said), "{said}: {text}");
        }
        for not in [
            "rounds to say",
            "seldom",
            "- fsarena:",
            "Attached",
            "0 ×",
            "not tried",
            "whoever",
            "1 round",
        ] {
            assert!(!text.contains(not), "{not}: {text}");
        }
    }

    #[test]
    fn no_html_and_no_stray_column_gets_through() {
        let text = shown(&fixture::hostile());
        assert!(!text.contains('<') && !text.contains("\u{1b}"));
        let mut columns = None;
        for line in text.lines() {
            let bars = line.replace("\\|", "").matches('|').count();
            let expected = *columns.get_or_insert(bars);
            if line.starts_with('|') && expected > 0 {
                assert!(bars == expected, "{line}");
            }
            columns = line.starts_with('|').then_some(bars);
        }
    }
}
