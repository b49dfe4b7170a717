//! Runs threads that start work only after all of them have been created.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};

use crate::error::OpError;

/// Runs each work item in a separate thread. Runs the `meanwhile` closure in the calling thread
/// after all threads have been created. Returns the results in the order of the items.
///
/// # Errors
/// Returns an error if a thread cannot be started; no item runs then.
pub fn run_parallel<T, Work>(works: Vec<Work>, meanwhile: impl FnOnce()) -> Result<Vec<T>, OpError>
where
    T: Send,
    Work: FnOnce() -> T + Send,
{
    // Held until all threads have been created or one has failed.
    let all_there = Mutex::new(false);
    let mut hold = all_there.lock().unwrap_or_else(PoisonError::into_inner);
    thread::scope(|scope| {
        let mut threads = Vec::with_capacity(works.len());
        for work in works {
            let all_there = &all_there;
            let thread = thread::Builder::new().spawn_scoped(scope, move || {
                let go = *all_there.lock().unwrap_or_else(PoisonError::into_inner);
                go.then(work)
            });
            match thread {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    drop(hold);
                    return Err(OpError::System {
                        call: "clone",
                        path: PathBuf::from("a thread"),
                        offset: None,
                        error,
                    });
                }
            }
        }
        *hold = true;
        drop(hold);
        meanwhile();
        let ended = threads.into_iter().map(ScopedJoinHandle::join);
        let done = ended.filter_map(|outcome| outcome.expect("a working thread does not panic"));
        Ok(done.collect())
    })
}
