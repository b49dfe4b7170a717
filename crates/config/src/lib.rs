//! Filesystems, suites, use cases, disks and studies as data: TOML in, checked model out.
//!
//! The catalog is compiled in and can be overlaid by user files. Every error in a file is reported
//! in one line with file, line and the expected value. This crate runs no programs, mounts no
//! filesystems and has no code for a particular filesystem.

mod catalog;
mod command_line;
#[cfg(test)]
mod documentation_tests;
mod error;
mod layers;
#[cfg(test)]
mod reading_tests;
pub mod settings;
mod study;
mod suite;
mod text_file;

pub use catalog::defaults_file::ProfileDefaults;
pub use catalog::disk_file::{DataSheet, DataSheetMetric, DiskEntry};
pub use catalog::kernels_file::KernelSeries;
pub use catalog::layer_file::{LayerEntry, LayerPosition};
pub use catalog::{Catalog, CatalogKind};
pub use command_line::{Placeholders, expand_commands};
pub use error::{CatalogError, did_you_mean};
pub use settings::campaign_settings::{
    AgeEntry, CONTENDERS, ContenderEntry, DEFAULT_MAX_ROUNDS, DEFAULT_PROFILE, DirectoryContender,
    GUESTS, MAIN, ROUNDS, STORAGE, Settings, StorageSettings, WriteLimit,
};
pub use settings::declare::GivenOption;
pub use study::publication::{
    CaveatSource, ClaimSource, ConsistencyCheck, NamedEntry, Publication, SpannedText,
    SumRuleSource,
};
pub use study::study_file::StudySource;
pub use text_file::read_text;
