//! Threads that are all there before any of them works, or none of which works.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};

use crate::error::OpError;

/// Does each piece of work in a thread of its own and, when all threads are there, `meanwhile` in this one.
/// What the works gave is in their order.
///
/// # Errors
/// When a thread cannot be started; nothing is done then.
pub fn run_parallel<T, Work>(works: Vec<Work>, meanwhile: impl FnOnce()) -> Result<Vec<T>, OpError>
where
    T: Send,
    Work: FnOnce() -> T + Send,
{
    // Held until it is known whether all threads are there.
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
