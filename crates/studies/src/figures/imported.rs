//! The figures of a study as a campaign measured by another program, so that every report can show
//! it.
//!
//! Figures without a metric in fsarena (limits, bounds of a range) stay in the table of figures and
//! are not part of the campaign. If every phase of a test has a counterpart in fsarena, the test
//! gets fsarena's names. It can then be compared with results of fsarena, and be written in the
//! formats of other programs.

use std::collections::{BTreeMap, BTreeSet};

use config::Catalog;
use model::{
    Bytes, Environment, ImportedCampaign, ImportedContender, Metric, ReportedValue,
    WorkloadCategory,
};

use crate::figures::consistency::Check;
use crate::figures::{FigureSpec, FigureValue, StudyContender};
use crate::{FigureStatus, Study};

impl Study {
    /// Returns the figures as a campaign, or `None` if no figure is a number with a metric in
    /// fsarena.
    pub fn reported(&self, catalog: &Catalog) -> Option<ImportedCampaign> {
        let phases = self.phases().map(|(test, phase)| {
            let figures = self.figures_of(test, phase, catalog);
            ((test, phase), figures)
        });
        let phases: Vec<_> = phases.filter(|(_, figures)| !figures.is_empty()).collect();
        let names: Vec<(&str, &str)> = phases.iter().map(|(name, _)| *name).collect();
        let here = self.names_here(&names);
        let named = phases.into_iter().flat_map(|(name, figures)| {
            let (test, phase) = here.get(&name).copied().unwrap_or(name);
            figures.into_iter().map(move |figure| model::ImportedResult {
                test: test.to_owned(),
                phase: phase.to_owned(),
                ..figure
            })
        });
        let figures: Vec<model::ImportedResult> = named.collect();
        if figures.iter().all(|figure| figure.values.is_empty()) {
            return None;
        }
        let competed = |name: &String| figures.iter().any(|figure| figure.contender == *name);
        let contenders = self.figures.contenders.iter();
        let contenders = contenders.filter(|c| competed(&c.name)).map(|contender| {
            let known = contender.catalog.as_ref();
            ImportedContender {
                name: contender.name.clone(),
                filesystem: known.and_then(|name| catalog.filesystem(name).ok().cloned()),
            }
        });
        Some(ImportedCampaign {
            name: self.name.clone(),
            program: format!("its authors, {}", self.figures.year),
            source: format!("{}; {}", self.title, self.source),
            started: None,
            environment: self.environment(),
            contenders: contenders.collect(),
            figures,
        })
    }

    /// Returns fsarena's phase names for tests whose phases all have distinct counterparts.
    fn names_here<'a>(
        &'a self,
        phases: &[(&'a str, &'a str)],
    ) -> BTreeMap<(&'a str, &'a str), (&'a str, &'a str)> {
        let here = |(test, phase): (&str, &str)| match &self.counterpart(test, phase)?.parts[..] {
            [only] if only.at.is_none() && only.phase != "*" => {
                Some((only.test.as_str(), only.phase.as_str()))
            }
            _ => None,
        };
        let mut names = BTreeMap::new();
        for (test, _) in phases {
            let of_test = || phases.iter().copied().filter(|(other, _)| other == test);
            let known: Vec<_> = of_test().filter_map(here).collect();
            let distinct: BTreeSet<_> = known.iter().collect();
            if distinct.len() == of_test().count() {
                names.extend(of_test().zip(known));
            }
        }
        names
    }

    /// Returns the phases in the order in which they first appear.
    fn phases(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut seen = BTreeSet::new();
        let all = self.figures.figures.iter();
        all.map(|figure| (figure.test.as_str(), figure.phase.as_str()))
            .filter(move |phase| seen.insert(*phase))
    }

    /// Returns a phase of every contender; empty if no contender tried it.
    fn figures_of(&self, test: &str, phase: &str, catalog: &Catalog) -> Vec<model::ImportedResult> {
        let of_phase = |figure: &&FigureSpec| figure.test == test && figure.phase == phase;
        let mut metrics: Vec<(Metric, &FigureSpec)> = self
            .figures
            .figures
            .iter()
            .filter(of_phase)
            .filter_map(|figure| Some((figure.matching_metric()?, figure)))
            .collect();
        // The first metric ranks the contenders.
        metrics.sort_by_key(|(metric, _)| *metric);
        // A phase with only one number compares nothing, so it belongs to no test category.
        let group = match self.is_compared(&metrics) {
            true => self.group(test, phase, catalog),
            false => None,
        };
        let total = self.is_total(test, phase);
        let mut all = Vec::new();
        for contender in &self.figures.contenders {
            let cells = metrics.iter().filter_map(|(metric, figure)| {
                let (_, cell) = self.figures.value(&contender.name, &figure.path())?;
                Some((*metric, *figure, cell))
            });
            let cells: Vec<(Metric, &FigureSpec, &FigureValue)> = cells.collect();
            let Some((_, _, first)) = cells.first() else {
                continue;
            };
            let values = cells.iter().filter_map(|(metric, figure, cell)| {
                let value = cell.exact()? * figure.scale()?;
                Some(ReportedValue { metric: *metric, value })
            });
            all.push(model::ImportedResult {
                contender: contender.name.clone(),
                test: test.to_owned(),
                phase: phase.to_owned(),
                round: 1,
                group,
                total,
                too_fast: first.censored && first.value.is_none(),
                status: status(first.status),
                reason: reason(first),
                values: values.collect(),
                latency: Vec::new(),
            });
        }
        let tried = |figure: &model::ImportedResult| {
            let gave_up = matches!(figure.status, model::Status::Ok | model::Status::Skipped);
            !figure.values.is_empty() || !gave_up
        };
        match all.iter().any(tried) {
            true => all,
            false => Vec::new(),
        }
    }

    /// Returns true if at least two contenders have the number that a phase is ranked by: the first
    /// metric that any contender has.
    fn is_compared(&self, metrics: &[(Metric, &FigureSpec)]) -> bool {
        let numbers = metrics.iter().map(|(_, figure)| {
            let path = figure.path();
            let contenders = self.figures.contenders.iter();
            let has = |c: &&StudyContender| {
                let found = self.figures.value(&c.name, &path);
                found.is_some_and(|(_, cell)| cell.exact().is_some())
            };
            contenders.filter(has).count()
        });
        let mut known = numbers.filter(|count| *count > 0);
        known.next().is_none_or(|count| count > 1)
    }

    /// Returns true if the study reports a phase as the sum of others.
    fn is_total(&self, test: &str, phase: &str) -> bool {
        let totals = self.checks.iter().filter_map(Check::total);
        let mut figures = totals.filter_map(|path| self.figures.index_of(path));
        figures.any(|place| {
            let figure = &self.figures.figures[place];
            figure.test == test && figure.phase == phase
        })
    }

    /// Returns the test category of a phase, from its first counterpart in fsarena.
    fn group(&self, test: &str, phase: &str, catalog: &Catalog) -> Option<WorkloadCategory> {
        let part = self.counterpart(test, phase)?.parts.first()?;
        let suites = catalog.suites(model::SizeProfile::Study);
        let tests = suites.into_iter().flat_map(|suite| &suite.tests);
        let mut phases = tests
            .filter(|test| test.sweep_name() == part.test || test.name == part.test)
            .flat_map(|test| test.phases.iter().map(move |phase| (test, phase)));
        let (test, phase) = phases.find(|(_, known)| known.name == part.phase)?;
        WorkloadCategory::of_phase(test, phase)
    }

    /// Returns the machine as stated in the text.
    fn environment(&self) -> Environment {
        let fact = |words: &[&str]| {
            let has = |name: &str| words.iter().any(|word| name.starts_with(word));
            let found = self.hardware.iter().find(|(name, _)| has(name));
            found.map_or_else(String::new, |(_, value)| value.clone())
        };
        Environment {
            kernel: fact(&["kernel"]),
            distribution: fact(&["os"]),
            cpu: fact(&["machine cpu"]),
            memory: parse_size_prefix(&fact(&["machine ram"])),
            device: fact(&["disk test"]),
            clock: "real time".to_owned(),
            ..Environment::default()
        }
    }
}

/// Returns the size at the beginning of a text, or 0 if it does not begin with one.
pub(crate) fn parse_size_prefix(text: &str) -> Bytes {
    let mut words = text.split_whitespace();
    let size = words.next().zip(words.next());
    let size = size.and_then(|(number, unit)| format!("{number} {unit}").parse().ok());
    size.unwrap_or(Bytes(0))
}

const fn status(status: FigureStatus) -> model::Status {
    match status {
        FigureStatus::Ok | FigureStatus::Missing => model::Status::Ok,
        FigureStatus::Failed => model::Status::Failed,
        FigureStatus::Crashed => model::Status::Crashed,
        FigureStatus::Invalid => model::Status::Invalid,
        FigureStatus::NotRun => model::Status::Skipped,
    }
}

/// Returns the reason for a missing number, and the limit if the number is a lower bound.
fn reason(cell: &FigureValue) -> Option<String> {
    let bound = cell.value.filter(|_| cell.censored);
    let bound = bound.map(|_| format!("above {} {}", cell.printed, cell.unit));
    let has_number = cell.status == FigureStatus::Ok && !cell.censored;
    let note = (!has_number && !cell.note.is_empty()).then(|| cell.note.clone());
    match (bound, note) {
        (Some(bound), Some(note)) => Some(format!("{}: {note}", bound.trim_end())),
        (bound, note) => bound.or(note),
    }
}
