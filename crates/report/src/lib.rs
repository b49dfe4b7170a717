//! What is known of a campaign, shown: one file for each format.
//!
//! [`render`] turns stored facts and their analysis into text. This crate is pure: it writes no
//! file, reads no clock and decides nothing that the analysis has not decided. All that came from
//! outside (names, reasons, kernel logs) is taken to be hostile and is escaped for its format.
//!
//! A result is rounded in one place ([`Scale`]), so that every format for people says the same.

mod charts;
mod exports;
mod format;
mod page;
mod site;
mod tables;
mod text_reports;
mod wording;

pub use charts::flame_graph::difference_flame_graph;
pub use charts::png::Rasterizer;
pub use charts::{ChartFile, charts};
pub use exports::json::{JSON_SCHEMA, SCHEMA, read_json};
#[cfg(feature = "parquet")]
pub use exports::parquet_table::{ParquetKind, ParquetTable, parquet};
#[cfg(feature = "schema")]
pub use exports::schema::schema_of_types;
pub use format::{Format, UnknownFormat, render};
pub use page::disk::{DiskMaps, PhaseMap, mapped_cells};
pub use page::{page, study_page};
pub use site::{
    CampaignHead, HISTORY, INDEX, IndexEntry, OverCampaigns, STUDIES, Site, StudyEntry,
    campaign_file, changes_page, history_page, index_page, studies_page, then_and_now_page,
};
pub use tables::calibration::{CalibrationLine, overhead_lines, raw_device_lines};
pub use text_reports::advice::{advice_text, answers_text};
pub use text_reports::agreement::agreement_text;
pub use text_reports::compare::{Form, Sides, compare_text};
pub use text_reports::explanation::explanation_text;
pub use text_reports::first_worse::first_worse_text;
pub use text_reports::history::history_text;
pub use text_reports::markdown::study_markdown;
pub use text_reports::terminal::Options;
pub use wording::claims::left_out;
pub use wording::command::shell_word;
pub use wording::scale::Scale;
pub use wording::text::{lines_of, visible};
pub use wording::then_and_now;

#[cfg(test)]
mod same_results;
