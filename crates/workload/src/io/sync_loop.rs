//! Loop that makes one request after another, and the parts shared with the loop of several
//! requests in flight: data to write, expected data, and timing.

use model::Nanos;
use rustix::io::ReadWriteFlags;
use sys::fs::aligned::AlignedBuffer;
use sys::io::clock;

use crate::data::corruption::Corruption;
use crate::data::expected_content::{ExpectedFile, GenerationPolicy};
use crate::data::pattern::Pattern;
use crate::error::OpError;
use crate::io::SyncIo;
use crate::io::target::IoFile;
use crate::measure::thread_stats::ThreadStats;
use crate::request::arrivals::ArrivalProcess;
use crate::request::requests::{IoDirection, IoRequest, RequestStream};

/// A clock that supports waiting. Tests use a virtual one.
pub trait WaitClock {
    /// Returns the time in nanoseconds, which never decreases.
    fn now(&mut self) -> Nanos;
    /// Waits until a time, and returns a reading at or after it.
    fn wait_until(&mut self, at: Nanos) -> Nanos;
}

/// The clock of the machine.
#[derive(Debug)]
pub struct SystemClock;

impl WaitClock for SystemClock {
    #[inline]
    fn now(&mut self) -> Nanos {
        clock::now()
    }

    fn wait_until(&mut self, at: Nanos) -> Nanos {
        clock::wait_until(at)
    }
}

/// Verification of read data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerifyMode {
    /// Do not compare.
    Off,
    /// Compare with the content before the phase.
    Before,
    /// Compare with the content before the phase or the data that the phase writes; `at_once` if
    /// other requests may write the same data during the read.
    BeforeOrAfter {
        /// Whether requests overlap in time.
        at_once: bool,
    },
}

/// Content of a file before and after a phase.
#[derive(Clone, Copy, Debug)]
pub struct ExpectedData<'a> {
    /// Content before the phase.
    pub state: &'a ExpectedFile,
    /// Effect of writes on the content.
    pub stamping: GenerationPolicy,
    /// Comparison of reads.
    pub verify: VerifyMode,
}

impl ExpectedData<'_> {
    /// Returns the bytes to write, in memory of the pattern.
    #[inline]
    pub fn fill<'p>(&self, pattern: &'p mut Pattern, offset: u64, length: usize) -> &'p [u8] {
        pattern.fill_with(offset, length, |at| self.state.stamped(self.stamping, at))
    }

    /// Fills memory of the caller with the bytes to write.
    pub fn render(&self, pattern: &Pattern, offset: u64, into: &mut [u8]) {
        pattern.fill_into(offset, into, |at| self.state.stamped(self.stamping, at));
    }

    /// Compares read data with the expected content if requested.
    ///
    /// # Errors
    /// Returns the first difference.
    #[inline]
    pub fn check(&self, pattern: &Pattern, offset: u64, data: &[u8]) -> Result<(), Corruption> {
        match self.verify {
            VerifyMode::Off => Ok(()),
            VerifyMode::Before => self.state.check(pattern, offset, data),
            VerifyMode::BeforeOrAfter { at_once } => {
                let stamping = self.stamping;
                self.state.check_while_written(pattern, offset, data, stamping, at_once)
            }
        }
    }
}

/// Work of one thread.
#[derive(Debug)]
pub struct ThreadJob<'a> {
    /// Its requests.
    pub requests: RequestStream,
    /// Content of the file.
    pub content: ExpectedData<'a>,
    /// Number of writes between fsync calls; 0 for no fsync.
    pub fsync: u64,
    /// Flags of requests in a ring; other engines have their own.
    pub flags: ReadWriteFlags,
    /// Intended start times of the requests in an open loop.
    pub arrivals: Option<ArrivalProcess>,
    /// For errors.
    pub target: &'a IoFile,
}

/// Buffers of one thread.
#[derive(Debug)]
pub struct IoBuffers<'a> {
    /// Pattern for verifying reads.
    pub pattern: &'a Pattern,
    /// Pattern for writes, if the thread writes.
    pub own: Option<Pattern>,
    /// Destination of reads.
    pub buffer: AlignedBuffer,
}

/// Makes the requests one by one until all are done or the time limit is reached. The statistics have the
/// number of finished requests.
///
/// # Errors
/// Returns the error of the first failed request.
pub fn run<W: SyncIo, C: WaitClock>(
    way: &mut W,
    clock: &mut C,
    mut work: ThreadJob<'_>,
    memory: &mut IoBuffers<'_>,
    stats: &mut ThreadStats,
) -> Result<(), OpError> {
    let mut unsynced = 0;
    while let Some(request) = work.requests.next() {
        let mut began = stats.last();
        if let Some(arrivals) = &mut work.arrivals {
            began = arrivals.next_arrival();
            if stats.is_time_up_at(began) {
                break;
            }
            if began > stats.last() {
                clock.wait_until(began);
            }
        }
        perform(way, &work, memory, &request)?;
        if request.turn != IoDirection::Read {
            unsynced += 1;
            if unsynced == work.fsync {
                way.sync()?;
                unsynced = 0;
            }
        }
        count(stats, &request, work.content.verify);
        stats.record(began, clock.now());
        if work.requests.remaining() > 0 && stats.is_time_up() {
            break;
        }
    }
    Ok(())
}

#[inline]
fn perform<W: SyncIo>(
    way: &mut W,
    work: &ThreadJob<'_>,
    memory: &mut IoBuffers<'_>,
    request: &IoRequest,
) -> Result<(), OpError> {
    let IoRequest { offset, length, .. } = *request;
    if request.turn != IoDirection::Write {
        let buffer = &mut memory.buffer[..length];
        way.read(buffer, offset)?;
        let checked = work.content.check(memory.pattern, offset, buffer);
        checked.map_err(|corruption| work.target.corrupt(corruption))?;
    }
    if request.turn != IoDirection::Read {
        let own = memory.own.as_mut().expect("created for work that writes");
        way.write(work.content.fill(own, offset, length), offset)?;
    }
    Ok(())
}

/// Counts the bytes of a finished request.
#[inline]
pub fn count(stats: &mut ThreadStats, request: &IoRequest, verify: VerifyMode) {
    let length = request.length as u64;
    // Each byte counts once even if it is read and written, as in Bonnie++'s rewrite column.
    stats.bytes += length;
    if request.turn != IoDirection::Read {
        stats.bytes_written += length;
    }
    if verify != VerifyMode::Off && request.turn != IoDirection::Write {
        stats.verified += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::target::OpenMode;
    use crate::measure::meter::PhaseMeter;
    use crate::request::requests::IoPlan;
    use model::{AccessPattern, Bytes, Io};
    use nix::fcntl::OFlag;
    use std::cell::Cell;
    use std::collections::VecDeque;
    use std::rc::Rc;
    use std::sync::Arc;

    /// A clock that advances only on waits and simulated work.
    #[derive(Clone, Default)]
    struct Virtual(Rc<Cell<u64>>);

    impl WaitClock for Virtual {
        fn now(&mut self) -> Nanos {
            Nanos(self.0.get())
        }

        fn wait_until(&mut self, at: Nanos) -> Nanos {
            self.0.set(self.0.get().max(at.0));
            Nanos(self.0.get())
        }
    }

    /// I/O whose requests take the given durations in order.
    struct Slow {
        clock: Virtual,
        times: VecDeque<u64>,
        began: Vec<u64>,
    }

    impl SyncIo for Slow {
        fn read(&mut self, _: &mut [u8], _: u64) -> Result<(), OpError> {
            self.began.push(self.clock.0.get());
            let time = self.times.pop_front().expect("no more requests than times");
            self.clock.0.set(self.clock.0.get() + time);
            Ok(())
        }

        fn write(&mut self, _: &[u8], _: u64) -> Result<(), OpError> {
            unreachable!("nothing is written")
        }

        fn sync(&mut self) -> Result<(), OpError> {
            unreachable!("nothing is written")
        }
    }

    /// Reads with the given service times at `rate` arrivals per second. Returns the start times of
    /// the requests and the counted latencies.
    fn open_loop(times: &[u64], rate: u64, begun: u64) -> (Vec<u64>, Vec<(u64, u64)>) {
        let place = tempfile::NamedTempFile::new().unwrap();
        let target = IoFile::open(place.path(), 0, OpenMode::ReadOnly, OFlag::empty()).unwrap();
        let state = ExpectedFile::hole("f", 1 << 20);
        let job = Io {
            operations: Some(times.len() as u64),
            ..Io::new("f", AccessPattern::RandomRead, Bytes(512))
        };
        let clock = Virtual::default();
        clock.0.set(begun);
        let mut way = Slow {
            clock: clock.clone(),
            times: times.iter().copied().collect(),
            began: Vec::new(),
        };
        let work = ThreadJob {
            requests: IoPlan::new(&job, 0, 1 << 20).of_thread(0, 1),
            content: ExpectedData {
                state: &state,
                stamping: GenerationPolicy::Reuse,
                verify: VerifyMode::Off,
            },
            fsync: 0,
            flags: ReadWriteFlags::empty(),
            arrivals: Some(ArrivalProcess::new(rate, 0, 1, Nanos(begun))),
            target: &target,
        };
        let pattern = Pattern::new(1, 512);
        let mut memory =
            IoBuffers { pattern: &pattern, own: None, buffer: AlignedBuffer::new(512, 512) };
        let mut stats = ThreadStats::new(None, Arc::default(), PhaseMeter::start(None, None));
        stats.set_op_start(Nanos(begun));
        run(&mut way, &mut clock.clone(), work, &mut memory, &mut stats).unwrap();
        let latencies = stats.latencies().iter().map(|b| (b.0.0, b.1)).collect();
        (way.began, latencies)
    }

    #[test]
    fn open_loop_waits_for_arrivals_on_a_fast_filesystem() {
        let (began, latencies) = open_loop(&[10, 20, 30], 1_000_000, 5_000);
        assert_eq!(began, [5_000, 6_000, 7_000]);
        assert_eq!(latencies, [(10, 1), (20, 1), (30, 1)]);
    }

    #[test]
    fn latency_includes_a_stall_for_all_requests_that_arrive_during_it() {
        // One request takes 3.5 µs while another request arrives each microsecond.
        let (began, latencies) = open_loop(&[100, 3_500, 100, 100, 100, 100, 100], 1_000_000, 0);
        assert_eq!(began, [0, 1_000, 4_500, 4_600, 4_700, 5_000, 6_000]);
        // Requests after the stall count from their intended start: 2, 3 and 4 µs. Buckets above
        // 2.048 µs are 2 ns wide and labelled with their maximum.
        let expected = [(100, 3), (800, 1), (1_700, 1), (2_601, 1), (3_501, 1)];
        assert_eq!(latencies, expected);
    }
}
