//! Runs the cells of a campaign, sequentially or in parallel, and stores their results.
//!
//! [`run`] decides which cell starts, whether its result is valid and when there are enough rounds.
//! It is independent of machines: cells run on a [`CellBackend`] (the kernel of this machine, guests,
//! other hosts, or only memory), results are stored in a [`ResultSink`], and an [`Observer`] receives
//! progress. All decisions are made in one thread, so that they depend only on the updates it
//! receives.
//!
//! A campaign of two contenders in memory, run to completion:
//!
//! ```
//! use campaign::run::in_memory::{self, FakeBackend, MemorySink};
//! use campaign::run::{CampaignEnd, RunLimits, StopFlag, run};
//!
//! # fn campaign() -> model::Campaign {
//! #     let catalog = config::Catalog::builtin().unwrap();
//! #     in_memory::campaign(["ext4", "xfs"].map(|name| catalog.contender(name).unwrap()).into(), 2)
//! # }
//! let campaign = campaign();
//! let mut results = MemorySink::new(&campaign);
//! // Every cell succeeds; a real backend would create the filesystem and measure it.
//! let mut backend = FakeBackend::new(|_cell, test| in_memory::ok_result(test));
//! let ended = run(&mut results, &mut backend, &RunLimits::default(), &(), &StopFlag::default());
//! assert_eq!(ended.unwrap(), CampaignEnd::Complete);
//! for cell in &results.read().cells {
//!     let result = cell.result.as_ref().unwrap();
//!     println!("{} {}: {}", cell.cell.contender, cell.cell.test, result.status);
//! }
//! ```

mod backend;
mod campaign;
mod cell_threads;
pub mod in_memory;
mod observer;
mod reruns;
mod result_sink;
mod rounds;
mod write_budget;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub use backend::{CellBackend, CellUpdate};
pub use campaign::{CampaignEnd, CampaignError, MoreWork, RunLimits, run};
pub use cell_threads::{CellFn, CellThreads};
pub use observer::{CampaignProgress, Observer};
pub use result_sink::{ResultSink, StoredCampaign};
pub use rounds::needs_more_rounds;

/// A flag set to true when the user asks to stop.
pub type StopFlag = Arc<AtomicBool>;
