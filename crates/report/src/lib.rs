//! What is known of a campaign, shown: one file for each format.
//!
//! [`render`] turns stored facts and their analysis into text. This crate is pure: it writes no
//! file, reads no clock and decides nothing that the analysis has not decided. All that came from
//! outside (names, reasons, kernel logs) is taken to be hostile and is escaped for its format.
//!
//! A figure is rounded in one place ([`Scale`]), so that every format for people says the same.

mod advice;
mod axis;
mod bonnie_csv;
mod calibration;
mod charts;
mod compare;
mod complaint_lines;
mod conclusions;
mod cost;
mod csv;
mod date;
mod drawing;
mod failure_lines;
mod format;
mod heat_chart;
mod history;
mod html;
mod iozone;
mod json;
mod line_chart;
mod markdown;
mod overview;
#[cfg(feature = "parquet")]
mod parquet_table;
mod plain_table;
mod plots;
mod png;
mod reasons;
mod resources;
mod scale;
#[cfg(feature = "schema")]
mod schema;
mod standing_tables;
mod summary;
mod svg;
mod sweeps;
mod terminal;
mod text;
mod totals;
mod verdict;
mod words;

pub use advice::advice_text;
pub use calibration::{CalibrationLine, ceiling_lines, instrument_lines};
pub use charts::{ChartFile, charts};
pub use compare::{Form, Sides, compare_text};
pub use drawing::{bars, curves};
pub use format::{Format, Options, UnknownFormat, render};
pub use history::history_text;
pub use json::{JSON_SCHEMA, SCHEMA, read_json};
#[cfg(feature = "parquet")]
pub use parquet_table::parquet;
pub use png::Rasterizer;
pub use scale::Scale;
#[cfg(feature = "schema")]
pub use schema::schema_of_types;
pub use text::visible;

#[cfg(test)]
mod same_figures;
