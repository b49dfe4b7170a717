//! Threads of a phase that several hosts run together: which of them run here, and how all of them
//! start at the same time.

use std::fmt::Debug;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use model::wire::rank::HostRank;
use sys::io::caches;

use crate::error::{OpContext, OpError};

/// Meeting points of the hosts that run a phase together.
pub trait HostBarrier: Debug + Send + Sync {
    /// Waits until all hosts are ready for the first system call.
    ///
    /// # Errors
    /// Returns an error if a host is lost.
    fn start(&self) -> Result<(), OpError>;

    /// Reports the operations of each thread of this host, from thread `first` on, and waits for those
    /// of the other hosts. Returns the operations of all threads.
    ///
    /// # Errors
    /// Returns an error if a host is lost.
    fn finish(&self, first: u32, operations: &[u64]) -> Result<Vec<u64>, OpError>;
}

/// Share of this host in a phase.
#[derive(Clone, Debug)]
pub struct HostShare {
    /// Place of this host.
    pub rank: HostRank,
    /// Whether it works on the files of the next host.
    pub from_next_host: bool,
    /// Filesystem to sync at the end of the timed part, if the operation does not do this itself.
    pub sync: Option<PathBuf>,
    /// The other hosts.
    pub barrier: Arc<dyn HostBarrier>,
}

impl HostShare {
    /// Returns the threads that run here, of `threads` on all hosts.
    pub fn threads(&self, threads: u32) -> Range<u32> {
        let HostRank { number, hosts } = self.rank;
        let place = (number + u32::from(self.from_next_host)) % hosts;
        let edge = |place: u32| {
            let edge = u64::from(threads) * u64::from(place) / u64::from(hosts);
            u32::try_from(edge).unwrap_or(u32::MAX)
        };
        edge(place)..edge(place + 1)
    }

    /// Writes all data of the filesystem to its disks, if the phase ends so.
    ///
    /// # Errors
    /// Returns an error if that fails.
    pub fn sync(&self) -> Result<(), OpError> {
        match &self.sync {
            Some(root) => caches::sync_filesystem(root).with_call("syncfs", root),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug)]
    struct Alone;

    impl HostBarrier for Alone {
        fn start(&self) -> Result<(), OpError> {
            Ok(())
        }

        fn finish(&self, _: u32, operations: &[u64]) -> Result<Vec<u64>, OpError> {
            Ok(operations.to_vec())
        }
    }

    proptest! {
        #[test]
        fn each_thread_runs_on_one_host(hosts in 1..40u32, each in 1..9u32, from_next_host: bool) {
            let share = |number| HostShare {
                rank: HostRank { number, hosts },
                from_next_host,
                sync: None,
                barrier: Arc::new(Alone),
            };
            let mut threads: Vec<u32> =
                (0..hosts).flat_map(|number| share(number).threads(hosts * each)).collect();
            if hosts > 1 && from_next_host {
                prop_assert_eq!(threads[0], each, "the first host reads what the second wrote");
            }
            threads.sort_unstable();
            prop_assert_eq!(threads, (0..hosts * each).collect::<Vec<_>>());
        }
    }
}
