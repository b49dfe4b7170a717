//! Threads that prepare, start together and are counted together.

use std::ops::Range;
use std::sync::{Barrier, OnceLock};

use model::Nanos;

use crate::error::OpError;
use crate::measure::thread_stats::ThreadStats;
use crate::parallel::run_parallel;

/// Work of each thread, and work of the calling thread on behalf of all.
pub struct ThreadWork<Prepare, Open, Work, End, Close> {
    /// In each thread, before the clock starts: allocates memory and rings.
    pub prepare: Prepare,
    /// In the calling thread, after all threads have prepared: opens the shared object.
    pub open: Open,
    /// In each thread, with its prepared state, the opened object and the start of the timed part.
    pub work: Work,
    /// In the calling thread, after all threads have finished; the last timed step.
    pub end: End,
    /// In the calling thread: closes the opened object.
    pub close: Close,
    /// Whether opening and closing are also timed. Supported for one thread only.
    pub opening_is_timed: bool,
}

/// Runs a timed part of a phase in `threads` threads and returns the number of operations of each. If
/// several hosts run the phase together, each runs its share of the threads.
/// Prepared state is dropped after the clock has stopped. A single thread runs in the calling
/// thread.
///
/// # Errors
/// Returns the first error in thread order; finished work stays in the statistics. Also returns an error
/// if a thread cannot be started.
pub fn run<P, O, Prepare, Open, Work, End, Close>(
    threads: u32,
    operations: u64,
    stats: &mut ThreadStats,
    part: ThreadWork<Prepare, Open, Work, End, Close>,
) -> Result<Vec<u64>, OpError>
where
    O: Send + Sync,
    Prepare: Fn(u32) -> Result<P, OpError> + Sync,
    Open: FnOnce(&mut ThreadStats) -> Result<O, OpError>,
    Work: Fn(u32, &mut P, &O, Nanos, &mut ThreadStats) -> Result<(), OpError> + Sync,
    End: FnOnce(&O) -> Result<(), OpError>,
    Close: FnOnce(O, &mut ThreadStats) -> Result<(), OpError>,
{
    let threads = stats.local_threads(threads);
    let first = threads.start;
    let done = match threads.len() {
        1 => alone(first, operations, stats, part),
        _ => several(threads, operations, stats, part),
    };
    stats.finish_with_hosts(first, done?)
}

fn several<P, O, Prepare, Open, Work, End, Close>(
    threads: Range<u32>,
    operations: u64,
    stats: &mut ThreadStats,
    part: ThreadWork<Prepare, Open, Work, End, Close>,
) -> Result<Vec<u64>, OpError>
where
    O: Send + Sync,
    Prepare: Fn(u32) -> Result<P, OpError> + Sync,
    Open: FnOnce(&mut ThreadStats) -> Result<O, OpError>,
    Work: Fn(u32, &mut P, &O, Nanos, &mut ThreadStats) -> Result<(), OpError> + Sync,
    End: FnOnce(&O) -> Result<(), OpError>,
    Close: FnOnce(O, &mut ThreadStats) -> Result<(), OpError>,
{
    let ThreadWork { prepare, open, work, end, close, .. } = part;
    let opened: OnceLock<(O, Nanos)> = OnceLock::new();
    let barrier = Barrier::new(threads.len() + 1);
    let worker = |i: u32| {
        let mut worker = stats.for_thread();
        let (opened, barrier, prepare, work) = (&opened, &barrier, &prepare, &work);
        move || {
            let mut prepared = prepare(i);
            barrier.wait();
            barrier.wait();
            worker.start();
            let outcome = match (&mut prepared, opened.get()) {
                (Ok(prepared), Some((opened, begun))) => {
                    work(i, prepared, opened, *begun, &mut worker)
                }
                // Opening failed, so no work is possible.
                _ => Ok(()),
            };
            barrier.wait();
            barrier.wait();
            (worker, prepared.and(outcome))
        }
    };
    let mut outcome = Ok(());
    let workers = run_parallel(threads.map(worker).collect(), || {
        barrier.wait();
        outcome = open(stats).and_then(|value| {
            stats.wait_for_hosts()?;
            stats.start_timed(operations);
            drop(opened.set((value, stats.last())));
            Ok(())
        });
        barrier.wait();
        barrier.wait();
        if let Some((opened, _)) = opened.get() {
            outcome = end(opened);
        }
        stats.pause_timed();
        barrier.wait();
    })?;
    let mut done = Vec::with_capacity(workers.len());
    let mut of_workers = Ok(());
    for (worker, outcome) in workers {
        done.push(worker.operations);
        stats.merge(&worker);
        of_workers = of_workers.and(outcome);
    }
    let closed = opened.into_inner().map_or(Ok(()), |(opened, _)| close(opened, stats));
    // Errors of threads occurred first.
    of_workers.and(outcome).and(closed).map(|()| done)
}

fn alone<P, O, Prepare, Open, Work, End, Close>(
    thread: u32,
    operations: u64,
    stats: &mut ThreadStats,
    part: ThreadWork<Prepare, Open, Work, End, Close>,
) -> Result<Vec<u64>, OpError>
where
    Prepare: Fn(u32) -> Result<P, OpError>,
    Open: FnOnce(&mut ThreadStats) -> Result<O, OpError>,
    Work: Fn(u32, &mut P, &O, Nanos, &mut ThreadStats) -> Result<(), OpError>,
    End: FnOnce(&O) -> Result<(), OpError>,
    Close: FnOnce(O, &mut ThreadStats) -> Result<(), OpError>,
{
    let mut prepared = (part.prepare)(thread)?;
    let mut worker = stats.for_thread();
    if part.opening_is_timed {
        stats.wait_for_hosts()?;
        stats.start_timed(operations);
    }
    let opened = (part.open)(stats)?;
    if !part.opening_is_timed {
        stats.wait_for_hosts()?;
        stats.start_timed(operations);
    }
    worker.start();
    let begun = worker.last();
    let worked = (part.work)(thread, &mut prepared, &opened, begun, &mut worker);
    let ended = worked.and_then(|()| (part.end)(&opened));
    if !part.opening_is_timed {
        stats.pause_timed();
    }
    let closed = (part.close)(opened, stats);
    stats.pause_timed();
    stats.merge(&worker);
    ended.and(closed).map(|()| vec![worker.operations])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::meter::PhaseMeter;
    use crate::measure::thread_stats::Progress;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn stats() -> ThreadStats {
        ThreadStats::new(None, Arc::default(), PhaseMeter::start(None, None))
    }

    fn missing(what: &str) -> OpError {
        OpError::Missing { what: what.into() }
    }

    #[test]
    fn all_threads_prepare_before_any_works_and_all_are_counted() {
        for threads in [1, 2, 9] {
            let prepared = AtomicU32::new(0);
            let (mut stats, ended) = (stats(), AtomicU32::new(0));
            let part = ThreadWork {
                prepare: |i| {
                    prepared.fetch_add(1, Ordering::SeqCst);
                    Ok(i)
                },
                open: |_: &mut ThreadStats| Ok(prepared.load(Ordering::SeqCst)),
                work: |i, p: &mut u32, seen: &u32, _, stats: &mut ThreadStats| {
                    assert_eq!((i, *seen), (*p, threads));
                    (0..=i).for_each(|_| stats.finish_read(2));
                    ended.fetch_add(1, Ordering::SeqCst);
                    Ok(())
                },
                end: |_: &u32| {
                    assert_eq!(ended.load(Ordering::SeqCst), threads);
                    Ok(())
                },
                close: |_, _: &mut ThreadStats| Ok(()),
                opening_is_timed: false,
            };
            let done = run(threads, 10, &mut stats, part).unwrap();
            let each: Vec<u64> = (1..=u64::from(threads)).collect();
            assert_eq!(done, each);
            assert_eq!(stats.operations, each.iter().sum::<u64>());
        }
    }

    /// The elapsed time is set after the timed part has ended, and the total after it has started.
    #[test]
    fn opening_and_closing_are_timed_only_on_request() {
        for (threads, opening_is_timed) in [(1, false), (3, false), (1, true)] {
            let progress: Arc<Progress> = Arc::default();
            let mut stats =
                ThreadStats::new(None, Arc::clone(&progress), PhaseMeter::start(None, None));
            let part = ThreadWork {
                prepare: |_| Ok(()),
                open: |stats: &mut ThreadStats| {
                    assert_eq!(progress.total().is_some(), opening_is_timed);
                    stats.record_open(|| Ok(()))
                },
                work: |_, (): &mut (), (): &(), _, stats: &mut ThreadStats| {
                    stats.finish_op();
                    Ok(())
                },
                end: |(): &()| Ok(()),
                close: |(), stats: &mut ThreadStats| {
                    assert_eq!(stats.elapsed() == Nanos(0), opening_is_timed);
                    Ok(())
                },
                opening_is_timed,
            };
            run(threads, 3, &mut stats, part).unwrap();
            assert!(stats.elapsed() > Nanos(0));
        }
    }

    #[test]
    fn an_error_anywhere_is_the_outcome() {
        for threads in [1, 3] {
            for failing in ["prepare", "open", "work", "end", "close"] {
                let step = |step: &str| match step == failing {
                    true => Err(missing(step)),
                    false => Ok(()),
                };
                let part = ThreadWork {
                    prepare: |_| step("prepare"),
                    open: |_: &mut ThreadStats| step("open"),
                    work: |_, (): &mut (), (): &(), _, _: &mut ThreadStats| step("work"),
                    end: |(): &()| step("end"),
                    close: |(), _: &mut ThreadStats| step("close"),
                    opening_is_timed: false,
                };
                let error = run(threads, 1, &mut stats(), part).unwrap_err();
                assert!(error.to_string().starts_with(failing), "{error}");
            }
        }
    }
}
