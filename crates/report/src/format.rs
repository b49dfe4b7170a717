//! Formats of a report by name, and one function that renders all of them.

use model::CampaignResults;
use stats::Analysis;

use crate::documents::campaign::{Detail, campaign_report};
use crate::exports::{bonnie_csv, csv, iozone, json};
use crate::page::{self, disk::DiskMaps};
use crate::render::{DocumentOptions, markdown, terminal};

model::named_enum! {
    /// A format of a report.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum ReportFormat {
        /// A table for the terminal.
        Table = "table",
        /// A self-contained page.
        Html = "html",
        /// One line for each cell, phase and metric.
        Csv = "csv",
        /// Complete facts and analysis.
        Json = "json",
        /// Tables in GitHub's Markdown.
        Markdown = "markdown",
        /// The output format of bonnie++ 2.00, for `bon_csv2html` and `bon_csv2txt`.
        BonnieCsv = "bonnie-csv",
        /// The spreadsheet output of `iozone -R`.
        Iozone = "iozone",
    }
}

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
        let error = "pdf".parse::<ReportFormat>().unwrap_err();
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
