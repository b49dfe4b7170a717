//! Formats of a report by name, and one function that renders all of them.

use std::fmt;
use std::str::FromStr;

use model::CampaignResults;
use stats::Analysis;

use crate::documents::campaign::{Detail, campaign_report};
use crate::exports::{bonnie_csv, csv, iozone, json};
use crate::page::{self, disk::DiskMaps};
use crate::render::{DocumentOptions, markdown, terminal};

/// A format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReportFormat {
    /// A table for the terminal.
    Table,
    /// A self-contained page.
    Html,
    /// One line for each cell, phase and metric.
    Csv,
    /// Complete facts and analysis.
    Json,
    /// Tables in GitHub's Markdown.
    Markdown,
    /// The output format of bonnie++ 2.00, for `bon_csv2html` and `bon_csv2txt`.
    BonnieCsv,
    /// The spreadsheet output of `iozone -R`.
    Iozone,
}

/// The error for a word that is not a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFormat(String);

impl ReportFormat {
    /// Every format, in the order of the help text.
    pub const ALL: [Self; 7] = [
        Self::Table,
        Self::Html,
        Self::Csv,
        Self::Json,
        Self::Markdown,
        Self::BonnieCsv,
        Self::Iozone,
    ];

    /// Returns the name of the format on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Html => "html",
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Markdown => "markdown",
            Self::BonnieCsv => "bonnie-csv",
            Self::Iozone => "iozone",
        }
    }
}

impl fmt::Display for ReportFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for ReportFormat {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == text)
            .ok_or_else(|| UnknownFormat(text.to_owned()))
    }
}

impl fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = ReportFormat::ALL.map(ReportFormat::name).join(", ");
        write!(f, "`{}` is not a format: one of {names}", self.0)
    }
}

impl std::error::Error for UnknownFormat {}

/// Renders the report of a campaign. `analysis` must be the analysis of `results`. The page has no
/// maps; see [`page::page`].
pub fn render(
    format: ReportFormat,
    results: &CampaignResults,
    analysis: &Analysis,
    options: &DocumentOptions,
) -> String {
    match format {
        ReportFormat::Table => {
            terminal(&campaign_report(results, analysis, Detail::Brief), options)
        }
        ReportFormat::Html => page::page(results, analysis, &DiskMaps::default(), None),
        ReportFormat::Csv => csv::render(results, analysis),
        ReportFormat::Json => json::render(results, analysis),
        ReportFormat::Markdown => markdown(&campaign_report(results, analysis, Detail::Full)),
        ReportFormat::BonnieCsv => bonnie_csv::render(results, analysis),
        ReportFormat::Iozone => iozone::render(results, analysis),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_and_others_are_refused_with_the_list() {
        for format in ReportFormat::ALL {
            assert_eq!(format.name().parse(), Ok(format));
        }
        let error = "pdf".parse::<ReportFormat>().unwrap_err().to_string();
        assert!(error.contains("`pdf`") && error.contains("bonnie-csv"));
    }

    #[test]
    fn every_format_describes_a_campaign_without_results() {
        let mut results = stats::fixture::plain();
        for stored in &mut results.cells {
            stored.result = None;
        }
        results.environments.clear();
        let analysis = stats::analyse(&results);
        for format in ReportFormat::ALL {
            let report = render(format, &results, &analysis, &DocumentOptions::default());
            assert!(!report.is_empty(), "{format}");
        }
    }
}
