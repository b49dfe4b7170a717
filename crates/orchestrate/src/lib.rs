//! Runs the cells of a campaign, one after another or side by side, and stores what becomes of each.
//!
//! [`run`] decides which cell begins, what a result is worth and when there are rounds enough. It knows nothing of
//! machines: cells run on a [`Backend`] (this machine's kernel, guests, another host, or nothing but memory), results go
//! into a [`Ledger`], and an [`Observer`] sees what happens. One thread does all of this, so that what it decides follows
//! from what it hears alone.
//!
//! A campaign of two contenders in memory, run to its end:
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
//! // Every cell ends well; a real backend would make the filesystem and measure it.
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
