//! The report of a campaign: a summary with the best over all, tables of all phases, the failures
//! and the answers.
//!
//! On a terminal, the first lines are the verdict and the last lines are the answers.

use model::{CampaignResults, FACT_TITLES, Feature};
use stats::{Analysis, ContenderFeatures};
use studies::Study;

use crate::document::{Block, Document, Item, Style, Table};
use crate::tables::overview::{TestBlock, legend, legend_text, overview};
use crate::tables::prices;
use crate::tables::{
    calibration, cost, disk_faults, disk_time, full, interference, over_baseline, overall,
    resources, scores, survival, sweeps, timelines, totals,
};
use crate::text::caveats::{Caveat, caveats};
use crate::text::claims;
use crate::text::command::{closer_answer, rerun_command};
use crate::text::conclusions::{
    ConclusionText, category_conclusions, confidence_text, is_any_open, is_single, split_by_disk,
    use_case_conclusions_by_disk,
};
use crate::text::failures::failure_lines;
use crate::text::kernel_warnings::complaint_lines;
use crate::text::sanitize::{sanitize_line, short_names};
use crate::text::{labels, summary};

/// Extent of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// A report for a terminal, with the answers at the end.
    Brief,
    /// Everything, with the answers first.
    Full,
}

impl Detail {
    /// Maximum width of a contender's name in a table.
    const fn name_width(self) -> usize {
        match self {
            Self::Brief => 17,
            Self::Full => 40,
        }
    }

    /// Maximum number of phases with values over time.
    const fn timelines(self) -> usize {
        match self {
            Self::Brief => 3,
            Self::Full => usize::MAX,
        }
    }

    /// Maximum number of results of an aged contender.
    const fn aged_results(self) -> usize {
        match self {
            Self::Brief => 5,
            Self::Full => usize::MAX,
        }
    }
}

/// Returns the report of a campaign.
pub fn campaign_report(results: &CampaignResults, analysis: &Analysis, detail: Detail) -> Document {
    let document = Document::titled(summary::one_line(results, analysis));
    Report { results, analysis, detail, document }.complete()
}

/// Returns the report on a published comparison, starting with its title and the verdicts on its
/// claims.
pub fn study_report(
    study: &Study,
    results: &CampaignResults,
    analysis: &Analysis,
    detail: Detail,
) -> Document {
    let mut document = Document::titled(sanitize_line(&study.title));
    let claims = claims::summary(study);
    let (claims, name) = (claims.trim_end_matches('.'), sanitize_line(&study.name));
    document.paragraph(format!("{claims} (fsarena study claims {name})."));
    document.paragraph(claims::excluded_figures(study).unwrap_or_default());
    document.paragraph(summary::one_line(results, analysis));
    Report { results, analysis, detail, document }.complete()
}

struct Report<'a> {
    results: &'a CampaignResults,
    analysis: &'a Analysis,
    detail: Detail,
    document: Document,
}

impl Report<'_> {
    fn complete(mut self) -> Document {
        self.head();
        match self.detail {
            Detail::Brief => self.summary(),
            Detail::Full => {
                self.answers();
                self.reliability();
                self.standings();
            }
        }
        self.results();
        self.derived_tables();
        self.contenders();
        self.failures();
        match self.detail {
            Detail::Brief => {
                self.reliability();
                self.answers();
            }
            Detail::Full => self.environment(),
        }
        self.document
    }

    fn head(&mut self) {
        let (results, analysis) = (self.results, self.analysis);
        self.document.paragraph(summary::outcome_line(results, analysis));
        let unfinished = Caveat::unfinished(analysis);
        self.document.blocks.extend(unfinished.map(Block::from));
        self.document.paragraph(summary::virtual_time(results).unwrap_or_default());
        self.document.paragraph(summary::smoke(results).unwrap_or_default());
        let skipped = summary::skipped_suites(results).map(Block::Paragraph);
        self.document.blocks.extend(skipped);
    }

    /// Adds the best contender over all test categories, for each disk if there are several.
    fn summary(&mut self) {
        let parts = split_by_disk(self.analysis).into_iter();
        let best = parts.filter_map(|(disk, part)| {
            let all = category_conclusions(part).pop()?;
            let on = disk.map_or_else(String::new, |disk| format!("on {}, ", sanitize_line(disk)));
            Some(Item::new(on + &all.question, all.answer))
        });
        self.document.list("Summary (details at the end)", best);
    }

    /// Adds the answers: for each test category, then for each use case, which is the most
    /// important one. Answers that hold on every disk are given once.
    fn answers(&mut self) {
        let analysis = self.analysis;
        let parts = split_by_disk(analysis);
        let (everywhere, uses) = use_case_conclusions_by_disk(analysis, |_| true);
        for ((disk, part), own) in parts.into_iter().zip(uses) {
            let on = disk.map_or("By".to_owned(), |disk| format!("On {}, by", sanitize_line(disk)));
            let all = if part.uses.is_empty() { "" } else { ", of all filesystems" };
            self.document.list(format!("{on} group of tests{all}"), category_conclusions(part));
            self.document.list(format!("{on} use"), own);
        }
        self.document.list(survival::CONCLUSIONS, survival::conclusions(self.results));
        self.document.list(disk_faults::CONCLUSIONS, disk_faults::conclusions(self.results));
        self.document.list(full::CONCLUSIONS, full::conclusion(self.results));
        let title = match analysis.by_disk.is_empty() {
            true => "By use",
            false => "By use, on every disk alike",
        };
        let sure = match analysis.uses.is_empty() {
            true => String::new(),
            false => confidence_text(analysis),
        };
        self.document.section(title, [Block::list(everywhere), Block::Note(sure)]);
        let command = closer_answer(analysis, &rerun_command(self.results));
        if is_any_open(analysis) && !command.is_empty() {
            self.document.section("For closer answers", [Block::Paragraph(command)]);
        }
    }

    /// Adds notes on the reliability of the results, as given by the statistics.
    fn reliability(&mut self) {
        self.document.list(
            "Reliability of the results",
            caveats(self.analysis).iter().map(ToString::to_string),
        );
    }

    /// Adds the number of phases that each contender wins.
    fn standings(&mut self) {
        for (disk, part) in split_by_disk(self.analysis) {
            let on = disk.map_or_else(String::new, |disk| format!(", on {}", sanitize_line(disk)));
            let counts = Block::Table(scores::counts(part));
            self.document.section(format!("Standings{on}"), [counts]);
        }
    }

    /// Adds the results of all phases, and the overall view.
    fn results(&mut self) {
        let (results, analysis) = (self.results, self.analysis);
        let blocks = overview(results, analysis);
        self.tests(&self.names(analysis), &blocks, |block| block.test.rationale.clone());
        if self.detail == Detail::Full {
            for (title, bars) in sweeps::largest_file(results, analysis, &self.names(analysis)) {
                self.document.section(title, [Block::Verbatim(bars)]);
            }
        }
        let mut shown = blocks;
        for (disk, part) in split_by_disk(analysis) {
            let overall: Vec<TestBlock<'_>> =
                overall::overall(results, part, disk).into_iter().collect();
            self.tests(&self.names(part), &overall, |_| String::new());
            if !overall.is_empty() {
                self.document.note(overall::note(part));
            }
            shown.extend(overall);
        }
        let single = is_single(analysis);
        let signs = legend(&shown).into_iter();
        let signs = signs.map(|(sign, text)| format!("{sign} {}", legend_text(sign, text, single)));
        let mut lines = shown.iter().flat_map(|block| &block.lines);
        let has_knee = lines.any(|line| line.label.ends_with(sweeps::KNEE));
        let knee = has_knee.then(|| sweeps::KNEE_MEANING.to_owned());
        self.document.note(signs.chain(knee).collect::<Vec<_>>().join(" · "));
    }

    /// Adds the results of tests: a table of all, or one for each with the reason for the test.
    fn tests(
        &mut self,
        names: &[String],
        blocks: &[TestBlock<'_>],
        rationale: impl Fn(&TestBlock<'_>) -> String,
    ) {
        if self.detail == Detail::Brief && !blocks.is_empty() {
            return self.document.push(Block::Table(Table::of_contenders(names, blocks)));
        }
        for block in blocks {
            let table = Block::Table(Table::of_lines(names, &block.lines));
            let content = [Block::Paragraph(rationale(block)), table];
            self.document.section(format!("{}: {}", block.name, block.title), content);
        }
    }

    fn names(&self, analysis: &Analysis) -> Vec<String> {
        short_names(&analysis.contenders, self.detail.name_width())
    }

    fn derived_tables(&mut self) {
        let (results, analysis, detail) = (self.results, self.analysis, self.detail);
        let names = self.names(analysis);
        let attempts = match detail {
            Detail::Brief => totals::AttemptFilter::OfBroken,
            Detail::Full => totals::AttemptFilter::All,
        };
        let of = |blocks: &[TestBlock<'_>]| Block::Table(Table::of_contenders(&names, blocks));
        let baseline = over_baseline::blocks(results, analysis);
        let mut above = vec![of(&baseline)];
        if !baseline.is_empty() {
            let sentences = over_baseline::sentences(analysis).into_iter();
            above.extend(
                [over_baseline::note(analysis)].into_iter().chain(sentences).map(Block::Note),
            );
        }
        let note = |text: &str| Block::Note(text.to_owned());
        let full = |text: &str| match detail {
            Detail::Brief => note(""),
            Detail::Full => note(text),
        };
        let document = &mut self.document;
        document.section(survival::TITLE, survival::blocks(results));
        document.section(disk_faults::TITLE, disk_faults::blocks(results));
        document.section(full::TITLE, full::blocks(results));
        document.section(timelines::TITLE, timelines::blocks(results, detail.timelines()));
        let shares = of(&calibration::shares(results, analysis));
        // The note explains rows of the table.
        let above_all = calibration::note(analysis).filter(|_| !shares.is_empty());
        document.section(calibration::TITLE, [shares].into_iter().chain(above_all));
        let costs = cost::blocks(results, analysis);
        let mut lines = costs.iter().flat_map(|block| &block.lines);
        let is_unknown = lines.any(|line| line.entries.iter().any(|one| one.text.contains('?')));
        let unknown = is_unknown.then(|| Block::Note(cost::UNKNOWN.to_owned()));
        let least = cost::sentences(results, analysis).into_iter().map(Block::Note);
        document.section(cost::TITLE, [of(&costs)].into_iter().chain(unknown).chain(least));
        document.section(disk_time::TITLE, [of(&disk_time::blocks(results, analysis))]);
        document.section(over_baseline::TITLE, above);
        let totals = totals::blocks(results, analysis, totals::StepFilter::All, attempts);
        if !totals.is_empty() {
            document.section(totals::TITLE, [of(&totals), full(totals::NOTE)]);
        }
        let roles = interference::blocks(results, analysis);
        if !roles.is_empty() {
            document.section(interference::TITLE, [of(&roles), full(interference::NOTE)]);
        }
        if let Some(groups) = scores::contender_groups(analysis) {
            document.section(scores::groups_title(analysis), [Block::Table(groups)]);
        }
        for section in prices::sections(analysis, detail.aged_results()) {
            document.section(section.title, section.blocks);
        }
        if let Some(table) = resources::table(analysis) {
            document.section(resources::TITLE, [Block::Table(table), full(resources::NOTE)]);
        }
    }

    /// Adds the abilities of each contender, and the catalog's facts about it.
    fn contenders(&mut self) {
        let analysis = self.analysis;
        let tried = labels::has_tried(analysis);
        if self.detail == Detail::Full {
            if tried {
                let table = Block::Table(features(analysis));
                self.document.section("Features", [table, Block::Note(labels::CLASSES.to_owned())]);
            }
            return self.facts();
        }
        let names = analysis.contenders.iter().zip(self.names(analysis));
        let full = names.map(|(name, short)| (sanitize_line(name), short));
        let full = full.filter(|(name, short)| name != short);
        let full = full.map(|(name, short)| format!("{short} is {name}"));
        self.document.list("Names in full", full);
        let machine = self.results.environments.last();
        let directories = analysis.contenders.iter().filter_map(|name| {
            let found = machine?.directory(name)?;
            Some(Item::new(sanitize_line(name), sanitize_line(found)))
        });
        self.document.list("Directories", directories);
        let lines = analysis.features.iter().map(|contender| {
            let name = sanitize_line(&contender.contender);
            match labels::abilities(contender, tried) {
                nothing if nothing.is_empty() => Item::from(name),
                abilities => Item::new(name, abilities),
            }
        });
        self.document.list("Filesystems", lines);
    }

    /// Adds the catalog's facts about each contender, followed by their sources.
    fn facts(&mut self) {
        let contenders = &self.analysis.features;
        let mut table = contender_table(contenders);
        let mut sources = Vec::new();
        for (index, fact) in FACT_TITLES.into_iter().enumerate() {
            let mut cells = vec![fact.to_owned()];
            for contender in contenders {
                let said = sanitize_line(&contender.facts.to_lines()[index]);
                if said.is_empty() {
                    cells.push("not said".to_owned());
                    continue;
                }
                cells.push(said);
                let name = sanitize_line(&contender.contender);
                let source = sanitize_line(&contender.facts.sources()[index].join("; "));
                sources.push(Item::new(format!("{fact}, {name}"), source));
            }
            table.push(cells);
        }
        self.document.section("Facts from the catalog", [Block::Table(table)]);
        self.document.list("Sources of the facts", sources);
    }

    fn failures(&mut self) {
        let analysis = self.analysis;
        let failures = failure_lines(analysis);
        let failures: Vec<Item> = failures
            .iter()
            .map(|line| {
                let first = line.first();
                let text = format!(
                    "{}: {} ({}): {}",
                    sanitize_line(&first.contender),
                    line.place(),
                    line.rounds(),
                    line.reason()
                );
                Item::styled(first.status.name(), Style::Failed, text)
            })
            .collect();
        if failures.is_empty() && self.detail == Detail::Full {
            let nothing = Block::Paragraph("Nothing: every test that ran is ok.".to_owned());
            self.document.section("Failures and missing features", [nothing]);
        }
        self.document.section("Failures and missing features", [Block::Facts(failures)]);
        let complaints = complaint_lines(analysis);
        let complaints = complaints.iter().map(|complaint| {
            let subject = format!("{} ({})", complaint.contender(), complaint.extent());
            Item::new(subject, complaint.example())
        });
        self.document.list("The kernel complained during tests that passed", complaints);
    }

    /// Adds the machine, the overhead of fsarena, and the performance of the raw device.
    fn environment(&mut self) {
        let facts = summary::facts(self.results, self.analysis).into_iter();
        let facts = facts.map(|(name, value)| Item::new(name, value));
        let sessions = self.results.environments.iter().flat_map(summary::environment);
        let sessions = sessions.map(|(name, value)| Item::new(name, value));
        self.document.section("Environment", [Block::Facts(facts.chain(sessions).collect())]);
        let measured = calibration::facts(self.results).into_iter();
        let measured = measured.map(|(name, value)| Item::new(name, value)).collect();
        self.document.section("Harness overhead and raw device", [Block::Facts(measured)]);
    }
}

impl From<Caveat> for Block {
    fn from(caveat: Caveat) -> Self {
        Self::Warning(caveat.to_string())
    }
}

impl From<ConclusionText> for Item {
    fn from(one: ConclusionText) -> Self {
        Self::new(one.question, one.answer)
    }
}

fn contender_table(contenders: &[ContenderFeatures]) -> Table {
    let names = contenders.iter().map(|contender| sanitize_line(&contender.contender));
    Table::new(&[String::new()].into_iter().chain(names).collect::<Vec<_>>())
}

fn features(analysis: &Analysis) -> Table {
    let contenders = &analysis.features;
    let mut table = contender_table(contenders);
    let mut row = |title: &str, cell: &dyn Fn(&ContenderFeatures) -> String| {
        table.push([title.to_owned()].into_iter().chain(contenders.iter().map(cell)));
    };
    row("Class", &|c| labels::class(c).to_owned());
    row("Driver", &|c| labels::driver(c.driver).to_owned());
    if contenders.iter().any(|one| one.flipped_bits.is_some()) {
        row("Checksums of data", &|c| {
            c.flipped_bits.as_ref().map_or_else(String::new, labels::flipped_bits)
        });
    }
    for (index, feature) in Feature::ALL.into_iter().enumerate() {
        row(labels::feature(feature), &|c| labels::found(&c.features[index].found));
    }
    table
}

#[cfg(test)]
#[path = "campaign_tests.rs"]
mod tests;
