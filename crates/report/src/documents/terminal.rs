//! The report for a terminal: a summary with the best over all, a table of all phases, the failures
//! with one line each, and the answers at the end.
//!
//! A reader of the first screen sees the verdict; after a run, the last lines on the screen are the
//! answers.
//!
//! The content is the same without colour: best and worst have signs, failures have status names.
//! Tables wider than the terminal are split into blocks of contenders.

use model::CampaignResults;
use stats::Analysis;

use crate::tables::calibration::shares;
use crate::tables::overall::overall;
use crate::tables::overview::{
    CellStyle, LEGEND, TableCell, TestBlock, legend, legend_text, overview,
};
use crate::tables::{ageing, interference, over_baseline, resources, scores, totals};
use crate::tables::{cost, disk_time};
use crate::text::caveats::remarks;
use crate::text::conclusions::{
    ConclusionText, category_conclusions, confidence_text, is_single, split_by_disk,
    use_case_conclusions,
};
use crate::text::sanitize::{sanitize_line, short_names, width, wrap};
use crate::text::{failures::failure_lines, kernel_warnings::complaint_lines, labels, summary};

/// Layout options of a human-readable report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentOptions {
    /// Width of the terminal in columns. Wider tables are split into blocks.
    pub width: usize,
    /// Whether the terminal shows colours.
    pub colour: bool,
}

impl Default for DocumentOptions {
    fn default() -> Self {
        Self { width: 100, colour: false }
    }
}

/// Maximum width of a contender's name as the heading of a column.
const WIDEST_NAME: usize = 17;
/// Spaces between two columns of the table.
const GAP: usize = 2;

pub(crate) fn render(
    results: &CampaignResults,
    analysis: &Analysis,
    options: &DocumentOptions,
) -> String {
    let paint = Colors(options.colour);
    let blocks = overview(results, analysis);
    let names = short_names(&analysis.contenders, WIDEST_NAME);
    let mut out = head(results, analysis, options.width, paint);
    out += &in_short(analysis, options.width, paint);
    for columns in split(&blocks, &names, options.width) {
        out.push('\n');
        table(&mut out, &blocks, &names, &columns, paint);
    }
    let mut wholes: Vec<TestBlock<'_>> = Vec::new();
    for (disk, part) in split_by_disk(analysis) {
        let whole: Vec<TestBlock<'_>> = overall(results, part, disk).into_iter().collect();
        let names = short_names(&part.contenders, WIDEST_NAME);
        // Without any test category, there is no table.
        let columns = match whole.is_empty() {
            true => Vec::new(),
            false => split(&whole, &names, options.width),
        };
        for columns in columns {
            out.push('\n');
            table(&mut out, &whole, &names, &columns, paint);
        }
        wholes.extend(whole);
    }
    let single = is_single(analysis);
    out += &legend_lines(&[&blocks[..], &wholes[..]], single, options.width, paint);
    out += &titled(
        "Share of the raw device's performance",
        &shares(results, analysis),
        &names,
        options.width,
        paint,
    );
    out += &titled(cost::TITLE, &cost::blocks(results, analysis), &names, options.width, paint);
    out += &titled(
        disk_time::TITLE,
        &disk_time::blocks(results, analysis),
        &names,
        options.width,
        paint,
    );
    out += &above_baseline(results, analysis, &names, options.width, paint);
    out += &titled(
        totals::TITLE,
        &totals::blocks(results, analysis, totals::AttemptFilter::OfBroken),
        &names,
        options.width,
        paint,
    );
    out += &titled(
        interference::TITLE,
        &interference::blocks(results, analysis),
        &names,
        options.width,
        paint,
    );
    out += &contender_groups(analysis, paint);
    out += &ageing(analysis, options.width, paint);
    out += &resources(analysis, paint);
    out += &full_names(&analysis.contenders, &names);
    out += &contenders(analysis, options.width);
    out += &failures(analysis, paint);
    out += &complaints(analysis, paint);
    out += &trust(analysis, options.width, paint);
    out += &answers(analysis, options.width, paint);
    out
}

/// Adds colour to text, if enabled.
#[derive(Clone, Copy)]
struct Colors(bool);

impl Colors {
    /// Returns the text enclosed in an SGR code of ECMA-48.
    fn with(self, code: &str, text: &str) -> String {
        if self.0 && !text.trim().is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    fn tone(self, tone: CellStyle, text: &str) -> String {
        match tone {
            CellStyle::Plain => text.to_owned(),
            CellStyle::Best => self.with("1;32", text),
            CellStyle::Worst => self.with("31", text),
            CellStyle::Failed => self.with("1;33", text),
            CellStyle::Missing => self.dim(text),
        }
    }
}

fn head(results: &CampaignResults, analysis: &Analysis, terminal: usize, paint: Colors) -> String {
    let mut out = format!(
        "{}\n{}\n",
        paint.bold(&summary::one_line(results)),
        summary::outcome_line(results, analysis)
    );
    if let Some(text) = summary::incomplete_note(analysis) {
        out += &paint.tone(CellStyle::Failed, &text);
        out.push('\n');
    }
    if let Some(text) = summary::virtual_time(results) {
        out += &format!("{}\n", wrap(&text, terminal.max(40)).join("\n"));
    }
    out
}

/// Returns the best contender over all test categories, for each disk if there are several. Empty
/// if no contenders compete.
fn in_short(analysis: &Analysis, terminal: usize, paint: Colors) -> String {
    let of_part = |(disk, part): (Option<&str>, &Analysis)| {
        let all = category_conclusions(part).pop()?;
        let on = disk.map_or_else(String::new, |disk| format!("on {}, ", sanitize_line(disk)));
        Some(format!("{on}{}: {}", all.question, all.answer))
    };
    let said: Vec<String> = split_by_disk(analysis).into_iter().filter_map(of_part).collect();
    let title = "Summary (details at the end):";
    paragraphs(title, said.into_iter(), terminal, paint)
}

/// The column of a contender: its index, the width of its numbers and the width of the signs after
/// them.
struct TerminalColumn {
    index: usize,
    number: usize,
    signs: usize,
}

impl TerminalColumn {
    fn of(index: usize, name: &str, blocks: &[TestBlock<'_>]) -> Self {
        let entries =
            || blocks.iter().flat_map(|block| &block.lines).map(|line| &line.entries[index]);
        let signs = entries().map(|e| width(&e.signs)).max().unwrap_or(0);
        // A word has no signs and can use their space.
        let number = entries()
            .map(|e| match e.tone {
                CellStyle::Failed | CellStyle::Missing => width(&e.text).saturating_sub(signs),
                _ => width(&e.text),
            })
            .max()
            .unwrap_or(0)
            .max(width(name).saturating_sub(signs));
        Self { index, number, signs }
    }

    fn width(&self) -> usize {
        self.number + self.signs
    }

    fn show(&self, entry: &TableCell, paint: Colors) -> String {
        let text = match entry.tone {
            CellStyle::Failed | CellStyle::Missing => pad_left(&entry.text, self.width()),
            _ => format!(
                "{}{}",
                pad_left(&entry.text, self.number),
                pad_right(&entry.signs, self.signs)
            ),
        };
        paint.tone(entry.tone, &text)
    }
}

/// Splits the columns into blocks that fit next to the labels, with at least one column per block.
fn split(blocks: &[TestBlock<'_>], names: &[String], terminal: usize) -> Vec<Vec<TerminalColumn>> {
    let labels = labels_width(blocks);
    let mut split: Vec<Vec<TerminalColumn>> = Vec::new();
    let mut used = usize::MAX;
    for (index, name) in names.iter().enumerate() {
        let column = TerminalColumn::of(index, name, blocks);
        let wide = column.width() + GAP;
        if used.saturating_add(wide) <= terminal {
            used += wide;
            split.last_mut().expect("a block was begun").push(column);
        } else {
            used = labels + wide;
            split.push(vec![column]);
        }
    }
    split
}

/// Returns the width of the phase names with indentation, and of the units.
fn label_widths(blocks: &[TestBlock<'_>]) -> (usize, usize) {
    let lines = || blocks.iter().flat_map(|block| &block.lines);
    let phase = lines().map(|line| width(&line.label)).max();
    let unit = lines().map(|line| width(&line.unit)).max();
    (phase.unwrap_or(0), unit.unwrap_or(0))
}

fn labels_width(blocks: &[TestBlock<'_>]) -> usize {
    let (phase, unit) = label_widths(blocks);
    GAP + phase + GAP + unit
}

fn table(
    out: &mut String,
    blocks: &[TestBlock<'_>],
    names: &[String],
    columns: &[TerminalColumn],
    paint: Colors,
) {
    let (phase, unit) = label_widths(blocks);
    let gap = " ".repeat(GAP);
    let header: String =
        columns.iter().map(|c| format!("{gap}{}", pad_left(&names[c.index], c.width()))).collect();
    let labels = " ".repeat(labels_width(blocks));
    out.push_str(&paint.bold(&format!("{labels}{header}")));
    out.push('\n');
    for block in blocks {
        let title = format!("{}: {}", block.name, block.title);
        out.push_str(&paint.dim(&title));
        out.push('\n');
        for line in &block.lines {
            if let Some(rule) = &line.rule {
                out.push_str(&paint.dim(&format!("{gap}— {rule} —")));
                out.push('\n');
            }
            let mut text = format!(
                "{gap}{}{gap}{}",
                pad_right(&line.label, phase),
                paint.dim(&pad_left(&line.unit, unit))
            );
            for column in columns {
                text += &gap;
                text += &column.show(&line.entries[column.index], paint);
            }
            out.push_str(text.trim_end());
            out.push('\n');
        }
    }
}

fn pad_left(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

fn pad_right(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Returns the answers: for each test category, then for each use case, which is the most important
/// one. If contenders are on several disks, they are given for each disk, followed by those common
/// to all.
fn answers(analysis: &Analysis, terminal: usize, paint: Colors) -> String {
    let lines = |sentences: Vec<ConclusionText>| -> Vec<String> {
        let line = |sentence: ConclusionText| format!("{}: {}", sentence.question, sentence.answer);
        sentences.into_iter().map(line).collect()
    };
    let block =
        |title: &str, lines: Vec<String>| paragraphs(title, lines.into_iter(), terminal, paint);
    let parts = split_by_disk(analysis);
    let mut uses: Vec<Vec<String>> =
        parts.iter().map(|(_, one)| lines(use_case_conclusions(one))).collect();
    let mut everywhere = uses.first().cloned().unwrap_or_default();
    everywhere.retain(|line| uses.iter().all(|of_part| of_part.contains(line)));
    let mut out = String::new();
    for ((disk, part), mut own) in parts.into_iter().zip(std::mem::take(&mut uses)) {
        own.retain(|line| !everywhere.contains(line));
        let on = disk.map_or("By".to_owned(), |disk| format!("On {}, by", sanitize_line(disk)));
        out += &block(&format!("{on} group of tests:"), lines(category_conclusions(part)));
        out += &block(&format!("{on} use:"), own);
    }
    if !analysis.uses.is_empty() {
        everywhere.extend(Some(confidence_text(analysis)).filter(|sure| !sure.is_empty()));
        let title = match analysis.by_disk.is_empty() {
            true => "By use:",
            false => "By use, on every disk alike:",
        };
        out += &block(title, everywhere);
    }
    out
}

/// Returns notes on the reliability of the results, as given by the statistics.
fn trust(analysis: &Analysis, terminal: usize, paint: Colors) -> String {
    let remarks = remarks(analysis).into_iter();
    paragraphs("Reliability of the results:", remarks, terminal, paint)
}

/// Returns sentences below a title, with indented continuation lines; empty without sentences.
fn paragraphs(
    title: &str,
    sentences: impl ExactSizeIterator<Item = String>,
    terminal: usize,
    paint: Colors,
) -> String {
    if sentences.len() == 0 {
        return String::new();
    }
    let mut out = format!("\n{}\n", paint.bold(title));
    for sentence in sentences {
        for (number, line) in wrap(&sentence, terminal.max(40) - 4).iter().enumerate() {
            let margin = if number == 0 { "  " } else { "    " };
            out += &format!("{margin}{line}\n");
        }
    }
    out
}

fn legend_lines(
    tables: &[&[TestBlock<'_>]],
    single: bool,
    terminal: usize,
    paint: Colors,
) -> String {
    let occurring: Vec<char> = tables.iter().flat_map(|t| legend(t)).map(|(s, _)| s).collect();
    let entries = LEGEND.iter().filter(|(sign, _)| occurring.contains(sign));
    let mut lines = vec![String::new()];
    for (sign, text) in entries {
        let entry = format!("{sign} {}", legend_text(*sign, text, single));
        let last = lines.last_mut().expect("there is a line");
        if last.is_empty() {
            *last = entry;
        } else if width(last) + 3 + width(&entry) <= terminal {
            *last += "   ";
            *last += &entry;
        } else {
            lines.push(entry);
        }
    }
    let text: Vec<String> = lines.iter().map(|line| paint.dim(line)).collect();
    format!("\n{}\n", text.join("\n"))
}

/// Returns a table below a title; empty if it has no rows.
fn titled(
    title: &str,
    blocks: &[TestBlock<'_>],
    names: &[String],
    terminal: usize,
    paint: Colors,
) -> String {
    if blocks.is_empty() {
        return String::new();
    }
    let mut out = format!("\n{}", paint.bold(&format!("{title}:")));
    for columns in split(blocks, names, terminal) {
        out.push('\n');
        table(&mut out, blocks, names, &columns, paint);
    }
    out
}

/// Returns the share of the filesystem in real work.
fn above_baseline(
    results: &CampaignResults,
    analysis: &Analysis,
    names: &[String],
    terminal: usize,
    paint: Colors,
) -> String {
    let blocks = over_baseline::blocks(results, analysis);
    if blocks.is_empty() {
        return String::new();
    }
    let mut out = titled(over_baseline::TITLE, &blocks, names, terminal, paint);
    for text in [over_baseline::note(analysis)].iter().chain(&over_baseline::sentences(analysis)) {
        out += &format!("{}\n", paint.dim(&wrap(text, terminal).join("\n")));
    }
    out
}

/// Returns the table of the contender groups defined by the campaign.
fn contender_groups(analysis: &Analysis, paint: Colors) -> String {
    let Some(table) = scores::contender_groups(analysis) else {
        return String::new();
    };
    let over = match analysis.by_disk.is_empty() {
        true => "",
        false => ", over all disks together",
    };
    let title =
        format!("Groups of contenders, by the geometric mean of their members' scores{over}:");
    format!("\n{}\n{}", paint.bold(&title), table.text("  "))
}

/// Maximum number of results of an aged contender on a terminal.
const MAX_AGED: usize = 5;

/// Returns the cost of ageing for each contender that is measured both fresh and aged.
fn ageing(analysis: &Analysis, terminal: usize, paint: Colors) -> String {
    let Some(sums) = ageing::sums(analysis) else {
        return String::new();
    };
    let sentences = ageing::sentences(analysis).into_iter();
    let mut out = paragraphs(&format!("{}:", ageing::TITLE), sentences, terminal, paint);
    out += &format!("\n{}", sums.text("  "));
    if let Some(results) = ageing::results(analysis, MAX_AGED) {
        out += &format!("\n{}\n{}", paint.bold(ageing::WORST), results.text("  "));
    }
    out
}

/// Returns the resource limits and use of each contender.
fn resources(analysis: &Analysis, paint: Colors) -> String {
    let Some(table) = resources::table(analysis) else {
        return String::new();
    };
    let title = format!("{}:", resources::TITLE);
    format!("\n{}\n{}", paint.bold(&title), table.text("  "))
}

/// Returns the full names of contenders that are shortened in the table.
fn full_names(names: &[String], short: &[String]) -> String {
    let lines: String = names
        .iter()
        .zip(short)
        .map(|(name, short)| (sanitize_line(name), short))
        .filter(|(name, short)| name != *short)
        .map(|(name, short)| format!("  {short} is {name}\n"))
        .collect();
    if lines.is_empty() { lines } else { format!("\nNames in full:\n{lines}") }
}

/// Returns the abilities of each contender, and the catalog's facts about it.
fn contenders(analysis: &Analysis, terminal: usize) -> String {
    let mut out = "\nContenders:\n".to_owned();
    let tried = labels::has_tried(analysis);
    for contender in &analysis.features {
        let name = sanitize_line(&contender.contender);
        let text = match labels::abilities(contender, tried) {
            nothing if nothing.is_empty() => name,
            abilities => format!("{name}: {abilities}"),
        };
        let lines = wrap(&text, terminal.max(40) - 4);
        out += &format!("  {}\n", lines.join("\n    "));
    }
    out
}

fn failures(analysis: &Analysis, paint: Colors) -> String {
    let lines = failure_lines(analysis);
    if lines.is_empty() {
        return String::new();
    }
    let mut out = format!("\n{}\n", paint.bold("Not ok:"));
    let word = lines.iter().map(|line| width(line.first().status.name())).max().unwrap_or(0);
    for line in &lines {
        let first = line.first();
        out += &format!(
            "  {}  {}: {} ({}): {}\n",
            paint.tone(CellStyle::Failed, &pad_right(first.status.name(), word)),
            sanitize_line(&first.contender),
            line.place(),
            line.rounds(),
            line.reason()
        );
    }
    out
}

fn complaints(analysis: &Analysis, paint: Colors) -> String {
    if analysis.complaints.is_empty() {
        return String::new();
    }
    let title = "The kernel complained during cells that passed:";
    let mut out = format!("\n{}\n", paint.bold(title));
    for complaint in complaint_lines(analysis) {
        out += &format!(
            "  {} ({}): {}\n",
            complaint.contender(),
            complaint.extent(),
            complaint.example()
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::{analyse, fixture};

    fn shown(results: &CampaignResults, width: usize, colour: bool) -> String {
        render(results, &analyse(results), &DocumentOptions { width, colour })
    }

    #[test]
    fn a_small_campaign() {
        insta::assert_snapshot!(shown(&fixture::plain(), 80, false));
    }

    #[test]
    fn shares_of_the_raw_device_and_the_sign_of_overhead() {
        insta::assert_snapshot!(shown(&fixture::calibrated(), 80, false));
    }

    #[test]
    fn a_real_campaign_in_blocks() {
        insta::assert_snapshot!(shown(&fixture::realistic(), 100, false));
    }

    #[test]
    fn sweeps_are_condensed_with_their_borders() {
        insta::assert_snapshot!(shown(&fixture::swept(), 100, false));
    }

    #[test]
    fn roles_are_shown_below_their_mix_with_and_without_the_others() {
        insta::assert_snapshot!(shown(&fixture::mixed(), 100, false));
    }

    #[test]
    fn hostile_names_and_every_status() {
        insta::assert_snapshot!(shown(&fixture::hostile(), 120, false));
    }

    /// A table without values is omitted, with its heading.
    #[test]
    fn no_table_of_groups_without_known_groups() {
        let numbers = ["ext4", "xfs"].map(|name| {
            model::ImportedResult::single_value(name, "made", "step", model::Metric::Elapsed, 2.0)
        });
        let reported = model::ImportedCampaign {
            name: "made".to_owned(),
            program: "made".to_owned(),
            source: "made".to_owned(),
            started: None,
            environment: model::Environment::default(),
            contenders: Vec::new(),
            figures: numbers.into(),
        };
        let text = shown(&reported.into_results("made").unwrap(), 80, false);
        let names = text.lines().filter(|line| line.contains("ext4") && line.contains("xfs"));
        assert_eq!(names.count(), 1, "{text}");
        assert!(!text.contains("With 95 % confidence"), "{text}");
        assert!(!text.contains("semantics"), "{text}");
    }

    #[test]
    fn no_line_of_the_table_is_wider_than_the_terminal() {
        for terminal in [40, 60, 80, 100, 200] {
            let text = shown(&fixture::realistic(), terminal, false);
            let table = text.split("\nNot ok:").next().unwrap();
            let widest = table.lines().skip(2).map(width).max().unwrap();
            assert!(widest <= terminal.max(60), "{terminal}: {widest}\n{table}");
        }
    }

    #[test]
    fn colour_does_not_change_the_text() {
        let results = fixture::plain();
        let coloured = shown(&results, 120, true);
        let mut plain = String::new();
        let mut rest = coloured.as_str();
        while let Some((before, after)) = rest.split_once("\x1b[") {
            plain += before;
            rest = after.split_once('m').unwrap().1;
        }
        plain += rest;
        assert!(coloured.contains("\x1b[1;32m"), "best is green");
        assert!(coloured.contains("\x1b[31m"), "worst is red");
        let trimmed =
            |text: &str| -> Vec<String> { text.lines().map(|l| l.trim_end().to_owned()).collect() };
        assert_eq!(trimmed(&plain), trimmed(&shown(&results, 120, false)));
    }

    #[test]
    fn text_from_outside_cannot_move_the_cursor() {
        let text = shown(&fixture::hostile(), 120, false);
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
        assert!(!text.contains('\u{202e}'));
    }
}
