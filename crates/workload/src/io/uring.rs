//! Linux submission and completion rings: several requests of a thread are in flight at once, with
//! registered buffers and a registered file. Requests are submitted and completions collected in
//! batches, with one system call and two clock readings per batch.

use model::Nanos;
use nix::errno::Errno;
use sys::io::clock;
use sys::io::uring::{Completion, Ring};

use crate::data::pattern::Pattern;
use crate::error::OpError;
use crate::io::sync_loop::{self, ThreadJob};
use crate::io::target::IoFile;
use crate::measure::thread_stats::ThreadStats;
use crate::request::arrivals::ArrivalProcess;
use crate::request::requests::{IoDirection, IoRequest};

/// Creates a ring for requests of up to `longest` bytes.
///
/// # Errors
/// Returns `unsupported` if the kernel or the user's permissions do not allow a ring, otherwise the
/// errors of [`Ring::new`].
pub fn ring(depth: u32, longest: usize) -> Result<Ring, OpError> {
    Ring::new(depth, longest).map_err(|error| OpError::Unsupported {
        reason: match error.raw_os_error().map(Errno::from_raw) {
            Some(Errno::ENOSYS) => "this kernel has no io_uring: ENOSYS".into(),
            Some(Errno::EPERM | Errno::EACCES) => "io_uring is not allowed here: EPERM".into(),
            _ => format!(
                "io_uring refused a ring of {depth} buffers of {longest} bytes: {}",
                sys::errno::describe(&error)
            ),
        },
    })
}

/// Request in progress in a slot.
#[derive(Clone, Copy, Debug)]
struct SlotState {
    request: IoRequest,
    began: Nanos,
    /// Whether the request is in its write step. Read-and-write requests have a read step first.
    writing: bool,
    /// Bytes moved so far in the current step.
    moved: usize,
}

/// Requests of a thread, with one slot per request in flight.
#[derive(Debug)]
struct Queue<'a> {
    ring: &'a mut Ring,
    pattern: &'a Pattern,
    work: ThreadJob<'a>,
    target: &'a IoFile,
    busy: Vec<Option<SlotState>>,
    idle: Vec<usize>,
    /// Slots filled since the last submission.
    fresh: Vec<usize>,
    /// Whether no further requests start.
    over: bool,
    unsynced: u64,
}

/// Makes the requests until all are done or the time limit is reached, then waits for those in
/// flight.
///
/// # Errors
/// Returns the error of the first failed request.
pub fn run(
    ring: &mut Ring,
    pattern: &Pattern,
    work: ThreadJob<'_>,
    stats: &mut ThreadStats,
) -> Result<(), OpError> {
    let target = work.target;
    ring.register(&target.file).map_err(|error| target.failed("io_uring_register", None, error))?;
    ring.set_flags(work.flags.bits());
    let depth = ring.depth();
    let mut queue = Queue {
        ring,
        pattern,
        work,
        target,
        busy: vec![None; depth],
        idle: (0..depth).rev().collect(),
        fresh: Vec::with_capacity(depth),
        over: false,
        unsynced: 0,
    };
    let mut done = Vec::with_capacity(depth);
    loop {
        queue.issue(stats);
        if queue.ring.in_flight() == 0 {
            match queue.next_arrival() {
                Some(at) => clock::wait_until(at),
                None => return Ok(()),
            };
            continue;
        }
        queue.submit()?;
        queue.ring.reap(&mut done);
        let now = clock::now();
        for completion in done.drain(..) {
            queue.complete(completion, now, stats)?;
        }
    }
}

impl Queue<'_> {
    /// Fills idle slots with the requests that are due.
    fn issue(&mut self, stats: &mut ThreadStats) {
        while !self.over && !self.sync_is_due() && !self.idle.is_empty() {
            let Some(began) = self.due(stats) else { break };
            let Some(request) = self.work.requests.next() else {
                self.over = true;
                break;
            };
            let slot = self.idle.pop().expect("there is one");
            self.begin(slot, request, began);
        }
    }

    /// Returns the start time of the next request. Returns `None` if it must not start yet or no
    /// request remains.
    fn due(&mut self, stats: &mut ThreadStats) -> Option<Nanos> {
        let Some(arrivals) = &mut self.work.arrivals else {
            // Set on submission.
            return Some(Nanos(0));
        };
        let at = arrivals.peek();
        if self.work.requests.remaining() > 0 && stats.is_time_up_at(at) {
            self.over = true;
        }
        if self.over || at > clock::now() {
            return None;
        }
        Some(arrivals.next_arrival())
    }

    /// Returns the arrival time of the next request of an open loop, if any.
    fn next_arrival(&self) -> Option<Nanos> {
        let more = !self.over && self.work.requests.remaining() > 0;
        let arrivals = self.work.arrivals.as_ref().filter(|_| more);
        arrivals.map(ArrivalProcess::peek)
    }

    fn sync_is_due(&self) -> bool {
        self.work.fsync > 0 && self.unsynced >= self.work.fsync
    }

    fn begin(&mut self, slot: usize, request: IoRequest, began: Nanos) {
        self.busy[slot] = Some(SlotState {
            request,
            began,
            writing: request.turn == IoDirection::Write,
            moved: 0,
        });
        self.fresh.push(slot);
        match request.turn {
            IoDirection::Write => self.write(slot, &request),
            IoDirection::Read | IoDirection::ReadAndWrite => {
                self.ring.read(slot, 0, request.offset, request.length);
            }
        }
        if request.turn != IoDirection::Read {
            self.unsynced += 1;
        }
    }

    fn write(&mut self, slot: usize, request: &IoRequest) {
        let buffer = &mut self.ring.buffer(slot)[..request.length];
        self.work.content.render(self.pattern, request.offset, buffer);
        self.ring.write(slot, 0, request.offset, request.length);
    }

    /// Submits the filled slots and waits for a completion or the next arrival.
    fn submit(&mut self) -> Result<(), OpError> {
        let now = clock::now();
        let closed = self.work.arrivals.is_none();
        for slot in self.fresh.drain(..) {
            if let Some(busy) = self.busy[slot].as_mut().filter(|_| closed) {
                busy.began = now;
            }
        }
        let may_begin = !self.idle.is_empty() && !self.sync_is_due();
        let arrival = self.next_arrival().filter(|_| may_begin);
        let at_most = arrival.map(|at| Nanos(at.0.saturating_sub(now.0)));
        let submitted = self.ring.submit(1, at_most);
        submitted.map_err(|error| self.target.failed("io_uring_enter", None, error))
    }

    fn complete(
        &mut self,
        completion: Completion,
        now: Nanos,
        stats: &mut ThreadStats,
    ) -> Result<(), OpError> {
        let Completion { slot, outcome } = completion;
        let mut busy = self.busy[slot].take().expect("it was in flight");
        let IoRequest { offset, length, turn } = busy.request;
        let moved = outcome.map_err(|error| self.failed(&busy, error))?;
        busy.moved += moved;
        if busy.moved < length {
            return self.go_on(slot, busy, moved);
        }
        if !busy.writing {
            let data = &self.ring.buffer(slot)[..length];
            let checked = self.work.content.check(self.pattern, offset, data);
            checked.map_err(|corruption| self.target.corrupt(corruption))?;
        }
        if turn == IoDirection::ReadAndWrite && !busy.writing {
            (busy.writing, busy.moved) = (true, 0);
            self.busy[slot] = Some(busy);
            self.write(slot, &busy.request);
            return Ok(());
        }
        self.idle.push(slot);
        let ended = if self.sync_is_due() && self.ring.in_flight() == 0 {
            self.target.sync()?;
            self.unsynced = 0;
            clock::now()
        } else {
            now
        };
        sync_loop::count(stats, &busy.request, self.work.content.verify);
        stats.record(busy.began, ended);
        self.over |= self.work.requests.remaining() > 0 && stats.is_time_up();
        Ok(())
    }

    /// Resubmits the rest of a partly completed request.
    fn go_on(&mut self, slot: usize, busy: SlotState, moved: usize) -> Result<(), OpError> {
        let IoRequest { offset, length, .. } = busy.request;
        let at = offset + busy.moved as u64;
        match (busy.writing, moved) {
            (false, 0) => return Err(self.target.unexpected_eof(at)),
            (true, 0) => {
                let error = std::io::ErrorKind::WriteZero.into();
                return Err(self.target.failed("pwrite", Some(at), error));
            }
            (false, _) => self.ring.read(slot, busy.moved, at, length - busy.moved),
            (true, _) => self.ring.write(slot, busy.moved, at, length - busy.moved),
        }
        self.busy[slot] = Some(busy);
        Ok(())
    }

    fn failed(&self, busy: &SlotState, error: std::io::Error) -> OpError {
        let call = if busy.writing { "pwrite" } else { "pread" };
        self.target.failed(call, Some(busy.request.offset), error)
    }
}
