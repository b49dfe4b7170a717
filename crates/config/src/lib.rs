//! Filesystems, suites, use cases, disks and studies as data: TOML in, checked model out.
//!
//! The catalog is compiled in and can be overlaid by user files. Every error in a file is reported
//! in one line with file, line and the expected value. This crate runs no programs, mounts no
//! filesystems and has no code for a particular filesystem.

mod age_file;
pub mod campaign_file;
mod catalog;
mod command_line;
mod contender;
mod contender_overrides;
mod defaults_file;
mod disk_file;
mod document;
#[cfg(test)]
mod documentation_tests;
mod error;
mod filesystem_file;
mod machine_file;
mod mixes;
mod operation;
mod options;
mod parameters;
mod phase_order;
mod publication;
#[cfg(test)]
mod reading_tests;
mod study_file;
mod suite_file;
mod sweep;
mod text_file;
mod uses_file;
mod virtual_time_file;

pub use campaign_file::{DirectoryContender, GuestSettings, RoundSettings, Settings};
pub use catalog::{Catalog, CatalogKind};
pub use command_line::{Placeholders, expand_commands};
pub use defaults_file::ProfileDefaults;
pub use disk_file::{DataSheet, DataSheetMetric, DiskEntry};
pub use error::{CatalogError, did_you_mean};
pub use publication::{
    CaveatSource, ClaimSource, ConsistencyCheck, NamedEntry, Publication, SpannedText,
    SumRuleSource,
};
pub use study_file::StudySource;
pub use text_file::read_text;
