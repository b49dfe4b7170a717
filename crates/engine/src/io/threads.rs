//! Threads that prepare, begin together, and are counted together.

use std::sync::{Barrier, OnceLock};

use crate::error::OpError;
use crate::side_by_side::side_by_side;
use crate::tally::Tally;

/// What each thread does, and what this one does for all.
pub struct Part<Prepare, Open, Work, End> {
    /// In each thread, before the clock starts: memory, rings.
    pub prepare: Prepare,
    /// In this thread, first of all that is timed.
    pub open: Open,
    /// In each thread, with what it prepared and what was opened.
    pub work: Work,
    /// In this thread, when all have done their work; the last thing that is timed.
    pub end: End,
}

/// Runs a timed part of a phase in so many threads. What they prepared is let go after the clock has
/// stopped. Returns how many operations each has done. One thread needs none: it is this one.
///
/// # Errors
/// The first thing that went wrong, in the order of the threads; what was done stays in the tally. And when
/// a thread cannot be started.
pub fn run<P, O, Prepare, Open, Work, End>(
    threads: u32,
    operations: u64,
    tally: &mut Tally,
    part: Part<Prepare, Open, Work, End>,
) -> Result<Vec<u64>, OpError>
where
    O: Send + Sync,
    Prepare: Fn(u32) -> Result<P, OpError> + Sync,
    Open: FnOnce() -> Result<O, OpError>,
    Work: Fn(u32, &mut P, &O, &mut Tally) -> Result<(), OpError> + Sync,
    End: FnOnce(&O) -> Result<(), OpError>,
{
    if threads == 1 {
        return alone(operations, tally, part);
    }
    let Part {
        prepare,
        open,
        work,
        end,
    } = part;
    let opened: OnceLock<O> = OnceLock::new();
    let barrier = Barrier::new(threads as usize + 1);
    let worker = |i: u32| {
        let mut worker = tally.fork();
        let (opened, barrier, prepare, work) = (&opened, &barrier, &prepare, &work);
        move || {
            let mut prepared = prepare(i);
            barrier.wait();
            barrier.wait();
            worker.start();
            let outcome = match (&mut prepared, opened.get()) {
                (Ok(prepared), Some(opened)) => work(i, prepared, opened, &mut worker),
                // Where the file could not be opened there is nothing to do.
                _ => Ok(()),
            };
            barrier.wait();
            barrier.wait();
            (worker, prepared.and(outcome))
        }
    };
    let mut outcome = Ok(());
    let workers = side_by_side((0..threads).map(worker).collect(), || {
        barrier.wait();
        tally.begin(operations);
        outcome = open().map(|value| drop(opened.set(value)));
        barrier.wait();
        barrier.wait();
        if let Some(opened) = opened.get() {
            outcome = end(opened);
        }
        tally.pause();
        barrier.wait();
    })?;
    let mut done = Vec::with_capacity(workers.len());
    let mut of_workers = Ok(());
    for (worker, outcome) in workers {
        done.push(worker.operations);
        tally.join(&worker);
        of_workers = of_workers.and(outcome);
    }
    // What went wrong in a thread was first.
    of_workers.and(outcome).map(|()| done)
}

fn alone<P, O, Prepare, Open, Work, End>(
    operations: u64,
    tally: &mut Tally,
    part: Part<Prepare, Open, Work, End>,
) -> Result<Vec<u64>, OpError>
where
    Prepare: Fn(u32) -> Result<P, OpError>,
    Open: FnOnce() -> Result<O, OpError>,
    Work: Fn(u32, &mut P, &O, &mut Tally) -> Result<(), OpError>,
    End: FnOnce(&O) -> Result<(), OpError>,
{
    let mut prepared = (part.prepare)(0)?;
    let mut worker = tally.fork();
    tally.begin(operations);
    let opened = (part.open)()?;
    worker.start();
    worker.resume(tally.last());
    let worked = (part.work)(0, &mut prepared, &opened, &mut worker);
    let outcome = worked.and_then(|()| (part.end)(&opened));
    tally.pause();
    tally.join(&worker);
    outcome.map(|()| vec![worker.operations])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Meter;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn tally() -> Tally {
        Tally::new(None, Arc::default(), Meter::start(None, None))
    }

    fn missing(what: &str) -> OpError {
        OpError::Missing { what: what.into() }
    }

    #[test]
    fn all_prepare_before_anybody_works_and_all_is_counted() {
        for threads in [1, 2, 9] {
            let prepared = AtomicU32::new(0);
            let (mut tally, ended) = (tally(), AtomicU32::new(0));
            let part = Part {
                prepare: |i| {
                    prepared.fetch_add(1, Ordering::SeqCst);
                    Ok(i)
                },
                open: || Ok(prepared.load(Ordering::SeqCst)),
                work: |i, p: &mut u32, seen: &u32, tally: &mut Tally| {
                    assert_eq!((i, *seen), (*p, threads));
                    (0..=i).for_each(|_| tally.lap_read(2));
                    ended.fetch_add(1, Ordering::SeqCst);
                    Ok(())
                },
                end: |_: &u32| {
                    assert_eq!(ended.load(Ordering::SeqCst), threads);
                    Ok(())
                },
            };
            let done = run(threads, 10, &mut tally, part).unwrap();
            let each: Vec<u64> = (1..=u64::from(threads)).collect();
            assert_eq!(done, each);
            assert_eq!(tally.operations, each.iter().sum::<u64>());
        }
    }

    #[test]
    fn an_error_anywhere_is_the_outcome() {
        for threads in [1, 3] {
            for failing in ["prepare", "open", "work", "end"] {
                let step = |step: &str| match step == failing {
                    true => Err(missing(step)),
                    false => Ok(()),
                };
                let part = Part {
                    prepare: |_| step("prepare"),
                    open: || step("open"),
                    work: |_, (): &mut (), (): &(), _: &mut Tally| step("work"),
                    end: |(): &()| step("end"),
                };
                let error = run(threads, 1, &mut tally(), part).unwrap_err();
                assert!(error.to_string().starts_with(failing), "{error}");
            }
        }
    }
}
