//! Setting of the campaign: contenders, machines, tools, command lines.

use model::{CampaignResults, CommandRecord, Contender, Environment};
use stats::Analysis;

use super::evidence::failed_cells;
use crate::document::{Block, Document};
use crate::render::html;
use crate::tables::resources;
use crate::text::command::{options_text, quote_words};
use crate::text::sanitize::{sanitize_line, sanitize_paragraph};
use crate::text::{labels, summary};

/// A contender with its options.
pub(super) struct ContenderView {
    pub name: String,
    pub title: String,
    pub driver: &'static str,
    pub options: String,
    /// Text shown if there are no options.
    pub without_options: &'static str,
    pub quirks: Vec<String>,
    /// Number of cells that are not ok.
    pub unsuccessful: usize,
}

/// Environment of one session.
pub(super) struct EnvironmentView {
    pub session: usize,
    pub facts: Vec<(String, String)>,
    pub tools: Vec<(String, String)>,
}

/// The command lines of one contender.
pub(super) struct CommandView {
    pub contender: String,
    pub lines: Vec<(String, String)>,
}

pub(super) fn contenders(results: &CampaignResults, analysis: &Analysis) -> Vec<ContenderView> {
    let count =
        |one: &Contender| failed_cells(analysis).filter(|cell| cell.contender == one.name).count();
    let elsewhere = results.campaign.measured_by.is_some();
    let all = results.campaign.contenders.iter();
    let machine = results.environments.last();
    let found = |one: &Contender| machine.and_then(|machine| machine.directory(&one.name));
    all.map(|one| contender(one, found(one), elsewhere, count(one))).collect()
}

/// Quirks of how fsarena makes and mounts a filesystem do not apply to results of other programs.
/// `directory` is the filesystem, options and device of a mounted directory.
fn contender(
    contender: &Contender,
    directory: Option<&str>,
    elsewhere: bool,
    not_ok: usize,
) -> ContenderView {
    let options = directory.map_or_else(|| options_text(contender), str::to_owned);
    let quirks = match elsewhere {
        true => &[][..],
        false => &contender.filesystem.quirks[..],
    };
    ContenderView {
        name: sanitize_line(&contender.name),
        title: sanitize_line(&contender.filesystem.title),
        driver: labels::driver(contender.filesystem.driver),
        options: sanitize_line(&options),
        without_options: match elsewhere {
            true => "not stated",
            false => "as catalogued",
        },
        quirks: quirks.iter().map(|q| sanitize_paragraph(q)).collect(),
        unsuccessful: not_ok,
    }
}

/// Returns the resource limits and use of each contender, as HTML; empty if there is nothing to
/// show.
pub(super) fn resources(analysis: &Analysis) -> String {
    let Some(table) = resources::table(analysis) else {
        return String::new();
    };
    let mut document = Document::default();
    let note = Block::Note(resources::NOTE.to_owned());
    document.section(resources::TITLE, [Block::Table(table), note]);
    html(&document)
}

pub(super) fn environments(results: &CampaignResults) -> Vec<EnvironmentView> {
    let view = |(index, environment): (usize, &Environment)| EnvironmentView {
        session: index + 1,
        facts: summary::environment(environment),
        tools: environment
            .tools
            .iter()
            .map(|tool| (sanitize_line(&tool.program), sanitize_line(&tool.version)))
            .collect(),
    };
    results.environments.iter().enumerate().map(view).collect()
}

/// Returns the first command line of each kind of step, for each contender.
pub(super) fn commands(results: &CampaignResults) -> Vec<CommandView> {
    results
        .campaign
        .contenders
        .iter()
        .map(|contender| CommandView {
            contender: sanitize_line(&contender.name),
            lines: first_of_each(results, &contender.name)
                .into_iter()
                .map(|step| (sanitize_line(&step.step), quote_words(&step.command)))
                .collect(),
        })
        .filter(|view| !view.lines.is_empty())
        .collect()
}

fn first_of_each<'a>(results: &'a CampaignResults, contender: &str) -> Vec<&'a CommandRecord> {
    let mut firsts: Vec<&CommandRecord> = Vec::new();
    for stored in &results.cells {
        if stored.cell.contender != contender {
            continue;
        }
        for step in stored.result.iter().flat_map(|r| &r.steps) {
            if !firsts.iter().any(|first| first.step == step.step) {
                firsts.push(step);
            }
        }
    }
    firsts
}
