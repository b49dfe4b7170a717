//! Filesystems and suites as data: TOML in, checked model out.
//!
//! The catalog is compiled in and overlaid by files of the user's own. Whatever is wrong with a
//! file is said in one line with file, line and what was expected. This crate runs nothing, mounts
//! nothing and knows no particular filesystem.

pub mod campaign_file;
mod catalog;
mod command_line;
mod contender;
mod defaults_file;
mod document;
mod error;
mod filesystem_file;
mod operation;
mod options;
mod parameters;
mod phase_order;
mod suite_file;

pub use campaign_file::{CampaignFile, Directory};
pub use catalog::Catalog;
pub use command_line::{Place, needs_device, resolve};
pub use defaults_file::ProfileDefaults;
pub use error::CatalogError;
