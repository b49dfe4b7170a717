//! The report as a page that stands on its own: it loads nothing.
//!
//! The templates (`web/*.html`) lay out what is complete without a script: every primary metric of a phase,
//! in tables. The script (`web/script`) draws charts from a block of JSON and makes the tables sort and
//! filter; it is named by its hash in a content security policy, which forbids everything else. Templates
//! escape all text, the script sets text as text; the only markup passed through is our own.

mod ageing;
pub(crate) mod data;
pub(crate) mod disk;
mod evidence;
mod heat_map;
mod overall;
mod phases;
pub(crate) mod script;
mod setup;
mod sweeps;
mod uses;

use askama::Template;
use model::{CampaignResults, Metric};
use stats::{Analysis, ResultRow, RoundOutcome, WinCounts};
use studies::Study;

use crate::UnitScale;
use crate::tables::overview::{
    CellStyle, LOWER_BOUND, PhaseLine, TableCell, TestBlock, legend, legend_text, overview,
};
use crate::tables::{calibration, interference, over_baseline, totals};
use crate::text::caveats::remarks;
use crate::text::claims::{self, ClaimView};
use crate::text::command::rerun_command;
use crate::text::conclusions::{
    ConclusionText, category_conclusions_by_disk, confidence_line, confidence_text, is_single,
    use_case_conclusions,
};
use crate::text::labels::pluralize;
use crate::text::text::{sanitize_line, short_names};
use crate::text::title::headline;
use crate::text::{labels, summary};
use data::PhaseNumbers;

/// The widest a contender's name may be above a column.
const WIDEST_NAME: usize = 24;

#[derive(Template)]
#[template(path = "page.html")]
struct Page {
    /// The published comparison whose figures these are.
    study: Option<StudyView>,
    /// The file of the site's index, where the page is one of a site.
    index: Option<&'static str>,
    policy: String,
    style: &'static str,
    script: &'static str,
    /// What the script knows, as JSON.
    data: String,
    title: String,
    /// What the campaign is called.
    name: String,
    /// The command that repeats it.
    command: String,
    program: String,
    number: i64,
    facts: Vec<(&'static str, String)>,
    outcomes: Vec<Count>,
    unfinished: Option<String>,
    /// What results in virtual time say, where these are.
    virtual_time: Option<String>,
    /// The answer for each use, or each disk.
    answers: Vec<ConclusionText>,
    /// How sure an answer is.
    sure: String,
    how_sure: String,
    /// How far the results can be trusted.
    remarks: Vec<String>,
    contenders: Vec<setup::ContenderView>,
    counts: Vec<WinCounts>,
    /// What each contender may use, and what it used.
    resources: Option<setup::ResourcesView>,
    /// Names above columns, in the parts between which a line may break.
    columns: Vec<Vec<String>>,
    blocks: Vec<BlockView>,
    legend: Vec<(char, &'static str)>,
    /// Classes and words of the colour scale.
    scale: Vec<(String, String)>,
    groups: Vec<overall::GroupView>,
    /// Whether contenders are on several disks, and held against those on the same alone.
    is_by_disk: bool,
    /// What each group of tests comes to.
    by_group: Vec<ConclusionText>,
    /// Above the means of groups of contenders.
    tests_groups: Vec<&'static str>,
    contender_groups: Vec<overall::ContenderGroupView>,
    /// What age costs, where somebody competes fresh and aged.
    ageing: Option<ageing::AgeingView>,
    uses: Vec<uses::UseView>,
    totals: Vec<TotalsView>,
    /// Results as shares of the raw device.
    shares: Vec<ShareView>,
    calibration: Vec<(String, String)>,
    tests: Vec<phases::TestView>,
    /// Where the space left to files is shown, where that was measured.
    capacity: Option<String>,
    sweeps: Vec<sweeps::SweepView>,
    features: Vec<evidence::FeatureView>,
    /// Whether features were tried.
    has_tried: bool,
    /// Whether others measured it, in a way of their own.
    elsewhere: bool,
    /// What the classes mean.
    classes: &'static str,
    known: Vec<evidence::FactView>,
    /// Cells that are not ok, but for those in which something is merely unsupported; and those.
    not_ok: usize,
    cannot: usize,
    failures: Vec<evidence::FailureGroup>,
    complaints: Vec<evidence::ComplaintView>,
    environments: Vec<setup::EnvironmentView>,
    commands: Vec<setup::CommandView>,
    method: Method,
}

/// A published comparison: what stands in place of answers.
struct StudyView {
    /// Its page in short: what it is, and how its claims fared.
    sentences: Vec<String>,
    source: String,
    /// Claims that its figures do not bear out: the verdict, and the claim.
    not_as_said: Vec<(&'static str, String)>,
    claims: Vec<ClaimView>,
    /// By what claims are judged.
    sides: [&'static str; 1],
    does_not_add_up: Vec<String>,
    /// What runs it again.
    command: String,
}

/// Cells with one outcome.
struct Count {
    word: &'static str,
    count: u32,
    class: &'static str,
}

/// A test in the overview.
struct BlockView {
    id: String,
    name: String,
    title: String,
    lines: Vec<LineView>,
}

/// A table of its own that follows from the results: of steps above a baseline, of totals, and of roles alone and beside each other.
struct TotalsView {
    id: &'static str,
    /// What leads to it.
    link: &'static str,
    title: &'static str,
    note: String,
    /// What it comes to.
    sentences: Vec<String>,
    caption: &'static str,
    /// What a line is.
    line: &'static str,
    blocks: Vec<TotalView>,
}

/// The totals of a test, over all steps and attempts.
struct TotalView {
    id: String,
    name: String,
    title: String,
    lines: Vec<TotalLineView>,
}

/// A total, or one attempt.
struct TotalLineView {
    phase: String,
    unit: String,
    entries: Vec<EntryView>,
}

/// A phase in the overview.
struct LineView {
    id: String,
    /// Its place in the script's data, where a detail can be opened.
    number: Option<usize>,
    /// The place of its row in its phase, where that is not of the primary metric.
    beside: Option<usize>,
    /// Whether it follows from other rows.
    derived: bool,
    phase: String,
    rule: Option<String>,
    unit: String,
    entries: Vec<EntryView>,
}

/// A phase with its contenders' shares of the raw device.
struct ShareView {
    test: String,
    phase: String,
    unit: String,
    entries: Vec<EntryView>,
}

/// A cell of the overview.
struct EntryView {
    text: String,
    signs: String,
    class: String,
    /// How many times better the best of the row is.
    ratio: Option<String>,
}

/// The definitions.
struct Method {
    metrics: Vec<(&'static str, &'static str)>,
    caches: Vec<(&'static str, &'static str)>,
    ends: Vec<(&'static str, &'static str)>,
    false_limit: String,
    margin: String,
    unsteady_above: String,
    overhead_above: String,
}

/// The page of a campaign, with maps of what simulated disks were asked for; it leads to the index of a site, if there is one.
pub fn page(
    results: &CampaignResults,
    analysis: &Analysis,
    maps: &disk::DiskMaps,
    index: Option<&'static str>,
) -> String {
    rendered(results, analysis, maps, index, None)
}

/// The page of a published comparison, whose figures are the campaign: what it claims stands first.
pub fn study_page(study: &Study, results: &CampaignResults, analysis: &Analysis) -> String {
    let maps = disk::DiskMaps::default();
    rendered(results, analysis, &maps, None, Some(study))
}

fn rendered(
    results: &CampaignResults,
    analysis: &Analysis,
    maps: &disk::DiskMaps,
    index: Option<&'static str>,
    study: Option<&Study>,
) -> String {
    let name = sanitize_line(&results.campaign.name);
    let (data, numbers) = data::block(results, analysis, maps);
    let tests = phases::tests(results, analysis, &numbers);
    let command = rerun_command(results);
    let page = Page {
        index,
        policy: script::content_security_policy(),
        style: script::STYLE,
        script: script::SCRIPT,
        data,
        title: study.map_or_else(|| headline(results), |study| sanitize_line(&study.title)),
        study: study.map(study_view),
        name,
        program: program(results),
        number: results.id,
        facts: summary::facts(results),
        outcomes: outcomes(analysis),
        unfinished: summary::incomplete_note(analysis),
        virtual_time: summary::virtual_time(results),
        answers: answers(analysis),
        sure: confidence_line(analysis),
        how_sure: confidence_text(analysis),
        remarks: remarks(analysis),
        contenders: setup::contenders(results, analysis),
        counts: overall::counts(analysis),
        resources: setup::resources(analysis),
        columns: columns(analysis),
        blocks: blocks(results, analysis, &numbers),
        scale: heat_map::legend(),
        groups: overall::groups(analysis),
        by_group: overall::sentences(analysis),
        is_by_disk: !analysis.by_disk.is_empty(),
        tests_groups: overall::titles(analysis),
        contender_groups: overall::contender_groups(analysis),
        ageing: ageing::view(analysis),
        uses: uses::views(analysis, &command),
        command,
        legend: legend(&overview(results, analysis))
            .into_iter()
            .map(|(sign, text)| (sign, legend_text(sign, text, is_single(analysis))))
            .collect(),
        totals: totals_of(results, analysis),
        shares: shares(results, analysis),
        calibration: calibration::facts(results),
        capacity: capacity(&tests),
        tests,
        sweeps: sweeps::sweeps(results, analysis),
        features: evidence::features(analysis),
        has_tried: labels::has_tried(analysis),
        elsewhere: analysis.measured_elsewhere,
        classes: labels::CLASSES,
        known: evidence::facts(analysis),
        not_ok: evidence::failed_cells(analysis).count(),
        cannot: analysis.failures.len() - evidence::failed_cells(analysis).count(),
        failures: evidence::failures(analysis),
        complaints: evidence::complaints(analysis),
        environments: setup::environments(results),
        commands: setup::commands(results),
        method: method(analysis),
    };
    page.render().expect("writing to a string does not fail")
}

fn study_view(study: &Study) -> StudyView {
    let name = sanitize_line(&study.name);
    let figures = &study.figures;
    let sentences = [
        Some(format!(
            "Published in {}: {} of {}. All numbers here are its authors’, from their machine; fsarena measured none of \
                 them.",
            figures.year,
            pluralize(figures.numbers() as u64, "number"),
            pluralize(figures.contenders.len() as u64, "contender"),
        )),
        Some(claims::summary(study)),
        claims::excluded_figures(study),
    ];
    StudyView {
        sentences: sentences.into_iter().flatten().collect(),
        source: sanitize_line(&study.source),
        not_as_said: claims::contradicted_by_own_figures(study),
        claims: ClaimView::of_study(study),
        sides: ["By its own figures"],
        does_not_add_up: study
            .inconsistencies()
            .iter()
            .map(|off| sanitize_line(off))
            .collect(),
        command: format!("fsarena replicate {name}"),
    }
}

/// What stands first: for each use who suits it; where contenders are on several disks, who leads on each.
fn answers(analysis: &Analysis) -> Vec<ConclusionText> {
    if analysis.by_disk.is_empty() {
        return use_case_conclusions(analysis);
    }
    let each = category_conclusions_by_disk(analysis).into_iter();
    each.filter_map(|mut groups| groups.pop()).collect()
}

/// A text as HTML, with what stands between two backticks as code.
pub(crate) fn code_spans_to_html(text: &str) -> String {
    let escaped = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let mut html = String::new();
    let mut rest = escaped.as_str();
    while let Some((before, code, behind)) = quoted(rest) {
        html += &format!("{before}<code>{code}</code>");
        rest = behind;
    }
    html + rest
}

/// What stands before the first two backticks, between them, and behind.
fn quoted(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('`')?;
    let (code, behind) = rest.split_once('`')?;
    Some((before, code, behind))
}

fn capacity(tests: &[phases::TestView]) -> Option<String> {
    let mut phases = tests.iter().flat_map(|test| &test.phases);
    let shown = phases.find(|phase| phase.title == labels::title(Metric::Capacity))?;
    Some(shown.id.clone())
}

fn program(results: &CampaignResults) -> String {
    results
        .environments
        .last()
        .map_or_else(String::new, |e| sanitize_line(&e.program))
}

fn outcomes(analysis: &Analysis) -> Vec<Count> {
    summary::outcomes(analysis)
        .into_iter()
        .map(|(outcome, count)| Count {
            word: outcome.name(),
            count,
            class: match outcome {
                RoundOutcome::Ok => "good",
                RoundOutcome::Unsupported => "cannot",
                _ if outcome.is_failure() => "failed",
                _ => "absent",
            },
        })
        .collect()
}

fn columns(analysis: &Analysis) -> Vec<Vec<String>> {
    short_names(&analysis.contenders, WIDEST_NAME)
        .iter()
        .map(|name| {
            let parts = name.split_inclusive([':', ',', '=']);
            parts.map(str::to_owned).collect()
        })
        .collect()
}

/// What was tried has its own matrix.
fn blocks(
    results: &CampaignResults,
    analysis: &Analysis,
    numbers: &PhaseNumbers,
) -> Vec<BlockView> {
    let is_feature =
        |line: &PhaseLine<'_>| line.row.is_some_and(|row| row.metric == Metric::Supported);
    overview(results, analysis)
        .iter()
        .filter(|block| !block.lines.iter().all(is_feature))
        .map(|block| BlockView {
            id: block
                .number
                .map_or_else(|| sweep_id(&block.name, analysis), test_id),
            name: block.name.clone(),
            title: block.title.clone(),
            lines: lines(block, analysis, numbers),
        })
        .collect()
}

fn lines(block: &TestBlock<'_>, analysis: &Analysis, numbers: &PhaseNumbers) -> Vec<LineView> {
    let number = |phase: usize| numbers.get(&(block.number?, phase)).copied();
    let place = |row: &ResultRow| {
        let mut phases = block.test.phases.iter();
        phases.position(|phase| phase.name == row.phase)
    };
    let is_feature = |row: &ResultRow| row.metric == Metric::Supported;
    let lines = block.lines.iter();
    lines
        .filter(|line| !line.row.is_some_and(is_feature))
        .map(|line| (line.row.and_then(place), line))
        .map(|(phase, line)| LineView {
            number: phase.and_then(number),
            beside: line.row.filter(|row| !row.primary).and_then(|row| {
                let mut rows = analysis.rows.iter().filter(|other| is_of_phase(other, row));
                rows.position(|other| other.metric == row.metric)
            }),
            derived: line.row.is_none(),
            id: match (block.number, phase, line.row) {
                (Some(test), Some(phase), Some(_)) => phase_id(test, phase),
                _ => sweep_id(&block.name, analysis),
            },
            phase: line.label.clone(),
            rule: line.rule.clone(),
            unit: line.unit.clone(),
            entries: coloured(line),
        })
        .collect()
}

/// Whether two rows are of one phase.
fn is_of_phase(one: &ResultRow, other: &ResultRow) -> bool {
    (&one.suite, &one.test, &one.phase) == (&other.suite, &other.test, &other.phase)
}

/// The cells of a row with the colour that says how far each is from the best.
fn coloured(line: &PhaseLine<'_>) -> Vec<EntryView> {
    let none = vec![None; line.entries.len()];
    let ratios = line.row.map_or(none, heat_map::ratios);
    let cells = line.entries.iter().zip(ratios).enumerate();
    cells
        .map(|(place, (of, ratio))| {
            let mut view = entry(of);
            if let Some(text) = readable(line, place, of) {
                view.text = text;
            }
            if let Some(ratio) = ratio {
                view.class = format!("{} {}", view.class, heat_map::class(ratio));
                view.ratio = Some(heat_map::attribute(ratio));
            }
            view
        })
        .collect()
}

/// A number in a unit of its own, where that of its row would make it very long or nearly nothing.
fn readable(line: &PhaseLine<'_>, place: usize, entry: &TableCell) -> Option<String> {
    let bound = entry.text.starts_with(LOWER_BOUND);
    let shown: f64 = entry.text.trim_start_matches(LOWER_BOUND).parse().ok()?;
    if shown == 0.0 || (0.1..10_000.0).contains(&shown.abs()) {
        return None;
    }
    let row = line.row?;
    let median = row.results[place].estimate?.median;
    let own = UnitScale::for_metric(row.metric, [median]);
    let text = own.with_unit(median);
    let is_better = line.unit.split(' ').next() != Some(own.symbol());
    is_better.then(|| {
        if bound {
            format!("{LOWER_BOUND}{text}")
        } else {
            text
        }
    })
}

/// Where the sweep of this name is shown in full.
fn sweep_id(name: &str, analysis: &Analysis) -> String {
    let place = analysis
        .sweeps
        .iter()
        .position(|s| sanitize_line(&s.name) == name);
    format!("sweep-{}", place.unwrap_or_default() + 1)
}

fn shares(results: &CampaignResults, analysis: &Analysis) -> Vec<ShareView> {
    let mut views = Vec::new();
    for block in calibration::shares(results, analysis) {
        views.extend(block.lines.iter().map(|line| ShareView {
            test: block.name.clone(),
            phase: line.label.clone(),
            unit: line.unit.clone(),
            entries: line.entries.iter().map(entry).collect(),
        }));
    }
    views
}

/// How much of real work is the filesystem, the time of whole tests, and what roles cost each other.
fn totals_of(results: &CampaignResults, analysis: &Analysis) -> Vec<TotalsView> {
    let above = TotalsView {
        id: "above",
        link: "Real work",
        title: over_baseline::TITLE,
        note: over_baseline::note(analysis),
        sentences: over_baseline::sentences(analysis),
        caption: "What each step takes above the baseline",
        line: "Step",
        blocks: total_views(over_baseline::blocks(results, analysis)),
    };
    let whole = TotalsView {
        id: "totals",
        link: "Totals",
        title: totals::TITLE,
        note: totals::NOTE.to_owned(),
        sentences: Vec::new(),
        caption: "Total time of each test of several steps, and of each attempt",
        line: "Attempt",
        blocks: total_views(totals::blocks(
            results,
            analysis,
            totals::AttemptFilter::All,
        )),
    };
    let roles = TotalsView {
        id: "interference",
        link: "Roles",
        title: interference::TITLE,
        note: interference::NOTE.to_owned(),
        sentences: Vec::new(),
        caption: "Each role of a mix alone, beside the others, and how many times worse that is",
        line: "Role",
        blocks: total_views(interference::blocks(results, analysis)),
    };
    let all = [above, whole, roles].into_iter();
    all.filter(|of| !of.blocks.is_empty()).collect()
}

fn total_views(blocks: Vec<TestBlock<'_>>) -> Vec<TotalView> {
    let lines = |block: &TestBlock<'_>| {
        let lines = block.lines.iter().map(|line| TotalLineView {
            phase: line.label.clone(),
            unit: line.unit.clone(),
            entries: line.entries.iter().map(entry).collect(),
        });
        lines.collect()
    };
    let views = blocks.into_iter().map(|block| TotalView {
        id: test_id(block.number.unwrap_or_default()),
        lines: lines(&block),
        name: block.name,
        title: block.title,
    });
    views.collect()
}

fn entry(entry: &TableCell) -> EntryView {
    EntryView {
        text: entry.text.clone(),
        signs: entry.signs.clone(),
        class: tone_class(entry.tone).to_owned(),
        ratio: None,
    }
}

const fn tone_class(tone: CellStyle) -> &'static str {
    match tone {
        CellStyle::Plain => "plain",
        CellStyle::Best => "best",
        CellStyle::Worst => "worst",
        CellStyle::Failed => "failed",
        CellStyle::Missing => "absent",
    }
}

/// Anchors are numbers: a name from outside is never part of one.
fn test_id(test: usize) -> String {
    format!("test-{}", test + 1)
}

fn phase_id(test: usize, phase: usize) -> String {
    format!("test-{}-{}", test + 1, phase + 1)
}

fn method(analysis: &Analysis) -> Method {
    Method {
        metrics: Metric::ALL
            .map(|m| (labels::title(m), labels::definition(m)))
            .into(),
        caches: labels::CACHES
            .map(|(state, text)| (labels::cache(state), text))
            .into(),
        ends: labels::ENDS
            .map(|(end, text)| (labels::end(end), text))
            .into(),
        false_limit: format!("{:.0}", stats::inference::FDR_LIMIT * 100.0),
        margin: labels::percent(analysis.margin.0),
        overhead_above: format!("{:.0}", stats::OVERHEAD_ABOVE),
        unsteady_above: format!("{:.0}", stats::UNSTEADY_ABOVE),
    }
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
