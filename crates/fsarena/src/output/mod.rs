//! Output of results, progress and errors.

pub mod calibration_text;
pub mod cell_page;
pub mod claims_text;
pub mod cost_page;
pub mod disk_map;
pub mod erase_question;
pub mod exit;
pub mod output_file;
pub mod progress;
pub mod replicate_text;
pub mod study_page;
pub mod text;
pub mod usage_error;
