//! Shared parts of the end-to-end tests: a fault driver, and a sandbox that detects leftovers.
//!
//! Only for tests; fsarena does not contain this crate.

pub mod browser;
pub mod debian;
pub mod device;
pub mod entries;
pub mod faultfs;
pub mod gate;
pub mod guests;
pub mod leak_check;
pub mod program;
pub mod remote_host;
pub mod sandbox;
pub mod slurm;
pub mod suites;

pub use browser::{Browser, BrowserPage, Viewport};
pub use device::{TestLoopDevice, succeed};
pub use entries::DirectoryEntry;
pub use gate::{BlockedContender, Gate};
pub use guests::{guest, guest_cache, guest_recipe};
pub use program::CommandOutput;
pub use remote_host::RemoteHost;
pub use sandbox::{Sandbox, cells_of, results_of, run};
pub use slurm::Slurm;
