//! Random seeks on one file from several threads, some of them written back, as Bonnie++ does.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread::{self, ScopedJoinHandle};

use model::{End, SeededRng};

use crate::error::{Context, OpError};
use crate::ops::data;
use crate::pattern::{BLOCK, Pattern};
use crate::tally::Tally;
use crate::workspace::{FileState, Workspace};

/// How to seek.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Bytes per request.
    pub block: usize,
    /// Seeks over all threads.
    pub operations: u64,
    /// Seeking threads.
    pub threads: u32,
    /// Share of blocks written back, 0 … 1.
    pub write_share: f64,
}

/// Seeks; the blocks written back are remembered for later verification.
pub fn seek(
    ws: &mut Workspace,
    tally: &mut Tally,
    name: &str,
    plan: Plan,
    ends: End,
) -> Result<(), OpError> {
    let path = ws.path(name);
    let pattern = ws.pattern(plan.block);
    let state = ws.file(name)?;
    let shares = shares(plan.operations, plan.threads.max(1));
    let patterns: Vec<Pattern> = shares.iter().map(|_| pattern.clone()).collect();
    tally.begin(plan.operations);
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .of("open", &path)?;
    let outcomes: Vec<(Tally, Result<Vec<u64>, OpError>)> = thread::scope(|scope| {
        let seekers = shares.iter().zip(patterns).enumerate();
        let workers: Vec<_> = seekers
            .map(|(i, (&share, pattern))| {
                let mut seeker = Seeker {
                    file: &file,
                    path: &path,
                    state,
                    pattern,
                    rng: SeededRng::for_purpose(ws.seed(), &format!("seek-{name}-{i}")),
                    tally: tally.fork(),
                };
                scope.spawn(move || {
                    let written = seeker.run(share, plan);
                    (seeker.tally, written)
                })
            })
            .collect();
        let join = |w: ScopedJoinHandle<'_, _>| w.join().expect("a seeking thread does not panic");
        workers.into_iter().map(join).collect()
    });
    let mut written_back = Vec::new();
    for (worker, written) in outcomes {
        tally.join(&worker);
        written_back.extend(written?);
    }
    data::finish(&file, &path, ends)?;
    let blocks = (plan.block / BLOCK) as u64;
    let state = ws.files.get_mut(name).expect("looked up above");
    state.ahead.extend(
        written_back
            .into_iter()
            .flat_map(|first| first..first + blocks),
    );
    Ok(())
}

/// The operations of each thread; the first ones take one more where they do not divide evenly.
fn shares(operations: u64, threads: u32) -> Vec<u64> {
    let threads = u64::from(threads);
    (0..threads)
        .map(|i| operations / threads + u64::from(i < operations % threads))
        .collect()
}

struct Seeker<'a> {
    file: &'a File,
    path: &'a Path,
    state: &'a FileState,
    pattern: Pattern,
    rng: SeededRng,
    tally: Tally,
}

impl Seeker<'_> {
    /// Returns the first stamped block of each request that was written back.
    fn run(&mut self, operations: u64, plan: Plan) -> Result<Vec<u64>, OpError> {
        let requests = self.state.size / plan.block as u64;
        let mut buffer = vec![0; plan.block];
        let mut written_back = Vec::new();
        if requests == 0 {
            return Err(OpError::Missing {
                what: "a file of at least one request".into(),
            });
        }
        for _ in 0..operations {
            let offset = self.rng.below(requests) * plan.block as u64;
            data::read_exact(self.file, self.path, &mut buffer, offset, self.state.size)?;
            if self.rng.unit() < plan.write_share {
                self.write_back(offset, plan.block)?;
                written_back.push(offset / BLOCK as u64);
            }
            self.tally.lap_read(plan.block);
            if self.tally.out_of_time() {
                break;
            }
        }
        Ok(written_back)
    }

    /// Writes the next generation of a request; a second time writes the same bytes again.
    fn write_back(&mut self, offset: u64, length: usize) -> Result<(), OpError> {
        let mut next = self.state.origin;
        next.generation += 1;
        let data = self.pattern.fill(next, offset, length);
        self.file
            .write_all_at(data, offset)
            .at("pwrite", self.path, offset)?;
        self.tally.bytes_written += length as u64;
        Ok(())
    }
}
