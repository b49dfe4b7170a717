//! Samples the activity of processor 0 at a fixed period, with the stack of kernel functions. Uses
//! the kernel's software clock as a perf event (`PERF_COUNT_SW_CPU_CLOCK` of perf_event_open(2)).
//!
//! The clock is a kernel timer, which needs interrupts. Work done with interrupts disabled is
//! attributed to the function that enables them again, such as `_raw_spin_unlock_irqrestore`.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use model::Nanos;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use perf_event::data::Record as Raw;
use perf_event::events::Software;
use perf_event::{Builder, Clock, SampleFlag};

/// Size of the ring buffer, enough for about ten thousand samples.
const RING: usize = 4 << 20;
/// Fill level of the ring buffer at which the reader wakes up.
const WAKE: usize = RING / 2;
/// Lowest marker value in a stack: a marker gives the context of the addresses that follow, kernel
/// or program (`PERF_CONTEXT_MAX`).
const CONTEXT: u64 = -4095_i64 as u64;
/// Lowest address of the kernel, which occupies the upper half of the address space.
const KERNEL: u64 = 1 << 63;

/// Fields of a sample. The weight is not used: the library cannot read an empty stack at the end of
/// a record, so a weight follows it.
const SAMPLED: SampleFlag = SampleFlag::IP
    .union(SampleFlag::TID)
    .union(SampleFlag::TIME)
    .union(SampleFlag::CALLCHAIN)
    .union(SampleFlag::WEIGHT);

/// Samples the first processor, regardless of the process that runs on it.
pub struct Sampler(perf_event::Sampler);

/// Activity of the processor at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuSample {
    /// Time on the clock of [`crate::io::clock::now`].
    pub time: Nanos,
    /// Thread number in this process's PID namespace. 0 if the thread belongs to no process in the
    /// namespace.
    pub thread: u32,
    /// Addresses of the kernel's functions, the innermost first; empty if a program was running.
    pub stack: Vec<u64>,
}

/// A record of a sampler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SampleRecord {
    /// A sample.
    Sample(CpuSample),
    /// A thread was renamed.
    Comm {
        /// The thread.
        thread: u32,
        /// Its name.
        name: String,
    },
    /// A thread was started and inherited the name of its parent.
    Begun {
        /// The thread.
        thread: u32,
        /// The thread that created it.
        parent: u32,
    },
    /// Number of records lost for lack of room.
    Lost(u64),
}

impl Sampler {
    /// Starts sampling.
    ///
    /// # Errors
    /// Returns an error if the kernel does not support such events or does not allow them. Needs
    /// `CAP_PERFMON`.
    pub fn start(period: Nanos) -> io::Result<Self> {
        let counter = Builder::new(Software::CPU_CLOCK)
            .any_pid()
            .one_cpu(0)
            .include_kernel()
            .exclude_callchain_user(true)
            .sample_period(period.0)
            .sample(SAMPLED)
            .clockid(Clock::MONOTONIC)
            .comm(true)
            .task(true)
            .wakeup_watermark(WAKE)
            .build()?;
        let mut sampler = counter.sampled(RING)?;
        sampler.enable()?;
        Ok(Self(sampler))
    }

    /// Stops sampling; the existing samples remain available.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses.
    pub fn stop(&mut self) -> io::Result<()> {
        self.0.disable()
    }

    /// Waits until many samples can be read. Returns false if the other end of a pipe is closed.
    ///
    /// # Errors
    /// Returns an error if the kernel cannot wait.
    pub fn wait(&self, until: BorrowedFd<'_>) -> io::Result<bool> {
        // SAFETY: the descriptor is open as long as the sampler is borrowed.
        let ring = unsafe { BorrowedFd::borrow_raw(self.0.as_raw_fd()) };
        let mut watched =
            [PollFd::new(ring, PollFlags::POLLIN), PollFd::new(until, PollFlags::POLLIN)];
        match poll(&mut watched, PollTimeout::NONE) {
            Ok(_) => Ok(watched[1].revents().is_none_or(|events| events.is_empty())),
            Err(nix::errno::Errno::EINTR) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the next record, if any.
    pub fn next_record(&mut self) -> Option<SampleRecord> {
        loop {
            let record = self.0.next_record()?;
            if let Ok(raw) = record.parse_record()
                && let Some(record) = of(&raw)
            {
                return Some(record);
            }
        }
    }
}

fn of(raw: &Raw<'_>) -> Option<SampleRecord> {
    match raw {
        Raw::Sample(sample) => {
            let in_kernel = sample.ip()? >= KERNEL;
            let chain = sample.callchain().unwrap_or_default().iter();
            let stack = chain.copied().filter(|address| in_kernel && *address < CONTEXT);
            let mut stack: Vec<u64> = stack.collect();
            if in_kernel && stack.is_empty() {
                stack.extend(sample.ip());
            }
            Some(SampleRecord::Sample(CpuSample {
                time: Nanos(sample.time()?),
                thread: sample.tid()?,
                stack,
            }))
        }
        Raw::Comm(comm) => Some(SampleRecord::Comm {
            thread: comm.tid,
            name: String::from_utf8_lossy(&comm.comm).into_owned(),
        }),
        Raw::Fork(fork) => Some(SampleRecord::Begun { thread: fork.tid, parent: fork.ptid }),
        Raw::Lost(lost) => Some(SampleRecord::Lost(lost.lost)),
        _ => None,
    }
}
