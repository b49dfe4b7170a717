//! A FUSE driver with optional faults.
//!
//! Its files are in memory while it is mounted. It reads them from its device on mount and writes
//! them back on unmount, as drivers with a large cache do. Mount options select its faults. It is
//! independent of fsarena.

mod answers;
mod content;
mod driver;
mod faults;
mod image;
mod reading;
mod service;
mod tree;

pub use driver::HANGING;
pub use faults::{Call, Faults};
pub use image::format;
pub use service::{mount_in_background, serve};
