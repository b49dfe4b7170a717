//! Filesystems, suites, uses, disks and studies as data: TOML in, checked model out.
//!
//! The catalog is compiled in and overlaid by files of the user's own. Whatever is wrong with a
//! file is said in one line with file, line and what was expected. This crate runs nothing, mounts
//! nothing and knows no particular filesystem.

mod age_file;
pub mod campaign_file;
mod catalog;
mod command_line;
mod contender;
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
mod own_setting;
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

pub use campaign_file::{CampaignFile, Directory, MachineFile, RoundRule};
pub use catalog::{Catalog, Kind};
pub use command_line::{Placeholders, resolve};
pub use defaults_file::ProfileDefaults;
pub use disk_file::{Disk, Metric, Published};
pub use error::{CatalogError, did_you_mean};
pub use publication::{Arithmetic, Check, ClaimText, Doubt, Named, Publication, Said};
pub use study_file::Study;
pub use text_file::read_text;
