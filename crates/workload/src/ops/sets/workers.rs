//! Threads that each visit a share of the entries of a set. They start and stop together.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::OpError;
use crate::files::visit_order::VisitOrder;
use crate::measure::thread_stats::ThreadStats;
use crate::parallel::run_parallel;

/// One step of a visit.
#[derive(Clone, Copy, Debug)]
pub struct VisitStep {
    /// Number of the step, counted over all threads.
    pub ordinal: u64,
    /// Visited position.
    pub position: u64,
}

/// Follows every order with one thread each; `visit` counts its work. Returns the number of steps
/// of each order finished before the time limit. If several hosts run the phase together, each
/// follows its share of the orders.
///
/// # Errors
/// Returns the first error of a thread; the others stop at their next step. Also returns an error
/// if a thread cannot be started.
pub fn run<W: Send>(
    stats: &mut ThreadStats,
    orders: &[VisitOrder],
    operations: u64,
    prepare: impl FnMut() -> Result<W, OpError>,
    visit: impl Fn(&mut W, VisitStep, &mut ThreadStats) -> Result<(), OpError> + Sync,
) -> Result<Vec<u64>, OpError> {
    let threads = stats.local_threads(u32::try_from(orders.len()).unwrap_or(u32::MAX));
    let first = threads.start;
    let orders = &orders[first as usize..threads.end as usize];
    let done = follow(stats, orders, operations, prepare, visit);
    stats.finish_with_hosts(first, done?)
}

fn follow<W: Send>(
    stats: &mut ThreadStats,
    orders: &[VisitOrder],
    operations: u64,
    prepare: impl FnMut() -> Result<W, OpError>,
    visit: impl Fn(&mut W, VisitStep, &mut ThreadStats) -> Result<(), OpError> + Sync,
) -> Result<Vec<u64>, OpError> {
    let workers = std::iter::repeat_with(prepare).take(orders.len());
    let mut workers = workers.collect::<Result<Vec<W>, OpError>>()?;
    let failed = AtomicBool::new(false);
    if let ([order], [worker]) = (orders, workers.as_mut_slice()) {
        stats.wait_for_hosts()?;
        stats.start_timed(operations);
        return go(order, worker, stats, &failed, &visit).map(|done| vec![done]);
    }
    let gate = Barrier::new(orders.len() + 1);
    let hands = orders.iter().zip(workers).map(|(order, mut worker)| {
        let mut stats = stats.for_thread();
        let (gate, failed, visit) = (&gate, &failed, &visit);
        move || {
            gate.wait();
            gate.wait();
            stats.start();
            let outcome = go(order, &mut worker, &mut stats, failed, visit);
            (stats, outcome)
        }
    });
    let mut started = Ok(());
    let outcomes = run_parallel(hands.collect(), || {
        // All threads are ready: start the clock, then release them.
        gate.wait();
        started = stats.wait_for_hosts();
        if started.is_err() {
            failed.store(true, Ordering::Relaxed);
        }
        stats.start_timed(operations);
        gate.wait();
    })?;
    started?;
    let count = |(worker, outcome): (ThreadStats, _)| {
        stats.merge(&worker);
        outcome
    };
    // Merge all tallies before an error is returned.
    let done: Vec<Result<u64, OpError>> = outcomes.into_iter().map(count).collect();
    done.into_iter().collect()
}

fn go<W>(
    order: &VisitOrder,
    worker: &mut W,
    stats: &mut ThreadStats,
    failed: &AtomicBool,
    visit: &impl Fn(&mut W, VisitStep, &mut ThreadStats) -> Result<(), OpError>,
) -> Result<u64, OpError> {
    for step in 0..order.len() {
        if failed.load(Ordering::Relaxed) {
            return Ok(step);
        }
        let turn = VisitStep { ordinal: order.ordinal(step), position: order.position(step) };
        if let Err(error) = visit(worker, turn, stats) {
            failed.store(true, Ordering::Relaxed);
            return Err(error);
        }
        if stats.is_time_up() {
            return Ok(step + 1);
        }
    }
    Ok(order.len())
}
