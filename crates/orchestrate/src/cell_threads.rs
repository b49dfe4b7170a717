//! Runs cells in threads of this process, one for each cell, for a backend whose work is a function.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};

use model::{Cell, CellResult, Test};
use wire::{AbortReason, CellEvent};

use crate::{CellUpdate, StopFlag};

/// Runs one cell and tells what happens in it. Ends early where the user asks to stop.
pub type CellFn = dyn Fn(&Cell, &Test, &mut dyn FnMut(&CellEvent)) -> Result<CellResult, AbortReason>
    + Send
    + Sync;

/// The cells that run, each in a thread of its own. When this is dropped, they are stopped and waited for.
pub struct CellThreads {
    work: Arc<CellFn>,
    stop: StopFlag,
    threads: Vec<JoinHandle<()>>,
    /// Cells whose end was not told yet.
    running: Arc<AtomicUsize>,
    say: Sender<CellUpdate>,
}

impl CellThreads {
    /// Nobody yet; `stop` is the flag at which `work` looks, and all that happens goes into the channel.
    pub fn new(work: Arc<CellFn>, stop: StopFlag, say: Sender<CellUpdate>) -> Self {
        Self {
            work,
            stop,
            threads: Vec::new(),
            running: Arc::default(),
            say,
        }
    }

    /// Begins a cell. Where no thread can be started, it has run when this returns.
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
            // Its panics are caught, and told as news.
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
    // Whoever does not hear any more has given up, and stops the cell.
    let tell = |news| drop(say.send(news));
    let work = || {
        work(cell, test, &mut |event| {
            tell(CellUpdate::Event(cell.id, event.clone()));
        })
    };
    let end = match panic::catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(result)) => CellUpdate::Finished(cell.id, Box::new(result)),
        Ok(Err(stopped)) => CellUpdate::Aborted(cell.id, stopped),
        // Without a word, the campaign would wait for ever.
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
    use crate::in_memory;

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

    /// Each waits for the two others, so that fewer at once would never end.
    #[test]
    fn cells_run_side_by_side_and_each_is_heard() {
        let together = Barrier::new(3);
        let (mut workers, news) = workers(Arc::new(move |cell, test, observe| {
            observe(&CellEvent::Begin {
                step: cell.id.0.to_string(),
            });
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
    fn a_panic_is_told_and_ends_nothing_else() {
        let (mut workers, news) = workers(Arc::new(|cell, test, _| match cell.id.0 {
            0 => panic!("expected by this test"),
            _ => Ok(in_memory::ok_result(test)),
        }));
        let (cells, test) = (cells(2), in_memory::test());
        workers.start(&cells[0], &test);
        assert!(matches!(
            news.recv().unwrap(),
            CellUpdate::ConnectionLost(CellId(0), _)
        ));
        workers.start(&cells[1], &test);
        assert!(matches!(
            news.recv().unwrap(),
            CellUpdate::Finished(CellId(1), _)
        ));
    }

    #[test]
    fn who_is_given_up_is_stopped_and_waited_for() {
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
