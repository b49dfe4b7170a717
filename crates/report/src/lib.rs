//! Renders the results of a campaign, one file for each format.
//!
//! [`mod@render`] turns stored facts and their analysis into text. This crate is pure: it writes no
//! file, reads no clock and makes no decision that the analysis has not made. All input (names,
//! reasons, kernel logs) is treated as hostile and is escaped for its format.
//!
//! Results are rounded in one place (`text::scale`), so that all human-readable formats show the same
//! values.

mod charts;
pub mod document;
mod documents;
mod exports;
mod format;
mod page;
pub mod render;
mod site;
mod tables;
mod text;

pub use charts::flame_graph::difference_flame_graph;
pub use charts::png::Rasterizer;
pub use charts::{ChartError, ChartFile, charts};
pub use document::{Block, Document, Item, Style, Table, TableCell};
pub use documents::advice::{advice_report, answers_report};
pub use documents::agreement::agreement_report;
pub use documents::campaign::{Detail, campaign_report, study_report};
pub use documents::compare::{SideLabels, comparison};
pub use documents::explanation::explanation_report;
pub use documents::history::history_report;
pub use documents::last_screen::{COLUMNS as SCREEN_COLUMNS, last_screen};
pub use documents::regression_search::first_worse_report;
pub use documents::second_opinion::second_opinion;
pub use exports::json::{JSON_SCHEMA, SCHEMA, read_json};
#[cfg(feature = "parquet")]
pub use exports::parquet_table::{ParquetKind, ParquetTable, parquet};
#[cfg(feature = "schema")]
pub use exports::schema::json_schema;
pub use format::{ReportFormat, render};
pub use page::disk::{DiskMaps, PhaseMap, mapped_cells};
pub use page::{page, study_page};
pub use render::DocumentOptions;
pub use site::{
    CampaignHead, HISTORY, HistoryOverview, INDEX, IndexEntry, STUDIES, Site, StudyEntry,
    campaign_file, changes_page, history_page, index_page, replication_page, studies_page,
};
pub use tables::calibration::{CalibrationLine, overhead_lines, raw_device_lines};
pub use tables::timelines::{bar_line, speed_bars};
pub use text::caveats::less_work;
pub use text::labels::{moment, pluralize};
pub use text::replication;
pub use text::sanitize::{escape_invisible, wrap};
pub use text::scale::UnitScale;
pub use text::summary::answer_text;

#[cfg(test)]
mod js_parity_tests;
#[cfg(test)]
mod uses_review_tests;
