//! Renders the results of a campaign, one file for each format.
//!
//! [`render`] turns stored facts and their analysis into text. This crate is pure: it writes no
//! file, reads no clock and makes no decision that the analysis has not made. All input (names,
//! reasons, kernel logs) is treated as hostile and is escaped for its format.
//!
//! Results are rounded in one place ([`Scale`]), so that all human-readable formats show the same
//! values.

mod charts;
mod documents;
mod exports;
mod format;
mod page;
mod site;
mod tables;
mod text;

pub use charts::flame_graph::difference_flame_graph;
pub use charts::png::Rasterizer;
pub use charts::{ChartError, ChartFile, charts};
pub use documents::advice::{advice_text, answers_text};
pub use documents::agreement::agreement_text;
pub use documents::compare::{SideLabels, TextStyle, compare_text};
pub use documents::explanation::explanation_text;
pub use documents::history::history_text;
pub use documents::markdown::study_markdown;
pub use documents::regression_search::first_worse_text;
pub use documents::terminal::DocumentOptions;
pub use exports::json::{JSON_SCHEMA, SCHEMA, read_json};
#[cfg(feature = "parquet")]
pub use exports::parquet_table::{ParquetKind, ParquetTable, parquet};
#[cfg(feature = "schema")]
pub use exports::schema::json_schema;
pub use format::{ReportFormat, UnknownFormat, render};
pub use page::disk::{DiskMaps, PhaseMap, mapped_cells};
pub use page::{page, study_page};
pub use site::{
    CampaignHead, HISTORY, HistoryOverview, INDEX, IndexEntry, STUDIES, Site, StudyEntry,
    campaign_file, changes_page, history_page, index_page, replication_page, studies_page,
};
pub use tables::calibration::{CalibrationLine, overhead_lines, raw_device_lines};
pub use text::claims::excluded_figures;
pub use text::command::shell_quote;
pub use text::replication;
pub use text::sanitize::{escape_invisible, wrap};
pub use text::scale::UnitScale;

#[cfg(test)]
mod js_parity_tests;
