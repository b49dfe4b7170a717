//! What is known of a campaign, shown: one file for each format.
//!
//! [`render`] turns stored facts and their analysis into text. This crate is pure: it writes no
//! file, reads no clock and decides nothing that the analysis has not decided. All that came from
//! outside (names, reasons, kernel logs) is taken to be hostile and is escaped for its format.
//!
//! A figure is rounded in one place ([`Scale`]), so that every format for people says the same.

mod axis;
mod bonnie_csv;
mod calibration;
mod complaint_lines;
mod csv;
mod date;
mod drawing;
mod failure_lines;
mod format;
mod html;
mod json;
mod line_chart;
mod markdown;
mod overview;
mod scale;
mod summary;
mod svg;
mod sweeps;
mod terminal;
mod text;
mod words;

pub use calibration::{CalibrationLine, ceiling_lines, instrument_lines};
pub use drawing::{bars, curves};
pub use format::{Format, Options, UnknownFormat, render};
pub use json::SCHEMA;
pub use scale::Scale;
pub use text::visible;

#[cfg(test)]
mod same_figures;
