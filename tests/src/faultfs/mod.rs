//! A FUSE driver that works, unless it is told not to.
//!
//! Its files are in memory while it is mounted; it reads them from its device when it is mounted and
//! writes them there when it is unmounted, as drivers with a large cache do. Its mount options say
//! what it does wrong. It knows nothing of fsarena.

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
