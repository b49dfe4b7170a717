//! Runs cells side by side: some threads, each with one cell at a time, and everything that they say is heard
//! on the thread that called. Knows nothing of guests or of the store.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use anyhow::Context;
use model::{Cell, CellResult};
use run::Stopped;
use wire::Event;

use crate::campaign::Ended;

/// What is heard of cells that run.
pub enum News<'a> {
    /// A cell begins.
    Begins(&'a Cell),
    /// Something happens in a cell.
    Event(&'a Cell, Event),
    /// A cell has its result.
    Ends(&'a Cell, Box<CellResult>),
    /// A cell has none, for this reason, for which no filesystem is to blame.
    Withdrawn(String),
}

/// Runs one cell and tells what happens in it.
pub type Work<'a> =
    dyn Fn(&Cell, &mut dyn FnMut(&Event)) -> Result<CellResult, Stopped> + Sync + 'a;

/// Runs cells, at most so many at once, begun in their order. Each of them ends or is interrupted before this
/// returns; once `stop` is set, no further one begins.
///
/// # Errors
/// The first that `hear` gives; everything is stopped then. And when no thread can be started.
pub fn work_off<'a>(
    cells: &'a [Cell],
    abreast: usize,
    stop: &AtomicBool,
    work: &Work<'_>,
    hear: &mut dyn FnMut(News<'a>) -> anyhow::Result<()>,
) -> anyhow::Result<Ended> {
    let next = AtomicUsize::new(0);
    let (say, news) = mpsc::channel();
    thread::scope(|scope| {
        for number in 0..abreast.clamp(1, cells.len().max(1)) {
            let (say, next) = (say.clone(), &next);
            let attend = move || attend(cells, next, stop, work, &say);
            match thread::Builder::new().spawn_scoped(scope, attend) {
                // Fewer side by side do the same.
                Err(_) if number > 0 => break,
                started => drop(started.context("cannot start a thread for cells")?),
            }
        }
        drop(say);
        let mut ended = 0;
        for item in news {
            ended += usize::from(matches!(item, News::Ends(..)));
            if let Err(error) = hear(item) {
                stop.store(true, Ordering::Relaxed);
                return Err(error);
            }
        }
        Ok(if ended == cells.len() {
            Ended::Complete
        } else {
            Ended::Interrupted
        })
    })
}

/// Takes one cell after another until none is left, or it is to stop.
fn attend<'a>(
    cells: &'a [Cell],
    next: &AtomicUsize,
    stop: &AtomicBool,
    work: &Work<'_>,
    say: &mpsc::Sender<News<'a>>,
) {
    // Whoever does not hear any more has given up, and has set `stop`.
    let tell = |news| drop(say.send(news));
    while !stop.load(Ordering::Relaxed) {
        let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) else {
            return;
        };
        tell(News::Begins(cell));
        let outcome = work(cell, &mut |event| tell(News::Event(cell, event.clone())));
        match outcome {
            Ok(result) => tell(News::Ends(cell, Box::new(result))),
            Err(Stopped::Interrupted) => return,
            Err(Stopped::Withdrawn(reason)) => return tell(News::Withdrawn(reason)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use model::{CellId, Test};
    use run::{Collector, Ending};

    use super::*;

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

    fn nothing() -> CellResult {
        let test = Test {
            name: "test".into(),
            suite: "suite".into(),
            title: "A test".into(),
            rationale: "None.".into(),
            space: model::Bytes(0),
            sweep: None,
            phases: Vec::new(),
        };
        Collector::new(&test).finish(Ending::Done, Some(Vec::new()))
    }

    /// Cells that were told to have ended, in this order.
    fn ended(cells: &[Cell], abreast: usize, work: &Work<'_>) -> (Vec<CellId>, Ended) {
        let mut order = Vec::new();
        let outcome = work_off(cells, abreast, &AtomicBool::new(false), work, &mut |news| {
            if let News::Ends(cell, _) = news {
                order.push(cell.id);
            }
            Ok(())
        });
        (order, outcome.unwrap())
    }

    #[test]
    fn one_at_a_time_they_run_in_their_order() {
        let cells = cells(5);
        let (order, outcome) = ended(&cells, 1, &|_, _| Ok(nothing()));
        let planned: Vec<CellId> = cells.iter().map(|c| c.id).collect();
        assert_eq!((order, outcome), (planned, Ended::Complete));
    }

    /// Each waits for the two others, so that fewer at once would never end.
    #[test]
    fn so_many_run_side_by_side_as_are_asked_for() {
        let together = Barrier::new(3);
        let (order, outcome) = ended(&cells(6), 3, &|_, _| {
            together.wait();
            Ok(nothing())
        });
        assert_eq!((order.len(), outcome), (6, Ended::Complete));
    }

    #[test]
    fn what_happens_in_a_cell_is_heard_between_its_begin_and_its_end() {
        let mut heard = Vec::new();
        let cells = cells(1);
        work_off(
            &cells,
            4,
            &AtomicBool::new(false),
            &|_, observe| {
                observe(&Event::Done);
                Ok(nothing())
            },
            &mut |news| {
                heard.push(match news {
                    News::Begins(_) => "begins",
                    News::Event(..) => "event",
                    News::Ends(..) => "ends",
                    News::Withdrawn(_) => "withdrawn",
                });
                Ok(())
            },
        )
        .unwrap();
        assert_eq!(heard, ["begins", "event", "ends"]);
    }

    #[test]
    fn an_interruption_leaves_the_rest_for_later() {
        let stop = AtomicBool::new(false);
        let cells = cells(4);
        let mut results = 0;
        let outcome = work_off(
            &cells,
            1,
            &stop,
            &|cell, _| {
                if cell.id == CellId(1) {
                    stop.store(true, Ordering::Relaxed);
                    return Err(Stopped::Interrupted);
                }
                Ok(nothing())
            },
            &mut |news| {
                results += u32::from(matches!(news, News::Ends(..)));
                Ok(())
            },
        );
        assert_eq!((outcome.unwrap(), results), (Ended::Interrupted, 1));
    }

    #[test]
    fn where_results_cannot_be_kept_no_further_cell_begins() {
        let stop = AtomicBool::new(false);
        let cells = cells(1000);
        let error = work_off(&cells, 2, &stop, &|_, _| Ok(nothing()), &mut |_| {
            anyhow::bail!("no room")
        });
        assert_eq!(error.unwrap_err().to_string(), "no room");
        assert!(stop.load(Ordering::Relaxed));
    }

    #[test]
    fn without_cells_there_is_nothing_to_do() {
        let (order, outcome) = ended(&[], 8, &|_, _| Ok(nothing()));
        assert_eq!((order.len(), outcome), (0, Ended::Complete));
    }
}
