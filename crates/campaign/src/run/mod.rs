//! Runs the cells of a campaign, sequentially or in parallel, and stores their results.
//!
//! [`run`] decides which cell starts, whether its result is valid and when there are enough rounds.
//! It is independent of machines: cells run on a [`Backend`] (the kernel of this machine, guests,
//! other hosts, or only memory), results are stored in a [`Ledger`], and an [`Observer`] receives
//! progress. All decisions are made in one thread, so that they depend only on the updates it
//! receives.
//!
//! A campaign of two contenders in memory, run to completion:
//!
//! ```
//! use orchestrate::in_memory::{Cells, Results};
//! use orchestrate::{Ended, Limits, Stop};
//!
//! # fn campaign() -> model::Campaign {
//! #     let catalog = catalog::Catalog::builtin().unwrap();
//! #     orchestrate::in_memory::campaign(["ext4", "xfs"].map(|name| catalog.contender(name).unwrap()).into(), 2)
//! # }
//! let campaign = campaign();
//! let mut results = Results::new(&campaign);
//! // Every cell succeeds; a real backend would create the filesystem and measure it.
//! let mut backend = Cells::new(|_cell, test| orchestrate::in_memory::success(test));
//! let ended = orchestrate::run(&mut results, &mut backend, &Limits::default(), &(), &Stop::default());
//! assert_eq!(ended.unwrap(), Ended::Complete);
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
pub use campaign::{CampaignEnd, CampaignError, RunLimits, run};
pub use cell_threads::{CellFn, CellThreads};
pub use observer::{CampaignProgress, Observer};
pub use result_sink::{ResultSink, StoredCampaign};
pub use rounds::needs_more_rounds;

/// Rises when the user asks to stop.
pub type StopFlag = Arc<AtomicBool>;
