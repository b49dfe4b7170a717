//! Threads that prepare, begin together, and are counted together.

use std::sync::{Barrier, OnceLock};
use std::thread::{self, ScopedJoinHandle};

use crate::error::OpError;
use crate::tally::Tally;

/// Runs a part of a phase in so many threads.
///
/// Each prepares first (`prepare`: memory, rings). When all have, the timed part begins with `open`, in
/// this thread; then each does its `work` with what was opened. Returns how many operations each has
/// done. One thread needs none: it is this one.
///
/// # Errors
/// The first thing that went wrong, in the order of the threads; what was done stays in the tally.
pub fn run<P, O: Send + Sync>(
    threads: u32,
    operations: u64,
    tally: &mut Tally,
    prepare: impl Fn(u32) -> Result<P, OpError> + Sync,
    open: impl FnOnce() -> Result<O, OpError>,
    work: impl Fn(u32, P, &O, &mut Tally) -> Result<(), OpError> + Sync,
) -> Result<(O, Vec<u64>), OpError> {
    if threads == 1 {
        let prepared = prepare(0)?;
        tally.begin(operations);
        let opened = open()?;
        let mut worker = tally.fork();
        worker.resume(tally.last());
        let outcome = work(0, prepared, &opened, &mut worker);
        tally.join(&worker);
        return outcome.map(|()| (opened, vec![worker.operations]));
    }
    let opened: OnceLock<O> = OnceLock::new();
    let barrier = Barrier::new(threads as usize + 1);
    let (mut first_error, mut done) = (None, Vec::with_capacity(threads as usize));
    thread::scope(|scope| {
        let spawn = |i: u32| {
            let mut worker = tally.fork();
            let (opened, barrier, prepare, work) = (&opened, &barrier, &prepare, &work);
            scope.spawn(move || {
                let prepared = prepare(i);
                barrier.wait();
                barrier.wait();
                worker.start();
                // Where the file could not be opened there is nothing to do.
                let outcome = prepared.and_then(|prepared| match opened.get() {
                    Some(opened) => work(i, prepared, opened, &mut worker),
                    None => Ok(()),
                });
                (worker, outcome)
            })
        };
        let workers: Vec<ScopedJoinHandle<'_, _>> = (0..threads).map(spawn).collect();
        barrier.wait();
        tally.begin(operations);
        match open() {
            Ok(value) => drop(opened.set(value)),
            Err(error) => first_error = Some(error),
        }
        barrier.wait();
        for worker in workers {
            let (worker, outcome) = worker.join().expect("a working thread does not panic");
            done.push(worker.operations);
            tally.join(&worker);
            first_error = first_error.take().or(outcome.err());
        }
    });
    match (first_error, opened.into_inner()) {
        (None, Some(opened)) => Ok((opened, done)),
        (Some(error), _) => Err(error),
        (None, None) => unreachable!("it was opened, or there is an error"),
    }
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
            let mut tally = tally();
            let (seen, done) = run(
                threads,
                10,
                &mut tally,
                |i| {
                    prepared.fetch_add(1, Ordering::SeqCst);
                    Ok(i)
                },
                || Ok(prepared.load(Ordering::SeqCst)),
                |i, p, _, tally| {
                    assert_eq!(i, p);
                    (0..=i).for_each(|_| tally.lap_read(2));
                    Ok(())
                },
            )
            .unwrap();
            assert_eq!(seen, threads);
            let each: Vec<u64> = (1..=u64::from(threads)).collect();
            assert_eq!(done, each);
            assert_eq!(tally.operations, each.iter().sum::<u64>());
        }
    }

    #[test]
    fn an_error_anywhere_is_the_outcome() {
        for threads in [1, 3] {
            let fine = |_: u32| Ok(());
            let cannot = |i: u32| {
                if i == 0 {
                    Err(missing("memory"))
                } else {
                    Ok(())
                }
            };
            let nothing = |_: u32, (), (): &(), _: &mut Tally| Ok(());
            let fails = |i: u32, (), (): &(), _: &mut Tally| cannot(i);
            let words = [
                run(threads, 1, &mut tally(), cannot, || Ok(()), nothing),
                run(
                    threads,
                    1,
                    &mut tally(),
                    fine,
                    || Err(missing("file")),
                    nothing,
                ),
                run(threads, 1, &mut tally(), fine, || Ok(()), fails),
            ]
            .map(|outcome| outcome.unwrap_err().to_string());
            assert!(words[0].contains("memory") && words[1].contains("file"));
            assert!(words[2].contains("memory"));
        }
    }
}
