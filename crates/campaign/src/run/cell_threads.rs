//! Runs each cell in its own thread of this process, for a backend whose work is a function.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};

use model::wire::{AbortReason, CellEvent};
use model::{Cell, CellResult, Test};

use crate::run::{CellUpdate, StopFlag};

/// Runs one cell and reports its events. Ends early if the user interrupts.
pub type CellFn = dyn Fn(&Cell, &Test, &mut dyn FnMut(&CellEvent)) -> Result<CellResult, AbortReason>
    + Send
    + Sync;

/// The running cells, one thread each. Dropping this stops the cells and waits for them.
pub struct CellThreads {
    work: Arc<CellFn>,
    stop: StopFlag,
    threads: Vec<JoinHandle<()>>,
    /// Number of cells whose final update has not been sent.
    running: Arc<AtomicUsize>,
    say: Sender<CellUpdate>,
}

impl CellThreads {
    /// Creates an empty set. `stop` is the flag that `work` checks, and updates are sent to `say`.
    pub fn new(work: Arc<CellFn>, stop: StopFlag, say: Sender<CellUpdate>) -> Self {
        Self { work, stop, threads: Vec::new(), running: Arc::default(), say }
    }

    /// Starts a cell. If no thread can be created, runs the cell before returning.
    pub fn start(&mut self, cell: &Cell, test: &Test) {
        self.threads.retain(|thread| !thread.is_finished());
        let (work, say) = (Arc::clone(&self.work), self.say.clone());
        let own = (cell.clone(), test.clone());
        let running = Arc::clone(&self.running);
        running.fetch_add(1, Ordering::AcqRel);
        let run = move || attend(&*work, &own.0, &own.1, &running, &say);
        match thread::Builder::new().spawn(run) {
            Ok(thread) => self.threads.push(thread),
            Err(_) => attend(&*self.work, cell, test, &self.running, &self.say),
        }
    }
}

impl Drop for CellThreads {
    fn drop(&mut self) {
        if self.running.load(Ordering::Acquire) > 0 {
            self.stop.store(true, Ordering::Relaxed);
        }
        for thread in self.threads.drain(..) {
            // Panics of the thread are caught and reported as updates.
            let _ = thread.join();
        }
    }
}

fn attend(
    work: &CellFn,
    cell: &Cell,
    test: &Test,
    running: &AtomicUsize,
    say: &Sender<CellUpdate>,
) {
    // If the receiver was dropped, the cell has been given up and will be stopped.
    let tell = |news| drop(say.send(news));
    let work = || {
        work(cell, test, &mut |event| {
            tell(CellUpdate::Event(cell.id, event.clone()));
        })
    };
    let end = match panic::catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(result)) => CellUpdate::Finished(cell.id, Box::new(result)),
        Ok(Err(stopped)) => CellUpdate::Aborted(cell.id, stopped),
        // Without an update, the campaign would wait forever.
        Err(_) => CellUpdate::ConnectionLost(cell.id, "the thread that ran it panicked".to_owned()),
    };
    running.fetch_sub(1, Ordering::AcqRel);
    tell(end);
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::mpsc::{self, Receiver};

    use model::CellId;

    use super::*;
    use crate::run::in_memory;

    fn cells(count: u32) -> Vec<Cell> {
        let cell = |id| Cell {
            id: CellId(id),
            contender: "it".into(),
            suite: "suite".into(),
            test: "test".into(),
            round: id + 1,
            seed: u64::from(id),
        };
        (0..count).map(cell).collect()
    }

    fn workers(work: Arc<CellFn>) -> (CellThreads, Receiver<CellUpdate>) {
        let (say, news) = mpsc::channel();
        (CellThreads::new(work, StopFlag::default(), say), news)
    }

    /// Each cell waits for the other two, so the test would hang if fewer ran in parallel.
    #[test]
    fn cells_run_side_by_side_and_each_is_heard() {
        let together = Barrier::new(3);
        let (mut workers, news) = workers(Arc::new(move |cell, test, observe| {
            observe(&CellEvent::Begin { step: cell.id.0.to_string() });
            together.wait();
            Ok(in_memory::ok_result(test))
        }));
        let test = in_memory::test();
        let cells = cells(3);
        cells.iter().for_each(|cell| workers.start(cell, &test));
        let news: Vec<CellUpdate> = news.iter().take(6).collect();
        for cell in &cells {
            let own = |news: &&CellUpdate| match news {
                CellUpdate::Event(id, _) | CellUpdate::Finished(id, _) => *id == cell.id,
                _ => false,
            };
            assert_eq!(news.iter().filter(own).count(), 2);
        }
    }

    #[test]
    fn a_panic_is_reported_and_other_cells_continue() {
        let (mut workers, news) = workers(Arc::new(|cell, test, _| match cell.id.0 {
            0 => panic!("expected by this test"),
            _ => Ok(in_memory::ok_result(test)),
        }));
        let (cells, test) = (cells(2), in_memory::test());
        workers.start(&cells[0], &test);
        assert!(matches!(news.recv().unwrap(), CellUpdate::ConnectionLost(CellId(0), _)));
        workers.start(&cells[1], &test);
        assert!(matches!(news.recv().unwrap(), CellUpdate::Finished(CellId(1), _)));
    }

    #[test]
    fn drop_stops_the_cells_and_waits_for_them() {
        let stop = StopFlag::default();
        let seen = Arc::clone(&stop);
        let work = move |_: &Cell, _: &Test, _: &mut dyn FnMut(&CellEvent)| {
            while !seen.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            Err(AbortReason::Interrupted)
        };
        let (say, _news) = mpsc::channel();
        let mut workers = CellThreads::new(Arc::new(work), stop, say);
        workers.start(&cells(1)[0], &in_memory::test());
        drop(workers);
    }
}
